"""Building blocks of LLVM code for the operations of this folder: shuffles, places in arrays, reads and writes."""

# mypy: allow-untyped-defs

from mane.simd.jit import FASTMATH
from mane.simd.numba_internals import array_of, checks_bounds, ir, raise_error
from mane.simd.types import INDEX, INT, VectorType, common_type

FLAGS = tuple(sorted(FASTMATH))  # of every arithmetic instruction
BEYOND = "lanes are beyond the end of an array"


def shuffle(builder, a, b, places):
    """Numbers of two vectors in another order; those of b count from the length of a."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(INT, len(places)), places))


def repeat(builder, number, count):
    """A vector of the same number."""
    none = ir.Constant(ir.VectorType(number.type, count), ir.Undefined)
    return shuffle(builder, builder.insert_element(none, number, INT(0)), none, [0] * count)


def joined(builder, parts):
    """Vectors one behind the other, as one; a power of two of them."""
    while len(parts) > 1:
        size = 2 * parts[0].type.count
        parts = [shuffle(builder, *parts[k : k + 2], list(range(size))) for k in range(0, len(parts), 2)]
    return parts[0]


def widened(context, builder, sig, args):
    """Two arguments as vectors: a single number in all lanes."""
    vector = common_type(sig.args)
    for kind, value in zip(sig.args, args, strict=True):
        if isinstance(kind, VectorType):
            yield value
        else:
            yield repeat(builder, context.cast(builder, value, kind, vector.number), vector.count)


def address(context, builder, sig, args, position, index, count=1):
    """Where element `index` of the array in argument `position` is, and `count` of them behind each other.

    With NUMBA_BOUNDSCHECK it is checked that the array has so many, as for any index in a kernel; not for a count of 0.
    """
    array = array_of(context, builder, sig.args[position], args[position])
    if checks_bounds() and count:
        is_below = builder.icmp_signed("<", index, INDEX(0))
        is_beyond = builder.icmp_signed(">", builder.add(index, INDEX(count)), array.nitems)
        with builder.if_then(builder.or_(is_below, is_beyond), likely=False):
            raise_error(context, builder, IndexError, BEYOND)
    return builder.gep(array.data, [index])


def read(builder, place, kind):
    """Read a vector of this type, which need not lie on a boundary."""
    return builder.load(builder.bitcast(place, kind.as_pointer()), align=1)


def write(builder, value, place):
    """Write a vector."""
    builder.store(value, builder.bitcast(place, value.type.as_pointer()), align=1)


# -- transpositions --------------------------------------------------------------------------------------------------


def _mixed(builder, a, b, fours):
    """Place by place, numbers of a (0 to 3) and b (4 to 7) in each group of four."""
    width = a.type.count
    places = [group + k % 4 + width * (k // 4) for group in range(0, width, 4) for k in fours]
    return shuffle(builder, a, b, places)


def _mixed_fours(builder, a, b, fours):
    """The same with groups of four in the place of numbers."""
    return shuffle(builder, a, b, [4 * k + number for k in fours for number in range(4)])


def _crossed(builder, mixed, rows, even, odd, low, high):
    a, b, c, d = rows
    ab, cd = [(mixed(builder, *two, even), mixed(builder, *two, odd)) for two in ((a, b), (c, d))]
    return [mixed(builder, ab[k], cd[k], part) for k in range(2) for part in (low, high)]


def transpose_4x4(builder, rows):
    """Transpose fours within four rows: number 4 g + k of row r becomes number 4 g + r of row k."""
    return _crossed(builder, _mixed, rows, (0, 4, 1, 5), (2, 6, 3, 7), (0, 1, 4, 5), (2, 3, 6, 7))


def transposed(builder, rows):
    """Transpose a square of 16 by 16 numbers: fours within fours of rows, then the fours as if numbers."""
    width = len(rows)
    within = [column for k in range(0, width, 4) for column in transpose_4x4(builder, rows[k : k + 4])]
    columns = [None] * width
    for k in range(4):
        evens, odds = (0, 2, 4, 6), (1, 3, 5, 7)
        columns[k], columns[k + 8], columns[k + 4], columns[k + 12] = _crossed(
            builder, _mixed_fours, within[k::4], evens, odds, evens, odds
        )
    return columns


def transpose_8x8(builder, rows):
    """Transpose a square of 8 by 8 numbers."""
    rows = _crossed_apart(builder, rows, 1, (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15))
    for apart in (2, 4):  # pairs in the place of numbers
        rows = _crossed_apart(builder, rows, apart, (0, 1, 4, 5, 8, 9, 12, 13), (2, 3, 6, 7, 10, 11, 14, 15))
    return rows


def _crossed_apart(builder, values, apart, firsts, seconds):
    """Of each two values that are `apart`, numbers of both: those at `firsts` and those at `seconds`."""
    result = list(values)
    for k in range(len(values)):
        if not k & apart:
            two = values[k], values[k | apart]
            result[k], result[k | apart] = shuffle(builder, *two, firsts), shuffle(builder, *two, seconds)
    return result
