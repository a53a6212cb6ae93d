"""Tangents and parallel transport along strands."""

# mypy: allow-untyped-defs

import numpy as np

from mane.geometry._kernels_quaternion import quat_between, quat_multiply, quat_rotate
from mane.simd.jit import njit, prange

# Shorter than this [m], a segment's direction is rounding noise.
NO_LENGTH = np.float32(1e-12)


@njit(cache=True, error_model="numpy", parallel=True)
def fill_tangents(points, out):
    """Fill `out` (S, V - 1, 3) with the unit tangents of `points` (S, V, 3)."""
    for s in prange(points.shape[0]):
        known = -1  # the last segment that has a direction
        for i in range(points.shape[1] - 1):
            dx = points[s, i + 1, 0] - points[s, i, 0]
            dy = points[s, i + 1, 1] - points[s, i, 1]
            dz = points[s, i + 1, 2] - points[s, i, 2]
            length = np.sqrt(dx * dx + dy * dy + dz * dz)
            if length > NO_LENGTH:
                inv = np.float32(1.0) / length
                out[s, i, 0] = dx * inv
                out[s, i, 1] = dy * inv
                out[s, i, 2] = dz * inv
                if known < 0:
                    # Rows number by number: assigned whole, Numba compiles thirty functions for the words of an error.
                    for j in range(i):
                        for k in range(3):
                            out[s, j, k] = out[s, i, k]
                known = i
            elif known >= 0:
                for k in range(3):
                    out[s, i, k] = out[s, known, k]
        if known < 0:
            for i in range(out.shape[1]):
                out[s, i, 0], out[s, i, 1], out[s, i, 2] = np.float32(0.0), np.float32(0.0), np.float32(1.0)


@njit(cache=True, error_model="numpy", parallel=True)
def transport_frames(tangents, root, out):
    """Fill `out` (S, N, 4) with frames that follow `tangents` (S, N, 3) from `root` (S, 4) without twisting."""
    for s in prange(tangents.shape[0]):
        qx, qy, qz, qw = root[s, 0], root[s, 1], root[s, 2], root[s, 3]
        for i in range(tangents.shape[1]):
            zx, zy, zz = quat_rotate(qx, qy, qz, qw, np.float32(0.0), np.float32(0.0), np.float32(1.0))
            tx, ty, tz, tw = quat_between(zx, zy, zz, tangents[s, i, 0], tangents[s, i, 1], tangents[s, i, 2])
            qx, qy, qz, qw = quat_multiply(tx, ty, tz, tw, qx, qy, qz, qw)
            # Rounding would let the length drift over hundreds of segments.
            inv = np.float32(1.0) / np.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
            qx, qy, qz, qw = qx * inv, qy * inv, qz * inv, qw * inv
            out[s, i, 0], out[s, i, 1], out[s, i, 2], out[s, i, 3] = qx, qy, qz, qw
