"""Eight numbers side by side in kernels: against the same sums in NumPy, and functions against those of `math`."""

import math

import numpy as np
import pytest
from numba import njit

from mane.simd.f64x8 import WIDTH, add_points, add_symmetric, gather_pairs, load, load_points, shift_up, store_points
from mane.simd.masks import select
from mane.simd.math import copysign, exp, log, maximum, sqrt
from mane.simd.memory import store
from mane.simd.reductions import reduce_max

EPS = np.finfo(np.float64).eps


@njit(error_model="numpy")
def _sums(rows, out):
    a, b = load(rows, 0), load(rows, WIDTH)
    store(out, 0, (2.0 * a - b) * (a + 1.0))
    store(out, WIDTH, 1.0 / b - a / b)
    store(out, 2 * WIDTH, select(a < b, a, maximum(a, b) * 3.0))
    store(out, 3 * WIDTH, 1.0 / sqrt(b))
    store(out, 4 * WIDTH, -sqrt(b))
    store(out, 5 * WIDTH, copysign(a, -b))
    store(out, 6 * WIDTH, shift_up(a, b))
    return reduce_max(a)


@njit(error_model="numpy")
def _functions(numbers, logarithms, powers):
    for k in range(0, len(numbers), WIDTH):
        logarithm = log(load(numbers, k))
        store(logarithms, k, logarithm)
        store(powers, k, exp(0.11 * logarithm))


@njit(error_model="numpy")
def _add(points, start, limit, sixes):
    x, y, z = load_points(points, 3 * start, limit)
    add_points(points, 3 * start, limit, 2.0 * x, 3.0 * y, 4.0 * z)
    add_symmetric(sixes, 6 * start, 2 * limit, x, y, z, 10.0 * x, 10.0 * y, 10.0 * z)


@njit(error_model="numpy")
def _pick(rows, numbers, out):
    a, b = gather_pairs(rows, WIDTH, numbers, 2)
    store_points(out, 1, a, b, a + b)


def test_sums_are_those_of_every_lane():
    a, b = np.random.default_rng(0).uniform(0.5, 2.0, (2, WIDTH))
    out = np.zeros((7, WIDTH))
    assert _sums(np.concatenate([a, b]), out.reshape(-1)) == a.max()
    expected = [(2 * a - b) * (a + 1), (1 - a) / b, np.where(a < b, a, 3 * a), 1 / np.sqrt(b), -np.sqrt(b), -a]
    # Terms of a few units, each rounded, some not where two operations are one.
    np.testing.assert_allclose(out[:6], expected, rtol=0, atol=20 * EPS)
    np.testing.assert_array_equal(out[6], [b[-1], *a[:-1]])


@pytest.mark.parametrize("count", [8, 5, 1])
def test_vectors_are_read_and_added_to_and_nothing_beyond_the_limit(count):
    start = 2
    points = np.random.default_rng(1).normal(size=(start + WIDTH + 3, 3))
    sixes = np.zeros((len(points), 6))
    changed = points.copy()
    _add(changed.reshape(-1), start, 3 * (start + count), sixes.reshape(-1))
    expected, expected_sixes = points.copy(), np.zeros_like(sixes)
    known = slice(start, start + count)
    expected[known] += points[known] * [2, 3, 4]
    expected_sixes[known] = np.concatenate([points[known], 10 * points[known]], axis=1)
    np.testing.assert_allclose(changed, expected, rtol=2 * EPS)
    np.testing.assert_array_equal(sixes, expected_sixes)


def test_each_lane_picks_from_its_own_place():
    places = np.random.default_rng(2).permutation(30)[:WIDTH]
    rows, numbers, out = np.zeros(2 * WIDTH), np.arange(40.0) ** 2, np.zeros(3 * WIDTH + 2)
    rows[WIDTH:] = places.view(np.float64)
    _pick(rows, numbers, out)
    a, b = numbers[places + 2], numbers[places + 3]
    np.testing.assert_array_equal(out[1:-1].reshape(WIDTH, 3), np.stack([a, b, a + b], axis=1))
    assert out[0] == 0
    assert out[-1] == 0


def test_logarithms_and_powers_are_those_of_math_over_many_decades():
    numbers = 10.0 ** np.random.default_rng(3).uniform(-30, 30, 8000)
    numbers[:5] = 1.0, math.sqrt(0.5), math.sqrt(2.0), 1 + 1e-9, 1 - 1e-9
    logarithms, powers = np.zeros((2, len(numbers)))
    _functions(numbers, logarithms, powers)
    expected = np.array([math.log(number) for number in numbers])
    np.testing.assert_allclose(logarithms, expected, rtol=2 * EPS, atol=2 * EPS)
    # The power's argument is known to a rounding of up to 70 * 0.11.
    np.testing.assert_allclose(powers, [math.pow(number, 0.11) for number in numbers], rtol=10 * EPS)


def test_the_logarithm_of_zero_is_that_of_less_than_any_number():
    numbers, logarithms, powers = np.zeros((3, WIDTH))
    _functions(numbers, logarithms, powers)
    np.testing.assert_allclose(logarithms, -1023 * math.log(2), rtol=1e-3)
