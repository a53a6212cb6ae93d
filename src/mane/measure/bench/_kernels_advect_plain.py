"""Advection as one writes it down first: face by face, with a path of its own for every face back and forth."""

# mypy: allow-untyped-defs

import numpy as np

from mane.fluid._kernels_advect import SLACK
from mane.fluid._kernels_sample import HALF, ONE, cell_and_fraction, outside
from mane.fluid.grid import SLIP
from mane.simd.jit import inline, njit, prange


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
def velocity_at(velocity, nx, ny, nz, x, y, z):
    """Velocity at a place."""
    return (
        sample(velocity[0], 0, nx, ny, nz, x, y, z),
        sample(velocity[1], 1, nx, ny, nz, x, y, z),
        sample(velocity[2], 2, nx, ny, nz, x, y, z),
    )


@inline
def range_of_sample(field, axis, nx, ny, nz, x, y, z):
    """Least and largest of the eight numbers that `sample` uses."""
    i, _ = cell_and_fraction(x + (ONE if axis == 0 else HALF), nx + 1)
    j, _ = cell_and_fraction(y + (ONE if axis == 1 else HALF), ny + 1)
    k, _ = cell_and_fraction(z - (np.float32(0.0) if axis == 2 else HALF), nz if axis == 2 else nz - 1)
    m = min(k + 1, nz if axis == 2 else nz - 1)
    low = high = field[i, j, k]
    for p in range(2):
        for q in range(2):
            low = min(low, field[i + p, j + q, k], field[i + p, j + q, m])
            high = max(high, field[i + p, j + q, k], field[i + p, j + q, m])
    return low, high


@inline
def velocity_on_face(velocity, axis, i, j, k, nz):
    """Velocity in the middle of a face, given by the indices of arrays: its own component and means of four others."""
    quarter = np.float32(0.25)
    u, v, w = velocity[0], velocity[1], velocity[2]
    if axis == 0:
        b = quarter * (v[i, j, k] + v[i, j + 1, k] + v[i - 1, j, k] + v[i - 1, j + 1, k])
        c = quarter * (w[i, j, k] + w[i, j, k + 1] + w[i - 1, j, k] + w[i - 1, j, k + 1])
        return u[i, j, k], b, c
    if axis == 1:
        a = quarter * (u[i, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i + 1, j - 1, k])
        c = quarter * (w[i, j, k] + w[i, j, k + 1] + w[i, j - 1, k] + w[i, j - 1, k + 1])
        return a, v[i, j, k], c
    low, high = max(k - 1, 0), min(k, nz - 1)  # the faces there are
    a = quarter * (u[i, j, low] + u[i + 1, j, low] + u[i, j, high] + u[i + 1, j, high])
    b = quarter * (v[i, j, low] + v[i, j + 1, low] + v[i, j, high] + v[i, j + 1, high])
    return a, b, w[i, j, k]


@njit(cache=True, error_model="numpy", parallel=True)
def trace_back(velocity, field, axis, shape, kinds, sides, scale, way, out):
    """Fill `out` with `field`, on faces across `axis`, where each of them was one step before; a semi-Lagrangian step.

    `way` (3, ...) becomes how far that is [cells], by the midpoint rule; `scale` is the step over the cell [s/m].
    """
    nx, ny, nz = shape
    ox = np.float32(0.0) if axis == 0 else HALF
    oy = np.float32(0.0) if axis == 1 else HALF
    oz = np.float32(0.0) if axis == 2 else HALF
    for index in prange(nx + (axis == 0)):
        i = np.int64(index)
        for j in range(ny + (axis == 1)):
            for k in range(nz + (axis == 2)):
                x, y, z = np.float32(i) + ox, np.float32(j) + oy, np.float32(k) + oz
                a, b, c = velocity_on_face(velocity, axis, i + 1, j + 1, k, nz)
                half = HALF * scale
                a, b, c = velocity_at(velocity, nx, ny, nz, x - half * a, y - half * b, z - half * c)
                a, b, c = scale * a, scale * b, scale * c
                x, y, z = x - a, y - b, z - c
                way[0, i + 1, j + 1, k] = a
                way[1, i + 1, j + 1, k] = b
                way[2, i + 1, j + 1, k] = c
                side = outside(x, y, z, nx, ny, nz)
                if side >= 0 and kinds[side] != SLIP:
                    out[i + 1, j + 1, k] = sides[side, axis]
                    way[0, i + 1, j + 1, k] = np.float32(1e9)  # nothing to correct
                else:
                    out[i + 1, j + 1, k] = sample(field, axis, nx, ny, nz, x, y, z)


@njit(cache=True, error_model="numpy", parallel=True)
def correct(velocity, field, axis, shape, scale, way, carried, out):
    """Fill `out` with `carried` plus half of what is lost on the way forth and back, within what was around it.

    MacCormack's scheme of Selle, Fedkiw, Kim, Liu and Rossignac (2008), with their limiter.
    """
    nx, ny, nz = shape
    ox = np.float32(0.0) if axis == 0 else HALF
    oy = np.float32(0.0) if axis == 1 else HALF
    oz = np.float32(0.0) if axis == 2 else HALF
    for index in prange(nx + (axis == 0)):
        i = np.int64(index)
        for j in range(ny + (axis == 1)):
            for k in range(nz + (axis == 2)):
                a = way[0, i + 1, j + 1, k]
                value = carried[i + 1, j + 1, k]
                if a < np.float32(1e8):
                    b, c = way[1, i + 1, j + 1, k], way[2, i + 1, j + 1, k]
                    x, y, z = np.float32(i) + ox, np.float32(j) + oy, np.float32(k) + oz
                    # where the fluid of this face goes to, which is not as far as it came where it speeds up
                    half = HALF * scale
                    p, q, r = velocity_on_face(velocity, axis, i + 1, j + 1, k, nz)
                    p, q, r = velocity_at(velocity, nx, ny, nz, x + half * p, y + half * q, z + half * r)
                    p, q, r = x + scale * p, y + scale * q, z + scale * r
                    if outside(p, q, r, nx, ny, nz) < 0:
                        again = sample(carried, axis, nx, ny, nz, p, q, r)
                        low, high = range_of_sample(field, axis, nx, ny, nz, x - a, y - b, z - c)
                        value = value + HALF * (field[i + 1, j + 1, k] - again)
                        slack = SLACK * (high - low)
                        value = min(max(value, low - slack), high + slack)
                out[i + 1, j + 1, k] = value
