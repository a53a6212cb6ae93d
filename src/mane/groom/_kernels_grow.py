"""Strands blended from guides, and the passes that make them look like hair: clumps, frizz, cut."""

import math

import numpy as np
from numba import njit, prange

from mane.geometry._kernels_quaternion import quat_between, quat_multiply, quat_rotate

# Mean cosine between two strands' directions. Below the first (45 degrees) they are on different sides of a parting, or
# curls out of step that would cancel, and are not blended; above the second (18 degrees) they are of one flow.
APART, TOGETHER = np.float32(0.7), np.float32(0.95)

# A blended direction shorter than this is a sum of opposites.
NO_DIRECTION = np.float32(1e-4)

# A wave needs this many segments to be drawn as one.
SEGMENTS_PER_WAVE = np.float32(4.0)

# Amplitudes of the two waves of frizz, along each axis; together they have a root mean square of 1.
FIRST_WAVE, SECOND_WAVE = np.float32(0.73), np.float32(0.366)


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
def agreement(a, s, b, t, qx, qy, qz, qw):
    """Mean cosine, over segments, between strand `s` of `a` and strand `t` of `b` turned by a quaternion."""
    total = np.float32(0.0)
    for i in range(a.shape[1] - 1):
        ax, ay, az = edge(a, s, i)
        bx, by, bz = edge(b, t, i)
        bx, by, bz = quat_rotate(qx, qy, qz, qw, bx, by, bz)
        lengths = norm(ax, ay, az) * norm(bx, by, bz)
        if lengths > np.float32(0.0):
            total += np.float32((ax * bx + ay * by + az * bz) / lengths)
    return total / np.float32(a.shape[1] - 1)


@njit(cache=True, error_model="numpy", parallel=True)
def weigh_guides(rest, guide_normals, groups, normals, nearest, distance, weight):
    """Fill `weight` (S, K) with how much each of the `nearest` (S, K) guides counts for each strand.

    `distance` (S, K + 1) is to those guides and to the next one, which may be infinite. The weight is 1 on a guide's
    own root and falls to nothing at the distance of the next guide, so that guides enter and leave the list with weight
    0. A guide of another group than the nearest one, or that flows another way, is left out.
    """
    for s in prange(nearest.shape[0]):
        reach, shortest = distance[s, -1], distance[s, 0]
        home = nearest[s, 0]
        hx, hy, hz, hw = quat_between(
            normals[s, 0], normals[s, 1], normals[s, 2],
            guide_normals[home, 0], guide_normals[home, 1], guide_normals[home, 2],
        )  # fmt: skip
        total = 0.0
        for k in range(nearest.shape[1]):
            guide = nearest[s, k]
            share = 1.0 if distance[s, k] == shortest else shortest / distance[s, k]
            if math.isfinite(reach):
                share *= reach - distance[s, k]
            if k > 0 and share > 0.0:
                if groups[guide] != groups[home]:
                    share = 0.0
                else:
                    qx, qy, qz, qw = quat_between(
                        guide_normals[guide, 0], guide_normals[guide, 1], guide_normals[guide, 2],
                        normals[s, 0], normals[s, 1], normals[s, 2],
                    )  # fmt: skip
                    qx, qy, qz, qw = quat_multiply(hx, hy, hz, hw, qx, qy, qz, qw)
                    cosine = agreement(rest, home, rest, guide, qx, qy, qz, qw)
                    share *= math.sqrt(smooth_step(cosine, APART, TOGETHER))
            weight[s, k] = share * share
            total += weight[s, k]
        for k in range(nearest.shape[1]):
            if total > 0.0:
                weight[s, k] /= np.float32(total)
            else:
                weight[s, k] = np.float32(1.0) if k == 0 else np.float32(0.0)


@njit(cache=True, error_model="numpy", parallel=True)
def blend_guides(rest, guide_normals, roots, normals, nearest, weight, out):
    """Fill `out` (S, V, 3) with strands from `roots` whose segments blend those of their guides.

    Every guide is first turned with the skin, from the normal at its root to that at the strand's. Directions and
    lengths are blended apart from each other, so that a strand between diverging guides is not shorter than they are.
    """
    for s in prange(len(roots)):
        turn = np.empty((nearest.shape[1], 4), np.float32)
        for k in range(nearest.shape[1]):
            guide = nearest[s, k]
            turn[k, 0], turn[k, 1], turn[k, 2], turn[k, 3] = quat_between(
                guide_normals[guide, 0], guide_normals[guide, 1], guide_normals[guide, 2],
                normals[s, 0], normals[s, 1], normals[s, 2],
            )  # fmt: skip
        out[s, 0] = roots[s]
        for i in range(rest.shape[1] - 1):
            x, y, z, length = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
            homex, homey, homez = x, y, z
            for k in range(nearest.shape[1]):
                ex, ey, ez = edge(rest, nearest[s, k], i)
                ex, ey, ez = quat_rotate(turn[k, 0], turn[k, 1], turn[k, 2], turn[k, 3], ex, ey, ez)
                if k == 0:
                    homex, homey, homez = ex, ey, ez
                x, y, z = x + weight[s, k] * ex, y + weight[s, k] * ey, z + weight[s, k] * ez
                length += weight[s, k] * np.float32(norm(ex, ey, ez))
            if norm(x, y, z) <= NO_DIRECTION * length:
                x, y, z = homex, homey, homez
            size = np.float32(norm(x, y, z))
            scale = length / size if size > np.float32(0.0) else np.float32(0.0)
            out[s, i + 1, 0] = out[s, i, 0] + scale * x
            out[s, i + 1, 1] = out[s, i, 1] + scale * y
            out[s, i + 1, 2] = out[s, i, 2] + scale * z


@njit(cache=True, error_model="numpy", parallel=True)
def join_clumps(points, groups, centers, nearest, clump):
    """Fill `clump` (S,) with the centre strand that each strand joins: the first of the `nearest` (S, K) of `centers`
    with the same group and flow, or itself."""
    for s in prange(len(points)):
        clump[s] = s
        for k in range(nearest.shape[1]):
            center = centers[nearest[s, k]]
            if groups[center] == groups[s]:
                zero, one = np.float32(0.0), np.float32(1.0)
                if agreement(points, s, points, center, zero, zero, zero, one) > APART:
                    clump[s] = center
                    break


@njit(cache=True, error_model="numpy", parallel=True)
def draw_together(points, clump, amount, out):
    """Fill `out` with `points` (S, V, 3) drawn towards their clump's centre strand, ever more from root to tip."""
    last = points.shape[1] - 1
    for s in prange(len(points)):
        for i in range(points.shape[1]):
            pull = amount * smooth_step(np.float32(i) / np.float32(last), np.float32(0.0), np.float32(1.0))
            for axis in range(3):
                out[s, i, axis] = points[s, i, axis] + pull * (points[clump[s], i, axis] - points[s, i, axis])


@njit(cache=True, error_model="numpy", parallel=True)
def add_frizz(points, random, amplitude, wavelength, out):
    """Fill `out` with `points` (S, V, 3) shaken sideways by two waves per axis, ever more from root to tip.

    `random` (S, 2, 4) holds numbers from 0 to 1: three phases and a stretch of the wavelength, for each wave.
    """
    last = points.shape[1] - 1
    turn = np.float32(2.0 * math.pi)
    for s in prange(len(points)):
        length = np.float32(0.0)
        for i in range(last):
            length += np.float32(norm(*edge(points, s, i)))
        finest = SEGMENTS_PER_WAVE * length / np.float32(last)
        first = max(wavelength * (np.float32(0.75) + np.float32(0.5) * random[s, 0, 3]), finest)
        second = max(wavelength * (np.float32(0.4) + np.float32(0.2) * random[s, 1, 3]), finest)
        out[s, 0] = points[s, 0]
        along = np.float32(0.0)
        for i in range(1, last + 1):
            along += np.float32(norm(*edge(points, s, i - 1)))
            size = amplitude * np.float32(i) / np.float32(last)
            for axis in range(3):
                wave = FIRST_WAVE * math.cos(turn * (along / first + random[s, 0, axis]))
                wave += SECOND_WAVE * math.cos(turn * (along / second + random[s, 1, axis]))
                out[s, i, axis] = points[s, i, axis] + size * np.float32(wave)


@njit(cache=True, error_model="numpy", parallel=True)
def keep_lengths(source, points):
    """Move `points` (S, V, 3), in place from the root on, so that every segment is as long as in `source`."""
    for s in prange(len(points)):
        # The direction of each segment is that before anything moved.
        px, py, pz = points[s, 0]
        for i in range(points.shape[1] - 1):
            qx, qy, qz = points[s, i + 1]
            x, y, z = qx - px, qy - py, qz - pz
            px, py, pz = qx, qy, qz
            size, wanted = np.float32(norm(x, y, z)), np.float32(norm(*edge(source, s, i)))
            if size <= NO_DIRECTION * wanted:
                x, y, z = edge(source, s, i)
                size = wanted
            scale = wanted / size if size > np.float32(0.0) else np.float32(0.0)
            points[s, i + 1, 0] = points[s, i, 0] + scale * x
            points[s, i + 1, 1] = points[s, i, 1] + scale * y
            points[s, i + 1, 2] = points[s, i, 2] + scale * z


@njit(cache=True, error_model="numpy", parallel=True)
def cut_strands(points, share, out):
    """Fill `out` with `points` (S, V, 3) cut off where `share` (S,) of their segments end, with as many vertices."""
    last = points.shape[1] - 1
    for s in prange(len(points)):
        out[s, 0] = points[s, 0]
        for i in range(1, last + 1):
            place = np.float32(i) * share[s]
            before = min(int(place), last - 1)
            fraction = place - np.float32(before)
            for axis in range(3):
                step = points[s, before + 1, axis] - points[s, before, axis]
                out[s, i, axis] = points[s, before, axis] + fraction * step
