"""Numba kernels of the spring model: banded Cholesky factorisation and solve of the system of `_kernels_spring`."""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

from mane.strand._kernels_small import (
    LANES,
    LANES_3,
    LANES_6,
    full_times_vector,
    in_lanes,
    load3,
    load6,
    load9,
    store3,
    store6,
    store9,
    subtract3,
    transposed_times_vector,
)
from mane.strand._kernels_spring import (
    DIAGONAL,
    FAR,
    FORCE,
    FOUR,
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
)


@in_lanes
def scale_block(buf, i, factor):
    """Multiply the nine numbers of a block."""
    m = load9(buf, i)
    f = factor
    store9(buf, i, (f * m[0], f * m[1], f * m[2], f * m[3], f * m[4], f * m[5], f * m[6], f * m[7], f * m[8]))


@in_block
def hold_fixed(buf, records):
    """Take particles that are held out of the system: their rows become those of the identity."""
    for p in range(ROOT + ONE):
        for s in range(LANES):
            i = p * RECORD + s
            free = buf[i + FREE]
            x, y, z = load3(buf, i + FORCE)
            store3(buf, i + FORCE, free * x, free * y, free * z)
            xx, yy, zz, xy, xz, yz = load6(buf, i + DIAGONAL)
            held = 1.0 - free
            store6(
                buf, i + DIAGONAL, free * xx + held, free * yy + held, free * zz + held, free * xy, free * xz, free * yz
            )
    for p in range(ROOT, min(ROOT + FOUR, records)):
        for s in range(LANES):
            i = p * RECORD + s
            free = buf[i + FREE]
            scale_block(buf, i + NEAR, free * buf[i - RECORD + FREE])
            scale_block(buf, i + NEXT, free * buf[i - RECORD_2 + FREE])
            scale_block(buf, i + FAR, free * buf[i - RECORD_3 + FREE])


@in_lanes
def solved_row(factor, x, y, z):
    """Row (x, y, z) times the inverse transpose of a diagonal block's factor."""
    x = x * factor[0]
    y = (y - x * factor[3]) * factor[1]
    z = (z - x * factor[4] - y * factor[5]) * factor[2]
    return x, y, z


@in_lanes
def factor_row(buf, i, row):
    """Turn one scalar row, `row` lanes on, of the blocks left of the diagonal into the factor's."""
    far = solved_row(load6(buf, i - RECORD_3 + DIAGONAL), *load3(buf, i + FAR + row))
    a, b, c = full_times_vector(load9(buf, i - RECORD_2 + NEAR), *far)
    x, y, z = load3(buf, i + NEXT + row)
    next_ = solved_row(load6(buf, i - RECORD_2 + DIAGONAL), x - a, y - b, z - c)
    a, b, c = full_times_vector(load9(buf, i - RECORD + NEXT), *far)
    d, e, f = full_times_vector(load9(buf, i - RECORD + NEAR), *next_)
    x, y, z = load3(buf, i + NEAR + row)
    near = solved_row(load6(buf, i - RECORD + DIAGONAL), x - a - d, y - b - e, z - c - f)
    store3(buf, i + FAR + row, *far)
    store3(buf, i + NEXT + row, *next_)
    store3(buf, i + NEAR + row, *near)


@in_lanes
def row_product(buf, i, a, b):
    """Product of two scalar rows, `a` and `b` lanes on, of the blocks left of the diagonal."""
    return (
        dot3(load3(buf, i + NEAR + a), load3(buf, i + NEAR + b))
        + dot3(load3(buf, i + NEXT + a), load3(buf, i + NEXT + b))
        + dot3(load3(buf, i + FAR + a), load3(buf, i + FAR + b))
    )


@in_lanes
def factor_diagonal(xx, yy, zz, xy, xz, yz):
    """Cholesky factor of a symmetric matrix, with the inverses of its diagonal."""
    a = 1.0 / math.sqrt(xx)
    l10, l20 = xy * a, xz * a
    b = 1.0 / math.sqrt(yy - l10 * l10)
    l21 = (yz - l20 * l10) * b
    return a, b, 1.0 / math.sqrt(zz - l20 * l20 - l21 * l21), l10, l20, l21


@in_block
def factorise(buf, records):
    """Factorise the matrix from root to tip."""
    for p in range(ROOT):
        for s in range(LANES):
            i = p * RECORD + s
            store6(buf, i + DIAGONAL, *factor_diagonal(*load6(buf, i + DIAGONAL)))
    for p in range(ROOT, records):
        for s in range(LANES):
            # All rows in one loop: LLVM unrolls a shorter one before it thinks of vectors.
            i = p * RECORD + s
            factor_row(buf, i, ZERO)
            factor_row(buf, i, LANES_3)
            factor_row(buf, i, LANES_6)
        for s in range(LANES):
            i = p * RECORD + s
            xx, yy, zz, xy, xz, yz = load6(buf, i + DIAGONAL)
            xx -= row_product(buf, i, ZERO, ZERO)
            yy -= row_product(buf, i, LANES_3, LANES_3)
            zz -= row_product(buf, i, LANES_6, LANES_6)
            xy -= row_product(buf, i, ZERO, LANES_3)
            xz -= row_product(buf, i, ZERO, LANES_6)
            yz -= row_product(buf, i, LANES_3, LANES_6)
            store6(buf, i + DIAGONAL, *factor_diagonal(xx, yy, zz, xy, xz, yz))


@in_block
def solve_forwards(buf, records):
    """Solve with the factor from root to tip, in the forces."""
    for p in range(ROOT, records):
        for s in range(LANES):
            i = p * RECORD + s
            x, y, z = load3(buf, i + FORCE)
            a, b, c = full_times_vector(load9(buf, i + NEAR), *load3(buf, i - RECORD + FORCE))
            d, e, f = full_times_vector(load9(buf, i + NEXT), *load3(buf, i - RECORD_2 + FORCE))
            g, h, k = full_times_vector(load9(buf, i + FAR), *load3(buf, i - RECORD_3 + FORCE))
            factor = load6(buf, i + DIAGONAL)
            store3(buf, i + FORCE, *solved_row(factor, x - a - d - g, y - b - e - h, z - c - f - k))


@in_block
def solve_backwards(buf, records):
    """Solve with its transpose from tip to root."""
    for back in range(ONE, records - ROOT + ONE):
        for s in range(LANES):
            i = (records - back) * RECORD + s
            factor = load6(buf, i + DIAGONAL)
            x, y, z = load3(buf, i + FORCE)
            z = z * factor[2]
            y = (y - factor[5] * z) * factor[1]
            x = (x - factor[3] * y - factor[4] * z) * factor[0]
            subtract3(buf, i - RECORD + FORCE, *transposed_times_vector(load9(buf, i + NEAR), x, y, z))
            subtract3(buf, i - RECORD_2 + FORCE, *transposed_times_vector(load9(buf, i + NEXT), x, y, z))
            subtract3(buf, i - RECORD_3 + FORCE, *transposed_times_vector(load9(buf, i + FAR), x, y, z))
            store3(buf, i + FORCE, x, y, z)
