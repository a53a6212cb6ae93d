"""Did hair pass through hair? Segments that crossed each other between two frames, and how often two sets wind."""

from __future__ import annotations

import numpy as np

from mane.geometry.checks import IntArray
from mane.geometry.index import PointIndex
from mane.strand.model import Float64Array

HALVINGS = 30  # of the interval in which the moment of a crossing is searched: a billionth of a step


def find_crossings(before: Float64Array, after: Float64Array) -> IntArray:
    """Return pairs of segments of different strands that went through each other, as strand * N + segment, (K, 2).

    Vertices move straight from `before` to `after`, both (G, V, 3) [m]. The volume of the tetrahedron that two segments
    span changes its sign when the lines through them cross; it is a crossing when both meet within their ends then.
    Two crossings of one pair within the step undo each other and are not seen.
    """
    segments = before.shape[1] - 1
    start = np.stack([before[:, :-1].reshape(-1, 3), before[:, 1:].reshape(-1, 3)])
    end = np.stack([after[:, :-1].reshape(-1, 3), after[:, 1:].reshape(-1, 3)])
    middle = 0.25 * (start.sum(axis=0) + end.sum(axis=0))
    reach = max(float(np.linalg.norm(corner - middle, axis=1).max()) for corner in (*start, *end))
    pairs = PointIndex(middle).pairs_within(2.0 * reach * (1.0 + 1e-6))
    pairs = pairs[pairs[:, 0] // segments != pairs[:, 1] // segments]
    first, last = _corners(start, pairs), _corners(end, pairs)
    low, high = _volume(first), _volume(last)
    turns = (low > 0) != (high > 0)
    pairs, first, last, low = pairs[turns], first[:, turns], last[:, turns], low[turns]
    moment = _moment(first, last, low)[:, None]
    result: IntArray = pairs[_meet((1.0 - moment) * first + moment * last)]
    return result


def _corners(ends: Float64Array, pairs: IntArray) -> Float64Array:
    """Both ends of both segments of each pair, shape (4, K, 3)."""
    return np.stack([ends[0, pairs[:, 0]], ends[1, pairs[:, 0]], ends[0, pairs[:, 1]], ends[1, pairs[:, 1]]])


def _volume(corners: Float64Array) -> Float64Array:
    """Six times the signed volume of the tetrahedra, shape (K,)."""
    a, b, c, d = corners
    volume: Float64Array = np.einsum("ki,ki->k", np.cross(b - a, d - c), c - a)
    return volume


def _moment(first: Float64Array, last: Float64Array, low: Float64Array) -> Float64Array:
    """Share of the step at which the volume, which is `low` at its start, changes its sign, by bisection, (K,)."""
    start, end = np.zeros(len(low)), np.ones(len(low))
    for _ in range(HALVINGS):
        half = 0.5 * (start + end)
        same = (_volume((1.0 - half[:, None]) * first + half[:, None] * last) > 0) == (low > 0)
        start, end = np.where(same, half, start), np.where(same, end, half)
    return 0.5 * (start + end)


def _meet(corners: Float64Array) -> np.ndarray:
    """Whether two segments in one plane, corners (4, K, 3), have a point in common, shape (K,)."""
    a, b, c, d = corners
    along, other, way = b - a, d - c, c - a
    normal = np.cross(along, other)
    square = np.maximum(np.einsum("ki,ki->k", normal, normal), np.finfo(float).tiny)
    u = np.einsum("ki,ki->k", np.cross(way, other), normal) / square
    w = np.einsum("ki,ki->k", np.cross(way, along), normal) / square
    return np.asarray((u >= 0) & (u <= 1) & (w >= 0) & (w <= 1))


def winding(one: Float64Array, other: Float64Array) -> Float64Array:
    """Angle by which one curve winds around another from the first to each vertex, seen from above [rad], shape (V,).

    Curves are (V, 3) [m] and hang along -Y; the angle is that of the way from one to the other at the same vertex.
    """
    way = other - one
    angle = np.unwrap(np.arctan2(way[:, 2], way[:, 0]))
    wound: Float64Array = angle - angle[0]
    return wound
