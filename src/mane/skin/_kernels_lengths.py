"""Lengths of the dense hair: measured, compared, kept.

What is measured is the norm of a hair: the root of the summed squares of its segment lengths, which takes one root for
a hair instead of one for each segment. Of a hair with N segments alike it is the length over the root of N.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange

HAIRS_PER_TASK = 256
# Sums may be taken in any order, or they are taken number by number.
FASTMATH = {"contract", "arcp", "nsz", "afn", "reassoc"}
ZERO = np.float32(0.0)
U = np.uint64
ROUNDING = np.float32(2e-5)  # of a segment: what float32 leaves of a short one


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def norm_of_hair(points, first, vertices):
    """Norm of the hair whose `vertices` begin at `points[first]`, x, y and z of each; NaN where one is not finite."""
    total = ZERO
    for k in range(3 * (vertices - 1)):
        step = points[U(first + k + 3)] - points[U(first + k)]
        total += step * step
    return math.sqrt(total)


@njit(cache=True, error_model="numpy", parallel=True)
def fill_norms(
    points,
    vertices,
    # out
    norm,
):
    """Fill `norm (S,)` with that of each hair of `points`, flat (S * V * 3)."""
    hairs = len(norm)
    for task in prange((hairs + HAIRS_PER_TASK - 1) // HAIRS_PER_TASK):
        for s in range(task * HAIRS_PER_TASK, min((task + 1) * HAIRS_PER_TASK, hairs)):
            norm[s] = norm_of_hair(points, 3 * vertices * s, vertices)


@njit(cache=True, error_model="numpy")
def count_outside(norm, low, high, slack):
    """How many norms (S,) are not between `low` and `high` (S,), give or take `slack`; NaN is not."""
    inside = 0
    for s in range(len(norm)):
        inside += np.int64((norm[s] >= low[s] - slack) & (norm[s] <= high[s] + slack))
    return len(norm) - inside


@njit(cache=True, error_model="numpy", parallel=True)
def keep_lengths(
    rest,
    # out
    points,
):
    """Give each segment of `points (S, V, 3)` its length `rest (S, N)` from root to tip, its direction kept.

    A segment without direction takes that of the one before it. Up to the first segment that is off by more than
    rounding, vertices stay as they are, to the bit.
    """
    for s in prange(len(points)):
        ox, oy, oz = points[s, 0, 0], points[s, 0, 1], points[s, 0, 2]  # the vertex before, as it was
        px, py, pz = ox, oy, oz
        dx, dy, dz = np.float32(0.0), np.float32(1.0), np.float32(0.0)
        is_kept = True
        for i in range(1, points.shape[1]):
            x, y, z = points[s, i, 0], points[s, i, 1], points[s, i, 2]
            wx, wy, wz = x - ox, y - oy, z - oz
            size = math.sqrt(wx * wx + wy * wy + wz * wz)
            if size > ZERO:
                dx, dy, dz = wx / size, wy / size, wz / size
            ox, oy, oz = x, y, z
            length = rest[s, i - 1]
            is_kept &= abs(size - length) <= ROUNDING * length
            if is_kept:
                px, py, pz = x, y, z
                continue
            px, py, pz = px + length * dx, py + length * dy, pz + length * dz
            points[s, i, 0], points[s, i, 1], points[s, i, 2] = px, py, pz
