"""`AdaptiveGuides`: guides that are inserted where neighbours drift apart, and leave when they close (chang2002 4.3).

Between every two guides with neighbouring roots a slot is kept ready, half-way between them. When the two come
farther apart than they were groomed, by a threshold at any pair of corresponding vertices, the slot is placed
half-way between them as they are and move then, and from there on it moves by itself: it has no static links, the
triangle strip between the two is split into two, and the full head follows it little by little (`skin.inserted`). When
the two have come together again it is faded out, and when nobody follows it any more it is put back for reuse.

```
   A     C     B        drift of A and B:  largest |A_j - B_j| now less as groomed, over all vertices j
   |     :     |        above `opens_at` C is wanted, below a share of it no longer, in between all stays as it is
   |     :     |        fade of C:  0 to 1 within `fade` seconds, smoothly, and back
```

Bookkeeping: an inserted guide brings its own mass and the mean velocity of its two neighbours, whose motion does not
change in that moment; a guide that leaves takes its own along. `brought` is the balance of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.contact.groups import checked_groups
from mane.contact.neighbours import NEIGHBOURHOODS, find_pairs
from mane.geometry.checks import FloatArray, IntArray
from mane.geometry.limits import Choice, Positive, Range, check_limits
from mane.groom.guides import Guides
from mane.strand.halfway import insert_halfway
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Part
from mane.strand.roots import RootPose
from mane.strand.solver import StrandSolver
from mane.strand.state import StrandState

# Drift that opens a pair where none is given, in usual distances between neighbouring roots.
USUAL_DRIFT = 1.0


@dataclass(frozen=True)
class AdaptiveParams:
    """Settings of `AdaptiveGuides`.

    Attributes:
        limit: most inserted guides at a time; the pairs that have drifted farthest come first, and none is taken out
            for another.
        opens_at: a guide is inserted between two that have come farther apart by this much [m]; None for the usual
            distance between neighbouring roots.
        closes_at: and is faded out when they are apart by less than this share of it.
        fade: time in which the full head comes to follow an inserted guide, and to leave it [s].
        neighbours: "all" looks between all neighbouring roots, "horizontal" between those beside each other.
        reach: roots farther apart than this are no neighbours [m]; None for 2.5 times the usual nearest distance.
    """

    limit: Annotated[int, Range(least=0)] = 64
    opens_at: Positive | None = None
    closes_at: Annotated[float, Range(least=0, below=1)] = 0.5
    fade: Positive = 0.25
    neighbours: Annotated[str, Choice(*NEIGHBOURHOODS)] = "all"
    reach: Positive | None = None

    def __post_init__(self) -> None:
        if isinstance(self.limit, bool) or not isinstance(self.limit, int):
            raise ValueError(f"limit: must be a whole number, got {self.limit!r}")
        check_limits(self)


class AdaptiveGuides(Part):
    """More guides where the hair comes apart. One of `Simulation(forces=[...])`.

    Limitations: one guide between two; what it leaves on either side is not divided again. It starts half-way, which
    may be inside a solid that the two have passed on different sides; contact then pushes it out, and the fade keeps
    that from being seen at once. Where its parents are held by a tie, an inserted guide is not.

    Args:
        groups: guides are inserted between two of the same group alone; one whole number per guide, shape (G,),
            negative for groups that are left as they are. None for one group, or those of `guides`.
        guides: whose `group_id` keeps groups apart where `groups` does not say.
        settings: fields of `AdaptiveParams`.
    """

    name = "adaptive"
    examples = ({}, {"opens_at": 0.002, "fade": 0.1})
    settings = AdaptiveParams
    needs = ("guides",)
    is_single = True

    def __init__(self, *, groups: ArrayLike | None = None, guides: Guides | None = None, **settings: Any) -> None:
        self.params = AdaptiveParams(**settings)
        painted = None if guides is None else guides.strands.strand.get("group_id")
        self._groups_given = groups if groups is not None or painted is None else painted

    # -- getting ready ---------------------------------------------------------------------------------------------

    def choose_pairs(self, model: StrandModel, active: NDArray[np.bool_]) -> IntArray:
        """Pairs of guides (P, 2), lower one first, between which a guide may be inserted."""
        groups = checked_groups("adaptive.groups", self._groups_given, model)
        takes_part = active & (groups >= 0)
        if self.params.limit == 0:
            return np.zeros((0, 2), np.int64)
        return find_pairs(model.rest_points[:, 0], takes_part, groups, self.params.neighbours, self.params.reach)

    def prepare(self, model: StrandModel) -> None:
        """Get ready for guides of this model, slots between the chosen pairs included."""
        self._first = model.own_count
        self._mass = model.mass
        self._pairs = model.parents[self._first :]
        self._rest_gap = _gaps(model.rest_points, self._pairs)
        usual = float(np.median(self._rest_gap[:, 0])) if len(self._pairs) else 1.0
        self.opens_at = USUAL_DRIFT * usual if self.params.opens_at is None else self.params.opens_at
        self.reset()

    def reset(self) -> None:
        """The guides are back at rest: nobody is inserted."""
        self._wanted = np.zeros(len(self._pairs), np.bool_)
        self._faded = np.zeros(len(self._pairs))
        self._present = np.zeros(len(self._pairs), np.bool_)
        self._brought = np.zeros(3)

    # -- what there is -----------------------------------------------------------------------------------------------

    @property
    def pairs(self) -> IntArray:
        """Guides that each slot lies between, shape (P, 2)."""
        return self._pairs.copy()

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which slots are inserted, shape (P,)."""
        return self._present.copy()

    @property
    def weight(self) -> FloatArray:
        """How far the full head follows each of them, 0 to 1, shape (P,): without a jump in value or slope."""
        return (self._faded**2 * (3 - 2 * self._faded)).astype(np.float32)

    @property
    def brought(self) -> Float64Array:
        """Momentum that inserted guides have brought, less what they have taken along again [kg m/s], shape (3,)."""
        return self._brought.copy()

    def drift(self, points: Float64Array) -> Float64Array:
        """How much farther apart than groomed each pair is in `points` (G, V, 3) [m], at the worst vertex, (P,)."""
        apart: Float64Array = (_gaps(points, self._pairs) - self._rest_gap).max(axis=1, initial=0.0)
        return apart

    # -- a frame -----------------------------------------------------------------------------------------------------

    def adapt(self, solver: StrandSolver, state: StrandState, roots: RootPose, dt: float) -> NDArray[np.bool_]:
        """Insert and take out at the end of a frame of `dt` [s]; returns which strands came or went, (G,)."""
        before = self._present.copy()
        self._fade(dt)
        self._decide(self.drift(state.points))
        came, went = self._present & ~before, before & ~self._present
        momentum = (self._mass[..., None] * state.velocity)[self._first :]
        self._brought -= momentum[went].sum(axis=(0, 1))
        if came.any():
            insert_halfway(solver, state, self._rows(came), roots)
            momentum = (self._mass[..., None] * state.velocity)[self._first :]
            self._brought += momentum[came].sum(axis=(0, 1))
        return self._rows(came | went)

    def _fade(self, dt: float) -> None:
        step = dt / self.params.fade
        self._faded = np.clip(self._faded + np.where(self._wanted, step, -step), 0.0, 1.0)
        self._present &= self._wanted | (self._faded > 0)

    def _decide(self, drift: Float64Array) -> None:
        """Set which slots should be active, with hysteresis between `closes_at` and `opens_at`."""
        self._wanted &= drift >= self.params.closes_at * self.opens_at
        opened = (drift > self.opens_at) & ~self._wanted
        self._wanted |= opened & self._present  # on the way out, and called back
        room = self.params.limit - int(self._present.sum())
        new = np.flatnonzero(opened & ~self._present)
        farthest = new[np.argsort(-drift[new], kind="stable")][: max(room, 0)]
        self._wanted[farthest] = self._present[farthest] = True

    def _rows(self, slots: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.concatenate([np.zeros(self._first, np.bool_), slots])

    # -- what a part answers -----------------------------------------------------------------------------------------

    def report(self) -> dict[str, float]:
        """How many guides are inserted."""
        return {"inserted guides": float(self._present.sum())}

    def memory(self) -> dict[str, NDArray[Any]]:
        """Which slots are inserted, and which should be, how far each has faded in, and the balance of momentum."""
        return {
            "wanted": self._wanted.copy(),
            "faded": self._faded.copy(),
            "present": self._present.copy(),
            "brought": self._brought.copy(),
        }

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        for name, own in (("wanted", self._wanted), ("faded", self._faded), ("present", self._present)):
            if memory[name].shape != own.shape:
                raise ValueError(f"adaptive.{name}: must have shape {own.shape}, got {memory[name].shape}")
            own[...] = memory[name]
        self._brought[...] = memory["brought"]


def _gaps(points: Float64Array, pairs: IntArray) -> Float64Array:
    """Distance of corresponding vertices of each pair [m], shape (P, V)."""
    gaps: Float64Array = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=2)
    return gaps
