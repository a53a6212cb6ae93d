"""A tree of boxes over triangles that move: sixteen boxes are tested at once, and fitted again at every step.

Triangles are in an order in which those beside each other are close together. Sixteen of them make a node of the
lowest level, sixteen such nodes one of the next, and so on to a single node at the top: child k of node n is number
16 n + k of the level below, or that triangle. The boxes of the children of a node lie side by side, all lowest x, then
y and z, then the highest. They are in single precision and seen from an origin in the middle of the surface.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_bvh import STACK_SIZE, sort_along, widest_axis
from mane.simd.f32x16 import WIDTH, load
from mane.simd.jit import inline, leaf, njit, prange
from mane.simd.masks import lowest_bit, mask_bits
from mane.simd.math import maximum
from mane.simd.reductions import reduce_max, reduce_min

NODE = 6 * WIDTH  # numbers of a node
# What is looked for may be farther than the best so far by this part of it, and by `slack`, which rounding takes.
ROUNDING = 1.0 + 1e-6
ZERO = np.float32(0.0)


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
def fill_block(first, last, origin, corners, at, box):
    """Fill the node of `box` that begins at `at` with boxes of the triangles from `first` on, and before `last`."""
    for lane in range(WIDTH):
        t = first + lane
        for axis in range(3):
            low, high = np.inf, -np.inf
            if t < last:
                a, b, c = corners[t, 0, axis], corners[t, 1, axis], corners[t, 2, axis]
                low = min(a, min(b, c)) - origin[axis]
                high = max(a, max(b, c)) - origin[axis]
            box[at + axis * WIDTH + lane], box[at + (3 + axis) * WIDTH + lane] = low, high


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
    box,
):
    """Fill `corners (T, 3, 3)` of triangles with vertices `points (P, 3)`, and the lowest level of the tree."""
    for block in prange((len(faces) + WIDTH - 1) // WIDTH):
        first = block * WIDTH
        for t in range(first, min(first + WIDTH, len(faces))):
            for c in range(3):
                for i in range(3):
                    corners[t, c, i] = points[faces[t, c], i]
        if first < bounding_count:
            fill_block(first, bounding_count, origin, corners, block * NODE, box)


@inline
def squares_to_boxes(box, at, x, y, z):
    """Squares of the distances of a point to the sixteen boxes of the node that begins at `at`."""
    dx = maximum(maximum(load(box, at) - x, x - load(box, at + 3 * WIDTH)), ZERO)
    dy = maximum(maximum(load(box, at + WIDTH) - y, y - load(box, at + 4 * WIDTH)), ZERO)
    dz = maximum(maximum(load(box, at + 2 * WIDTH) - z, z - load(box, at + 5 * WIDTH)), ZERO)
    return dx * dx + dy * dy + dz * dz


@leaf()
def boxes_within(box, at, x, y, z, limit):
    """Which boxes of a node a ball around a point reaches, one bit for each; `limit` is the square of its radius."""
    return mask_bits(squares_to_boxes(box, at, x, y, z) <= limit)


@leaf()
def nearest_box(box, at, x, y, z):
    """Which box of a node is nearest to a point; the first of several."""
    squares = squares_to_boxes(box, at, x, y, z)
    return lowest_bit(mask_bits(squares <= reduce_min(squares)))


@leaf()
def first_guess(box, level_start, x, y, z):
    """A triangle near a point: from the top always to the nearest box."""
    node = 0
    for level in range(len(level_start) - 2, -1, -1):
        node = node * WIDTH + nearest_box(box, (level_start[level] + node) * NODE, x, y, z)
    return node


@leaf()
def search_limit(square, slack):
    """Square of the distance within which boxes are looked into that could hold what is as near as that; rounded up."""
    reach = ROUNDING * math.sqrt(square) + slack
    return np.float32(reach * reach)
