"""`TetMesh`: tetrahedra of the air around a body at rest, and which of them a point lies in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from mane.body.mesh import Mesh
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray, IntArray, require_positive
from mane.groom.groom import Groom
from mane.volume import _kernels_recovery as kernels
from mane.volume.lattice import Float64Array, Lattice, edges_of
from mane.volume.patches import PER_REACH, PER_SPACING, Copies, SkinPatches, make_copies, make_patches, one_patch

# Tetrahedra whose nodes are all deeper below the skin than this are of no use to hair; over the lattice spacing.
DEPTH = 0.35
STEP_ALONG = 0.4  # between points that the mesh must hold, over the lattice spacing
POINTS_PER_BLOCK = 1_000_000
HALO = 0.9  # from the middle of a tetrahedron to a point in it, at most; over the lattice spacing


@dataclass(frozen=True, eq=False)
class TetMesh:
    """Tetrahedra cut out of a lattice, some of them more than once.

    Attributes:
        lattice: what they were cut out of.
        nodes: at rest [m], shape (N, 3), float64.
        tets: nodes of each tetrahedron, positive volume, shape (T, 4), int32.
        keys: of each in the lattice, rising, shape (T,); copies of one have the same.
        patch_of_vertex: patch of each vertex of the skin, shape (vertices of the skin,), or empty where there is none.
        copy_keys: of the tetrahedra that have copies, with the patches that tell them apart: key * patches + patch,
            rising, shape (Q,).
        copy_tets: the copy for each of these, shape (Q,).
        is_driven: nodes that the body moves, shape (N,): those below its skin, or at the roots where there is no body.
        node_pairs: pairs of a node and a patch near it that it hangs together with, shape (M, 2).
    """

    lattice: Lattice
    nodes: Float64Array
    tets: NDArray[np.int32]
    keys: IntArray
    patch_of_vertex: IntArray
    copy_keys: IntArray
    copy_tets: IntArray
    is_driven: NDArray[np.bool_]
    node_pairs: IntArray

    @property
    def node_count(self) -> int:
        """Number of nodes, N."""
        return len(self.nodes)

    @property
    def tet_count(self) -> int:
        """Number of tetrahedra, T."""
        return len(self.tets)

    @property
    def copied_count(self) -> int:
        """Tetrahedra that are there besides the first of their place."""
        return self.tet_count - len(np.unique(self.keys))

    @property
    def patch_count(self) -> int:
        """Number of patches of the skin."""
        return int(self.patch_of_vertex.max(initial=-1)) + 1

    @cached_property
    def inverse_edges(self) -> Float64Array:
        """Inverse of the matrix of edges from the first node of each at rest, shape (T, 3, 3)."""
        return np.asarray(np.linalg.inv(self.edge_matrices(self.nodes)), np.float64)

    @cached_property
    def edges(self) -> NDArray[np.int32]:
        """Pairs of nodes that an edge joins, each once, shape (E, 2)."""
        return edges_of(self.tets)

    @cached_property
    def volumes(self) -> Float64Array:
        """Of the tetrahedra at rest [m3], shape (T,)."""
        result: Float64Array = np.linalg.det(self.edge_matrices(self.nodes)) / 6
        return result

    @property
    def tet_kind(self) -> type[np.unsignedinteger]:
        """The smallest unsigned integers that number its tetrahedra."""
        return np.uint16 if self.tet_count < 2**16 else np.uint32

    def edge_matrices(self, nodes: NDArray[Any]) -> Float64Array:
        """Edges from the first node of each tetrahedron as columns, shape (T, 3, 3); `nodes` (N, 3) at any time."""
        corners = nodes[self.tets]
        result: Float64Array = (corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1)
        return result

    def deformation(self, nodes: NDArray[Any]) -> Float64Array:
        """Deformation gradient F of each tetrahedron, shape (T, 3, 3)."""
        return self.edge_matrices(nodes) @ self.inverse_edges

    def volume_ratios(self, nodes: NDArray[Any]) -> Float64Array:
        """Volume of each tetrahedron over that at rest, (T,): J, the determinant of F; below 0 if inverted."""
        ratios = np.empty(self.tet_count)
        kernels.fill_volume_ratios(np.ascontiguousarray(nodes, np.float64), self.tets, self.volumes, ratios)
        return ratios

    @cached_property
    def tets_of_nodes(self) -> tuple[IntArray, IntArray]:
        """Where the tetrahedra of each node begin in a list of them, shape (N + 1,), and that list, shape (4 T,)."""
        order = np.argsort(self.tets, axis=None, kind="stable")
        starts = np.searchsorted(self.tets.reshape(-1)[order], np.arange(self.node_count + 1))
        return starts, order // 4

    def affine_maps(self, nodes: NDArray[Any]) -> FloatArray:
        """Map of each tetrahedron from rest to `nodes`, rows of F beside the shift, shape (T, 3, 4), float32."""
        gradient = self.deformation(nodes)
        first = self.tets[:, 0]
        shift = nodes[first] - np.einsum("tij,tj->ti", gradient, self.nodes[first])
        return np.concatenate([gradient, shift[:, :, None]], axis=2).astype(np.float32)

    def locate(self, points: FloatArray, patches: IntArray | None = None) -> IntArray:
        """Tetrahedron that each point at rest lies in, shape (P,); -1 for none.

        Args:
            points: at rest [m], shape (P, 3).
            patches: of the skin that each belongs to, shape (P,), which chooses among copies; the first copy without.
        """
        keys = self.lattice.keys_of(points)
        found = np.minimum(np.searchsorted(self.keys, keys), self.tet_count - 1)
        found = np.where(self.keys[found] == keys, found, -1)
        if patches is None or len(self.copy_keys) == 0:
            return found
        copies, has_copy = self._copies(keys, patches)
        return np.where((found >= 0) & has_copy, copies, found)

    def locate_copies(self, points: FloatArray, patches: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """Copies that points at rest (P, 3) of patches (P,) lie in, shape (P,), and which have one, shape (P,)."""
        return self._copies(self.lattice.keys_of(points), patches)

    def _copies(self, keys: IntArray, patches: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
        wanted = keys * self.patch_count + patches
        slot = np.minimum(np.searchsorted(self.copy_keys, wanted), len(self.copy_keys) - 1)
        return self.copy_tets[slot], (keys >= 0) & (self.copy_keys[slot] == wanted)

    def weights(self, points: NDArray[Any], tets: IntArray) -> Float64Array:
        """Barycentric weights of points at rest (P, 3) in tetrahedra (P,), shape (P, 4) (lee2018 eq. 1)."""
        inner = np.einsum(
            "pij,pj->pi", self.inverse_edges[tets], points.astype(np.float64) - self.nodes[self.tets[tets, 0]]
        )
        return np.concatenate([1 - inner.sum(axis=1, keepdims=True), inner], axis=1)


def mesh_around_body(
    body: Solid,
    *,
    spacing: float,
    reach: float,
    cage: Mesh | None = None,
    copies: bool = True,
    groom: Groom | None = None,
) -> TetMesh:
    """Fill the air around a body at rest, and the body itself just below its skin, with tetrahedra.

    Args:
        body: a mesh, animated or not, in the pose that hair was groomed in.
        spacing: edge of the lattice's cubes [m].
        reach: how far from the skin hair may be [m].
        cage: fill this closed mesh instead, which must enclose the body's skin where hair grows.
        copies: keep parts of the body apart that do not hang together; without, one node at each lattice point.
        groom: hair that the mesh has to hold, also deep within a body that passes through itself.
    """
    skin = body.skin
    if skin is None:
        raise ValueError("body: must be a mesh, got a shape; a mesh around hair needs no body")
    require_positive("reach", reach)
    lattice = Lattice.around(*_box(skin, reach, cage), spacing)
    keys = lattice.all_keys()
    corners = lattice.corners(keys)
    points, row = np.unique(corners, return_inverse=True)
    row = row.reshape(-1, 4)
    place = lattice.positions(points)
    distance = _distance(body, place, float(reach + spacing))
    middles = place[row].mean(axis=1)
    kept = (distance[row] < reach).any(axis=1) if cage is None else _in_cage(cage, place, row)
    kept &= (distance[row] > -DEPTH * spacing).any(axis=1)
    if groom is not None:
        kept |= np.isin(keys, _keys_of_hair(lattice, groom))
    if not kept.any():
        where = f"reach: {reach:g} m around the body" if cage is None else "cage: what it encloses outside of the body"
        raise ValueError(f"{where} holds no tetrahedron of {spacing:g} m; make spacing smaller")
    keys, row, middles = keys[kept], row[kept], middles[kept]
    size = max(PER_SPACING * spacing, PER_REACH * reach)
    patches = make_patches(skin, size) if copies else one_patch(skin)
    farthest = float(np.abs(distance[row]).max()) if cage is not None else reach
    made = make_copies(row, middles, patches, farthest + HALO * spacing)
    is_below = distance[made.point] < 0
    return _assembled(lattice, keys, place, made, patches, is_below)


def mesh_around_hair(groom: Groom, spacing: float) -> TetMesh:
    """Fill the cubes that hair at rest lies in, and those around them, with tetrahedra; roots drive what holds them.

    Args:
        groom: hair at rest.
        spacing: edge of a cube [m].
    """
    points = _along_strands(groom, STEP_ALONG * spacing)
    low, high = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    lattice = Lattice.around(low - spacing, high + spacing, spacing)
    keys = lattice.keys_around(np.unique(lattice.keys_of(points)))
    nodes, tets = np.unique(lattice.corners(keys), return_inverse=True)
    is_driven = np.isin(nodes, lattice.corners(np.unique(lattice.keys_of(groom.roots))))
    none, pairs = np.zeros(0, np.int64), np.zeros((0, 2), np.int64)
    corners = tets.reshape(-1, 4).astype(np.int32)
    return TetMesh(lattice, lattice.positions(nodes), corners, keys, none, none, none, is_driven, pairs)


def _keys_of_hair(lattice: Lattice, groom: Groom) -> IntArray:
    """Keys of the tetrahedra that hold hair, in any order."""
    starts = range(0, groom.point_count, POINTS_PER_BLOCK)
    parts = [np.unique(lattice.keys_of(groom.points[at : at + POINTS_PER_BLOCK])) for at in starts]
    return np.concatenate(parts)


def _along_strands(groom: Groom, step: float) -> FloatArray:
    """Points of a groom and so many between them that none is farther than `step` [m] from the next, (Q, 3)."""
    start, end = groom.points[:-1], groom.points[1:]
    size = np.linalg.norm(end - start, axis=1)
    size[groom.offsets[1:-1] - 1] = 0.0  # from one strand to the next
    count = np.maximum(np.ceil(size / step).astype(np.int64), 1)
    row = np.repeat(np.arange(len(start)), count)
    part = (np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)) / count[row]
    between = start[row] + part[:, None].astype(np.float32) * (end[row] - start[row])
    return np.concatenate([between, groom.points[-1:]])


def _assembled(
    lattice: Lattice,
    keys: IntArray,
    place: Float64Array,
    made: Copies,
    patches: SkinPatches,
    is_below: NDArray[np.bool_],
) -> TetMesh:
    nodes = place[made.point]
    # A node below the skin of another leg is in the air of its own: only the patch nearest to it tells.
    nearest = cKDTree(patches.middle).query(nodes)[1]
    key = made.node_pairs[:, 0] * patches.count + made.node_pairs[:, 1]
    hangs = np.isin(np.arange(len(nodes)) * patches.count + nearest, key)
    many = np.bincount(made.tetrahedron, minlength=len(keys))[made.pair_tetrahedron] > 1
    copy_keys = keys[made.pair_tetrahedron[many]] * patches.count + made.pair_patch[many]
    tets = made.nodes.astype(np.int32)
    return TetMesh(
        lattice,
        nodes,
        tets,
        keys[made.tetrahedron],
        patches.of_vertex,
        copy_keys,
        made.pair_copy[many],
        is_below & hangs,
        made.node_pairs,
    )


def _box(skin: Mesh, reach: float, cage: Mesh | None) -> tuple[Float64Array, Float64Array]:
    low, high = skin.bounds.astype(np.float64)
    if cage is None:
        return low - reach, high + reach
    cage_low, cage_high = cage.bounds.astype(np.float64)
    return np.minimum(low, cage_low), np.maximum(high, cage_high)


def _distance(body: Solid, points: Float64Array, far: float) -> Float64Array:
    """Signed distance [m] of points to the body at rest; exact within `far` of its box, and at least `far` beyond."""
    assert body.mesh is not None
    low, high = body.mesh.bounds.astype(np.float64)
    near = ((points >= low - far) & (points <= high + far)).all(axis=1)
    distance = np.full(len(points), far)
    distance[near] = body.rest_distance(points[near].astype(np.float32))
    return distance


def _in_cage(cage: Mesh, place: Float64Array, row: IntArray) -> NDArray[np.bool_]:
    """Tetrahedra with a node within the cage."""
    if not cage.is_closed:
        raise ValueError("cage: must be closed, got a mesh with a rim or with triangles that face both ways; close it")
    solid = Solid(cage)
    inside = solid.distance(place.astype(np.float32)) < 0
    return np.asarray(inside[row].any(axis=1), np.bool_)
