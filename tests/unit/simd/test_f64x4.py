"""Four numbers as one value: made, read, picked apart and written."""

import numpy as np
from numba import njit

from mane.simd.f64x4 import extract, from_numbers, load
from mane.simd.memory import store


@njit(error_model="numpy")
def _mix(numbers, out):
    value = load(numbers, 1) * 2.0 + from_numbers(numbers[0], 0.0, 1.0, numbers[5])
    store(out, 1, value)
    return extract(value, 0), extract(value, 3)


def test_four_numbers_are_one_value():
    numbers = np.array([3.0, 5.0, 7.0, 11.0, 13.0, 17.0])
    out = np.zeros(6)
    assert _mix(numbers, out) == (13.0, 43.0)
    np.testing.assert_array_equal(out, [0, 13, 14, 23, 43, 0])
