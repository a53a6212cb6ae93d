"""A tree of boxes over triangles that move: sixteen boxes or triangles are tested at once, and fitted at every step.

Triangles are in an order in which those beside each other are close together. Sixteen of them make a block, sixteen
blocks a node of the lowest level, sixteen such nodes one of the next, and so on to a single node at the top: child k of
node n is number 16 n + k of the level below, or that block. The boxes of the children of a node lie side by side, all
lowest x, then y and z, then the highest. A block has the first corners of its triangles side by side, then their edges
to the second and to the third corner. Both are in single precision and seen from an origin in the middle of the
surface; they only tell which triangles are worth measuring in double precision.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_bvh import STACK_SIZE, sort_along, widest_axis
from mane.simd.f32x16 import WIDTH, load
from mane.simd.jit import inline, leaf, njit, prange
from mane.simd.masks import lowest_bit, mask_bits, select
from mane.simd.math import maximum, minimum
from mane.simd.reductions import reduce_max, reduce_min

NODE = 6 * WIDTH  # numbers of a node
BLOCK = 9 * WIDTH  # numbers of a block
# What is looked for may be farther than the best so far by this part of it, and by `slack`, which rounding takes.
ROUNDING = 1.0 + 1e-6
# What rounding may take from the square of a distance to a triangle, as a part of the squares that it is made of.
SQUARE_ROUNDING = np.float32(1e-6)
ZERO, ONE, TWO = np.float32(0.0), np.float32(1.0), np.float32(2.0)
# Where triangles are that are not there [m]: no distance to them is within any limit, and its square is finite.
NOWHERE = np.float32(1e15)


@njit(cache=True, error_model="numpy")
def order_in_blocks(
    centers,
    # out
    order,
):
    """Sort `order (T,)`, numbers of triangles with these centres (T, 3), so that blocks of sixteen are close together.

    They are halved along the widest axis, at whole blocks, and as long as they are many at whole nodes of blocks.
    """
    stack = np.empty((STACK_SIZE, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, len(order)
    top = 1
    while top > 0:
        top -= 1
        start, end = stack[top, 0], stack[top, 1]
        unit = WIDTH
        while (end - start) > WIDTH * unit:
            unit *= WIDTH
        if end - start <= WIDTH:
            continue
        sort_along(centers, widest_axis(centers, order, start, end), start, end, order)
        middle = start + unit * max((end - start) // (2 * unit), 1)
        stack[top, 0], stack[top, 1] = start, middle
        stack[top + 1, 0], stack[top + 1, 1] = middle, end
        top += 2


@njit(cache=True, error_model="numpy")
def fill_block(first, last, origin, corners, at, blocks):
    """Fill the block that begins at `at` with the triangles from `first` on, and before `last`."""
    for lane in range(WIDTH):
        t = first + lane
        for axis in range(3):
            a, u, v = np.float64(NOWHERE), 0.0, 0.0
            if t < last:
                a = corners[t, 0, axis]
                u, v, a = corners[t, 1, axis] - a, corners[t, 2, axis] - a, a - origin[axis]
            blocks[at + axis * WIDTH + lane] = a
            blocks[at + (3 + axis) * WIDTH + lane] = u
            blocks[at + (6 + axis) * WIDTH + lane] = v


@njit(cache=True, error_model="numpy")
def fit_box(first, last, origin, corners, at, box):
    """Fill the lane of a node that begins at `at` with the box of the triangles from `first` on, and before `last`."""
    for axis in range(3):
        low, high = np.inf, -np.inf
        for t in range(first, last):
            for c in range(3):
                low, high = min(low, corners[t, c, axis]), max(high, corners[t, c, axis])
        box[at + axis * WIDTH], box[at + (3 + axis) * WIDTH] = low - origin[axis], high - origin[axis]


@njit(cache=True, error_model="numpy")
def fill_parents(
    level_start,
    # out
    box,
):
    """Fill all levels but the lowest; places of children that are not there have been left empty."""
    for level in range(len(level_start) - 2):
        for n in range(level_start[level + 1] - level_start[level]):
            child = (level_start[level] + n) * NODE
            own = (level_start[level + 1] + n // WIDTH) * NODE + n % WIDTH
            for k in range(3):
                box[own + k * WIDTH] = reduce_min(load(box, child + k * WIDTH))
                box[own + (3 + k) * WIDTH] = reduce_max(load(box, child + (3 + k) * WIDTH))


@njit(cache=True, error_model="numpy", parallel=True)
def fit_blocks(
    points,
    faces,
    bounding_count,
    origin,
    # out
    corners,
    blocks,
    box,
):
    """Fill `corners (T, 3, 3)` of triangles with vertices `points (P, 3)`, blocks, and the lowest level of the tree."""
    for block in prange((len(faces) + WIDTH - 1) // WIDTH):
        first = block * WIDTH
        for t in range(first, min(first + WIDTH, len(faces))):
            for c in range(3):
                for i in range(3):
                    corners[t, c, i] = points[faces[t, c], i]
        if first < bounding_count:
            last = min(first + WIDTH, bounding_count)
            fill_block(first, last, origin, corners, block * BLOCK, blocks)
            fit_box(first, last, origin, corners, block // WIDTH * NODE + block % WIDTH, box)


@inline
def squares_to_boxes(box, at, x, y, z):
    """Squares of the distances of a point to the sixteen boxes of the node that begins at `at`."""
    dx = maximum(maximum(load(box, at) - x, x - load(box, at + 3 * WIDTH)), ZERO)
    dy = maximum(maximum(load(box, at + WIDTH) - y, y - load(box, at + 4 * WIDTH)), ZERO)
    dz = maximum(maximum(load(box, at + 2 * WIDTH) - z, z - load(box, at + 5 * WIDTH)), ZERO)
    return dx * dx + dy * dy + dz * dz


@inline
def square_to_edge(start, along, length):
    """Square of the distance to an edge: of that to its start, the product with it, and the square of its length."""
    share = select(length > ZERO, minimum(maximum(along / length, ZERO), ONE), ZERO)
    return start - share * (TWO * along - share * length)


@inline
def squares_to_triangles(blocks, at, x, y, z):
    """Lower bounds of the squares of the distances of a point to the sixteen triangles of the block at `at`.

    They are those to the plane where the closest point lies within a triangle, and to the closest edge elsewhere.
    """
    ux, uy, uz = load(blocks, at + 3 * WIDTH), load(blocks, at + 4 * WIDTH), load(blocks, at + 5 * WIDTH)
    vx, vy, vz = load(blocks, at + 6 * WIDTH), load(blocks, at + 7 * WIDTH), load(blocks, at + 8 * WIDTH)
    px, py, pz = x - load(blocks, at), y - load(blocks, at + WIDTH), z - load(blocks, at + 2 * WIDTH)
    uu, uv, vv = ux * ux + uy * uy + uz * uz, ux * vx + uy * vy + uz * vz, vx * vx + vy * vy + vz * vz
    pu, pv, pp = px * ux + py * uy + pz * uz, px * vx + py * vy + pz * vz, px * px + py * py + pz * pz
    edges = minimum(square_to_edge(pp, pu, uu), square_to_edge(pp, pv, vv))
    edges = minimum(edges, square_to_edge(pp - TWO * pu + uu, pv - pu - uv + uu, uu - TWO * uv + vv))
    area, beta, gamma = uu * vv - uv * uv, vv * pu - uv * pv, uu * pv - uv * pu
    is_within = (beta >= ZERO) & (gamma >= ZERO) & (beta + gamma <= area) & (area > ZERO)
    squares = select(is_within, minimum(edges, pp - (beta * pu + gamma * pv) / area), edges)
    return squares - SQUARE_ROUNDING * (pp + uu + vv)


@leaf()
def boxes_within(box, at, x, y, z, limit):
    """Which boxes of a node a ball around a point reaches, one bit for each; `limit` is the square of its radius."""
    return mask_bits(squares_to_boxes(box, at, x, y, z) <= limit)


@leaf()
def triangles_within(blocks, at, x, y, z, limit):
    """Which triangles of a block a ball around a point may reach, one bit for each, and the nearest of them."""
    squares = squares_to_triangles(blocks, at, x, y, z)
    least = reduce_min(squares)
    return mask_bits(squares <= limit), lowest_bit(mask_bits(squares <= least))


@leaf()
def nearest_box(box, at, x, y, z):
    """Which box of a node is nearest to a point; the first of several."""
    squares = squares_to_boxes(box, at, x, y, z)
    return lowest_bit(mask_bits(squares <= reduce_min(squares)))


@leaf()
def first_block(box, level_start, x, y, z):
    """A block near a point: from the top always to the nearest box."""
    node = 0
    for level in range(len(level_start) - 2, -1, -1):
        node = node * WIDTH + nearest_box(box, (level_start[level] + node) * NODE, x, y, z)
    return node


@leaf()
def least_of_node(box, at, x, y, z):
    """Square of the distance of a point to the nearest box of a node."""
    return reduce_min(squares_to_boxes(box, at, x, y, z))


@leaf()
def search_limit(square, slack):
    """Square of the distance within which boxes are looked into that could hold what is as near as that; rounded up."""
    reach = ROUNDING * math.sqrt(square) + slack
    return np.float32(reach * reach)
