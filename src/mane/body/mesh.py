"""`Mesh`: a triangle mesh, validated once and then trusted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import FloatArray, as_array, as_floats

# A triangle this thin (area over its longest edge squared) has no usable normal in float32.
DEGENERATE_ASPECT = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Mesh:
    """Triangles that hair grows on or collides with.

    Attributes:
        points: vertex positions [m], shape (N, 3), float32.
        faces: vertex indices, shape (T, 3), int32, counter-clockwise seen from outside.
        uv: texture coordinates per vertex, shape (N, 2), float32, or None.
    """

    points: FloatArray
    faces: NDArray[np.int32]
    uv: FloatArray | None = None

    def __repr__(self) -> str:
        uv = "" if self.uv is None else ", with UVs"
        return f"Mesh({self.face_count:,} triangles, {self.vertex_count:,} vertices{uv})"

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", as_floats("mesh.points", self.points, ("N", 3)))
        faces = as_array("mesh.faces", self.faces, ("T", 3), np.int64)
        if len(faces) == 0:
            raise ValueError("mesh.faces: must hold at least one triangle, got none")
        self._check_indices(faces)
        object.__setattr__(self, "faces", np.ascontiguousarray(faces, dtype=np.int32))
        if self.uv is not None:
            object.__setattr__(self, "uv", as_floats("mesh.uv", self.uv, (len(self.points), 2)))
        bad = degenerate_faces(self.points, self.faces)
        if bad.any():
            raise ValueError(
                f"mesh.faces: must have area, got {int(bad.sum())} degenerate triangles, first at face "
                f"{int(bad.argmax())}; drop them with Mesh.mended(points, faces)"
            )

    def _check_indices(self, faces: NDArray[np.int64]) -> None:
        outside = ((faces < 0) | (faces >= len(self.points))).any(axis=1)
        if outside.any():
            first = int(outside.argmax())
            raise ValueError(
                f"mesh.faces: must index the {len(self.points)} points, got {faces[first].tolist()} at face {first}"
            )

    @classmethod
    def mended(cls, points: ArrayLike, faces: ArrayLike, uv: ArrayLike | None = None) -> Mesh:
        """Make a mesh from data that may hold degenerate triangles, which are left out."""
        checked = as_floats("mesh.points", points, ("N", 3))
        indices = as_array("mesh.faces", faces, ("T", 3), np.int64)
        inside = ((indices >= 0) & (indices < len(checked))).all(axis=1)
        if inside.all() and len(indices):
            indices = indices[~degenerate_faces(checked, indices)]
        return cls(checked, indices, None if uv is None else as_floats("mesh.uv", uv, (len(checked), 2)))

    @property
    def vertex_count(self) -> int:
        """Number of vertices."""
        return len(self.points)

    @property
    def face_count(self) -> int:
        """Number of triangles."""
        return len(self.faces)

    @cached_property
    def bounds(self) -> FloatArray:
        """Lowest and highest corner of the vertices in use [m], shape (2, 3)."""
        used = self.points[np.unique(self.faces)]
        return np.stack([used.min(axis=0), used.max(axis=0)])

    @cached_property
    def face_normals(self) -> FloatArray:
        """Unit normal per triangle, shape (T, 3)."""
        cross = _cross_products(self.points, self.faces)
        length = np.linalg.norm(cross, axis=1, keepdims=True)
        result: FloatArray = (cross / np.maximum(length, np.finfo(np.float64).tiny)).astype(np.float32)
        return result

    @cached_property
    def face_areas(self) -> FloatArray:
        """Area per triangle [m2], shape (T,)."""
        result: FloatArray = (0.5 * np.linalg.norm(_cross_products(self.points, self.faces), axis=1)).astype(np.float32)
        return result

    @cached_property
    def vertex_normals(self) -> FloatArray:
        """Unit normal per vertex, the area-weighted mean of its triangles', shape (N, 3); zero where none meet."""
        cross = _cross_products(self.points, self.faces)
        total = np.zeros((self.vertex_count, 3))
        for corner in range(3):
            np.add.at(total, self.faces[:, corner], cross)
        length = np.linalg.norm(total, axis=1, keepdims=True)
        result: FloatArray = np.divide(total, length, out=np.zeros_like(total), where=length > 0).astype(np.float32)
        return result

    @property
    def volume(self) -> float:
        """Enclosed volume [m3]; negative when the triangles face inwards, meaningless when the mesh is open."""
        a, b, c = (self.points[self.faces[:, corner]].astype(np.float64) for corner in range(3))
        return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)

    @cached_property
    def is_closed(self) -> bool:
        """Whether every edge is shared by exactly two triangles that agree on its direction."""
        faces = self.faces.astype(np.int64)
        directed = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        forward = directed[:, 0] * self.vertex_count + directed[:, 1]
        backward = directed[:, 1] * self.vertex_count + directed[:, 0]
        return len(np.unique(forward)) == len(forward) and bool(np.isin(forward, backward).all())

    def with_points(self, points: ArrayLike) -> Mesh:
        """Return the same triangles with moved vertices; an animated skin may fold, so areas are not checked."""
        moved = as_floats("mesh.points", points, (self.vertex_count, 3))
        mesh = object.__new__(Mesh)
        for name, value in (("points", moved), ("faces", self.faces), ("uv", self.uv)):
            object.__setattr__(mesh, name, value)
        return mesh

    def transformed(self, matrix: ArrayLike) -> Mesh:
        """Return the mesh moved by a 4x4 matrix that acts on column vectors; mirroring keeps triangles facing out."""
        m = np.asarray(as_floats("matrix", matrix, (4, 4)), dtype=np.float64)
        moved = self.with_points(self.points @ m[:3, :3].T + m[:3, 3])
        if np.linalg.det(m[:3, :3]) < 0:
            object.__setattr__(moved, "faces", np.ascontiguousarray(self.faces[:, ::-1]))
        return moved


def degenerate_faces(points: FloatArray, faces: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Which triangles have repeated vertices or (almost) no area, shape (T,)."""
    corners = points[faces].astype(np.float64)
    edges = corners - np.roll(corners, 1, axis=1)
    longest = np.einsum("tij,tij->ti", edges, edges).max(axis=1)
    area = 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    result: NDArray[np.bool_] = (area <= DEGENERATE_ASPECT * longest) | (longest == 0)
    return result


def _cross_products(points: FloatArray, faces: NDArray[np.int32]) -> NDArray[np.float64]:
    a, b, c = (points[faces[:, corner]].astype(np.float64) for corner in range(3))
    return np.cross(b - a, c - a)
