"""All lanes of a vector to one number, halving the vector again and again; of a power of two of lanes."""

# mypy: allow-untyped-defs

from mane.simd import plain
from mane.simd.emit import FLAGS, shuffle
from mane.simd.numba_internals import intrinsic
from mane.simd.types import INT, VectorType


def _halved(value, combine):
    """Typing of a reduction that combines the two halves of a vector until one number is left."""
    if not isinstance(value, VectorType) or value.count & (value.count - 1):
        return None

    def emit(context, builder, sig, args):
        all_lanes, width = args[0], value.count
        while width > 1:
            width //= 2
            halves = (shuffle(builder, all_lanes, all_lanes, list(range(k, k + width))) for k in (0, width))
            all_lanes = combine(builder, *halves)
        return builder.extract_element(all_lanes, INT(0))

    return value.number(value), emit


@intrinsic(plain.reduce_max)
def reduce_max(typing_context, value):
    """The largest number of all lanes."""
    return _halved(value, lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))


@intrinsic(plain.reduce_min)
def reduce_min(typing_context, value):
    """The least number of all lanes."""
    return _halved(value, lambda builder, a, b: builder.select(builder.fcmp_ordered("<", a, b), a, b))


@intrinsic(plain.reduce_sum)
def reduce_sum(typing_context, value):
    """The sum of all lanes: of halves, of their halves and so on, whatever registers the CPU has."""
    return _halved(value, lambda builder, a, b: builder.fadd(a, b, flags=FLAGS))
