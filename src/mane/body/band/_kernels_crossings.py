"""Where the lines of a grid along z cross a closed surface, and so the winding number at every node.

Corners are rounded to a raster of 2^-16 cells, on which the side of an edge that a line is on is an exact whole number;
a line through an edge or a corner counts as beside it, the same side for all triangles there. So a closed surface is
never missed: on its way out a line crosses it as often as on its way in.

Crossings of a line are kept one behind the other: the first node behind each, and the winding number from there on.
"""

# mypy: allow-untyped-defs

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mane.body.band._kernels_triangles import HEIGHT, ROW
from mane.simd.jit import leaf, njit, prange

STEPS = np.int64(65536)  # of the raster, per cell
SLACK = 1e-4  # more than rounding to it moves a corner [cells]
# How far from a triangle the winding number is looked up [cells]: the nearest node is then surely on that side.
ASIDE = np.float32(1.0)


class Crossings(NamedTuple):
    """All crossings, line by line."""

    first: NDArray[np.int64]  # (X, Y): where those of each line begin
    size: NDArray[np.int64]  # (X, Y): how many it has
    node: NDArray[np.int32]  # (C,): the first node behind each, rising along a line
    winding: NDArray[np.int32]  # (C,): winding number from there on


@leaf()
def side_of(ax, ay, bx, by, px, py):
    """Which side of the edge from a to b a line is on, positive on the left."""
    return (bx - ax) * (py - ay) - (by - ay) * (px - ax)


@leaf()
def is_left(side, ax, ay, bx, by):
    """Whether the line is left of the edge; one on it is taken a speck along x and a speck of that along y."""
    if side != 0:
        return side > 0
    return by < ay or (by == ay and bx > ax)


@leaf()
def on_raster(coordinate):
    """A coordinate [cells] as a whole number of steps."""
    return np.int64(math.floor(STEPS * np.float64(coordinate) + 0.5))


@leaf()
def lines_across(corners, t, axis):
    """First and last line of the grid that may cross a triangle along an axis."""
    a, b, c = np.float64(corners[t, 0, axis]), np.float64(corners[t, 1, axis]), np.float64(corners[t, 2, axis])
    low, high = min(a, min(b, c)), max(a, max(b, c))
    return np.int64(math.ceil(low - SLACK)), np.int64(math.floor(high + SLACK))


@leaf()
def add_crossings(corners, t, begin, end, ny, line, node, change, count):
    """Add the crossings of triangle `t` with the lines of planes `begin` to `end`; returns their new count."""
    first_x, last_x = lines_across(corners, t, 0)
    first_y, last_y = lines_across(corners, t, 1)
    first_x, last_x = max(first_x, begin), min(last_x, end - 1)
    if first_x > last_x or first_y > last_y:
        return count
    ax, ay = on_raster(corners[t, 0, 0]), on_raster(corners[t, 0, 1])
    bx, by = on_raster(corners[t, 1, 0]), on_raster(corners[t, 1, 1])
    cx, cy = on_raster(corners[t, 2, 0]), on_raster(corners[t, 2, 1])
    area = side_of(ax, ay, bx, by, cx, cy)
    if area == 0:
        return count
    az, bz, cz = np.float64(corners[t, 0, 2]), np.float64(corners[t, 1, 2]), np.float64(corners[t, 2, 2])
    # On its way up a line leaves the solid through a triangle that faces up.
    step = -1 if area > 0 else 1
    if area < 0:
        bx, by, bz, cx, cy, cz = cx, cy, cz, bx, by, bz
        area = -area
    for i in range(first_x, last_x + 1):
        x = i * STEPS
        for j in range(first_y, last_y + 1):
            y = j * STEPS
            on_a = side_of(bx, by, cx, cy, x, y)
            on_b = side_of(cx, cy, ax, ay, x, y)
            on_c = side_of(ax, ay, bx, by, x, y)
            if is_left(on_a, bx, by, cx, cy) and is_left(on_b, cx, cy, ax, ay) and is_left(on_c, ax, ay, bx, by):
                z = (on_a * az + on_b * bz + on_c * cz) / area
                line[count] = (i - begin) * ny + j
                node[count] = np.int32(math.floor(z)) + 1
                change[count] = step
                count += 1
    return count


@leaf()
def sort_line(first, count, node, winding):
    """Sort the crossings of a line by their nodes, and sum up what changes there; returns the extremes of the sums."""
    for c in range(first + 1, first + count):
        key, step = node[c], winding[c]
        place = c
        while place > first and node[place - 1] > key:
            node[place], winding[place] = node[place - 1], winding[place - 1]
            place -= 1
        node[place], winding[place] = key, step
    number, least, most = 0, 0, 0
    for c in range(first, first + count):
        number += winding[c]
        winding[c] = number
        if c + 1 == first + count or node[c + 1] > node[c]:
            least, most = min(least, number), max(most, number)
    return least, most


@njit(cache=True, error_model="numpy", parallel=True)
def fill_crossings(
    corners,
    start,
    members,
    room,
    order,
    slab,
    scratch,
    # out
    crossings,
    extremes,
):
    """Fill the crossings of all lines, and the least and largest winding number of each slab, shape (slabs, 2).

    Args:
        corners: of the triangles [cells], shape (T, 3, 3).
        start: where the triangles of each slab begin, shape (slabs + 1,).
        members: triangles of the slabs one behind the other.
        room: where the crossings of each slab begin, shape (slabs + 1,).
        order: in which slabs are done, so that each thread has some from everywhere, shape (slabs,).
        slab: planes of a slab.
        scratch: as much room as `crossings` have, shape (3, C).
        crossings: a `Crossings`, out.
        extremes: out.
    """
    nx, ny = crossings.first.shape
    nodes, windings = crossings.node, crossings.winding
    for c in prange(len(order)):
        s = order[c]
        begin, end = s * slab, min((s + 1) * slab, nx)
        own = scratch[:, room[s] : room[s + 1]]
        line, node, change = own[0], own[1], own[2]
        total = 0
        for m in range(start[s], start[s + 1]):
            total = add_crossings(corners, members[m], begin, end, ny, line, node, change, total)
        first, count = crossings.first[begin:end].reshape(-1), crossings.size[begin:end].reshape(-1)
        count[:] = 0
        for k in range(total):
            count[line[k]] += 1
        place = room[s]
        for k in range(len(first)):
            first[k] = place
            place += count[k]
        count[:] = 0
        for k in range(total):
            at = first[line[k]] + count[line[k]]
            nodes[at], windings[at] = node[k], change[k]
            count[line[k]] += 1
        least, most = 0, 0
        for k in range(len(first)):
            if count[k] > 0:
                low, high = sort_line(first[k], count[k], nodes, windings)
                least, most = min(least, low), max(most, high)
        extremes[s, 0], extremes[s, 1] = least, most


@leaf()
def winding_near(crossings, x, y, z):
    """Winding number at the node nearest to a point [cells]."""
    i = min(max(np.int64(round(x)), 0), crossings.first.shape[0] - 1)
    j = min(max(np.int64(round(y)), 0), crossings.first.shape[1] - 1)
    k = np.int64(round(z))
    number = np.int32(0)
    for c in range(crossings.first[i, j], crossings.first[i, j] + crossings.size[i, j]):
        if crossings.node[c] > k:
            break
        number = crossings.winding[c]
    return number


@leaf()
def is_buried_at(crossings, nx, ny, nz, x, y, z):
    """Whether both sides of the surface at a point are inside, or both outside, and nothing else lies between them."""
    outer = winding_near(crossings, x + ASIDE * nx, y + ASIDE * ny, z + ASIDE * nz)
    inner = winding_near(crossings, x - ASIDE * nx, y - ASIDE * ny, z - ASIDE * nz)
    return inner == outer + 1 and outer != 0


@njit(cache=True, error_model="numpy", parallel=True)
def find_buried(
    corners,
    frames,
    crossings,
    # out
    is_buried,
):
    """Set `is_buried (T,)` of triangles that bound nothing: parts of the surface within other parts of the solid.

    They are looked at in their middle and at each corner, and kept where it is not clear.
    """
    third = np.float32(1.0 / 3.0)
    for t in prange(len(corners)):
        at = t * ROW + HEIGHT
        nx, ny, nz = frames[at + 1], frames[at + 2], frames[at + 3]
        x = (corners[t, 0, 0] + corners[t, 1, 0] + corners[t, 2, 0]) * third
        y = (corners[t, 0, 1] + corners[t, 1, 1] + corners[t, 2, 1]) * third
        z = (corners[t, 0, 2] + corners[t, 1, 2] + corners[t, 2, 2]) * third
        buried = is_buried_at(crossings, nx, ny, nz, x, y, z)
        for c in range(3):
            px, py, pz = corners[t, c, 0], corners[t, c, 1], corners[t, c, 2]
            buried = buried and is_buried_at(crossings, nx, ny, nz, px, py, pz)
        is_buried[t] = buried
