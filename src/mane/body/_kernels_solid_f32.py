"""Questions to a solid in single precision, as they are asked for every vertex of every hair.

The solid is a `SolidArrays` of `_kernels_solid`, the pose its 12 numbers in float32. The compiler may contract products
and sums here, and pictures are all that comes of it; what guides feel is asked in `_kernels_solid`.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_field import field_distance, field_distance_gradient
from mane.body._kernels_shapes import shape_distance
from mane.body._kernels_solid import SolidArrays as SolidArrays  # so that kernels are made anew when its fields change
from mane.simd.jit import njit

FASTMATH = {"contract", "arcp", "nsz", "afn"}

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
# Hair is moved along the gradient by its depth. Where a distance field is flatter than this (in the middle of the
# solid) there is no way out worth following: its gradient stays short, and the hair is moved the less.
WEAK_GRADIENT = np.float32(1e-3)


# Slope of a field at most, the square root of 3, rounded up: rounding in single precision must not make it too small.
FIELD_SLOPE = 1.7321
STEEPEST = np.float32(FIELD_SLOPE)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def steepest(solid):
    """How fast the distance falls along a way at most."""
    return ONE if len(solid.kinds) > 0 else STEEPEST


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def to_local(pose, x, y, z):
    """A point of the world in the frame of a solid."""
    dx, dy, dz = x - pose[9], y - pose[10], z - pose[11]
    return (
        pose[0] * dx + pose[3] * dy + pose[6] * dz,
        pose[1] * dx + pose[4] * dy + pose[7] * dz,
        pose[2] * dx + pose[5] * dy + pose[8] * dz,
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def block_of(coordinate, count):
    """Block of a coordinate [blocks]; beyond the grid the nearest one, where distances are larger still."""
    # An unsigned index needs no test for counting from the end.
    return np.uint64(np.int32(min(max(coordinate, ZERO), np.float32(count - 1))))


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def lowest_distance(blocks, x, y, z):
    """What the distance is at least [m] at a point of the solid's own frame: one number read, for most hair enough.

    `blocks` is a `SolidBlocks`.
    """
    lowest, origin, inv_block = blocks.lowest, blocks.origin, blocks.inv_block
    i = block_of((x - origin[0]) * inv_block, lowest.shape[0])
    j = block_of((y - origin[1]) * inv_block, lowest.shape[1])
    k = block_of((z - origin[2]) * inv_block, lowest.shape[2])
    return lowest[i, j, k]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def bare_distance(solid, x, y, z):
    """Signed distance [m] at a point of the solid's own frame, without the gradient, which few vertices need."""
    if len(solid.kinds) > 0:
        d, _, _, _ = shape_distance(solid.kinds, solid.params, x, y, z)
        return d
    return field_distance(solid.values, solid.origin, solid.inv_cell, x, y, z)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def in_world(pose, d, gx, gy, gz):
    """A distance [m], and its gradient in the frame of a solid as a unit vector in the world's."""
    scale = ONE / max(math.sqrt(gx * gx + gy * gy + gz * gz), WEAK_GRADIENT)
    return (
        d,
        scale * (pose[0] * gx + pose[1] * gy + pose[2] * gz),
        scale * (pose[3] * gx + pose[4] * gy + pose[5] * gz),
        scale * (pose[6] * gx + pose[7] * gy + pose[8] * gz),
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def local_distance(solid, pose, x, y, z):
    """Signed distance [m] at a point of the solid's own frame, and its unit gradient in the world's."""
    if len(solid.kinds) > 0:
        d, gx, gy, gz = shape_distance(solid.kinds, solid.params, x, y, z)
    else:
        d, gx, gy, gz = field_distance_gradient(solid.values, solid.origin, solid.inv_cell, x, y, z)
    return in_world(pose, d, gx, gy, gz)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def world_distance(solid, pose, x, y, z):
    """Signed distance [m] of a point in the world, and its unit gradient there."""
    lx, ly, lz = to_local(pose, x, y, z)
    return local_distance(solid, pose, lx, ly, lz)
