"""Polygons as triangles: convex ones as a fan, others by cutting off ears."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray, IntArray

Triangles = NDArray[np.int64]


def triangulate(points: FloatArray, counts: IntArray, indices: IntArray) -> tuple[Triangles, IntArray]:
    """Return triangles (T, 3) of polygons and the polygon of each, shape (T,), in order; winding is kept.

    `counts` (F,) are the corners of each polygon, `indices` their vertices one after the other. Polygons of fewer than
    three corners give no triangle.
    """
    offsets = np.concatenate([[0], np.cumsum(counts)])
    fan_counts = np.maximum(counts - 2, 0)
    polygon: IntArray = np.repeat(np.arange(len(counts)), fan_counts)
    step = np.arange(len(polygon)) - np.repeat(np.cumsum(fan_counts) - fan_counts, fan_counts)
    start = offsets[polygon]
    triangles = np.stack([indices[start], indices[start + step + 1], indices[start + step + 2]], axis=1)
    fan_ends = np.cumsum(fan_counts)
    for concave in _concave(points, triangles, polygon, len(counts)).tolist():
        corners = indices[offsets[concave] : offsets[concave + 1]]
        ears = _clip_ears(points[corners].astype(np.float64))
        triangles[fan_ends[concave] - len(ears) : fan_ends[concave]] = corners[ears]
    return triangles, polygon


def _concave(points: FloatArray, triangles: Triangles, polygon: IntArray, polygon_count: int) -> IntArray:
    """Polygons of which some triangle of the fan faces away from the whole."""
    a, b, c = (points[triangles[:, corner]].astype(np.float64) for corner in range(3))
    normals = np.cross(b - a, c - a)
    whole = np.stack([np.bincount(polygon, normals[:, axis], polygon_count) for axis in range(3)], axis=1)
    facing = np.einsum("ij,ij->i", normals, whole[polygon])
    return np.unique(polygon[facing < 0])


def _clip_ears(corners: NDArray[np.float64]) -> Triangles:
    """Triangles (n - 2, 3) of one simple polygon, given by its corners (n, 3)."""
    flat = _flattened(corners)
    left = list(range(len(flat)))
    triangles = []
    while len(left) > 3:
        ear = next((i for i in range(len(left)) if _is_ear(flat, left, i)), 0)  # a polygon that crosses itself has none
        triangles.append([left[ear - 1], left[ear], left[(ear + 1) % len(left)]])
        del left[ear]
    return np.asarray([*triangles, left])


def _flattened(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Corners (n, 2) seen along the polygon's normal, counter-clockwise."""
    following = np.roll(corners, -1, axis=0)
    normal = np.cross(corners, following).sum(axis=0)
    axis = int(np.abs(normal).argmax())
    kept = [(axis + 1) % 3, (axis + 2) % 3]
    return corners[:, kept if normal[axis] > 0 else kept[::-1]]


def _is_ear(flat: NDArray[np.float64], left: list[int], index: int) -> bool:
    a, b, c = flat[left[index - 1]], flat[left[index]], flat[left[(index + 1) % len(left)]]
    if _turn(a, b, c) <= 0:
        return False
    others = [i for i in left if i not in (left[index - 1], left[index], left[(index + 1) % len(left)])]
    p = flat[others]
    inside = (_turn(a, b, p) >= 0) & (_turn(b, c, p) >= 0) & (_turn(c, a, p) >= 0)
    return not inside.any()


def _turn(a: NDArray[np.float64], b: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Twice the signed area of the triangle a, b, p; positive where p is to the left."""
    return (b[..., 0] - a[..., 0]) * (p[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (p[..., 0] - a[..., 0])
