"""`GuideLoads`: what hairs are to feel of their guides, in weights of a guide: cut forces, and the moments beyond them.

The torque on a segment is that of its cut force and of the moment that all beyond it hands on. One sweep from root to
tip (hsu2024 eq. 24) knows the force alone, and its lever is one segment long: a hair that feels no more is far too
stiff, and what its guide's neighbouring segments cancel shows as trembling. A guide, however, shows its moments by how
it is bent. So its load is taken as that force, along and across each segment, under which one sweep bends the guide as
it is bent: the same force as eq. 10 interpolates along the segment, and across it all moments from there to the tip.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mane.geometry.checks import FloatArray
from mane.skin.physical import _kernels_loads as kernels
from mane.skin.physical.forces import GuideForces, rotations_at_roots
from mane.skin.physical.params import PhysicalParams
from mane.skin.physical.rest import HairRest, joint_stiffness, solve_rest
from mane.strand.frame import GuideFrame, InsertedGuides
from mane.strand.model import Float64Array, StrandModel

REST_TURN = 0.25  # tangent of half the angle, at most `_kernels_loads.EXACT_TURN`


@dataclass(frozen=True, eq=False)
class GuideLoads:
    """Loads of G guides of M segments.

    Attributes:
        forces: their cut forces.
        at_rest: what they feel as groomed, in weights, shape (G, M, 3).
        params: settings of the skin.
        rest: of the guides, or None where cut forces are all that is wanted.
    """

    forces: GuideForces
    at_rest: Float64Array
    params: PhysicalParams
    rest: HairRest | None

    @classmethod
    def of(cls, model: StrandModel, params: PhysicalParams, rest: GuideFrame | None) -> GuideLoads:
        """Make one for guides of a `model`, whose forces as groomed are those of `rest`, by default their weight."""
        forces = GuideForces.of(model)
        still = np.zeros((model.strand_count, model.segment_count, 3))
        if params.sag_free:
            still = forces.at_rest() if rest is None else limited(forces.of_frame(rest), params)
        solved = None
        if params.carries_moments:
            bend = model.bend_stiffness.mean(axis=1) / forces.weight
            still = _bearable(still, model.rest_points, bend, params)
            solved = _solved(model.rest_points, still, bend, params)
        return cls(forces, still, params, solved)

    def of_frame(self, frame: GuideFrame, rotations: Float64Array | None = None) -> Float64Array:
        """Loads at one frame, in weights, shape (G, M, 3), with its `rotations_at_roots` where they are known."""
        if self.rest is None:
            return limited(self.forces.of_frame(frame), self.params)
        rotations = rotations_at_roots(frame) if rotations is None else rotations
        return self._bending(self.rest, frame.points, frame.cut_force, self.forces.weight, rotations[:-1])

    def rest_of_inserted(self, inserted: InsertedGuides) -> HairRest | None:
        """Rest of inserted guides; None where cut forces are all that is wanted."""
        if self.rest is None:
            return None
        parents = inserted.parents
        still, bend = self.at_rest[parents].mean(axis=1), self.rest.bend[parents].mean(axis=1)
        return _solved(inserted.rest.astype(np.float64), still, bend, self.params)

    def of_inserted(self, inserted: InsertedGuides, rest: HairRest | None, rotations: Float64Array) -> Float64Array:
        """Loads of inserted guides, whose skin at the roots has turned by `turns (I, 4)`, shape (I, M, 3).

        `rest` is their `rest_of_inserted`.
        """
        if rest is None:
            return limited(self.forces.of_inserted(inserted), self.params)
        weight = self.forces.weight_of_inserted(inserted)
        return self._bending(rest, inserted.points, inserted.cut_force, weight, rotations)

    def _bending(
        self, rest: HairRest, points: FloatArray, cut: FloatArray, weight: Float64Array, rotations: Float64Array
    ) -> Float64Array:
        params, load = self.params, np.empty(cut.shape)
        kernels.fill_loads(
            points,
            cut,
            weight,
            params.largest_force,
            rotations,
            rest.first,
            rest.length,
            rest.bend,
            1 - params.alpha,
            params.alpha * params.drift,
            load,
        )
        return load


def _solved(points: Float64Array, still: Float64Array, bend: Float64Array, params: PhysicalParams) -> HairRest:
    """Rest of guides that feel `still (G, M, 3)` as groomed, `points (G, M + 1, 3)` [m]."""
    return solve_rest(points, still, bend, np.zeros(len(bend)), params)


def _bearable(still: Float64Array, points: Float64Array, bend: Float64Array, params: PhysicalParams) -> Float64Array:
    """Loads of guides as groomed (G, M, 3) that turn no segment by more than `REST_TURN`.

    A long soft hair that is groomed to stand out has joints which its weight would bend by a right angle and more, from
    where no load can be read any more. Which load counts as none is free: hairs are compared with their guides at rest.
    """
    edge = np.diff(points, axis=1)
    length = np.linalg.norm(edge, axis=2)
    tangent, share = edge / length[..., None], 1 - params.alpha
    tension = np.einsum("gic,gic->gi", still, tangent)
    sideways = still - tension[..., None] * tangent
    p, k = length * (share * tension + params.alpha * params.drift), 0.5 * joint_stiffness(bend, length)
    root = np.sqrt(p * p + REST_TURN**2 * k * (k - 2 * p))
    largest = REST_TURN * (k - p + root) / (1 - REST_TURN**2)
    size = share * length * np.linalg.norm(sideways, axis=2)
    result: Float64Array = tension[..., None] * tangent + sideways * (largest / np.maximum(size, largest))[..., None]
    return result


def limited(cut: Float64Array, params: PhysicalParams) -> Float64Array:
    """Cut forces (G, M, 3) of at most `params.largest_force`, in weights.

    A blow lasts for a substep, and a rod hardly moves in it; rebuilt as if it stood under it, a hair would jump.
    """
    size = np.sqrt(np.einsum("gic,gic->gi", cut, cut))
    scale = params.largest_force / np.maximum(size, params.largest_force)
    result: Float64Array = cut * scale[..., None]
    return result
