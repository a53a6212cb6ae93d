"""Functions of vectors, lane by lane: extremes, signs, roots, and logarithms and powers to within rounding."""

# mypy: allow-untyped-defs

from __future__ import annotations

import math
from typing import Any

from mane.simd import plain
from mane.simd.emit import FLAGS, repeat, widened
from mane.simd.jit import inline
from mane.simd.memory import broadcast_like
from mane.simd.numba_internals import call_llvm, intrinsic, ir, is_compiler_off, lower_builtin, types
from mane.simd.operators import declare_of_one
from mane.simd.types import FLOAT, INDEX, VectorType, common_type

LN_2 = math.log(2.0)
# ln m = 2 (s + s^3 / 3 + s^5 / 5 + ...) with s = (m - 1) / (m + 1); s^2 < 0.0295, the first term left out < 3e-17.
SERIES_OF_LOG = tuple(2.0 / k for k in range(19, 0, -2))
# e^y = 1 + y + y^2 / 2 + ...; |y| <= ln(2) / 2, the first term left out < 2e-16.
SERIES_OF_EXP = tuple(1.0 / math.factorial(k) for k in range(12, -1, -1))
ROUNDER = 1.5 * 2.0**52  # a number this large has no fraction: whole numbers added to it are its last bits
ROUNDER_BITS, ROOT_HALF_BITS, ONE_BITS = 0x4338000000000000, 0x3FE6A09E667F3BCD, 0x3FF0000000000000
EXPONENT = 52  # bits below it in a float64


def _of_pair(choose):
    """Typing function of two vectors, or of one and a number."""

    def typed(typing_context, a, b):
        vector = common_type((a, b))
        if vector is None:
            return None

        def emit(context, builder, sig, args):
            return choose(builder, *widened(context, builder, sig, args))

        return vector(a, b), emit

    return typed


@intrinsic(plain.minimum)
def minimum(typing_context, a, b):
    """The lesser of two, lane by lane."""
    return _of_pair(lambda builder, x, y: builder.select(builder.fcmp_ordered("<", x, y), x, y))(typing_context, a, b)


@intrinsic(plain.maximum)
def maximum(typing_context, a, b):
    """The greater of two, lane by lane."""
    return _of_pair(lambda builder, x, y: builder.select(builder.fcmp_ordered(">", x, y), x, y))(typing_context, a, b)


@intrinsic(plain.copysign)
def copysign(typing_context, a, b):
    """`a` with the sign of `b`, lane by lane."""

    def emit(builder, x, y):
        return call_llvm(builder, f"llvm.copysign.v{x.type.count}{x.type.element.intrinsic_name}", x.type, [x, y])

    return _of_pair(emit)(typing_context, a, b)


def _of_one(builder, name, value):
    """A function that LLVM knows, of a vector."""
    suffix = f"v{value.type.count}{value.type.element.intrinsic_name}"
    return call_llvm(builder, f"{name}.{suffix}", value.type, [value], FLAGS)


@intrinsic(plain.absolute)
def absolute(typing_context, value):
    """Without its sign."""
    if not isinstance(value, VectorType):
        return None
    return value(value), lambda context, builder, sig, args: _of_one(builder, "llvm.fabs", *args)


# In kernels `math.sqrt` takes vectors and numbers alike; plain Python's takes numbers only.
sqrt: Any = plain.sqrt if is_compiler_off() else math.sqrt
declare_of_one(math.sqrt)


@lower_builtin(math.sqrt, VectorType)
def _lower_sqrt(context, builder, sig, args):
    return _of_one(builder, "llvm.sqrt", *args)


@intrinsic(plain.rsqrt)
def rsqrt(typing_context, value):
    """One over the square root, to within rounding: by the CPU's estimate and a Newton step, where it has one."""

    def emit(context, builder, sig, args):
        one = repeat(builder, ir.Constant(args[0].type.element, 1.0), value.count)
        return builder.fdiv(one, _of_one(builder, "llvm.sqrt", *args), flags=FLAGS)

    return value(value), emit


@intrinsic(plain.to_float32)
def to_float32(typing_context, value):
    """The same numbers as float32."""

    def emit(context, builder, sig, args):
        return builder.fptrunc(args[0], ir.VectorType(FLOAT, value.count))

    return VectorType(value.count)(value), emit


# -- logarithms and powers, of float64 -------------------------------------------------------------------------------


@intrinsic(plain.split_exponent)
def split_exponent(typing_context, value):
    """Return (m, n) with value = m 2^n, m from the root of a half to the root of two, n a whole number as float64.

    Of numbers above 1e-307; zero counts as 2^-1023.
    """

    def emit(context, builder, sig, args):
        numbers, bits_of = args[0].type, ir.VectorType(INDEX, value.count)

        def all_lanes(kind, number):
            return ir.Constant(kind, [number] * value.count)

        bits = builder.bitcast(args[0], bits_of)
        above = builder.sub(bits, all_lanes(bits_of, ROOT_HALF_BITS))
        power = builder.ashr(above, all_lanes(bits_of, EXPONENT))
        rest = builder.sub(bits, builder.shl(power, all_lanes(bits_of, EXPONENT)))
        large = builder.add(power, all_lanes(bits_of, ROUNDER_BITS))
        number = builder.fsub(builder.bitcast(large, numbers), all_lanes(numbers, ROUNDER))
        return context.make_tuple(builder, sig.return_type, [builder.bitcast(rest, numbers), number])

    return types.UniTuple(value, 2)(value), emit


@intrinsic(plain.exp2_rounded)
def exp2_rounded(typing_context, value):
    """Return (n, 2^n) with n the whole number nearest to the value, which is between -1022 and 1023."""

    def emit(context, builder, sig, args):
        numbers, bits_of = args[0].type, ir.VectorType(INDEX, value.count)
        rounder = ir.Constant(numbers, [ROUNDER] * value.count)
        large = builder.fadd(args[0], rounder)
        number = builder.fsub(large, rounder)
        bits = builder.shl(builder.bitcast(large, bits_of), ir.Constant(bits_of, [EXPONENT] * value.count))
        power = builder.add(bits, ir.Constant(bits_of, [ONE_BITS] * value.count))
        return context.make_tuple(builder, sig.return_type, [number, builder.bitcast(power, numbers)])

    return types.UniTuple(value, 2)(value), emit


@inline
def polynomial(coefficients, x):
    """Value of a polynomial, the highest power's coefficient first."""
    square = x * x
    value, other = broadcast_like(x, coefficients[0]), broadcast_like(x, coefficients[1])
    for k in range(2, len(coefficients)):
        value, other = other, value * square + coefficients[k]  # every second power, so that one need not wait
    return value * x + other


@inline
def log(x):
    """Natural logarithm of numbers above 1e-307; of zero that of 2^-1023."""
    m, n = split_exponent(x)
    s = (m - 1.0) / (m + 1.0)
    return n * LN_2 + s * polynomial(SERIES_OF_LOG, s * s)


@inline
def exp(x):
    """e^x for x from -700 to 700."""
    n, scale = exp2_rounded(x * (1.0 / LN_2))
    return polynomial(SERIES_OF_EXP, x - n * LN_2) * scale
