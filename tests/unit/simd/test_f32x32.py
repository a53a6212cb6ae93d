"""Thirty-two numbers as one vector: parts, roots, columns; against the same in NumPy."""

import numpy as np
from numba import njit

from mane.simd.f32x32 import HALF, LANES, QUARTER, broadcast, broadcast_parts, load, scatter_columns
from mane.simd.math import rsqrt
from mane.simd.memory import prefetch_read, prefetch_write, store

EPS = np.finfo(np.float32).eps


@njit(error_model="numpy")
def _sums(rows, numbers, out):
    a, b = load(rows, 0), load(rows, LANES)
    store(out, 0, a + b)
    store(out, LANES, a - b)
    store(out, 2 * LANES, a * b)
    store(out, 3 * LANES, broadcast(numbers[1]))
    store(out, 4 * LANES, broadcast_parts(numbers, (0, 1), 1))
    store(out, 6 * LANES, broadcast_parts(numbers, (2, 0, 0, 1), 0))
    store(out, 5 * LANES, rsqrt(b))


@njit(error_model="numpy")
def _columns(rows, at, places, first, width, offset, out):
    prefetch_read(rows, at)
    prefetch_write(out, offset)
    scatter_columns(rows, at, places, first, width, offset, out)


def test_sums_are_those_of_every_lane():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2, LANES)).astype(np.float32)
    rows[1] = 10.0 ** rng.uniform(-30, 30, LANES)
    numbers = np.array([3, 5, 7], np.float32)
    out = np.zeros((7, LANES), np.float32)
    _sums(rows.reshape(-1), numbers, out.reshape(-1))
    np.testing.assert_array_equal(out[:3], [rows[0] + rows[1], rows[0] - rows[1], rows[0] * rows[1]])
    np.testing.assert_array_equal(out[3], 5)
    np.testing.assert_array_equal(out[4], np.repeat([5, 7], HALF))
    np.testing.assert_array_equal(out[6], np.repeat([7, 3, 3, 5], QUARTER))
    # An estimate of 14 digits and one Newton step: the square of 2^-14, and the rounding of four operations.
    np.testing.assert_allclose(out[5], 1 / np.sqrt(rows[1].astype(np.float64)), rtol=1.5 * 2.0**-28 + 4 * EPS)


def test_columns_go_to_the_places_of_their_lanes_and_nowhere_else():
    rng = np.random.default_rng(1)
    at, first, width, offset = LANES + HALF, 3, 25, 5
    rows = rng.normal(size=(HALF + 2, LANES)).astype(np.float32)
    places = rng.permutation(40)[: HALF + first].astype(np.int32)
    out = np.zeros((40, width), np.float32)
    _columns(rows.reshape(-1), at, places, first, width, offset, out.reshape(-1))
    expected = np.zeros_like(out)
    expected[places[first:], offset : offset + HALF] = rows[1:-1, HALF:].T
    np.testing.assert_array_equal(out, expected)
