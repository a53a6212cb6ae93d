"""Eight strands side by side as values of lanes: rows of a buffer, and the way there from arrays of strands and back.

A row is eight numbers that lie one behind the other, one of each strand. All indices are in numbers.
"""

# mypy: allow-untyped-defs

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from mane.geometry._kernels_eights import NUMBERS, load
from mane.geometry._kernels_lanes import address, in_lanes, read, shuffle, store, use_wide_registers, write
from mane.strand._kernels_small import LANE_COUNT, LANES, LANES_2, LANES_3, LANES_6

LINE = 64  # bytes of a line of the cache: a row
ZERO, ONE = np.uint64(0), np.uint64(1)


def aligned_rows(*shape):
    """Room for rows, zero; the first begins where a line of the cache does, and all do if rows are whole."""
    count = int(np.prod(shape))
    room = np.zeros(count + LANE_COUNT)
    start = -room.ctypes.data % LINE // room.itemsize
    return room[start : start + count].reshape(shape)


def take_lanes(blocks, chosen):
    """Of constants in blocks of eight strands (B, ..., 8), blocks of the strands `chosen` (K,); the last fills up."""
    count = -(-len(chosen) // LANE_COUNT)
    padded = chosen[np.minimum(np.arange(count * LANE_COUNT), len(chosen) - 1)]
    lanes = np.moveaxis(blocks, -1, 1)[padded // LANE_COUNT, padded % LANE_COUNT]
    taken = aligned_rows(count, *blocks.shape[1:])
    taken[...] = np.moveaxis(lanes.reshape(count, LANE_COUNT, *blocks.shape[1:-1]), 1, -1)
    return taken


def _crossed(builder, values, apart, firsts, seconds):
    """Of each two values that are `apart`, numbers of both: those at `firsts` and those at `seconds`."""
    result = list(values)
    for k in range(LANE_COUNT):
        if not k & apart:
            two = values[k], values[k | apart]
            result[k], result[k | apart] = shuffle(builder, *two, firsts), shuffle(builder, *two, seconds)
    return result


@intrinsic
def copy_crossed(typing_context, source, places, target, goals):
    """Copy the eight numbers from each of eight `places` of `source` on: the k-th of each, in order, to `goals[k]`."""

    def emit(context, builder, sig, args):
        def addresses(array, indices):
            return [
                address(context, builder, sig, args, array, index, LANE_COUNT)
                for index in cgutils.unpack_tuple(builder, args[indices])
            ]

        rows = [read(builder, place, NUMBERS) for place in addresses(0, 1)]
        rows = _crossed(builder, rows, 1, (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15))
        for apart in (2, 4):  # pairs in the place of numbers
            rows = _crossed(builder, rows, apart, (0, 1, 4, 5, 8, 9, 12, 13), (2, 3, 6, 7, 10, 11, 14, 15))
        for row, place in zip(rows, addresses(2, 3), strict=True):
            write(builder, row, place)
        return context.get_dummy_value()

    return types.void(source, places, target, goals), emit


@in_lanes
def load3(buf, i):
    """Three rows."""
    return load(buf, i), load(buf, i + LANES), load(buf, i + LANES_2)


@in_lanes
def load4(buf, i):
    """Four rows."""
    return load(buf, i), load(buf, i + LANES), load(buf, i + LANES_2), load(buf, i + LANES_3)


@in_lanes
def load6(buf, i):
    """Six rows."""
    a, b, c = load3(buf, i)
    d, e, f = load3(buf, i + LANES_3)
    return a, b, c, d, e, f


@in_lanes
def load9(buf, i):
    """Nine rows."""
    a, b, c = load3(buf, i)
    d, e, f = load3(buf, i + LANES_3)
    g, h, k = load3(buf, i + LANES_6)
    return a, b, c, d, e, f, g, h, k


@in_lanes
def store3(buf, i, x, y, z):
    """Write three rows."""
    store(buf, i, x)
    store(buf, i + LANES, y)
    store(buf, i + LANES_2, z)


@in_lanes
def store4(buf, i, x, y, z, w):
    """Write four rows."""
    store3(buf, i, x, y, z)
    store(buf, i + LANES_3, w)


@in_lanes
def store6(buf, i, xx, yy, zz, xy, xz, yz):
    """Write six rows."""
    store3(buf, i, xx, yy, zz)
    store3(buf, i + LANES_3, xy, xz, yz)


@in_lanes
def store9(buf, i, m):
    """Write nine rows."""
    store3(buf, i, m[0], m[1], m[2])
    store3(buf, i + LANES_3, m[3], m[4], m[5])
    store3(buf, i + LANES_6, m[6], m[7], m[8])


@in_lanes
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


@in_lanes
def of_number(i, columns, stride, to):
    """Where the row of a strand's number `i` is."""
    return to + i // columns * stride + i % columns * LANES


@in_lanes
def after(at, column, columns, jump):
    """Row and column of the next number of a strand; behind the last column there is a `jump` to the next record."""
    is_last = column + ONE == columns
    return at + (jump if is_last else LANES), ZERO if is_last else column + ONE


@in_lanes
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
        copy_crossed(flat, of_strands(first * width + i, width), buf, of_rows(i, columns, stride, to))


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
        copy_crossed(buf, of_rows(i, columns, stride, at), flat, of_strands(first * width + i, width))
