"""The Mesh prims of a stage, each as triangles whose points may move."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray, IntArray
from mane.io.usd.find_prims import prims_below
from mane.io.usd.rig_checks import check_bound, check_rig
from mane.io.usd.skinning import Skinning
from mane.io.usd.stage import (
    Matrix,
    StageUnits,
    apply_matrix,
    default_time_code,
    time_code,
    transform_samples,
    world_from_local,
)
from mane.io.usd.triangulate import triangulate
from mane.io.usd.values import first_change, integers_of, vectors_of

# Names under which tools keep texture coordinates, in the order in which they are looked for.
UV_NAMES = ("st", "UVMap", "map1", "uv")
UV_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class MeshPart:
    """One Mesh prim of a body.

    Attributes:
        file: that it is in, for messages.
        prim: its handle.
        faces: its triangles as rows of the body's points, shape (T, 3).
        uv: texture coordinates per point, shape (N, 2), or None.
        rows: which rows of the body's points it owns.
        skinning: what poses it, or None.
        units: of the stage.
    """

    file: str
    prim: Any
    faces: NDArray[np.int64]
    uv: FloatArray | None
    rows: slice
    skinning: Skinning | None
    units: StageUnits

    @property
    def path(self) -> str:
        """Path of the prim."""
        return str(self.prim.GetPath())

    @property
    def sample_times(self) -> set[float]:
        """Time codes at which anything is sampled that moves it."""
        samples = set(self._points_attribute.GetTimeSamples()) | set(transform_samples(self.prim))
        if self.skinning is not None:
            samples |= set(self.skinning.times) | set(transform_samples(self.skinning.skeleton))
        return samples

    @property
    def may_turn(self) -> bool:
        """Whether it moves otherwise than along straight lines between samples: by joints or by its transform."""
        return bool({"transforms", "joints", "blend shapes"} & set(self.moved_by))

    @property
    def moved_by(self) -> list[str]:
        """What moves it over time, in words; nothing for a still one."""
        skeleton = None if self.skinning is None else self.skinning.skeleton
        is_posed = self.skinning is not None and len(self.skinning.times) > 1
        found = {
            "points": len(self._points_attribute.GetTimeSamples()) > 1,
            "transforms": any(len(transform_samples(prim)) > 1 for prim in (self.prim, skeleton) if prim),
            "joints": is_posed and self.skinning is not None and self.skinning.has_joints,
            "blend shapes": is_posed and self.skinning is not None and bool(self.skinning.target.HasBlendShapes()),
        }
        return [name for name, is_so in found.items() if is_so]

    def points(self, time: Any) -> NDArray[np.float64]:
        """Points at a `Usd.TimeCode` [m], world frame, shape (N, 3)."""
        points = self._authored(time)
        space = None
        if self.skinning is not None:
            points, space = self.skinning.deformed(points, time)
        return apply_matrix(world_from_local(space or self.prim, self.units, time), points)

    def rest_points(self, time: Any) -> NDArray[np.float64]:
        """Points as they were bound, or as authored for all times [m], world frame, shape (N, 3).

        Without joints and blend shapes; `time` is the `Usd.TimeCode` at which transforms above them are taken.
        """
        points = vectors_of(self._points_attribute, default_time_code())
        if len(points) != self.rows.stop - self.rows.start:  # only samples are authored
            points = self._authored(time_code(None))
        return apply_matrix(self.rest_matrix(time), points)

    def rest_matrix(self, time: Any) -> Matrix:
        """4x4 matrix on column vectors, from points as authored to the world, in the pose of the binding."""
        if self.skinning is None or not self.skinning.has_joints:
            return world_from_local(self.prim, self.units, time)
        return world_from_local(self.skinning.skeleton, self.units, time) @ self.skinning.bind_matrix(time)

    @property
    def _points_attribute(self) -> Any:
        from pxr import UsdGeom

        return UsdGeom.Mesh(self.prim).GetPointsAttr()

    def _authored(self, time: Any) -> FloatArray:
        points = vectors_of(self._points_attribute, time)
        self._check_count(len(points), time)
        return points

    def check_counts(self) -> None:
        """Raise ValueError where the number of points changes over time, before a long run comes to that frame."""
        for time in self._points_attribute.GetTimeSamples():
            value = self._points_attribute.Get(time)  # refers to the file, which it does not read
            self._check_count(0 if value is None else len(value), time)

    def _check_count(self, count: int, time: Any) -> None:
        expected = self.rows.stop - self.rows.start
        if count != expected:
            raise ValueError(
                f"{self.file}: {self.path} has {count} points at time {time}, not {expected} as before; "
                "export it with constant topology"
            )


def find_meshes(
    path: str | os.PathLike[str], stage: Any, chosen: Sequence[str] | None, ignored: Sequence[str] = ()
) -> list[Any]:
    """Return the `UsdGeom.Mesh` of a stage that are to be seen, at and below the chosen paths, without the ignored."""
    from pxr import UsdGeom

    left_out = {str(prim.GetPath()) for prim in prims_below(path, stage, ignored)} if ignored else set()
    meshes = [UsdGeom.Mesh(prim) for prim in prims_below(path, stage, chosen) if prim.IsA(UsdGeom.Mesh)]
    meshes = [mesh for mesh in meshes if str(mesh.GetPath()) not in left_out]
    purposes = [str(mesh.ComputePurpose()) for mesh in meshes]
    wanted = ("default", "render") if {"default", "render"} & set(purposes) else ("proxy",)
    found = [mesh for mesh, purpose in zip(meshes, purposes, strict=True) if purpose in wanted]
    if not found:
        where = "" if chosen is None else f" under {', '.join(chosen)}"
        raise ValueError(f"{os.fspath(path)}: has no Mesh{where}; export the body as a mesh")
    return found


def read_part(
    path: str | os.PathLike[str], mesh: Any, skinning: Skinning | None, units: StageUnits, start: int, time: Any
) -> MeshPart:
    """Read the triangles of a mesh, whose points are to be rows from `start` on, at a `Usd.TimeCode`."""
    points = vectors_of(mesh.GetPointsAttr(), time)
    if len(points) == 0:
        raise ValueError(f"{os.fspath(path)}: {mesh.GetPath()} has no points; export it again with its points")
    counts, indices = _topology(path, mesh, time, len(points))
    if skinning is None:
        check_bound(path, mesh.GetPrim())
    else:
        check_rig(skinning, len(points), np.isin(np.arange(len(points)), indices), time)
    triangles, polygon = triangulate(points, counts, indices)
    holes = integers_of(mesh.GetHoleIndicesAttr(), time)
    if len(holes):
        triangles = triangles[~np.isin(polygon, holes)]
    uv = _uv(mesh, time, len(points), indices)
    rows = slice(start, start + len(points))
    part = MeshPart(os.fspath(path), mesh.GetPrim(), triangles + start, uv, rows, skinning, units)
    is_left_handed = str(mesh.GetOrientationAttr().Get(time)) == "leftHanded"
    if is_left_handed != _is_mirrored(part, time):
        object.__setattr__(part, "faces", part.faces[:, ::-1])
    return part


def _is_mirrored(part: MeshPart, time: Any) -> bool:
    """Whether its way to the world turns left into right."""
    return bool(np.linalg.det(part.rest_matrix(time)[:3, :3]) < 0)


def _topology(path: str | os.PathLike[str], mesh: Any, time: Any, point_count: int) -> tuple[IntArray, IntArray]:
    """Corners per polygon and their vertices, both checked."""
    where = f"{os.fspath(path)}: {mesh.GetPath()}"
    arrays = []
    for attribute in (mesh.GetFaceVertexCountsAttr(), mesh.GetFaceVertexIndicesAttr()):
        arrays.append(integers_of(attribute, time))
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
