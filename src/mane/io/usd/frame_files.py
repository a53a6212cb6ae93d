"""Files of single frames, each by itself: several processes may write frames of one stage at the same time."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from mane.geometry.checks import FloatArray
from mane.io.atomic import explained
from mane.io.usd.clips import frame_name
from mane.io.usd.diagnostics import writing
from mane.io.usd.files import export_layer
from mane.io.usd.frame_layout import FrameLayout, PrimRows, find_layout, write_frame
from mane.io.usd.layer import author_frame
from mane.io.usd.prim_writer import PrimWriter
from mane.io.usd.source import UsdSource
from mane.io.usd.stage import author_units


class FrameFiles:
    """Writes the file of one frame after the other.

    Attributes:
        folder: where the files go; it is there.
        source: the prims that are animated.
    """

    def __init__(self, folder: Path, source: UsdSource) -> None:
        self.folder, self.source = folder, source
        self._back = PrimWriter(source)
        self._layouts: dict[bool, FrameLayout | None] = {}  # of frames without and with velocities

    def write(self, time: float, points: FloatArray, velocities: FloatArray | None = None) -> Path:
        """Write the file of one frame from checked arrays (P, 3), and return it; it is complete when it has its name.

        Args:
            time: time code.
            points: of all strands [m], world frame, float32.
            velocities: of all points [m/s], or None.
        """
        file = self.folder / frame_name(time)
        with writing(file):
            layout = self._layout(file, has_velocities=velocities is not None)
            frames = self._back.frames(time, points, velocities)
            if layout is not None:
                write_frame(file, layout, time, frames)
                return file
            layer = self.side_layer(file.name)
            for frame in frames:
                author_frame(layer, frame, time)
        export_layer(layer, file)
        return file

    def _layout(self, file: Path, *, has_velocities: bool) -> FrameLayout | None:
        """Layout of the files of frames, found before the first of them; None where OpenUSD has to write them."""
        if has_velocities not in self._layouts:
            prims = [PrimRows(prim.path, prim.layout.vertex_count, has_velocities) for prim in self.source.prims]
            try:
                found = find_layout(self.folder, lambda: self.side_layer(file.name), prims)
            except OSError as error:
                raise explained(error, file) from error
            self._layouts[has_velocities] = found
        return self._layouts[has_velocities]

    def side_layer(self, name: str) -> Any:
        """Return an unsaved layer in the units and time of the stage."""
        from pxr import Sdf

        layer = Sdf.Layer.CreateAnonymous(name)
        layer.defaultPrim = self.roots[0]
        author_units(layer, self.source.units)
        layer.timeCodesPerSecond = self.source.timing.time_codes_per_second
        layer.framesPerSecond = self.source.timing.frames_per_second
        return layer

    @cached_property
    def roots(self) -> list[str]:
        """Names of the root prims above the animated ones."""
        return list(dict.fromkeys(prim.path.split("/")[1] for prim in self.source.prims))
