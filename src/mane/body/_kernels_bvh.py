"""A tree of boxes over triangles, which the distance and winding kernels walk.

Nodes are numbered from the root downwards, left subtree first: the left child of `node` is `node + 1`, the right one is
`right[node]`, and every child has a higher number than its parent. A leaf has `right == 0`. All nodes own the triangles
`first : last` of the reordered list.
"""

# mypy: allow-untyped-defs

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mane.simd.jit import njit

# Measured: from 2 to 8 triangles, building a field takes the same time.
LEAF_SIZE = 4
# Splitting at the median keeps the depth below log2(triangles) + 1, so this holds far more than fits in memory.
STACK_SIZE = 128


class Tree(NamedTuple):
    """The shape of the tree and the boxes of its nodes."""

    first: NDArray[np.int32]  # (N,)
    last: NDArray[np.int32]  # (N,)
    right: NDArray[np.int32]  # (N,)
    box: NDArray[np.float32]  # (N, 6): lowest corner, highest corner


@njit(cache=True, error_model="numpy")
def widest_axis(centers, order, start, end):
    """Axis along which the chosen centres spread the most."""
    best_axis, best_extent = 0, np.float32(-1.0)
    for axis in range(3):
        low, high = np.float32(np.inf), np.float32(-np.inf)
        for i in range(start, end):
            value = centers[order[i], axis]
            low, high = min(low, value), max(high, value)
        if high - low > best_extent:
            best_axis, best_extent = axis, high - low
    return best_axis


@njit(cache=True, error_model="numpy")
def sort_along(centers, axis, start, end, order):
    """Sort `order[start:end]` by the centres' coordinate along `axis`; equal ones keep their order."""
    keys = np.empty(end - start, np.float32)
    for i in range(end - start):
        keys[i] = centers[order[start + i], axis]
    chosen = order[start:end].copy()
    by_key = np.argsort(keys, kind="mergesort")
    for i in range(end - start):
        order[start + i] = chosen[by_key[i]]


@njit(cache=True, error_model="numpy")
def split_at_medians(
    centers,
    # out
    order,
    first,
    last,
    right,
):
    """Halve the triangles along the widest axis until leaves are small; return the number of nodes.

    `order` holds the triangles' numbers and is permuted.
    """
    stack = np.empty((STACK_SIZE, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, len(order), -1
    top, node_count = 1, 0
    while top > 0:
        top -= 1
        start, end, parent = stack[top, 0], stack[top, 1], stack[top, 2]
        node = node_count
        node_count += 1
        if parent >= 0:
            right[parent] = node
        first[node], last[node], right[node] = start, end, 0
        if end - start <= LEAF_SIZE:
            continue
        sort_along(centers, widest_axis(centers, order, start, end), start, end, order)
        middle = (start + end) // 2
        # The left half is popped first and so becomes `node + 1`.
        stack[top, 0], stack[top, 1], stack[top, 2] = middle, end, node
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = start, middle, -1
        top += 2
    return node_count


@njit(cache=True, error_model="numpy")
def fit_boxes(
    corners,
    first,
    last,
    right,
    # out
    box,
):
    """Fill the boxes from the triangles' corners (T, 3, 3), children before parents; call again when they moved."""
    for node in range(len(first) - 1, -1, -1):
        left_child, right_child = node + 1, right[node]
        for axis in range(3):
            if right[node] > 0:
                low = min(box[left_child, axis], box[right_child, axis])
                high = max(box[left_child, 3 + axis], box[right_child, 3 + axis])
            else:
                low, high = np.float32(np.inf), np.float32(-np.inf)
                for t in range(first[node], last[node]):
                    for c in range(3):
                        low, high = min(low, corners[t, c, axis]), max(high, corners[t, c, axis])
            box[node, axis], box[node, 3 + axis] = low, high


@njit(cache=True, error_model="numpy", inline="always")
def square_distance_to_box(box, node, x, y, z):
    """Square of the distance from a point to a node's box; zero inside."""
    dx = max(max(box[node, 0] - x, x - box[node, 3]), np.float32(0.0))
    dy = max(max(box[node, 1] - y, y - box[node, 4]), np.float32(0.0))
    dz = max(max(box[node, 2] - z, z - box[node, 5]), np.float32(0.0))
    return dx * dx + dy * dy + dz * dz
