"""Many numbers side by side, as one value: `a * b + c` of such values is an instruction or two for all lanes.

A loop over lanes becomes that too where the compiler can prove that no row of an array overlaps another, and reads and
writes every intermediate result that lives longer than one turn of the loop. A value of lanes needs no proof and stays
in registers. Where registers are narrower than a value the compiler makes more operations of one.

Comparing two values gives a mask, with `&`, `|` and `~`; single numbers take part in all lanes. Sixteen lanes are read
and written by `_kernels_sixteens`, eight of them by `_kernels_eights`.

In kernels only; plain Python knows none of this.
"""

# mypy: allow-untyped-defs

import math
import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from mane.geometry._kernels_leaf import leaf

WIDTH = 16  # float32 numbers in the widest register that CPUs have
FASTMATH = ("contract", "arcp", "nsz", "afn")
FLOAT, DOUBLE, BIT, BYTE, INT, INDEX = ir.FloatType(), ir.DoubleType(), *(ir.IntType(n) for n in (1, 8, 32, 64))

in_lanes = leaf(forceinline=True)


class LanesType(types.Type):
    """Numbers of float32 or float64, `count` of them."""

    def __init__(self, count, number=types.float32):
        self.count, self.number = count, number
        super().__init__(name=f"Lanes({count}, {number})")


class MaskType(types.Type):
    """A yes or no for each of `count` lanes."""

    def __init__(self, count):
        self.count = count
        super().__init__(name=f"Mask({count})")


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, of_type):
        super().__init__(manager, of_type, vector(of_type))


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager, of_type):
        super().__init__(manager, of_type, ir.VectorType(BIT, of_type.count))


def vector(lanes):
    """Type of lanes as LLVM knows it."""
    return ir.VectorType(FLOAT if lanes.number == types.float32 else DOUBLE, lanes.count)


def shuffle(builder, a, b, places):
    """Numbers of two vectors in another order; those of b count from the length of a."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(INT, len(places)), places))


def repeat(builder, number, count):
    """A vector of the same number."""
    none = ir.Constant(ir.VectorType(number.type, count), ir.Undefined)
    return shuffle(builder, builder.insert_element(none, number, INT(0)), none, [0] * count)


def address(context, builder, sig, args, position, index, count=1):
    """Where element `index` of the array in argument `position` is, and `count` of them behind each other.

    With NUMBA_BOUNDSCHECK it is checked that the array has so many, as for any index in a kernel; not for a count of 0.
    """
    array = context.make_array(sig.args[position])(context, builder, args[position])
    if config.BOUNDSCHECK and count:
        is_below = builder.icmp_signed("<", index, INDEX(0))
        is_beyond = builder.icmp_signed(">", builder.add(index, INDEX(count)), array.nitems)
        with builder.if_then(builder.or_(is_below, is_beyond), likely=False):
            context.call_conv.return_user_exc(builder, IndexError, ("lanes are beyond the end of an array",))
    return builder.gep(array.data, [index])


def read(builder, place, kind):
    """Read a vector of this type, which need not lie on a boundary."""
    return builder.load(builder.bitcast(place, kind.as_pointer()), align=1)


def write(builder, value, place):
    """Write a vector."""
    builder.store(value, builder.bitcast(place, value.type.as_pointer()), align=1)


# -- operations ------------------------------------------------------------------------------------------------------


def _common(args):
    """Type of lanes that two arguments have in common; a single number takes part in all lanes."""
    lanes = [one for one in args if isinstance(one, LanesType)]
    numbers = [one for one in args if isinstance(one, types.Number)]
    is_known = len(args) == 2 and lanes and len(lanes) + len(numbers) == 2 and lanes[0] == lanes[-1]
    return lanes[0] if is_known else None


def _widened(context, builder, sig, args):
    """Both arguments as vectors."""
    lanes = _common(sig.args)
    for kind, value in zip(sig.args, args, strict=True):
        if isinstance(kind, LanesType):
            yield value
        else:
            yield repeat(builder, context.cast(builder, value, kind, lanes.number), lanes.count)


def _declare(operation, generic):
    infer_global(operation)(type("_Template", (AbstractTemplate,), {"key": operation, "generic": generic}))


def _register(operation, result, emit):
    """Have an operator work on two values of lanes, or on one and a number."""

    def generic(self, args, kws):
        lanes = _common(args)
        return None if lanes is None else signature(result(lanes), *args)

    infer_global(operation)(
        type(f"_Lanes_{operation.__name__}", (AbstractTemplate,), {"key": operation, "generic": generic})
    )

    def lower(context, builder, sig, args):
        return emit(builder, *_widened(context, builder, sig, args))

    for pair in ((LanesType, LanesType), (LanesType, types.Number), (types.Number, LanesType)):
        lower_builtin(operation, *pair)(lower)


def _arithmetic(instruction):
    return lambda builder, a, b: getattr(builder, instruction)(a, b, flags=FASTMATH)


def _comparison(sign):
    return lambda builder, a, b: builder.fcmp_ordered(sign, a, b)


for _operation, _instruction in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    _register(getattr(operator, _operation), lambda lanes: lanes, _arithmetic(_instruction))
for _operation, _sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!=")):
    _register(getattr(operator, _operation), lambda lanes: MaskType(lanes.count), _comparison(_sign))


def _register_for_masks(operation, instruction):
    def generic(self, args, kws):
        is_known = len(args) == 2 and isinstance(args[0], MaskType) and args[0] == args[1]
        return signature(args[0], *args) if is_known else None

    _declare(operation, generic)

    @lower_builtin(operation, MaskType, MaskType)
    def emit(context, builder, sig, args):
        return getattr(builder, instruction)(*args)


for _operation in ("and_", "or_"):
    _register_for_masks(getattr(operator, _operation), _operation)


_declare(operator.invert, lambda self, args, kws: signature(*args, *args) if isinstance(args[0], MaskType) else None)


@lower_builtin(operator.invert, MaskType)
def _lower_not(context, builder, sig, args):
    return builder.not_(args[0])


def _of_pair(choose):
    """Intrinsic of two values of lanes, or of one and a number."""

    def typed(typing_context, a, b):
        lanes = _common((a, b))
        if lanes is None:
            return None

        def emit(context, builder, sig, args):
            return choose(builder, *_widened(context, builder, sig, args))

        return lanes(a, b), emit

    return typed


@intrinsic
def lesser(typing_context, a, b):
    """The lesser of two, lane by lane."""
    return _of_pair(lambda builder, x, y: builder.select(builder.fcmp_ordered("<", x, y), x, y))(typing_context, a, b)


@intrinsic
def greater(typing_context, a, b):
    """The greater of two, lane by lane."""
    return _of_pair(lambda builder, x, y: builder.select(builder.fcmp_ordered(">", x, y), x, y))(typing_context, a, b)


def _of_one(name):
    def typed(typing_context, value):
        if not isinstance(value, LanesType):
            return None

        def emit(context, builder, sig, args):
            kind = ir.FunctionType(args[0].type, [args[0].type])
            suffix = f"v{value.count}f{value.number.bitwidth}"
            return builder.call(
                cgutils.get_or_insert_function(builder.module, kind, f"{name}.{suffix}"), args, fastmath=FASTMATH
            )

        return value(value), emit

    return typed


@intrinsic
def magnitude(typing_context, value):
    """Without its sign."""
    return _of_one("llvm.fabs")(typing_context, value)


@intrinsic
def root(typing_context, value):
    """Square root."""
    return _of_one("llvm.sqrt")(typing_context, value)


def _declare_of_one(operation):
    def generic(self, args, kws):
        return signature(*args, *args) if len(args) == 1 and isinstance(args[0], LanesType) else None

    _declare(operation, generic)


_declare_of_one(operator.neg)
_declare_of_one(math.sqrt)


@lower_builtin(operator.neg, LanesType)
def _lower_negative(context, builder, sig, args):
    return builder.fneg(args[0], flags=FASTMATH)


@lower_builtin(math.sqrt, LanesType)
def _lower_root(context, builder, sig, args):
    return _of_one("llvm.sqrt")(None, *sig.args)[1](context, builder, sig, args)


@intrinsic
def with_sign_of(typing_context, a, b):
    """`a` with the sign of `b`, lane by lane."""

    def emit(builder, x, y):
        name = f"llvm.copysign.v{x.type.count}{x.type.element.intrinsic_name}"
        kind = ir.FunctionType(x.type, [x.type, y.type])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [x, y])

    return _of_pair(emit)(typing_context, a, b)


@intrinsic
def choose(typing_context, mask, a, b):
    """`a` where the mask says yes, `b` elsewhere; either may be a number. Of single numbers it is one or the other."""
    if mask == types.boolean and a == b and isinstance(a, types.Float):
        return a(mask, a, b), lambda context, builder, sig, args: builder.select(*args)
    lanes = _common((a, b))
    if lanes is None or mask != MaskType(lanes.count):
        return None

    def emit(context, builder, sig, args):
        both = _widened(context, builder, signature(lanes, *sig.args[1:]), args[1:])
        return builder.select(args[0], *both)

    return lanes(mask, a, b), emit


@intrinsic
def largest(typing_context, value):
    """The largest number of all lanes, a power of two of them."""

    def emit(context, builder, sig, args):
        most, width = args[0], value.count
        while width > 1:
            width //= 2
            a, b = (shuffle(builder, most, most, list(range(first, first + width))) for first in (0, width))
            most = builder.select(builder.fcmp_ordered(">", a, b), a, b)
        return builder.extract_element(most, INT(0))

    return value.number(value), emit


@intrinsic
def narrow(typing_context, value):
    """The same numbers as float32."""

    def emit(context, builder, sig, args):
        return builder.fptrunc(args[0], ir.VectorType(FLOAT, value.count))

    return LanesType(value.count)(value), emit


def loader(count):
    """Make the intrinsic that reads `count` neighbours of an array of float32 or float64 as a value of lanes."""

    @intrinsic
    def load(typing_context, rows, at):
        """Read a row, `rows[at : at + count]`."""
        lanes = LanesType(count, rows.dtype)

        def emit(context, builder, sig, args):
            return read(builder, address(context, builder, sig, args, 0, args[1], count), vector(lanes))

        return lanes(rows, types.int64), emit

    return load


def spreader(lanes):
    """Make the intrinsic that gives all lanes of a value of this type the same number."""

    @intrinsic
    def spread(typing_context, number):
        """Give all lanes the same number."""

        def emit(context, builder, sig, args):
            return repeat(builder, args[0], lanes.count)

        return lanes(lanes.number), emit

    return spread


@intrinsic
def store(typing_context, rows, at, value):
    """Write a row from `rows[at]` on."""

    def emit(context, builder, sig, args):
        write(builder, args[2], address(context, builder, sig, args, 0, args[1], value.count))
        return context.get_dummy_value()

    return types.void(rows, types.int64, value), emit


@intrinsic
def use_wide_registers(typing_context):
    """Ask for the widest registers there are in the function that calls this.

    On CPUs with AVX-512 LLVM keeps to half of a register's width, since early ones slowed down when all of it was used.
    """

    def emit(context, builder, sig, args):
        # llvmlite knows the attributes without a value only; they are a set of what is printed behind the function.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        set.add(builder.function.attributes, '"stackrealign"')
        return context.get_dummy_value()

    return types.void(), emit
