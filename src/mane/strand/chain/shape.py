"""Shape of a twist-free chain: frames carried along it, curvature at its joints, the moments that gravity asks for.

The frame of every link follows from the one before it by the smallest turn that takes one direction to the other. A
joint therefore has two degrees of freedom and no singularity short of a full fold back: its curvature is the axis of
that turn times 4 tan(angle / 4), two components in the frame of either link (they agree, the axis is shared). This
measure of a bend equals the angle to within 1 percent up to 40 degrees, stays finite and grows all the way to a fold,
and changes at the same rate about every axis, so that one number is its derivative.
"""

from __future__ import annotations

import numpy as np

from mane.geometry import quaternion
from mane.strand.chain._kernels_rows import FOLD
from mane.strand.model import Float64Array

# Largest bend off its rest [rad] that a joint may carry a moment with: beyond it hair would have to be coiled up at
# rest, and the strand sags instead (`hold` makes it stiff enough not to).
MAX_STRAIN = 2.0


def carried_frames(directions: Float64Array, base: Float64Array) -> Float64Array:
    """Frames (G, N, 4) of links with unit `directions` (G, N, 3), carried from `base` (G, 4) without twist."""
    frames = np.empty(directions.shape[:2] + (4,))
    frame, along = base, axis(base, 2)
    for link in range(directions.shape[1]):
        turn = quaternion.between_vectors(along, directions[:, link])
        frame = quaternion.normalize(quaternion.multiply(turn, frame))
        frames[:, link], along = frame, directions[:, link]
    return frames


def axis(frames: Float64Array, number: int) -> Float64Array:
    """Axis 0, 1 or 2 of frames (..., 4), shape (..., 3)."""
    vectors: Float64Array = quaternion.rotate(frames, np.eye(3)[number])
    return vectors


def before(base: Float64Array, frames: Float64Array) -> Float64Array:
    """Frame of the link before each link (G, N, 4); before the first one comes `base` (G, 4)."""
    return np.concatenate([base[:, None], frames[:, :-1]], axis=1)


def curvature(frames: Float64Array, base: Float64Array) -> Float64Array:
    """Curvature 4 tan(angle / 4) of every joint about the first two axes of its frames, shape (G, N, 2)."""
    parents = before(base, frames)
    directions = axis(frames, 2)
    cos_half = np.sqrt(0.5 * np.maximum(1 + (axis(parents, 2) * directions).sum(axis=-1), FOLD))
    along = [(axis(parents, number) * directions).sum(axis=-1) for number in (0, 1)]
    result: Float64Array = np.stack([-along[1], along[0]], axis=-1) * (2 / (cos_half * (1 + cos_half)))[..., None]
    return result


def joint_axes(frames: Float64Array, base: Float64Array) -> Float64Array:
    """Two unit vectors that a joint's rate turns about, half way between its frames, world, shape (G, N, 2, 3)."""
    parents = before(base, frames)
    half = quaternion.slerp(parents, frames, np.full(frames.shape[:2], 0.5))
    return np.stack([axis(half, 0), axis(half, 1)], axis=2)


def curvature_slope(curvatures: Float64Array) -> Float64Array:
    """Derivative of curvatures (..., 2) by the angle turned about the joint's axes, shape (...)."""
    slope: Float64Array = 1 + (curvatures**2).sum(axis=-1) / 16
    return slope


def forces_beyond(forces: Float64Array) -> Float64Array:
    """Sum of the vertex forces (G, V, 3) beyond every link, shape (G, N, 3)."""
    return np.cumsum(forces[:, :0:-1], axis=1)[:, ::-1].copy()


def moments_beyond(joints: Float64Array, points: Float64Array, forces: Float64Array) -> Float64Array:
    """Moment about every joint (G, N, 3) of the `forces` that act at `points` (G, V, 3) beyond it, shape (G, N, 3)."""
    about_origin = np.cumsum(np.cross(points, forces)[:, :0:-1], axis=1)[:, ::-1]
    return about_origin - np.cross(joints, forces_beyond(forces))


def rest_curvature(
    frames: Float64Array, base: Float64Array, moments: Float64Array, stiffness: Float64Array
) -> Float64Array:
    """Curvature (G, N, 2) without moment, so that joints of `stiffness` (G, N) [N m] carry `moments` in this shape."""
    now = curvature(frames, base)
    about_axes = np.einsum("gnak,gnk->gna", joint_axes(frames, base), moments)
    strain = about_axes / (curvature_slope(now) * stiffness)[..., None]
    size = np.linalg.norm(strain, axis=-1, keepdims=True)
    result: Float64Array = now - strain * (MAX_STRAIN / np.maximum(size, MAX_STRAIN))
    return result
