"""Arrays laid out for kernels that take eight things side by side."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mane.geometry._kernels_eights import EIGHT

Float64Array: TypeAlias = NDArray[np.float64]
CACHE_LINE = 64  # bytes, as many as eight numbers have


def zeros_on_lines(shape: tuple[int, ...]) -> Float64Array:
    """Zeros that begin where a line of the cache does, so that eight numbers of a row are never on two of them."""
    count = math.prod(shape)
    room = np.zeros(count + EIGHT)
    start = -room.ctypes.data % CACHE_LINE // room.itemsize
    return room[start : start + count].reshape(shape)


def in_eights(table: Float64Array) -> Float64Array:
    """Lay a table (P, ...) of P things out in blocks of eight, each with its things innermost: (B, ..., 8).

    The last block is filled up with zeros; the first begins where a line of the cache does.
    """
    blocks = -(-len(table) // EIGHT)
    padded = np.zeros((blocks * EIGHT, *table.shape[1:]))
    padded[: len(table)] = table
    rows = zeros_on_lines((blocks, *table.shape[1:], EIGHT))
    rows[...] = np.moveaxis(padded.reshape(blocks, EIGHT, *table.shape[1:]), 1, -1)
    return rows
