"""A solid as all kernels read it, and questions to it in double precision, as the contacts of guides ask them.

`SolidArrays` is one solid in its own frame: a table of primitives, or a distance field. It is handed from function to
function by value, so it holds no more than most of them need; what few ask for comes apart, as `SolidBlocks`.
`SolidList` is several solids behind each other, since a tuple of them would be compiled anew for each number of them;
`solid_at` cuts one out of it, and all functions take what it returns. Where a solid is comes beside it, as a pose: 12
numbers, its rotation row by row and then its position [m]. A pose pair is two poses, at the start of a step and at its
end.

The functions here promise the same bits whatever the compiler makes of them, and so have no fast math;
`_kernels_solid_f32` has those that are asked for every vertex of every hair.
"""

# mypy: allow-untyped-defs

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mane.body._kernels_field import field_distance_gradient
from mane.body._kernels_shapes import shape_distance
from mane.simd.jit import njit

# Where the two poses of a pair begin, and how long a pose is.
BEFORE, AFTER = 0, 12
POSE_SIZE = 12
# A contact needs a unit normal wherever it is asked for one: in the middle of a body, where a distance field is flatter
# than this, it is +Y.
NO_NORMAL = 1e-6


class SolidArrays(NamedTuple):
    """One solid in its own frame. A shape has K > 0 primitives and a blank field; a mesh has a field and K = 0.

    Of a solid that deforms, `values` are those of one time.
    """

    kinds: NDArray[np.int32]  # (K,), see `_kernels_shapes`, and `params` too
    params: NDArray[np.float32]  # (K, 16)
    values: NDArray[np.float32]  # (X, Y, Z): signed distance at the nodes of the field [m]
    origin: NDArray[np.float32]  # (3,): node (0, 0, 0) [m]
    inv_cell: np.float32  # one over the edge of a cell [1/m]
    slope: float  # how fast the distance changes along a way, at most: 1, and more between the nodes of a field
    stride: float  # least step of a search along a path through the field [m]
    feature: float  # radius of the thinnest part [m], infinite for a plane


class SolidBlocks(NamedTuple):
    """What is known of a solid beforehand, for those who ask for many points that are far from it."""

    lowest: NDArray[np.float32]  # (A, B, C): least value within each block of cells [m]; minus infinity if unknown
    origin: NDArray[np.float32]  # (3,): lowest corner of the first block [m]
    inv_block: np.float32  # one over the edge of a block [1/m]


class SolidList(NamedTuple):
    """Z solids: the arrays of all `SolidArrays` behind each other."""

    kinds: NDArray[np.int32]  # (K,): primitives of all shapes
    params: NDArray[np.float32]  # (K, 16)
    first_kind: NDArray[np.int64]  # (Z + 1,): where the primitives of each solid begin and end
    values: NDArray[np.float32]  # (N,): nodes of all fields [m]
    first_value: NDArray[np.int64]  # (Z,): where the nodes of each begin
    nodes: NDArray[np.int64]  # (Z, 3): their counts X, Y, Z
    origin: NDArray[np.float32]  # (Z, 3) [m]
    inv_cell: NDArray[np.float32]  # (Z,) [1/m]
    limits: NDArray[np.float64]  # (Z, 3): slope, stride [m], feature [m]


@njit(cache=True, error_model="numpy")
def solid_at(table, s):
    """Solid number s of a `SolidList`."""
    a, b, c = table.nodes[s, 0], table.nodes[s, 1], table.nodes[s, 2]
    start = table.first_value[s]
    own = slice(table.first_kind[s], table.first_kind[s + 1])
    return SolidArrays(
        table.kinds[own],
        table.params[own],
        table.values[start : start + a * b * c].reshape((a, b, c)),
        table.origin[s],
        table.inv_cell[s],
        table.limits[s, 0],
        table.limits[s, 1],
        table.limits[s, 2],
    )


@njit(cache=True, error_model="numpy")
def unit_gradient(d, gx, gy, gz):
    """Distance and gradient of a field with the gradient of unit length; upwards where there is none."""
    norm = math.sqrt(gx * gx + gy * gy + gz * gz)
    if norm < NO_NORMAL:
        return d, 0.0, 1.0, 0.0
    return d, gx / norm, gy / norm, gz / norm


@njit(cache=True, error_model="numpy")
def rigid_distance(solid, x, y, z):
    """Signed distance [m] and unit gradient of a `SolidArrays` at one point of the solid's own frame."""
    if len(solid.kinds) == 0:
        d, gx, gy, gz = field_distance_gradient(solid.values, solid.origin, solid.inv_cell, x, y, z)
    else:
        d, gx, gy, gz = shape_distance(solid.kinds, solid.params, x, y, z)
    return unit_gradient(d, gx, gy, gz)


@njit(cache=True, error_model="numpy")
def to_local(poses, which, x, y, z):
    """Carry a point from the world into the frame of a solid; `which` is BEFORE or AFTER."""
    x, y, z = x - poses[which + 9], y - poses[which + 10], z - poses[which + 11]
    return (
        poses[which] * x + poses[which + 3] * y + poses[which + 6] * z,
        poses[which + 1] * x + poses[which + 4] * y + poses[which + 7] * z,
        poses[which + 2] * x + poses[which + 5] * y + poses[which + 8] * z,
    )


@njit(cache=True, error_model="numpy")
def turn_to_world(poses, which, x, y, z):
    """Carry a direction from the frame of a solid to the world."""
    return (
        poses[which] * x + poses[which + 1] * y + poses[which + 2] * z,
        poses[which + 3] * x + poses[which + 4] * y + poses[which + 5] * z,
        poses[which + 6] * x + poses[which + 7] * y + poses[which + 8] * z,
    )


@njit(cache=True, error_model="numpy")
def to_world(poses, which, x, y, z):
    """Carry a point from the frame of a solid to the world."""
    wx, wy, wz = turn_to_world(poses, which, x, y, z)
    return wx + poses[which + 9], wy + poses[which + 10], wz + poses[which + 11]
