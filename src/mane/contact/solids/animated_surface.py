"""Distance of guides to a solid that deforms, sampled for one step through its own Python functions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.body.packed import PackedSolid
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import MovingSolid, StrandView

# Vertices further from the mesh's box than their path in a step and this part of the longest segment are left out.
MARGIN = 1e-3


class AnimatedSurface:
    """What vertices of guides meet of a solid that deforms during one step.

    The solid is asked at the end of each vertex's path; only vertices whose path reaches its bounding box count.
    """

    def __init__(self, packed: PackedSolid, model: StrandModel) -> None:
        self._packed = packed
        shape = (model.strand_count, model.vertex_count)
        self._margin = MARGIN * float(model.rest_length.max())
        self._distance = np.full(shape, np.inf)
        self._normal = np.zeros((*shape, 3))
        self._surface = np.zeros((*shape, 3))
        self._start = np.zeros((*shape, 3))

    def sample(
        self, strands: StrandView, moving: MovingSolid, held: NDArray[np.bool_], thickness: float
    ) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Return distance at the start of the step (G, V) [m], normal (G, V, 3), velocity of the surface (G, V, 3).

        The distance is infinite where nothing is near. The buffers are reused by the next call.
        """
        own = self._packed.at(moving.after, strands.time).surface
        dt = strands.dt
        goal = strands.points + dt * strands.velocity
        local = moving.after.inverse_apply(goal)
        low, high = own.bounds.astype(np.float64)
        travel = np.linalg.norm(local - moving.before.inverse_apply(strands.points), axis=2)
        outside = np.maximum(np.maximum(low - local, local - high), 0.0)
        near = np.linalg.norm(outside, axis=2) <= travel + thickness + self._margin
        near &= strands.active[:, None]
        near[:, 0] &= ~held
        self._distance.fill(np.inf)
        self._start[...] = strands.points
        if not near.any():
            return self._distance, self._normal, self._surface
        places = local[near].astype(np.float32)
        distance, gradient = own.distance_and_gradient(places)
        rotation = moving.after.matrix[:3, :3]
        normal = gradient.astype(np.float64) @ rotation.T
        carried = (moving.after.apply(local[near]) - moving.before.apply(local[near])) / dt
        surface = carried + own.velocity(places) @ rotation.T
        approach = np.einsum("pi,pi->p", normal, strands.velocity[near] - surface)
        self._distance[near] = distance - thickness - dt * approach
        self._normal[near] = normal
        self._surface[near] = surface
        return self._distance, self._normal, self._surface

    def depth(self, strands: StrandView, thickness: float) -> float:
        """How deep a vertex is at the end of the step [m], as far as the sampled planes tell."""
        near = np.isfinite(self._distance)
        moved = strands.points[near] - self._start[near] - strands.dt * self._surface[near]
        end = self._distance[near] + thickness + np.einsum("pi,pi->p", self._normal[near], moved)
        return max(0.0, -float(end.min(initial=0.0)))
