"""`Surfaces`: every solid of a picture joined into one mesh, and how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray, as_floats
from mane.render import _kernels_solids as kernels
from mane.render.view import View

CLAY = (0.50, 0.33, 0.255)  # linear RGB: neutral skin with the saturation of clay
HORN = (0.045, 0.022, 0.012)  # dark horn, of what is not skin: combs, brushes


@runtime_checkable
class HasMesh(Protocol):
    """Something with a mesh, such as the bust."""

    @property
    def mesh(self) -> Mesh:
        """The mesh to draw."""
        ...


Body = Mesh | HasMesh


@dataclass(frozen=True, eq=False)
class Surfaces:
    """Triangles with a normal, a colour and a gloss per vertex.

    Attributes:
        points: positions [m], shape (N, 3).
        faces: vertex indices, shape (T, 3), int32.
        normals: unit normals, shape (N, 3).
        albedo: linear RGB of the matte part, shape (N, 3).
        gloss: factor on the reflection, 0 for matte, shape (N, 1).
    """

    points: FloatArray
    faces: NDArray[np.int32]
    normals: FloatArray
    albedo: FloatArray
    gloss: FloatArray

    @classmethod
    def of_bodies(cls, bodies: Body | Sequence[Body] | None, color: ArrayLike = CLAY) -> Surfaces | None:
        """Join meshes.

        `color` is linear RGB for all, or per vertex of the meshes one after the other, (N, 3), or (N, 4) with a factor
        on the gloss, 1 without it.
        """
        meshes = [_mesh_of(f"body[{k}]", body) for k, body in enumerate(_listed(bodies))]
        if not meshes:
            return None
        starts = np.cumsum([0] + [mesh.vertex_count for mesh in meshes])
        points = np.concatenate([mesh.points for mesh in meshes])
        colors = np.asarray(color, np.float32)
        if colors.ndim == 1:
            colors = np.broadcast_to(as_floats("body_color", colors, (3,)), points.shape)
        gloss = np.ones((len(points), 1), np.float32)
        if colors.shape == (len(points), 4):
            colors, gloss = colors[:, :3], np.ascontiguousarray(colors[:, 3:])
        return cls(
            points,
            np.concatenate([m.faces + np.int32(start) for m, start in zip(meshes, starts[:-1], strict=True)]),
            np.concatenate([mesh.vertex_normals for mesh in meshes]),
            as_floats("body_color", colors, points.shape),
            gloss,
        )

    def attributes(self) -> FloatArray:
        """Position, normal, colour and gloss side by side, shape (N, 10)."""
        return np.concatenate([self.points, self.normals, self.albedo, self.gloss], axis=1)

    def before(self, view: View) -> Surfaces:
        """The part of the surfaces that is in front of a view's eye; triangles that reach behind it are cut."""
        points, faces, attributes = self._cut(view, self.attributes())
        if points is self.points:
            return self
        return Surfaces(points, faces, *(np.ascontiguousarray(part) for part in np.split(attributes, (3, 6, 9), 1)[1:]))

    def _cut(self, view: View, attributes: FloatArray) -> tuple[FloatArray, NDArray[np.int32], FloatArray]:
        return _cut_triangles(view, self.points, self.faces, attributes)

    def seen_by(self, view: View, extra: FloatArray) -> SeenSurfaces:
        """Draw the z-buffer of a view; `extra` (N, C) are further values to carry along with the surface."""
        attributes = np.concatenate([self.attributes(), extra], axis=1).astype(np.float32)
        points, faces, attributes = self._cut(view, attributes)
        screen = view.project(points)
        nearness = np.empty((view.height, view.width), np.float32)
        owner = np.empty((view.height, view.width), np.int32)
        kernels.raster_mesh(screen, faces, True, np.float32(0.0), nearness, owner)
        return SeenSurfaces(screen, faces, attributes, nearness, owner)


@dataclass(frozen=True, eq=False)
class SeenSurfaces:
    """The surfaces as a camera sees them, before any light.

    Attributes:
        screen: column, row and nearness of each vertex, shape (N, 3).
        faces: vertex indices, shape (T, 3).
        attributes: position, normal, colour, gloss and whatever else, shape (N, 10 + C).
        nearness: of the nearest surface at each sample, 0 where there is none, shape (H, W).
        owner: its triangle, -1 where there is none, shape (H, W).
    """

    screen: FloatArray
    faces: NDArray[np.int32]
    attributes: FloatArray
    nearness: FloatArray
    owner: NDArray[np.int32]

    def at(self, samples: NDArray[np.int64]) -> FloatArray:
        """Attributes of the surface at samples, counted row by row, shape (M, 10 + C)."""
        out = np.empty((len(samples), self.attributes.shape[1]), np.float32)
        kernels.surface_at(self.screen, self.faces, self.attributes, self.owner, samples, out)
        return out


def _listed(bodies: Body | Sequence[Body] | None) -> list[Any]:
    if bodies is None:
        return []
    return list(bodies) if isinstance(bodies, Sequence) else [bodies]


def _mesh_of(name: str, body: Any) -> Mesh:
    if isinstance(body, Mesh):
        return body
    mesh = getattr(body, "mesh", None)
    if not isinstance(mesh, Mesh):
        raise ValueError(f"{name}: must be a mesh or have one, got {type(body).__name__}")
    return mesh


def _cut_triangles(
    view: View, points: FloatArray, faces: NDArray[np.int32], attributes: FloatArray
) -> tuple[FloatArray, NDArray[np.int32], FloatArray]:
    """Cut triangles at the plane just before the eye, and drop what is behind it.

    A triangle with one corner behind becomes two, with two corners behind it becomes a smaller one; the new corners
    are appended. Without any such triangle the arrays come back as they are.
    """
    if not view.is_perspective:
        return points, faces, attributes
    depth = view.depth(points) - 2.0 * view.smallest_depth
    behind = depth[faces] <= 0
    count = behind.sum(axis=1)
    if not count.any():
        return points, faces, attributes
    values, corners = [attributes], [faces[count == 0]]
    next_vertex = len(points)

    def between(start: NDArray[Any], end: NDArray[Any]) -> NDArray[np.int32]:
        nonlocal next_vertex
        share = (depth[start] / (depth[start] - depth[end]))[:, None]
        values.append((attributes[start] + share * (attributes[end] - attributes[start])).astype(np.float32))
        numbers = np.arange(next_vertex, next_vertex + len(start), dtype=np.int32)
        next_vertex += len(start)
        return numbers

    for odd_is_behind in (True, False):
        chosen = count == (1 if odd_is_behind else 2)
        if not chosen.any():
            continue
        odd = (behind[chosen] == odd_is_behind).argmax(axis=1)
        a, b, c = (np.take_along_axis(faces[chosen], ((odd + k) % 3)[:, None], axis=1)[:, 0] for k in range(3))
        on_ab, on_ac = between(a, b), between(a, c)
        if odd_is_behind:
            corners += [np.stack([on_ab, b, c], axis=1), np.stack([on_ab, c, on_ac], axis=1)]
        else:
            corners.append(np.stack([a, on_ab, on_ac], axis=1))
    joined = np.concatenate(values)
    return np.ascontiguousarray(joined[:, :3]), np.concatenate(corners).astype(np.int32), joined
