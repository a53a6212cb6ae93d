"""`.npy`: one array of shape (strands, points, 3).

The header is read by three patterns instead of NumPy's evaluation of a Python literal, and the size that it promises is
compared with the bytes before anything is allocated.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.io.buffers import Buffer, take
from mane.io.raw import RawGroom

MAGIC = b"\x93NUMPY"
MAX_HEADER = 1 << 16
MAX_DIMENSIONS = 8

_DESCR = re.compile(rb"""['"]descr['"]\s*:\s*['"]([<>|=]?)([fiub]\d{1,2})['"]""")
_ORDER = re.compile(rb"""['"]fortran_order['"]\s*:\s*(True|False)\b""")
_SHAPE = re.compile(rb"""['"]shape['"]\s*:\s*\(([\d\s,]{0,200})\)""")
_TYPES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1")


def parse(buffer: Buffer) -> RawGroom:
    """Read strands from the bytes of an `.npy` file of shape (S, V, 3); ValueError for any other contents."""
    array = parse_array(buffer)
    if array.ndim != 3 or array.shape[2] != 3 or array.dtype.kind != "f":
        raise ValueError(
            f"array: must be floating-point of shape (strands, points, 3), got {array.dtype} of shape {array.shape}"
        )
    if array.size == 0:
        raise ValueError(f"array: must hold strands and points, got shape {array.shape}")
    strands, per_strand = array.shape[:2]
    return RawGroom(as_float32(array).reshape(-1, 3), np.arange(strands + 1, dtype=np.int64) * per_strand)


def parse_array(buffer: Buffer) -> NDArray[Any]:
    """Return the array of an `.npy` file, as a view where its layout allows; numbers only, never objects."""
    if len(buffer) < 12 or bytes(buffer[:6]) != MAGIC:
        raise ValueError(f"header: must begin with {MAGIC!r}, got {bytes(buffer[:6])!r}")
    width = 2 if int(buffer[6]) == 1 else 4
    start = 8 + width
    length = int.from_bytes(bytes(buffer[8:start]), "little")
    if length > min(MAX_HEADER, len(buffer) - start):
        raise ValueError(f"header: promises to be {length:,} bytes long in a file of {len(buffer):,}; it is damaged")
    header = bytes(buffer[start : start + length])
    descr, order, shape_text = (pattern.search(header) for pattern in (_DESCR, _ORDER, _SHAPE))
    if not (descr and order and shape_text) or descr[2].decode() not in _TYPES:
        raise ValueError("header: must describe an array of plain numbers; objects and records are not read")
    shape = tuple(int(size) for size in shape_text[1].replace(b",", b" ").split())
    if len(shape) > MAX_DIMENSIONS:
        raise ValueError(f"header: at most {MAX_DIMENSIONS} dimensions are read, got {len(shape)}")
    count = 1
    for size in shape:
        count *= size
    flat = take("array", buffer, _dtype(descr[1].decode(), descr[2].decode()), count, start + length)
    if descr[2] == b"b1":
        flat = flat != 0  # stored as bytes of any value
    return flat.reshape(shape, order="F" if order[1] == b"True" else "C")


def _dtype(byte_order: str, kind: str) -> np.dtype[Any]:
    return np.dtype("u1") if kind == "b1" else np.dtype(byte_order.replace("|", "") + kind)


def as_float32(array: NDArray[Any]) -> NDArray[np.float32]:
    """Return C-contiguous float32; a number too large for it becomes infinite, which the caller reports."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(array, np.float32)
