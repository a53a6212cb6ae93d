"""A cheap look at a binary USD ("crate") file before OpenUSD maps it: is it whole, does its table point inside it?

OpenUSD checks this too; the point is a message that says "cut short" where OpenUSD speaks of bootstrap structures.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

MAGIC = b"PXR-USDC"
# Magic, eight version bytes, offset of the table of contents, eight reserved words.
_HEADER = struct.Struct("<8s8Bq64x")
_SECTION = struct.Struct("<16sqq")
MOST_SECTIONS = 64  # six are in use


def check_crate(path: Path) -> None:
    """Raise ValueError when the file is cut short or its table of contents points outside it."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            raise ValueError(_cut_short(path, size, _HEADER.size))
        table = _HEADER.unpack(header)[-1]
        if not _HEADER.size <= table <= size - 8:
            raise ValueError(_cut_short(path, size, table))
        file.seek(table)
        rest = file.read(8 + MOST_SECTIONS * _SECTION.size)
    (count,) = struct.unpack_from("<q", rest)
    if not 1 <= count <= MOST_SECTIONS:
        raise ValueError(f"{path}: its table of contents claims {count} sections; the file is damaged, export it again")
    if len(rest) < 8 + count * _SECTION.size:
        raise ValueError(_cut_short(path, size, table + 8 + count * _SECTION.size))
    for name, start, length in _SECTION.iter_unpack(rest[8 : 8 + count * _SECTION.size]):
        if start < 0 or length < 0 or start + length > size:
            label = name.rstrip(b"\0").decode("ascii", "replace")
            raise ValueError(
                f"{path}: section {label!r} claims bytes {start} to {start + length} of a file of {size}; "
                "the file is damaged, export it again"
            )


def _cut_short(path: Path, size: int, needed: int) -> str:
    return f"{path}: is cut short or damaged: it has {size} bytes and refers to byte {needed}; export or copy it again"
