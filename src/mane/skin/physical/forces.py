"""`GuideForces`: internal forces of guides, in weights of a guide; `InheritedForces`: what hairs take over of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray
from mane.skin.physical import _kernels_loads
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

    def weight_of_inserted(self, inserted: InsertedGuides) -> Float64Array:
        """Weight of inserted guides [N], that of their parents in the mean, shape (I,)."""
        weight: Float64Array = self.weight[inserted.parents].mean(axis=1)
        return weight

    def of_inserted(self, inserted: InsertedGuides) -> Float64Array:
        """Forces of inserted guides, shape (I, M, 3)."""
        return inserted.cut_force.astype(np.float64) / self.weight_of_inserted(inserted)[:, None, None]

    def at_rest(self) -> Float64Array:
        """Forces of guides that stand still and carry their own weight: that of everything beyond a segment."""
        beyond = np.cumsum(self.model.mass[:, :0:-1], axis=1)[:, ::-1]
        return beyond[..., None] * self.model.gravity / self.weight[:, None, None]


@dataclass(frozen=True, eq=False)
class InheritedForces:
    """What hairs feel of their guides at one frame; S hairs of N segments with K guides each, G guides in M bundles.

    Attributes:
        load: of the guides, in weights, shape (G, L, 3).
        places: on each guide that go with the hairs' vertices, as in `Bundles`, shape (M, K, N + 1).
        rotations: how the skin has turned at each guide's root, and behind them the head, shape (G + 1, 4).
        weight: of the guides of each hair, shape (S, K).
        guide: of each bundle, shape (M, K).
        of_hair: bundle of each hair, shape (S,).
        regrouped: hairs, rising, that feel inserted guides as well, and what they feel; or None.
    """

    load: Float64Array
    places: FloatArray
    rotations: Float64Array
    weight: FloatArray
    guide: NDArray[np.int32]
    of_hair: NDArray[np.int32]
    regrouped: tuple[IntArray, InheritedForces] | None = None

    @cached_property
    def force(self) -> FloatArray:
        """Loads of the guides of each bundle at the places that go with the hairs' segments, (M, K, N, 3)."""
        return place_loads(self.load, self.guide, self.places)

    def of_hairs(self, rows: slice | IntArray) -> tuple[Float64Array, Float64Array]:
        """Force (H, N, 3) (eq. 10) and turn of the skin at the root (H, 4) of some hairs."""
        bundles, weight = self.of_hair[rows], self.weight[rows].astype(np.float64)
        force = np.einsum("sk,skic->sic", weight, self.force[bundles])
        # What the guides leave is the head's: nothing, or all where every guide of a hair is gone.
        left = 1 - weight.sum(axis=1, keepdims=True)
        rotation = np.einsum("sk,skc->sc", weight, self.rotations[self.guide[bundles]]) + left * self.rotations[-1]
        rotation = quaternion.normalize(rotation)
        if self.regrouped is not None:
            hairs, inherited = self.regrouped
            wanted = np.arange(len(self.of_hair))[rows]
            place = np.minimum(np.searchsorted(hairs, wanted), len(hairs) - 1)
            own = np.flatnonzero(hairs[place] == wanted)
            force[own], rotation[own] = inherited.of_hairs(place[own])
        return force, rotation

    @property
    def by_bundle(self) -> ByBundle:
        """The same with hairs that feel inserted guides in bundles of their own, behind all others."""
        of_bundle = np.arange(len(self.guide))
        if self.regrouped is None:
            return ByBundle(self.force, self.guide, self.weight, self.rotations, of_bundle)
        hairs, inherited = self.regrouped
        of_bundle[self.of_hair[hairs]] = len(self.guide) + inherited.of_hair
        more = inherited.guide.shape[1] - self.guide.shape[1]
        weight = np.pad(self.weight, ((0, 0), (0, more)))
        weight[hairs] = inherited.weight
        return ByBundle(
            np.concatenate([np.pad(self.force, ((0, 0), (0, more), (0, 0), (0, 0))), inherited.force]),
            np.concatenate([np.pad(self.guide, ((0, 0), (0, more))), inherited.guide + np.int32(len(self.rotations))]),
            weight,
            np.concatenate([self.rotations, inherited.rotations]),
            of_bundle,
        )


@dataclass(frozen=True, eq=False)
class ByBundle:
    """What the kernels of further sweeps read of `InheritedForces`; M bundles of K guides, S hairs of N segments.

    Attributes:
        force: loads of the guides of each bundle at the places of the hairs' segments, shape (M, K, N, 3).
        guide: of each bundle, shape (M, K).
        weight: of the guides of each hair, shape (S, K).
        rotations: how the skin has turned at each guide's root, and behind them the head, shape (G + 1, 4).
        of_bundle: which of these each bundle of the skin is.
    """

    force: FloatArray
    guide: NDArray[np.int32]
    weight: FloatArray
    rotations: Float64Array
    of_bundle: IntArray


def rotations_at_roots(frame: GuideFrame) -> Float64Array:
    """How the skin has turned at each guide's root, then the head (G + 1, 4), all with the sign of the head's."""
    rotations = np.empty((len(frame.root_rotations) + 1, 4))
    _kernels_loads.fill_root_rotations(frame.root_rotations, frame.head.rotation, rotations)
    return rotations


def place_loads(load: Float64Array, guide: NDArray[np.int32], parameter: FloatArray) -> FloatArray:
    """Loads (G, M, 3) at the places that go with the segments of the hairs of each bundle, shape (B, K, N, 3), float32.

    `guide (B, K)` and `parameter (B, K, N + 1)` as in `Bundles`.
    """
    placed = np.empty((*guide.shape, parameter.shape[2] - 1, 3), np.float32)
    _kernels_loads.place_loads(load, guide, parameter, placed)
    return placed
