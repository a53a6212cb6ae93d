"""Distances beyond the reach of `_kernels_near`, on every second node: closest points handed on from node to node.

A sweep along an axis goes from plane to plane, there and back; a node takes over the closest point of one of the nine
nodes before it that is closer than its own (vector distance transform, Danielsson 1980, with the neighbours that a
straight line to the surface passes). Any point of the surface will do as a guess, so nothing is ever wrong, only not
closest.

Nodes are numbered along x, then y, then z, or along x, then z, then y for sweeps along z: 16 nodes along the last axis
are done at once.
"""

# mypy: allow-untyped-defs

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mane.simd.jit import inline, leaf, njit, prange
from mane.simd.masks import select
from mane.simd.math import sqrt
from mane.simd.memory import loader, store, use_wide_registers

WIDTH = 16
load = loader(WIDTH)
ONE = np.float32(1.0)
TWO = np.float32(2.0)
HALF = np.float32(0.5)
QUARTER = np.float32(0.25)
# Coordinates [cells] of a closest point that is not known: farther than anything.
NOWHERE = np.float32(1e9)
# Numbers before the first node and behind the last one, for those that are read beside them.
MARGIN = 32


class Coarse(NamedTuple):
    """Every second node of a grid along each axis."""

    by_z: NDArray[np.float32]  # (3, MARGIN + X Y Z + MARGIN): closest points [cells], z the last axis
    by_y: NDArray[np.float32]  # the same with y the last axis
    is_sought: NDArray[np.uint8]  # (X, Y, Z): 1 for nodes that have to be found
    is_used: NDArray[np.uint8]  # (X, Y): 1 for rows along z with nodes that are or were known
    chunks_z: NDArray[np.uint8]  # (X, Y, Z / WIDTH): 1 where one of so many nodes has to be
    chunks_y: NDArray[np.uint8]  # (X, Z, Y / WIDTH): the same
    distance: NDArray[np.float32]  # (X, Y, Z): to the closest points [cells]


@inline
def square_between(cx, cy, cz, x, y, z):
    """Squared distance from a node to a point."""
    return (cx - x) * (cx - x) + (cy - y) * (cy - y) + (cz - z) * (cz - z)


@inline
def closer(of_x, of_y, of_z, at, x, y, z, best, px, py, pz):
    """The closest points at `at`, where they are closer to the nodes (x, y, z) than the points p; and their squares."""
    cx, cy, cz = load(of_x, at), load(of_y, at), load(of_z, at)
    square = square_between(cx, cy, cz, x, y, z)
    is_closer = square < best
    return (
        select(is_closer, square, best),
        select(is_closer, cx, px),
        select(is_closer, cy, py),
        select(is_closer, cz, pz),
    )


@inline
def closest_of_three(of_x, of_y, of_z, at, x, y, z, best, px, py, pz):
    """The same for the closest points at `at` and beside it along the last axis."""
    best, px, py, pz = closer(of_x, of_y, of_z, at - 1, x, y, z, best, px, py, pz)
    best, px, py, pz = closer(of_x, of_y, of_z, at, x, y, z, best, px, py, pz)
    return closer(of_x, of_y, of_z, at + 1, x, y, z, best, px, py, pz)


@leaf()
def take_over(of_x, of_y, of_z, at, x, y, z, steps, before, above, below):
    """Have WIDTH nodes from `at` on, at (x, y, z) and behind, take over closest points of nodes before them.

    `before` is where those begin that are straight before them, `above` and `below` their neighbours.
    """
    use_wide_registers()
    zs = load(steps, 0) * TWO + z
    px, py, pz = load(of_x, at), load(of_y, at), load(of_z, at)
    best = square_between(px, py, pz, x, y, zs)
    best, px, py, pz = closest_of_three(of_x, of_y, of_z, before, x, y, zs, best, px, py, pz)
    best, px, py, pz = closest_of_three(of_x, of_y, of_z, above, x, y, zs, best, px, py, pz)
    best, px, py, pz = closest_of_three(of_x, of_y, of_z, below, x, y, zs, best, px, py, pz)
    store(of_x, at, px)
    store(of_y, at, py)
    store(of_z, at, pz)


@leaf()
def sweep_first_axis(of_x, of_y, of_z, chunks, nb, nc, steps, begin, end, step):
    """Sweep along the first axis from plane `begin` to before `end`; `nb` and `nc` nodes along the other two."""
    for a in range(begin, end, step):
        x = TWO * np.float32(a)
        plane, before = MARGIN + a * nb * nc, MARGIN + (a - step) * nb * nc
        for b in range(nb):
            y = TWO * np.float32(b)
            above, below = max(b - 1, 0) * nc, min(b + 1, nb - 1) * nc
            for chunk in range(chunks.shape[2]):
                if chunks[a, b, chunk]:
                    c = min(chunk * WIDTH, nc - WIDTH)
                    z = TWO * np.float32(c)
                    at = plane + b * nc + c
                    last = before + c
                    take_over(of_x, of_y, of_z, at, x, y, z, steps, last + b * nc, last + above, last + below)


@leaf()
def sweep_second_axis(of_x, of_y, of_z, chunks, na, nb, nc, steps, begin, end, step):
    """Sweep along the second axis from row `begin` to before `end`."""
    for b in range(begin, end, step):
        y = TWO * np.float32(b)
        for a in range(na):
            x = TWO * np.float32(a)
            row, before = MARGIN + (a * nb + b) * nc, MARGIN + (a * nb + b - step) * nc
            above, below = (min(a, 1)) * -nb * nc, (min(na - 1 - a, 1)) * nb * nc
            for chunk in range(chunks.shape[2]):
                if chunks[a, b, chunk]:
                    c = min(chunk * WIDTH, nc - WIDTH)
                    z = TWO * np.float32(c)
                    last = before + c
                    take_over(of_x, of_y, of_z, row + c, x, y, z, steps, last, last + above, last + below)


@njit(cache=True, error_model="numpy", parallel=True)
def sweep(
    steps,
    # in and out
    coarse,
):
    """Find the closest points of all nodes that are sought.

    Each direction works on its own copy of the points within reach, or on what others left: rays to the surface that
    run mostly along x are found by sweeps along x, and so on.
    """
    nx, ny, nz = coarse.is_sought.shape
    for task in prange(2):
        if task == 0:
            of_x, of_y, of_z = coarse.by_z[0], coarse.by_z[1], coarse.by_z[2]
            sweep_first_axis(of_x, of_y, of_z, coarse.chunks_z, ny, nz, steps, 1, nx, 1)
            sweep_first_axis(of_x, of_y, of_z, coarse.chunks_z, ny, nz, steps, nx - 2, -1, -1)
            sweep_second_axis(of_x, of_y, of_z, coarse.chunks_z, nx, ny, nz, steps, 1, ny, 1)
            sweep_second_axis(of_x, of_y, of_z, coarse.chunks_z, nx, ny, nz, steps, ny - 2, -1, -1)
        else:
            # Seen from here z is the second axis, and y the last.
            of_x, of_y, of_z = coarse.by_y[0], coarse.by_y[2], coarse.by_y[1]
            sweep_second_axis(of_x, of_y, of_z, coarse.chunks_y, nx, nz, ny, steps, 1, nz, 1)
            sweep_second_axis(of_x, of_y, of_z, coarse.chunks_y, nx, nz, ny, steps, nz - 2, -1, -1)


@leaf()
def fill_row(coarse, i, j, steps):
    """Fill the distances of a row from the closest points that sweeps along x and y have found."""
    use_wide_registers()
    ny, nz = coarse.is_sought.shape[1], coarse.is_sought.shape[2]
    of_x, of_y, of_z = coarse.by_z[0], coarse.by_z[1], coarse.by_z[2]
    distance = coarse.distance.reshape(-1)
    row = (i * ny + j) * nz
    for k in range(0, nz, WIDTH):
        at = row + min(k, nz - WIDTH)
        z = load(steps, 0) * TWO + TWO * np.float32(at - row)
        points = load(of_x, MARGIN + at), load(of_y, MARGIN + at), load(of_z, MARGIN + at)
        square = square_between(points[0], points[1], points[2], TWO * np.float32(i), TWO * np.float32(j), z)
        store(distance, at, sqrt(square))


@leaf()
def lower_chunk(coarse, i, j, chunk):
    """Lower the distances of a chunk of a row to the closest points that sweeps along z have found."""
    ny, nz = coarse.is_sought.shape[1], coarse.is_sought.shape[2]
    x, y = TWO * np.float32(i), TWO * np.float32(j)
    for k in range(chunk * WIDTH, min((chunk + 1) * WIDTH, nz)):
        if coarse.is_sought[i, j, k] == 0:
            continue
        at = MARGIN + (i * nz + k) * ny + j
        cx, cy, cz = coarse.by_y[0, at], coarse.by_y[1, at], coarse.by_y[2, at]
        square = square_between(cx, cy, cz, x, y, TWO * np.float32(k))
        coarse.distance[i, j, k] = min(coarse.distance[i, j, k], math.sqrt(square))


@njit(cache=True, error_model="numpy", parallel=True)
def fill_distances(
    steps,
    # in and out
    coarse,
):
    """Fill the distances of all nodes, where they are sought from the closest points of all sweeps."""
    for i in prange(coarse.is_sought.shape[0]):
        for j in range(coarse.is_sought.shape[1]):
            if coarse.is_used[i, j] == 0:
                continue
            fill_row(coarse, i, j, steps)
            for chunk in range(coarse.chunks_z.shape[2]):
                if coarse.chunks_z[i, j, chunk]:
                    lower_chunk(coarse, i, j, chunk)


@leaf()
def mean_row(coarse, i, j, low, high, out):
    """Fill `out` from coarser node `low` to `high` with means of the up to four rows around row (i, j) of the grid."""
    a, b = coarse.distance[i >> 1, j >> 1, low : high + 1], coarse.distance[i >> 1, (j + 1) >> 1, low : high + 1]
    c = coarse.distance[(i + 1) >> 1, j >> 1, low : high + 1]
    d = coarse.distance[(i + 1) >> 1, (j + 1) >> 1, low : high + 1]
    for k in range(len(a)):
        out[k] = QUARTER * (a[k] + b[k] + c[k] + d[k])


@leaf()
def spread_row(means, out):
    """Fill `out (2 K - 1,)` with `means (K,)` at even places, and between them with those of their neighbours."""
    out[0] = means[0]
    for k in range(len(means) - 1):
        out[2 * k + 1] = HALF * (means[k] + means[k + 1])
        out[2 * k + 2] = means[k + 1]


@leaf()
def replace_inside(row, far, limit, reach, cell):
    """Replace what is inside and beyond the limit [m] in a row by what is farther [cells]."""
    for k in range(len(row)):
        row[k] = -cell * max(far[k], reach) if row[k] <= -limit else row[k]


@leaf()
def replace_outside(row, far, limit, reach, cell):
    """The same outside."""
    for k in range(len(row)):
        row[k] = cell * max(far[k], reach) if row[k] >= limit else row[k]


@leaf()
def any_sought(coarse, i, j):
    """Whether a row of the grid has nodes near to coarser ones that were sought."""
    for a in range(i >> 1, ((i + 1) >> 1) + 1):
        for b in range(j >> 1, ((j + 1) >> 1) + 1):
            for chunk in range(coarse.chunks_z.shape[2]):
                if coarse.chunks_z[a, b, chunk]:
                    return True
    return False


@njit(cache=True, error_model="numpy", parallel=True)
def fill_far(
    coarse,
    crossings,
    reach,
    cell,
    everywhere,
    # in and out
    values,
):
    """Fill signed distances (X, Y, Z) [m] of nodes beyond the reach [cells] of the surface: of those inside, or all."""
    nx, ny, nz = values.shape
    limit = reach * cell
    for i in prange(nx):
        means, far = np.empty(nz // 2 + 1, np.float32), np.empty(nz + 2, np.float32)
        for j in range(ny):
            low, high = 0, nz - 1
            if not everywhere:
                first, count = crossings.first[i, j], crossings.size[i, j]
                if count == 0 or not any_sought(coarse, i, j):
                    continue
                low, high = crossings.node[first], crossings.node[first + count - 1]
            # From an even node to an even node.
            start, end = low >> 1, (high + 1) >> 1
            mean_row(coarse, i, j, start, end, means)
            spread_row(means[: end - start + 1], far)
            row = values[i, j, 2 * start : 2 * end + 1]
            replace_inside(row, far, limit, reach, cell)
            if everywhere:
                replace_outside(row, far, limit, reach, cell)
