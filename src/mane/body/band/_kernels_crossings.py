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
from mane.simd.jit import inline, leaf, njit, prange

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


@inline
def on_raster(coordinate):
    """A coordinate [cells] as a whole number of steps."""
    return np.int64(math.floor(STEPS * np.float64(coordinate) + 0.5))


@inline
def edge_from(ax, ay, bx, by, x, y):
    """On which side of the edge from a to b a line at (x, y) is, positive on the left; how that changes along x and y.

    The last number is 1 if a line on the edge counts as left of it, else 0: it is taken a speck along x and a speck of
    that along y, so that it never is on an edge.
    """
    side = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
    is_left = by < ay or (by == ay and bx > ax)
    return side, -(by - ay) * STEPS, (bx - ax) * STEPS, np.int64(is_left)


@leaf()
def add_crossings(corners, members, begin, end, ny, line, node, change):
    """Add the crossings of triangles with the lines of planes `begin` to `end`; returns how many there are."""
    count = 0
    for t in members:
        ax, ay = np.float64(corners[t, 0, 0]), np.float64(corners[t, 0, 1])
        bx, by = np.float64(corners[t, 1, 0]), np.float64(corners[t, 1, 1])
        cx, cy = np.float64(corners[t, 2, 0]), np.float64(corners[t, 2, 1])
        first_x = max(np.int64(math.ceil(min(ax, min(bx, cx)) - SLACK)), begin)
        last_x = min(np.int64(math.floor(max(ax, max(bx, cx)) + SLACK)), end - 1)
        first_y = np.int64(math.ceil(min(ay, min(by, cy)) - SLACK))
        last_y = np.int64(math.floor(max(ay, max(by, cy)) + SLACK))
        if first_x > last_x or first_y > last_y:
            continue
        count = cross_triangle(corners, t, first_x, last_x, first_y, last_y, begin, ny, line, node, change, count)
    return count


@inline
def cross_triangle(corners, t, first_x, last_x, first_y, last_y, begin, ny, line, node, change, count):
    """Add the crossings of a triangle with some lines; returns the new count."""
    ax, ay, az = on_raster(corners[t, 0, 0]), on_raster(corners[t, 0, 1]), np.float64(corners[t, 0, 2])
    bx, by, bz = on_raster(corners[t, 1, 0]), on_raster(corners[t, 1, 1]), np.float64(corners[t, 1, 2])
    cx, cy, cz = on_raster(corners[t, 2, 0]), on_raster(corners[t, 2, 1]), np.float64(corners[t, 2, 2])
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    # On its way up a line leaves the solid through a triangle that faces up.
    step = -1 if area > 0 else 1
    if area < 0:
        bx, by, bz, cx, cy, cz = cx, cy, cz, bx, by, bz
        area = -area
    x, y = first_x * STEPS, first_y * STEPS
    a0, a_x, a_y, a_on = edge_from(bx, by, cx, cy, x, y)
    b0, b_x, b_y, b_on = edge_from(cx, cy, ax, ay, x, y)
    c0, c_x, c_y, c_on = edge_from(ax, ay, bx, by, x, y)
    for i in range(first_x, last_x + 1 if area > 0 else first_x):
        a, b, c = a0, b0, c0
        for j in range(first_y, last_y + 1):
            if min(a + a_on, min(b + b_on, c + c_on)) > 0:
                z = (a * az + b * bz + c * cz) / area
                line[count] = (i - begin) * ny + j
                node[count] = np.int32(math.floor(z)) + 1
                change[count] = step
                count += 1
            a, b, c = a + a_y, b + b_y, c + c_y
        a0, b0, c0 = a0 + a_x, b0 + b_x, c0 + c_x
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
        total = add_crossings(corners, members[start[s] : start[s + 1]], begin, end, ny, line, node, change)
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


@inline
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


@inline
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
