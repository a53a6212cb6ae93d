"""Numba kernels of the light from everywhere: a grid of hair density, and what of the sky a point sees through it."""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import numpy as np

from mane.render._kernels_shadow import FULLEST, MOST_STEPS, lit
from mane.render._kernels_solids import FAR, raster_rows
from mane.render._kernels_view import project_point
from mane.simd.jit import leaf, njit, prange

FASTMATH = {"contract", "nsz"}  # the answer for a point must not depend on its place in the array
THICKEST = np.float32(24.0)  # optical depth beyond which no light comes


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def deposit_density(points, width, offsets, low, per_metre, units, grids):
    """Add length times width of every segment [units] to the cells of `grids` (parts, nx, ny, nz) along it.

    Whole numbers that stop at a largest one: neither the order of the strands nor the number of parts matters.
    """
    parts, nx, ny, nz = grids.shape
    strands = offsets.shape[0] - 1
    half = np.float32(0.5)
    for part in prange(parts):
        for s in range(part * strands // parts, (part + 1) * strands // parts):
            for i in range(offsets[s], offsets[s + 1] - 1):
                x = points[i + 1, 0] - points[i, 0]
                y = points[i + 1, 1] - points[i, 1]
                z = points[i + 1, 2] - points[i, 2]
                length = np.float32(math.sqrt(x * x + y * y + z * z))
                steps = min(int(length * per_metre) + 1, MOST_STEPS)
                area = length * half * (width[i] + width[i + 1]) * units / np.float32(steps)
                amount = np.uint32(min(max(area + half, np.float32(1.0)), np.float32(1.0e9)))
                for k in range(steps):
                    t = (np.float32(k) + half) / np.float32(steps)
                    cx = min(max(int((points[i, 0] + t * x - low[0]) * per_metre), 0), nx - 1)
                    cy = min(max(int((points[i, 1] + t * y - low[1]) * per_metre), 0), ny - 1)
                    cz = min(max(int((points[i, 2] + t * z - low[2]) * per_metre), 0), nz - 1)
                    grids[part, cx, cy, cz] = min(grids[part, cx, cy, cz] + amount, FULLEST)


@leaf(fastmath=FASTMATH, forceinline=True)
def _steps_inside(x, dx, count):
    """Steps from x that surely stay between 0 and `count`; x itself may be outside."""
    if x < 0 or x >= count:
        return np.float32(0.0)
    room = np.float32(count) - x if dx > 0 else x
    return room / max(abs(dx), np.float32(1e-6))


@leaf(fastmath=FASTMATH)
def _march(density, x, y, z, dx, dy, dz):
    """Optical depth from a place in the grid to its edge, in steps of one cell."""
    nx, ny, nz = density.shape
    total = np.float32(0.0)
    x, y, z = x + dx, y + dy, z + dz  # not the hair beside the point itself
    sure = min(_steps_inside(x, dx, nx), _steps_inside(y, dy, ny), _steps_inside(z, dz, nz), np.float32(nx + ny + nz))
    for _ in range(int(sure * np.float32(0.999)) - 1):
        total += density[np.uint32(x), np.uint32(y), np.uint32(z)]
        x, y, z = x + dx, y + dy, z + dz
        if total >= THICKEST:
            return total
    while x >= 0 and y >= 0 and z >= 0 and x < nx and y < ny and z < nz and total < THICKEST:
        total += density[int(x), int(y), int(z)]
        x, y, z = x + dx, y + dy, z + dz
    return total


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def gather_sky(
    points, normals, directions, rights, ups, density, low, per_metre,
    solid_points, faces, centre, radius, resolution, lift, gathered,
):  # fmt: skip
    """Fill `gathered` (D, N, 2) for each direction: what the solids let through of it, and the hair crossed.

    `normals` (N, 3) weigh a direction by its cosine; a point with a zero normal sees all around. `density` (cells) is
    optical depth per cell. Points are lifted off the solids by `lift` metres along their normal.
    """
    middle = np.float32(0.5) * np.float32(resolution)
    focal = middle / radius
    texel = np.float32(1.0) / focal
    zero, one = np.float32(0.0), np.float32(1.0)
    axes = np.empty((directions.shape[0], 3, 3), np.float32)
    everyone = np.arange(faces.shape[0]).astype(np.int32)
    for d in prange(directions.shape[0]):
        axes[d, 0], axes[d, 1], axes[d, 2] = rights[d], ups[d], directions[d]
        depth_map = np.empty((resolution, resolution), np.float32)
        has_solid = faces.shape[0] > 0
        if has_solid:
            screen = np.empty((solid_points.shape[0], 3), np.float32)
            for i in range(solid_points.shape[0]):
                screen[i, 0], screen[i, 1], screen[i, 2] = project_point(
                    solid_points[i, 0], solid_points[i, 1], solid_points[i, 2], centre, axes[d], focal, middle, middle,
                    False, zero,
                )  # fmt: skip
            owner = np.empty((resolution, resolution), np.int32)
            depth_map[:] = FAR
            raster_rows(screen, faces, everyone, False, 0, resolution, depth_map, owner)
            depth_map[:] = -depth_map
        for i in range(points.shape[0]):
            px, py, pz = points[i, 0], points[i, 1], points[i, 2]
            nx, ny, nz = normals[i, 0], normals[i, 1], normals[i, 2]
            weight = one
            if nx != 0 or ny != 0 or nz != 0:
                weight = nx * directions[d, 0] + ny * directions[d, 1] + nz * directions[d, 2]
                px, py, pz = px + lift * nx, py + lift * ny, pz + lift * nz
            if weight > zero and has_solid:
                x, y, near = project_point(px, py, pz, centre, axes[d], focal, middle, middle, False, zero)
                weight *= lit(depth_map, x, y, -near, np.float32(1.5) * texel)
            gathered[d, i, 0] = max(weight, zero)
            if weight > zero:
                gathered[d, i, 1] = _march(
                    density,
                    (px - low[0]) * per_metre,
                    (py - low[1]) * per_metre,
                    (pz - low[2]) * per_metre,
                    directions[d, 0],
                    directions[d, 1],
                    directions[d, 2],
                )
            else:
                gathered[d, i, 1] = zero


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def sample_grid(grid, points, low, per_metre, out):
    """Fill `out` (N, C) with `grid` (nx, ny, nz, C), trilinear between the middles of its cells, at `points` (N, 3)."""
    nx, ny, nz, channels = grid.shape
    half, one, zero = np.float32(0.5), np.float32(1.0), np.float32(0.0)
    for i in prange(points.shape[0]):
        x = min(max((points[i, 0] - low[0]) * per_metre - half, zero), np.float32(nx - 1.001))
        y = min(max((points[i, 1] - low[1]) * per_metre - half, zero), np.float32(ny - 1.001))
        z = min(max((points[i, 2] - low[2]) * per_metre - half, zero), np.float32(nz - 1.001))
        ix, iy, iz = int(x), int(y), int(z)
        fx, fy, fz = x - np.float32(ix), y - np.float32(iy), z - np.float32(iz)
        for c in range(channels):
            total = zero
            for a in range(2):
                wx = fx if a else one - fx
                for b in range(2):
                    wxy = wx * (fy if b else one - fy)
                    total += wxy * ((one - fz) * grid[ix + a, iy + b, iz, c] + fz * grid[ix + a, iy + b, iz + 1, c])
            out[i, c] = total
