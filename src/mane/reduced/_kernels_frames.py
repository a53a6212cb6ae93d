"""Many frames of hair at once, for learning and measuring: directions of segments, strands laid along them, distances.

Plain loops over all frames: what they read and write is all that they cost, and nothing is written in between.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit

SHORTEST = np.float32(1e-9)  # [m] of a segment; a shorter one has no direction


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def fill_directions(
    points,
    # out
    unit,
):
    """Unit directions `unit (N, V - 1, 3)` of the segments of N strands, `points (N, V, 3)`."""
    for n in range(len(points)):
        strand, own = points[n], unit[n]
        for i in range(len(own)):
            x, y, z = strand[i + 1, 0] - strand[i, 0], strand[i + 1, 1] - strand[i, 1], strand[i + 1, 2] - strand[i, 2]
            scale = np.float32(1.0) / max(np.float32(math.sqrt(x * x + y * y + z * z)), SHORTEST)
            own[i, 0], own[i, 1], own[i, 2] = scale * x, scale * y, scale * z


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def lay_strands(
    vectors,
    unit,
    lengths,
    roots,
    # out
    points,
):
    """Strands `points (T, G, V, 3)` along directions at rest `unit (G, V - 1, 3)` plus `vectors (T, G, V - 1, 3)`, with
    `lengths (G, V - 1)`, from `roots (T, G, 3)`, or (1, G, 3) where they are the same in all frames."""
    for t in range(len(vectors)):
        for g in range(len(unit)):
            own, added = points[t, g], vectors[t, g]
            root = roots[t % len(roots), g]
            x, y, z = root[0], root[1], root[2]
            own[0, 0], own[0, 1], own[0, 2] = x, y, z
            for i in range(len(lengths[g])):
                dx, dy, dz = unit[g, i, 0] + added[i, 0], unit[g, i, 1] + added[i, 1], unit[g, i, 2] + added[i, 2]
                scale = lengths[g, i] / max(np.float32(math.sqrt(dx * dx + dy * dy + dz * dz)), SHORTEST)
                x, y, z = x + scale * dx, y + scale * dy, z + scale * dz
                own[i + 1, 0], own[i + 1, 1], own[i + 1, 2] = x, y, z


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def fill_distances(
    one,
    other,
    # out
    means,
):
    """Mean distance of the vertices of each frame, `means (T,)`, of `one (T, G, V, 3)` from `other`, the same, or one
    frame (1, G, V, 3) for all."""
    for t in range(len(one)):
        total = 0.0
        for g in range(one.shape[1]):
            here, there = one[t, g], other[t % len(other), g]
            part = np.float32(0.0)
            for v in range(len(here)):
                x, y, z = here[v, 0] - there[v, 0], here[v, 1] - there[v, 1], here[v, 2] - there[v, 2]
                part += np.float32(math.sqrt(x * x + y * y + z * z))
            total += part
        means[t] = total / (one.shape[1] * one.shape[2])


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def fill_stretch(
    points,
    lengths,
    # out
    means,
):
    """Mean of |length / rest length - 1| of the segments of each frame, `means (T,)`; `lengths (G, V - 1)` at rest."""
    for t in range(len(points)):
        total = 0.0
        for g in range(len(lengths)):
            own = points[t, g]
            part = np.float32(0.0)
            for i in range(len(lengths[g])):
                x, y, z = own[i + 1, 0] - own[i, 0], own[i + 1, 1] - own[i, 1], own[i + 1, 2] - own[i, 2]
                part += abs(np.float32(math.sqrt(x * x + y * y + z * z)) / lengths[g, i] - np.float32(1.0))
            total += part
        means[t] = total / lengths.size
