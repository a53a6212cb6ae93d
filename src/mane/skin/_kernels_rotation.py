"""Scalar quaternion functions of skins that follow one hair after another, in the precision of their input.

Not those of `geometry`, which are inlined before they are compiled: for a sweep that takes four times as long.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit

FASTMATH = {"contract", "arcp", "nsz", "afn"}
ONE = np.float32(1.0)
TWO = np.float32(2.0)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def product(ax, ay, az, aw, bx, by, bz, bw):
    """First quaternion b, then a."""
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def turned(qx, qy, qz, qw, x, y, z):
    """Turn a vector by a unit quaternion."""
    tx, ty, tz = TWO * (qy * z - qz * y), TWO * (qz * x - qx * z), TWO * (qx * y - qy * x)
    return x + qw * tx + qy * tz - qz * ty, y + qw * ty + qz * tx - qx * tz, z + qw * tz + qx * ty - qy * tx


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def third_axis(x, y, z, w):
    """Third axis of a unit quaternion."""
    return TWO * (x * z + w * y), TWO * (y * z - w * x), ONE - TWO * (x * x + y * y)
