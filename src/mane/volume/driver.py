"""What the body does to the mesh: nodes below the skin follow it by a weighted rigid fit, and the skin pulls the rest.

lee2018 3.1 morphs the body's interior from frame to frame. A weighted rigid fit of every node to the skin vertices
nearest to it is exact where the body moves rigidly, has no fold of its own, and averages noise of the skin out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.spatial import cKDTree

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray, IntArray
from mane.volume.lattice import Float64Array
from mane.volume.mesh import TetMesh
from mane.volume.springs import Attachment, SpringParams

FIT_VERTICES = 32
WIDTH, FLOOR = 1.2, 0.35  # of the weights: times the distance of the nearest vertex, plus this part of the spacing
ASKED = 4  # times as many vertices are looked at, since some belong to other parts of the body


class Driver(Protocol):
    """Moves a mesh; `points` are what the body is at one time, which only the driver understands."""

    @property
    def attachment(self) -> Attachment | None:
        """Zero-length springs that hold the mesh to the body, or None."""

    def nodes(self, points: Float64Array) -> Float64Array:
        """All nodes as the body alone would carry them [m], shape (N, 3)."""

    def driven(self, points: Float64Array) -> Float64Array:
        """The same, of which the rows of driven nodes alone count."""

    def places(self, points: Float64Array) -> Float64Array | None:
        """Where the zero-length springs pull to [m], or None without them."""


class RigidDriver:
    """A head that moves rigidly: points are the four corners of its frame, which it makes itself.

    Args:
        mesh: that it moves.
    """

    attachment = None

    def __init__(self, mesh: TetMesh) -> None:
        self._rest = mesh.nodes

    def nodes(self, points: Float64Array) -> Float64Array:
        """All nodes carried along; `points` (4, 3) is the rotation matrix above the position."""
        result: Float64Array = self._rest @ points[:3].T + points[3]
        return result

    def driven(self, points: Float64Array) -> Float64Array:
        """All nodes, driven or not."""
        return self.nodes(points)

    def places(self, points: Float64Array) -> None:
        """There are no springs to a skin."""


class SkinDriver:
    """A skin that deforms: points are its vertices [m], shape (V, 3).

    Args:
        mesh: made around that skin.
        skin: at rest.
        params: of the springs, for those between skin and mesh.

    Attributes:
        attachment: zero-length springs at the vertices of the skin, by the area that each stands for.
    """

    def __init__(self, mesh: TetMesh, skin: Mesh, params: SpringParams) -> None:
        rest = skin.points.astype(np.float64)
        self._fit = _RigidFit(*_fit_weights(mesh, rest), rest, mesh.nodes)
        self._rows, self._count = np.flatnonzero(mesh.is_driven), mesh.node_count
        self._driven_fit = self._fit.taken(self._rows)
        self._attached, self.attachment = _attach_skin(mesh, skin, params)

    def nodes(self, points: Float64Array) -> Float64Array:
        """All nodes by the rotation and shift that fit the skin vertices around them best."""
        return self._fit.at(points)

    def driven(self, points: Float64Array) -> Float64Array:
        """The same, of which the rows of driven nodes alone count; others are zero."""
        nodes = np.zeros((self._count, 3))
        nodes[self._rows] = self._driven_fit.at(points)
        return nodes

    def places(self, points: Float64Array) -> Float64Array:
        """The vertices of the skin that springs hold on to."""
        return points[self._attached]


@dataclass(frozen=True, eq=False)
class _RigidFit:
    """Nodes that follow the skin vertices around them, each by the rotation and shift that fit these best.

    Attributes:
        vertices: that each node follows, shape (N, K).
        weights: of these, shape (N, K).
        skin: at rest [m], shape (V, 3).
        rest: nodes at rest [m], shape (N, 3).
    """

    vertices: IntArray
    weights: Float64Array
    skin: Float64Array
    rest: Float64Array

    def taken(self, rows: IntArray) -> _RigidFit:
        """Return that of some of the nodes."""
        return _RigidFit(self.vertices[rows], self.weights[rows], self.skin, self.rest[rows])

    @cached_property
    def _at_rest(self) -> tuple[Float64Array, Float64Array]:
        """Vertices and nodes, seen from the middle of what each node follows."""
        near = self.skin[self.vertices]
        middle = np.einsum("nk,nkd->nd", self.weights, near)
        return near - middle[:, None], self.rest - middle

    def at(self, points: Float64Array) -> Float64Array:
        """Nodes when the skin is at `points` (V, 3) [m], shape (N, 3)."""
        offset, from_middle = self._at_rest
        near = points[self.vertices]
        middle = np.einsum("nk,nkd->nd", self.weights, near)
        moment = np.einsum("nk,nki,nkj->nij", self.weights, near - middle[:, None], offset, optimize=True)
        result: Float64Array = middle + np.einsum("nij,nj->ni", _rotations(moment), from_middle)
        return result


def _fit_weights(mesh: TetMesh, skin: Float64Array) -> tuple[IntArray, Float64Array]:
    """Vertices of the skin that each node follows (N, K), of its own part of the body, and their weights (N, K)."""
    used = np.flatnonzero(mesh.patch_of_vertex >= 0)
    count = min(FIT_VERTICES, len(used))
    distance, near = cKDTree(skin[used]).query(mesh.nodes, k=min(ASKED * count, len(used)))
    distance, near = distance.reshape(len(mesh.nodes), -1), used[near.reshape(len(mesh.nodes), -1)]
    pairs = np.sort(mesh.node_pairs[:, 0] * mesh.patch_count + mesh.node_pairs[:, 1])
    is_own = np.isin(np.arange(mesh.node_count)[:, None] * mesh.patch_count + mesh.patch_of_vertex[near], pairs)
    order = np.argsort(~is_own, axis=1, kind="stable")[:, :count]
    distance, near = np.take_along_axis(distance, order, 1), np.take_along_axis(near, order, 1)
    for node in np.flatnonzero(is_own.sum(axis=1) < count):
        distance[node], near[node] = _nearest_own(mesh, skin, int(node), count)
    width = WIDTH * distance[:, :1] + FLOOR * mesh.lattice.spacing
    weights = np.exp(-((distance / width) ** 2))
    return near, weights / weights.sum(axis=1, keepdims=True)


def _nearest_own(mesh: TetMesh, skin: Float64Array, node: int, count: int) -> tuple[Float64Array, IntArray]:
    """Distances and numbers of the nearest vertices of a node's own part; the last one repeated if there are few."""
    patches = mesh.node_pairs[mesh.node_pairs[:, 0] == node, 1]
    own = np.flatnonzero(np.isin(mesh.patch_of_vertex, patches))
    distance = np.linalg.norm(skin[own] - mesh.nodes[node], axis=1)
    chosen = np.argsort(distance, kind="stable")[:count]
    chosen = np.concatenate([chosen, np.full(count - len(chosen), chosen[-1])])
    return distance[chosen], own[chosen]


def _attach_skin(mesh: TetMesh, skin: Mesh, params: SpringParams) -> tuple[IntArray, Attachment]:
    """Vertices of the skin that lie in the mesh, and the springs that hold it to them (lee2018 3.1)."""
    tets = mesh.locate(skin.points, mesh.patch_of_vertex)
    attached = np.flatnonzero((tets >= 0) & (mesh.patch_of_vertex >= 0))
    if len(attached) == 0:
        raise ValueError("mesh: must hold the skin of the body, got none of its vertices in it; is it of this body?")
    tets = tets[attached]
    per_area = params.skin_stiffness * params.node_stiffness(mesh.lattice.spacing) / mesh.lattice.spacing**2
    stiffness = per_area * _vertex_areas(skin)[attached]
    weights = mesh.weights(skin.points[attached], tets)
    return attached, Attachment.of(mesh.node_count, mesh.tets[tets], weights, stiffness)


def _vertex_areas(skin: Mesh) -> Float64Array:
    """A third of the area of the triangles around each vertex [m2], shape (V,)."""
    share: FloatArray = np.repeat(skin.face_areas / 3, 3)
    return np.asarray(np.bincount(skin.faces.reshape(-1), share, skin.vertex_count), np.float64)


def _rotations(moment: Float64Array) -> Float64Array:
    """The rotation nearest to each matrix (N, 3, 3)."""
    u, _, vt = np.linalg.svd(moment)
    u[np.linalg.det(u @ vt) < 0, :, 2] *= -1
    rotations: Float64Array = u @ vt
    return rotations
