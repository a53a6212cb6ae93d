"""Distances to unions of many primitives by cells of space: each cell lists the few that can be nearest within it.

A comb has 29 primitives, and at any place no more than a few of them can be the nearest. The distance is the same to
the bit as that of all of them, and takes as long as those few.
"""

# mypy: allow-untyped-defs

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mane.body._kernels_shapes import CAPSULE, SPHERE, primitive_distance
from mane.body._kernels_solid import SolidArrays, solid_at
from mane.body._kernels_solid_f32 import FASTMATH, bare_distance, in_world, local_distance
from mane.simd.jit import leaf, njit, prange

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
FAR = np.float32(1e30)
TINY = np.float32(1e-12)


class CellList(NamedTuple):
    """Cells around Z solids, in the order of a `SolidList`; a solid that has none is asked as a whole."""

    counts: NDArray[np.int64]  # (Z, 3): cells along each axis; 0 for none
    first_cell: NDArray[np.int64]  # (Z,): where the cells of each solid begin
    origin: NDArray[np.float32]  # (Z, 3): lowest corner, in the solid's own frame [m]
    inv_cell: NDArray[np.float32]  # (Z,) [1/m]
    box: NDArray[np.float32]  # (Z, 6): lowest and highest corner of the solid itself [m]
    start: NDArray[np.int32]  # (C + 1,): where the candidates of each cell begin and end
    candidates: NDArray[np.int32]  # (N,): primitives of the `SolidList`
    boxes: NDArray[np.float32]  # (K, 6): lowest and highest corner of every primitive of the `SolidList` [m]
    inv_slope: NDArray[np.float32]  # (Z,): one over how fast the distance of each solid may fall along a way


class CelledSolid(NamedTuple):
    """One solid with the cells around it."""

    solid: SolidArrays
    cells: CellList


@leaf(fastmath=FASTMATH)
def box_distance_below(box, x, y, z):
    """Distance of a point to a box `(6,)` [m], which is no more than that to what is in it; 0 inside."""
    dx = max(max(box[0] - x, x - box[3]), ZERO)
    dy = max(max(box[1] - y, y - box[4]), ZERO)
    dz = max(max(box[2] - z, z - box[5]), ZERO)
    return math.sqrt(dx * dx + dy * dy + dz * dz)


@leaf(fastmath=FASTMATH, forceinline=True)
def is_beside(box, ends):
    """Whether a box `(6,)` has all of four points `ends (4, 3)` on one side, and so what is between them."""
    for c in range(3):
        low = min(min(ends[0, c], ends[1, c]), min(ends[2, c], ends[3, c]))
        high = max(max(ends[0, c], ends[1, c]), max(ends[2, c], ends[3, c]))
        if low > box[c + 3] or high < box[c]:
            return True
    return False


@leaf(fastmath=FASTMATH, forceinline=True)
def list_primitives(solids, cells, s, ends, listed):
    """Fill `listed (K,)` with the primitives of solid s whose boxes four points `ends (4, 3)` are not all beside of.

    Returns how many.
    """
    count = 0
    for k in range(solids.first_kind[s], solids.first_kind[s + 1]):
        listed[count] = k
        if not is_beside(cells.boxes[k], ends):
            count += 1
    return count


@leaf(fastmath=FASTMATH, forceinline=True)
def parts_in_slab(low, high, a, d, begins, ends):
    """Parts of the way from a along d, one coordinate of them, between which it is in a slab and in those before."""
    if abs(d) < TINY:
        inside = low <= a <= high
        return (begins, ends) if inside else (ONE, ZERO)
    first, second = (low - a) / d, (high - a) / d
    return max(begins, min(first, second)), min(ends, max(first, second))


@leaf(fastmath=FASTMATH, forceinline=True)
def parts_in_box(box, ax, ay, az, dx, dy, dz):
    """Parts of the way from a along d, from 0 to 1, between which it is in a box `(6,)`; none if the first is more."""
    begins, ends = parts_in_slab(box[0], box[3], ax, dx, ZERO, ONE)
    begins, ends = parts_in_slab(box[1], box[4], ay, dy, begins, ends)
    return parts_in_slab(box[2], box[5], az, dz, begins, ends)


@leaf(fastmath=FASTMATH, forceinline=True)
def bare_primitive(kinds, params, k, x, y, z):
    """Distance to primitive k of a table, without the gradient; see `_kernels_shapes`."""
    kind = kinds[k]
    if kind == CAPSULE:
        ex, ey, ez = params[k, 3], params[k, 4], params[k, 5]
        dx, dy, dz = x - params[k, 0], y - params[k, 1], z - params[k, 2]
        along = min(max((dx * ex + dy * ey + dz * ez) * params[k, 6], ZERO), ONE)
        dx, dy, dz = dx - along * ex, dy - along * ey, dz - along * ez
        return math.sqrt(dx * dx + dy * dy + dz * dz) - params[k, 7]
    if kind == SPHERE:
        dx, dy, dz = x - params[k, 0], y - params[k, 1], z - params[k, 2]
        return math.sqrt(dx * dx + dy * dy + dz * dz) - params[k, 3]
    d, _, _, _ = primitive_distance(kind, params[k], x, y, z)
    return d


@leaf(fastmath=FASTMATH)
def whole_distance(solids, s, inv_slope, x, y, z):
    """Distance to a solid that has no cells [m], over how fast it may fall along a way."""
    return bare_distance(solid_at(solids, s), x, y, z) * inv_slope


@leaf(fastmath=FASTMATH, forceinline=True)
def cell_of(cells, s, x, y, z):
    """Number of the cell that a point of the frame of solid s is in; -1 for none."""
    scale = cells.inv_cell[s]
    fx, fy, fz = (x - cells.origin[s, 0]) * scale, (y - cells.origin[s, 1]) * scale, (z - cells.origin[s, 2]) * scale
    if not (fx >= ZERO and fy >= ZERO and fz >= ZERO):
        return -1
    nx, ny, nz = cells.counts[s, 0], cells.counts[s, 1], cells.counts[s, 2]
    i, j, k = np.int64(fx), np.int64(fy), np.int64(fz)
    if i >= nx or j >= ny or k >= nz:
        return -1
    return cells.first_cell[s] + (i * ny + j) * nz + k


@leaf(fastmath=FASTMATH, forceinline=True)
def cell_distance(solids, cells, s, x, y, z):
    """Signed distance [m] to solid s at a point of its own frame; beyond its cells no more than that.

    The distance of a field that falls faster than a point can move is scaled by that: a point may go that far.
    """
    if cells.counts[s, 0] == 0:
        return whole_distance(solids, s, cells.inv_slope[s], x, y, z)
    cell = cell_of(cells, s, x, y, z)
    if cell < 0:
        return box_distance_below(cells.box[s], x, y, z)
    d = FAR
    for n in range(cells.start[cell], cells.start[cell + 1]):
        primitive = cells.candidates[n]
        d = min(d, bare_primitive(solids.kinds, solids.params, primitive, x, y, z))
    return d


@leaf(fastmath=FASTMATH)
def nearest_primitive(table, cells, s, x, y, z):
    """Number of the primitive of solid s that is nearest to a point of its own frame; -1 beyond its cells.

    `table` has the primitives: a `SolidList`, or the `SolidArrays` of a single solid, whose number is 0.
    """
    cell = cell_of(cells, s, x, y, z)
    nearest, least = np.int32(-1), FAR
    if cell < 0:
        return nearest
    for n in range(cells.start[cell], cells.start[cell + 1]):
        primitive = cells.candidates[n]
        d = bare_primitive(table.kinds, table.params, primitive, x, y, z)
        if d < least:
            nearest, least = primitive, d
    return nearest


@leaf(fastmath=FASTMATH)
def celled_distance(celled, enough, x, y, z):
    """Signed distance [m] to a `CelledSolid` at a point of its own frame; where that is above `enough`, maybe less."""
    if celled.cells.counts[0, 0] > 0:
        k = nearest_primitive(celled.solid, celled.cells, 0, x, y, z)
        if k >= 0:
            return bare_primitive(celled.solid.kinds, celled.solid.params, k, x, y, z)
        below = box_distance_below(celled.cells.box[0], x, y, z)
        if below > enough:
            return below
    return bare_distance(celled.solid, x, y, z)


@leaf(fastmath=FASTMATH)
def celled_gradient(celled, pose, x, y, z):
    """Signed distance [m] at a point of the own frame of a `CelledSolid`, and its unit gradient in the world's."""
    if celled.cells.counts[0, 0] > 0:
        k = nearest_primitive(celled.solid, celled.cells, 0, x, y, z)
        if k >= 0:
            d, gx, gy, gz = primitive_distance(celled.solid.kinds[k], celled.solid.params[k], x, y, z)
            return in_world(pose, d, gx, gy, gz)
    return local_distance(celled.solid, pose, x, y, z)


@leaf(fastmath=FASTMATH)
def gradient_at(solids, cells, s, pose, x, y, z):
    """The same for solid s of a `SolidList`, and its cells."""
    if cells.counts[s, 0] > 0:
        k = nearest_primitive(solids, cells, s, x, y, z)
        if k >= 0:
            d, gx, gy, gz = primitive_distance(solids.kinds[k], solids.params[k], x, y, z)
            return in_world(pose, d, gx, gy, gz)
    return local_distance(solid_at(solids, s), pose, x, y, z)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def count_candidates(
    kinds,
    params,
    centers,
    reach,
    # out
    counts,
    is_candidate,
):
    """Fill which primitives (C, K) can be the nearest within `reach` [m] of each center (C, 3), and how many (C,).

    Distances change no faster than points move: one that is nearest somewhere in the cell is no farther from its
    center than the nearest there by twice the reach.
    """
    for c in prange(len(centers)):
        distance, least = np.empty(len(kinds), np.float32), FAR
        for k in range(len(kinds)):
            d, _, _, _ = primitive_distance(kinds[k], params[k], centers[c, 0], centers[c, 1], centers[c, 2])
            distance[k] = d
            least = min(least, d)
        counts[c] = 0
        for k in range(len(kinds)):
            is_candidate[c, k] = distance[k] <= least + reach + reach
            counts[c] += is_candidate[c, k]
