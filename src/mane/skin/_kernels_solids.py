"""Solids that skins keep hair out of: which hairs reach into one, and how far a point is from the nearest.

Solids that are asked together come as one `SolidList` of `body._kernels_solid`, so that any number of them is one
kernel.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_solid import solid_at
from mane.body._kernels_solid_f32 import bare_distance, lowest_distance, steepest, to_local, world_distance
from mane.simd.jit import njit, prange

FASTMATH = {"contract", "arcp", "nsz", "afn"}

ZERO = np.float32(0.0)
FAR = np.float32(1e30)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def find_penetrating(
    solid,
    blocks,
    pose,
    points,
    # in and out
    is_inside,
):
    """Set `is_inside (S,)` where a vertex of `points (S, V, 3)` but the root is inside the solid at `pose (12,)`."""
    slope = steepest(solid)
    for s in prange(len(points)):
        if is_inside[s]:
            continue
        room = ZERO  # what is surely left to the surface after the way from the last vertex that was tested
        px, py, pz = points[s, 0, 0], points[s, 0, 1], points[s, 0, 2]
        for i in range(1, points.shape[1]):
            x, y, z = points[s, i, 0], points[s, i, 1], points[s, i, 2]
            dx, dy, dz = x - px, y - py, z - pz
            px, py, pz = x, y, z
            room -= slope * math.sqrt(dx * dx + dy * dy + dz * dz)
            if room > ZERO:
                continue
            lx, ly, lz = to_local(pose, x, y, z)
            room = lowest_distance(blocks, lx, ly, lz)
            if room > ZERO:
                continue
            room = bare_distance(solid, lx, ly, lz)
            if room < ZERO:
                is_inside[s] = True
                break


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def nearest_solid(solids, poses, x, y, z):
    """Signed distance [m] of a point to the nearest of Z solids at `poses (Z, 12)`, and its unit gradient there."""
    nearest, nx, ny, nz = FAR, ZERO, ZERO, ZERO
    for s in range(len(poses)):
        d, gx, gy, gz = world_distance(solid_at(solids, s), poses[s], x, y, z)
        if d < nearest:
            nearest, nx, ny, nz = d, gx, gy, gz
    return nearest, nx, ny, nz
