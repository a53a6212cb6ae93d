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

The third axis of a segment's frame is the segment itself; about it, the frame does not twist against the root that
holds the strand (`frames`), so that neighbours cannot orbit each other: what would turn a segment about itself goes
down the strand to its root, bending it on the way like a rod that resists twist. Without damping the forces are those
of an energy, their sum is zero in any state, and so is that of their moments with those that the roots take up. Where a
root takes none (hinged, free), frames spin freely to where the links hold them in balance.

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
from mane.contact.links._kernels_frames import hand_to_root
from mane.contact.links.find import LinkResponse, LinkTable, find_links, retied
from mane.contact.links.frames import SegmentFrames
from mane.contact.links.rows import place_count, rows_of_incoming, rows_of_links
from mane.geometry import quaternion
from mane.geometry.limits import Count, NotNegative, Positive, check_arguments
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.simd.align import zeros_aligned
from mane.simd.f64x8 import WIDTH
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Force, Load, StrandView
from mane.strand.variation import Layout, Varying, require_range, resolve

# Part of what a strand can take in a step that links may use; the rest is left to collisions, which act beside them.
SHARE = 0.5
CHECKS = 4.0  # of whether strands are calm, within the time after which links form again


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
        reforms_after: a strand that has been calm for this time [s] is tied anew where links of it are broken, to what
            is close by then (the end of 4.1); None leaves broken links broken.
        calm_speed: a strand is calm while none of its vertices moves faster than this beside its root [m/s].
        groups: strands are linked within their group alone; one whole number per guide, shape (G,), negative for those
            that take no part. None for one group.
        guides: whose painted maps `rate` may name.
    """

    name = "links"
    version = 3  # frames follow their roots
    needs = ("guides",)
    examples = ({}, {"reforms_after": 0.2})

    def __init__(
        self,
        *,
        rate: Varying = 30.0,
        damping: NotNegative = 0.5,
        count: Count = 4,
        reach: Positive | None = None,
        weakens_at: Positive = 0.01,
        breaks_at: Positive = 0.03,
        reforms_after: Positive | None = None,
        calm_speed: Positive = 0.05,
        groups: ArrayLike | None = None,
        guides: Guides | Groom | None = None,
    ) -> None:
        require_range("rate", rate, at_least=0)
        check_arguments(StaticLinks, locals())
        if breaks_at <= weakens_at:
            raise ValueError(f"breaks_at: must be above weakens_at ({weakens_at}), got {breaks_at}")
        self.reforms_after, self.calm_speed = reforms_after, float(calm_speed)
        self.damping = damping
        self.count = count
        self.reach = reach
        self.limits = (float(weakens_at), float(breaks_at))
        self._rate_given = rate
        self._groups_given = groups
        self._guides = guides
        self._links: LinkTable | None = None
        self._wants_current = False
        self._has_reformed = False
        self._laws_of: tuple[bytes, float] | None = None

    def prepare(self, model: StrandModel) -> None:
        """Lay the rate out over the strands."""
        self._model = model
        layout = Layout.of_model(model, self._guides)
        rate = resolve("links.rate", self._rate_given, layout, at_least=0)
        self._rate = 0.5 * (rate[:, :-1] + rate[:, 1:])
        self._groups = checked_groups("links.groups", self._groups_given, model)
        self._compliance = Compliance(model)
        self._frames = SegmentFrames(model)
        self._restless = np.full(model.strand_count, -np.inf)  # when each strand was last seen to move [s]
        self._next_check = -np.inf
        self._links = None

    def add(self, strands: StrandView, load: Load) -> None:
        """Add the pull of all links, and weaken those that are drawn out too far."""
        if self._links is None:
            self._tie(self._found_at_rest(strands) if not self._wants_current else self._found_now(strands))
            self._wants_current = False
        elif self.reforms_after is not None:
            self._reform(strands, self._links, self.reforms_after)
        now = (strands.active.tobytes(), strands.dt)
        if now != self._laws_of:
            self._find_laws(strands.active, strands.dt)
            self._laws_of = now
        self._frames.update(strands)
        self._whole_count -= kernels.pull(
            strands.points,
            strands.velocity,
            self._frames.rows,
            self._rows,
            self._springs,
            self.limits,
            strands.dt,
            *self._incoming,
            self._pulls,
            self._torques,
            load.force,
        )
        hand_to_root(strands.points, self._frames.roots, self._torques, load.force)

    def _found_at_rest(self, strands: StrandView) -> LinkTable:
        """Links of the hairstyle as groomed."""
        points = strands.model.rest_points
        linked = self._may_be_linked(strands)
        return find_links(points, self._frames.at_rest(points), linked, self._groups, self.count, self.reach)

    def _found_now(self, strands: StrandView, *, calm: NDArray[np.bool_] | None = None) -> LinkTable:
        """Links of the hairstyle as it is now, among those strands that are `calm` (G,)."""
        linked = self._may_be_linked(strands) & (True if calm is None else calm)
        axes = self._frames.now(strands)
        return find_links(strands.points, axes, linked, self._groups, self.count, self.reach)

    def _may_be_linked(self, strands: StrandView) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = strands.active & (self._groups >= 0) & ~strands.model.is_slot
        return mask

    def _reform(self, strands: StrandView, links: LinkTable, calm_for: float) -> None:
        """Tie strands anew that have come to rest with broken links."""
        start = strands.time - strands.dt
        if start < self._next_check:
            return
        self._next_check = start + calm_for / CHECKS
        self._restless[_speed_beside_root(strands) > self.calm_speed] = start
        calm = start - self._restless >= calm_for
        is_broken = (links.health == 0) & calm[:, None, None]
        if not is_broken.any():
            return
        retied_links = retied(links, self._found_now(strands, calm=calm), is_broken)
        if retied_links is not None:
            self._tie(retied_links)
            self._has_reformed = True

    @property
    def health(self) -> Float64Array:
        """Share of its stiffness that each link has left, shape (L,); empty before the first step."""
        if self._links is None:
            return np.empty(0)
        return self._links.health[self._links.other >= 0]

    def lines(self, points: Float64Array) -> Float64Array:
        """Ends of all links that are not broken, with the strands at `points` (G, V, 3) [m]; shape (L, 2, 3).

        The first is the middle of the segment that a link belongs to, the second where it is tied.
        """
        if self._links is None:
            return np.zeros((0, 2, 3))
        g, i, m = np.nonzero((self._links.other >= 0) & (self._links.health > 0))
        other, fraction = self._links.other[g, i, m], self._links.fraction[g, i, m][:, None]
        strand, segment = np.divmod(other, self._model.segment_count)
        tied = (1 - fraction) * points[strand, segment] + fraction * points[strand, segment + 1]
        return np.stack([0.5 * (points[g, i] + points[g, i + 1]), tied], axis=1)

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
        """The guides are back at rest, and so are the links, those of the groom."""
        self._restless.fill(-np.inf)
        self._next_check = -np.inf
        if self._has_reformed:
            self._links, self._has_reformed = None, False
        self.mend()

    def report(self) -> dict[str, float]:
        """Share of the links that are broken."""
        if self._links is None or not self._tied_count:
            return {"broken links": 0.0}
        return {"broken links": float(1 - self._whole_count / self._tied_count)}

    def memory(self) -> dict[str, NDArray[Any]]:
        """All links and what is left of them, and since when strands are calm."""
        named = {"wants_current": np.array(self._wants_current)}
        named["has_reformed"] = np.array(self._has_reformed)
        named.update(restless=self._restless.copy(), next_check=np.array(self._next_check))
        return named if self._links is None else {**named, **self._links.arrays()}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self._wants_current = bool(memory["wants_current"])
        self._has_reformed = bool(memory["has_reformed"])
        self._restless[...], self._next_check = memory["restless"], float(memory["next_check"])
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
        self._torques = zeros_aligned((-(-mass.size // WIDTH) * WIDTH,))
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


def _speed_beside_root(strands: StrandView) -> Float64Array:
    """Largest speed of a vertex of each strand, seen from its moving root [m/s], shape (G,)."""
    before, after = strands.roots_before, strands.roots_after
    turn = quaternion.multiply(after.rotations, quaternion.conjugate(before.rotations))
    carried = after.positions[:, None] + quaternion.rotate(turn[:, None], strands.points - before.positions[:, None])
    speed: Float64Array = np.linalg.norm(strands.velocity - (carried - strands.points) / strands.dt, axis=2).max(axis=1)
    return speed
