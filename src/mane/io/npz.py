"""mane's own `.npz`: plain arrays in an uncompressed zip, everything that a `Groom` knows, with a format version.

| member | holds |
|---|---|
| `format_version` | one whole number |
| `points`, `offsets` | as in `Groom` |
| `strand.NAME`, `vertex.NAME` | one array per attribute |
| `about` | JSON text as bytes: `unit`, `up`, `group_names` |

`numpy.load(path, allow_pickle=False)` opens it anywhere. Ours checks every size before it reads.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mane.geometry.archives import DAMAGED_ARCHIVE
from mane.groom.groom import Groom
from mane.io.buffers import Buffer
from mane.io.npy import as_float32, parse_array
from mane.io.raw import RawGroom

MAGIC = b"PK\x03\x04"
FORMAT_VERSION = 1
# A compressed member may unfold to this many times the file and no further, which keeps a bomb from going off.
MAX_UNFOLDING = 100
LOCAL_HEADER = 30  # bytes before the name of a member


def parse(buffer: Buffer) -> RawGroom:
    """Read strands from the bytes of an `.npz` file that mane wrote; ValueError for any other contents."""
    members = _read_members(buffer)
    version = members.pop("format_version", None)
    if version is None or version.size != 1 or "points" not in members or "offsets" not in members:
        raise ValueError(
            "members: must be format_version, points and offsets as mane writes them, got "
            f"{', '.join(sorted(members)[:6]) or 'none'}; save an array of shape (strands, points, 3) as .npy instead"
        )
    if int(version.reshape(-1)[0]) != FORMAT_VERSION:
        raise ValueError(
            f"format_version: this mane reads version {FORMAT_VERSION}, got {int(version.reshape(-1)[0])}; "
            "upgrade mane or write the file again"
        )
    points = members.pop("points")
    if points.ndim != 2 or points.shape[1] != 3 or points.dtype.kind != "f":
        raise ValueError(f"points: must be floating-point of shape (P, 3), got {points.dtype} of shape {points.shape}")
    offsets = _checked_offsets(members.pop("offsets"), len(points))
    about = _parse_about(members.pop("about", None))
    attributes: dict[str, dict[str, NDArray[Any]]] = {"strand": {}, "vertex": {}}
    for key, values in members.items():
        scope, _, name = key.partition(".")
        count = {"strand": len(offsets) - 1, "vertex": len(points)}.get(scope)
        if count is None or not name:
            continue  # a note that somebody added for themselves
        if values.ndim == 0 or len(values) != count:
            raise ValueError(f"{key}: must have one element per {scope} ({count:,}), got shape {values.shape}")
        attributes[scope][name] = np.ascontiguousarray(values)
    return RawGroom(as_float32(points), offsets, attributes["strand"], attributes["vertex"], **about)


def _read_members(buffer: Buffer) -> dict[str, NDArray[Any]]:
    members = {}
    content = bytes(buffer)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            unfolded = sum(info.file_size for info in infos)
            if unfolded > MAX_UNFOLDING * len(buffer):
                raise ValueError(f"zip: promises {unfolded:,} bytes from {len(buffer):,}; it is damaged or a trap")
            for info in infos:
                if info.filename.endswith(".npy"):
                    members[info.filename.removesuffix(".npy")] = _read_member(content, archive, info)
    except (*DAMAGED_ARCHIVE, OSError) as error:
        raise ValueError(f"zip: cannot be read ({error}); the file is cut short or damaged") from None
    return members


def _read_member(content: bytes, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    try:
        if info.compress_type == zipfile.ZIP_STORED:
            return parse_array(_stored(content, info))
        with archive.open(info) as member:
            return parse_array(member.read(info.file_size))
    except ValueError as error:
        raise ValueError(f"{info.filename}: {error}") from None


def _stored(content: bytes, info: zipfile.ZipInfo) -> memoryview:
    """Return the bytes of a member that is not compressed without copying them."""
    name_length, extra_length = struct.unpack_from("<HH", content, info.header_offset + 26)
    start = info.header_offset + LOCAL_HEADER + name_length + extra_length
    member = memoryview(content)[start : start + info.file_size]
    if len(member) != info.file_size or zlib.crc32(member) != info.CRC:
        raise ValueError("its bytes do not match their checksum; the file is cut short or damaged")
    return member


def _checked_offsets(offsets: NDArray[Any], point_count: int) -> NDArray[np.int64]:
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or len(offsets) < 2:
        raise ValueError(
            f"offsets: must be whole numbers of shape (S+1,) for at least one strand, got {offsets.dtype} "
            f"of shape {offsets.shape}"
        )
    checked = np.ascontiguousarray(offsets, np.int64)
    backwards = np.diff(checked) < 0
    if backwards.any():
        raise ValueError(f"offsets: must never decrease, got a step back at strand {int(backwards.argmax())}")
    if checked[0] != 0 or checked[-1] != point_count:
        raise ValueError(
            f"offsets: must go from 0 to {point_count:,} (= number of points), got {checked[0]} to {checked[-1]}"
        )
    return checked


def _parse_about(values: NDArray[Any] | None) -> dict[str, Any]:
    if values is None:
        return {}
    try:
        about = json.loads(values.astype(np.uint8, copy=False).tobytes())
        names = about.get("group_names", {})
        return {
            "unit": _text(about.get("unit")),
            "up": _text(about.get("up")),
            "group_names": {int(key): str(name) for key, name in names.items()},
        }
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise ValueError('about: must be JSON such as {"unit": "m", "up": "y", "group_names": {}}') from None


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError
    return value


def write(file: BinaryIO, groom: Groom, *, unit: str, up: str) -> None:
    """Write a groom with every attribute; `groom` is already in `unit` and `up`, which are stated beside it."""
    about = {"unit": unit, "up": up, "group_names": {str(key): name for key, name in groom.group_names.items()}}
    arrays: dict[str, NDArray[Any]] = {
        "format_version": np.asarray(FORMAT_VERSION),
        "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
        "points": groom.points,
        "offsets": groom.offsets,
        **_prefixed("strand", groom.strand),
        **_prefixed("vertex", groom.vertex),
    }
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            # A fixed date, so that the same groom gives the same bytes.
            info = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(info, "w", force_zip64=True) as member:
                description = np.lib.format.header_data_from_array_1_0(array)
                np.lib.format.write_array_header_1_0(member, description)
                member.write(np.ascontiguousarray(array).data)


def _prefixed(scope: str, attributes: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    odd = [name for name in attributes if "\0" in name or len(name) > 1000]
    if odd:
        raise ValueError(f"{scope} attribute {odd[0][:40]!r}: its name cannot be written to a file; rename it")
    return {f"{scope}.{name}": values for name, values in attributes.items()}
