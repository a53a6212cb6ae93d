"""Three-by-three algebra on scalars, for kernels that run many strands side by side in lanes.

A symmetric matrix is six numbers in the order xx, yy, zz, xy, xz, yz; a full one is nine, row by row. Every function is
inlined into the loop over lanes, which LLVM could not vectorise around a call. Indices are unsigned throughout: a
signed one may count from the end, and the test for that hides from LLVM that two rows never overlap.
"""

# mypy: allow-untyped-defs

import numpy as np
from numba import njit

LANE_COUNT = 8
LANES = np.uint64(LANE_COUNT)
LANES_2, LANES_3, LANES_4, LANES_5, LANES_6, LANES_7, LANES_8 = (np.uint64(8 * k) for k in range(2, 9))
FASTMATH = {"contract", "arcp", "nsz", "afn"}
in_lanes = njit(cache=True, error_model="numpy", fastmath=FASTMATH, forceinline=True)


def rows(*sizes, start=0):
    """Where rows of these sizes begin in a buffer of lanes, one behind the other from row `start` on."""
    first = [start + sum(sizes[:k]) for k in range(len(sizes))]
    return tuple(np.uint64(LANE_COUNT * row) for row in first)


@in_lanes
def cross(ax, ay, az, bx, by, bz):
    """Cross product."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@in_lanes
def third_axis(x, y, z, w):
    """Third axis of a frame given as a unit quaternion."""
    return 2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)


@in_lanes
def symmetric_inverse(xx, yy, zz, xy, xz, yz):
    """Inverse of a symmetric matrix by its cofactors."""
    cxx = yy * zz - yz * yz
    cxy = xz * yz - xy * zz
    cxz = xy * yz - xz * yy
    inv = 1.0 / (xx * cxx + xy * cxy + xz * cxz)
    return (
        cxx * inv,
        (xx * zz - xz * xz) * inv,
        (xx * yy - xy * xy) * inv,
        cxy * inv,
        cxz * inv,
        (xy * xz - xx * yz) * inv,
    )


@in_lanes
def symmetric_times_vector(xx, yy, zz, xy, xz, yz, x, y, z):
    """Product of a symmetric matrix and a vector."""
    return xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z


@in_lanes
def symmetric_times_full(xx, yy, zz, xy, xz, yz, m):
    """Product of a symmetric and a full matrix, nine numbers."""
    return (
        xx * m[0] + xy * m[3] + xz * m[6],
        xx * m[1] + xy * m[4] + xz * m[7],
        xx * m[2] + xy * m[5] + xz * m[8],
        xy * m[0] + yy * m[3] + yz * m[6],
        xy * m[1] + yy * m[4] + yz * m[7],
        xy * m[2] + yy * m[5] + yz * m[8],
        xz * m[0] + yz * m[3] + zz * m[6],
        xz * m[1] + yz * m[4] + zz * m[7],
        xz * m[2] + yz * m[5] + zz * m[8],
    )


@in_lanes
def transposed_times_vector(m, x, y, z):
    """Product of the transpose of a full matrix and a vector."""
    return m[0] * x + m[3] * y + m[6] * z, m[1] * x + m[4] * y + m[7] * z, m[2] * x + m[5] * y + m[8] * z


@in_lanes
def full_times_vector(m, x, y, z):
    """Product of a full matrix and a vector."""
    return m[0] * x + m[1] * y + m[2] * z, m[3] * x + m[4] * y + m[5] * z, m[6] * x + m[7] * y + m[8] * z


@in_lanes
def transposed_times_full(a, b):
    """Product of the transpose of one full matrix and another, nine numbers."""
    return (
        a[0] * b[0] + a[3] * b[3] + a[6] * b[6],
        a[0] * b[1] + a[3] * b[4] + a[6] * b[7],
        a[0] * b[2] + a[3] * b[5] + a[6] * b[8],
        a[1] * b[0] + a[4] * b[3] + a[7] * b[6],
        a[1] * b[1] + a[4] * b[4] + a[7] * b[7],
        a[1] * b[2] + a[4] * b[5] + a[7] * b[8],
        a[2] * b[0] + a[5] * b[3] + a[8] * b[6],
        a[2] * b[1] + a[5] * b[4] + a[8] * b[7],
        a[2] * b[2] + a[5] * b[5] + a[8] * b[8],
    )


@in_lanes
def transposed_times_full_symmetric(a, b):
    """The same product where it is known to be symmetric, six numbers."""
    return (
        a[0] * b[0] + a[3] * b[3] + a[6] * b[6],
        a[1] * b[1] + a[4] * b[4] + a[7] * b[7],
        a[2] * b[2] + a[5] * b[5] + a[8] * b[8],
        a[0] * b[1] + a[3] * b[4] + a[6] * b[7],
        a[0] * b[2] + a[3] * b[5] + a[6] * b[8],
        a[1] * b[2] + a[4] * b[5] + a[7] * b[8],
    )


@in_lanes
def load3(buf, i):
    """Three rows of one lane, from index `i` on."""
    return buf[i], buf[i + LANES], buf[i + LANES_2]


@in_lanes
def load4(buf, i):
    """Four rows of one lane."""
    return buf[i], buf[i + LANES], buf[i + LANES_2], buf[i + LANES_3]


@in_lanes
def load6(buf, i):
    """Six rows of one lane."""
    return buf[i], buf[i + LANES], buf[i + LANES_2], buf[i + LANES_3], buf[i + LANES_4], buf[i + LANES_5]


@in_lanes
def load9(buf, i):
    """Nine rows of one lane."""
    return (
        buf[i],
        buf[i + LANES],
        buf[i + LANES_2],
        buf[i + LANES_3],
        buf[i + LANES_4],
        buf[i + LANES_5],
        buf[i + LANES_6],
        buf[i + LANES_7],
        buf[i + LANES_8],
    )


@in_lanes
def store3(buf, i, x, y, z):
    """Write three rows of one lane."""
    buf[i] = x
    buf[i + LANES] = y
    buf[i + LANES_2] = z


@in_lanes
def store4(buf, i, x, y, z, w):
    """Write four rows of one lane."""
    store3(buf, i, x, y, z)
    buf[i + LANES_3] = w


@in_lanes
def store6(buf, i, xx, yy, zz, xy, xz, yz):
    """Write six rows of one lane."""
    store3(buf, i, xx, yy, zz)
    store3(buf, i + LANES_3, xy, xz, yz)


@in_lanes
def store9(buf, i, m):
    """Write nine rows of one lane."""
    store3(buf, i, m[0], m[1], m[2])
    store3(buf, i + LANES_3, m[3], m[4], m[5])
    store3(buf, i + LANES_6, m[6], m[7], m[8])


@in_lanes
def subtract3(buf, i, x, y, z):
    """Subtract from three rows of one lane."""
    buf[i] -= x
    buf[i + LANES] -= y
    buf[i + LANES_2] -= z


@in_lanes
def subtract6(buf, i, xx, yy, zz, xy, xz, yz):
    """Subtract from six rows of one lane."""
    subtract3(buf, i, xx, yy, zz)
    subtract3(buf, i + LANES_3, xy, xz, yz)
