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
    """Turns cut forces into numbers that hairs of another length and weight can use.

    The cut force of a strand is mostly the weight of what lies beyond, so it is measured in weights of the strand.

    Attributes:
        model: of the guides, G of M segments.
        gravity: [m/s^2] that makes a weight of a mass; also where there is none, for the scale of all forces.
        weight: of each guide [N], shape (G,).
    """

    model: StrandModel
    gravity: float
    weight: Float64Array

    @classmethod
    def of(cls, model: StrandModel) -> GuideForces:
        """Make one for guides of that model."""
        gravity = float(np.linalg.norm(model.gravity)) or float(np.linalg.norm(STANDARD_GRAVITY))
        return cls(model, gravity, model.mass.sum(axis=1) * gravity)

    def of_frame(self, frame: GuideFrame) -> Float64Array:
        """Forces at one frame, in weights, shape (G, M, 3)."""
        return frame.cut_force.astype(np.float64) / self.weight[:, None, None]

    def of_inserted(self, inserted: InsertedGuides) -> Float64Array:
        """Forces of inserted guides, which weigh what their parents do in the mean, shape (I, M, 3)."""
        weight = self.weight[inserted.parents].mean(axis=1)
        return inserted.cut_force.astype(np.float64) / weight[:, None, None]

    def at_rest(self) -> Float64Array:
        """Forces of guides that stand still and carry their own weight: that of everything beyond a segment."""
        beyond = np.cumsum(self.model.mass[:, :0:-1], axis=1)[:, ::-1]
        return beyond[..., None] * self.model.gravity / self.weight[:, None, None]


@dataclass(frozen=True, eq=False)
class Felt:
    """What hairs feel of their guides at one frame; S hairs of N segments with K guides each, G guides in M bundles.

    Attributes:
        force: of the guides of each bundle, in weights, at the places that go with the hairs' segments, (M, K, N, 3).
        turns: how the skin has turned at each guide's root, and behind them the head, shape (G + 1, 4).
        weight: of the guides of each hair, shape (S, K).
        guide: of each bundle, shape (M, K).
        of_hair: bundle of each hair, shape (S,).
        regrouped: hairs, rising, that feel inserted guides as well, and what they feel; or None.
    """

    force: FloatArray
    turns: Float64Array
    weight: FloatArray
    guide: NDArray[np.int32]
    of_hair: NDArray[np.int32]
    regrouped: tuple[IntArray, Felt] | None = None

    def of_hairs(self, rows: slice | IntArray) -> tuple[Float64Array, Float64Array]:
        """Force (H, N, 3) (eq. 10) and turn of the skin at the root (H, 4) of some hairs."""
        bundles, weight = self.of_hair[rows], self.weight[rows].astype(np.float64)
        force = np.einsum("sk,skic->sic", weight, self.force[bundles])
        # What the guides leave is the head's: nothing, or all where every guide of a hair is gone.
        left = 1 - weight.sum(axis=1, keepdims=True)
        turn = np.einsum("sk,skc->sc", weight, self.turns[self.guide[bundles]]) + left * self.turns[-1]
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
