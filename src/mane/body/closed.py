"""`ClosedMesh`: the triangles of a mesh with its holes filled, so that inside and outside are told apart as it moves.

Which triangles belong together is found once, in the rest pose; what follows from where the points are is then a matter
of two kernels, however the mesh deforms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mane.body import _kernels_normals as kernels
from mane.body._boundary import is_bounding
from mane.body.mesh import Mesh
from mane.body.triangle_tree import TriangleTree
from mane.geometry.checks import FloatArray

# How far outside a triangle the winding number is taken, as a part of the mesh's largest extent.
OFFSET = 1e-4
NO_SOURCE = -1


class Normals(NamedTuple):
    """Unit normals of a closed mesh, by which the closest point on it tells inside from outside."""

    face: FloatArray  # (T, 3)
    edge: FloatArray  # (T, 3, 3): edge e of a face runs from its corner e to its corner e + 1
    vertex: FloatArray  # (N, 3)


@dataclass(frozen=True, eq=False)
class ClosedMesh:
    """A mesh whose every edge is shared by two triangles that agree on its direction.

    Each rim of a hole is filled by a fan of triangles around the mean of its points, which moves with them. Vertices of
    rims at the same position in the rest pose (seams of texture maps) are joined: they remain points of their own, but
    there is no hole between them. Parts that bound nothing (sheets, teeth within a head) are left out.

    Attributes:
        faces: numbers of points, shape (T, 3), int32. The first `bounding_count` bound the solid in the rest pose; the
            others lie within another part of it, as half an eye does within a head.
        bounding_count: see `faces`.
        source: face of the mesh that each of `faces` is, -1 for those that fill a hole, shape (T,), int32.
        neighbors: face beyond each edge, shape (T, 3), int32; edge e runs from corner e to corner e + 1.
        vertex_start: where the corners of each point begin in `vertex_corners`, shape (N + 1,), int64.
        vertex_corners: corners of faces at each point (those at joined points too), as 3 face + corner, shape (C,).
        rims: points around each hole, one array each; behind the points of the mesh there is one for each rim.
    """

    faces: NDArray[np.int32]
    bounding_count: int
    source: NDArray[np.int32]
    neighbors: NDArray[np.int32]
    vertex_start: NDArray[np.int64]
    vertex_corners: NDArray[np.int32]
    rims: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, mesh: Mesh) -> ClosedMesh:
        """Close a mesh whose triangles face outwards, in its rest pose; ValueError if it encloses nothing."""
        joined = _joined_rims(mesh)
        caps, rims = _caps(joined[mesh.faces], mesh.vertex_count)
        points = _with_centers(mesh.points, rims)
        joined = np.concatenate([joined, np.arange(mesh.vertex_count, len(points))])
        faces = np.concatenate([mesh.faces.astype(np.int64), caps])
        bounds = _bounding(points, faces, mesh.face_count, joined)
        # Bounding ones first; a stable order keeps neighbours in memory together, as they are in the mesh.
        chosen = np.flatnonzero(bounds >= 0)
        chosen = chosen[np.argsort(-bounds[chosen], kind="stable")]
        faces = faces[chosen]
        start, corners = _corners_of_points(joined[faces], joined)
        return cls(
            faces=np.ascontiguousarray(faces, dtype=np.int32),
            bounding_count=int((bounds > 0).sum()),
            source=np.where(chosen < mesh.face_count, chosen, NO_SOURCE).astype(np.int32),
            neighbors=_neighbors(joined[faces], len(points)),
            vertex_start=start,
            vertex_corners=corners,
            rims=rims,
        )

    @property
    def point_count(self) -> int:
        """Number of points with those that fill holes, N."""
        return len(self.vertex_start) - 1

    def points(self, mesh_points: FloatArray) -> FloatArray:
        """Points (N, 3) that `faces` number, from those of the mesh; also for their velocities, which are as linear."""
        return _with_centers(mesh_points, self.rims)

    def normals(self, points: FloatArray) -> Normals:
        """Normals with the points (N, 3) where they are. A face without area takes the mean of its neighbours'."""
        count = len(self.faces)
        normals = Normals(np.empty((count, 3), np.float32), np.empty((count, 3, 3), np.float32), np.empty_like(points))
        self.fill_normals(points, normals)
        return normals

    def fill_normals(self, points: FloatArray, out: Normals) -> None:
        """Fill normals that were made before, see `normals`."""
        kernels.fill_face_normals(points, self.faces, out.face)
        kernels.borrow_normals(self.neighbors, out.face)
        kernels.fill_edge_and_vertex_normals(
            points, self.faces, self.neighbors, self.vertex_start, self.vertex_corners, out.face, out.edge, out.vertex
        )


def _edges(faces: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Start and end of every edge, shape (3 T,); edge e of face t is number 3 t + e."""
    return faces.reshape(-1), np.roll(faces, -1, axis=1).reshape(-1)


def _open_edges(faces: NDArray[np.int64], point_count: int) -> NDArray[np.int64]:
    """Edges that run in one direction more often than in the other, as often as that, start and end, shape (E, 2)."""
    start, end = _edges(faces)
    low, high = np.minimum(start, end), np.maximum(start, end)
    codes, inverse = np.unique(low * point_count + high, return_inverse=True)
    surplus = np.bincount(inverse.reshape(-1), weights=np.sign(end - start)).astype(np.int64)
    pairs = np.stack([codes // point_count, codes % point_count], axis=1)
    pairs[surplus < 0] = pairs[surplus < 0, ::-1]
    return np.repeat(pairs, np.abs(surplus), axis=0)


def _joined_rims(mesh: Mesh) -> NDArray[np.int64]:
    """Number that stands for each point, shape (N,): the first of all points on rims that are at the same position."""
    joined = np.arange(mesh.vertex_count)
    on_rim = np.unique(_open_edges(mesh.faces.astype(np.int64), mesh.vertex_count))
    if len(on_rim):
        _, first, inverse = np.unique(mesh.points[on_rim], axis=0, return_index=True, return_inverse=True)
        joined[on_rim] = on_rim[first[inverse.reshape(-1)]]
    return joined


def _caps(faces: NDArray[np.int64], point_count: int) -> tuple[NDArray[np.int64], tuple[NDArray[np.int64], ...]]:
    """Triangles that fill the holes, shape (E, 3), around new points behind the others; and the rims of the holes."""
    edges = _open_edges(faces, point_count)
    used, local = np.unique(edges, return_inverse=True)
    group = connected(local.reshape(-1, 2), len(used))
    rims = tuple(used[group == number] for number in range(group.max(initial=-1) + 1))
    center = point_count + group[local.reshape(-1, 2)[:, 0]]
    return np.stack([edges[:, 1], edges[:, 0], center], axis=1), rims


def connected(edges: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Number of the connected part that each of `count` things belongs to, by edges (E, 2) between them."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(edges), np.int8), (edges[:, 0], edges[:, 1])), shape=(count, count))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)


def _with_centers(points: FloatArray, rims: tuple[NDArray[np.int64], ...]) -> FloatArray:
    """Points with the mean of each rim behind them."""
    if not rims:
        return points
    centers = np.stack([points[rim].mean(axis=0, dtype=np.float64) for rim in rims])
    return np.concatenate([points, centers.astype(np.float32)])


def _bounding(
    points: FloatArray, faces: NDArray[np.int64], mesh_count: int, joined: NDArray[np.int64]
) -> NDArray[np.int64]:
    """What each face is, shape (T,): 1 if it bounds the solid, 0 if it lies within, -1 if all its part bounds nothing.

    The first `mesh_count` are those of the mesh, the others fill its holes.
    """
    corners = (points - points.mean(axis=0, dtype=np.float64).astype(np.float32))[faces]
    own = corners[:mesh_count]
    offset = OFFSET * float(np.ptp(own, axis=(0, 1)).max())
    bounds = np.zeros(len(faces), np.bool_)
    # Without the fillings, so that a sheet counts as one and is not closed by its own filling.
    bounds[:mesh_count] = is_bounding(TriangleTree(own), own, offset)
    if not bounds.any():
        raise ValueError(
            f"mesh: must enclose a volume, got {mesh_count} triangles that enclose nothing; close it or give it "
            "thickness"
        )
    start, end = _edges(joined[faces])
    part = connected(np.stack([start, end], axis=1), len(points))[joined[faces[:, 0]]]
    is_kept = np.zeros(part.max() + 1, np.bool_)
    is_kept[part[bounds]] = True
    kept = is_kept[part]
    caps = np.flatnonzero(kept[mesh_count:]) + mesh_count
    if len(caps):
        bounds[caps] = is_bounding(TriangleTree(corners[kept]), corners[caps], offset)
    return np.where(kept, bounds.astype(np.int64), -1)


def _neighbors(faces: NDArray[np.int64], point_count: int) -> NDArray[np.int32]:
    """Face beyond each edge of closed faces, shape (T, 3); where more than two meet, they are taken in pairs."""
    start, end = _edges(faces)
    # Both orders list the same edges, here as they run in one face and there as they run in the other.
    here = np.argsort(start * point_count + end, kind="stable")
    there = np.argsort(end * point_count + start, kind="stable")
    beyond = np.empty(len(start), np.int64)
    beyond[here] = there // 3
    return beyond.reshape(-1, 3).astype(np.int32)


def _corners_of_points(
    faces: NDArray[np.int64], joined: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Where the corners of each point begin, shape (N + 1,), and the corners, shape (C,)."""
    number = faces.reshape(-1)
    order = np.argsort(number, kind="stable")
    count = np.bincount(number, minlength=len(joined))
    first = np.concatenate([[0], np.cumsum(count)])[joined]
    sizes = count[joined]
    start = np.concatenate([[0], np.cumsum(sizes)])
    within = np.arange(start[-1]) - np.repeat(start[:-1], sizes)
    return start, order[np.repeat(first, sizes) + within].astype(np.int32)
