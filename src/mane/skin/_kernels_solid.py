"""A solid as the kernels of skins and finishing passes see it: how far away it surely is, and how far it is.

A solid is a tuple, see `solid_table.PackedSolid`: `kinds (K,)` and `params (K, 16)` of a shape, none for a mesh;
`values (X, Y, Z)` [m], `origin (3,)` [m] and `inv_cell` [1/m] of a mesh's distance field; `lowest`, the least value
within each block of its cells, and `inv_block` [1/m]; `steepest`, how fast the distance may fall along a way at most;
`turn (3, 3)` and `place (3,)` [m], its pose.
"""

# mypy: allow-untyped-defs

import math

import numpy as np
from numba import njit, prange

from mane.body._kernels_field import field_distance, field_distance_gradient
from mane.body._kernels_shapes import shape_distance

FASTMATH = {"contract", "arcp", "nsz", "afn"}

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
# A distance field whose gradient is flatter than this (in the middle of the solid) tells no way out worth following.
FLAT = np.float32(1e-3)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def to_local(turn, place, x, y, z):
    """A point of the world in the frame of a solid."""
    dx, dy, dz = x - place[0], y - place[1], z - place[2]
    return (
        turn[0, 0] * dx + turn[1, 0] * dy + turn[2, 0] * dz,
        turn[0, 1] * dx + turn[1, 1] * dy + turn[2, 1] * dz,
        turn[0, 2] * dx + turn[1, 2] * dy + turn[2, 2] * dz,
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def block_of(coordinate, count):
    """Block of a coordinate [blocks]; beyond the grid the nearest one, where distances are larger still."""
    # An unsigned index needs no test for counting from the end.
    return np.uint64(np.int32(min(max(coordinate, ZERO), np.float32(count - 1))))


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def lowest_distance(solid, x, y, z):
    """What the distance is at least [m] at a point of the solid's own frame: one number read, for most hair enough."""
    lowest, origin, inv_block = solid[5], solid[3], solid[6]
    i = block_of((x - origin[0]) * inv_block, lowest.shape[0])
    j = block_of((y - origin[1]) * inv_block, lowest.shape[1])
    k = block_of((z - origin[2]) * inv_block, lowest.shape[2])
    return lowest[i, j, k]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def bare_distance(solid, x, y, z):
    """Signed distance [m] at a point of the solid's own frame, without the gradient, which few vertices need."""
    kinds, params, values, origin, inv_cell, _, _, _, _, _ = solid
    if len(kinds) > 0:
        d, _, _, _ = shape_distance(kinds, params, x, y, z)
        return d
    return field_distance(values, origin, inv_cell, x, y, z)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def local_distance(solid, x, y, z):
    """Signed distance [m] at a point of the solid's own frame, and its unit gradient in the world's."""
    kinds, params, values, origin, inv_cell, _, _, _, turn, _ = solid
    if len(kinds) > 0:
        d, gx, gy, gz = shape_distance(kinds, params, x, y, z)
    else:
        d, gx, gy, gz = field_distance_gradient(values, origin, inv_cell, x, y, z)
    scale = ONE / max(math.sqrt(gx * gx + gy * gy + gz * gz), FLAT)
    return (
        d,
        scale * (turn[0, 0] * gx + turn[0, 1] * gy + turn[0, 2] * gz),
        scale * (turn[1, 0] * gx + turn[1, 1] * gy + turn[1, 2] * gz),
        scale * (turn[2, 0] * gx + turn[2, 1] * gy + turn[2, 2] * gz),
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def solid_distance(solid, x, y, z):
    """Signed distance [m] of a point in the world, and its unit gradient there."""
    lx, ly, lz = to_local(solid[8], solid[9], x, y, z)
    return local_distance(solid, lx, ly, lz)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def find_penetrating(
    solid,
    points,
    # in and out
    is_inside,
):
    """Set `is_inside (S,)` where a vertex of `points (S, V, 3)` other than the root is inside the solid."""
    steepest, turn, place = solid[7], solid[8], solid[9]
    for s in prange(len(points)):
        if is_inside[s]:
            continue
        room = ZERO  # what is surely left to the surface after the way from the last vertex that was tested
        px, py, pz = points[s, 0, 0], points[s, 0, 1], points[s, 0, 2]
        for i in range(1, points.shape[1]):
            x, y, z = points[s, i, 0], points[s, i, 1], points[s, i, 2]
            dx, dy, dz = x - px, y - py, z - pz
            px, py, pz = x, y, z
            room -= steepest * math.sqrt(dx * dx + dy * dy + dz * dz)
            if room > ZERO:
                continue
            lx, ly, lz = to_local(turn, place, x, y, z)
            room = lowest_distance(solid, lx, ly, lz)
            if room > ZERO:
                continue
            room = bare_distance(solid, lx, ly, lz)
            if room < ZERO:
                is_inside[s] = True
                break
