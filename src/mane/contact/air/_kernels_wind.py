"""Sums of waves, and hair as a haze that wind passes through: loops over points."""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange

FASTMATH = {"contract", "arcp", "nsz", "afn"}
LANES = 64  # points that are summed side by side


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, inline="always")
def cosine_of_turns(turns):
    """cos(2 pi turns) without branches, so that lanes run side by side; off by less than 1e-7.

    cos(2 pi x) = sin(2 pi (1/4 - |x|)) for |x| <= 1/2, and the argument of that sine is at most a quarter turn.
    """
    x = turns - math.floor(turns + 0.5)
    y = (0.25 - abs(x)) * 6.283185307179586
    z = y * y
    return y * (
        1.0 + z * (-1.0 / 6.0 + z * (1.0 / 120.0 + z * (-1.0 / 5040.0 + z * (1.0 / 362880.0 - z * (1.0 / 39916800.0)))))
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def sum_waves(points, waves, mean, out):
    """Fill `out` (P, 3) with `mean` plus, of each row of `waves`, amplitude times the cosine of its phase.

    A row holds the wave vector [turns/m], the amplitude [m/s] and the phase [turns].
    """
    count = points.shape[0]
    for block in prange((count + LANES - 1) // LANES):
        first = block * LANES
        filled = min(LANES, count - first)
        buffer = np.zeros(6 * LANES)
        for s in range(filled):
            for axis in range(3):
                buffer[axis * LANES + s] = points[first + s, axis]
        for wave in range(waves.shape[0]):
            kx, ky, kz, ax, ay, az, phase = waves[wave]
            for s in range(LANES):
                c = cosine_of_turns(kx * buffer[s] + ky * buffer[LANES + s] + kz * buffer[2 * LANES + s] + phase)
                buffer[3 * LANES + s] += ax * c
                buffer[4 * LANES + s] += ay * c
                buffer[5 * LANES + s] += az * c
        for s in range(filled):
            for axis in range(3):
                out[first + s, axis] = mean[axis] + buffer[(3 + axis) * LANES + s]


@njit(cache=True, error_model="numpy", inline="always")
def cell_of(coordinate, node_count):
    """Cell of a coordinate [cells] and the fraction within it; the caller keeps it within the grid."""
    cell = min(max(int(coordinate), 0), node_count - 2)
    return cell, coordinate - cell


@njit(cache=True, error_model="numpy")
def spread_lengths(points, lengths, origin, cell, grid):
    """Add the hair length [m] of each point to the eight nodes around it; in the order of the points, on one thread."""
    for p in range(points.shape[0]):
        i, u = cell_of((points[p, 0] - origin[0]) / cell, grid.shape[0])
        j, v = cell_of((points[p, 1] - origin[1]) / cell, grid.shape[1])
        k, w = cell_of((points[p, 2] - origin[2]) / cell, grid.shape[2])
        for a in range(2):
            wa = u if a else 1.0 - u
            for b in range(2):
                wb = v if b else 1.0 - v
                for c in range(2):
                    grid[i + a, j + b, k + c] += lengths[p] * wa * wb * (w if c else 1.0 - w)


@njit(cache=True, error_model="numpy")
def value_at(grid, x, y, z):
    """Trilinear value of `grid` at a place within it [cells]."""
    i, u = cell_of(x, grid.shape[0])
    j, v = cell_of(y, grid.shape[1])
    k, w = cell_of(z, grid.shape[2])
    low = (1.0 - v) * ((1.0 - w) * grid[i, j, k] + w * grid[i, j, k + 1]) + v * (
        (1.0 - w) * grid[i, j + 1, k] + w * grid[i, j + 1, k + 1]
    )
    high = (1.0 - v) * ((1.0 - w) * grid[i + 1, j, k] + w * grid[i + 1, j, k + 1]) + v * (
        (1.0 - w) * grid[i + 1, j + 1, k] + w * grid[i + 1, j + 1, k + 1]
    )
    return (1.0 - u) * low + u * high


@njit(cache=True, error_model="numpy", parallel=True)
def sum_upwind(points, upwind, origin, cell, grid, depths):
    """Fill `depths` (P,) with the integral [m] of `grid` from each point along `upwind` (P, 3), in half cells."""
    for p in prange(points.shape[0]):
        x, y, z = (
            (points[p, 0] - origin[0]) / cell,
            (points[p, 1] - origin[1]) / cell,
            (points[p, 2] - origin[2]) / cell,
        )
        dx, dy, dz = 0.5 * upwind[p, 0], 0.5 * upwind[p, 1], 0.5 * upwind[p, 2]
        total = 0.0
        if dx != 0.0 or dy != 0.0 or dz != 0.0:
            # Middle of each step; a way that enters no cell any more has left for good, as the grid is convex.
            x, y, z = x + 0.5 * dx, y + 0.5 * dy, z + 0.5 * dz
            while 0.0 <= x <= grid.shape[0] - 1 and 0.0 <= y <= grid.shape[1] - 1 and 0.0 <= z <= grid.shape[2] - 1:
                total += value_at(grid, x, y, z)
                x, y, z = x + dx, y + dy, z + dz
        depths[p] = 0.5 * cell * total
