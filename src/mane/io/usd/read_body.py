"""Reads the meshes of a USD file as one body, still or moving, in metres with Y up."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh, degenerate_faces
from mane.geometry.checks import FloatArray, first_not_finite
from mane.io.notices import RepairNotice
from mane.io.usd.diagnostics import reading
from mane.io.usd.mesh_parts import MeshPart, find_meshes, read_part
from mane.io.usd.skinning import find_skinning
from mane.io.usd.stage import (
    StageTiming,
    StageUnits,
    default_time,
    default_time_code,
    open_stage,
    stage_timing,
    stage_units,
    time_code,
)
from mane.io.watch import WatchedFiles


def read_usd_mesh(
    path: str | os.PathLike[str],
    *,
    time: float | None = None,
    prims: Sequence[str] | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    trusted: bool = False,
) -> Mesh:
    """Read the meshes of a USD file as one triangle mesh at one time; the arguments are those of `read_usd_body`."""
    return read_usd_body(path, prims=prims, unit=unit, up=up, trusted=trusted).mesh(time)


def read_usd_body(
    path: str | os.PathLike[str],
    *,
    prims: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    unit: str | float | None = None,
    up: str | None = None,
    trusted: bool = False,
) -> UsdBody:
    """Open the meshes of a USD file as one body that can be asked for its shape at any time.

    Args:
        path: .usd, .usda, .usdc or .usdz.
        prims: paths of prims to read, with everything below them; all by default.
        ignore: paths of prims to leave out, with everything below them.
        unit: unit of length to use instead of what the file states, e.g. "cm" or metres per unit.
        up: up axis to use instead of what the file states: x, y, z, -x, -y or -z.
        trusted: skip the trial run in a child process that keeps a damaged binary file from crashing this one.

    Polygons become triangles, holes are left open, subdivision surfaces are their cages. Transforms, time-sampled
    points, UsdSkel joints and blend shapes move it, inside instances too. Guides and, where there is something else,
    proxies are not read. ValueError or OSError, in one line that names file, fault and remedy, where the file cannot be
    read: also for rigs that cannot be posed and meshes that change their points or polygons over time.
    """
    stage = open_stage(path, trusted=trusted)
    with reading(path):
        return UsdBody(path, stage, prims, stage_units(path, stage, unit, up), ignore)


class UsdBody:
    """The meshes of a USD file: one set of triangles, whose points may move.

    Attributes:
        path: of the file.
        units: of its stage.
        timing: how its time codes relate to seconds.
        parts: its Mesh prims, in the order of their points.
        times: time codes at which anything of it is sampled, shape (F,), float64; empty for a still body.
        faces: triangles, shape (T, 3), int64; the same at all times.
        face_part: which of `parts` each triangle belongs to, shape (T,).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        stage: Any,
        chosen: Sequence[str] | None,
        units: StageUnits,
        ignored: Sequence[str] = (),
    ) -> None:
        self.path = path
        self.units = units
        self.timing: StageTiming = stage_timing(stage)
        self._stage = stage  # prims live as long as their stage
        self._files = WatchedFiles(layer.realPath for layer in stage.GetUsedLayers() if layer.realPath)
        skinning = find_skinning(path, stage)
        meshes = find_meshes(path, stage, chosen, ignored)
        self.times = np.zeros(0)
        first = time_code(None)
        self.parts: tuple[MeshPart, ...] = ()
        for mesh in meshes:
            start = self.point_count
            part = read_part(path, mesh, skinning.get(str(mesh.GetPath())), units, start, first)
            self.parts = (*self.parts, part)
        self.times = np.asarray(sorted(set().union(*(part.sample_times for part in self.parts))), np.float64)
        for part in self.parts:
            part.check_counts()
        faces = np.concatenate([part.faces for part in self.parts])
        sound = self._sound(faces)
        numbers = np.repeat(np.arange(len(self.parts)), [len(part.faces) for part in self.parts])
        self.faces: NDArray[np.int64] = faces[sound]
        self.face_part: NDArray[np.int64] = numbers[sound]

    @property
    def point_count(self) -> int:
        """Number of points of all meshes."""
        return self.parts[-1].rows.stop if self.parts else 0

    @property
    def start(self) -> float | None:
        """Time code at which it begins: the start of the file's range, else the first sample; None if all is still."""
        return default_time(self.timing, self.times.tolist())

    @property
    def is_skinned(self) -> bool:
        """Whether joints move any of it, so that there is a pose in which it was bound."""
        return any(part.skinning is not None and part.skinning.has_joints for part in self.parts)

    @property
    def may_turn(self) -> bool:
        """Whether its points may leave the straight lines between their places at `times`."""
        return any(part.may_turn for part in self.parts)

    def mesh(self, time: float | None = None) -> Mesh:
        """Return the body as a mesh at a time code; by default the start of the file's range, else its first sample."""
        uvs = [part.uv for part in self.parts]
        uv = None if any(one is None for one in uvs) else np.concatenate([one for one in uvs if one is not None])
        rest = Mesh(self.points(None), self.faces.astype(np.int32), uv)
        return rest if time is None else rest.with_points(self.points(time))

    def points(self, time: float | None = None) -> FloatArray:
        """Points of all meshes at a time code [m], world frame, shape (N, 3), float32; default time as in `mesh`."""
        at = time_code(self.start if time is None else time)
        self._files.check()
        return self._gathered(lambda part: part.points(at), f"at time {at}")

    def rest_points(self, time: float | None = None) -> FloatArray:
        """Points as they were bound, or as authored beside their samples [m], world frame, shape (N, 3), float32.

        Joints and blend shapes do not move them; transforms above them do, as they are at a time code, or (None) as
        authored for all times.
        """
        at = default_time_code() if time is None else time_code(time)
        return self._gathered(lambda part: part.rest_points(at), "in its rest pose")

    def frames(self, times: Iterable[float] | None = None) -> Iterator[tuple[float, FloatArray]]:
        """Give (time code, points) for each of the times, by default `times`; one frame in memory at a time."""
        for time in self.times.tolist() if times is None else times:
            yield float(time), self.points(time)

    def _gathered(self, points_of: Any, when: str) -> FloatArray:
        """Points of all parts, which must be finite."""
        result = np.empty((self.point_count, 3), np.float32)
        with reading(self.path), np.errstate(over="ignore", invalid="ignore"):
            for part in self.parts:
                result[part.rows] = points_of(part)
        row = first_not_finite(result)
        if row is not None:
            raise ValueError(f"{os.fspath(self.path)}: point {row} of its meshes is not finite {when}; export it again")
        return result

    def _sound(self, faces: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which triangles have an area at the first moment."""
        bad = degenerate_faces(self.points(None), faces)
        if bad.all():
            raise ValueError(f"{os.fspath(self.path)}: its meshes have no triangle with an area; export it again")
        if bad.any():
            warnings.warn(
                f"{os.fspath(self.path)}: {int(bad.sum())} of {len(bad)} triangles have no area; left out",
                RepairNotice,
                stacklevel=4,
            )
        return ~bad
