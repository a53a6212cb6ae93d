"""Animations frame by frame: every finished frame is a file of its own, and one stage shows them all at any time.

    hair.usda                    the stage to open: the original (or the still groom) below, a list of frames above
    hair.frames/frame.0001.usdc  points of one frame
    hair.frames/manifest.usda    which attributes the frames provide
    hair.frames/still.usdc       the groom itself, where it is new

The frames are USD's value clips (`clips.py`). Each file is complete before it takes its name, and the stage lists a
frame only then: a reader, or the user after a crash, finds the run as it was after some frame. Memory does not grow
with the frames, nor does what a frame costs, unless times are irregular.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from numpy.typing import ArrayLike

from mane.groom.groom import Groom
from mane.io.atomic import sync_folder
from mane.io.usd.clips import MANIFEST_NAME, FrameTimes, author_clips, finished_times, frame_name
from mane.io.usd.diagnostics import writing
from mane.io.usd.files import check_target, export_layer
from mane.io.usd.frame_files import FrameFiles
from mane.io.usd.layer import (
    attribute_spec,
    block_stale,
    check_rising,
    checked_frame,
    over_layer,
    set_time_range,
)
from mane.io.usd.source import UsdSource
from mane.io.usd.write import GroomPlan, UsdOptions


class UsdSequenceWriter:
    """Writes an animation of a groom as a USD stage, one frame at a time.

    `UsdSequenceWriter(path, source)` puts it over the file that the groom was read from, like `write_usd_layer`;
    `UsdSequenceWriter.new(path, groom)` writes a new groom, like `write_usd_groom`.

    Attributes:
        path: of the stage.
        folder: where the frames are.
        source: the prims that are animated.
        files: writes the file of a frame.
    """

    def __init__(self, path: str | os.PathLike[str], source: UsdSource, *, resume: bool = False) -> None:
        """Prepare the stage; with `resume`, go on after the frames that are there, else begin anew."""
        self.path = check_target(path)
        self.source = source
        self.folder = frames_folder(self.path)
        _make_folder(self.folder)
        self.files = FrameFiles(self.folder, source)
        self._times = finished_times(self.path) if resume else FrameTimes()
        self._has_velocities = bool(self._times.values) and _manifest_has_velocities(self._manifest)
        self._write_stage()

    @classmethod
    def new(
        cls,
        path: str | os.PathLike[str],
        groom: Groom,
        *,
        unit: str | float | None = None,
        up: str | None = None,
        curve: str = "linear",
        guides: Groom | None = None,
        rest: ArrayLike | None = None,
        time_codes_per_second: float = 24.0,
        resume: bool = False,
    ) -> UsdSequenceWriter:
        """Return a writer of a new groom; the arguments are those of `write_usd_groom`."""
        target = check_target(path)
        _make_folder(frames_folder(target))
        options = UsdOptions(unit or "m", up or "y", curve, time_codes_per_second)
        plan = still_plan(target, groom, guides, options)
        with writing(plan.source.path):
            layer = plan.layer(rest, None)
        export_layer(layer, plan.source.path)
        return cls(target, plan.source, resume=resume)

    @property
    def times(self) -> tuple[float, ...]:
        """Time codes of the frames that are on disk."""
        return tuple(self._times.values)

    def write(self, time: float, points: ArrayLike, velocities: ArrayLike | None = None) -> None:
        """Write one frame; when this returns, it is on disk and part of the stage.

        After a power cut, the stage may be without the newest frame.

        Args:
            time: time code, after that of the frame before.
            points: of all strands [m], world frame, shape (P, 3), float32.
            velocities: of all points [m/s], shape (P, 3); for all frames or for none.

        The arrays are only lent. Any thread may call this, one at a time.
        """
        check_rising(self._times.values, time)
        moved, speeds = checked_frame(self.source, points, velocities)
        self._begin(has_velocities=speeds is not None)
        self.files.write(float(time), moved, speeds)
        self._list(float(time))

    def add(self, time: float) -> None:
        """Make a frame part of the stage whose file somebody else wrote, with `files` of another writer or process."""
        check_rising(self._times.values, time)
        if not (self.folder / frame_name(time)).is_file():
            raise FileNotFoundError(f"{self.folder / frame_name(time)}: is not there (any more)")
        self._begin(has_velocities=False)
        self._list(float(time))

    def _begin(self, *, has_velocities: bool) -> None:
        """Say what frames hold, before the first of them; all others hold the same."""
        if self._times.values and self._has_velocities != has_velocities:
            raise ValueError("velocities: must be given for all frames or for none")
        self._has_velocities = has_velocities
        if not self._times.values:
            self._write_manifest()

    def _list(self, time: float) -> None:
        self._times.append(time)
        self._write_stage(sync_name=False)

    def close(self) -> None:
        """Let the newest frame survive a power cut too; the stage is complete after every frame."""
        sync_folder(self.path.resolve().parent)

    def __enter__(self) -> UsdSequenceWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the stage."""
        self.close()

    # -- files -------------------------------------------------------------------------------------------------------

    @property
    def _manifest(self) -> Path:
        return self.folder / MANIFEST_NAME

    def _write_manifest(self) -> None:
        from pxr import Sdf

        types = Sdf.ValueTypeNames
        with writing(self._manifest):
            layer = self.files.side_layer(self._manifest.name)
            for prim in self.source.prims:
                attribute_spec(layer, prim.path, "points", types.Point3fArray)
                attribute_spec(layer, prim.path, "extent", types.Float3Array)
                if self._has_velocities:
                    attribute_spec(layer, prim.path, "velocities", types.Vector3fArray)
        export_layer(layer, self._manifest)

    def _write_stage(self, *, sync_name: bool = True) -> None:
        """Replace the stage by one that lists all finished frames; `sync_name` as of `atomic_path`.

        The name of a new stage is safe when its next frame is, whose name is synced anyway.
        """
        with writing(self.path):
            layer = over_layer(self.source, self.path)
            if self._times.values:
                set_time_range(layer, self.source, self._times.values[0], self._times.values[-1])
                for root in self.files.roots:
                    author_clips(layer, root, self.path, self.folder, self._times)
                block_stale(layer, self.source, has_velocities=self._has_velocities)
        export_layer(layer, self.path, sync_name=sync_name)


def still_plan(path: Path, groom: Groom, guides: Groom | None, options: UsdOptions) -> GroomPlan:
    """Return what `UsdSequenceWriter.new` writes of the groom itself, below the stage `path`."""
    return GroomPlan(frames_folder(path) / "still.usdc", groom, guides, options)


def frames_folder(path: Path) -> Path:
    """Folder of the frames of a stage: `hair.frames` for `hair.usda`."""
    return path.with_name(f"{path.stem}.frames")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise type(error)(f"{folder}: cannot be made ({why}); choose another name for the stage") from None
    for leftover in folder.glob(".*.partial.usd*"):  # of a run that was killed while writing
        with suppress(OSError):
            leftover.unlink()


def _manifest_has_velocities(manifest: Path) -> bool:
    return "velocities" in manifest.read_text(encoding="utf-8")
