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
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.io.atomic import explained, sync_folder
from mane.io.usd.clips import MANIFEST_NAME, FrameTimes, author_clips, finished_times, frame_name
from mane.io.usd.diagnostics import writing
from mane.io.usd.files import check_target, export_layer
from mane.io.usd.frame_layout import FrameLayout, PrimRows, find_layout, write_frame
from mane.io.usd.layer import (
    attribute_spec,
    author_frame,
    block_stale,
    check_rising,
    checked_frame,
    over_layer,
    set_time_range,
)
from mane.io.usd.prim_writer import PrimWriter
from mane.io.usd.source import UsdSource
from mane.io.usd.stage import author_units
from mane.io.usd.write import GroomPlan, UsdOptions


class UsdSequenceWriter:
    """Writes an animation of a groom as a USD stage, one frame at a time.

    `UsdSequenceWriter(path, source)` puts it over the file that the groom was read from, like `write_usd_layer`;
    `UsdSequenceWriter.new(path, groom)` writes a new groom, like `write_usd_groom`.

    Attributes:
        path: of the stage.
        folder: where the frames are.
        source: the prims that are animated.
    """

    def __init__(self, path: str | os.PathLike[str], source: UsdSource, *, resume: bool = False) -> None:
        """Prepare the stage; with `resume`, go on after the frames that are there, else begin anew."""
        self.path = check_target(path)
        self.source = source
        self.folder = frames_folder(self.path)
        _make_folder(self.folder)
        self._back = PrimWriter(source)
        self._times = finished_times(self.path) if resume else FrameTimes()
        self._has_velocities = bool(self._times.values) and _manifest_has_velocities(self._manifest)
        self._layouts: dict[bool, FrameLayout | None] = {}  # of frames without and with velocities
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
        still = frames_folder(target) / "still.usdc"
        plan = GroomPlan(still, groom, guides, UsdOptions(unit or "m", up or "y", curve, time_codes_per_second))
        with writing(still):
            layer = plan.layer(rest, None)
        export_layer(layer, still)
        return cls(target, replace(plan.source, path=still), resume=resume)

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
        if self._times.values and self._has_velocities != (speeds is not None):
            raise ValueError("velocities: must be given for all frames or for none")
        self._has_velocities = speeds is not None
        if not self._times.values:
            self._write_manifest()
        self._write_frame(float(time), moved, speeds)
        self._times.append(float(time))
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

    def _write_frame(self, time: float, points: FloatArray, velocities: FloatArray | None) -> None:
        """Write the file of one frame from checked arrays (P, 3)."""
        file = self.folder / frame_name(time)
        with writing(file):
            layout = self._layout(file, has_velocities=velocities is not None)
            frames = self._back.frames(time, points, velocities)
            if layout is not None:
                write_frame(file, layout, time, frames)
                return
            layer = self._side_layer(file.name)
            for frame in frames:
                author_frame(layer, frame, time)
        export_layer(layer, file)

    def _layout(self, file: Path, *, has_velocities: bool) -> FrameLayout | None:
        """Layout of the files of frames, found before the first of them; None where OpenUSD has to write them."""
        if has_velocities not in self._layouts:
            prims = [PrimRows(prim.path, prim.layout.vertex_count, has_velocities) for prim in self.source.prims]
            try:
                found = find_layout(self.folder, lambda: self._side_layer(file.name), prims)
            except OSError as error:
                raise explained(error, file) from error
            self._layouts[has_velocities] = found
        return self._layouts[has_velocities]

    def _side_layer(self, name: str) -> Any:
        """Return an unsaved layer in the units and time of the stage."""
        from pxr import Sdf

        layer = Sdf.Layer.CreateAnonymous(name)
        layer.defaultPrim = self._roots()[0]
        author_units(layer, self.source.units)
        layer.timeCodesPerSecond = self.source.timing.time_codes_per_second
        layer.framesPerSecond = self.source.timing.frames_per_second
        return layer

    def _roots(self) -> list[str]:
        """Names of the root prims above the animated ones."""
        return list(dict.fromkeys(prim.path.split("/")[1] for prim in self.source.prims))

    def _write_manifest(self) -> None:
        from pxr import Sdf

        types = Sdf.ValueTypeNames
        with writing(self._manifest):
            layer = self._side_layer(self._manifest.name)
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
                for root in self._roots():
                    author_clips(layer, root, self.path, self.folder, self._times)
                block_stale(layer, self.source, has_velocities=self._has_velocities)
        export_layer(layer, self.path, sync_name=sync_name)


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
