"""Masks: made of counts and marks, and used to select between vectors. Comparisons make them too (`operators`)."""

# mypy: allow-untyped-defs

from mane.simd import plain
from mane.simd.emit import address, read, repeat, widened, write
from mane.simd.numba_internals import intrinsic, ir, signature, types
from mane.simd.types import BYTE, INDEX, MaskType, common_type


@intrinsic(plain.select)
def select(typing_context, mask, a, b):
    """`a` where the mask says yes, `b` elsewhere; either may be a number. Of single numbers it is one or the other."""
    if mask == types.boolean and a == b and isinstance(a, types.Float):
        return a(mask, a, b), lambda context, builder, sig, args: builder.select(*args)
    vector = common_type((a, b))
    if vector is None or mask != MaskType(vector.count):
        return None

    def emit(context, builder, sig, args):
        both = widened(context, builder, signature(vector, *sig.args[1:]), args[1:])
        return builder.select(args[0], *both)

    return vector(mask, a, b), emit


def first_lanes_maker(width):
    """Make the operation that gives a mask of the first lanes of `width`."""

    @intrinsic(plain.first_lanes_maker(width))
    def first_lanes(typing_context, count):
        """A mask that has the first `count` lanes."""

        def emit(context, builder, sig, args):
            steps = ir.Constant(ir.VectorType(INDEX, width), list(range(width)))
            return builder.icmp_signed("<", steps, repeat(builder, args[0], width))

        return MaskType(width)(types.int64), emit

    return first_lanes


def mask_loader(width):
    """Make the operation that reads a mask of `width` lanes from an array of int8."""

    @intrinsic(plain.mask_loader(width))
    def load_mask(typing_context, marks, at):
        """A mask of those of `marks[at : at + width]`, of int8, that are not zero."""

        def emit(context, builder, sig, args):
            kind = ir.VectorType(BYTE, width)
            value = read(builder, address(context, builder, sig, args, 0, args[1], width), kind)
            return builder.icmp_signed("!=", value, ir.Constant(kind, [0] * width))

        return MaskType(width)(marks, types.int64), emit

    return load_mask


@intrinsic(plain.mask_bits)
def mask_bits(typing_context, mask):
    """The mask as a whole number: bit k is set where it has lane k."""

    def emit(context, builder, sig, args):
        return builder.zext(builder.bitcast(args[0], ir.IntType(mask.count)), INDEX)

    return types.int64(mask), emit


@intrinsic(plain.lowest_bit)
def lowest_bit(typing_context, bits):
    """Number of the lowest bit that is set; 64 where none is."""

    def emit(context, builder, sig, args):
        return builder.cttz(args[0], ir.IntType(1)(0))

    return types.int64(types.int64), emit


@intrinsic(plain.clear_marks)
def clear_marks(typing_context, mask, marks, at):
    """Set those of `marks[at : at + width]`, of int8, to zero that the mask has."""

    def emit(context, builder, sig, args):
        kind = ir.VectorType(BYTE, mask.count)
        place = address(context, builder, sig, args, 1, args[2], mask.count)
        write(builder, builder.select(args[0], ir.Constant(kind, [0] * mask.count), read(builder, place, kind)), place)
        return context.get_dummy_value()

    return types.void(mask, marks, types.int64), emit
