"""Points of an animation as a plain array: `.npy` of shape (F, N, 3), or `.npz` with `points` and perhaps `times`.

Arrays are mapped from the file, so that an animation of thousands of frames takes no memory.
"""

from __future__ import annotations

import os
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.archives import DAMAGED_ARCHIVE
from mane.geometry.checks import FloatArray
from mane.io.buffers import map_buffer
from mane.io.formats import suffix_of
from mane.io.grooms import naming
from mane.io.npy import as_float32, parse_array
from mane.io.npz import LOCAL_HEADER
from mane.io.watch import WatchedFiles

SUFFIXES = (".npy", ".npz")
# A compressed member is unfolded into memory as a whole; more than this is better saved without compression.
MOST_UNFOLDED = 4_000_000_000


@dataclass(frozen=True, eq=False)
class PointArray:
    """Samples of points in a file.

    Attributes:
        path: of the file.
        points: as stored, shape (F, N, 3), mapped from the file where it can be.
        times: of the samples [s], shape (F,), or None where the file does not say.
    """

    path: Path
    points: NDArray[Any]
    times: NDArray[np.float64] | None
    _files: WatchedFiles

    def __len__(self) -> int:
        """Number of samples, F."""
        return len(self.points)

    def __getitem__(self, sample: int) -> FloatArray:
        """Points at a sample in the unit of the file, shape (N, 3), float32; ValueError where one is not finite."""
        self._files.check()
        points = as_float32(self.points[sample])
        finite = np.isfinite(points).all(axis=1)
        if not finite.all():
            row = int((~finite).argmax())
            raise ValueError(f"{self.path}: point {row} is not finite at sample {sample}; export it again")
        return points


def open_point_array(path: str | os.PathLike[str]) -> PointArray:
    """Open an array of moving points; OSError or ValueError in one line where it cannot be one."""
    file = Path(path)
    suffix = suffix_of(file, SUFFIXES, "read as an animation")
    mapped = map_buffer(file)
    with naming(file):
        arrays = {"points": parse_array(mapped)} if suffix == ".npy" else _members(file, mapped)
        points = _checked_points(arrays)
        return PointArray(file, points, _checked_times(arrays.get("times"), len(points)), WatchedFiles([file]))


def _members(file: Path, mapped: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Arrays of an `.npz`; those that are not compressed are mapped."""
    arrays = {}
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if name not in ("points", "times"):
                    continue
                if info.compress_type == zipfile.ZIP_STORED:
                    arrays[name] = parse_array(_stored(mapped, info))
                elif info.file_size > MOST_UNFOLDED:
                    raise ValueError(
                        f"{name}: would take {info.file_size / 1e9:.0f} GB of memory; save it with numpy.savez, which "
                        "does not compress"
                    )
                else:
                    arrays[name] = parse_array(archive.read(info))
    except DAMAGED_ARCHIVE as error:
        raise ValueError(f"zip: cannot be read ({error}); the file is cut short or damaged") from None
    return arrays


def _stored(mapped: NDArray[np.uint8], info: zipfile.ZipInfo) -> NDArray[np.uint8]:
    name_length, extra_length = struct.unpack_from("<HH", mapped.data, info.header_offset + 26)
    start = info.header_offset + LOCAL_HEADER + name_length + extra_length
    return mapped[start : start + info.file_size]


def _checked_points(arrays: dict[str, NDArray[Any]]) -> NDArray[Any]:
    if "points" not in arrays:
        raise ValueError("points: is missing; save an array of shape (frames, points, 3) under that name")
    points = arrays["points"]
    if points.ndim != 3 or points.shape[2] != 3 or points.dtype.kind != "f":
        raise ValueError(
            f"points: must be floating-point of shape (frames, points, 3), got {points.dtype} of shape {points.shape}"
        )
    if points.size == 0:
        raise ValueError(f"points: must hold at least one frame, got shape {points.shape}; export the animation again")
    return points


def _checked_times(times: NDArray[Any] | None, count: int) -> NDArray[np.float64] | None:
    if times is None:
        return None
    if times.shape != (count,) or times.dtype.kind not in "fiu":
        raise ValueError(f"times: must be {count} numbers (= frames) [s], got {times.dtype} of shape {times.shape}")
    checked = times.astype(np.float64)
    if not (np.isfinite(checked).all() and (np.diff(checked) > 0).all()):
        raise ValueError("times: must be finite and rise from frame to frame")
    return checked
