"""Roots bound to the skin that they grow on, so that hair follows wherever the skin goes.

Each root remembers its triangle, its place in it, and how far off the surface it sits. When the skin deforms, the root
moves with the triangle and the strand turns with the skin around it. The turn is averaged over the triangles that meet
at a vertex and blended between vertices: it has no jumps, so hair does not part along the edges of triangles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh
from mane.body.triangle_tree import TriangleTree
from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray, as_array, as_floats, require_positive
from mane.groom import _kernels_binding as kernels
from mane.groom.groom import Groom

# How far from the skin a root may be, as a share of the skin's diagonal: 2 cm for a head of 0.4 m.
MAX_DISTANCE_SHARE = 0.05
# A vector shorter than this share of what it was made from has no direction.
NO_DIRECTION = 1e-6


@dataclass(frozen=True, eq=False)
class RootBinding:
    """Where every root of a groom sits on a mesh, made by `bind_roots`.

    `mesh_points` below are the vertices of that mesh at another time [m], shape (N, 3).

    Attributes:
        mesh: the skin at rest.
        rest_roots: the roots at rest [m], shape (S, 3).
        triangle: the triangle that each root is bound to, shape (S,).
        barycentric: weights of its corners at the place closest to the root, shape (S, 3).
        offset: the root at rest, seen from that place [m], shape (S, 3); the skin turns it along.
        rest_frame: quaternion of the skin at each root at rest, shape (S, 4). Its third axis is the smooth normal, its
            first axis the skin's u direction (the triangle's first edge where there is no uv), laid into the surface.
        root_uv: the groom's own texture coordinates of the roots, or else the skin's there, shape (S, 2), or None.
    """

    mesh: Mesh
    rest_roots: FloatArray
    triangle: IntArray
    barycentric: FloatArray
    offset: FloatArray
    rest_frame: FloatArray
    root_uv: FloatArray | None
    _patch: SkinPatch

    @property
    def strand_count(self) -> int:
        """Number of roots."""
        return len(self.triangle)

    @property
    def distance(self) -> FloatArray:
        """How far each root is from the skin at rest [m], shape (S,)."""
        result: FloatArray = np.linalg.norm(self.offset, axis=1)
        return result

    def rotations(self, mesh_points: ArrayLike) -> FloatArray:
        """How the skin at each root has turned since rest, quaternions of shape (S, 4).

        Continuous over the skin, as long as neighbouring vertices turn by less than half a turn against each other.
        Where every triangle around a vertex has collapsed, the mean turn of the rest of the skin is used.
        """
        return self._rotations(self._checked(mesh_points))

    def roots(self, mesh_points: ArrayLike) -> FloatArray:
        """Where the roots are on the moved skin [m], shape (S, 3)."""
        points = self._checked(mesh_points)
        return self._roots(points, self._rotations(points))

    def transforms(self, mesh_points: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Roots [m] and their rotations since rest, shapes (S, 3) and (S, 4), for the price of the latter."""
        points = self._checked(mesh_points)
        rotation = self._rotations(points)
        return self._roots(points, rotation), rotation

    def precise_transforms(self, mesh_points: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Do what `transforms` does in double precision, as a simulation of these roots needs it."""
        points = as_array("mesh_points", mesh_points, (self.mesh.vertex_count, 3), np.float64)
        rotation = self._rotations(points, np.float64)
        return self._roots(points, rotation, np.float64), rotation

    def frames(self, mesh_points: ArrayLike) -> FloatArray:
        """Orientation of the skin at each root now: `rest_frame`, turned by `rotations`; shape (S, 4)."""
        return quaternion.multiply(self.rotations(mesh_points), self.rest_frame)

    def carry(self, groom: Groom, mesh_points: ArrayLike) -> Groom:
        """Return the groom carried by the skin: every strand moves and turns rigidly with its root.

        Args:
            groom: the bound groom or another shape of it, with the same strands in the same order, at rest.
            mesh_points: the skin now [m], shape (N, 3). A skin that has not moved returns the points bit for bit.
        """
        if groom.strand_count != self.strand_count:
            raise ValueError(f"groom: must have the {self.strand_count} bound strands, got {groom.strand_count}")
        points = self._checked(mesh_points)
        rotation = self._rotations(points, np.float64)
        roots = self._roots(points, rotation, np.float64)
        out = np.empty_like(groom.points)
        kernels.carry_strands(groom.points, groom.offsets, self.rest_roots, roots, rotation, out)
        return groom.with_points(out)

    def _checked(self, mesh_points: ArrayLike) -> FloatArray:
        return as_floats("mesh_points", mesh_points, (self.mesh.vertex_count, 3))

    def _rotations(self, points: NDArray[Any], dtype: type = np.float32) -> NDArray[Any]:
        out: NDArray[Any] = np.empty((self.strand_count, 4), dtype)
        kernels.fill_root_rotations(self._patch.vertex_rotations(points), self._corner_slot, self.barycentric, out)
        return out

    def _roots(self, points: NDArray[Any], rotation: NDArray[Any], dtype: type = np.float32) -> NDArray[Any]:
        out: NDArray[Any] = np.empty((self.strand_count, 3), dtype)
        skin = (self.mesh.points, points, self._corner, self.barycentric)
        kernels.fill_roots(self.rest_roots, *skin, self._precise_offset, rotation, out)
        return out

    @cached_property
    def _precise_offset(self) -> NDArray[np.float64]:
        """`offset` from the place that `fill_roots` takes, whose weights have a sum of one to the last digit."""
        first, second, third = (self.mesh.points[self._corner[:, c]].astype(np.float64) for c in range(3))
        share = self.barycentric.astype(np.float64)
        place = first + share[:, 1:2] * (second - first) + share[:, 2:] * (third - first)
        return self.rest_roots - place

    @cached_property
    def _corner(self) -> NDArray[np.int32]:
        return self.mesh.faces[self.triangle]

    @cached_property
    def _corner_slot(self) -> IntArray:
        return self._patch.slot[self._corner]


def bind_roots(
    groom: Groom, mesh: Mesh, *, max_distance: float | None = None, active: NDArray[np.bool_] | None = None
) -> RootBinding:
    """Bind every root to the closest place on a mesh.

    Args:
        groom: the strands at rest.
        mesh: the skin at rest, in the same units and place.
        max_distance: refuse roots that are farther from the skin than this [m]; by default a twentieth of the skin's
            diagonal, which lets a scan's misfit pass and catches wrong units.
        active: strands whose distance counts, shape (S,); None for all. Empty slots of guides may be anywhere.
    """
    size = _diagonal(mesh.bounds)
    limit = MAX_DISTANCE_SHARE * size if max_distance is None else float(max_distance)
    require_positive("max_distance", limit)
    roots = groom.roots
    distance, triangle, barycentric = TriangleTree(mesh.points[mesh.faces]).closest(roots)
    _check_distance(distance if active is None else np.where(active, distance, 0), limit, groom, size)
    place = _blend(mesh.points, mesh, triangle, barycentric)
    root_uv = groom.strand.get("root_uv")
    if root_uv is None and mesh.uv is not None:
        root_uv = _blend(mesh.uv, mesh, triangle, barycentric).astype(np.float32)
    return RootBinding(
        mesh,
        roots,
        triangle,
        barycentric,
        (roots - place).astype(np.float32),
        _rest_frame(mesh, triangle, barycentric),
        root_uv,
        SkinPatch(mesh, triangle),
    )


class SkinPatch:
    """The part of a mesh that carries hair, and how its vertices turn when it deforms.

    Args:
        mesh: the skin at rest.
        triangle: the triangles in use, in any order, repeated or not.

    Attributes:
        slot: place of each mesh vertex in what `vertex_rotations` returns, shape (N,); -1 for vertices not in use.
    """

    def __init__(self, mesh: Mesh, triangle: IntArray) -> None:
        used = np.zeros(mesh.vertex_count, bool)
        used[mesh.faces[triangle]] = True
        self._rest = mesh.points
        self._faces = mesh.faces[used[mesh.faces].any(axis=1)]
        self.slot = np.where(used, np.cumsum(used) - 1, -1)
        self._vertex_count = int(used.sum())
        self._first_face, self._vertex_face = _faces_around(self.slot[self._faces], self._vertex_count)
        self._frame = np.empty((len(self._faces), 4))
        self._outline = np.empty((len(self._faces), 3))
        kernels.fill_rest_triangles(mesh.points, self._faces, self._frame, self._outline)

    def vertex_rotations(self, points: NDArray[Any]) -> NDArray[np.float64]:
        """How the skin has turned at each vertex in use, quaternions (K, 4): the mean of its triangles, by area."""
        rotation = np.empty((len(self._faces), 4))
        weight = np.empty(len(self._faces))
        kernels.fill_triangle_rotations(self._rest, points, self._faces, self._frame, self._outline, rotation, weight)
        out = np.empty((self._vertex_count, 4))
        kernels.fill_vertex_rotations(rotation, weight, self._first_face, self._vertex_face, out)
        lost = ~out.any(axis=1)
        if lost.any():
            out[lost] = _mean_rotation(rotation, weight)
        return out


def _faces_around(slots: IntArray, vertex_count: int) -> tuple[IntArray, IntArray]:
    """Triangles that meet at each vertex, by rising number: where each vertex's list begins (K + 1,), and the lists."""
    corners = slots.reshape(-1)
    order = np.argsort(corners, kind="stable")
    order = order[np.searchsorted(corners[order], 0) :]  # vertices not in use have slot -1
    counts = np.bincount(corners[order], minlength=vertex_count)
    return np.concatenate([[0], np.cumsum(counts)]), order // 3


def _mean_rotation(rotation: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of rotations (T, 4) by weight, shape (4,); the identity when all weights are zero."""
    reference = rotation[weight.argmax()]
    sign = np.where(rotation @ reference < 0, -1.0, 1.0)
    return quaternion.normalize((rotation * (sign * weight)[:, None]).sum(axis=0))


def _blend(values: FloatArray, mesh: Mesh, triangle: IntArray, barycentric: FloatArray) -> NDArray[np.float64]:
    """Carry values per vertex to places in triangles, in double precision."""
    result: NDArray[np.float64] = np.einsum(
        "sc,scd->sd", barycentric.astype(np.float64), values[mesh.faces[triangle]].astype(np.float64)
    )
    return result


def _rest_frame(mesh: Mesh, triangle: IntArray, barycentric: FloatArray) -> FloatArray:
    normal = _blend(mesh.vertex_normals, mesh, triangle, barycentric)
    face_normal = mesh.face_normals[triangle].astype(np.float64)
    z = _unit_or(normal, face_normal)
    along = _tangents(mesh)[triangle]
    # A smooth normal is never quite perpendicular to the triangle, at worst (on a crease) even along its tangent.
    x = _unit_or(along - (along * z).sum(axis=1, keepdims=True) * z, quaternion.any_perpendicular(z))
    axes = np.stack([x, np.cross(z, x), z], axis=-1)
    return quaternion.from_matrix(axes).astype(np.float32)


def _tangents(mesh: Mesh) -> NDArray[np.float64]:
    """Unit direction of growing u in each triangle, or of its first edge where uv do not tell; shape (T, 3)."""
    corners = mesh.points[mesh.faces].astype(np.float64)
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    edge = first / np.linalg.norm(first, axis=1, keepdims=True)
    if mesh.uv is None:
        result: NDArray[np.float64] = edge
        return result
    uv = mesh.uv[mesh.faces].astype(np.float64)
    du, dv = uv[:, 1] - uv[:, 0], uv[:, 2] - uv[:, 0]
    area = du[:, 0] * dv[:, 1] - du[:, 1] * dv[:, 0]
    along = np.sign(area)[:, None] * (dv[:, 1:] * first - du[:, 1:] * second)
    return _unit_or(along, edge)


def _unit_or(vectors: NDArray[np.float64], fallback: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale vectors to unit length; those without length take the fallback."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(length > NO_DIRECTION, vectors / np.maximum(length, NO_DIRECTION), fallback)


def _check_distance(distance: FloatArray, limit: float, groom: Groom, mesh_size: float) -> None:
    far = distance > limit
    if far.any():
        first = int(far.argmax())
        raise ValueError(
            f"groom.roots: must be within {limit:.3g} m of the skin, got {distance[first]:.3g} m at strand {first} "
            f"({int(far.sum())} of {len(far)} too far); the groom measures {_diagonal(groom.bounds):.3g} m across, "
            f"the skin {mesh_size:.3g} m: do their units and places agree?"
        )


def _diagonal(bounds: FloatArray) -> float:
    return float(np.linalg.norm(bounds[1].astype(np.float64) - bounds[0]))
