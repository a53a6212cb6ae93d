"""Velocity at places anywhere, and what is done at places handed to the faces around them.

Places are in cells from the lowest corner of the box. `velocity` holds the three components, (3, X, Y, Z) of the padded
shape.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.f32x16 import WIDTH, load
from mane.simd.jit import inline, inline_fast, njit, prange
from mane.simd.math import absolute, maximum
from mane.simd.memory import use_wide_registers
from mane.simd.reductions import reduce_max, reduce_sum

HALF = np.float32(0.5)
ONE = np.float32(1.0)
NEXT = np.uint64(1)


@inline
def cell_and_fraction(at, last):
    """Lower neighbour of a place on a lattice from 0 to `last`, and the fraction to the next; kept on the lattice."""
    at = min(max(at, np.float32(0.0)), np.float32(last))
    low = min(np.int64(at), max(last - 1, 0))
    return low, at - np.float32(low)


@inline
def outside(x, y, z, nx, ny, nz):
    """Number of the side that a place is beyond, or -1."""
    if x < 0.0:
        return 0
    if x > nx:
        return 1
    if y < 0.0:
        return 2
    if y > ny:
        return 3
    if z < 0.0:
        return 4
    if z > nz:
        return 5
    return -1


@inline_fast
def between_eight(field, at, rows, a, b, c):
    """Trilinear interpolation in a flat field, from the number at `at` on."""
    row, plane = rows
    p, q = field[at], field[at + NEXT]
    r, s = field[at + row], field[at + row + NEXT]
    near = lerp(lerp(p, q, c), lerp(r, s, c), b)
    at += plane
    p, q = field[at], field[at + NEXT]
    r, s = field[at + row], field[at + row + NEXT]
    return lerp(near, lerp(lerp(p, q, c), lerp(r, s, c), b), a)


@inline_fast
def lerp(low, high, part):
    """Linear interpolation."""
    return low + part * (high - low)


@inline_fast
def velocity_at(velocity, rows, shape, x, y, z):
    """Velocity at a place, trilinear; beyond walls along x and y it uses what is beyond them.

    `velocity` is flat and `rows` are of `rows_of`. Along x and y the lattice of the arrays begins one cell outside.
    """
    nx, ny, nz = shape
    row, plane = rows
    size = (np.uint64(nx) + NEXT + NEXT) * plane
    fx, ax = cell_and_fraction(x + ONE, nx + 1)
    cx, bx = cell_and_fraction(x + HALF, nx + 1)
    fy, ay = cell_and_fraction(y + ONE, ny + 1)
    cy, by = cell_and_fraction(y + HALF, ny + 1)
    fz, az = cell_and_fraction(z, nz)
    cz, bz = cell_and_fraction(z - HALF, nz - 1)
    # indices without a sign are not counted from the end
    across_x = np.uint64(fx) * plane + np.uint64(cy) * row + np.uint64(cz)
    across_y = size + np.uint64(cx) * plane + np.uint64(fy) * row + np.uint64(cz)
    across_z = size + size + np.uint64(cx) * plane + np.uint64(cy) * row + np.uint64(fz)
    return (
        between_eight(velocity, across_x, rows, ax, by, bz),
        between_eight(velocity, across_y, rows, bx, ay, bz),
        between_eight(velocity, across_z, rows, bx, by, az),
    )


@inline
def rows_of(velocity):
    """How far neighbours along y and x lie apart in (3, *padded)."""
    return np.uint64(velocity.shape[3]), np.uint64(velocity.shape[2] * velocity.shape[3])


@njit(cache=True, error_model="numpy")
def gather(velocity, shape, places, out):
    """Fill `out` (Q, 3) with the velocity at `places` (Q, 3) [cells]."""
    flat, rows, counts = velocity.reshape(-1), rows_of(velocity), (shape[0], shape[1], shape[2])
    for q in range(len(places)):
        x, y, z = np.float32(places[q, 0]), np.float32(places[q, 1]), np.float32(places[q, 2])
        a, b, c = velocity_at(flat, rows, counts, x, y, z)
        out[q, 0], out[q, 1], out[q, 2] = a, b, c


@njit(cache=True, error_model="numpy")
def scatter(places, weights, vectors, shape, total, sums):
    """Add weights (Q,) and vectors (Q, 3) of places to the faces around them, with the weights of `velocity_at`.

    In the order of the places, on one thread. Outside of the box nothing is added.
    """
    nx, ny, nz = shape
    for q in range(len(places)):
        x, y, z = np.float32(places[q, 0]), np.float32(places[q, 1]), np.float32(places[q, 2])
        if outside(x, y, z, nx, ny, nz) >= 0:
            continue
        for axis in range(3):
            i, a = cell_and_fraction(x + (ONE if axis == 0 else HALF), nx + 1)
            j, b = cell_and_fraction(y + (ONE if axis == 1 else HALF), ny + 1)
            k, c = cell_and_fraction(z - (np.float32(0.0) if axis == 2 else HALF), nz if axis == 2 else nz - 1)
            m = min(k + 1, nz)
            for p in range(2):
                wp = a if p else ONE - a
                for r in range(2):
                    w = wp * (b if r else ONE - b)
                    total[axis, i + p, j + r, k] += w * (ONE - c) * weights[q]
                    total[axis, i + p, j + r, m] += w * c * weights[q]
                    sums[axis, i + p, j + r, k] += w * (ONE - c) * vectors[q, axis]
                    sums[axis, i + p, j + r, m] += w * c * vectors[q, axis]


@inline
def cell_corner(places, q, shape):
    """The eight cells around a place: the lowest of them, and the fractions to the next along x, y and z."""
    i, a = cell_and_fraction(np.float32(places[q, 0]) + HALF, shape[0] + 1)
    j, b = cell_and_fraction(np.float32(places[q, 1]) + HALF, shape[1] + 1)
    k, c = cell_and_fraction(np.float32(places[q, 2]) - HALF, shape[2] - 1)
    return i, j, k, a, b, c


@inline
def corner_weight(number, a, b, c):
    """Offsets of one of eight cells and its weight."""
    p, r, m = number >> 2, (number >> 1) & 1, number & 1
    return p, r, m, (a if p else ONE - a) * (b if r else ONE - b) * (c if m else ONE - c)


@njit(cache=True, error_model="numpy")
def add_to_cells(places, values, shape, cells):
    """Add values (Q,) of places to the cells around them (padded), in the order of the places; outside nothing."""
    nx, ny, nz = shape
    for q in range(len(places)):
        if outside(places[q, 0], places[q, 1], places[q, 2], nx, ny, nz) >= 0:
            continue
        i, j, k, a, b, c = cell_corner(places, q, shape)
        for number in range(8):
            p, r, m, weight = corner_weight(number, a, b, c)
            cells[i + p, j + r, min(k + m, shape[2] - 1)] += weight * values[q]


@njit(cache=True, error_model="numpy")
def read_cells(cells, shape, places, out):
    """Fill `out` (Q,) with a quantity of cells (padded) at places."""
    for q in range(len(places)):
        i, j, k, a, b, c = cell_corner(places, q, shape)
        out[q] = 0.0
        for number in range(8):
            p, r, m, weight = corner_weight(number, a, b, c)
            out[q] += weight * cells[i + p, j + r, min(k + m, shape[2] - 1)]


@njit(cache=True, error_model="numpy", parallel=True)
def fastest_in_planes(numbers, partial):
    """Fill `partial` (N,) with the largest size of every N-th part of flat numbers; no number where one is none."""
    length = len(numbers) // len(partial)
    for index in prange(len(partial)):
        use_wide_registers()
        first = np.int64(index) * length
        most = absolute(load(numbers, first))
        spoilt = most - most
        for at in range(first, first + length, WIDTH):
            value = load(numbers, at)
            most, spoilt = maximum(most, absolute(value)), spoilt + (value - value)
        partial[index] = reduce_max(most) + reduce_sum(spoilt)
