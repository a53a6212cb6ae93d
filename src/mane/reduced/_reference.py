"""One frame of learned hair in plain NumPy, all strands side by side: the specification of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion

Array = NDArray[np.float64]
Distance = Callable[[Array], tuple[Array, Array]]


def synthesize(control: Array, history: Array, controls: Array, past: Array) -> Array:
    """guan2012 eq. 10: y_t of what is known of the body (U,) and the last coefficients, oldest first (order, d)."""
    return np.asarray(control @ controls + sum(b @ y for b, y in zip(history, past, strict=True)))


def lay_strands(
    roots: Array, directions: Array, lengths: Array, levels: Array, distances: list[Distance], thickness: float
) -> Array:
    """Vertices (G, V, 3) of strands from root to tip, each out of solids by two pushes with its length kept.

    Args:
        roots: [m], (G, 3).
        directions: of the segments, world, of any length, (G, N, 3).
        lengths: of the segments [m], (G, N).
        levels: distance from the first solid that each vertex is pushed to at most [m], (G, V).
        distances: of each solid: signed distance [m] and unit gradient at points (G, 3).
        thickness: distance that the other solids push to [m].
    """
    points = [roots]
    for i in range(lengths.shape[1]):
        before, length = points[-1], lengths[:, i, None]
        here = before + length * _unit(directions[:, i])
        for _ in range(2):
            for number, distance in enumerate(distances):
                d, normal = distance(here)
                depth = (levels[:, i + 1] if number == 0 else thickness) - d
                pushed = before + length * _unit(here + depth[:, None] * normal - before)
                here = np.where(depth[:, None] > 0, pushed, here)
        points.append(here)
    return np.stack(points, axis=1)


def strand_frames(points: Array, root_rotations: Array, rest_frames: Array) -> Array:
    """Frames (G, N, 4) of the segments of strands (G, V, 3), from the rotation of the skin at each root (G, 4) on.

    Each is that of the segment before, turned as from that segment to this one at rest, where frames are
    `rest_frames (G, N, 4)`, and then by the smallest rotation onto the segment.
    """
    tangents = _unit(np.diff(points, axis=1))
    frame, before = root_rotations, np.array([0.0, 0.0, 0.0, 1.0])
    frames = []
    for i in range(tangents.shape[1]):
        joint = quaternion.multiply(quaternion.conjugate(before), rest_frames[:, i])
        frame, before = quaternion.multiply(frame, joint), rest_frames[:, i]
        axis = quaternion.rotate(frame, np.array([0.0, 0.0, 1.0]))
        frame = quaternion.multiply(quaternion.between_vectors(axis, tangents[:, i]), frame)
        frames.append(frame)
    return np.stack(frames, axis=1)


def cut_forces(
    points: Array, previous: NDArray[Any], velocity: NDArray[Any], masses: NDArray[Any], gravity: Any, dt: float
) -> Array:
    """Force that the part beyond each segment pulls at it with [N], (G, N, 3): its weight less what speeds it up."""
    acceleration = ((points - previous) / dt - velocity) / dt
    each = masses[..., None] * (np.asarray(gravity) - acceleration)
    return np.asarray(np.cumsum(each[:, ::-1], axis=1)[:, ::-1][:, 1:])


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
