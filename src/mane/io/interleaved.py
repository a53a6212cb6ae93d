"""Files of a count and then, strand after strand, a count and its points: USC's `.data` and CT2Hair's `.bin`."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray, IntArray
from mane.io.buffers import Buffer, offsets_of, take

WORD = 4  # counts and coordinates are both four bytes wide


def parse_interleaved(buffer: Buffer, channels: int) -> tuple[IntArray, FloatArray]:
    """Read the number of points of each strand (S,) and the values of each point (P, channels), as they are."""
    strands = int(take("strand count", buffer, "<i4", 1, 0)[0])
    if strands <= 0:
        raise ValueError(f"strand count: must be above zero, got {strands}; the file is empty or of another format")
    if (strands + 1) * WORD > len(buffer):
        raise ValueError(
            f"strand count: the header promises {strands:,} strands, the file has {len(buffer):,} bytes; "
            f"it is cut short or of another format"
        )
    if len(buffer) % WORD:
        raise ValueError(f"length: must be whole words of {WORD} bytes, got {len(buffer):,} bytes; it is cut short")
    words = np.frombuffer(buffer, "<u4")[1:]
    counts = _equal_counts(words, strands, channels)
    if counts is None:
        counts = _scanned_counts(words, strands, channels)
        is_header = np.zeros(len(words), np.bool_)
        is_header[_header_places(counts, channels)] = True
        values = words[~is_header]
    else:
        values = np.ascontiguousarray(words.reshape(strands, -1)[:, 1:])
    return counts, values.view("<f4").astype(np.float32, copy=False).reshape(-1, channels)


def _equal_counts(words: NDArray[np.uint32], strands: int, channels: int) -> IntArray | None:
    """Return the counts if every strand has the same, which takes one look, or None."""
    step = 1 + channels * int(words[0])
    if step * strands != len(words) or not (words[::step] == words[0]).all():
        return None
    return np.full(strands, words[0], np.int64)


def _scanned_counts(words: NDArray[np.uint32], strands: int, channels: int) -> IntArray:
    """Walk from header to header; a step of Python per strand, none per point."""
    quick = words.data
    counts = np.empty(strands, np.int64)
    place, end = 0, len(words)
    for strand in range(strands):
        if place >= end:
            raise ValueError(
                f"strand {strand}: the file ends before it, the header promises {strands:,} strands; it is cut short"
            )
        count = quick[place]
        place += 1 + channels * count
        if place > end:
            raise ValueError(
                f"strand {strand}: promises {count:,} points, which go beyond the end of the file; "
                f"it is cut short or of another format"
            )
        counts[strand] = count
    if place != end:
        raise ValueError(
            f"length: {(end - place) * WORD:,} bytes follow the last of {strands:,} strands; "
            f"the file is damaged or of another format"
        )
    return counts


def _header_places(counts: IntArray, channels: int) -> IntArray:
    """Word at which each strand's own count stands, shape (S,)."""
    return np.arange(len(counts)) + channels * offsets_of(counts)[:-1]


def write_interleaved(file: BinaryIO, counts: IntArray, values: FloatArray) -> None:
    """Write the number of strands, then every strand's count and points, from counts (S,) and values (P, channels)."""
    channels = values.shape[1]
    words = np.empty(len(counts) + values.size, "<u4")
    is_value = np.ones(len(words), np.bool_)
    headers = _header_places(counts, channels)
    is_value[headers] = False
    words[headers] = counts
    words[is_value] = values.astype("<f4", copy=False).reshape(-1).view("<u4")
    file.write(np.asarray([len(counts)], "<i4").data)
    file.write(words.data)
