"""Tables of things laid out for kernels that take several of them side by side.

    table (P, ...)                 thing by thing, as Python has it
    blocks (B, ..., W)             W things to a block, the last axis being their lanes; B = P / W, rounded up

The first block begins where a line of the cache does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.simd.align import empty_aligned

WIDTH = 8  # lanes of float64 in the widest register that CPUs have


def to_blocks(table: NDArray[Any], width: int = WIDTH, *, repeat_last: bool = False) -> NDArray[Any]:
    """Lay a table (P, ...) out in blocks (B, ..., width); the last is filled up with zeros, or with the last thing."""
    count = -(-len(table) // width)
    missing = count * width - len(table)
    if missing:
        filling = np.repeat(table[-1:], missing, axis=0) if repeat_last else np.zeros((missing, *table.shape[1:]))
        table = np.concatenate([table, filling.astype(table.dtype)])
    blocks = empty_aligned((count, *table.shape[1:], width), table.dtype)
    blocks[...] = np.moveaxis(table.reshape(count, width, *table.shape[1:]), 1, -1)
    return blocks


def from_blocks(blocks: NDArray[Any], count: int) -> NDArray[Any]:
    """Return the table (count, ...) that was laid out in `blocks`."""
    table = np.moveaxis(blocks, -1, 1)
    return table.reshape(-1, *table.shape[2:])[:count]


def take_lanes(blocks: NDArray[Any], chosen: NDArray[np.int64]) -> NDArray[Any]:
    """Return blocks of those things in `blocks` (B, ..., W) that are `chosen` (K,); the last of them fills the rest."""
    width = blocks.shape[-1]
    lanes = np.moveaxis(blocks, -1, 1)[chosen // width, chosen % width]
    return to_blocks(lanes, width, repeat_last=True)


def row_offsets(*sizes: int, start: int = 0, width: int = WIDTH) -> tuple[np.uint64, ...]:
    """Where groups of `sizes` rows begin in a buffer [numbers], one behind the other from row `start` on."""
    first = [start + sum(sizes[:k]) for k in range(len(sizes))]
    return tuple(np.uint64(width * row) for row in first)
