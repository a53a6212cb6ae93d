"""Scalar quaternion functions for other kernels; `quaternion` is their specification."""

# mypy: allow-untyped-defs

import numpy as np

from mane.geometry.quaternion import TIE
from mane.simd.jit import njit


@njit(cache=True, error_model="numpy", inline="always")
def quat_multiply(ax, ay, az, aw, bx, by, bz, bw):
    """First b, then a."""
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


@njit(cache=True, error_model="numpy", inline="always")
def quat_rotate(qx, qy, qz, qw, x, y, z):
    """Turn a vector by a unit quaternion."""
    tx = np.float32(2.0) * (qy * z - qz * y)
    ty = np.float32(2.0) * (qz * x - qx * z)
    tz = np.float32(2.0) * (qx * y - qy * x)
    return (
        x + qw * tx + qy * tz - qz * ty,
        y + qw * ty + qz * tx - qx * tz,
        z + qw * tz + qx * ty - qy * tx,
    )


@njit(cache=True, error_model="numpy")
def quat_between(ax, ay, az, bx, by, bz):
    """Smallest rotation from unit vector a to unit vector b."""
    w = np.float32(1.0) + ax * bx + ay * by + az * bz
    if w < np.float32(1e-6):  # opposite: half a turn about the axis that a is least aligned with, made perpendicular
        hx, hy, hz = np.float32(0.0), np.float32(0.0), np.float32(0.0)
        # Which one it is must not hang on rounding: on the axes two are equally far.
        if abs(ax) <= min(abs(ay), abs(az)) + TIE:
            hx = np.float32(1.0)
        elif abs(ay) <= abs(az) + TIE:
            hy = np.float32(1.0)
        else:
            hz = np.float32(1.0)
        x, y, z, w = ay * hz - az * hy, az * hx - ax * hz, ax * hy - ay * hx, np.float32(0.0)
    else:
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    inv = np.float32(1.0) / np.sqrt(x * x + y * y + z * z + w * w)
    return x * inv, y * inv, z * inv, w * inv
