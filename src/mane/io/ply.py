"""Strand `.ply`, in two conventions: a `strand` element that counts segments, or bare points of equal strands.

The first is hairutil's, the second NeuralHaircut's, whose strands have 100 points each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.io.buffers import Buffer, offsets_of, take
from mane.io.npy import as_float32
from mane.io.raw import RawGroom

MAGIC = b"ply"
MAX_HEADER = 1 << 16
MAX_DIGITS = 64
POINTS_PER_STRAND = 100

_OLD_TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"}
_NEW_TYPES = {"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4"}
_REAL_TYPES = {"float": "f4", "double": "f8", "float32": "f4", "float64": "f8"}
TYPES = {**_OLD_TYPES, **_NEW_TYPES, **_REAL_TYPES}
BYTE_ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": ""}


@dataclass(frozen=True)
class Element:
    """One table of the file: its name, its number of rows and its columns; `has_list` if rows differ in length."""

    name: str
    count: int
    columns: tuple[tuple[str, str], ...]
    has_list: bool


@dataclass(frozen=True)
class Header:
    """What stands before the data; `byte_order` is empty for text, `end` is the first byte of the data."""

    byte_order: str
    elements: tuple[Element, ...]
    end: int

    def count(self, name: str) -> int:
        """Return the number of rows of an element, 0 if there is none of that name."""
        return sum(element.count for element in self.elements if element.name == name)


def parse(buffer: Buffer, *, points_per_strand: int = POINTS_PER_STRAND) -> RawGroom:
    """Read strands from the bytes of a `.ply` file; ValueError where header and bytes do not agree.

    `points_per_strand` cuts files that hold bare points; those with a `strand` element say it themselves.
    """
    header = parse_header(buffer)
    if header.count("face"):
        raise ValueError(f"face: the file is a mesh of {header.count('face'):,} faces, not strands; read it as a mesh")
    tables = _read_tables(buffer, header, ("vertex", "strand"))
    vertex = tables.get("vertex", {})
    if not {"x", "y", "z"} <= set(vertex) or len(vertex["x"]) == 0:
        raise ValueError("vertex: must hold points with x, y and z; the file has none")
    points = as_float32(np.stack([vertex[axis] for axis in "xyz"], axis=1))
    segments = tables.get("strand", {}).get("nsegs")
    if segments is None:
        counts = _equal_counts(len(points), points_per_strand)
    else:
        counts = _stated_counts(segments, len(points))
    attributes = {"width": vertex.get("thickness"), "color": _colors(vertex)}
    return RawGroom(
        points,
        offsets_of(counts),
        vertex={name: as_float32(values) for name, values in attributes.items() if values is not None},
    )


def _equal_counts(points: int, per_strand: int) -> NDArray[np.int64]:
    if per_strand < 1 or points % per_strand:
        raise ValueError(
            f"vertex: {points:,} bare points cannot be cut into strands of {per_strand}; say how many points each "
            "strand has (points_per_strand)"
        )
    return np.full(points // per_strand, per_strand, np.int64)


def _stated_counts(segments: NDArray[Any], points: int) -> NDArray[np.int64]:
    if len(segments) == 0 or not (np.isfinite(segments).all() and (segments >= 0).all() and (segments <= points).all()):
        raise ValueError(f"strand: nsegs must be whole numbers from 0 to {points:,} of at least one strand")
    counts: NDArray[np.int64] = segments.astype(np.int64) + 1
    if counts.sum() != points:
        raise ValueError(f"strand: nsegs must add up to the {points:,} points of the file, got {int(counts.sum()):,}")
    return counts


def _colors(vertex: dict[str, NDArray[Any]]) -> NDArray[Any] | None:
    if not {"red", "green", "blue"} <= set(vertex):
        return None
    colors = np.stack([vertex[name] for name in ("red", "green", "blue")], axis=1)
    return colors if colors.dtype.kind == "f" else colors / np.float32(255)


def parse_header(buffer: Buffer) -> Header:
    """Read the text before the data; ValueError unless it is a PLY header of known types."""
    head = bytes(buffer[:MAX_HEADER])
    place = head.find(b"end_header")
    if not head.startswith(MAGIC) or place < 0:
        raise ValueError("header: must begin with ply and end with end_header; the file is another or damaged")
    newline = head.find(b"\n", place)
    byte_order: str | None = None
    elements: list[Element] = []
    for line in head[:place].decode("latin-1").splitlines()[1:]:
        words = line.split()
        if not words or words[0] in ("comment", "obj_info"):
            continue
        if words[0] == "format" and len(words) == 3 and words[1] in BYTE_ORDERS:
            byte_order = BYTE_ORDERS[words[1]]
        elif words[0] == "element" and len(words) == 3 and words[2].isdecimal() and len(words[2]) < 20:
            elements.append(Element(words[1], int(words[2]), (), False))
        elif words[0] == "property" and elements and _is_property(words):
            elements[-1] = _with_property(elements[-1], words)
        else:
            raise ValueError(f"header: does not understand {line[:60]!r}; the file is damaged")
    if byte_order is None or newline < 0:
        raise ValueError(f"header: must name a format out of {', '.join(BYTE_ORDERS)}")
    return Header(byte_order, tuple(elements), newline + 1)


def _is_property(words: list[str]) -> bool:
    if len(words) == 5 and words[1] == "list":
        return words[2] in TYPES and words[3] in TYPES
    return len(words) == 3 and words[1] in TYPES


def _with_property(element: Element, words: list[str]) -> Element:
    if words[1] == "list":
        return Element(element.name, element.count, element.columns, True)
    if words[2] in dict(element.columns):
        raise ValueError(f"header: {element.name} has the property {words[2][:60]!r} twice; the file is damaged")
    return Element(element.name, element.count, (*element.columns, (words[2], TYPES[words[1]])), element.has_list)


def _read_tables(buffer: Buffer, header: Header, wanted: tuple[str, ...]) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the columns of the wanted elements; those that come after the last of them are never looked at."""
    tables: dict[str, dict[str, NDArray[Any]]] = {}
    last = max((i for i, element in enumerate(header.elements) if element.name in wanted), default=-1)
    words = None if header.byte_order else bytes(buffer[header.end :]).split()
    place = header.end if header.byte_order else 0
    for element in header.elements[: last + 1]:
        if element.has_list:
            raise ValueError(f"{element.name}: lists are not part of a strand file; read it as a mesh")
        if words is None:
            table, place = _binary_table(buffer, element, header.byte_order, place)
        else:
            table, place = _text_table(words, element, place)
        if element.name in wanted:
            tables.setdefault(element.name, table)
    return tables


def _binary_table(buffer: Buffer, element: Element, byte_order: str, place: int) -> tuple[dict[str, NDArray[Any]], int]:
    if not element.columns:
        return {}, place
    dtype = np.dtype([(name, byte_order + kind) for name, kind in element.columns])
    rows = take(element.name, buffer, dtype, element.count, place)
    return {name: rows[name] for name, _ in element.columns}, place + rows.nbytes


def _text_table(words: list[bytes], element: Element, place: int) -> tuple[dict[str, NDArray[Any]], int]:
    width = len(element.columns)
    end = place + width * element.count
    if end > len(words):
        raise ValueError(
            f"{element.name}: the header promises {element.count:,} rows, the file ends after "
            f"{max(len(words) - place, 0) // max(width, 1):,}; it is cut short"
        )
    cells = words[place:end]
    if max(map(len, cells), default=0) > MAX_DIGITS:
        raise ValueError(f"{element.name}: must be numbers; the file is damaged")
    try:
        values = np.asarray(cells, f"S{MAX_DIGITS}").astype(np.float64).reshape(element.count, width)
    except ValueError:
        raise ValueError(f"{element.name}: must be numbers; the file is damaged") from None
    columns = (_typed(name, kind, values[:, column]) for column, (name, kind) in enumerate(element.columns))
    return dict(zip(dict(element.columns), columns, strict=True)), end


def _typed(name: str, kind: str, values: NDArray[np.float64]) -> NDArray[Any]:
    """Turn numbers read from text into the type that the header gives them."""
    if kind.startswith("f"):
        return values
    limits = np.iinfo(kind)
    if not ((values >= limits.min) & (values <= limits.max)).all():
        raise ValueError(f"{name}: must be whole numbers from {limits.min} to {limits.max}; the file is damaged")
    return values.astype(kind)
