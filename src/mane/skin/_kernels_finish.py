"""Finishing passes over the dense hair: out of solids, and smooth."""

# mypy: allow-untyped-defs

import math

import numpy as np
from numba import njit, prange

from mane.skin._kernels_solid import FASTMATH, bare_distance, local_distance, lowest_distance, solid_distance, to_local

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
HALF = np.float32(0.5)
TWO = np.float32(2.0)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def drawn(px, py, pz, x, y, z, length):
    """The point in the direction of (x, y, z) from p, at the distance `length`."""
    dx, dy, dz = x - px, y - py, z - pz
    size = math.sqrt(dx * dx + dy * dy + dz * dz)
    scale = length / size if size > ZERO else ONE
    return px + scale * dx, py + scale * dy, pz + scale * dz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def keep(has_moved, x, y, z, points, s, i):
    """Write a vertex of a hair that has moved, and return it."""
    if has_moved:
        points[s, i, 0], points[s, i, 1], points[s, i, 2] = x, y, z
    return x, y, z


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def pushed(solid, thickness, rounds, d, gx, gy, gz, px, py, pz, length, x, y, z):
    """Push a vertex at distance `d` below `thickness` out; returns it and what is left to the surface where it is."""
    for n in range(rounds):
        depth = thickness - d
        if depth <= ZERO:
            break
        x, y, z = x + depth * gx, y + depth * gy, z + depth * gz
        if n < rounds - 1:
            x, y, z = drawn(px, py, pz, x, y, z, length)
            d, gx, gy, gz = solid_distance(solid, x, y, z)
        else:
            d = thickness
    return x, y, z, d - thickness


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def adjust_hairs(
    solid,
    thickness,
    rounds,
    # out
    points,
):
    """Move `points (S, V, 3)` out of a solid, see `finish.adjusted`; the solid as in `_kernels_solid`."""
    steepest, turn, place = solid[7], solid[8], solid[9]
    for s in prange(len(points)):
        has_moved = False
        room = ZERO  # what is surely left to the surface after the way from the last vertex that was tested
        ox, oy, oz = points[s, 0, 0], points[s, 0, 1], points[s, 0, 2]  # the previous vertex before it was moved
        px, py, pz = ox, oy, oz
        for i in range(1, points.shape[1]):
            x, y, z = points[s, i, 0], points[s, i, 1], points[s, i, 2]
            length = math.sqrt((x - ox) * (x - ox) + (y - oy) * (y - oy) + (z - oz) * (z - oz))
            ox, oy, oz = x, y, z
            if has_moved:
                x, y, z = drawn(px, py, pz, x, y, z, length)
            room -= steepest * length
            if room <= ZERO:
                lx, ly, lz = to_local(turn, place, x, y, z)
                room = lowest_distance(solid, lx, ly, lz) - thickness
                if room <= ZERO:
                    room = bare_distance(solid, lx, ly, lz) - thickness
                    if room < ZERO:
                        d, gx, gy, gz = local_distance(solid, lx, ly, lz)
                        x, y, z, room = pushed(solid, thickness, rounds, d, gx, gy, gz, px, py, pz, length, x, y, z)
                        has_moved = True
            px, py, pz = keep(has_moved, x, y, z, points, s, i)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def tangent(points, s, i, c):
    """Change of a coordinate per vertex at vertex `i`, from the parabola through it and its neighbours."""
    last = points.shape[1] - 1
    if last == 1:
        return points[s, 1, c] - points[s, 0, c]
    if i == 0:
        return TWO * (points[s, 1, c] - points[s, 0, c]) - HALF * (points[s, 2, c] - points[s, 0, c])
    if i == last:
        return TWO * (points[s, last, c] - points[s, last - 1, c]) - HALF * (
            points[s, last, c] - points[s, last - 2, c]
        )
    return HALF * (points[s, i + 1, c] - points[s, i - 1, c])


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def subdivide(
    points,
    weights,
    # out
    out,
):
    """Fill `out (S, (V - 1) P + 1, 3)` with a spline through `points (S, V, 3)`; `weights (P, 4)` of its pieces."""
    pieces = len(weights)
    for s in prange(len(points)):
        for c in range(3):
            after = tangent(points, s, 0, c)
            for i in range(points.shape[1] - 1):
                before, after = after, tangent(points, s, i + 1, c)
                out[s, i * pieces, c] = points[s, i, c]
                for p in range(1, pieces):
                    out[s, i * pieces + p, c] = (
                        weights[p, 0] * points[s, i, c]
                        + weights[p, 1] * points[s, i + 1, c]
                        + weights[p, 2] * before
                        + weights[p, 3] * after
                    )
            out[s, out.shape[1] - 1, c] = points[s, points.shape[1] - 1, c]
