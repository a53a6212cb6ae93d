"""Strands blended from the guides around them."""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.geometry._kernels_quaternion import quat_between, quat_rotate
from mane.simd.jit import njit, prange

# Mean cosine between two strands' directions. Below the first (45 degrees) they are on different sides of a parting, or
# curls out of step that would cancel, and are not blended; above the second (18 degrees) they are of one flow.
APART, TOGETHER = np.float32(0.7), np.float32(0.95)

# A blended direction shorter than this is a sum of opposites.
NO_DIRECTION = np.float32(1e-4)


@njit(cache=True, error_model="numpy")
def smooth_step(x, low, high):
    """0 below `low`, 1 above `high`, an S between."""
    t = min(max((x - low) / (high - low), np.float32(0.0)), np.float32(1.0))
    return t * t * (np.float32(3.0) - np.float32(2.0) * t)


@njit(cache=True, error_model="numpy")
def edge(points, s, i):
    """Vector from vertex `i` of strand `s` to the next one."""
    return (
        points[s, i + 1, 0] - points[s, i, 0],
        points[s, i + 1, 1] - points[s, i, 1],
        points[s, i + 1, 2] - points[s, i, 2],
    )


@njit(cache=True, error_model="numpy")
def norm(x, y, z):
    """Length of a vector."""
    return math.sqrt(x * x + y * y + z * z)


@njit(cache=True, error_model="numpy")
def fill_turns(guide_normals, normal, guides, out):
    """Fill `out` (K, 4) with the turns of the skin from the roots of `guides` (K,) to a place with the given normal."""
    for k in range(len(guides)):
        x, y, z = guide_normals[guides[k]]
        out[k, 0], out[k, 1], out[k, 2], out[k, 3] = quat_between(x, y, z, normal[0], normal[1], normal[2])


@njit(cache=True, error_model="numpy")
def turned_edge(rest, guide, i, turn, share):
    """Segment `i` of a guide, turned by a `share` of a turn (4,): along the arc between none of it and all."""
    qx, qy, qz = share * turn[0], share * turn[1], share * turn[2]
    qw = np.float32(1.0) - share + share * turn[3]
    inv = np.float32(1.0) / np.float32(math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw))
    x, y, z = edge(rest, guide, i)
    return quat_rotate(qx * inv, qy * inv, qz * inv, qw * inv, x, y, z)


@njit(cache=True, error_model="numpy")
def agreement(rest, follow, guides, turns, k):
    """Mean cosine, over segments, between the first of `guides` and the `k`-th, both turned."""
    total = np.float32(0.0)
    for i in range(rest.shape[1] - 1):
        ax, ay, az = turned_edge(rest, guides[0], i, turns[0], follow[guides[0], i])
        bx, by, bz = turned_edge(rest, guides[k], i, turns[k], follow[guides[k], i])
        lengths = norm(ax, ay, az) * norm(bx, by, bz)
        if lengths > np.float32(0.0):
            total += np.float32((ax * bx + ay * by + az * bz) / lengths)
    return total / np.float32(rest.shape[1] - 1)


@njit(cache=True, error_model="numpy")
def weigh(rest, follow, groups, guides, distance, turns, out):
    """Fill `out` (K,) with how much each of the nearest `guides` (K,) counts; see `blend_guides`."""
    reach, shortest, total = distance[-1], distance[0], 0.0
    for k in range(len(guides)):
        share = 1.0 if distance[k] == shortest else shortest / distance[k]
        if math.isfinite(reach):
            share *= reach - distance[k]
        share *= share
        if k > 0 and share > 0.0:
            if groups[guides[k]] == groups[guides[0]]:
                share *= smooth_step(agreement(rest, follow, guides, turns, k), APART, TOGETHER)
            else:
                share = 0.0
        out[k] = share
        total += share
    if total > 0.0:
        out /= np.float32(total)
    else:
        out[0] = np.float32(1.0)


@njit(cache=True, error_model="numpy", parallel=True)
def blend_guides(rest, follow, guide_normals, groups, roots, normals, nearest, distance, weight, out):
    """Fill `weight` (S, K) and `out` (S, V, 3) with strands whose segments blend those of the `nearest` (S, K) guides.

    Weights: `distance` (S, K + 1) is to those guides and to the next one, which may be infinite. The weight is 1 on a
    guide's own root and falls to nothing at the distance of the next guide, so that guides enter and leave the list
    with weight 0. A guide of another group than the nearest one, or that flows another way, is left out.

    Shapes: every guide is turned with the skin, from the normal at its root to that at the strand's, each segment as
    far as `follow` (G, V - 1) says. Directions and lengths are blended apart from each other, so that a strand between
    diverging guides is not shorter than they are.
    """
    for s in prange(len(roots)):
        turns = np.empty((nearest.shape[1], 4), np.float32)
        fill_turns(guide_normals, normals[s], nearest[s], turns)
        weigh(rest, follow, groups, nearest[s], distance[s], turns, weight[s])
        out[s, 0] = roots[s]
        for i in range(rest.shape[1] - 1):
            x, y, z, length = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for k in range(nearest.shape[1]):
                guide = nearest[s, k]
                ex, ey, ez = turned_edge(rest, guide, i, turns[k], follow[guide, i])
                x, y, z = x + weight[s, k] * ex, y + weight[s, k] * ey, z + weight[s, k] * ez
                length += weight[s, k] * np.float32(norm(ex, ey, ez))
            if norm(x, y, z) <= NO_DIRECTION * length:
                x, y, z = turned_edge(rest, nearest[s, 0], i, turns[0], follow[nearest[s, 0], i])
            size = np.float32(norm(x, y, z))
            scale = length / size if size > np.float32(0.0) else np.float32(0.0)
            out[s, i + 1, 0] = out[s, i, 0] + scale * x
            out[s, i + 1, 1] = out[s, i, 1] + scale * y
            out[s, i + 1, 2] = out[s, i, 2] + scale * z
