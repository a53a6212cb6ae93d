"""Numbers of many hairs side by side, as one value: `a * b + c` of such values is an instruction or two for all lanes.

A loop over lanes becomes that too where the compiler can prove that no row of an array overlaps another, and reads and
writes every intermediate result that lives longer than one turn of the loop. A value of lanes needs no proof and stays
in registers. It is twice as wide as the widest register that CPUs have: each operation becomes (at least) two that do
not wait for each other, which fills the time that a chain of operations spends waiting for itself. Where registers are
narrower the compiler makes more operations of one.

In kernels only; plain Python knows none of this.
"""

# mypy: allow-untyped-defs

import operator

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

HALF = 16  # float32 numbers in the widest register that CPUs have
LANES = 2 * HALF
QUARTER = HALF // 2
FASTMATH = ("contract", "arcp", "nsz", "afn")

FLOAT, INT, INDEX = ir.FloatType(), ir.IntType(32), ir.IntType(64)

in_lanes = njit(cache=True, error_model="numpy", forceinline=True)


class LanesType(types.Type):
    """Numbers of float32, `count` of them."""

    def __init__(self, count):
        self.count = count
        super().__init__(name=f"Lanes({count})")


ALL, FOUR = LanesType(LANES), LanesType(4)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, of_type):
        super().__init__(manager, of_type, ir.VectorType(FLOAT, of_type.count))


class _OfTwo(AbstractTemplate):
    def generic(self, args, kws):
        is_known = len(args) == 2 and isinstance(args[0], LanesType) and args[0] == args[1]
        return signature(args[0], *args) if is_known else None


def _register(operation, instruction):
    infer_global(operation)(type(f"_Lanes_{instruction}", (_OfTwo,), {"key": operation}))

    @lower_builtin(operation, LanesType, LanesType)
    def emit(context, builder, sig, args):
        return getattr(builder, instruction)(*args, flags=FASTMATH)


for _operation, _instruction in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):
    _register(_operation, _instruction)


def _address(context, builder, sig, args, position, index):
    """Where element `index` of the array in argument `position` is."""
    array = context.make_array(sig.args[position])(context, builder, args[position])
    return builder.gep(array.data, [index])


def _read(builder, address, count):
    return builder.load(builder.bitcast(address, ir.VectorType(FLOAT, count).as_pointer()), align=4)


def _write(builder, value, address):
    builder.store(value, builder.bitcast(address, value.type.as_pointer()), align=4)


def _shuffle(builder, a, b, places):
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(INT, len(places)), places))


def _repeat(builder, number, count):
    none = ir.Constant(ir.VectorType(FLOAT, count), ir.Undefined)
    return _shuffle(builder, builder.insert_element(none, number, INT(0)), none, [0] * count)


@intrinsic
def load(typing_context, rows, at):
    """Read a row, `rows[at : at + LANES]`."""

    def emit(context, builder, sig, args):
        return _read(builder, _address(context, builder, sig, args, 0, args[1]), LANES)

    return ALL(rows, types.int64), emit


@intrinsic
def load_four(typing_context, numbers, at):
    """Read `numbers[at : at + 4]`: a vector and whatever is behind it."""

    def emit(context, builder, sig, args):
        return _read(builder, _address(context, builder, sig, args, 0, args[1]), 4)

    return FOUR(numbers, types.int64), emit


@intrinsic
def store(typing_context, rows, at, value):
    """Write a row, `rows[at : at + LANES]`, or four numbers."""

    def emit(context, builder, sig, args):
        _write(builder, args[2], _address(context, builder, sig, args, 0, args[1]))
        return context.get_dummy_value()

    return types.void(rows, types.int64, value), emit


@intrinsic
def spread(typing_context, number):
    """Give all lanes the same number."""

    def emit(context, builder, sig, args):
        return _repeat(builder, args[0], LANES)

    return ALL(types.float32), emit


@intrinsic
def spread_four(typing_context, number):
    """The same number four times."""

    def emit(context, builder, sig, args):
        return _repeat(builder, args[0], 4)

    return FOUR(types.float32), emit


@intrinsic
def spread_parts(typing_context, numbers, starts, offset):
    """Give each part of the lanes a number of its own, `numbers[start + offset]`; as many parts as there are starts."""

    def emit(context, builder, sig, args):
        parts = []
        for start in cgutils.unpack_tuple(builder, args[1]):
            number = builder.load(_address(context, builder, sig, args, 0, builder.add(start, args[2])))
            parts.append(_repeat(builder, number, LANES // sig.args[1].count))
        while len(parts) > 1:  # two by two
            places = list(range(2 * parts[0].type.count))
            parts = [_shuffle(builder, *parts[k : k + 2], places) for k in range(0, len(parts), 2)]
        return parts[0]

    return ALL(numbers, starts, types.int64), emit


@intrinsic
def inverse_root(typing_context, value):
    """One over the square root, to within rounding: by the CPU's estimate and a Newton step, where it has one."""

    def emit(context, builder, sig, args):
        kind = ir.FunctionType(args[0].type, [args[0].type])
        square_root = cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{LANES}f32")
        root = builder.call(square_root, args, fastmath=FASTMATH)
        return builder.fdiv(_repeat(builder, ir.Constant(FLOAT, 1.0), LANES), root, flags=FASTMATH)

    return value(value), emit


def _fetch(context, builder, sig, args, will_write):
    address = builder.bitcast(_address(context, builder, sig, args, 0, args[1]), ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [address.type, INT, INT, INT])
    prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(prefetch, [address, INT(will_write), INT(3), INT(1)])  # into the nearest cache, as data
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


def _transposed(builder, rows):
    """Transpose a square of `HALF` by `HALF` numbers: fours within fours of rows, then the fours as if numbers."""

    def mix(a, b, fours):
        """Place by place, numbers of a (0 to 3) and b (4 to 7) in each group of four."""
        places = [group + k % 4 + HALF * (k // 4) for group in range(0, HALF, 4) for k in fours]
        return _shuffle(builder, a, b, places)

    def mix_fours(a, b, fours):
        """The same with groups of four in the place of numbers."""
        return _shuffle(builder, a, b, [4 * k + number for k in fours for number in range(4)])

    def cross(a, b, c, d, mixed, even, odd, low, high):
        ab, cd = (mixed(a, b, even), mixed(a, b, odd)), (mixed(c, d, even), mixed(c, d, odd))
        return [mixed(ab[k], cd[k], part) for k in range(2) for part in (low, high)]

    within = [None] * HALF
    for k in range(0, HALF, 4):
        within[k : k + 4] = cross(*rows[k : k + 4], mix, (0, 4, 1, 5), (2, 6, 3, 7), (0, 1, 4, 5), (2, 3, 6, 7))
    columns = [None] * HALF
    for k in range(4):
        evens, odds = (0, 2, 4, 6), (1, 3, 5, 7)
        columns[k], columns[k + 8], columns[k + 4], columns[k + 12] = cross(
            *within[k::4], mix_fours, evens, odds, evens, odds
        )
    return columns


@intrinsic
def store_columns(typing_context, rows, at, places, first, width, offset, out):
    """Write `HALF` numbers of each of `HALF` lanes, one behind the other.

    Of lane k the numbers `rows[at + k + LANES * i]` to `out[places[first + k] * width + offset + i]`.
    """

    def emit(context, builder, sig, args):
        _, at, _, first, width, offset, _ = args
        read = [
            _read(builder, _address(context, builder, sig, args, 0, builder.add(at, INDEX(LANES * i))), HALF)
            for i in range(HALF)
        ]
        for k, column in enumerate(_transposed(builder, read)):
            place = builder.load(_address(context, builder, sig, args, 2, builder.add(first, INDEX(k))))
            start = builder.add(builder.mul(builder.sext(place, INDEX), width), offset)
            _write(builder, column, _address(context, builder, sig, args, 6, start))
        return context.get_dummy_value()

    integer = types.int64
    return types.void(rows, integer, places, integer, integer, integer, out), emit


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
