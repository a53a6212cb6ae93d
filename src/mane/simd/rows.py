"""Eight strands side by side: rows of a buffer as vectors, and the way there from arrays of strands and back.

A row is eight float64 numbers that lie one behind the other, one of each strand. All indices are in numbers, of uint64.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd import plain
from mane.simd.emit import address, read, transpose_8x8, write
from mane.simd.f64x8 import NUMBERS, WIDTH, load
from mane.simd.jit import inline, njit
from mane.simd.memory import store, use_wide_registers
from mane.simd.numba_internals import intrinsic, types, unpack_tuple

LANES = np.uint64(WIDTH)
LANES_2, LANES_3, LANES_6 = (np.uint64(WIDTH * k) for k in (2, 3, 6))
ZERO, ONE = np.uint64(0), np.uint64(1)


@intrinsic(plain.copy_transposed)
def copy_transposed(typing_context, source, places, target, goals):
    """Copy the eight numbers from each of eight `places` of `source` on: the k-th of each, in order, to `goals[k]`."""

    def emit(context, builder, sig, args):
        def addresses(array, indices):
            return [
                address(context, builder, sig, args, array, index, WIDTH)
                for index in unpack_tuple(builder, args[indices])
            ]

        rows = transpose_8x8(builder, [read(builder, place, NUMBERS) for place in addresses(0, 1)])
        for row, place in zip(rows, addresses(2, 3), strict=True):
            write(builder, row, place)
        return context.get_dummy_value()

    return types.void(source, places, target, goals), emit


@inline
def load3(buf, i):
    """Three rows."""
    return load(buf, i), load(buf, i + LANES), load(buf, i + LANES_2)


@inline
def load4(buf, i):
    """Four rows."""
    return load(buf, i), load(buf, i + LANES), load(buf, i + LANES_2), load(buf, i + LANES_3)


@inline
def load6(buf, i):
    """Six rows."""
    a, b, c = load3(buf, i)
    d, e, f = load3(buf, i + LANES_3)
    return a, b, c, d, e, f


@inline
def load9(buf, i):
    """Nine rows."""
    a, b, c = load3(buf, i)
    d, e, f = load3(buf, i + LANES_3)
    g, h, k = load3(buf, i + LANES_6)
    return a, b, c, d, e, f, g, h, k


@inline
def store3(buf, i, x, y, z):
    """Write three rows."""
    store(buf, i, x)
    store(buf, i + LANES, y)
    store(buf, i + LANES_2, z)


@inline
def store4(buf, i, x, y, z, w):
    """Write four rows."""
    store3(buf, i, x, y, z)
    store(buf, i + LANES_3, w)


@inline
def store6(buf, i, xx, yy, zz, xy, xz, yz):
    """Write six rows."""
    store3(buf, i, xx, yy, zz)
    store3(buf, i + LANES_3, xy, xz, yz)


@inline
def store9(buf, i, m):
    """Write nine rows."""
    store3(buf, i, m[0], m[1], m[2])
    store3(buf, i + LANES_3, m[3], m[4], m[5])
    store3(buf, i + LANES_6, m[6], m[7], m[8])


@inline
def of_strands(at, width):
    """Where the same number of eight strands is."""
    return (
        at,
        at + width,
        at + np.uint64(2) * width,
        at + np.uint64(3) * width,
        at + np.uint64(4) * width,
        at + np.uint64(5) * width,
        at + np.uint64(6) * width,
        at + np.uint64(7) * width,
    )


@inline
def of_number(i, columns, stride, to):
    """Where the row of a strand's number `i` is."""
    return to + i // columns * stride + i % columns * LANES


@inline
def after(at, column, columns, jump):
    """Row and column of the next number of a strand; behind the last column there is a `jump` to the next record."""
    is_last = column + ONE == columns
    return at + (jump if is_last else LANES), ZERO if is_last else column + ONE


@inline
def of_rows(i, columns, stride, to):
    """Where the rows of eight numbers of a strand are, from number `i` on."""
    jump, a, column = stride - (columns - ONE) * LANES, of_number(i, columns, stride, to), i % columns
    b, column = after(a, column, columns, jump)
    c, column = after(b, column, columns, jump)
    d, column = after(c, column, columns, jump)
    e, column = after(d, column, columns, jump)
    f, column = after(e, column, columns, jump)
    g, column = after(f, column, columns, jump)
    h, column = after(g, column, columns, jump)
    return a, b, c, d, e, f, g, h


@njit(cache=True, error_model="numpy")
def copy_in(source, first, stride, to, buf):
    """Copy eight strands of `source (strands, records, columns)` into rows; records are `stride` apart from `to` on.

    Lanes behind the last strand repeat it.
    """
    use_wide_registers()
    strands, columns = np.uint64(source.shape[0]), np.uint64(source.shape[2])
    width = np.uint64(source.shape[1]) * columns
    flat = source.reshape(-1)
    if strands < first + LANES or width < LANES:
        for lane in range(LANES):
            g = min(first + lane, strands - ONE)
            for i in range(width):
                buf[of_number(i, columns, stride, to) + lane] = flat[g * width + i]
        return
    for start in range(ZERO, width, LANES):
        i = min(start, width - LANES)  # the last eight overlap those before
        copy_transposed(flat, of_strands(first * width + i, width), buf, of_rows(i, columns, stride, to))


@njit(cache=True, error_model="numpy")
def copy_out(buf, first, stride, at, target):
    """The way back of `copy_in`; no lanes but those of strands."""
    use_wide_registers()
    strands, columns = np.uint64(target.shape[0]), np.uint64(target.shape[2])
    width = np.uint64(target.shape[1]) * columns
    flat = target.reshape(-1)
    if strands < first + LANES or width < LANES:
        for lane in range(min(LANES, strands - first)):
            for i in range(width):
                flat[(first + lane) * width + i] = buf[of_number(i, columns, stride, at) + lane]
        return
    for start in range(ZERO, width, LANES):
        i = min(start, width - LANES)
        copy_transposed(buf, of_rows(i, columns, stride, at), flat, of_strands(first * width + i, width))
