"""Hairs carried from the rest pose of a skin that deforms to where it is, each by its own root."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange


@njit(cache=True, error_model="numpy", inline="always")
def matrix_of(q, s):
    """Rotation matrix, row by row, of the unit quaternion in row `s` of `q`."""
    x, y, z, w = q[s, 0], q[s, 1], q[s, 2], q[s, 3]
    return (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - z * w),
        2.0 * (x * z + y * w),
        2.0 * (x * y + z * w),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - x * w),
        2.0 * (x * z - y * w),
        2.0 * (y * z + x * w),
        1.0 - 2.0 * (x * x + y * y),
    )


@njit(cache=True, error_model="numpy", parallel=True)
def carry_hairs(
    before,
    after,
    rotations,
    # out
    points,
):
    """Move hairs `points (S, V, 3)` in place: turn them by `rotations (S, 4)` about `before (S, 3)`, then to `after`.

    In double precision, so that a hair that stays comes back bit for bit, and one far from the origin keeps its shape.
    """
    for s in prange(len(points)):
        xx, xy, xz, yx, yy, yz, zx, zy, zz = matrix_of(rotations, s)
        bx, by, bz = np.float64(before[s, 0]), np.float64(before[s, 1]), np.float64(before[s, 2])
        ax, ay, az = np.float64(after[s, 0]), np.float64(after[s, 1]), np.float64(after[s, 2])
        for i in range(points.shape[1]):
            x, y, z = points[s, i, 0] - bx, points[s, i, 1] - by, points[s, i, 2] - bz
            points[s, i, 0] = ax + (xx * x + xy * y + xz * z)
            points[s, i, 1] = ay + (yx * x + yy * y + yz * z)
            points[s, i, 2] = az + (zx * x + zy * y + zz * z)
