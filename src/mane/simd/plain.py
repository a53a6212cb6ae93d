"""Vectors and masks in plain Python, on NumPy arrays: what kernels compute with where the compiler is off.

With NUMBA_DISABLE_JIT=1 a kernel is the Python function that one reads, and a debugger can stop in it. `Vector` and
`Mask` then stand for the types of the compiler, and every operation of this folder is the function of the same name
here. Results are those of compiled kernels but for rounding: NumPy contracts no products and estimates no roots.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math
import operator

import numpy as np

BEYOND = "lanes are beyond the end of an array"
EXPONENT = 52  # bits below it in a float64
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD


class Vector:
    """Numbers of float32 or float64 side by side; a single number takes part in all lanes."""

    __array_ufunc__ = None  # numbers of NumPy leave operators to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, lanes):
        self.lanes = lanes

    def __repr__(self):
        return f"Vector({self.lanes.tolist()})"

    def like(self, other):
        """Another vector's lanes, or a number, in this one's precision."""
        return other.lanes if isinstance(other, Vector) else self.lanes.dtype.type(other)

    def __neg__(self):
        return Vector(-self.lanes)


class Mask:
    """A yes or no for each lane."""

    def __init__(self, lanes):
        self.lanes = lanes

    def __repr__(self):
        return f"Mask({self.lanes.tolist()})"

    def __bool__(self):
        raise TypeError("a mask is a yes or no for each lane: use select")

    def __and__(self, other):
        return Mask(self.lanes & other.lanes)

    def __or__(self, other):
        return Mask(self.lanes | other.lanes)

    def __invert__(self):
        return Mask(~self.lanes)


def _operator(function, kind):
    def forward(self, other):
        with np.errstate(all="ignore"):
            return kind(function(self.lanes, self.like(other)))

    def backward(self, other):
        with np.errstate(all="ignore"):
            return kind(function(self.like(other), self.lanes))

    return forward, backward


for _name in ("add", "sub", "mul", "truediv"):
    _forward, _backward = _operator(getattr(operator, _name), Vector)
    setattr(Vector, f"__{_name}__", _forward)
    setattr(Vector, f"__r{_name}__", _backward)
for _name in ("lt", "le", "gt", "ge", "eq"):
    setattr(Vector, f"__{_name}__", _operator(getattr(operator, _name), Mask)[0])
setattr(Vector, "__ne__", _operator(lambda a, b: (a < b) | (a > b), Mask)[0])  # noqa: B010 - of NaN a no, as compiled


def _slice(array, at, count):
    """`count` numbers of a flat array from `at` on; raises IndexError where it has fewer."""
    at = int(at)
    if at < 0 or at + count > array.size:
        raise IndexError(BEYOND)
    return array.reshape(-1)[at : at + count]


# -- memory ------------------------------------------------------------------------------------------------------------


def loader(count):
    """See `memory.loader`."""
    return lambda rows, at: Vector(_slice(rows, at, count).copy())


def broadcaster(count, dtype):
    """See `memory.broadcaster`."""
    return lambda number: Vector(np.full(count, number, dtype))


def broadcast_like(vector, number):
    """See `memory.broadcast_like`."""
    return Vector(np.full_like(vector.lanes, number))


def store(rows, at, value):
    """See `memory.store`."""
    _slice(rows, at, len(value.lanes))[:] = value.lanes


def prefetch(array, at):
    """Do nothing: there is no cache to fill in time."""


def stay_out_of_line():
    """See `memory.stay_out_of_line`."""


def use_wide_registers():
    """Do nothing: there are no registers."""


# -- masks -------------------------------------------------------------------------------------------------------------


def select(mask, a, b):
    """See `masks.select`."""
    if not isinstance(mask, Mask):
        return a if mask else b
    vector = a if isinstance(a, Vector) else b
    return Vector(np.where(mask.lanes, vector.like(a), vector.like(b)))


def first_lanes_maker(width):
    """See `masks.first_lanes_maker`."""
    return lambda count: Mask(np.arange(width) < count)


def mask_loader(width):
    """See `masks.mask_loader`."""
    return lambda marks, at: Mask(_slice(marks, at, width) != 0)


def mask_bits(mask):
    """See `masks.mask_bits`."""
    return int((mask.lanes * (1 << np.arange(len(mask.lanes), dtype=np.int64))).sum())


def lowest_bit(bits):
    """See `masks.lowest_bit`."""
    return (int(bits) & -int(bits)).bit_length() - 1 if bits else 64


def clear_marks(mask, marks, at):
    """See `masks.clear_marks`."""
    _slice(marks, at, len(mask.lanes))[mask.lanes] = 0


# -- functions ---------------------------------------------------------------------------------------------------------


def _pair(a, b):
    vector = a if isinstance(a, Vector) else b
    return vector.like(a), vector.like(b)


def minimum(a, b):
    """See `math.minimum`."""
    x, y = _pair(a, b)
    return Vector(np.where(x < y, x, y))


def maximum(a, b):
    """See `math.maximum`."""
    x, y = _pair(a, b)
    return Vector(np.where(x > y, x, y))


def copysign(a, b):
    """See `math.copysign`."""
    return Vector(np.copysign(*_pair(a, b)))


def absolute(value):
    """See `math.absolute`."""
    return Vector(abs(value.lanes))


def sqrt(value):
    """See `math.sqrt`; of a number as well."""
    if not isinstance(value, Vector):
        return math.sqrt(value)
    with np.errstate(all="ignore"):
        return Vector(np.sqrt(value.lanes))


def rsqrt(value):
    """See `math.rsqrt`."""
    return 1.0 / sqrt(value)


def to_float32(value):
    """See `math.to_float32`."""
    return Vector(value.lanes.astype(np.float32))


def split_exponent(value):
    """See `math.split_exponent`."""
    bits = value.lanes.view(np.int64)
    power = (bits - ROOT_HALF_BITS) >> EXPONENT
    return Vector((bits - (power << EXPONENT)).view(np.float64)), Vector(power.astype(np.float64))


def exp2_rounded(value):
    """See `math.exp2_rounded`."""
    whole = np.rint(value.lanes)
    return Vector(whole), Vector(np.exp2(whole))


def reduce_max(value):
    """See `reductions.reduce_max`."""
    return value.lanes.max()


def reduce_min(value):
    """See `reductions.reduce_min`."""
    return value.lanes.min()


def reduce_sum(value):
    """See `reductions.reduce_sum`."""
    lanes = value.lanes
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
    return lanes[0]


# -- f64x8 -------------------------------------------------------------------------------------------------------------


def shift_up(value, before):
    """See `f64x8.shift_up`."""
    return Vector(np.concatenate([before.lanes[-1:], value.lanes[:-1]]))


def _known(numbers, at, limit, count):
    """Those of `count` numbers from `at` on that are before `limit`."""
    return _slice(numbers, at, max(0, min(count, int(limit) - int(at))))


def load_points(points, at, limit):
    """See `f64x8.load_points`."""
    known = _known(points, at, limit, 24)
    return tuple(Vector(axis) for axis in np.append(known, np.zeros(24 - len(known))).reshape(8, 3).T.copy())


def _add_interleaved(numbers, at, limit, *parts):
    values = np.stack([part.lanes for part in parts], axis=1).reshape(-1)
    known = _known(numbers, at, limit, len(values))
    known += values[: len(known)]


add_points = add_symmetric = _add_interleaved


def store_points(points, at, x, y, z):
    """See `f64x8.store_points`."""
    _slice(points, at, 24)[:] = np.stack([x.lanes, y.lanes, z.lanes], axis=1).reshape(-1)


def gather_pairs(places, at, numbers, offset):
    """See `f64x8.gather_pairs`."""
    first = _slice(places, at, 8).view(np.int64) + int(offset)
    numbers = numbers.reshape(-1)
    return Vector(numbers[first]), Vector(numbers[first + 1])


# -- f64x4 -------------------------------------------------------------------------------------------------------------


def from_numbers(a, b, c, d):
    """See `f64x4.from_numbers`."""
    return Vector(np.array([a, b, c, d], np.float64))


def extract(value, number):
    """See `f64x4.extract`."""
    return value.lanes[number]


# -- f32x16 ------------------------------------------------------------------------------------------------------------


def _compress(mask, numbers, out, place):
    count = int(np.count_nonzero(mask.lanes))
    row = _slice(out, place, len(mask.lanes))
    row[:count], row[count:] = numbers[mask.lanes], 0
    return int(place) + count


def compress_numbers(mask, numbers, at, out, place):
    """See `f32x16.compress_numbers`."""
    return _compress(mask, _slice(numbers, at, len(mask.lanes)), out, place)


def compress_indices(mask, first, out, place):
    """See `f32x16.compress_indices`."""
    return _compress(mask, int(first) + np.arange(len(mask.lanes)), out, place)


def copy_numbers(numbers, at, out, place):
    """See `f32x16.copy_numbers`."""
    _slice(out, place, 16)[:] = _slice(numbers, at, 16)


def fill_numbers(number, out, place):
    """See `f32x16.fill_numbers`."""
    _slice(out, place, 16)[:] = number


def gather_fours(table, numbers, at, width, offset):
    """See `f32x16.gather_fours`."""
    first = _slice(numbers, at, 16).astype(np.int64) * int(width) + int(offset)
    return tuple(Vector(table.reshape(-1)[first + k]) for k in range(4))


def store_transposed(columns, out, at, stride):
    """See `f32x16.store_transposed`."""
    for k in range(16):
        _slice(out, at + k * stride, 16)[:] = [column.lanes[k] for column in columns]


# -- f32x32 ------------------------------------------------------------------------------------------------------------


def broadcast_parts(numbers, starts, offset):
    """See `f32x32.broadcast_parts`."""
    first = np.array([int(start) + int(offset) for start in starts])
    return Vector(np.repeat(numbers.reshape(-1)[first], 32 // len(starts)))


def scatter_columns(rows, at, places, first, width, offset, out):
    """See `f32x32.scatter_columns`."""
    square = np.stack([_slice(rows, at + 32 * i, 16) for i in range(16)], axis=1)
    for k in range(16):
        _slice(out, int(places[first + k]) * int(width) + int(offset), 16)[:] = square[k]


# -- rows --------------------------------------------------------------------------------------------------------------


def copy_transposed(source, places, target, goals):
    """See `rows.copy_transposed`."""
    square = np.stack([_slice(source, place, 8) for place in places], axis=1)
    for row, goal in zip(square, goals, strict=True):
        _slice(target, goal, 8)[:] = row
