"""Numba kernels that turn strands into smooth ones: how many pieces each segment needs, and the points between.

Every segment is a cubic Hermite curve (chang2002 5.2) whose tangents are those of the parabola through a vertex and
its two neighbours, spaced as far apart as they are; a straight strand stays straight however its vertices are spaced.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import numpy as np

from mane.simd.jit import njit, prange

# Results must not depend on where in an array a strand lies, so nothing here may be approximated or reordered.
FASTMATH = {"contract", "nsz"}
TINY = np.float32(1e-12)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _step(points, i, j):
    """From point `i` to point `j`, and the distance."""
    x, y, z = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
    return x, y, z, np.float32(math.sqrt(x * x + y * y + z * z))


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _inner_tangent(points, i):
    """Derivative by arc length at a vertex with two neighbours."""
    ax, ay, az, a = _step(points, i - 1, i)
    bx, by, bz, b = _step(points, i, i + 1)
    a, b = max(a, TINY), max(b, TINY)
    before, after = b / (a * (a + b)), a / (b * (a + b))
    return before * ax + after * bx, before * ay + after * by, before * az + after * bz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _tangent(points, first, end, i):
    """Derivative by arc length at vertex `i` of the strand `first:end`."""
    if first < i < end - 1:
        return _inner_tangent(points, i)
    inner, j = (first, first + 1) if i == first else (end - 2, end - 2)
    x, y, z, length = _step(points, inner, inner + 1)
    inverse = np.float32(1.0) / max(length, TINY)
    x, y, z = x * inverse, y * inverse, z * inverse
    if end - first < 3:
        return x, y, z
    tx, ty, tz = _inner_tangent(points, j)
    two = np.float32(2.0)
    return two * x - tx, two * y - ty, two * z - tz  # the parabola goes on to the end


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def count_pieces(points, screen, offsets, pixels_per_nearness, tolerance, longest, most, pieces):
    """Fill `pieces` (P,) with the pieces of the segment that starts at each point, 1 for the last point of a strand.

    A piece bends by less than `tolerance` pixels and is shorter than `longest` pixels, or there are `most` of them.
    """
    eighth = np.float32(0.125)
    for s in prange(offsets.shape[0] - 1):
        first, end = offsets[s], offsets[s + 1]
        pieces[end - 1] = 1
        for i in range(first, end - 1):
            scale = pixels_per_nearness * max(screen[i, 2], screen[i + 1, 2])
            length = _step(points, i, i + 1)[3]
            ax, ay, az = _tangent(points, first, end, i)
            bx, by, bz = _tangent(points, first, end, i + 1)
            turn = np.float32(math.sqrt((bx - ax) ** 2 + (by - ay) ** 2 + (bz - az) ** 2))
            bend = eighth * turn * length * scale  # how far the middle of the arc is from that of its chord
            wanted = max(math.sqrt(bend / tolerance), length * scale / longest)
            pieces[i] = min(max(int(math.ceil(min(wanted, np.float32(most)))), 1), most)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def fill_smooth(points, offsets, starts, pieces, smooth):
    """Fill `smooth` (N, 3): the points of every strand and those between; point `i` becomes number `starts[i]`."""
    one, two, three = np.float32(1.0), np.float32(2.0), np.float32(3.0)
    for s in prange(offsets.shape[0] - 1):
        first, end = offsets[s], offsets[s + 1]
        for i in range(first, end):
            start = starts[i]
            smooth[start, 0], smooth[start, 1], smooth[start, 2] = points[i, 0], points[i, 1], points[i, 2]
            if i == end - 1 or pieces[i] == 1:
                continue
            dx, dy, dz, length = _step(points, i, i + 1)
            ax, ay, az = _tangent(points, first, end, i)
            bx, by, bz = _tangent(points, first, end, i + 1)
            for k in range(1, pieces[i]):
                t = np.float32(k) / np.float32(pieces[i])
                blend = t * t * (three - two * t)
                leave = length * t * (one - t) * (one - t)
                arrive = length * t * t * (t - one)
                smooth[start + k, 0] = points[i, 0] + blend * dx + leave * ax + arrive * bx
                smooth[start + k, 1] = points[i, 1] + blend * dy + leave * ay + arrive * by
                smooth[start + k, 2] = points[i, 2] + blend * dz + leave * az + arrive * bz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def spread(values, offsets, starts, pieces, out):
    """Fill `out` (N, C) with `values` (P, C), linear between the points that they belong to."""
    for s in prange(offsets.shape[0] - 1):
        end = offsets[s + 1]
        for i in range(offsets[s], end):
            for k in range(pieces[i]):
                t = np.float32(k) / np.float32(pieces[i])
                for c in range(values.shape[1]):
                    here = values[i, c]
                    there = values[i + 1, c] if i < end - 1 else here
                    out[starts[i] + k, c] = here + t * (there - here)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _last_at_most(sorted_numbers, value):
    """Place of the last of the sorted numbers that does not exceed a value."""
    low, high = 0, sorted_numbers.shape[0]
    while high - low > 1:
        middle = (low + high) // 2
        if sorted_numbers[middle] <= value:
            low = middle
        else:
            high = middle
    return low


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def gather(smooth, offsets, starts, pieces, values, chosen, points, tangents, spread):
    """Fill `points`, `tangents` (M, 3) and `spread` (M, 3) for the smooth points of the numbers `chosen` (M,).

    Tangents are of unit length, from root to tip, upright for a strand of no length; `values` (P, 3) belong to the
    points before smoothing and are linear in between.
    """
    for k in prange(chosen.shape[0]):
        i = chosen[k]
        strand = _last_at_most(offsets, i)
        x, y, z = _tangent(smooth, offsets[strand], offsets[strand + 1], i)
        length = np.float32(math.sqrt(x * x + y * y + z * z))
        if length > TINY:
            inverse = np.float32(1.0) / length
            x, y, z = x * inverse, y * inverse, z * inverse
        else:
            x, y, z = np.float32(0.0), np.float32(1.0), np.float32(0.0)
        tangents[k, 0], tangents[k, 1], tangents[k, 2] = x, y, z
        source = _last_at_most(starts, i)
        t = np.float32(i - starts[source]) / np.float32(pieces[source])
        after = source + 1 if t > 0 else source  # the last point of a strand is one of its own
        for c in range(3):
            points[k, c] = smooth[i, c]
            spread[k, c] = values[source, c] + t * (values[after, c] - values[source, c])


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def taper(points, offsets, tip, start, width):
    """Scale `width` (N,) along each strand: unchanged up to the share `start` of its length, `tip` times at the end."""
    one = np.float32(1.0)
    for s in prange(offsets.shape[0] - 1):
        first, end = offsets[s], offsets[s + 1]
        total = np.float32(0.0)
        for i in range(first, end - 1):
            total += _step(points, i, i + 1)[3]
        run = np.float32(0.0)
        for i in range(first, end):
            share = max(run / max(total, TINY) - start, np.float32(0.0)) / (one - start)
            width[i] *= one - (one - tip) * min(share, one)
            if i < end - 1:
                run += _step(points, i, i + 1)[3]
