"""Yuksel's `.hair`: a 128-byte header, then whole arrays one after the other, little endian."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mane.groom.groom import Groom
from mane.io.buffers import Buffer, offsets_of, take
from mane.io.raw import Problem, RawGroom

MAGIC = b"HAIR"
# magic, strands, points, array bits, default segments, default thickness, transparency and colour, info text
HEADER = struct.Struct("<4sIIIIff3f88s")
SEGMENTS, POINTS = 1, 2
# attribute -> its bit and its numbers per point, in the order of the file
ATTRIBUTES = {"width": (4, 1), "transparency": (8, 1), "color": (16, 3)}
KNOWN_BITS = 31
MAX_SEGMENTS = 0xFFFF
MAX_COUNT = 0xFFFFFFFF

# What the format's own library writes where nobody chose a value; it says nothing about the hair.
UNSET = {"width": (0.0, 1.0), "transparency": (0.0,), "color": ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))}

# Our writer states units and axes in the info text, where other readers show a description.
INFO = re.compile(rb"mane unit=(\S+) up=(-?[xyz])(?![\w])")

CARRIES = tuple(ATTRIBUTES)


def parse(buffer: Buffer) -> RawGroom:
    """Read strands from the bytes of a `.hair` file; ValueError where header and bytes do not agree."""
    if len(buffer) < HEADER.size or bytes(buffer[:4]) != MAGIC:
        raise ValueError(f"header: must be {HEADER.size} bytes that begin with HAIR, got {bytes(buffer[:4])!r}")
    _, strands, points, bits, segments, thickness, transparency, *color, info = HEADER.unpack(bytes(buffer[:128]))
    if strands == 0 or points == 0 or not bits & POINTS:
        raise ValueError(f"header: must promise strands and points, got {strands} strands and {points} points")
    if bits & ~KNOWN_BITS:
        raise ValueError(f"header: array bits must be within {KNOWN_BITS:#x}, got {bits:#x}; the file is damaged")
    end = HEADER.size
    listed = take("segments", buffer, "<u2", strands, end) if bits & SEGMENTS else None
    end += 0 if listed is None else listed.nbytes
    position = take("points", buffer, "<f4", 3 * points, end)
    end += position.nbytes
    vertex = {}
    for name, (bit, channels) in ATTRIBUTES.items():
        if bits & bit:
            values = take(name, buffer, "<f4", channels * points, end)
            end += values.nbytes
            vertex[name] = values.reshape(points, channels) if channels > 1 else values
    stated = INFO.match(info)
    return RawGroom(
        position.reshape(-1, 3),
        offsets_of(_point_counts(listed, strands, segments, points)),
        strand=_defaults(strands, vertex, {"width": thickness, "transparency": transparency, "color": tuple(color)}),
        vertex=vertex,
        unit=stated[1].decode("ascii", "replace") if stated else None,
        up=stated[2].decode() if stated else None,
        remarks=_trailing(len(buffer) - end),
    )


def _point_counts(listed: NDArray[Any] | None, strands: int, segments: int, points: int) -> NDArray[np.int64]:
    total = strands * (segments + 1) if listed is None else int(listed.sum(dtype=np.int64)) + strands
    if total != points:
        raise ValueError(f"header: promises {points:,} points, but its strands need {total:,}; the file is damaged")
    if listed is None:
        return np.full(strands, segments + 1, np.int64)
    return listed.astype(np.int64) + 1


def _defaults(strands: int, vertex: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Turn the header's values for all strands into attributes, where somebody chose them and no array overrides."""
    chosen = {name: value for name, value in values.items() if name not in vertex and value not in UNSET[name]}
    return {name: np.full((strands, *np.shape(value)), value, np.float32) for name, value in chosen.items()}


def _trailing(extra: int) -> tuple[Problem, ...]:
    if extra == 0:
        return ()
    return (Problem("file", extra, None, f"{extra:,} bytes after the last array were ignored", False),)


def write(file: BinaryIO, groom: Groom, *, unit: str, up: str) -> None:
    """Write a `.hair` file; `groom` is already in `unit` and `up`, which the header states."""
    segments = groom.vertex_counts - 1
    if segments.max() > MAX_SEGMENTS:
        raise ValueError(
            f".hair: holds at most {MAX_SEGMENTS:,} segments per strand, got {segments.max():,} at strand "
            f"{int(segments.argmax())}; resample the groom or write .npz"
        )
    if groom.point_count > MAX_COUNT:
        raise ValueError(f".hair: holds at most {MAX_COUNT:,} points, got {groom.point_count:,}; write .npz")
    arrays: dict[int, NDArray[Any]] = {} if groom.is_uniform else {SEGMENTS: segments.astype("<u2")}
    arrays[POINTS] = groom.points.astype("<f4", copy=False)
    shared = {name: _shared(groom, name) for name in CARRIES}
    for name, (bit, _) in ATTRIBUTES.items():
        if shared[name] is None and (name in groom.strand or name in groom.vertex):
            arrays[bit] = np.ascontiguousarray(groom.per_vertex(name), "<f4")
    file.write(
        HEADER.pack(
            MAGIC,
            groom.strand_count,
            groom.point_count,
            sum(arrays),
            int(segments[0]) if groom.is_uniform else 0,
            shared["width"] or 0.0,
            shared["transparency"] or 0.0,
            *(shared["color"] or (0.0, 0.0, 0.0)),
            f"mane unit={unit} up={up}".encode("ascii"),
        )
    )
    for array in arrays.values():
        file.write(array.data)


def _shared(groom: Groom, name: str) -> Any:
    """Return the value that a strand attribute has on every strand, or None where they differ or it looks unset."""
    values = groom.strand.get(name)
    if values is None or not (values == values[0]).all():
        return None
    value = tuple(values[0].tolist()) if values.ndim > 1 else float(values[0])
    return None if value in UNSET[name] else value
