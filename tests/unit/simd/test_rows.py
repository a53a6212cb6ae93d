"""Arrays of strands copied into rows of eight lanes, and back."""

import numpy as np
import pytest

from mane.simd.align import CACHE_LINE, zeros_aligned
from mane.simd.rows import copy_in, copy_out

STRIDE, TO = 56, 16  # numbers: records of seven rows, the columns from the second row on


@pytest.mark.parametrize("columns", [3, 4, 5])
@pytest.mark.parametrize("records", [1, 2, 5, 16])
@pytest.mark.parametrize("strands", [16, 11])
def test_every_number_gets_to_the_row_of_its_column_and_back(strands, records, columns):
    """Whole blocks and one of three strands; strands of fewer numbers than lanes, and of no whole number of eights."""
    source = np.random.default_rng(columns).normal(size=(strands, records, columns))
    result = np.zeros_like(source)
    for first in (0, 8):
        buf = np.full(records * STRIDE + TO, np.nan)
        copy_in(source, np.uint64(first), np.uint64(STRIDE), np.uint64(TO), buf)
        rows = buf[TO:].reshape(records, STRIDE // 8, 8)
        lanes = np.minimum(first + np.arange(8), strands - 1)  # those behind the last strand repeat it
        np.testing.assert_array_equal(rows[:, :columns], source[lanes].transpose(1, 2, 0))
        assert np.isnan(rows[:, columns:]).all()
        before = result.copy()
        copy_out(buf, np.uint64(first), np.uint64(STRIDE), np.uint64(TO), result)
        np.testing.assert_array_equal(result[:first], before[:first])
    np.testing.assert_array_equal(result, source)


def test_rows_begin_where_lines_of_the_cache_do():
    for count in (1, 3, 40):
        rows = zeros_aligned((count, 24))
        assert rows.ctypes.data % CACHE_LINE == 0
        assert rows.shape == (count, 24)
        assert not rows.any()
