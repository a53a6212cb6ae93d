"""`StaticLinks`: bonds between neighbouring strands, by which a hairstyle recovers or comes apart (chang2002 4.1).

Every segment has a frame of its own, and remembers where the closest points of nearby strands were in it. A damped
spring without length pulls each of them back there (eq. 2) and pulls the segment the other way, at the remembered
place: with the moment that this has about the segment.

```
      strand A      strand B                T: where the segment of A remembers the point of B, turned with it
        o             o                     Q: where that point is now
        |  T   l      |                     l = Q - T: both are pulled together along it
        |..x -------> Q
        |             |                     A feels + k l at T, B feels - k l at Q
        o             o
```

The third axis of a segment's frame is the segment itself; about it, the frame turns freely to where the links hold it
in balance. A hair offers next to no resistance to such a turn (it would twist at the root), and the moment about the
segment, which its two ends could not take up, is zero. Sum and moment of all forces are then zero in any state.

Stiffness is given by a rate, so that it means the same for hair of any mass and for any number of vertices, and the
pull is solved implicitly per link (`contact.compliance`), so that no rate is too large for a step; beyond some 1 / dt a
link just grows no stiffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.contact.compliance import Compliance
from mane.contact.groups import checked_groups
from mane.contact.links import _kernels as kernels
from mane.contact.links.find import LinkResponse, LinkTable, find_links
from mane.contact.links.rows import place_count, rows_of_incoming, rows_of_links
from mane.geometry.checks import require_positive
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.simd.align import zeros_aligned
from mane.simd.f64x8 import WIDTH
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Force, Load, StrandView
from mane.strand.variation import Layout, Varying, resolve

# Part of what a strand can take in a step that links may use; the rest is left to collisions, which act beside them.
SHARE = 0.5


class StaticLinks(Force):
    """Bonds of a hairstyle.

    Links are tied in the groomed shape when the first step is made, between the guides that are active then. A guide
    that is inserted later has none, so that it disturbs nobody (chang2002 4.3).

    Args:
        rate: angular frequency at which a segment swings against the neighbours that it is linked to [1/s], any
            `Varying`; 0 makes no links. 30 lets hair move together, 100 makes it one piece.
        damping: damping ratio of that swing; 1 comes back without swinging over.
        count: reference points per segment, each on another strand.
        reach: longest link [m]; None for eight times the usual distance to the nearest strand.
        weakens_at: beyond this change of its length a link loses stiffness for good [m] (delta 1 of fig. 2).
        breaks_at: at this change it is broken [m] (delta 2).
        groups: strands are linked within their group alone; one whole number per guide, shape (G,), negative for those
            that take no part. None for one group.
        guides: whose painted maps `rate` may name.
    """

    name = "links"
    needs = ("guides",)

    def __init__(
        self,
        *,
        rate: Varying = 30.0,
        damping: float = 0.5,
        count: int = 4,
        reach: float | None = None,
        weakens_at: float = 0.01,
        breaks_at: float = 0.03,
        groups: ArrayLike | None = None,
        guides: Guides | Groom | None = None,
    ) -> None:
        if not (np.isfinite(damping) and damping >= 0):
            raise ValueError(f"damping: must be a finite number, at least zero, got {damping}")
        if count < 1:
            raise ValueError(f"count: must be at least 1, got {count}")
        if reach is not None:
            require_positive("reach", reach)
        require_positive("weakens_at", weakens_at)
        if not (np.isfinite(breaks_at) and breaks_at > weakens_at):
            raise ValueError(f"breaks_at: must be above weakens_at ({weakens_at}), got {breaks_at}")
        self.damping = damping
        self.count = count
        self.reach = reach
        self.limits = (float(weakens_at), float(breaks_at))
        self._rate_given = rate
        self._groups_given = groups
        self._guides = guides
        self._links: LinkTable | None = None
        self._wants_current = False
        self._laws_of: tuple[bytes, float] | None = None

    def prepare(self, model: StrandModel) -> None:
        """Lay the rate out over the strands."""
        self._model = model
        layout = Layout.of_model(model, self._guides)
        rate = resolve("links.rate", self._rate_given, layout, at_least=0)
        self._rate = 0.5 * (rate[:, :-1] + rate[:, 1:])
        self._groups = checked_groups("links.groups", self._groups_given, model)
        self._compliance = Compliance(model)
        self._links = None

    def add(self, strands: StrandView, load: Load) -> None:
        """Add the pull of all links, and weaken those that are drawn out too far."""
        if self._links is None:
            points = strands.points if self._wants_current else strands.model.rest_points
            linked = strands.active & (self._groups >= 0) & ~strands.model.is_slot
            self._tie(find_links(points, linked, self._groups, self.count, self.reach))
            self._wants_current = False
        now = (strands.active.tobytes(), strands.dt)
        if now != self._laws_of:
            self._find_laws(strands.active, strands.dt)
            self._laws_of = now
        self._whole_count -= kernels.pull(
            strands.points,
            strands.velocity,
            self._rows,
            self._springs,
            self.limits,
            strands.dt,
            *self._incoming,
            self._pulls,
            load.force,
        )

    @property
    def health(self) -> Float64Array:
        """Share of its stiffness that each link has left, shape (L,); empty before the first step."""
        if self._links is None:
            return np.empty(0)
        return self._links.health[self._links.other >= 0]

    def rebuild(self) -> None:
        """Take the shape at the start of the next step for a new hairstyle: all links are tied anew there."""
        self._links = None
        self._wants_current = True

    def mend(self) -> None:
        """Make all links as strong as at first; each still remembers the hairstyle that it was tied in."""
        if self._links is not None:
            self._links.health[...] = self._links.other >= 0
            self._whole_count = self._tied_count
            self._laws_of = None

    def reset(self) -> None:
        """The guides are back at rest, and so are the links."""
        self.mend()

    def report(self) -> dict[str, float]:
        """Share of the links that are broken."""
        if self._links is None or not self._tied_count:
            return {"broken links": 0.0}
        return {"broken links": float(1 - self._whole_count / self._tied_count)}

    def memory(self) -> dict[str, NDArray[Any]]:
        """All links and what is left of them."""
        named = {"wants_current": np.array(self._wants_current)}
        return named if self._links is None else {**named, **self._links.arrays()}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self._wants_current = bool(memory["wants_current"])
        self._links = None
        if "other" in memory:
            self._tie(LinkTable.from_arrays(memory))

    def _tie(self, links: LinkTable) -> None:
        """Work out everything that follows from where the links are."""
        mass = self._model.mass
        segment_mass = 0.5 * (mass[:, :-1] + mass[:, 1:])
        tied = links.other >= 0
        other_mass = segment_mass.reshape(-1)[np.maximum(links.other, 0)]
        own_mass = segment_mass[..., None]
        # All links of a segment together make its rate; a light strand tied to a heavy one counts with the lighter.
        share = 2 * own_mass * other_mass / (own_mass + other_mass) / np.maximum(tied.sum(axis=2, keepdims=True), 1)
        rate = self._rate[..., None]
        springs = np.zeros((*mass.shape, links.other.shape[2], 4))
        of_segments = springs[:, :-1]
        of_segments[..., kernels.HEALTH] = links.health
        of_segments[..., kernels.STIFFNESS] = np.where(tied, rate**2 * share, 0.0)
        of_segments[..., kernels.DAMPING] = np.where(tied, 2 * self.damping * rate * share, 0.0)
        self._links = replace(links, health=of_segments[..., kernels.HEALTH])
        self._springs = springs.reshape(mass.size, -1, 4)
        self._tied_count = np.count_nonzero(tied)
        self._whole_count = np.count_nonzero(links.health)
        self._response = LinkResponse(links, self._compliance)
        self._rows = rows_of_links(links)
        self._incoming = rows_of_incoming(links)
        self._pulls = zeros_aligned((3 * (WIDTH * place_count(links) + 1),))  # the last is nobody's
        self._laws_of = None

    def _find_laws(self, active: NDArray[np.bool_], dt: float) -> None:
        """What links pull with in steps of `dt` [s]; those from or to a strand that is not active rest."""
        links = self._links
        assert links is not None
        of_vertices = self._springs.reshape(*self._model.mass.shape, -1, 4)
        of_vertices[:, :-1, :, kernels.GIVE] = self._response.of(dt) / SHARE
        is_acting = np.zeros(of_vertices.shape[:3], np.bool_)
        is_acting[:, :-1] = (
            (links.other >= 0) & active[:, None, None] & active[links.other // self._model.segment_count]
        )
        kernels.set_laws(self._springs, is_acting.reshape(self._springs.shape[:2]), self.limits, dt, self._rows)
