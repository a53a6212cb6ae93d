"""The byte layout of one frame's crate file, so that frames are written straight from NumPy arrays.

OpenUSD copies every array and hashes it before it is in a file. Frames of one animation have the same prims, attributes
and counts, so their files differ in values alone, and float3 arrays are stored raw. OpenUSD therefore writes one file
of such a frame with marked values, and where the marks are is the layout. A frame is that file with its own values in
their places. A layout is used only after OpenUSD has read every value back from a file that was written with it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count as count_from
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mane.geometry.checks import FloatArray
from mane.io.atomic import atomic_write, partial_path
from mane.io.usd.layer import author_frame
from mane.io.usd.prim_writer import PrimFrame

# Values that a crate file does not hold by chance: a double and, by their seeds, rows of float32.
MARK_TIME, MARK_SEED = 7318.402917364, 0x6D616E65
CHECK_TIME = -52.18340927
TIME = struct.Struct("<d")
COUNT = struct.Struct("<Q")  # before the rows of an array
ROW_BYTES = 12
WRITTEN_BYTES = 1 << 23  # handed to the system at a time
SEARCHED_BYTES = 1 << 20  # at a time, so that a layout is found in little memory
CHECK_PERIOD = 65_521  # rows after which check values repeat; prime, so that no shift by a round number is overlooked

Key = tuple[str, str]  # path of a prim, name of its attribute


@dataclass(frozen=True)
class PrimRows:
    """What the frames of one prim have: `count` points, and as many velocities where `has_velocities`."""

    path: str
    count: int
    has_velocities: bool


@dataclass(frozen=True)
class Place:
    """Where the rows of an attribute are: `count` rows of three little-endian float32, from byte `start` on."""

    start: int
    count: int

    @property
    def end(self) -> int:
        """First byte behind the rows."""
        return self.start + ROW_BYTES * self.count


@dataclass(frozen=True, eq=False)
class FrameLayout:
    """A crate file of one frame without its values.

    Attributes:
        places: where the rows of each attribute are.
        time_start: byte at which the time code is, a float64 that all attributes share.
        fixed: bytes that are the same in all frames, each with the byte at which they begin.
    """

    places: dict[Key, Place]
    time_start: int
    fixed: tuple[tuple[int, bytes], ...]

    def write(self, file: BinaryIO, time: float, frames: Iterable[PrimFrame], *, write_back: bool = False) -> None:
        """Write a frame into an empty file.

        Args:
            file: open for writing, at its beginning.
            time: time code.
            frames: what each prim is given, for all prims and attributes of the layout and with their counts. Arrays
                are written from where they are, without a copy, and not referred to when this returns.
            write_back: let the disk begin with the first bytes while the last are still being handed over.
        """
        for start, content in (*self.fixed, (self.time_start, TIME.pack(time))):
            file.seek(start)
            file.write(content)
        missing = set(self.places)
        for frame in frames:
            for key, rows in values_of(frame):
                place = self.places[key]
                assert rows.shape == (place.count, 3), "a layout is for frames of the same counts"
                file.seek(place.start)
                _write_rows(file, np.ascontiguousarray(rows, "<f4").data.cast("B"), write_back=write_back)
                missing.remove(key)
        assert not missing, "a layout is for frames of the same prims and attributes"


def _write_rows(file: BinaryIO, content: memoryview, *, write_back: bool) -> None:
    """Write the bytes of an array where a file stands; `write_back` as of `FrameLayout.write`."""
    is_long = len(content) > WRITTEN_BYTES
    if not (write_back and is_long and hasattr(os, "posix_fadvise")):
        file.write(content)
        return
    start = file.tell()
    for first in range(0, len(content), WRITTEN_BYTES):
        file.write(content[first : first + WRITTEN_BYTES])
        file.flush()
        # Pages that are not needed are written out at once; these are not dropped, since they are not on disk yet.
        with suppress(OSError):  # it is only a hint
            os.posix_fadvise(file.fileno(), start + first, WRITTEN_BYTES, os.POSIX_FADV_DONTNEED)


def values_of(frame: PrimFrame) -> Iterator[tuple[Key, FloatArray]]:
    """Rows (N, 3) of each attribute that a prim is given."""
    yield (frame.path, "points"), frame.points
    yield (frame.path, "extent"), frame.extent
    if frame.velocities is not None:
        yield (frame.path, "velocities"), frame.velocities


def write_frame(path: Path, layout: FrameLayout, time: float, frames: Iterable[PrimFrame]) -> None:
    """Write a frame to a file, complete and on the disk before it takes its name; OSError where that fails."""
    with atomic_write(path) as file:
        layout.write(file, time, frames, write_back=True)


def find_layout(folder: Path, new_layer: Callable[[], Any], prims: Sequence[PrimRows]) -> FrameLayout | None:
    """Return the layout of the frames that OpenUSD writes for these prims, or None where there is any doubt about it.

    Args:
        folder: where two files as large as a frame are written, one after the other, and removed again.
        new_layer: makes a layer with the metadata of a frame and no prims.
        prims: of every frame.

    OSError and OpenUSD's own errors where a file cannot be written.
    """
    if any(prim.count == 0 for prim in prims):  # there is no array for these
        return None
    layer = new_layer()
    for frame in _marked_frames(prims):
        author_frame(layer, frame, MARK_TIME)
    with _scratch_file(folder) as file:
        if not layer.Export(str(file)):
            return None
        del layer
        layout = _locate(file, prims)
    return layout if layout is not None and _is_read_back(folder, layout, prims) else None


@contextmanager
def _scratch_file(folder: Path) -> Iterator[Path]:
    """Give a name for a file that is removed when the block ends, and by the next run if this one is killed."""
    file = partial_path(folder / "layout.usdc")
    try:
        yield file
    finally:
        with suppress(OSError):
            file.unlink()


# -- finding a layout --------------------------------------------------------------------------------------------------


def _marked_frames(prims: Sequence[PrimRows]) -> Iterator[PrimFrame]:
    """Frames of zeros but for the first and last row of each array, which no other array has."""
    seeds = count_from(MARK_SEED)

    def marked(count: int) -> FloatArray:
        rows = np.zeros((count, 3), np.float32)
        rows[[-1, 0]] = np.random.default_rng(next(seeds)).normal(size=(2, 3))
        return rows

    return _frames(prims, marked)


def _frames(prims: Sequence[PrimRows], rows: Callable[[int], FloatArray]) -> Iterator[PrimFrame]:
    """Frames of made-up values: `rows(count)` makes each array (count, 3), in the order of `values_of`."""
    for prim in prims:
        points, extent = rows(prim.count), rows(2)
        yield PrimFrame(prim.path, points, rows(prim.count) if prim.has_velocities else None, extent)


def _locate(path: Path, prims: Sequence[PrimRows]) -> FrameLayout | None:
    """Find the marks in a file of marked frames; None unless each is there exactly once."""
    arrays = {key: _ends(rows) for frame in _marked_frames(prims) for key, rows in values_of(frame)}
    time = TIME.pack(MARK_TIME)
    with open(path, "rb") as file:
        starts = _only_starts(file, [time, *(head for head, _, _ in arrays.values())])
        if starts is None:
            return None
        places = {key: Place(starts[head] + COUNT.size, count) for key, (head, _, count) in arrays.items()}
        for key, (_, tail, _) in arrays.items():
            if _bytes_at(file, places[key].end - ROW_BYTES, places[key].end) != tail:
                return None
        ranges = [(place.start, place.end) for place in places.values()]
        fixed = _outside(file, [*ranges, (starts[time], starts[time] + TIME.size)])
    return None if fixed is None else FrameLayout(places, starts[time], fixed)


def _ends(rows: FloatArray) -> tuple[bytes, bytes, int]:
    """How an array (N, 3) begins and ends in a crate file, and its N."""
    first, last = rows[[0, -1]].astype("<f4")
    return COUNT.pack(len(rows)) + first.tobytes(), last.tobytes(), len(rows)


def _only_starts(file: BinaryIO, sought: Sequence[bytes]) -> dict[bytes, int] | None:
    """Where each sequence of bytes is in a file; None unless each is there exactly once."""
    starts: dict[bytes, int] = {}
    overlap = max(map(len, sought)) - 1
    position, block = 0, file.read(SEARCHED_BYTES)
    while block:
        for item in sought:
            found = block.find(item)
            while found >= 0:
                if starts.setdefault(item, position + found) != position + found:
                    return None
                found = block.find(item, found + 1)
        kept = block[-overlap:]
        more = file.read(SEARCHED_BYTES)
        position, block = position + len(block) - len(kept), kept + more if more else b""
    return starts if len(starts) == len(sought) else None


def _bytes_at(file: BinaryIO, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start)


def _outside(file: BinaryIO, ranges: list[tuple[int, int]]) -> tuple[tuple[int, bytes], ...] | None:
    """Bytes outside the given ranges, each with where they begin; None where ranges overlap or leave the file."""
    fixed, position = [], 0
    size = file.seek(0, os.SEEK_END)
    for start, end in (*sorted(ranges), (size, size)):
        if start < position:
            return None
        fixed.append((position, _bytes_at(file, position, start)))
        position = end
    return tuple(fixed)


# -- checking it -------------------------------------------------------------------------------------------------------


def _is_read_back(folder: Path, layout: FrameLayout, prims: Sequence[PrimRows]) -> bool:
    """Whether OpenUSD reads from a file that was written with a layout exactly the values that were put in."""
    from pxr import Tf

    ranks = count_from(1)
    frames = _frames(prims, lambda count: _check_values(count, next(ranks)))
    with _scratch_file(folder) as path:
        with open(path, "wb") as file:
            layout.write(file, CHECK_TIME, frames)
        try:
            return _holds_check_values(path, layout)
        except Tf.ErrorException:
            return False


def _check_values(count: int, rank: int) -> FloatArray:
    """An array (count, 3) that repeats the check rows of its rank."""
    rows = np.empty((count, 3), np.float32)
    period = _check_rows(rank)
    for first in range(0, count, CHECK_PERIOD):
        part = rows[first : first + CHECK_PERIOD]
        part[:] = period[: len(part)]
    return rows


def _check_rows(rank: int) -> FloatArray:
    """Rows (CHECK_PERIOD, 3) that differ from each other, and from those of the array of any other rank."""
    return np.arange(3 * CHECK_PERIOD, dtype=np.float32).reshape(-1, 3) + np.float32(0.5 * rank)


def _holds_check_values(path: Path, layout: FrameLayout) -> bool:
    """Whether OpenUSD finds the check values of all attributes in a file, at `CHECK_TIME` alone."""
    from pxr import Sdf

    layer = Sdf.Layer.FindOrOpen(str(path))
    return layer is not None and all(
        _is_check_sample(layer, f"{prim}.{name}", place.count, rank)
        for rank, ((prim, name), place) in enumerate(layout.places.items(), start=1)
    )


def _is_check_sample(layer: Any, attribute: str, count: int, rank: int) -> bool:
    """Whether an attribute has the check values of its rank, at `CHECK_TIME` alone."""
    if list(layer.ListTimeSamplesForPath(attribute)) != [CHECK_TIME]:
        return False
    rows = np.asarray(layer.QueryTimeSample(attribute, CHECK_TIME))
    if rows.shape != (count, 3):
        return False
    period = _check_rows(rank)
    parts = (rows[first : first + CHECK_PERIOD] for first in range(0, count, CHECK_PERIOD))
    return all(np.array_equal(part, period[: len(part)]) for part in parts)
