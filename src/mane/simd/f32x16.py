"""Sixteen float32 numbers as one vector: rows of arrays, rows gathered from a table, lists of chosen numbers.

A list is an array of whole numbers, of int32, that begins where one says and ends where the last `compress` left off.
"""

# mypy: allow-untyped-defs

from mane.simd import plain
from mane.simd.emit import address, read, repeat, shuffle, transpose_4x4, transposed, write
from mane.simd.masks import first_lanes_maker, mask_loader
from mane.simd.memory import loader
from mane.simd.numba_internals import call_llvm, intrinsic, ir, types, unpack_tuple
from mane.simd.types import FLOAT, INDEX, INT, VectorType

WIDTH = 16  # float32 numbers in the widest register that CPUs have
F32X16 = VectorType(WIDTH)
load = loader(WIDTH)
first_lanes = first_lanes_maker(WIDTH)
load_mask = mask_loader(WIDTH)


def _compress(builder, mask, value, out, place):
    """Write the lanes that a mask has side by side, zeros behind them, and return the place behind them."""
    args = [value, mask, ir.Constant(value.type, [0] * WIDTH)]
    name = f"llvm.experimental.vector.compress.v{WIDTH}i32"
    write(builder, call_llvm(builder, name, value.type, args), out)
    bits = builder.bitcast(mask, ir.IntType(WIDTH))
    return builder.add(place, builder.zext(builder.ctpop(bits), INDEX))


@intrinsic(plain.compress_numbers)
def compress_numbers(typing_context, mask, numbers, at, out, place):
    """Write those of `numbers[at : at + WIDTH]`, of int32, that a mask has to `out[place : place + WIDTH]`.

    Returns the place behind them; from there on it has zeros, which are numbers of something too.
    """

    def emit(context, builder, sig, args):
        mask, _, at, _, place = args
        value = read(builder, address(context, builder, sig, args, 1, at, WIDTH), ir.VectorType(INT, WIDTH))
        return _compress(builder, mask, value, address(context, builder, sig, args, 3, place, WIDTH), place)

    return types.int64(mask, numbers, types.int64, out, types.int64), emit


@intrinsic(plain.compress_indices)
def compress_indices(typing_context, mask, first, out, place):
    """The same for `first` and the numbers behind it."""

    def emit(context, builder, sig, args):
        mask, first, _, place = args
        steps = ir.Constant(ir.VectorType(INT, WIDTH), list(range(WIDTH)))
        value = builder.add(repeat(builder, builder.trunc(first, INT), WIDTH), steps)
        return _compress(builder, mask, value, address(context, builder, sig, args, 2, place, WIDTH), place)

    return types.int64(mask, types.int64, out, types.int64), emit


@intrinsic(plain.copy_numbers)
def copy_numbers(typing_context, numbers, at, out, place):
    """Copy whole numbers of int32, `numbers[at : at + WIDTH]`, to `out[place:]`."""

    def emit(context, builder, sig, args):
        value = read(builder, address(context, builder, sig, args, 0, args[1], WIDTH), ir.VectorType(INT, WIDTH))
        write(builder, value, address(context, builder, sig, args, 2, args[3], WIDTH))
        return context.get_dummy_value()

    return types.void(numbers, types.int64, out, types.int64), emit


@intrinsic(plain.fill_numbers)
def fill_numbers(typing_context, number, out, place):
    """Write a whole number to all of `out[place : place + WIDTH]`, of int32."""

    def emit(context, builder, sig, args):
        value = repeat(builder, builder.trunc(args[0], INT), WIDTH)
        write(builder, value, address(context, builder, sig, args, 1, args[2], WIDTH))
        return context.get_dummy_value()

    return types.void(types.int64, out, types.int64), emit


# -- tables ------------------------------------------------------------------------------------------------------------


@intrinsic(plain.gather_fours)
def gather_fours(typing_context, table, numbers, at, width, offset):
    """Four lanes: numbers `offset` to `offset + 3` of the rows of a table that `numbers[at : at + WIDTH]` name.

    The table is of float32 and flat, with `width` numbers in a row; `numbers` are of int32.
    """

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
        columns = transpose_4x4(builder, rows)
        return context.make_tuple(builder, sig.return_type, columns)

    return types.UniTuple(F32X16, 4)(table, numbers, types.int64, types.int64, types.int64), emit


@intrinsic(plain.store_transposed)
def store_transposed(typing_context, columns, out, at, stride):
    """Write lane k of `WIDTH` columns to `out[at + k * stride : ... + WIDTH]`, of float32."""

    def emit(context, builder, sig, args):
        rows = transposed(builder, unpack_tuple(builder, args[0]))
        for k, row in enumerate(rows):
            place = builder.add(args[2], builder.mul(args[3], INDEX(k)))
            write(builder, row, address(context, builder, sig, args, 1, place, WIDTH))
        return context.get_dummy_value()

    return types.void(columns, out, types.int64, types.int64), emit
