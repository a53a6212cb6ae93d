"""Reading and writing grooms of any format, by suffix, with the contents checked against it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mane.groom.groom import Groom
from mane.io import ply
from mane.io.atomic import atomic_write, check_writable
from mane.io.buffers import Buffer, read_buffer
from mane.io.formats import READABLE, STRAND_FORMATS, USD_SUFFIXES, WRITABLE, Frame, frame_of, suffix_of
from mane.io.notices import LossNotice, RepairNotice, told_by
from mane.io.raw import RawGroom
from mane.io.sniff import suffix_of_contents
from mane.io.units import checked_up, from_metres, metres_per_unit, to_metres

if TYPE_CHECKING:
    from mane.groom.repair import RepairReport

# Reading leaves alone what a groom can hold, doubled points and stubs included; `mane repair` is thorough.
NO_MERGING = -1.0
ANY_LENGTH = float(np.nextafter(0, 1))


def read_groom(
    path: str | os.PathLike[str],
    *,
    unit: str | None = None,
    up: str | None = None,
    repair: bool = True,
    points_per_strand: int | None = None,
    time: float | None = None,
) -> Groom:
    """Read a groom from a file of any format, in metres with Y up.

    Args:
        path: .usd, .usda, .usdc, .usdz, .hair, .data, .npz, .tfx, .bin (CT2Hair), .ply (strands) or .npy.
        unit: unit of length of the file, e.g. "cm" or "0.1in"; by default what it states, else what its format is
            assumed to use: metres, and millimetres for .bin. `mane info` prints the assumption.
        up: up axis of the file: x, y, z, -x, -y or -z; by default what it states, else "y".
        repair: mend or leave out damaged strands with a `RepairNotice` (a warning) that says how many; False refuses
            the file and names the first of them.
        points_per_strand: how to cut a .ply of bare points into strands; 100 by default.
        time: frame of an animated USD file to read; its first by default.

    A rest shape that is not the shape read becomes the vertex attribute `rest` [m]. ValueError or OSError, in one line
    that names file, fault and remedy, where the file cannot be read.
    """
    suffix = suffix_of(path, READABLE, "read")
    if suffix in USD_SUFFIXES:
        from mane.io.usd import read_usd_groom

        read = read_usd_groom(path, time=time, unit=unit, up=up, repair=repair)
        is_posed = read.rest is not None and not np.array_equal(read.rest, read.groom.points)
        return read.groom.with_vertex(rest=read.rest) if is_posed else read.groom
    if time is not None:
        raise ValueError(f"{os.fspath(path)}: holds one moment only; {told_by('time')} is for animated USD files")
    raw = read_raw(path, points_per_strand=points_per_strand)
    return groom_from_raw(path, raw, frame_of(path, raw, unit, up), repair=repair)


def read_raw(path: str | os.PathLike[str], *, points_per_strand: int | None = None) -> RawGroom:
    """Read a strand file (any format but USD) as it is, damaged strands included, in its own units and axes.

    `RawGroom.problems` tells what is wrong with it. ValueError where the file as a whole cannot be understood.
    """
    suffix = suffix_of(path, tuple(STRAND_FORMATS), "read as strands")
    if points_per_strand is not None and suffix != ".ply":
        raise ValueError(f"{os.fspath(path)}: {told_by('points_per_strand')} is for .ply files of bare points only")
    buffer = read_buffer(path)
    parse = STRAND_FORMATS[suffix].parse
    try:
        if points_per_strand is not None:
            return ply.parse(buffer, points_per_strand=points_per_strand)
        return parse(buffer)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {_true_name(path, buffer, suffix) or error}") from None


def _true_name(path: str | os.PathLike[str], buffer: Buffer, suffix: str) -> str | None:
    """Say what the contents are, where they are something else than the name says."""
    true = suffix_of_contents(buffer)
    if true is None or true == suffix:
        return None
    known = true in READABLE
    remedy = f"rename it to {os.path.splitext(os.path.basename(path))[0]}{true}" if known else "mane cannot read those"
    return f"is a {true} file by its contents, not {suffix}; {remedy}"


def groom_from_raw(path: str | os.PathLike[str], raw: RawGroom, frame: Frame, *, repair: bool = True) -> Groom:
    """Make a groom in metres with Y up from raw strands, mending or leaving out what cannot be in one."""
    with naming(path):
        metric = _in_metres(raw, frame)
        faults = metric.fatal_problems
        if not faults:
            return Groom(metric.points, metric.offsets, metric.strand, metric.vertex, metric.group_names)
        if not repair:
            raise ValueError(f"{faults[0].text}; read it with repair=True or run `mane repair`")
        groom, report = _mended(metric, merge_distance=NO_MERGING, merge_share=0.0, min_length=ANY_LENGTH)
    warnings.warn(f"{os.fspath(path)}: {'; '.join(report.summary().splitlines())}", RepairNotice, stacklevel=3)
    return groom


def read_repaired(
    path: str | os.PathLike[str],
    *,
    unit: str | None = None,
    up: str | None = None,
    points_per_strand: int | None = None,
    time: float | None = None,
    min_length: float = 1e-6,
) -> tuple[Groom, RepairReport]:
    """Read a groom as `read_groom` does and mend it thoroughly: doubled points and strands below `min_length` [m] too.

    Of a USD file, curves that are damaged are left out by its reader with a warning, and the report is about the rest.
    """
    if suffix_of(path, READABLE, "read") in USD_SUFFIXES:
        groom = read_groom(path, unit=unit, up=up, time=time)
        raw = RawGroom(groom.points, groom.offsets, groom.strand, groom.vertex, groom.group_names, unit="m", up="y")
        frame = Frame("m", "y", "as read", False)
    else:
        raw = read_raw(path, points_per_strand=points_per_strand)
        frame = frame_of(path, raw, unit, up)
    with naming(path):
        return _mended(_in_metres(raw, frame), min_length=min_length)


def _mended(raw: RawGroom, **options: Any) -> tuple[Groom, RepairReport]:
    from mane.groom.repair import repair_arrays

    options |= {"strand": raw.strand, "vertex": raw.vertex, "group_names": raw.group_names}
    with np.errstate(invalid="ignore", over="ignore"):  # the report tells what is broken
        return repair_arrays(raw.points, raw.offsets, **options)


def _in_metres(raw: RawGroom, frame: Frame) -> RawGroom:
    """Return raw strands in metres with Y up, in arrays of their own."""
    size = metres_per_unit(frame.unit)
    return RawGroom(
        _owned(to_metres(raw.points, frame.unit, frame.up)),
        raw.offsets,
        _carried(raw.strand, size, to_metres, frame),
        _carried(raw.vertex, size, to_metres, frame),
        raw.group_names,
        unit="m",
        up="y",
    )


def write_groom(path: str | os.PathLike[str], groom: Groom, *, unit: str | None = None, up: str | None = None) -> None:
    """Write a groom to .hair, .data, .npz or USD; the file appears whole or not at all.

    Args:
        path: where to; its suffix chooses the format.
        groom: in metres with Y up.
        unit: unit of length of the file, metres by default. USD, .hair and .npz state it inside; .data cannot.
        up: up axis of the file, "y" by default, stated likewise.

    A `LossNotice` (a warning) names attributes for which the format has no room. OSError, in one line that names file,
    fault and remedy, where the file cannot be written.
    """
    suffix = suffix_of(path, WRITABLE, "write as a groom")
    check_writable(path)
    if suffix in USD_SUFFIXES:
        from mane.io.usd import write_usd_groom

        write_usd_groom(path, groom.with_vertex(rest=None), unit=unit, up=up, rest=groom.vertex.get("rest"))
        return
    entry = STRAND_FORMATS[suffix]
    assert entry.write is not None  # WRITABLE lists only those
    with naming(path):
        unit, up = "".join((unit or "m").split()), checked_up(up or "y")
        names = (*groom.strand, *groom.vertex)
        lost = [] if entry.carries is None else [name for name in names if name not in entry.carries]
        converted = in_frame(groom, unit, up)
        with atomic_write(path) as file:
            entry.write(file, converted, unit=unit, up=up)
    if lost:
        warnings.warn(
            f"{os.fspath(path)}: {entry.title} has no room for {', '.join(lost)}, left out; .npz and USD keep them",
            LossNotice,
            stacklevel=2,
        )


def in_frame(groom: Groom, unit: str, up: str) -> Groom:
    """Return a groom of metres with Y up in the units and axes of a file; itself where nothing changes."""
    size = metres_per_unit(unit)
    if size == 1 and up == "y":
        return groom
    frame = Frame(unit, up, "", False)
    return Groom(
        from_metres(groom.points, unit, up),
        groom.offsets,
        _carried(groom.strand, 1 / size, from_metres, frame),
        _carried(groom.vertex, 1 / size, from_metres, frame),
        groom.group_names,
    )


def _carried(
    attributes: Mapping[str, NDArray[Any]], scale: float, convert: Callable[..., Any], frame: Frame
) -> dict[str, NDArray[Any]]:
    """Return attributes in arrays of their own, with the diameter scaled and the rest shape converted like points."""
    carried = {name: _owned(values) for name, values in attributes.items()}
    if "width" in carried and scale != 1:
        with np.errstate(over="ignore", invalid="ignore"):
            carried["width"] = (carried["width"] * np.float64(scale)).astype(np.float32)
    if "rest" in carried and carried["rest"].shape[1:] == (3,):
        carried["rest"] = convert(carried["rest"], frame.unit, frame.up)
    return carried


def _owned(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array contiguous, aligned, native and writable, as kernels like them; copies only when it must."""
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A", "W"])


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the name of a file before the message of every ValueError raised inside."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None
