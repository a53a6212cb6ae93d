"""Makes the layer metadata `metersPerUnit` of a binary USD file a float, as Blender 2.83 wrote it.

OpenUSD's own interfaces turn such a value into the double that the schema asks for before it is stored, so the bytes
are edited: the values of the section FIELDS are unpacked (LZ4), one of them gets another type, and section and table
of contents are written again behind everything else.
"""

from __future__ import annotations

import struct
from pathlib import Path

INLINED, DOUBLE, FLOAT = 1 << 62, 9 << 48, 8 << 48  # of a value's 64 bits: flag, types; the rest is the value


def make_unit_a_float(path: Path, value: float) -> None:
    """Give `metersPerUnit` of a .usdc, which must be `value`, the type float."""
    data = path.read_bytes()
    (table,) = struct.unpack_from("<q", data, 16)
    (count,) = struct.unpack_from("<q", data, table)
    sections = [struct.unpack_from("<16sqq", data, table + 8 + 32 * number) for number in range(count)]
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    moved = []
    for name, start, length in sections:
        if name.rstrip(b"\0") != b"FIELDS":
            moved.append((name, start, length))
            continue
        fields = _with_float(data[start : start + length], bits)
        moved.append((name, len(data), len(fields)))
        data += fields
    end = len(data)
    data += struct.pack("<q", count) + b"".join(struct.pack("<16sqq", *section) for section in moved)
    path.write_bytes(data[:16] + struct.pack("<q", end) + data[24:])


def _with_float(section: bytes, bits: int) -> bytes:
    """The section with the one value of these bits that is a double made a float."""
    count, tokens = struct.unpack_from("<QQ", section)
    start = 16 + tokens
    (size,) = struct.unpack_from("<Q", section, start)
    packed = section[start + 8 : start + 8 + size]
    assert packed[0] == 0, "values of a small file are one block"
    values = list(struct.unpack(f"<{count}Q", _unpacked(packed[1:])))
    values[values.index(INLINED | DOUBLE | bits)] = INLINED | FLOAT | bits
    block = b"\0" + _packed(struct.pack(f"<{count}Q", *values))
    return section[:start] + struct.pack("<Q", len(block)) + block


def _unpacked(block: bytes) -> bytes:
    """Bytes of a block of LZ4."""
    out, at = bytearray(), 0
    while True:
        token = block[at]
        length, at = _length(block, at + 1, token >> 4)
        out += block[at : at + length]
        at += length
        if at >= len(block):
            return bytes(out)
        (back,) = struct.unpack_from("<H", block, at)
        length, at = _length(block, at + 2, token & 15)
        for _ in range(length + 4):
            out.append(out[-back])


def _length(block: bytes, at: int, first: int) -> tuple[int, int]:
    length = first
    while first == 15:
        length, at = length + block[at], at + 1
        first = 15 if block[at - 1] == 255 else 0
    return length, at


def _packed(data: bytes) -> bytes:
    """The same as one run of literals."""
    if len(data) < 15:
        return bytes([len(data) << 4]) + data
    rest = len(data) - 15
    return bytes([0xF0] + [255] * (rest // 255) + [rest % 255]) + data
