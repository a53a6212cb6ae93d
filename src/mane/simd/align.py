"""Arrays that begin where a line of the cache does, as NumPy's own seldom do.

A vector that is read or written there touches no line twice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mane.simd.jit import njit

CACHE_LINE = 64  # bytes that a CPU reads and writes at once
SPARE = CACHE_LINE // 4  # numbers of four bytes or more: at least a line


def _from_line(room: NDArray[Any], count: int) -> NDArray[Any]:
    """Cut `count` numbers out of `room`, which has `SPARE` more, from the first line of the cache on."""
    start = -room.ctypes.data % CACHE_LINE // room.itemsize
    return room[start : start + count]


_from_line_in_kernel = njit(cache=True)(_from_line)


def empty_aligned(shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return room for numbers, not set to anything."""
    count = math.prod(shape)
    return _from_line(np.empty(count + SPARE, dtype), count).reshape(shape)


def zeros_aligned(shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return zeros."""
    count = math.prod(shape)
    return _from_line(np.zeros(count + SPARE, dtype), count).reshape(shape)


@njit(cache=True)
def empty_in_kernel(count, dtype):  # type: ignore[no-untyped-def]
    """The same as `empty_aligned` inside a kernel: flat room for `count` numbers."""
    return _from_line_in_kernel(np.empty(count + SPARE, dtype), count)
