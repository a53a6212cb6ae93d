"""The kernels of this room again in plain NumPy, one strand at a time: the tests' specification."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float64Array = NDArray[np.float64]


def turning(curve: Float64Array) -> Float64Array:
    """Rotation vectors (V - 2, 3) between successive segments of a strand (V, 3) without zero-length segments."""
    steps = np.diff(curve, axis=0)
    directions = steps / np.linalg.norm(steps, axis=1, keepdims=True)
    cross = np.cross(directions[:-1], directions[1:])
    sine = np.linalg.norm(cross, axis=1, keepdims=True)
    cosine = (directions[:-1] * directions[1:]).sum(axis=1, keepdims=True)
    result: Float64Array = cross / np.where(sine > 0, sine, 1) * np.arctan2(sine, cosine)
    return result


def kink(curve: Float64Array, rest: Float64Array) -> float:
    """Jumps of the turning beyond those at rest, summed [rad]."""
    jumps, rest_jumps = (np.linalg.norm(np.diff(turning(c), axis=0), axis=1) for c in (curve, rest))
    return float(np.maximum(jumps - rest_jumps, 0).sum())


def curvature(curve: Float64Array) -> Float64Array:
    """Curvature at inner vertices [1/m], shape (V - 2,)."""
    lengths = np.linalg.norm(np.diff(curve, axis=0), axis=1)
    angle = np.linalg.norm(turning(curve), axis=1)
    result: Float64Array = 2 * np.sin(angle / 2) / (0.5 * (lengths[:-1] + lengths[1:]))
    return result


def torsion(curve: Float64Array, min_turn: float) -> Float64Array:
    """Torsion of inner segments [1/m], shape (V - 3,), 0 where an end turns by less than `min_turn` [rad]."""
    steps = np.diff(curve, axis=0)[1:-1]
    lengths = np.linalg.norm(steps, axis=1)
    turns = turning(curve)
    angles = np.linalg.norm(turns, axis=1)
    binormal = turns / np.where(angles > 0, angles, 1)[:, None]
    sine = (steps / lengths[:, None] * np.cross(binormal[:-1], binormal[1:])).sum(axis=1)
    cosine = (binormal[:-1] * binormal[1:]).sum(axis=1)
    is_bent = np.minimum(angles[:-1], angles[1:]) >= min_turn
    result: Float64Array = np.where(is_bent, np.arctan2(sine, cosine) / lengths, 0)
    return result
