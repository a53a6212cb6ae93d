"""Loops over ragged curves."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange


@njit(cache=True, error_model="numpy", parallel=True)
def fill_arc_lengths(points, offsets, out):
    """Fill `out` (P,) with the arc length from each curve's first point."""
    for s in prange(len(offsets) - 1):
        total = 0.0
        out[offsets[s]] = total
        for i in range(offsets[s] + 1, offsets[s + 1]):
            dx = np.float64(points[i, 0]) - points[i - 1, 0]
            dy = np.float64(points[i, 1]) - points[i - 1, 1]
            dz = np.float64(points[i, 2]) - points[i - 1, 2]
            total += np.sqrt(dx * dx + dy * dy + dz * dz)
            out[i] = total


@njit(cache=True, error_model="numpy", parallel=True)
def locate_lengths(arc, offsets, wanted, wanted_offsets, point, fraction):
    """Fill `point` and `fraction` (K,) with the places where the curves reach the `wanted` arc lengths."""
    for s in prange(len(offsets) - 1):
        i = offsets[s]
        last = offsets[s + 1] - 2
        for k in range(wanted_offsets[s], wanted_offsets[s + 1]):
            while i < last and arc[i + 1] <= wanted[k]:
                i += 1
            step = arc[i + 1] - arc[i]
            share = (wanted[k] - arc[i]) / step if step > 0.0 else 0.0
            point[k] = i
            fraction[k] = min(max(share, 0.0), 1.0)


@njit(cache=True, error_model="numpy", parallel=True)
def interpolate_rows(
    values,
    point,
    fraction,
    # out
    out,
):
    """Fill `out (K, C)` with `values (P, C)` at places `point (K,)` and `fraction (K,)`; ends are exact."""
    for k in prange(len(point)):
        i, share = point[k], fraction[k]
        for c in range(values.shape[1]):
            before, after = values[i, c], values[i + 1, c]
            if share < np.float32(0.5):
                out[k, c] = before + share * (after - before)
            else:
                out[k, c] = after - (np.float32(1.0) - share) * (after - before)
