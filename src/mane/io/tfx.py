"""TressFX `.tfx`: a 160-byte header of counts and byte offsets, every strand with the same number of points."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.io.buffers import Buffer, take
from mane.io.raw import RawGroom

HEADER_SIZE = 160
# version, strands, points per strand; offsets of positions, strand UV, vertex UV, strand thickness, vertex colour
HEADER = struct.Struct("<f7I")
VERSION = 4


def is_tfx(buffer: Buffer) -> bool:
    """Whether the bytes begin like a TressFX file: version 4 and positions after the header."""
    if len(buffer) < HEADER_SIZE:
        return False
    version, _, _, positions, *_ = HEADER.unpack(bytes(buffer[: HEADER.size]))
    result: bool = VERSION <= version < VERSION + 1 and HEADER_SIZE <= positions < len(buffer)
    return result


def parse(buffer: Buffer) -> RawGroom:
    """Read strands from the bytes of a `.tfx` file; ValueError where header and bytes do not agree.

    The fourth number of each position, 0 where the point is fixed to the skin, becomes the attribute `movable`.
    """
    if not is_tfx(buffer):
        raise ValueError(f"header: must be {HEADER_SIZE} bytes of TressFX version {VERSION}; the file is another one")
    _, strands, per_strand, *places = HEADER.unpack(bytes(buffer[: HEADER.size]))
    if strands == 0 or per_strand == 0:
        raise ValueError(f"header: must promise strands and points, got {strands} strands of {per_strand} points")
    points = strands * per_strand

    def array(what: str, place: int, count: int, channels: int) -> NDArray[Any] | None:
        if place == 0:
            return None
        return take(what, buffer, "<f4", count * channels, place).reshape(count, channels)

    position = array("positions", places[0], points, 4)
    assert position is not None  # is_tfx has seen that the place is not zero
    color = array("colours", places[4], points, 4)
    thickness = array("thickness", places[3], strands, 1)
    strand = {"root_uv": array("strand UVs", places[1], strands, 2)}
    strand["width"] = None if thickness is None else thickness[:, 0]
    vertex = {"uv": array("vertex UVs", places[2], points, 2), "movable": position[:, 3]}
    vertex["color"] = None if color is None else color[:, :3]
    return RawGroom(
        np.ascontiguousarray(position[:, :3]),
        np.arange(strands + 1, dtype=np.int64) * per_strand,
        strand={name: values for name, values in strand.items() if values is not None},
        vertex={name: values for name, values in vertex.items() if values is not None},
    )
