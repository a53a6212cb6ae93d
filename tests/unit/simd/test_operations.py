"""Every operation that vectors of any width have, against the same in NumPy, lane by lane.

The file is also run without AVX-512 and with the compiler off (`test_environments.py`).
"""

import operator
from functools import cache

import numpy as np
import pytest
from numba import njit

from mane.simd import masks, math, memory, reductions
from mane.simd.jit import inline, inline_fast

WIDTHS = (4, 8, 16, 32)
KINDS = (np.float32, np.float64)
shapes = pytest.mark.parametrize(("width", "kind"), [(width, kind) for width in WIDTHS for kind in KINDS])

minimum, maximum, absolute, copysign = math.minimum, math.maximum, math.absolute, math.copysign
sqrt, rsqrt, log, exp, to_float32 = math.sqrt, math.rsqrt, math.log, math.exp, math.to_float32
select, clear_marks, store = masks.select, masks.clear_marks, memory.store
reduce_max, reduce_min, reduce_sum = reductions.reduce_max, reductions.reduce_min, reductions.reduce_sum
broadcast_like = memory.broadcast_like


@inline
def _blended(a, b):
    return a * 0.5 + b * 0.25


@inline_fast
def _scaled(a, number):
    return number * a


EXACT = (
    "a + b", "a - b", "a * b", "a + n", "n - a", "n * a", "-a", "minimum(a, b)", "maximum(a, n)", "absolute",
    "copysign", "select(a < b)", "select(number)", "~", "& |", "<= >=", "== !=", "broadcast_like", "inline_fast",
)  # fmt: skip
ROUNDED = ("a / b", "n / b", "sqrt", "rsqrt", "inline")


@cache
def operations(width):
    """A kernel that writes a row for each of the operations above, then those of `ROUNDED`; returns the reductions."""
    load = memory.loader(width)

    @njit(error_model="numpy")
    def kernel(rows, number, out):
        a, b = load(rows, 0), load(rows, width)
        results = (
            a + b, a - b, a * b, a + number, number - a, number * a, -a, minimum(a, b), maximum(a, number), absolute(a),
            copysign(b, a), select(a < b, a, b), select(a > number, a, number), select(~(a < b), a, b),
            select((a < b) & (a > 0.0) | (b > 1.0), a, b), select((a <= number) | (a >= b), number, b),
            select((a == b) & (a != number), number, b), broadcast_like(a, rows[3]), _scaled(a, number),
            a / b, number / b, sqrt(b), rsqrt(b), _blended(a, b),
        )  # fmt: skip
        for k, value in enumerate(results):
            store(out, k * width, value)
        return reduce_max(a), reduce_min(a), reduce_sum(a)

    return kernel


def some_rows(width, kind):
    """Two rows, of any sign and of positive numbers, equal in one lane."""
    rng = np.random.default_rng(width)
    rows = rng.normal(size=(2, width)).astype(kind)
    rows[1] = 10.0 ** rng.uniform(-3, 3, width)
    rows[0, 2] = rows[1, 2]
    return rows


def expected(a, b, n):
    """Rows as the kernel should fill them."""
    exact = [
        a + b, a - b, a * b, a + n, n - a, n * a, -a, np.minimum(a, b), np.maximum(a, n), abs(a), np.copysign(b, a),
        np.where(a < b, a, b), np.where(a > n, a, n), np.where(a < b, b, a),
        np.where((a < b) & (a > 0) | (b > 1), a, b),
        np.where((a <= n) | (a >= b), n, b), np.where((a == b) & (a != n), n, b), np.full_like(a, a[3]), n * a,
    ]  # fmt: skip
    rounded = [a / b, n / b, np.sqrt(b), 1 / np.sqrt(b), a * a.dtype.type(0.5) + b * a.dtype.type(0.25)]
    return exact, rounded


@shapes
def test_operations_are_those_of_every_lane(width, kind):
    rows, eps = some_rows(width, kind), np.finfo(kind).eps
    out = np.zeros((len(EXACT) + len(ROUNDED), width), kind)
    most, least, total = operations(width)(rows.reshape(-1), kind(0.5), out.reshape(-1))
    exact, rounded = expected(*rows, kind(0.5))
    for name, row, right in zip(EXACT, out, exact, strict=False):
        np.testing.assert_array_equal(row, right, err_msg=name)
    for name, row, right in zip(ROUNDED, out[len(EXACT) :], rounded, strict=True):
        # By an estimate and a Newton step, or with two operations in one; the terms of a sum may cancel.
        np.testing.assert_allclose(row, right, rtol=6 * eps, atol=2 * eps * abs(rows).max(), err_msg=name)
    assert (most, least) == (rows[0].max(), rows[0].min())
    assert abs(total - rows[0].astype(np.float64).sum()) < width * eps * abs(rows[0]).max()


@shapes
def test_comparisons_with_nan_are_a_no(width, kind):
    load = memory.loader(width)

    @njit(error_model="numpy")
    def kernel(rows, out):
        a, b = load(rows, 0), load(rows, width)
        store(out, 0, select((a < b) | (a > b) | (a == b) | (a != b), 1.0, b * 0.0))

    rows, out = some_rows(width, kind), np.zeros(width, kind)
    rows[0, 1] = np.nan
    kernel(rows.reshape(-1), out)
    np.testing.assert_array_equal(out, np.arange(width) != 1)


@pytest.mark.parametrize("width", WIDTHS)
def test_logarithms_exponentials_and_narrowing(width):
    load = memory.loader(width)

    @njit(error_model="numpy")
    def kernel(numbers, logarithms, powers, narrow):
        x = load(numbers, 1)
        store(logarithms, 0, log(x))
        store(powers, 0, exp(log(x) * 0.11))
        store(narrow, 0, to_float32(x))

    numbers = 10.0 ** np.random.default_rng(width).uniform(-30, 30, width + 1)
    logarithms, powers, narrow = np.zeros(width), np.zeros(width), np.zeros(width, np.float32)
    kernel(numbers, logarithms, powers, narrow)
    eps = np.finfo(np.float64).eps
    np.testing.assert_allclose(logarithms, np.log(numbers[1:]), rtol=2 * eps)
    np.testing.assert_allclose(powers, numbers[1:] ** 0.11, rtol=10 * eps)
    np.testing.assert_array_equal(narrow, numbers[1:].astype(np.float32))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [0, 3])
def test_masks_from_counts_and_marks(width, count):
    load, first_lanes, load_mask = memory.loader(width), masks.first_lanes_maker(width), masks.mask_loader(width)

    @njit(error_model="numpy")
    def kernel(rows, marks, count, out):
        mask = first_lanes(count) | load_mask(marks, 1)
        store(out, 0, select(mask, load(rows, 0), 0.0))
        clear_marks(first_lanes(count), marks, 1)

    rows = np.random.default_rng(1).normal(size=width)
    marks = np.random.default_rng(2).integers(-1, 2, width + 1).astype(np.int8)
    before, out = marks.copy(), np.zeros(width)
    kernel(rows, marks, count, out)
    is_first = np.arange(width) < count
    np.testing.assert_array_equal(out, np.where(is_first | (before[1:] != 0), rows, 0))
    np.testing.assert_array_equal(marks, [before[0], *np.where(is_first, 0, before[1:])])


@pytest.mark.parametrize("width", [8, 16, 32])
def test_the_lanes_of_a_mask_are_gone_through_by_their_bits(width):
    load = memory.loader(width)

    @njit(error_model="numpy")
    def kernel(rows, limit, found):
        bits, count = masks.mask_bits(load(rows, 0) < limit), 0
        while bits != 0:
            found[count] = masks.lowest_bit(bits)
            bits &= bits - 1
            count += 1
        return count, masks.lowest_bit(bits)

    rows = np.random.default_rng(width).normal(size=width)
    for limit in (-10.0, 0.3, 10.0):
        found = np.zeros(width, np.int64)
        count, none = kernel(rows, limit, found)
        np.testing.assert_array_equal(found[:count], np.flatnonzero(rows < limit))
        assert none == 64


def test_a_mask_has_no_single_truth_value():
    mask = masks.plain.Mask(np.array([True, False]))
    with pytest.raises(TypeError, match="use select"):
        bool(mask)
    assert operator.invert(mask).lanes.tolist() == [False, True]
