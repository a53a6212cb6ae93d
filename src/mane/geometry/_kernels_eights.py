"""Eight float64 numbers side by side: rows of a buffer, and vectors of eight points one behind the other.

What lies in an array as x, y, z of one point after the other becomes a value of all x, one of all y and one of all z;
on the way back each point gets its own again. `limit` is where the array ends: lanes beyond it read zeros and write
nothing.
"""

# mypy: allow-untyped-defs

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from mane.geometry._kernels_lanes import (
    BIT,
    DOUBLE,
    FASTMATH,
    INDEX,
    INT,
    LanesType,
    address,
    in_lanes,
    loader,
    read,
    repeat,
    shuffle,
    spreader,
    store,
    vector,
    write,
)

EIGHT = 8
ALL = LanesType(EIGHT, types.float64)
load = loader(EIGHT)
spread = spreader(ALL)
NUMBERS, INDICES, MASK = vector(ALL), ir.VectorType(INDEX, EIGHT), ir.VectorType(BIT, EIGHT)
POINTER = INDEX.as_pointer()
ROUNDER = 1.5 * 2.0**52  # a number this large has no fraction: whole numbers added to it are its last bits
ROUNDER_BITS, ROOT_HALF_BITS, ONE_BITS = 0x4338000000000000, 0x3FE6A09E667F3BCD, 0x3FF0000000000000


@njit(cache=True)
def empty_rows(count):
    """Room for rows, which begin where lines of the cache do."""
    room = np.empty((count + 1) * EIGHT)
    start = -room.ctypes.data % (8 * EIGHT) // 8
    return room[start : start + count * EIGHT]


@in_lanes
def load_row(rows, at, number):
    """Read one of the rows that begin at `rows[at]`."""
    return load(rows, at + EIGHT * number)


@in_lanes
def store_row(rows, at, number, value):
    """Write one of the rows that begin at `rows[at]`."""
    store(rows, at + EIGHT * number, value)


@intrinsic
def moved_up(typing_context, value, before):
    """Each lane gets what the one before it has; the first gets what the last of `before` has."""

    def emit(context, builder, sig, args):
        return shuffle(builder, args[1], args[0], list(range(EIGHT - 1, 2 * EIGHT - 1)))

    return ALL(ALL, ALL), emit


def _known(builder, at, limit):
    """Which of the eight places from `at` on are before `limit`."""
    steps = ir.Constant(INDICES, list(range(EIGHT)))
    left = repeat(builder, builder.sub(limit, at), EIGHT)
    return builder.icmp_signed("<", steps, left)


def _read_known(builder, place, known):
    kind = ir.FunctionType(NUMBERS, [POINTER, INT, MASK, NUMBERS])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.masked.load.v8f64.p0")
    nothing = ir.Constant(NUMBERS, [0.0] * EIGHT)
    return builder.call(function, [builder.bitcast(place, POINTER), INT(8), known, nothing])


def _add_known(builder, place, known, value):
    sums = builder.fadd(_read_known(builder, place, known), value, flags=FASTMATH)
    kind = ir.FunctionType(ir.VoidType(), [NUMBERS, POINTER, INT, MASK])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.masked.store.v8f64.p0")
    builder.call(function, [sums, builder.bitcast(place, POINTER), INT(8), known])


def _picked(builder, sources, places):
    """Eight numbers, each from a place (source, lane)."""
    first = [lane + EIGHT * source if source < 2 else 0 for source, lane in places]
    value = shuffle(builder, sources[0], sources[1], first)
    for number in range(2, len(sources)):
        keep = [EIGHT + lane if source == number else k for k, (source, lane) in enumerate(places)]
        value = shuffle(builder, value, sources[number], keep)
    return value


def _apart(builder, numbers):
    """All x, all y and all z of eight vectors that lie one behind the other in three rows."""
    return [_picked(builder, numbers, [divmod(3 * lane + axis, EIGHT) for lane in range(EIGHT)]) for axis in range(3)]


def _together(builder, parts, unit=1):
    """Three rows of what takes turns between three parts, `unit` numbers at a time."""

    def place(number):
        turn, within = divmod(number, unit)
        return turn % 3, turn // 3 * unit + within

    return [_picked(builder, parts, [place(EIGHT * row + k) for k in range(EIGHT)]) for row in range(3)]


@intrinsic
def load_vectors(typing_context, points, at, limit):
    """Read eight vectors, the first from `points[at : at + 3]`: all x, all y, all z."""

    def emit(context, builder, sig, args):
        rows = []
        for row in range(3):
            start = builder.add(args[1], INDEX(EIGHT * row))
            place = address(context, builder, sig, args, 0, start, 0)
            rows.append(_read_known(builder, place, _known(builder, start, args[2])))
        return context.make_tuple(builder, sig.return_type, _apart(builder, rows))

    return types.UniTuple(ALL, 3)(points, types.int64, types.int64), emit


def _add_rows(context, builder, sig, args, rows):
    for number, row in enumerate(rows):
        start = builder.add(args[1], INDEX(EIGHT * number))
        place = address(context, builder, sig, args, 0, start, 0)
        _add_known(builder, place, _known(builder, start, args[2]), row)
    return context.get_dummy_value()


@intrinsic
def add_vectors(typing_context, points, at, limit, x, y, z):
    """Add to eight vectors, the first at `points[at : at + 3]`."""

    def emit(context, builder, sig, args):
        return _add_rows(context, builder, sig, args, _together(builder, args[3:]))

    return types.void(points, types.int64, types.int64, ALL, ALL, ALL), emit


@intrinsic
def add_sixes(typing_context, numbers, at, limit, a, b, c, d, e, f):
    """Add to eight times six numbers, the first at `numbers[at : at + 6]`."""

    def emit(context, builder, sig, args):
        parts = args[3:]
        rows = []
        for half in (range(4), range(4, EIGHT)):
            taking_turns = [lane + EIGHT * part for lane in half for part in range(2)]
            pairs = [shuffle(builder, parts[k], parts[k + 1], taking_turns) for k in (0, 2, 4)]
            rows += _together(builder, pairs, unit=2)
        return _add_rows(context, builder, sig, args, rows)

    return types.void(numbers, types.int64, types.int64, *[ALL] * 6), emit


@intrinsic
def store_vectors(typing_context, points, at, x, y, z):
    """Write eight vectors, the first to `points[at : at + 3]`."""

    def emit(context, builder, sig, args):
        for number, row in enumerate(_together(builder, args[2:])):
            start = builder.add(args[1], INDEX(EIGHT * number))
            write(builder, row, address(context, builder, sig, args, 0, start, EIGHT))
        return context.get_dummy_value()

    return types.void(points, types.int64, ALL, ALL, ALL), emit


@intrinsic
def pick_pairs(typing_context, places, at, numbers, offset):
    """Two numbers for each lane, `numbers[place + offset]` and the one behind it.

    The eight places are whole numbers in the bits of `places[at : at + 8]`. CPUs read two neighbours at once, and fit
    them together faster than they gather numbers one by one.
    """

    def emit(context, builder, sig, args):
        two = ir.VectorType(DOUBLE, 2)
        pairs = []
        for lane in range(EIGHT):
            index = address(context, builder, sig, args, 0, builder.add(args[1], INDEX(lane)))
            place = builder.load(builder.bitcast(index, POINTER))
            pairs.append(read(builder, address(context, builder, sig, args, 2, builder.add(place, args[3]), 2), two))
        even, odd = (_joined(builder, pairs[first::2]) for first in (0, 1))
        both = [
            shuffle(builder, even, odd, [lane - lane % 2 + number + lane % 2 * EIGHT for lane in range(EIGHT)])
            for number in range(2)
        ]
        return context.make_tuple(builder, sig.return_type, both)

    return types.UniTuple(ALL, 2)(places, types.int64, numbers, types.int64), emit


def _joined(builder, parts):
    """Vectors one behind the other, as one."""
    while len(parts) > 1:
        size = 2 * parts[0].type.count
        parts = [shuffle(builder, *parts[k : k + 2], list(range(size))) for k in range(0, len(parts), 2)]
    return parts[0]


@intrinsic
def binary_parts(typing_context, value):
    """Return (m, n) with value = m 2^n, m from the root of a half to the root of two, n a whole number as float64.

    Of numbers above 1e-307; zero counts as 2^-1023.
    """

    def emit(context, builder, sig, args):
        bits = builder.bitcast(args[0], INDICES)
        above = builder.sub(bits, ir.Constant(INDICES, [ROOT_HALF_BITS] * EIGHT))
        power = builder.ashr(above, ir.Constant(INDICES, [52] * EIGHT))
        rest = builder.sub(bits, builder.shl(power, ir.Constant(INDICES, [52] * EIGHT)))
        large = builder.add(power, ir.Constant(INDICES, [ROUNDER_BITS] * EIGHT))
        rounder = ir.Constant(NUMBERS, [ROUNDER] * EIGHT)
        number = builder.fsub(builder.bitcast(large, NUMBERS), rounder)
        return context.make_tuple(builder, sig.return_type, [builder.bitcast(rest, NUMBERS), number])

    return types.UniTuple(ALL, 2)(ALL), emit


@intrinsic
def whole_power(typing_context, value):
    """Return (n, 2^n) with n the whole number nearest to the value, which is between -1022 and 1023."""

    def emit(context, builder, sig, args):
        rounder = ir.Constant(NUMBERS, [ROUNDER] * EIGHT)
        large = builder.fadd(args[0], rounder)
        number = builder.fsub(large, rounder)
        bits = builder.shl(builder.bitcast(large, INDICES), ir.Constant(INDICES, [52] * EIGHT))
        power = builder.add(bits, ir.Constant(INDICES, [ONE_BITS] * EIGHT))
        return context.make_tuple(builder, sig.return_type, [number, builder.bitcast(power, NUMBERS)])

    return types.UniTuple(ALL, 2)(ALL), emit
