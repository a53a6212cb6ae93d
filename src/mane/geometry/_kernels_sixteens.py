"""Sixteen numbers side by side, read and written: rows of arrays, rows picked from a table, lists of chosen numbers.

A list is an array of whole numbers, of int32, that begins where one says and ends where the last `pack` left off.
"""

# mypy: allow-untyped-defs

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mane.geometry._kernels_lanes import (
    BYTE,
    FLOAT,
    INDEX,
    INT,
    WIDTH,
    LanesType,
    MaskType,
    address,
    loader,
    read,
    repeat,
    shuffle,
    write,
)

load = loader(WIDTH)


@intrinsic
def first_lanes(typing_context, count):
    """A mask that has the first `count` lanes."""

    def emit(context, builder, sig, args):
        steps = ir.Constant(ir.VectorType(INDEX, WIDTH), list(range(WIDTH)))
        return builder.icmp_signed("<", steps, repeat(builder, args[0], WIDTH))

    return MaskType(WIDTH)(types.int64), emit


@intrinsic
def marked(typing_context, marks, at):
    """A mask of those of `marks[at : at + WIDTH]`, of int8, that are not zero."""

    def emit(context, builder, sig, args):
        kind = ir.VectorType(BYTE, WIDTH)
        value = read(builder, address(context, builder, sig, args, 0, args[1], WIDTH), kind)
        return builder.icmp_signed("!=", value, ir.Constant(kind, [0] * WIDTH))

    return MaskType(WIDTH)(marks, types.int64), emit


@intrinsic
def unmark(typing_context, mask, marks, at):
    """Set those of `marks[at : at + WIDTH]`, of int8, to zero that the mask has."""

    def emit(context, builder, sig, args):
        kind = ir.VectorType(BYTE, WIDTH)
        place = address(context, builder, sig, args, 1, args[2], WIDTH)
        write(builder, builder.select(args[0], ir.Constant(kind, [0] * WIDTH), read(builder, place, kind)), place)
        return context.get_dummy_value()

    return types.void(mask, marks, types.int64), emit


def _pack(builder, mask, value, out, place):
    """Write the lanes that a mask has side by side, zeros behind them, and return the place behind them."""
    kind = ir.FunctionType(value.type, [value.type, mask.type, value.type])
    name = f"llvm.experimental.vector.compress.v{WIDTH}i32"
    compress = cgutils.get_or_insert_function(builder.module, kind, name)
    write(builder, builder.call(compress, [value, mask, ir.Constant(value.type, [0] * WIDTH)]), out)
    bits = builder.bitcast(mask, ir.IntType(WIDTH))
    return builder.add(place, builder.zext(builder.ctpop(bits), INDEX))


@intrinsic
def pack_numbers(typing_context, mask, numbers, at, out, place):
    """Write those of `numbers[at : at + WIDTH]`, of int32, that a mask has to `out[place : place + WIDTH]`.

    Returns the place behind them; from there on it has zeros, which are numbers of something too.
    """

    def emit(context, builder, sig, args):
        mask, _, at, _, place = args
        value = read(builder, address(context, builder, sig, args, 1, at, WIDTH), ir.VectorType(INT, WIDTH))
        return _pack(builder, mask, value, address(context, builder, sig, args, 3, place, WIDTH), place)

    return types.int64(mask, numbers, types.int64, out, types.int64), emit


@intrinsic
def pack_places(typing_context, mask, first, out, place):
    """The same for `first` and the numbers behind it."""

    def emit(context, builder, sig, args):
        mask, first, _, place = args
        steps = ir.Constant(ir.VectorType(INT, WIDTH), list(range(WIDTH)))
        value = builder.add(repeat(builder, builder.trunc(first, INT), WIDTH), steps)
        return _pack(builder, mask, value, address(context, builder, sig, args, 2, place, WIDTH), place)

    return types.int64(mask, types.int64, out, types.int64), emit


@intrinsic
def copy_numbers(typing_context, numbers, at, out, place):
    """Copy whole numbers of int32, `numbers[at : at + WIDTH]`, to `out[place:]`."""

    def emit(context, builder, sig, args):
        value = read(builder, address(context, builder, sig, args, 0, args[1], WIDTH), ir.VectorType(INT, WIDTH))
        write(builder, value, address(context, builder, sig, args, 2, args[3], WIDTH))
        return context.get_dummy_value()

    return types.void(numbers, types.int64, out, types.int64), emit


@intrinsic
def repeat_number(typing_context, number, out, place):
    """Write a whole number to all of `out[place : place + WIDTH]`, of int32."""

    def emit(context, builder, sig, args):
        value = repeat(builder, builder.trunc(args[0], INT), WIDTH)
        write(builder, value, address(context, builder, sig, args, 1, args[2], WIDTH))
        return context.get_dummy_value()

    return types.void(types.int64, out, types.int64), emit


# -- tables ------------------------------------------------------------------------------------------------------------


def _mixed(builder, a, b, fours):
    """Place by place, numbers of a (0 to 3) and b (4 to 7) in each group of four."""
    places = [group + k % 4 + WIDTH * (k // 4) for group in range(0, WIDTH, 4) for k in fours]
    return shuffle(builder, a, b, places)


def _mixed_fours(builder, a, b, fours):
    """The same with groups of four in the place of numbers."""
    return shuffle(builder, a, b, [4 * k + number for k in fours for number in range(4)])


def _crossed(builder, mixed, rows, even, odd, low, high):
    a, b, c, d = rows
    ab, cd = [(mixed(builder, *two, even), mixed(builder, *two, odd)) for two in ((a, b), (c, d))]
    return [mixed(builder, ab[k], cd[k], part) for k in range(2) for part in (low, high)]


def crossed_fours(builder, rows):
    """Transpose fours within four rows of `WIDTH` numbers: number 4 g + k of row r becomes number 4 g + r of row k."""
    return _crossed(builder, _mixed, rows, (0, 4, 1, 5), (2, 6, 3, 7), (0, 1, 4, 5), (2, 3, 6, 7))


def transposed(builder, rows):
    """Transpose a square of `WIDTH` by `WIDTH` numbers: fours within fours of rows, then the fours as if numbers."""
    within = [column for k in range(0, WIDTH, 4) for column in crossed_fours(builder, rows[k : k + 4])]
    columns = [None] * WIDTH
    for k in range(4):
        evens, odds = (0, 2, 4, 6), (1, 3, 5, 7)
        columns[k], columns[k + 8], columns[k + 4], columns[k + 12] = _crossed(
            builder, _mixed_fours, within[k::4], evens, odds, evens, odds
        )
    return columns


@intrinsic
def pick_fours(typing_context, table, numbers, at, width, offset):
    """Four lanes: numbers `offset` to `offset + 3` of the rows of a table that `numbers[at : at + WIDTH]` name.

    The table is of float32 and flat, with `width` numbers in a row; `numbers` are of int32.
    """
    lanes = LanesType(WIDTH)

    def emit(context, builder, sig, args):
        _, _, at, width, offset = args
        four = ir.VectorType(FLOAT, 4)
        parts = []
        for k in range(WIDTH):
            number = builder.load(address(context, builder, sig, args, 1, builder.add(at, INDEX(k))))
            place = builder.add(builder.mul(builder.sext(number, INDEX), width), offset)
            parts.append(read(builder, address(context, builder, sig, args, 0, place, 4), four))
        rows = []
        for k in range(4):  # rows k, k + 4, k + 8 and k + 12 behind each other
            a, b, c, d = parts[k::4]
            ab, cd = (shuffle(builder, *two, list(range(8))) for two in ((a, b), (c, d)))
            rows.append(shuffle(builder, ab, cd, list(range(16))))
        columns = crossed_fours(builder, rows)
        return context.make_tuple(builder, sig.return_type, columns)

    return types.UniTuple(lanes, 4)(table, numbers, types.int64, types.int64, types.int64), emit


@intrinsic
def write_rows(typing_context, columns, out, at, stride):
    """Write lane k of `WIDTH` columns to `out[at + k * stride : ... + WIDTH]`, of float32."""

    def emit(context, builder, sig, args):
        rows = transposed(builder, cgutils.unpack_tuple(builder, args[0]))
        for k, row in enumerate(rows):
            place = builder.add(args[2], builder.mul(args[3], INDEX(k)))
            write(builder, row, address(context, builder, sig, args, 1, place, WIDTH))
        return context.get_dummy_value()

    return types.void(columns, out, types.int64, types.int64), emit
