"""Numba kernels of the spring model: banded elimination of the system of `_kernels`."""

# mypy: allow-untyped-defs

from __future__ import annotations

from mane.simd.f64x8 import broadcast, load
from mane.simd.jit import inline_fast
from mane.simd.memory import use_wide_registers
from mane.simd.rows import LANES_3, LANES_6, load3, load6, load9, store3, store6
from mane.strand._kernels_small import full_times_vector, transposed_times_vector
from mane.strand.spring._kernels import (
    DIAGONAL,
    FAR,
    FORCE,
    FREE,
    NEAR,
    NEXT,
    ONE,
    RECORD,
    RECORD_2,
    RECORD_3,
    ROOT,
    ZERO,
    dot3,
    in_block,
    matrix_of,
)


@inline_fast
def unit_solved(factor, x, y, z):
    """Row (x, y, z) times the inverse transpose of a diagonal block's unit triangle."""
    y = y - x * factor[3]
    return x, y, z - x * factor[4] - y * factor[5]


@inline_fast
def scaled(factor, v):
    """Row v times the inverse of a diagonal block's scales."""
    return v[0] * factor[0], v[1] * factor[1], v[2] * factor[2]


@inline_fast
def less(v, a):
    """Difference of two vectors."""
    return v[0] - a[0], v[1] - a[1], v[2] - a[2]


@inline_fast
def eliminate_row(buf, i, row, far, next_, near):
    """Turn one scalar row of the blocks left of the diagonal into the factor's, stored `row` lanes on.

    Returns that row before and after it was divided by the scales, each as three vectors: far, next and near.
    """
    factor = load6(buf, i - RECORD_3 + DIAGONAL)
    far = unit_solved(factor, *far)
    far_out = scaled(factor, far)
    store3(buf, i + FAR + row, *far_out)
    factor = load6(buf, i - RECORD_2 + DIAGONAL)
    next_ = less(next_, full_times_vector(load9(buf, i - RECORD_2 + NEAR), *far))
    next_ = unit_solved(factor, *next_)
    next_out = scaled(factor, next_)
    store3(buf, i + NEXT + row, *next_out)
    factor = load6(buf, i - RECORD + DIAGONAL)
    near = less(near, full_times_vector(load9(buf, i - RECORD + NEXT), *far))
    near = unit_solved(factor, *less(near, full_times_vector(load9(buf, i - RECORD + NEAR), *next_)))
    near_out = scaled(factor, near)
    store3(buf, i + NEAR + row, *near_out)
    return (far, next_, near), (far_out, next_out, near_out)


@inline_fast
def rows_of(m):
    """Rows of a symmetric matrix."""
    return (m[0], m[3], m[4]), (m[3], m[1], m[5]), (m[4], m[5], m[2])


@inline_fast
def product(a, b):
    """Product of two scalar rows, three vectors each."""
    return dot3(a[0], b[0]) + dot3(a[1], b[1]) + dot3(a[2], b[2])


@inline_fast
def factor_diagonal(xx, yy, zz, xy, xz, yz):
    """Symmetric matrix as unit triangle, scales, its transpose: the inverse scales and the triangle."""
    a = 1.0 / xx
    l10, l20 = xy * a, xz * a
    b = 1.0 / (yy - l10 * xy)
    across = yz - l20 * xy
    l21 = across * b
    return a, b, 1.0 / (zz - l20 * xz - l21 * across), l10, l20, l21


@in_block
def eliminate(buf, records):
    """Assemble and factorise the matrix from root to tip, and the forces along with it.

    The factors are unit triangle, scales, its transpose, which takes no square roots. A particle that is held is one of
    infinite scales: what would move it is lost.
    """
    use_wide_registers()
    zero = broadcast(0.0)
    for p in range(ROOT):
        store6(buf, p * RECORD + DIAGONAL, zero, zero, zero, zero, zero, zero)
    for p in range(ROOT, records):
        i = p * RECORD
        far, next_, near, diagonal = matrix_of(buf, i)
        fx, fy, fz = rows_of(far)
        ex, ey, ez = rows_of(next_)
        nx, ny, nz = rows_of(near)
        x0, x1 = eliminate_row(buf, i, ZERO, fx, ex, nx)
        y0, y1 = eliminate_row(buf, i, LANES_3, fy, ey, ny)
        z0, z1 = eliminate_row(buf, i, LANES_6, fz, ez, nz)
        xx, yy, zz, xy, xz, yz = diagonal
        factor = factor_diagonal(
            xx - product(x0, x1),
            yy - product(y0, y1),
            zz - product(z0, z1),
            xy - product(x0, y1),
            xz - product(x0, z1),
            yz - product(y0, z1),
        )
        free = load(buf, i + FREE)
        a, b, c, d, e, f = factor
        factor = free * a, free * b, free * c, free * d, free * e, free * f
        store6(buf, i + DIAGONAL, *factor)
        there = (
            load3(buf, i - RECORD_3 + FORCE),
            load3(buf, i - RECORD_2 + FORCE),
            load3(buf, i - RECORD + FORCE),
        )
        x, y, z = load3(buf, i + FORCE)
        here = unit_solved(factor, x - product(x1, there), y - product(y1, there), z - product(z1, there))
        store3(buf, i + FORCE, *here)


@in_block
def substitute(buf, records):
    """Solve with what elimination has left, from tip to root, in the forces; records behind the last are zero."""
    use_wide_registers()
    for back in range(ONE, records - ROOT + ONE):
        i = (records - back) * RECORD
        k, l, m = i + RECORD, i + RECORD_2, i + RECORD_3
        factor = load6(buf, i + DIAGONAL)
        rest = scaled(factor, load3(buf, i + FORCE))
        near = transposed_times_vector(load9(buf, k + NEAR), *load3(buf, k + FORCE))
        next_ = transposed_times_vector(load9(buf, l + NEXT), *load3(buf, l + FORCE))
        far = transposed_times_vector(load9(buf, m + FAR), *load3(buf, m + FORCE))
        x, y, z = less(less(less(rest, near), next_), far)
        y = y - factor[5] * z
        store3(buf, i + FORCE, x - factor[3] * y - factor[4] * z, y, z)
