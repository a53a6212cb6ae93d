"""Values of lanes in kernels, sixteen at a time, against the same operations in NumPy."""

import numpy as np
import pytest
from numba import config, njit

from mane.simd.f32x16 import (
    WIDTH,
    compress_indices,
    compress_numbers,
    copy_numbers,
    fill_numbers,
    first_lanes,
    gather_fours,
    load,
    load_mask,
    store_transposed,
)
from mane.simd.masks import clear_marks, select
from mane.simd.math import absolute, maximum, minimum, sqrt, to_float32
from mane.simd.memory import store


@njit(error_model="numpy")
def _operate(rows, number, out):
    a, b = load(rows, 0), load(rows, WIDTH)
    results = (
        a + b, a - number, number - a, a * b, a / b, minimum(a, b), maximum(a, number), absolute(a), sqrt(b),
        select((a < b) & ~(a > number) | (b == 2.0), a, number),
        select((a <= number) | (a >= b), number, b),
    )  # fmt: skip
    for k, value in enumerate(results):
        store(out, k * WIDTH, value)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_operations_are_those_of_every_lane(kind):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2, WIDTH)).astype(kind)
    rows[1] = 10.0 ** rng.uniform(-3, 3, WIDTH)
    rows[1, 3] = 2.0
    out = np.zeros((11, WIDTH), kind)
    _operate(rows.reshape(-1), 0.5, out.reshape(-1))
    a, b = rows
    half = kind(0.5)
    expected = [a + b, a - half, half - a, a * b, a / b, np.minimum(a, b), np.maximum(a, half), abs(a), np.sqrt(b)]
    expected.append(np.where((a < b) & ~(a > half) | (b == 2), a, half))
    expected.append(np.where((a <= half) | (a >= b), half, b))
    # Quotient and root may come from an estimate and a Newton step; all others are exact.
    np.testing.assert_allclose(out, expected, rtol=4 * np.finfo(kind).eps, atol=0)


@njit(error_model="numpy")
def _list(rows, numbers, marks, count, values, chosen, places):
    mask = (load(rows, 0) < 0.0) & first_lanes(count)
    here = compress_indices(mask, 100, places, 1)
    there = compress_numbers(mask, numbers, 2, chosen, 1)
    before = compress_indices(load_mask(marks, 1), 0, places, WIDTH + 2)
    clear_marks(mask, marks, 1)
    copy_numbers(numbers, 1, values, 2)
    fill_numbers(7, values, 2 + WIDTH)
    return here, there, before


@pytest.mark.parametrize("count", [0, 7, WIDTH])
def test_lists_hold_what_a_mask_has_chosen_in_order(count):
    rng = np.random.default_rng(count)
    rows = rng.normal(size=WIDTH).astype(np.float32)
    numbers = rng.integers(0, 99, WIDTH + 2).astype(np.int32)
    marks = rng.integers(-1, 2, WIDTH + 2).astype(np.int8)
    had_marks = marks.copy()
    values, chosen, places = np.zeros((3, 4 * WIDTH), np.int32)
    chosen[1:] = -1
    ends = _list(rows, numbers, marks, count, values, chosen, places)
    mask = (rows < 0) & (np.arange(WIDTH) < count)
    end = 1 + np.count_nonzero(mask)
    assert ends[:2] == (end, end)
    np.testing.assert_array_equal(chosen[1:end], numbers[2:][mask])
    np.testing.assert_array_equal(places[1:end], 100 + np.flatnonzero(mask))
    assert not chosen[end : 1 + WIDTH].any()
    assert chosen[0] == places[0] == 0
    np.testing.assert_array_equal(values, [0, 0, *numbers[1 : WIDTH + 1], *(WIDTH * [7]), *((2 * WIDTH - 2) * [0])])
    np.testing.assert_array_equal(places[WIDTH + 2 : ends[2]], np.flatnonzero(had_marks[1:-1]))
    had_marks[1:-1][mask] = 0
    np.testing.assert_array_equal(marks, had_marks)


@njit(error_model="numpy")
def _pick(table, numbers, out):
    columns = gather_fours(table, numbers, 1, 7, 2)
    for k in range(4):
        store(out, k * WIDTH, columns[k])


@njit(error_model="numpy")
def _write(rows, out, at, stride):
    a, b, c, d = load(rows, 0), load(rows, WIDTH), load(rows, 2 * WIDTH), load(rows, 3 * WIDTH)
    store_transposed((a, b, c, d, d, c, b, a, b, c, d, a, d, d, a, b), out, at, stride)


def test_rows_of_a_table_become_columns_and_back():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(50, 7)).astype(np.float32)
    numbers = rng.integers(0, 50, WIDTH + 1).astype(np.int32)
    columns = np.zeros((4, WIDTH), np.float32)
    _pick(table.reshape(-1), numbers, columns.reshape(-1))
    np.testing.assert_array_equal(columns, table[numbers[1:], 2:6].T)
    out = np.zeros((WIDTH + 1, 20), np.float32)
    _write(columns.reshape(-1), out.reshape(-1), 23, 20)
    np.testing.assert_array_equal(out[1:, 3:19], columns[[0, 1, 2, 3, 3, 2, 1, 0, 1, 2, 3, 0, 3, 3, 0, 1]].T)
    out[1:, 3:19] = 0
    assert not out.any()


@njit(error_model="numpy")
def _narrow(rows, out):
    store(out, 0, to_float32(load(rows, 0)))


def test_narrow_rounds():
    rows = np.random.default_rng(0).normal(size=WIDTH)
    out = np.zeros(WIDTH, np.float32)
    _narrow(rows, out)
    np.testing.assert_array_equal(out, rows.astype(np.float32))


@pytest.mark.parametrize("at", [-1, 5])
def test_lanes_beyond_the_end_are_found_where_indices_are_checked(at, monkeypatch):
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)

    @njit(error_model="numpy")
    def read_and_write(rows, at):
        store(rows, 0, load(rows, at))

    rows = np.zeros(WIDTH + 4)
    read_and_write(rows, 4)
    with pytest.raises(IndexError, match="lanes are beyond the end"):
        read_and_write(rows, at)
