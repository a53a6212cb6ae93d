"""Opening a USD stage without trusting the file, and the units, axes and times that it is in."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.io.notices import AssumptionNotice, FileNotice, told_by
from mane.io.sniff import suffix_of_contents
from mane.io.units import STATED_BY_USD, UP_AXES, checked_up, metres_per_unit, unit_name, upright
from mane.io.usd.crate import MAGIC as CRATE_MAGIC
from mane.io.usd.crate import check_crate
from mane.io.usd.diagnostics import reading
from mane.io.usd.probe import probe

Matrix = NDArray[np.float64]

TEXT_MAGIC = b"#usda"
PACKAGE_MAGIC = b"PK\x03\x04"
# What a file may hold, by suffix: `.usd` is text or binary, the others say which.
MAGIC_OF_SUFFIX = {
    ".usd": (CRATE_MAGIC, TEXT_MAGIC),
    ".usda": (TEXT_MAGIC,),
    ".usdc": (CRATE_MAGIC,),
    ".usdz": (PACKAGE_MAGIC,),
}
SUFFIX_OF_MAGIC = {CRATE_MAGIC: ".usdc", TEXT_MAGIC: ".usda", PACKAGE_MAGIC: ".usdz"}
HEAD_BYTES = 4096
# Velocities of a moving transform are differences over this many time codes to either side.
HALF_STEP = 0.5


def open_stage(path: str | os.PathLike[str], *, trusted: bool = False) -> Any:
    """Return the `Usd.Stage` of a file; OSError or ValueError, in one line with a remedy, where it cannot be opened.

    A binary file that is not `trusted` is opened in a child process first (see `probe`), at some 0.3 s per file.
    """
    from pxr import Usd

    file = Path(path)
    magic = _check_file(file)
    if magic == CRATE_MAGIC:
        check_crate(file)
    if magic != TEXT_MAGIC and not trusted:
        probe(file)
    with reading(path):
        return Usd.Stage.Open(os.path.abspath(path))


def _check_file(path: Path) -> bytes:
    """Return the magic bytes of a USD file whose name fits its contents, or say what is wrong with it."""
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder; give the name of a .usd, .usda, .usdc or .usdz file")
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: does not exist; check the path") from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise type(error)(f"{path}: cannot be read ({why}); check the path and its permissions") from None
    if not head:
        raise ValueError(f"{path}: is empty; export it again")
    suffix = path.suffix.lower()
    if suffix not in MAGIC_OF_SUFFIX:
        raise ValueError(
            f"{path}: {suffix or 'no suffix'!r} is no suffix of USD; choose from .usd, .usda, .usdc, .usdz"
        )
    for magic in MAGIC_OF_SUFFIX[suffix]:
        if head.startswith(magic):
            return magic
    raise ValueError(f"{path}: {_misnamed(path, head)}")


def _misnamed(path: Path, head: bytes) -> str:
    for magic, suffix in SUFFIX_OF_MAGIC.items():
        if head.startswith(magic):
            return f"is a {suffix} file by its contents; rename it to {path.stem}{suffix}"
    true = suffix_of_contents(head)
    if true is not None:
        return f"is a {true} file by its contents; rename it to {path.stem}{true}"
    return f"is no USD file, it begins with {head[:8]!r}; USD begins with '#usda' or 'PXR-USDC', so export it again"


@dataclass(frozen=True)
class StageUnits:
    """The unit of length and the up axis of a stage.

    Attributes:
        metres_per_unit: length of one unit [m].
        up: one of `mane.io.units.UP_AXES`.
        assumed: what the file does not state, in words; empty where it states both or the caller told them.
        remarks: what is odd about what it states, in words.
    """

    metres_per_unit: float
    up: str
    assumed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def is_world(self) -> bool:
        """Whether the stage is in metres with Y up already."""
        return self.metres_per_unit == 1.0 and self.up == "y"

    @cached_property
    def world_from_stage(self) -> Matrix:
        """4x4 matrix on column vectors, from the stage to metres with Y up."""
        matrix = np.eye(4)
        matrix[:3, :3] = self.metres_per_unit * upright(self.up)
        return matrix

    @cached_property
    def stage_from_world(self) -> Matrix:
        """4x4 matrix on column vectors, from metres with Y up to the stage."""
        matrix = np.eye(4)
        matrix[:3, :3] = self.world_from_stage[:3, :3].T / self.metres_per_unit**2
        return matrix


def stage_units(path: str | os.PathLike[str], stage: Any, unit: str | float | None, up: str | None) -> StageUnits:
    """Decide on units: as told, else as authored, else as OpenUSD assumes, with an `AssumptionNotice` that says so."""
    from pxr import UsdGeom

    assumed = []
    remarks: tuple[str, ...] = ()
    if unit is not None:
        size = metres_per_unit(unit)
    else:
        size, remarks = _stated_size(path, stage)
    if not (np.isfinite(size) and size > 0):
        told = told_by("unit")
        raise ValueError(f"{os.fspath(path)}: metersPerUnit must be above zero, got {size}; tell the unit by {told}")
    if unit is None and not UsdGeom.StageHasAuthoredMetersPerUnit(stage):
        rule = f"{size:g} ({unit_name(size)}) is assumed, as OpenUSD does"
        assumed.append(f"metersPerUnit is not authored, {rule}; tell it by {told_by('unit')}")
    axis = checked_up(up) if up is not None else str(UsdGeom.GetStageUpAxis(stage)).lower()
    if axis not in UP_AXES:
        raise ValueError(f"{os.fspath(path)}: upAxis must be Y or Z, got {axis.upper()!r}; tell it by {told_by('up')}")
    if up is None and not stage.HasAuthoredMetadata("upAxis"):
        assumed.append(f"upAxis is not authored, {axis.upper()} is assumed; tell it by {told_by('up')}")
    for text in remarks:
        warnings.warn(f"{os.fspath(path)}: {text}", FileNotice, stacklevel=4)
    for text in assumed:
        warnings.warn(f"{os.fspath(path)}: {text}", AssumptionNotice, stacklevel=4)
    return StageUnits(size, axis, tuple(assumed), remarks)


def _stated_size(path: str | os.PathLike[str], stage: Any) -> tuple[float, tuple[str, ...]]:
    """Length of one unit of a stage [m] and what is odd about it: Blender 2.83 stored a float, not a double."""
    from pxr import Tf, UsdGeom

    try:
        return float(UsdGeom.GetStageMetersPerUnit(stage)), ()
    except Tf.ErrorException:
        size = stage.GetMetadata("metersPerUnit")
    if not isinstance(size, int | float):
        raise ValueError(
            f"{os.fspath(path)}: metersPerUnit must be a number, got {size!r}; tell the unit by {told_by('unit')}"
        )
    return float(size), (f"metersPerUnit is stored as a float, where USD asks for a double; {size:g} is taken",)


def quietly_stated_size(path: str | os.PathLike[str], stage: Any) -> float:
    """Length of one unit of a stage [m], without a notice of how it is stored."""
    with reading(path):
        return _stated_size(path, stage)[0]


def author_units(layer: Any, units: StageUnits) -> None:
    """State units and up axis in a layer; an up axis that USD has no word for is left as it is."""
    layer.pseudoRoot.SetInfo("metersPerUnit", units.metres_per_unit)
    if units.up in STATED_BY_USD:
        layer.pseudoRoot.SetInfo("upAxis", units.up.upper())


def animated_layer(root: str, rate: float, first: float, last: float) -> Any:
    """Make a layer in memory, in metres and Y up, with a default prim and time codes from `first` to `last`."""
    from pxr import Sdf

    layer = Sdf.Layer.CreateAnonymous("animated.usda")
    layer.defaultPrim = root.strip("/")
    author_units(layer, StageUnits(1.0, "y"))
    layer.timeCodesPerSecond = layer.framesPerSecond = rate
    layer.startTimeCode, layer.endTimeCode = first, last
    return layer


@dataclass(frozen=True)
class StageTiming:
    """How time codes of a stage relate to seconds, and the range that it says it covers.

    Attributes:
        time_codes_per_second: time codes in one second.
        frames_per_second: playback rate, which does not change what a time code means.
        start: first time code of the range, or None where the file states none.
        end: last time code of the range, or None where the file states none.
    """

    time_codes_per_second: float = 24.0
    frames_per_second: float = 24.0
    start: float | None = None
    end: float | None = None


def stage_timing(stage: Any) -> StageTiming:
    """Return the timing of a stage."""
    has_range = stage.HasAuthoredTimeCodeRange()
    return StageTiming(
        float(stage.GetTimeCodesPerSecond()),
        float(stage.GetFramesPerSecond()),
        float(stage.GetStartTimeCode()) if has_range else None,
        float(stage.GetEndTimeCode()) if has_range else None,
    )


def transform_samples(prim: Any) -> list[float]:
    """Time codes at which the transform of a prim, or of one of its ancestors, is sampled."""
    from pxr import UsdGeom

    samples: set[float] = set()
    while prim and not prim.IsPseudoRoot():
        xformable = UsdGeom.Xformable(prim)
        if xformable:
            samples.update(xformable.GetTimeSamples())
            if xformable.GetResetXformStack():
                break
        prim = prim.GetParent()
    return sorted(samples)


def default_time(timing: StageTiming, samples: Iterable[float]) -> float | None:
    """Time code to read when none is asked for: the start of the range, else the first sample; None if all is still."""
    sampled = sorted(samples)
    if not sampled:
        return None
    return timing.start if timing.start is not None else sampled[0]


def time_code(time: float | None) -> Any:
    """Return the `Usd.TimeCode` of a time; None stands for a still stage, which is the same at any time."""
    from pxr import Usd

    if time is None:
        return Usd.TimeCode.EarliestTime()
    if not np.isfinite(time):
        raise ValueError(f"time: must be a finite time code, got {time}")
    return Usd.TimeCode(float(time))


def default_time_code() -> Any:
    """Return the `Usd.TimeCode` of what is authored for all times, beside any samples."""
    from pxr import Usd

    return Usd.TimeCode.Default()


def world_from_local(prim: Any, units: StageUnits, time: Any) -> Matrix:
    """4x4 matrix on column vectors, from a prim's own space to metres with Y up, at a `Usd.TimeCode`."""
    from pxr import UsdGeom

    # OpenUSD's matrices act on row vectors.
    stage_from_local = np.array(UsdGeom.XformCache(time).GetLocalToWorldTransform(prim)).T
    result: Matrix = units.world_from_stage @ stage_from_local
    return result


def matrix_rate(prim: Any, units: StageUnits, time: float) -> Matrix:
    """How fast a prim's 4x4 matrix to the world changes [1/s] at a time code, by central difference."""
    before, after = (world_from_local(prim, units, time_code(time + step)) for step in (-HALF_STEP, HALF_STEP))
    result: Matrix = (after - before) * (prim.GetStage().GetTimeCodesPerSecond() / (2 * HALF_STEP))
    return result


def apply_matrix(matrix: Matrix, points: NDArray[Any], *, is_vector: bool = False) -> NDArray[np.float64]:
    """Return points (P, 3) carried by a 4x4 matrix, in float64; vectors are not moved by its translation.

    Every point is computed by itself, so that a part of an array gives the same bits as the whole.
    """
    x, y, z = (points[:, axis].astype(np.float64) for axis in range(3))
    moved = np.empty((len(points), 3))
    for axis in range(3):
        row = matrix[axis]
        moved[:, axis] = x * row[0] + y * row[1] + z * row[2] + (0.0 if is_vector else row[3])
    return moved


def mean_scale(matrix: Matrix) -> float:
    """Factor by which a 4x4 matrix scales lengths, averaged over directions."""
    return float(abs(np.linalg.det(matrix[:3, :3])) ** (1 / 3))
