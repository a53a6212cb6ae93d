"""Four float64 numbers as one vector: what is known at a point, such as a mass and a momentum."""

# mypy: allow-untyped-defs

from mane.simd import plain
from mane.simd.memory import loader
from mane.simd.numba_internals import intrinsic, ir, types
from mane.simd.types import INDEX, VectorType, llvm_vector

WIDTH = 4
F64X4 = VectorType(WIDTH, types.float64)
load = loader(WIDTH)


@intrinsic(plain.from_numbers)
def from_numbers(typing_context, a, b, c, d):
    """Make a vector of four numbers."""

    def emit(context, builder, sig, args):
        value = ir.Constant(llvm_vector(F64X4), ir.Undefined)
        for k, number in enumerate(args):
            value = builder.insert_element(value, number, INDEX(k))
        return value

    number = types.float64
    return F64X4(number, number, number, number), emit


@intrinsic(plain.extract)
def extract(typing_context, value, number):
    """One of the numbers of a vector."""

    def emit(context, builder, sig, args):
        return builder.extract_element(*args)

    return value.number(value, types.int64), emit
