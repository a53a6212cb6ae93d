"""Links laid out for the kernel: blocks of eight segments, one behind each vertex, and who is tied to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.contact.links import _kernels as kernels
from mane.contact.links.find import LinkTable
from mane.geometry.checks import IntArray
from mane.simd.align import zeros_aligned
from mane.simd.f64x8 import WIDTH
from mane.simd.layout import to_blocks
from mane.strand.model import Float64Array


def place_count(links: LinkTable) -> int:
    """How many places for eight links there are: those of all blocks."""
    strands, segments, count = links.other.shape
    result: int = -(-strands * (segments + 1) // WIDTH) * count
    return result


def rows_of_links(links: LinkTable) -> Float64Array:
    """Rows `VERTEX` to `LIMIT` of the kernel, flat; without laws."""
    tied = links.other >= 0
    table = np.zeros((*links.other.shape, kernels.LINK_ROWS))
    table[..., kernels.VERTEX] = _bits(3 * np.where(tied, _vertex(links, links.other), 0))
    table[..., kernels.FRACTION] = links.fraction
    table[..., kernels.ALONG : kernels.ACROSS_B + 1] = links.local * tied[..., None]
    by_vertex = np.zeros((len(table), table.shape[1] + 1, *table.shape[2:]))
    by_vertex[:, :-1] = table
    rows = to_blocks(by_vertex.reshape(-1, *table.shape[2:]))
    rows[:, :, kernels.LIMIT] = np.inf
    return rows.reshape(-1)


def rows_of_incoming(links: LinkTable) -> tuple[Float64Array, IntArray]:
    """Rows `PULL` and `SHARE` of the kernel, flat, and where those of each block begin (B + 1,).

    Links to a segment are in the order of the strands, segments and places that they belong to.
    """
    strands, segments, count = links.other.shape
    link = np.flatnonzero(links.other.reshape(-1) >= 0)
    target = _vertex(links, links.other.reshape(-1)[link])
    order = np.argsort(target, kind="stable")
    link, target = link[order], target[order]
    _, first, how_many = np.unique(target, return_index=True, return_counts=True)
    turn = np.arange(len(link)) - np.repeat(first, how_many)
    blocks = -(-strands * (segments + 1) // WIDTH)
    needed = np.zeros(blocks, np.int64)
    np.maximum.at(needed, target // WIDTH, turn + 1)
    starts = np.concatenate([[0], np.cumsum(needed)])
    rows = zeros_aligned((int(starts[-1]), kernels.INCOMING_ROWS, WIDTH))
    rows[:, kernels.PULL] = _bits(np.array(3 * WIDTH * place_count(links)))
    place, lane = starts[target // WIDTH] + turn, target % WIDTH
    owner, slot = _vertex(links, link // count), link % count
    rows[place, kernels.PULL, lane] = _bits(3 * (WIDTH * (owner // WIDTH * count + slot) + owner % WIDTH))
    rows[place, kernels.SHARE, lane] = links.fraction.reshape(-1)[link]
    return rows.reshape(-1), starts


def _vertex(links: LinkTable, segment: IntArray) -> IntArray:
    """Vertex that a segment starts at, both counted through all strands."""
    result: IntArray = segment + segment // links.other.shape[1]
    return result


def _bits(numbers: IntArray) -> NDArray[np.float64]:
    """Whole numbers as the float64 numbers of the same bits."""
    return np.ascontiguousarray(numbers, np.int64).view(np.float64)
