"""Four float64 numbers side by side: what is known at a point, such as a mass and a vector, as one value."""

# mypy: allow-untyped-defs

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mane.geometry._kernels_lanes import INDEX, LanesType, loader, vector

FOUR = 4
ALL = LanesType(FOUR, types.float64)
load = loader(FOUR)


@intrinsic
def together(typing_context, a, b, c, d):
    """Make a value of four numbers."""

    def emit(context, builder, sig, args):
        value = ir.Constant(vector(ALL), ir.Undefined)
        for k, number in enumerate(args):
            value = builder.insert_element(value, number, INDEX(k))
        return value

    number = types.float64
    return ALL(number, number, number, number), emit


@intrinsic
def lane(typing_context, value, number):
    """One of the numbers of a value."""

    def emit(context, builder, sig, args):
        return builder.extract_element(*args)

    return value.number(value, types.int64), emit
