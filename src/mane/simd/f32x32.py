"""Thirty-two float32 numbers as one vector, twice as wide as the widest register that CPUs have.

Each operation becomes (at least) two instructions that do not wait for each other, which fills the time that a chain of
operations spends waiting for itself. Halves and quarters of a vector may have numbers of their own.
"""

# mypy: allow-untyped-defs

from mane.simd import plain
from mane.simd.emit import address, joined, read, repeat, transposed, write
from mane.simd.memory import broadcaster, loader
from mane.simd.numba_internals import intrinsic, ir, types, unpack_tuple
from mane.simd.types import FLOAT, INDEX, VectorType

LANES = 32
HALF = LANES // 2
QUARTER = HALF // 2
F32X32 = VectorType(LANES)
HALF_ROW = ir.VectorType(FLOAT, HALF)
load = loader(LANES)
broadcast = broadcaster(F32X32)


@intrinsic(plain.broadcast_parts)
def broadcast_parts(typing_context, numbers, starts, offset):
    """Give each part of the lanes a number of its own, `numbers[start + offset]`; as many parts as there are starts."""

    def emit(context, builder, sig, args):
        parts = []
        for start in unpack_tuple(builder, args[1]):
            number = builder.load(address(context, builder, sig, args, 0, builder.add(start, args[2])))
            parts.append(repeat(builder, number, LANES // sig.args[1].count))
        return joined(builder, parts)

    return F32X32(numbers, starts, types.int64), emit


@intrinsic(plain.scatter_columns)
def scatter_columns(typing_context, rows, at, places, first, width, offset, out):
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
