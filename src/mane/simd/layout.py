"""Tables of things laid out for kernels that take several of them side by side.

    table (P, ...)                 thing by thing, as Python has it
    blocks (B, ..., W)             W things to a block, the last axis being their lanes; B = P / W, rounded up

The first block begins where a line of the cache does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.simd.align import zeros_aligned

WIDTH = 8  # lanes of float64 in the widest register that CPUs have


def to_blocks(table: NDArray[Any], width: int = WIDTH) -> NDArray[Any]:
    """Lay a table (P, ...) of P things out in blocks (B, ..., width); the last is filled up with zeros."""
    count = -(-len(table) // width)
    padded = np.zeros((count * width, *table.shape[1:]), table.dtype)
    padded[: len(table)] = table
    blocks = zeros_aligned((count, *table.shape[1:], width), table.dtype)
    blocks[...] = np.moveaxis(padded.reshape(count, width, *table.shape[1:]), 1, -1)
    return blocks


def from_blocks(blocks: NDArray[Any], count: int) -> NDArray[Any]:
    """Return the table (count, ...) that was laid out in `blocks`."""
    table = np.moveaxis(blocks, -1, 1)
    return table.reshape(-1, *table.shape[2:])[:count]


def take_lanes(blocks: NDArray[Any], chosen: NDArray[np.int64]) -> NDArray[Any]:
    """Return blocks of those things in `blocks` (B, ..., W) that are `chosen` (K,); the last of them fills the rest."""
    width = blocks.shape[-1]
    count = -(-len(chosen) // width)
    padded = chosen[np.minimum(np.arange(count * width), len(chosen) - 1)]
    lanes = np.moveaxis(blocks, -1, 1)[padded // width, padded % width]
    taken = zeros_aligned((count, *blocks.shape[1:]), blocks.dtype)
    taken[...] = np.moveaxis(lanes.reshape(count, width, *blocks.shape[1:-1]), 1, -1)
    return taken


def row_offsets(*sizes: int, start: int = 0, width: int = WIDTH) -> tuple[np.uint64, ...]:
    """Where groups of `sizes` rows begin in a buffer [numbers], one behind the other from row `start` on."""
    first = [start + sum(sizes[:k]) for k in range(len(sizes))]
    return tuple(np.uint64(width * row) for row in first)
