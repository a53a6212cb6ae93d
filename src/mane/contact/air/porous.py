"""Hair as a porous medium: where guides and the triangles between them feel the air, and with which weights.

A guide stands for many hairs, which lie around it as much as on it. Each of its vertices feels the air at its own place
and at the middle of the triangles that it spans with neighbouring guides (chang2002 4.2 and 7.3), and pushes the air
there with the same weights, so that what one gains the other loses.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.contact.neighbours import find_pairs
from mane.geometry.checks import IntArray
from mane.strand.model import Float64Array, StrandModel

OWN_WEIGHT = 0.4  # of a vertex's own place, where it has triangles
BREAKS_AT = 3.0  # a triangle whose sides are so many times as long as at rest stands for no hair any more


class HairSamples:
    """Places where hair meets the air.

    Args:
        model: of the guides.
        has_triangles: whether triangles between guides count, or vertices alone.
    """

    def __init__(self, model: StrandModel, *, has_triangles: bool = True) -> None:
        self._shape = (model.strand_count, model.vertex_count)
        self.vertex_count = model.strand_count * model.vertex_count
        takes_part = ~model.is_slot
        pairs = np.zeros((0, 2), np.int64)
        if has_triangles:
            groups = np.zeros(model.strand_count, np.int64)
            pairs = find_pairs(model.rest_points[:, 0], takes_part, groups, "all", None)
        self.triangles = _triangles(pairs, model.vertex_count)
        rest = model.rest_points.reshape(-1, 3)
        self._widest = BREAKS_AT * _width(rest, self.triangles)
        corners = self.triangles.reshape(-1)
        self._shares = np.maximum(np.bincount(corners, minlength=self.vertex_count), 1)

    def places(self, points: Float64Array) -> Float64Array:
        """Vertices and middles of triangles [m], shape (Q, 3)."""
        flat = points.reshape(-1, 3)
        return np.concatenate([flat, flat[self.triangles].mean(axis=1)])

    def weights(self, points: Float64Array, active: NDArray[np.bool_]) -> tuple[Float64Array, Float64Array]:
        """Weight of every vertex's own place, shape (P,), and of each corner of a triangle, shape (T, 3)."""
        flat = points.reshape(-1, 3)
        there = np.repeat(active, self._shape[1])
        holds = (_width(flat, self.triangles) <= self._widest) & there[self.triangles].all(axis=1)
        corner = np.where(holds[:, None], (1.0 - OWN_WEIGHT) / self._shares[self.triangles], 0.0)
        given = np.bincount(self.triangles.reshape(-1), corner.reshape(-1), self.vertex_count).astype(np.float64)
        own: Float64Array = 1.0 - given
        return own, corner

    def felt(self, air: Float64Array, weights: tuple[Float64Array, Float64Array]) -> Float64Array:
        """Air at the places (Q, 3) as vertices feel it, shape (P, 3)."""
        own, corner = weights
        result = own[:, None] * air[: self.vertex_count]
        ends, middle = self.triangles.reshape(-1), np.repeat(air[self.vertex_count :], 3, axis=0)
        for axis in range(3):
            result[:, axis] += np.bincount(ends, corner.reshape(-1) * middle[:, axis], self.vertex_count)
        return result

    def shared_out(self, values: Float64Array, weights: tuple[Float64Array, Float64Array]) -> Float64Array:
        """What vertices do, (P, C), at the places, shape (Q, C); the transpose of `felt`."""
        own, corner = weights
        return np.concatenate([own[:, None] * values, (corner[:, :, None] * values[self.triangles]).sum(axis=1)])


def fibre_volumes(model: StrandModel) -> Float64Array:
    """Volume of one hair that belongs to every vertex [m^3], shape (P,): half of the segments beside it."""
    lengths = np.linalg.norm(np.diff(model.rest_points, axis=1), axis=2)
    halves = 0.5 * (np.pad(lengths, ((0, 0), (1, 0))) + np.pad(lengths, ((0, 0), (0, 1))))
    volumes: Float64Array = (halves * np.pi * model.radius**2).reshape(-1)
    return volumes


def _triangles(pairs: IntArray, vertices: int) -> IntArray:
    """Corners of the triangles of strips between pairs of strands, as numbers of vertices, shape (T, 3)."""
    a, b = (vertices * pairs[:, end, None] + np.arange(vertices - 1) for end in (0, 1))
    low, high = np.stack([a, a + 1, b], axis=-1), np.stack([b, b + 1, a + 1], axis=-1)
    return np.concatenate([low, high], axis=1).reshape(-1, 3)


def _width(points: Float64Array, triangles: IntArray) -> Float64Array:
    """Distance between the strands of every triangle: of its first corner from its last [m], shape (T,)."""
    width: Float64Array = np.linalg.norm(points[triangles[:, 0]] - points[triangles[:, 2]], axis=1)
    return width
