"""Many numbers side by side, as one value: `a * b + c` of such values is an instruction or two for all lanes.

A loop over lanes becomes that too where the compiler can prove that no row of an array overlaps another, and reads and
writes every intermediate result that lives longer than one turn of the loop. A value of lanes needs no proof and stays
in registers. Where registers are narrower than a value the compiler makes more operations of one.

Comparing two values gives a mask, with `&`, `|` and `~`; single numbers take part in all lanes. Of `WIDTH` lanes there
are also: reading and writing, rows of a table picked by number, and lists of what a mask has chosen.

In kernels only; plain Python knows none of this.
"""

# mypy: allow-untyped-defs

import math
import operator

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

WIDTH = 16  # float32 numbers in the widest register that CPUs have
FASTMATH = ("contract", "arcp", "nsz", "afn")
FLOAT, DOUBLE, BIT, BYTE, INT, INDEX = ir.FloatType(), ir.DoubleType(), *(ir.IntType(n) for n in (1, 8, 32, 64))

in_lanes = njit(cache=True, error_model="numpy", forceinline=True, _nrt=False)  # type: ignore[call-overload]


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


def address(context, builder, sig, args, position, index):
    """Where element `index` of the array in argument `position` is."""
    array = context.make_array(sig.args[position])(context, builder, args[position])
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
    """`a` where the mask says yes, `b` elsewhere; either may be a number."""
    lanes = _common((a, b))
    if lanes is None or mask != MaskType(lanes.count):
        return None

    def emit(context, builder, sig, args):
        both = _widened(context, builder, signature(lanes, *sig.args[1:]), args[1:])
        return builder.select(args[0], *both)

    return lanes(mask, a, b), emit


@intrinsic
def narrow(typing_context, value):
    """The same numbers as float32."""

    def emit(context, builder, sig, args):
        return builder.fptrunc(args[0], ir.VectorType(FLOAT, value.count))

    return LanesType(value.count)(value), emit


# -- memory ------------------------------------------------------------------------------------------------------------


@intrinsic
def read_lanes(typing_context, array, at):
    """Read `array[at : at + WIDTH]`."""
    lanes = LanesType(WIDTH, array.dtype)

    def emit(context, builder, sig, args):
        return read(builder, address(context, builder, sig, args, 0, args[1]), vector(lanes))

    return lanes(array, types.int64), emit


@intrinsic
def write_lanes(typing_context, array, at, value):
    """Write `array[at : at + WIDTH]`."""

    def emit(context, builder, sig, args):
        write(builder, args[2], address(context, builder, sig, args, 0, args[1]))
        return context.get_dummy_value()

    return types.void(array, types.int64, value), emit


@intrinsic
def first_lanes(typing_context, count):
    """A mask that has the first `count` lanes."""

    def emit(context, builder, sig, args):
        steps = ir.Constant(ir.VectorType(INDEX, WIDTH), list(range(WIDTH)))
        return builder.icmp_signed("<", steps, repeat(builder, args[0], WIDTH))

    return MaskType(WIDTH)(types.int64), emit


@intrinsic
def marked(typing_context, marks, at):
    """A mask of those of `marks[at : at + WIDTH]`, of int8, that are not zero."""

    def emit(context, builder, sig, args):
        kind = ir.VectorType(BYTE, WIDTH)
        value = read(builder, address(context, builder, sig, args, 0, args[1]), kind)
        return builder.icmp_signed("!=", value, ir.Constant(kind, [0] * WIDTH))

    return MaskType(WIDTH)(marks, types.int64), emit


@intrinsic
def unmark(typing_context, mask, marks, at):
    """Set those of `marks[at : at + WIDTH]`, of int8, to zero that the mask has."""

    def emit(context, builder, sig, args):
        kind = ir.VectorType(BYTE, WIDTH)
        place = address(context, builder, sig, args, 1, args[2])
        write(builder, builder.select(args[0], ir.Constant(kind, [0] * WIDTH), read(builder, place, kind)), place)
        return context.get_dummy_value()

    return types.void(mask, marks, types.int64), emit


def _pack(context, builder, sig, mask, value, out, place):
    """Write the lanes that a mask has side by side, zeros behind them, and return the place behind them."""
    kind = ir.FunctionType(value.type, [value.type, mask.type, value.type])
    name = f"llvm.experimental.vector.compress.v{WIDTH}i32"
    compress = cgutils.get_or_insert_function(builder.module, kind, name)
    write(builder, builder.call(compress, [value, mask, ir.Constant(value.type, [0] * WIDTH)]), out)
    bits = builder.bitcast(mask, ir.IntType(WIDTH))
    return builder.add(place, builder.zext(builder.ctpop(bits), INDEX))


@intrinsic
def pack_numbers(typing_context, mask, numbers, at, out, place):
    """Write those of `numbers[at : at + WIDTH]`, of int32, that a mask has to `out[place : place + WIDTH]`.

    Returns the place behind them; from there on it has zeros, which are numbers of something too.
    """

    def emit(context, builder, sig, args):
        mask, _, at, _, place = args
        value = read(builder, address(context, builder, sig, args, 1, at), ir.VectorType(INT, WIDTH))
        return _pack(context, builder, sig, mask, value, address(context, builder, sig, args, 3, place), place)

    return types.int64(mask, numbers, types.int64, out, types.int64), emit


@intrinsic
def pack_places(typing_context, mask, first, out, place):
    """The same for `first` and the numbers behind it."""

    def emit(context, builder, sig, args):
        mask, first, _, place = args
        steps = ir.Constant(ir.VectorType(INT, WIDTH), list(range(WIDTH)))
        value = builder.add(repeat(builder, builder.trunc(first, INT), WIDTH), steps)
        return _pack(context, builder, sig, mask, value, address(context, builder, sig, args, 2, place), place)

    return types.int64(mask, types.int64, out, types.int64), emit


@intrinsic
def copy_numbers(typing_context, numbers, at, out, place):
    """Copy whole numbers of int32, `numbers[at : at + WIDTH]`, to `out[place:]`."""

    def emit(context, builder, sig, args):
        value = read(builder, address(context, builder, sig, args, 0, args[1]), ir.VectorType(INT, WIDTH))
        write(builder, value, address(context, builder, sig, args, 2, args[3]))
        return context.get_dummy_value()

    return types.void(numbers, types.int64, out, types.int64), emit


@intrinsic
def repeat_number(typing_context, number, out, place):
    """Write a whole number to all of `out[place : place + WIDTH]`, of int32."""

    def emit(context, builder, sig, args):
        value = repeat(builder, builder.trunc(args[0], INT), WIDTH)
        write(builder, value, address(context, builder, sig, args, 1, args[2]))
        return context.get_dummy_value()

    return types.void(types.int64, out, types.int64), emit


# -- tables ------------------------------------------------------------------------------------------------------------


def _mixed(builder, a, b, fours):
    """Place by place, numbers of a (0 to 3) and b (4 to 7) in each group of four."""
    places = [group + k % 4 + WIDTH * (k // 4) for group in range(0, WIDTH, 4) for k in fours]
    return shuffle(builder, a, b, places)


def _mixed_fours(builder, a, b, fours):
    """The same with groups of four in the place of numbers."""
    return shuffle(builder, a, b, [4 * k + number for k in fours for number in range(4)])


def _crossed(builder, mixed, rows, even, odd, low, high):
    a, b, c, d = rows
    ab, cd = [(mixed(builder, *two, even), mixed(builder, *two, odd)) for two in ((a, b), (c, d))]
    return [mixed(builder, ab[k], cd[k], part) for k in range(2) for part in (low, high)]


def crossed_fours(builder, rows):
    """Transpose fours within four rows of `WIDTH` numbers: number 4 g + k of row r becomes number 4 g + r of row k."""
    return _crossed(builder, _mixed, rows, (0, 4, 1, 5), (2, 6, 3, 7), (0, 1, 4, 5), (2, 3, 6, 7))


def transposed(builder, rows):
    """Transpose a square of `WIDTH` by `WIDTH` numbers: fours within fours of rows, then the fours as if numbers."""
    within = [column for k in range(0, WIDTH, 4) for column in crossed_fours(builder, rows[k : k + 4])]
    columns = [None] * WIDTH
    for k in range(4):
        evens, odds = (0, 2, 4, 6), (1, 3, 5, 7)
        columns[k], columns[k + 8], columns[k + 4], columns[k + 12] = _crossed(
            builder, _mixed_fours, within[k::4], evens, odds, evens, odds
        )
    return columns


@intrinsic
def pick_fours(typing_context, table, numbers, at, width, offset):
    """Four lanes: numbers `offset` to `offset + 3` of the rows of a table that `numbers[at : at + WIDTH]` name.

    The table is of float32 and flat, with `width` numbers in a row; `numbers` are of int32.
    """
    lanes = LanesType(WIDTH)

    def emit(context, builder, sig, args):
        _, _, at, width, offset = args
        four = ir.VectorType(FLOAT, 4)
        parts = []
        for k in range(WIDTH):
            number = builder.load(address(context, builder, sig, args, 1, builder.add(at, INDEX(k))))
            place = builder.add(builder.mul(builder.sext(number, INDEX), width), offset)
            parts.append(read(builder, address(context, builder, sig, args, 0, place), four))
        rows = []
        for k in range(4):  # rows k, k + 4, k + 8 and k + 12 behind each other
            a, b, c, d = parts[k::4]
            ab, cd = (shuffle(builder, *two, list(range(8))) for two in ((a, b), (c, d)))
            rows.append(shuffle(builder, ab, cd, list(range(16))))
        columns = crossed_fours(builder, rows)
        return context.make_tuple(builder, sig.return_type, columns)

    return types.UniTuple(lanes, 4)(table, numbers, types.int64, types.int64, types.int64), emit


@intrinsic
def write_rows(typing_context, columns, out, at, stride):
    """Write lane k of `WIDTH` columns to `out[at + k * stride : ... + WIDTH]`, of float32."""

    def emit(context, builder, sig, args):
        rows = transposed(builder, cgutils.unpack_tuple(builder, args[0]))
        for k, row in enumerate(rows):
            place = builder.add(args[2], builder.mul(args[3], INDEX(k)))
            write(builder, row, address(context, builder, sig, args, 1, place))
        return context.get_dummy_value()

    return types.void(columns, out, types.int64, types.int64), emit


@intrinsic
def use_wide_registers(typing_context):
    """Ask for the widest registers there are in the function that calls this.

    On CPUs with AVX-512 LLVM keeps to half of a register's width, since early ones slowed down when all of it was used.
    """

    def emit(context, builder, sig, args):
        # llvmlite knows the attributes without a value only; they are a set of what is printed behind the function.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), emit
