"""Guides at rest between styles, no deeper in the body than the styles are: a blend of hair on skin lies below it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.body.solid import PosedSolid
from mane.reduced import _kernels as kernels

Frames = NDArray[np.float32]


def laid(roots: Frames, unit: Frames, length: Frames) -> Frames:
    """Strands (G, V, 3) from roots, directions and lengths of segments."""
    points = np.empty((len(roots), unit.shape[1] + 1, 3), np.float32)
    points[:, 0] = roots
    points[:, 1:] = roots[:, None] + np.cumsum(unit * length[..., None], axis=1)
    return points


def distances(body: PosedSolid, points: Frames) -> Frames:
    """Distance of each vertex from the body [m], (..., V), of points (..., V, 3)."""
    found = body.distance(points.reshape(-1, 3)).reshape(points.shape[:-1])
    return np.asarray(found, np.float32)


def lifted(body: PosedSolid, roots: Frames, unit: Frames, length: Frames, levels: Frames) -> Frames:
    """Directions (G, N, 3) of strands whose vertices are at a distance of at least `levels` (G, V) [m] from the body.

    As the kernel pushes hair that moves: root to tip, lengths kept, so that a vertex may be left a little deeper.
    """
    unit = unit.copy()
    rows = np.flatnonzero((distances(body, laid(roots, unit, length)) < levels)[:, 1:].any(axis=1))
    before = roots[rows]
    for i in range(unit.shape[1]):
        own = unit[rows, i]
        for _ in range(kernels.PUSHES):
            distance, normal = body.distance_and_gradient(before + length[rows, i, None] * own)
            depth = np.maximum(levels[rows, i + 1] - distance, 0.0)[:, None]
            edge = length[rows, i, None] * own + depth * normal
            moved = edge / np.maximum(np.linalg.norm(edge, axis=1, keepdims=True), 1e-9)
            own = np.where(depth > 0.0, moved, own).astype(np.float32)
        unit[rows, i] = own
        before = before + length[rows, i, None] * own
    return unit
