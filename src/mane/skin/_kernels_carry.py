"""Hairs carried from the rest pose of a skin that deforms to where it is, each by its own root."""

# mypy: allow-untyped-defs

import numpy as np

from mane.geometry._kernels_quaternion import quat_multiply
from mane.simd.jit import njit, prange


@njit(cache=True, error_model="numpy")
def matrix_of(x, y, z, w):
    """Rotation matrix of a unit quaternion, row by row."""
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )


@njit(cache=True, error_model="numpy")
def times(m, x, y, z):
    """A matrix, row by row, times a vector."""
    return (
        m[0][0] * x + m[0][1] * y + m[0][2] * z,
        m[1][0] * x + m[1][1] * y + m[1][2] * z,
        m[2][0] * x + m[2][1] * y + m[2][2] * z,
    )


@njit(cache=True, error_model="numpy", parallel=True)
def carry_hairs(
    before,
    after,
    rotations,
    pose,
    # out
    points,
):
    """Move hairs `points (S, V, 3)` in place: turn them by `rotations (S, 4)` about `before (S, 3)`, then to `after`.

    `pose` (7,), a position and a quaternion, carries all of that on. In double precision, so that a hair that stays
    comes back bit for bit, and one far from the origin keeps its shape.
    """
    for s in prange(len(points)):
        q = quat_multiply(
            pose[3], pose[4], pose[5], pose[6], rotations[s, 0], rotations[s, 1], rotations[s, 2], rotations[s, 3]
        )
        m, turned = matrix_of(q[0], q[1], q[2], q[3]), matrix_of(pose[3], pose[4], pose[5], pose[6])
        bx, by, bz = np.float64(before[s, 0]), np.float64(before[s, 1]), np.float64(before[s, 2])
        ax, ay, az = times(turned, after[s, 0], after[s, 1], after[s, 2])
        ax, ay, az = pose[0] + ax, pose[1] + ay, pose[2] + az
        for i in range(points.shape[1]):
            x, y, z = times(m, points[s, i, 0] - bx, points[s, i, 1] - by, points[s, i, 2] - bz)
            points[s, i, 0], points[s, i, 1], points[s, i, 2] = ax + x, ay + y, az + z


@njit(cache=True, error_model="numpy", parallel=True)
def fill_world_rotations(
    rotations,
    pose,
    # out
    out,
):
    """Fill `out (S, 4)` with `rotations (S, 4)` turned on by the quaternion of `pose` (7,)."""
    for s in prange(len(out)):
        out[s, 0], out[s, 1], out[s, 2], out[s, 3] = quat_multiply(
            pose[3], pose[4], pose[5], pose[6], rotations[s, 0], rotations[s, 1], rotations[s, 2], rotations[s, 3]
        )
