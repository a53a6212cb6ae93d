"""Eight float64 numbers as one vector: rows of a buffer, and points one behind the other in an array.

What lies in an array as x, y, z of one point after the other becomes a vector of all x, one of all y and one of all z;
on the way back each point gets its own again. `limit` is where the array ends: lanes beyond it read zeros and write
nothing.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd import plain
from mane.simd.align import empty_in_kernel
from mane.simd.emit import FLAGS, address, joined, read, repeat, shuffle, write
from mane.simd.jit import inline, njit
from mane.simd.memory import broadcaster, loader, store
from mane.simd.numba_internals import call_llvm, intrinsic, ir, types
from mane.simd.types import DOUBLE, INDEX, INT, VectorType, llvm_vector

WIDTH = 8
F64X8 = VectorType(WIDTH, types.float64)
NUMBERS, INDICES = llvm_vector(F64X8), ir.VectorType(INDEX, WIDTH)
POINTER = INDEX.as_pointer()
load = loader(WIDTH)
broadcast = broadcaster(F64X8)


@njit(cache=True)
def empty_rows(count):
    """Room for rows, which begin where lines of the cache do; for kernels."""
    return empty_in_kernel(count * WIDTH, np.float64)


@inline
def load_row(rows, at, number):
    """Read one of the rows that begin at `rows[at]`."""
    return load(rows, at + WIDTH * number)


@inline
def store_row(rows, at, number, value):
    """Write one of the rows that begin at `rows[at]`."""
    store(rows, at + WIDTH * number, value)


@intrinsic(plain.shift_up)
def shift_up(typing_context, value, before):
    """Each lane gets what the one before it has; the first gets what the last of `before` has."""

    def emit(context, builder, sig, args):
        return shuffle(builder, args[1], args[0], list(range(WIDTH - 1, 2 * WIDTH - 1)))

    return F64X8(F64X8, F64X8), emit


def _known(builder, at, limit):
    """Which of the eight places from `at` on are before `limit`."""
    steps = ir.Constant(INDICES, list(range(WIDTH)))
    left = repeat(builder, builder.sub(limit, at), WIDTH)
    return builder.icmp_signed("<", steps, left)


def _read_known(builder, place, known):
    nothing = ir.Constant(NUMBERS, [0.0] * WIDTH)
    args = [builder.bitcast(place, POINTER), INT(8), known, nothing]
    return call_llvm(builder, "llvm.masked.load.v8f64.p0", NUMBERS, args)


def _add_known(builder, place, known, value):
    sums = builder.fadd(_read_known(builder, place, known), value, flags=FLAGS)
    args = [sums, builder.bitcast(place, POINTER), INT(8), known]
    call_llvm(builder, "llvm.masked.store.v8f64.p0", ir.VoidType(), args)


def _picked(builder, sources, places):
    """Eight numbers, each from a place (source, lane)."""
    first = [lane + WIDTH * source if source < 2 else 0 for source, lane in places]
    value = shuffle(builder, sources[0], sources[1], first)
    for number in range(2, len(sources)):
        keep = [WIDTH + lane if source == number else k for k, (source, lane) in enumerate(places)]
        value = shuffle(builder, value, sources[number], keep)
    return value


def _apart(builder, numbers):
    """All x, all y and all z of eight vectors that lie one behind the other in three rows."""
    return [_picked(builder, numbers, [divmod(3 * lane + axis, WIDTH) for lane in range(WIDTH)]) for axis in range(3)]


def _together(builder, parts, unit=1):
    """Three rows of what takes turns between three parts, `unit` numbers at a time."""

    def place(number):
        turn, within = divmod(number, unit)
        return turn % 3, turn // 3 * unit + within

    return [_picked(builder, parts, [place(WIDTH * row + k) for k in range(WIDTH)]) for row in range(3)]


@intrinsic(plain.load_points)
def load_points(typing_context, points, at, limit):
    """Read eight points, the first from `points[at : at + 3]`: all x, all y, all z."""

    def emit(context, builder, sig, args):
        rows = []
        for row in range(3):
            start = builder.add(args[1], INDEX(WIDTH * row))
            place = address(context, builder, sig, args, 0, start, 0)
            rows.append(_read_known(builder, place, _known(builder, start, args[2])))
        return context.make_tuple(builder, sig.return_type, _apart(builder, rows))

    return types.UniTuple(F64X8, 3)(points, types.int64, types.int64), emit


def _add_rows(context, builder, sig, args, rows):
    for number, row in enumerate(rows):
        start = builder.add(args[1], INDEX(WIDTH * number))
        place = address(context, builder, sig, args, 0, start, 0)
        _add_known(builder, place, _known(builder, start, args[2]), row)
    return context.get_dummy_value()


@intrinsic(plain.add_points)
def add_points(typing_context, points, at, limit, x, y, z):
    """Add to eight points, the first at `points[at : at + 3]`."""

    def emit(context, builder, sig, args):
        return _add_rows(context, builder, sig, args, _together(builder, args[3:]))

    return types.void(points, types.int64, types.int64, F64X8, F64X8, F64X8), emit


@intrinsic(plain.add_symmetric)
def add_symmetric(typing_context, numbers, at, limit, a, b, c, d, e, f):
    """Add to eight times six numbers, the first at `numbers[at : at + 6]`."""

    def emit(context, builder, sig, args):
        parts = args[3:]
        rows = []
        for half in (range(4), range(4, WIDTH)):
            taking_turns = [lane + WIDTH * part for lane in half for part in range(2)]
            pairs = [shuffle(builder, parts[k], parts[k + 1], taking_turns) for k in (0, 2, 4)]
            rows += _together(builder, pairs, unit=2)
        return _add_rows(context, builder, sig, args, rows)

    return types.void(numbers, types.int64, types.int64, *[F64X8] * 6), emit


@intrinsic(plain.store_points)
def store_points(typing_context, points, at, x, y, z):
    """Write eight points, the first to `points[at : at + 3]`."""

    def emit(context, builder, sig, args):
        for number, row in enumerate(_together(builder, args[2:])):
            start = builder.add(args[1], INDEX(WIDTH * number))
            write(builder, row, address(context, builder, sig, args, 0, start, WIDTH))
        return context.get_dummy_value()

    return types.void(points, types.int64, F64X8, F64X8, F64X8), emit


@intrinsic(plain.gather_pairs)
def gather_pairs(typing_context, places, at, numbers, offset):
    """Two numbers for each lane, `numbers[place + offset]` and the one behind it.

    The eight places are whole numbers in the bits of `places[at : at + 8]`. CPUs read two neighbours at once, and fit
    them together faster than they gather numbers one by one.
    """

    def emit(context, builder, sig, args):
        two = ir.VectorType(DOUBLE, 2)
        pairs = []
        for lane in range(WIDTH):
            index = address(context, builder, sig, args, 0, builder.add(args[1], INDEX(lane)))
            place = builder.load(builder.bitcast(index, POINTER))
            pairs.append(read(builder, address(context, builder, sig, args, 2, builder.add(place, args[3]), 2), two))
        even, odd = (joined(builder, pairs[first::2]) for first in (0, 1))
        both = [
            shuffle(builder, even, odd, [lane - lane % 2 + number + lane % 2 * WIDTH for lane in range(WIDTH)])
            for number in range(2)
        ]
        return context.make_tuple(builder, sig.return_type, both)

    return types.UniTuple(F64X8, 2)(places, types.int64, numbers, types.int64), emit
