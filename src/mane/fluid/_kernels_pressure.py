"""Sums over cells of the pressure equation, sixteen cells of a row side by side.

The matrix has, of every cell, the coefficients of its six faces: c (p - p_neighbour), with c the open area of a face
over the distance of the cells, in cells. A face without one is closed. Outside of the box pressure is zero, so that the
face of an open side needs nothing but its coefficient. `diagonal` has the sum of the six, and what connects a cell to
the air besides, where pressure is zero too. Chunks of sixteen cells in a row are of one of three kinds: those without
any fluid are passed over, those within the fluid have the same coefficient everywhere and read none.
`chunks` lists those with fluid, one plane after the other, and `starts` where each plane begins in it. All arrays are
flat; `plane` and `row` are how far neighbours along x and y lie apart.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.f32x16 import WIDTH, load, load_mask
from mane.simd.jit import inline, njit, prange
from mane.simd.masks import select
from mane.simd.memory import store, use_wide_registers
from mane.simd.reductions import reduce_sum

EMPTY, INSIDE, MIXED = 0, 1, 2
# Every other cell, from the first and from the second on.
CHECKER = np.array([1, 0] * (WIDTH // 2 + 1), np.int8)
# Lowest bits of the number of a chunk, which begins at a multiple of sixteen: whether its row is odd, and its kind.
ODD, WITHIN = 1, 2


@inline
def chunk_of(entry):
    """Where a chunk of a list begins, whether its row is odd (0 or 1), and whether it is within the fluid."""
    return entry & ~np.int64(WIDTH - 1), entry & ODD, (entry & WITHIN) != 0


@inline
def neighbour_sum(x, cx, cy, cz, at, row, plane):
    """Pressures of the six neighbours of sixteen cells, each times the coefficient of the face between."""
    return (
        (load(cx, at) * load(x, at - plane) + load(cx, at + plane) * load(x, at + plane))
        + (load(cy, at) * load(x, at - row) + load(cy, at + row) * load(x, at + row))
        + (load(cz, at) * load(x, at - 1) + load(cz, at + 1) * load(x, at + 1))
    )


@inline
def plain_sum(x, at, row, plane):
    """The same with coefficients of one."""
    return (
        (load(x, at - plane) + load(x, at + plane))
        + (load(x, at - row) + load(x, at + row))
        + (load(x, at - 1) + load(x, at + 1))
    )


@inline
def applied(x, cx, cy, cz, diagonal, is_within, inside, at, row, plane):
    """The matrix times `x` at sixteen cells, 0 where is no fluid; `inside` is the coefficient of faces within it."""
    if is_within:
        return inside * (np.float32(6.0) * load(x, at) - plain_sum(x, at, row, plane))
    own = load(diagonal, at)
    value = own * load(x, at) - neighbour_sum(x, cx, cy, cz, at, row, plane)
    return select(own > np.float32(0.0), value, np.float32(0.0))


@njit(cache=True, error_model="numpy", parallel=True)
def relax(x, b, cx, cy, cz, inverse, chunks, starts, checker, inside, colour, row, plane):
    """Half a sweep of red-black Gauss-Seidel: solve every cell of a colour for its own pressure."""
    for index in prange(len(starts) - 1):
        use_wide_registers()
        for number in range(starts[index], starts[index + 1]):
            at, odd, is_within = chunk_of(chunks[number])
            if is_within:
                scale = np.float32(1.0 / 6.0)
                value = scale * (load(b, at) * (np.float32(1.0) / inside) + plain_sum(x, at, row, plane))
            else:
                value = load(inverse, at) * (load(b, at) + neighbour_sum(x, cx, cy, cz, at, row, plane))
            store(x, at, select(load_mask(checker, odd ^ colour), value, load(x, at)))


@njit(cache=True, error_model="numpy", parallel=True)
def relax_from_zero(x, b, inverse, chunks, starts, checker, colour):
    """The same for a pressure of zero: cells of the other colour become zero."""
    for index in prange(len(starts) - 1):
        use_wide_registers()
        for number in range(starts[index], starts[index + 1]):
            at, odd, _ = chunk_of(chunks[number])
            value = load(inverse, at) * load(b, at)
            store(x, at, select(load_mask(checker, odd ^ colour), value, np.float32(0.0)))


@njit(cache=True, error_model="numpy", parallel=True)
def apply_matrix(x, cx, cy, cz, diagonal, chunks, starts, inside, row, plane, y, partial):
    """Fill `y` with the matrix times `x`, and `partial` with the sum of x y of every plane."""
    for index in prange(len(starts) - 1):
        use_wide_registers()
        total = 0.0
        for number in range(starts[index], starts[index + 1]):
            at, _, is_within = chunk_of(chunks[number])
            value = applied(x, cx, cy, cz, diagonal, is_within, inside, at, row, plane)
            store(y, at, value)
            total += np.float64(reduce_sum(value * load(x, at)))
        partial[index] = total


@njit(cache=True, error_model="numpy", parallel=True)
def advance(x, r, p, y, alpha, chunks, starts, partial):
    """x += alpha p, r -= alpha y; fill `partial` with the sum of r r of every plane."""
    for index in prange(len(starts) - 1):
        use_wide_registers()
        total = 0.0
        for number in range(starts[index], starts[index + 1]):
            at, _, _ = chunk_of(chunks[number])
            store(x, at, load(x, at) + alpha * load(p, at))
            left = load(r, at) - alpha * load(y, at)
            store(r, at, left)
            total += np.float64(reduce_sum(left * left))
        partial[index] = total


@njit(cache=True, error_model="numpy", parallel=True)
def dot(a, b, chunks, starts, partial):
    """Fill `partial` with the sum of a b of every plane."""
    for index in prange(len(starts) - 1):
        use_wide_registers()
        total = 0.0
        for number in range(starts[index], starts[index + 1]):
            at, _, _ = chunk_of(chunks[number])
            total += np.float64(reduce_sum(load(a, at) * load(b, at)))
        partial[index] = total


@njit(cache=True, error_model="numpy", parallel=True)
def turn(p, z, beta, chunks, starts):
    """p = z + beta p."""
    for index in prange(len(starts) - 1):
        use_wide_registers()
        for number in range(starts[index], starts[index + 1]):
            at, _, _ = chunk_of(chunks[number])
            store(p, at, load(z, at) + beta * load(p, at))


@njit(cache=True, error_model="numpy", parallel=True)
def restrict(
    x, b, cx, cy, cz, diagonal, kinds, inside, planes, rows, row, plane, factors, coarse, coarse_row, coarse_plane
):  # fmt: skip
    """Fill `coarse` with what is left of `b`, summed over the cells of every coarse cell; `factors` are 1 or 2."""
    fx, fy, fz = factors
    for index in prange(planes // fx):
        use_wide_registers()
        upper = np.int64(index)
        buffer = np.empty(row, np.float32)
        for middle in range(rows // fy):
            buffer[:] = np.float32(0.0)
            for a in range(fx):
                for e in range(fy):
                    first = (fx * upper + a + 1) * plane + (fy * middle + e + 1) * row
                    for chunk in range(row // WIDTH):
                        at = first + chunk * WIDTH
                        kind = kinds[at // WIDTH]
                        if kind != EMPTY:
                            found = applied(x, cx, cy, cz, diagonal, kind == INSIDE, inside, at, row, plane)
                            left = load(b, at) - found
                            store(buffer, chunk * WIDTH, load(buffer, chunk * WIDTH) + left)
            out = (upper + 1) * coarse_plane + (middle + 1) * coarse_row
            if fz == 2:
                for k in range(row // 2):
                    coarse[out + k] = buffer[2 * k] + buffer[2 * k + 1]
            else:
                for k in range(row):
                    coarse[out + k] = buffer[k]


@njit(cache=True, error_model="numpy", parallel=True)
def prolong(x, kinds, planes, rows, row, plane, factors, coarse, coarse_row, coarse_plane):
    """Add to every cell the pressure of its coarse cell."""
    fx, fy, fz = factors
    for index in prange(planes):
        i = np.int64(index)
        for j in range(rows):
            at = (i + 1) * plane + (j + 1) * row
            source = (i // fx + 1) * coarse_plane + (j // fy + 1) * coarse_row
            for chunk in range(row // WIDTH):
                if kinds[at // WIDTH + chunk] == EMPTY:
                    continue
                first = at + chunk * WIDTH
                if fz == 2:
                    half = source + chunk * (WIDTH // 2)
                    for k in range(WIDTH // 2):
                        x[first + 2 * k] += coarse[half + k]
                        x[first + 2 * k + 1] += coarse[half + k]
                else:
                    for k in range(WIDTH):
                        x[first + k] += coarse[source + chunk * WIDTH + k]
