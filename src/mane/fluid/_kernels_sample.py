"""Velocity at places anywhere, and what is done at places handed to the faces around them.

Places are in cells from the lowest corner of the box. `velocity` holds the three components, (3, X, Y, Z) of the padded
shape.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import inline, njit

HALF = np.float32(0.5)
ONE = np.float32(1.0)


@inline
def cell_and_fraction(at, last):
    """Lower neighbour of a place on a lattice from 0 to `last`, and the fraction to the next; kept on the lattice."""
    at = min(max(at, np.float32(0.0)), np.float32(last))
    low = min(np.int64(at), max(last - 1, 0))
    return low, at - np.float32(low)


@inline
def sample(field, axis, nx, ny, nz, x, y, z):
    """One component of velocity at a place, trilinear; beyond walls along x and y it uses what is beyond them."""
    # along x and y the lattice of the arrays begins one cell outside
    px = x + (ONE if axis == 0 else HALF)
    py = y + (ONE if axis == 1 else HALF)
    pz = z - (np.float32(0.0) if axis == 2 else HALF)
    i, a = cell_and_fraction(px, nx + 1)
    j, b = cell_and_fraction(py, ny + 1)
    k, c = cell_and_fraction(pz, nz if axis == 2 else nz - 1)
    m = min(k + 1, nz)
    low = (ONE - b) * ((ONE - c) * field[i, j, k] + c * field[i, j, m]) + b * (
        (ONE - c) * field[i, j + 1, k] + c * field[i, j + 1, m]
    )
    high = (ONE - b) * ((ONE - c) * field[i + 1, j, k] + c * field[i + 1, j, m]) + b * (
        (ONE - c) * field[i + 1, j + 1, k] + c * field[i + 1, j + 1, m]
    )
    return (ONE - a) * low + a * high


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


@inline
def velocity_at(velocity, nx, ny, nz, x, y, z):
    """Velocity at a place."""
    return (
        sample(velocity[0], 0, nx, ny, nz, x, y, z),
        sample(velocity[1], 1, nx, ny, nz, x, y, z),
        sample(velocity[2], 2, nx, ny, nz, x, y, z),
    )


@njit(cache=True, error_model="numpy")
def gather(velocity, shape, places, out):
    """Fill `out` (Q, 3) with the velocity at `places` (Q, 3) [cells]."""
    nx, ny, nz = shape
    for q in range(len(places)):
        x, y, z = np.float32(places[q, 0]), np.float32(places[q, 1]), np.float32(places[q, 2])
        a, b, c = velocity_at(velocity, nx, ny, nz, x, y, z)
        out[q, 0], out[q, 1], out[q, 2] = a, b, c


@njit(cache=True, error_model="numpy")
def scatter(places, weights, vectors, shape, total, sums):
    """Add weights (Q,) and vectors (Q, 3) of places to the faces around them, with the weights of `sample`.

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


@njit(cache=True, error_model="numpy")
def fastest(velocity):
    """Largest component of a velocity, and whether all are finite."""
    largest = np.float32(0.0)
    for value in velocity.reshape(-1):
        if not math.isfinite(value):
            return np.float32(np.inf)
        largest = max(largest, abs(value))
    return largest
