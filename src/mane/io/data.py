"""USC's `.data`: number of strands, then per strand a count and its points; metres, Y up; no attributes."""

from __future__ import annotations

from typing import BinaryIO

from mane.groom.groom import Groom
from mane.io.buffers import Buffer, offsets_of
from mane.io.interleaved import parse_interleaved, write_interleaved
from mane.io.raw import RawGroom

CHANNELS = 3
MAX_COUNT = 0x7FFFFFFF


def parse(buffer: Buffer) -> RawGroom:
    """Read strands from the bytes of a `.data` file; ValueError where counts and bytes do not agree."""
    counts, points = parse_interleaved(buffer, CHANNELS)
    return RawGroom(points, offsets_of(counts))


def write(file: BinaryIO, groom: Groom, *, unit: str, up: str) -> None:
    """Write a `.data` file; the format can state neither `unit` nor `up`."""
    if groom.point_count > MAX_COUNT:
        raise ValueError(f".data: holds at most {MAX_COUNT:,} points per strand, got {groom.point_count:,}; write .npz")
    write_interleaved(file, groom.vertex_counts, groom.points)
