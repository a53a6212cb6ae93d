"""Asks the compiler for the widest registers there are in a kernel that does much arithmetic per number it reads.

On CPUs with AVX-512 LLVM keeps to half of a register's width, since early ones slowed down when all of it was used. For
the sweep of the physical skin that costs a sixth of the time. Where registers are narrower it changes nothing.
"""

# mypy: allow-untyped-defs

from numba.core import types
from numba.extending import intrinsic


@intrinsic
def use_wide_registers(typing_context):
    """Set what LLVM prefers in the function that calls this."""

    def mark(context, builder, signature, arguments):
        # llvmlite knows the attributes without a value only; they are a set of what is printed behind the function.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), mark
