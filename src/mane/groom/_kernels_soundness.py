"""How evenly strands are cut and how sharply they turn."""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange


@njit(cache=True, error_model="numpy")
def segment_length(points, i):
    """Length of the segment that ends at point `i`."""
    x = float(points[i, 0]) - float(points[i - 1, 0])
    y = float(points[i, 1]) - float(points[i - 1, 1])
    z = float(points[i, 2]) - float(points[i - 1, 2])
    return math.sqrt(x * x + y * y + z * z)


@njit(cache=True, error_model="numpy", parallel=True)
def measure_strands(
    points,
    offsets,
    short_share,
    # out
    length,
    doubled,
    short,
    cosine,
):
    """Measure strands that may hold anything; what is not finite counts for nothing but the length.

    Args:
        points: (P, 3).
        offsets: strands in `points` (S + 1,).
        short_share: segments below this share of their strand's mean are short.
        length: of each strand (S,).
        doubled: segments without length (S,).
        short: other short segments (S,).
        cosine: of the sharpest turn between two segments that are not short (S,); 1 where there is none.
    """
    for s in prange(len(offsets) - 1):
        start, end = offsets[s], offsets[s + 1]
        total = 0.0
        for i in range(start + 1, end):
            total += segment_length(points, i)
        limit = short_share * total / max(end - start - 1, 1)
        none, few, sharpest, before = 0, 0, 1.0, -1
        for i in range(start + 1, end):
            size = segment_length(points, i)
            if size == 0.0:
                none += 1
            elif size < limit:
                few += 1
            elif size >= limit:  # false for what is not finite
                if before >= 0:
                    dot = 0.0
                    for c in range(3):
                        dot += (float(points[i, c]) - float(points[i - 1, c])) * (
                            float(points[before, c]) - float(points[before - 1, c])
                        )
                    sharpest = min(sharpest, dot / (size * segment_length(points, before)))
                before = i
        length[s], doubled[s], short[s], cosine[s] = total, none, few, sharpest


@njit(cache=True, error_model="numpy", parallel=True)
def find_short(
    points,
    share,
    floor,
    # out
    found,
):
    """Fill `found (S,)` with whether strands (S, V, 3) have segments that are `spacing.short_segments`."""
    for s in prange(len(points)):
        strand = points[s]
        total, least, reach = 0.0, math.inf, float(np.finfo(np.float32).tiny)
        for i in range(len(strand)):
            for c in range(3):
                reach = max(reach, abs(float(strand[i, c])))
            if i:
                size = segment_length(strand, i)
                total += size
                least = min(least, size)
        found[s] = least < max(share * total / (len(strand) - 1), floor * reach)
