"""Tangents at the vertices of strands, and how guides have turned there: the other half of chai2017's states (p, t)."""

from __future__ import annotations

import numpy as np

from mane.geometry.checks import FloatArray
from mane.skin.adaptive import _kernels_frames as kernels

SHORTEST = 1e-12  # [m] a tangent along less is none


def vertex_tangents(points: FloatArray) -> FloatArray:
    """Unit tangents at the vertices of strands (..., V, 3), by central differences, one-sided at the ends, float32."""
    way = np.empty(points.shape, np.float32)
    way[..., 1:-1, :] = points[..., 2:, :] - points[..., :-2, :]
    way[..., 0, :] = points[..., 1, :] - points[..., 0, :]
    way[..., -1, :] = points[..., -1, :] - points[..., -2, :]
    length = np.linalg.norm(way, axis=-1, keepdims=True)
    result: FloatArray = np.where(
        length > SHORTEST, way / np.maximum(length, SHORTEST), np.array([0, 0, 1], np.float32)
    )
    return result


def vertex_rotations(rest: FloatArray, points: FloatArray) -> FloatArray:
    """How guides have turned at their vertices since rest, quaternions (G, F, U, 4), without twist.

    Args:
        rest: guides at rest [m], shape (G, U, 3).
        points: in F frames, as seen from the head [m], shape (G, F, U, 3). The root turns with the head.
    """
    rotation = np.empty((*points.shape[:3], 4), np.float32)
    kernels.fill_rotations(vertex_tangents(rest), vertex_tangents(points), rotation)
    return rotation
