"""Hairs side by side as one value: what the sweep of the physical skin reads, writes and spreads over its lanes.

A value is twice as wide as the widest register that CPUs have: each operation becomes (at least) two that do not wait
for each other, which fills the time that a chain of operations spends waiting for itself. The values themselves are in
`geometry/_kernels_lanes.py`.
"""

# mypy: allow-untyped-defs

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mane.geometry._kernels_lanes import (
    FASTMATH,
    FLOAT,
    INDEX,
    INT,
    WIDTH,
    LanesType,
    address,
    loader,
    read,
    repeat,
    shuffle,
    spreader,
    vector,
    write,
)
from mane.geometry._kernels_sixteens import transposed

HALF = WIDTH
LANES = 2 * HALF
QUARTER = HALF // 2

ALL, FOUR = LanesType(LANES), LanesType(4)
ROW, HALF_ROW, FOUR_NUMBERS = vector(ALL), ir.VectorType(FLOAT, HALF), vector(FOUR)


load = loader(LANES)
load_four = loader(4)  # a vector and whatever is behind it
spread, spread_four = spreader(ALL), spreader(FOUR)


@intrinsic
def spread_parts(typing_context, numbers, starts, offset):
    """Give each part of the lanes a number of its own, `numbers[start + offset]`; as many parts as there are starts."""

    def emit(context, builder, sig, args):
        parts = []
        for start in cgutils.unpack_tuple(builder, args[1]):
            number = builder.load(address(context, builder, sig, args, 0, builder.add(start, args[2])))
            parts.append(repeat(builder, number, LANES // sig.args[1].count))
        while len(parts) > 1:  # two by two
            places = list(range(2 * parts[0].type.count))
            parts = [shuffle(builder, *parts[k : k + 2], places) for k in range(0, len(parts), 2)]
        return parts[0]

    return ALL(numbers, starts, types.int64), emit


@intrinsic
def inverse_root(typing_context, value):
    """One over the square root, to within rounding: by the CPU's estimate and a Newton step, where it has one."""

    def emit(context, builder, sig, args):
        kind = ir.FunctionType(args[0].type, [args[0].type])
        square_root = cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{LANES}f32")
        root = builder.call(square_root, args, fastmath=FASTMATH)
        return builder.fdiv(repeat(builder, ir.Constant(FLOAT, 1.0), LANES), root, flags=FASTMATH)

    return value(value), emit


def _fetch(context, builder, sig, args, will_write):
    place = builder.bitcast(address(context, builder, sig, args, 0, args[1], 0), ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [place.type, INT, INT, INT])
    prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(prefetch, [place, INT(will_write), INT(3), INT(1)])  # into the nearest cache, as data
    return context.get_dummy_value()


@intrinsic
def fetch_to_read(typing_context, array, at):
    """Have what lies around `array[at]` brought near; `at` may be beyond the end."""

    def emit(context, builder, sig, args):
        return _fetch(context, builder, sig, args, 0)

    return types.void(array, types.int64), emit


@intrinsic
def fetch_to_write(typing_context, array, at):
    """The same for what will be written."""

    def emit(context, builder, sig, args):
        return _fetch(context, builder, sig, args, 1)

    return types.void(array, types.int64), emit


@intrinsic
def store_columns(typing_context, rows, at, places, first, width, offset, out):
    """Write `HALF` numbers of each of `HALF` lanes, one behind the other.

    Of lane k the numbers `rows[at + k + LANES * i]` to `out[places[first + k] * width + offset + i]`.
    """

    def emit(context, builder, sig, args):
        _, at, _, first, width, offset, _ = args
        numbers = [
            read(builder, address(context, builder, sig, args, 0, builder.add(at, INDEX(LANES * i)), HALF), HALF_ROW)
            for i in range(HALF)
        ]
        for k, column in enumerate(transposed(builder, numbers)):
            place = builder.load(address(context, builder, sig, args, 2, builder.add(first, INDEX(k))))
            start = builder.add(builder.mul(builder.sext(place, INDEX), width), offset)
            write(builder, column, address(context, builder, sig, args, 6, start, HALF))
        return context.get_dummy_value()

    integer = types.int64
    return types.void(rows, integer, places, integer, integer, integer, out), emit
