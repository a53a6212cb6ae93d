"""`GuideForces`: the internal forces of guides, in weights of a guide; `Felt`: what hairs feel of them at one frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray
from mane.strand.frame import GuideFrame, InsertedGuides
from mane.strand.model import STANDARD_GRAVITY, Float64Array, StrandModel


@dataclass(frozen=True, eq=False)
class GuideForces:
    """Turns cut forces into what hairs of another length, weight and vertex count would feel in their guide's place.

    The cut force of a strand is mostly the weight of what lies beyond, so it is measured in weights of the whole
    strand, and a hair takes it at the same share of its length.

    Attributes:
        model: of the guides, G of M segments.
        gravity: [m/s^2] that makes a weight of a mass; also where there is none, for the scale of all forces.
        weight: of each guide [N], shape (G,).
        places: interpolates from a guide's segments to a hair's, shape (N, M).
    """

    model: StrandModel
    gravity: float
    weight: Float64Array
    places: Float64Array

    @classmethod
    def of(cls, model: StrandModel, segments: int) -> GuideForces:
        """Make one for hairs of so many segments."""
        gravity = float(np.linalg.norm(model.gravity)) or float(np.linalg.norm(STANDARD_GRAVITY))
        count = model.segment_count
        middle, wanted = (np.arange(count) + 0.5) / count, (np.arange(segments) + 0.5) / segments
        places = np.stack([np.interp(wanted, middle, unit) for unit in np.eye(count)], axis=1)
        return cls(model, gravity, model.mass.sum(axis=1) * gravity, places)

    def of_frame(self, frame: GuideFrame) -> Float64Array:
        """Forces at one frame, in weights, shape (G, N, 3)."""
        return self._in_weights(frame.cut_force.astype(np.float64))

    def of_inserted(self, inserted: InsertedGuides) -> Float64Array:
        """Forces of inserted guides, which weigh what their parents do in the mean, shape (I, N, 3)."""
        weight = self.weight[inserted.parents].mean(axis=1)
        at_places: Float64Array = self.places @ (inserted.cut_force.astype(np.float64) / weight[:, None, None])
        return at_places

    def at_rest(self) -> Float64Array:
        """Forces of guides that stand still and carry their own weight: that of everything beyond a segment."""
        beyond = np.cumsum(self.model.mass[:, :0:-1], axis=1)[:, ::-1]
        return self._in_weights(beyond[..., None] * self.model.gravity)

    def _in_weights(self, cut_force: Float64Array) -> Float64Array:
        scaled = cut_force / self.weight[:, None, None]
        at_places: Float64Array = self.places @ scaled
        return at_places


@dataclass(frozen=True, eq=False)
class Felt:
    """What hairs feel of their guides at one frame; S hairs of N segments with K guides each, G guides in M bundles.

    Attributes:
        force: of the guides, in weights, shape (G, N, 3).
        turns: how the skin has turned at each guide's root, and behind them the head, shape (G + 1, 4).
        weight: of the guides of each hair, shape (S, K).
        guide: of each bundle, shape (M, K).
        of_hair: bundle of each hair, shape (S,).
        regrouped: hairs, rising, that feel inserted guides as well, and what they feel; or None.
    """

    force: Float64Array
    turns: Float64Array
    weight: FloatArray
    guide: NDArray[np.int32]
    of_hair: NDArray[np.int32]
    regrouped: tuple[IntArray, Felt] | None = None

    def of_hairs(self, rows: slice | IntArray) -> tuple[Float64Array, Float64Array]:
        """Force (H, N, 3) (eq. 10) and turn of the skin at the root (H, 4) of some hairs."""
        guides, weight = self.guide[self.of_hair[rows]], self.weight[rows].astype(np.float64)
        force = np.einsum("sk,skic->sic", weight, self.force[guides])
        # What the guides leave is the head's: nothing, or all where every guide of a hair is gone.
        left = 1 - weight.sum(axis=1, keepdims=True)
        turn = np.einsum("sk,skc->sc", weight, self.turns[guides]) + left * self.turns[-1]
        turn = quaternion.normalize(turn)
        if self.regrouped is not None:
            hairs, felt = self.regrouped
            wanted = np.arange(len(self.of_hair))[rows]
            place = np.minimum(np.searchsorted(hairs, wanted), len(hairs) - 1)
            own = np.flatnonzero(hairs[place] == wanted)
            force[own], turn[own] = felt.of_hairs(place[own])
        return force, turn


def root_turns(frame: GuideFrame) -> Float64Array:
    """How the skin has turned at each guide's root, then the head (G + 1, 4), all with the sign of the head's."""
    head = frame.head.rotation
    turns = np.concatenate([frame.root_rotations.astype(np.float64), head[None]])
    turns[turns @ head < 0] *= -1
    unit: Float64Array = quaternion.normalize(turns)
    return unit
