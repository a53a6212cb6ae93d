"""Arrays on lines of the cache; tables in blocks of lanes."""

import numpy as np
import pytest
from numba import njit

from mane.simd.align import CACHE_LINE, empty_aligned, empty_in_kernel, zeros_aligned
from mane.simd.layout import from_blocks, row_offsets, take_lanes, to_blocks


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_arrays_begin_where_lines_of_the_cache_do(kind):
    for shape in ((1,), (3, 5), (7, 2, 3)):
        for array in (empty_aligned(shape, kind), zeros_aligned(shape, kind)):
            assert array.ctypes.data % CACHE_LINE == 0
            assert (array.shape, array.dtype) == (shape, kind)
            assert array.flags.c_contiguous
        assert not zeros_aligned(shape, kind).any()
    assert zeros_aligned((0, 4), kind).shape == (0, 4)


@njit(error_model="numpy")
def _both(count):
    return empty_in_kernel(count, np.float32), empty_in_kernel(count, np.float64)


def test_arrays_of_kernels_do_too():
    for array in _both(41):
        assert array.ctypes.data % CACHE_LINE == 0
        assert array.shape == (41,)
        array[:] = 1  # it is all there


@pytest.mark.parametrize("width", [4, 8, 16, 32])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_tables_become_blocks_and_tables_again(width, kind):
    table = np.random.default_rng(0).normal(size=(37, 3, 2)).astype(kind)
    blocks = to_blocks(table, width)
    assert blocks.shape == (-(-37 // width), 3, 2, width)
    assert (blocks.dtype, blocks.ctypes.data % CACHE_LINE) == (kind, 0)
    for thing in (0, width - 1, 36):
        np.testing.assert_array_equal(blocks[thing // width, :, :, thing % width], table[thing])
    np.testing.assert_array_equal(from_blocks(blocks, 37), table)
    behind = from_blocks(blocks, blocks.shape[0] * width)[37:]
    assert not behind.any()
    repeated = from_blocks(to_blocks(table, width, repeat_last=True), 37 + len(behind))
    np.testing.assert_array_equal(repeated[37:], np.broadcast_to(table[-1], behind.shape))


def test_lanes_are_taken_out_of_blocks_and_the_last_fills_up():
    table = np.random.default_rng(0).normal(size=(20, 3))
    chosen = np.array([19, 0, 7, 7, 12, 3, 4, 5, 11])
    taken = take_lanes(to_blocks(table), chosen)
    np.testing.assert_array_equal(from_blocks(taken, 16), table[[*chosen, *[11] * 7]])


def test_groups_of_rows_follow_each_other():
    assert row_offsets(3, 4, 1, start=2) == (16, 40, 72)
    assert all(isinstance(offset, np.uint64) for offset in row_offsets(1, 1))
