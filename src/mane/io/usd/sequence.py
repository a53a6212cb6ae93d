"""Animations frame by frame: every finished frame is a file of its own, and one stage shows them all at any time.

    hair.usda                    the stage to open: the original (or the still groom) below, a list of frames above
    hair.frames/frame.0001.usdc  points of one frame
    hair.frames/manifest.usda    which attributes the frames provide
    hair.frames/still.usdc       the groom itself, where it is new

The frames are USD's value clips. Each file is complete before it takes its name, and the stage lists a frame only then:
a reader, or the user after a crash, finds the run as it was after some frame. Memory does not grow with the frames.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from mane.groom.groom import Groom
from mane.io.usd.diagnostics import reading, writing
from mane.io.usd.files import asset_path, check_target, export_layer
from mane.io.usd.layer import (
    attribute_spec,
    author_frame,
    block_stale,
    check_rising,
    checked_frame,
    over_layer,
    set_time_range,
)
from mane.io.usd.put_back import PutBack
from mane.io.usd.source import UsdSource
from mane.io.usd.write import GroomPlan, UsdOptions

# A name of our own, since sets of the same name in the original would be mixed with ours.
CLIP_SET = "mane"


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
        self._back = PutBack(source)
        self._times: list[float] = _finished_times(self.path) if resume else []
        self._has_velocities = bool(self._times) and _manifest_has_velocities(self._manifest)
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
        return tuple(self._times)

    def write(self, time: float, points: ArrayLike, velocities: ArrayLike | None = None) -> None:
        """Write one frame; when this returns, it is on disk and part of the stage.

        Args:
            time: time code, after that of the frame before.
            points: of all strands [m], world frame, shape (P, 3), float32.
            velocities: of all points [m/s], shape (P, 3); for all frames or for none.
        """
        check_rising(self._times, time)
        moved, speeds = checked_frame(self.source, points, velocities)
        if self._times and self._has_velocities != (speeds is not None):
            raise ValueError("velocities: must be given for all frames or for none")
        self._has_velocities = speeds is not None
        if not self._times:
            self._write_manifest()
        file = self._frame_file(time)
        with writing(file):
            layer = self._side_layer(file.name)
            for frame in self._back.frames(float(time), moved, speeds):
                author_frame(layer, frame, float(time))
        export_layer(layer, file)
        self._times.append(float(time))
        self._write_stage()

    def __enter__(self) -> UsdSequenceWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing is left to do: the stage is complete after every frame."""

    # -- files -------------------------------------------------------------------------------------------------------

    @property
    def _manifest(self) -> Path:
        return self.folder / "manifest.usda"

    def _frame_file(self, time: float) -> Path:
        """File of a frame: frame.0012.usdc, or frame.0012_25.usdc for time 12.25."""
        whole, _, fraction = f"{abs(time):.6f}".rstrip("0").partition(".")
        name = f"{'-' if time < 0 else ''}{int(whole):04d}{'_' if fraction else ''}{fraction}"
        return self.folder / f"frame.{name}.usdc"

    def _side_layer(self, name: str) -> Any:
        """Return an unsaved layer in the units and time of the stage."""
        from pxr import Sdf

        layer = Sdf.Layer.CreateAnonymous(name)
        layer.defaultPrim = self._roots()[0]
        layer.pseudoRoot.SetInfo("metersPerUnit", self.source.units.metres_per_unit)
        layer.pseudoRoot.SetInfo("upAxis", self.source.units.up.upper())
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

    def _write_stage(self) -> None:
        """Replace the stage by one that lists all finished frames."""
        with writing(self.path):
            layer = over_layer(self.source, self.path)
            if self._times:
                set_time_range(layer, self.source, self._times[0], self._times[-1])
                for root in self._roots():
                    self._author_clips(layer, root)
                block_stale(layer, self.source, has_velocities=self._has_velocities)
        export_layer(layer, self.path)

    def _author_clips(self, layer: Any, root: str) -> None:
        from pxr import Sdf, Vt

        here = self.path.resolve().parent
        files = [asset_path(self._frame_file(time).resolve(), here) for time in self._times]
        prim = Sdf.CreatePrimInLayer(layer, f"/{root}")
        clips = {
            "assetPaths": Sdf.AssetPathArray([Sdf.AssetPath(file) for file in files]),
            "manifestAssetPath": Sdf.AssetPath(asset_path(self._manifest.resolve(), here)),
            "primPath": f"/{root}",
            "active": Vt.Vec2dArray([(time, index) for index, time in enumerate(self._times)]),
            "times": Vt.Vec2dArray([(time, time) for time in self._times]),
        }
        prim.SetInfo("clips", {CLIP_SET: clips})
        order = Sdf.StringListOp()
        order.prependedItems = [CLIP_SET]
        prim.SetInfo("clipSets", order)


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


def _finished_times(path: Path) -> list[float]:
    """Time codes of the frames that a stage lists and that are there; none where there is no stage yet."""
    from pxr import Sdf

    if not path.is_file():
        return []
    with reading(path):
        layer = Sdf.Layer.OpenAsAnonymous(str(path))
        for prim in layer.rootPrims:
            clips = (prim.GetInfo("clips") or {}).get(CLIP_SET)
            if clips:
                files = [clips["manifestAssetPath"].path, *(asset.path for asset in clips["assetPaths"])]
                _check_there(path, files)
                return [float(time) for time, _ in clips["times"]]
    return []


def _check_there(path: Path, files: Sequence[str]) -> None:
    for file in files:
        if not (path.parent / file).is_file():
            raise ValueError(f"{path}: lists {file}, which is gone; begin anew with resume=False")


def _manifest_has_velocities(manifest: Path) -> bool:
    return "velocities" in manifest.read_text(encoding="utf-8")
