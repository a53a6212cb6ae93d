"""B_g of chai2017 eq. 5 as a frame: how a guide has turned at its vertices since rest, and what it carries."""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.geometry._kernels_quaternion import quat_between, quat_multiply, quat_rotate
from mane.simd.jit import njit, prange

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
TWO = np.float32(2.0)


@njit(cache=True, error_model="numpy", parallel=True)
def fill_rotations(
    rest,
    now,
    # out
    rotation,
):
    """Fill `rotation (G, F, U, 4)` with quaternions that take tangents `rest (G, U, 3)` to `now (G, F, U, 3)`.

    Without twist: each is the one before it and the smallest rotation that is left. The root does not turn.
    """
    for g in prange(len(rest)):
        for f in range(now.shape[1]):
            x, y, z, w = ZERO, ZERO, ZERO, ONE
            for i in range(rest.shape[1]):
                if i > 0:
                    ax, ay, az = quat_rotate(x, y, z, w, rest[g, i, 0], rest[g, i, 1], rest[g, i, 2])
                    bx, by, bz, bw = quat_between(ax, ay, az, now[g, f, i, 0], now[g, f, i, 1], now[g, f, i, 2])
                    x, y, z, w = quat_multiply(bx, by, bz, bw, x, y, z, w)
                    inv = ONE / np.float32(math.sqrt(x * x + y * y + z * z + w * w))
                    x, y, z, w = x * inv, y * inv, z * inv, w * inv
                rotation[g, f, i, 0], rotation[g, f, i, 1] = x, y
                rotation[g, f, i, 2], rotation[g, f, i, 3] = z, w


@njit(cache=True, error_model="numpy")
def fill_change(
    rotation,
    place,
    # out
    change,
):
    """Fill `change (9,)` with R - 1 at a place on a guide, between quaternions `rotation (U, 4)` of its vertices."""
    j = min(int(place), len(rotation) - 2)
    u = place - np.float32(j)
    a, b = rotation[j], rotation[j + 1]
    way = u if a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] >= ZERO else -u
    x, y = (ONE - u) * a[0] + way * b[0], (ONE - u) * a[1] + way * b[1]
    z, w = (ONE - u) * a[2] + way * b[2], (ONE - u) * a[3] + way * b[3]
    s = TWO / (x * x + y * y + z * z + w * w)
    change[0], change[1], change[2] = -s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)
    change[3], change[4], change[5] = s * (x * y + z * w), -s * (x * x + z * z), s * (y * z - x * w)
    change[6], change[7], change[8] = s * (x * z - y * w), s * (y * z + x * w), -s * (x * x + y * y)


@njit(cache=True, error_model="numpy", parallel=True)
def fill_changes(
    rotation,
    guide,
    parameter,
    # out
    change,
):
    """Fill `change (R, 9, V)` with R - 1 of the rows: places `parameter (R, 1, V)` of `guide (R, 1)`."""
    for r in prange(len(guide)):
        own = np.empty(9, np.float32)
        for i in range(parameter.shape[2]):
            fill_change(rotation[guide[r, 0]], parameter[r, 0, i], own)
            for k in range(9):
                change[r, k, i] = own[k]
