"""How a stage lists the frames of an animation: USD's value clips, as a template or one by one.

A template (first frame, last frame, stride, pattern of names) is as short for many frames as for few. It can express
whole, non-negative time codes at a constant stride; OpenUSD pads negative ones in another way than our names do. Other
times are listed one by one, which takes some 100 bytes per frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mane.io.usd.diagnostics import reading
from mane.io.usd.files import asset_path

# Names of our own, since sets of the same name in the original would be mixed with ours, key by key; and two of them,
# since a list in the original would win over a template in a set of the same name.
LISTED_SET, TEMPLATE_SET = "mane", "mane_template"
TEMPLATE_NAME = "frame.####.usdc"
MANIFEST_NAME = "manifest.usda"
# OpenUSD makes names of a template from C's int.
LARGEST_TEMPLATE_TIME = 2**31 - 1


@dataclass
class FrameTimes:
    """Time codes of the finished frames, rising, and whether a template can express them.

    Attributes:
        values: the time codes.
        stride: distance between frames; 1 for less than two frames, None where a template cannot express the times.
    """

    values: list[float] = field(default_factory=list)
    stride: float | None = 1.0

    @classmethod
    def of(cls, values: Sequence[float]) -> FrameTimes:
        """Return time codes that are known already."""
        times = cls()
        for value in values:
            times.append(value)
        return times

    def append(self, time: float) -> None:
        """Add the time code of the next frame."""
        if len(self.values) == 1 and self.stride is not None:
            self.stride = time - self.values[0]
        is_next = not self.values or (self.stride is not None and time == self.values[-1] + self.stride)
        is_name = time.is_integer() and 0 <= time <= LARGEST_TEMPLATE_TIME
        if not (is_next and is_name):
            self.stride = None
        self.values.append(time)


def frame_name(time: float) -> str:
    """Name of a frame's file: frame.0012.usdc, or frame.0012_25.usdc for time 12.25."""
    whole, _, fraction = f"{abs(time):.6f}".rstrip("0").partition(".")
    return f"frame.{'-' if time < 0 else ''}{int(whole):04d}{'_' if fraction else ''}{fraction}.usdc"


def author_clips(layer: Any, root: str, path: Path, folder: Path, times: FrameTimes) -> None:
    """Let the prims below `/root` in the layer of a stage take their values from the frames in a folder.

    `path` is where the stage will be; `times` has at least one frame.
    """
    from pxr import Sdf

    here = asset_path(folder.resolve(), path.resolve().parent)
    name = LISTED_SET if times.stride is None else TEMPLATE_SET
    clips = {
        "manifestAssetPath": Sdf.AssetPath(f"{here}/{MANIFEST_NAME}"),
        "primPath": f"/{root}",
        **(_listed(here, times) if times.stride is None else _template(here, times)),
    }
    prim = Sdf.CreatePrimInLayer(layer, f"/{root}")
    prim.SetInfo("clips", {name: clips})
    order = Sdf.StringListOp()
    order.prependedItems = [name]
    prim.SetInfo("clipSets", order)


def _template(here: str, times: FrameTimes) -> dict[str, Any]:
    return {
        "templateAssetPath": f"{here}/{TEMPLATE_NAME}",
        "templateStartTime": times.values[0],
        "templateEndTime": times.values[-1],
        "templateStride": times.stride,
    }


def _listed(here: str, times: FrameTimes) -> dict[str, Any]:
    from pxr import Sdf, Vt

    codes = np.array(times.values)
    return {
        "assetPaths": Sdf.AssetPathArray([f"{here}/{frame_name(time)}" for time in times.values]),
        "active": Vt.Vec2dArray.FromNumpy(np.stack([codes, np.arange(len(codes))], axis=1)),
        "times": Vt.Vec2dArray.FromNumpy(np.stack([codes, codes], axis=1)),
    }


def finished_times(path: Path) -> FrameTimes:
    """Time codes of the frames that a stage lists; none where there is no stage yet.

    ValueError where a file that it lists is gone.
    """
    from pxr import Sdf

    if not path.is_file():
        return FrameTimes()
    with reading(path):
        layer = Sdf.Layer.OpenAsAnonymous(str(path))
        for prim in layer.rootPrims:
            sets = prim.GetInfo("clips") or {}
            for name, listed in ((TEMPLATE_SET, _of_template), (LISTED_SET, _of_list)):
                if name in sets:
                    frames = list(listed(sets[name]))
                    _check_there(path, [sets[name]["manifestAssetPath"].path, *(file for _, file in frames)])
                    return FrameTimes.of([time for time, _ in frames])
    return FrameTimes()


def _of_template(clips: Any) -> Iterator[tuple[float, str]]:
    """Time code and file of each frame of a template."""
    folder = clips["templateAssetPath"].rpartition("/")[0]
    first, last, stride = (clips[f"template{what}"] for what in ("StartTime", "EndTime", "Stride"))
    for index in range(round((last - first) / stride) + 1):
        time = float(first + index * stride)
        yield time, f"{folder}/{frame_name(time)}"


def _of_list(clips: Any) -> Iterator[tuple[float, str]]:
    """Time code and file of each frame that is listed by itself."""
    for (time, _), asset in zip(clips["times"], clips["assetPaths"], strict=True):
        yield float(time), asset.path


def _check_there(path: Path, files: Sequence[str]) -> None:
    for file in files:
        if not (path.parent / file).is_file():
            raise ValueError(f"{path}: lists {file}, which is gone; begin anew with resume=False")
