"""Reads the meshes of a USD file as one body, still or moving, in metres with Y up."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh, degenerate_faces
from mane.geometry.checks import FloatArray, IntArray, first_not_finite
from mane.io.notices import RepairNotice
from mane.io.usd.diagnostics import reading
from mane.io.usd.find_prims import prims_below
from mane.io.usd.skinning import Skinning, find_skinning
from mane.io.usd.stage import (
    StageTiming,
    StageUnits,
    apply_matrix,
    default_time,
    open_stage,
    stage_timing,
    stage_units,
    time_code,
    transform_samples,
    world_from_local,
)
from mane.io.usd.triangulate import triangulate
from mane.io.usd.values import first_change, integers_of, vectors_of

# Names under which tools keep texture coordinates, in the order in which they are looked for.
UV_NAMES = ("st", "UVMap", "map1", "uv")
UV_TOLERANCE = 1e-6


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
    unit: str | float | None = None,
    up: str | None = None,
    trusted: bool = False,
) -> UsdBody:
    """Open the meshes of a USD file as one body that can be asked for its shape at any time.

    Args:
        path: .usd, .usda, .usdc or .usdz.
        prims: paths of prims to read, with everything below them; all by default.
        unit: unit of length to use instead of what the file states, e.g. "cm" or metres per unit.
        up: up axis to use instead of what the file states, "y" or "z".
        trusted: skip the trial run in a child process that keeps a damaged binary file from crashing this one.

    Polygons become triangles, holes are left open, subdivision surfaces are their cages. Transforms, time-sampled
    points, UsdSkel joints and blend shapes move it. Guides and, where there is something else, proxies are not read.
    ValueError or OSError, in one line that names file, fault and remedy, where the file cannot be read.
    """
    stage = open_stage(path, trusted=trusted)
    with reading(path):
        return UsdBody(path, stage, prims, stage_units(path, stage, unit, up))


@dataclass(frozen=True, eq=False)
class _MeshPart:
    """One Mesh prim: its handle, its triangles, which rows of the body's points it owns, and what deforms it."""

    prim: Any
    faces: NDArray[np.int64]
    uv: FloatArray | None
    rows: slice
    skinning: Skinning | None


class UsdBody:
    """The meshes of a USD file: one set of triangles, whose points may move.

    Attributes:
        path: of the file.
        units: of its stage.
        timing: how its time codes relate to seconds.
        times: time codes at which anything of it is sampled, shape (F,), float64; empty for a still body.
        faces: triangles, shape (T, 3), int64; the same at all times.
    """

    def __init__(
        self, path: str | os.PathLike[str], stage: Any, chosen: Sequence[str] | None, units: StageUnits
    ) -> None:
        self.path = path
        self.units = units
        self.timing: StageTiming = stage_timing(stage)
        self._stage = stage
        skinning = find_skinning(stage)
        found = _find_meshes(path, stage, chosen)
        self.times = np.asarray(sorted(_sample_times(found, skinning)), np.float64)
        self._parts: list[_MeshPart] = []
        for mesh in found:
            self._parts.append(self._read_part(mesh, skinning.get(str(mesh.GetPath()))))
        self.faces = self._drop_degenerate(np.concatenate([part.faces for part in self._parts]))

    @property
    def point_count(self) -> int:
        """Number of points of all meshes."""
        return self._parts[-1].rows.stop if self._parts else 0

    def mesh(self, time: float | None = None) -> Mesh:
        """Return the body as a mesh at a time code; by default the start of the file's range, else its first sample."""
        uvs = [part.uv for part in self._parts]
        uv = None if any(one is None for one in uvs) else np.concatenate([one for one in uvs if one is not None])
        rest = Mesh(self.points(None), self.faces.astype(np.int32), uv)
        return rest if time is None else rest.with_points(self.points(time))

    def points(self, time: float | None = None) -> FloatArray:
        """Points of all meshes at a time code [m], world frame, shape (N, 3), float32; default time as in `mesh`."""
        at = self._time_code(time)
        result = np.empty((self.point_count, 3), np.float32)
        with reading(self.path):
            for part in self._parts:
                result[part.rows] = self._part_points(part, at)
        row = first_not_finite(result)
        if row is not None:
            raise ValueError(
                f"{os.fspath(self.path)}: point {row} of its meshes is not finite at time {at}; export it again"
            )
        return result

    def frames(self, times: Iterable[float] | None = None) -> Iterator[tuple[float, FloatArray]]:
        """Give (time code, points) for each of the times, by default `times`; one frame in memory at a time."""
        for time in self.times.tolist() if times is None else times:
            yield float(time), self.points(time)

    def _time_code(self, time: float | None) -> Any:
        return time_code(default_time(self.timing, self.times.tolist()) if time is None else time)

    # -- one mesh ----------------------------------------------------------------------------------------------------

    def _read_part(self, mesh: Any, skinning: Skinning | None) -> _MeshPart:
        at = self._time_code(None)
        points = self._authored(mesh, at)
        counts, indices = self._topology(mesh, at, len(points))
        triangles, polygon = triangulate(points, counts, indices)
        holes = integers_of(mesh.GetHoleIndicesAttr(), at)
        if len(holes):
            triangles = triangles[~np.isin(polygon, holes)]
        matrix = world_from_local(self._stage, mesh.GetPrim(), self.units, at)
        is_left_handed = str(mesh.GetOrientationAttr().Get(at)) == "leftHanded"
        if is_left_handed != (np.linalg.det(matrix[:3, :3]) < 0):
            triangles = triangles[:, ::-1]
        start = self.point_count
        rows = slice(start, start + len(points))
        return _MeshPart(mesh.GetPrim(), triangles + start, _uv(mesh, at, len(points), indices), rows, skinning)

    def _authored(self, mesh: Any, at: Any) -> FloatArray:
        points = vectors_of(mesh.GetPointsAttr(), at)
        if len(points) == 0:
            raise ValueError(f"{os.fspath(self.path)}: {mesh.GetPath()} has no points; export it again with its points")
        return points

    def _topology(self, mesh: Any, at: Any, point_count: int) -> tuple[IntArray, IntArray]:
        """Corners per polygon and their vertices, both checked."""
        where = f"{os.fspath(self.path)}: {mesh.GetPath()}"
        arrays = []
        for attribute in (mesh.GetFaceVertexCountsAttr(), mesh.GetFaceVertexIndicesAttr()):
            arrays.append(integers_of(attribute, at))
            change = first_change(attribute, arrays[-1])
            if change is not None:
                raise ValueError(
                    f"{where}: {attribute.GetName()} changes at time {change:g}, and a body must keep its triangles "
                    "over time; export it with constant topology"
                )
        counts, indices = arrays
        if (counts < 0).any() or counts.sum() != len(indices):
            raise ValueError(
                f"{where}: faceVertexCounts add up to {counts.sum()}, faceVertexIndices has {len(indices)} values; "
                "the file is damaged, export it again"
            )
        outside = (indices < 0) | (indices >= point_count)
        if outside.any():
            raise ValueError(
                f"{where}: faceVertexIndices must be below {point_count}, got {indices[outside][0]} at index "
                f"{int(outside.argmax())}; the file is damaged, export it again"
            )
        return counts, indices

    def _part_points(self, part: _MeshPart, at: Any) -> FloatArray:
        from pxr import UsdGeom

        points = vectors_of(UsdGeom.Mesh(part.prim).GetPointsAttr(), at)
        expected = part.rows.stop - part.rows.start
        if len(points) != expected:
            raise ValueError(
                f"{os.fspath(self.path)}: {part.prim.GetPath()} has {len(points)} points at time {at}, not {expected} "
                "as before; export it with constant topology"
            )
        space = None
        if part.skinning:
            points, space = part.skinning.deformed(points, at)
        matrix = world_from_local(self._stage, space or part.prim, self.units, at)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is told by `points`
            return apply_matrix(matrix, points).astype(np.float32)

    def _drop_degenerate(self, faces: NDArray[np.int64]) -> NDArray[np.int64]:
        bad = degenerate_faces(self.points(None), faces)
        if bad.all():
            raise ValueError(f"{os.fspath(self.path)}: its meshes have no triangle with an area; export it again")
        if bad.any():
            warnings.warn(
                f"{os.fspath(self.path)}: {int(bad.sum())} of {len(bad)} triangles have no area; left out",
                RepairNotice,
                stacklevel=5,
            )
        return faces[~bad]


def _find_meshes(path: str | os.PathLike[str], stage: Any, chosen: Sequence[str] | None) -> list[Any]:
    from pxr import UsdGeom

    meshes = [UsdGeom.Mesh(prim) for prim in prims_below(path, stage, chosen) if prim.IsA(UsdGeom.Mesh)]
    purposes = [str(mesh.ComputePurpose()) for mesh in meshes]
    wanted = ("default", "render") if {"default", "render"} & set(purposes) else ("proxy",)
    found = [mesh for mesh, purpose in zip(meshes, purposes, strict=True) if purpose in wanted]
    for mesh in found:
        joints = mesh.GetPrim().GetAttribute("primvars:skel:jointIndices")
        if mesh.GetPrim().IsInstanceProxy() and joints and joints.HasValue():
            raise ValueError(
                f"{os.fspath(path)}: {mesh.GetPath()} is skinned inside an instance, which mane cannot pose; "
                "set instanceable = false on that and export again"
            )
    if not found:
        where = "" if chosen is None else f" under {', '.join(chosen)}"
        raise ValueError(f"{os.fspath(path)}: has no Mesh{where}; export the body as a mesh")
    return found


def _sample_times(meshes: Iterable[Any], skinning: dict[str, Skinning]) -> set[float]:
    samples: set[float] = set()
    for mesh in meshes:
        samples.update(mesh.GetPointsAttr().GetTimeSamples())
        samples.update(transform_samples(mesh.GetPrim()))
        binding = skinning.get(str(mesh.GetPath()))
        if binding:
            samples.update(binding.times)
            samples.update(transform_samples(binding.skeleton.GetPrim()))
    return samples


def _uv(mesh: Any, at: Any, point_count: int, indices: IntArray) -> FloatArray | None:
    """Texture coordinates per vertex (N, 2), or None where there are none or a vertex has several (a seam)."""
    from pxr import UsdGeom

    api = UsdGeom.PrimvarsAPI(mesh)
    for name in UV_NAMES:
        primvar = api.GetPrimvar(name)
        value = primvar.ComputeFlattened(at) if primvar and primvar.HasValue() else None
        if value is None:
            continue
        values = np.array(value)
        if values.shape[1:] != (2,):
            continue
        if len(values) == point_count:
            return values.astype(np.float32)
        if len(values) == len(indices):
            uv = np.zeros((point_count, 2), np.float32)
            uv[indices] = values
            return uv if np.abs(uv[indices] - values).max(initial=0.0) <= UV_TOLERANCE else None
    return None
