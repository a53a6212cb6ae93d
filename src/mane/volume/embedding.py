"""`Embedding`: hair bound to a tetrahedral mesh at rest, and where the mesh carries it (lee2018 3.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.body.triangle_tree import TriangleTree
from mane.geometry.checks import FloatArray, IntArray
from mane.groom.groom import Groom
from mane.simd.align import empty_aligned
from mane.volume.mesh import TetMesh

NO_PLANES = np.zeros((0, 6), np.float32)
# A point that leaves the mesh by less than this, over the lattice spacing, rides on the tetrahedron before it.
BEYOND = 1.0
POINTS_PER_BLOCK = 1_000_000


class Embedding:
    """Points of strands in tetrahedra: the position at rest in single precision and the number of the tetrahedron.

    The map of a tetrahedron gives what barycentric weights would, to 0.4 um, and carries points on that leave it.

    Args:
        groom: at rest.
        mesh: that holds it.
        root_patches: patch of the skin that each strand grows on, shape (S,), where the mesh has copies.
        what: how messages call the groom.

    Attributes:
        offsets: first point of each strand, shape (S + 1,).
        rest: points at rest [m], shape (P, 3), float32.
        tets: of the points, shape (P,), the smallest unsigned integers that hold them.
        beyond: points that lie outside of the mesh and ride on the tetrahedron before them.
    """

    def __init__(self, groom: Groom, mesh: TetMesh, root_patches: IntArray | None = None, what: str = "groom") -> None:
        self.offsets = np.ascontiguousarray(groom.offsets, np.int64)
        self.rest = empty_aligned(groom.points.shape, np.float32)
        self.rest[...] = groom.points
        self.tets: NDArray[np.unsignedinteger] = np.zeros(len(groom.points), mesh.tet_kind)
        self.beyond = 0
        for start in range(0, len(self.offsets) - 1, max(1, POINTS_PER_BLOCK // int(groom.vertex_counts.max()))):
            stop = min(start + max(1, POINTS_PER_BLOCK // int(groom.vertex_counts.max())), len(self.offsets) - 1)
            self._bind(mesh, root_patches, what, start, stop)

    def _bind(self, mesh: TetMesh, root_patches: IntArray | None, what: str, start: int, stop: int) -> None:
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        points = self.rest[first:last]
        counts = np.diff(self.offsets[start : stop + 1])
        patches = None if root_patches is None else np.repeat(root_patches[start:stop], counts)
        found = mesh.locate(points, patches)
        lost = np.flatnonzero(found < 0)
        if len(lost):
            found = self._filled(mesh, points, found, lost, self.offsets[start:stop] - first, what, start)
        self.tets[first:last] = found

    def _filled(
        self,
        mesh: TetMesh,
        points: FloatArray,
        found: IntArray,
        lost: IntArray,
        firsts: IntArray,
        what: str,
        start: int,
    ) -> IntArray:
        """Give points outside of the mesh the tetrahedron before them on their strand, if they are near it."""
        strand = np.searchsorted(firsts, lost, side="right") - 1
        row = np.arange(len(found))
        before = np.maximum.accumulate(np.where(found >= 0, row, -1))[lost]
        is_root = before < firsts[strand]
        middle = mesh.nodes[mesh.tets[found[np.maximum(before, 0)]]].mean(axis=1)
        off = np.linalg.norm(points[lost] - middle, axis=1)
        far = is_root | (off > (BEYOND + 1) * mesh.lattice.spacing)
        if far.any():
            worst = int(far.argmax())
            raise ValueError(
                f"{what}: strand {start + int(strand[worst])} leaves the mesh ({int(far.sum())} points do); make the "
                "mesh with a larger reach, or around this groom"
            )
        self.beyond += len(lost)
        found = found.copy()
        found[lost] = found[before]
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.offsets.nbytes + self.rest.nbytes + self.tets.nbytes


class SkinPlanes:
    """The piece of skin that each point near it stays above, which needs no distance field.

    Args:
        skin: at rest.
        near: distance within which a point belongs to its closest triangle [m].

    Attributes:
        near: as given.
        rest: normals and middles of the triangles at rest, shape (T, 6), float32.
    """

    def __init__(self, skin: Mesh, near: float) -> None:
        self._faces = skin.faces
        self.near = near
        self._tree = TriangleTree(skin.points[skin.faces])
        self.rest = self.at(skin.points)

    def at(self, points: NDArray[np.floating]) -> FloatArray:
        """Normals and middles of the triangles of a skin whose vertices are at `points`, shape (T, 6), float32."""
        a, b, c = (points[self._faces[:, corner]] for corner in range(3))
        normal = np.cross(b - a, c - a)
        size = np.linalg.norm(normal, axis=1, keepdims=True)
        normal = np.divide(normal, size, out=np.zeros_like(normal), where=size > 0)
        return np.ascontiguousarray(np.concatenate([normal, (a + b + c) / 3], axis=1), np.float32)

    @property
    def kind(self) -> type[np.signedinteger]:
        """The smallest integers that number its triangles, and hold -1."""
        return np.int16 if len(self._faces) < 2**15 else np.int32

    def closest(self, mesh: TetMesh, embedding: Embedding) -> NDArray[np.signedinteger]:
        """Triangle that each point stays above, shape (P,); -1 where none of its own part of the body is near."""
        out: NDArray[np.signedinteger] = np.empty(len(embedding.rest), self.kind)
        for start in range(0, len(out), POINTS_PER_BLOCK):
            part = slice(start, start + POINTS_PER_BLOCK)
            points = embedding.rest[part]
            distance, triangle, _ = self._tree.closest(points)
            own = mesh.locate(points, mesh.patch_of_vertex[self._faces[triangle, 0]]) == embedding.tets[part]
            out[part] = np.where((distance < self.near) & own, triangle, -1)
        out[embedding.offsets[:-1]] = -1
        return out
