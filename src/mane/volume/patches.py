"""Parts of the skin, and copies of tetrahedra for parts that are near each other but do not hang together.

A coarse lattice bridges legs and belly: one tetrahedron of the air between two legs would tie both together. So every
tetrahedron knows which patches of the skin are in reach of it. Patches that hang together among these are one copy of
the tetrahedron, and copies around a lattice point share a node where they share a patch (the virtual nodes of Molino,
Bao and Fedkiw 2004, with patches of skin in place of pieces of material). Hair uses the copies of its root's patch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from mane.body.mesh import Mesh
from mane.geometry.checks import IntArray
from mane.volume import _kernels_lattice as kernels
from mane.volume.lattice import Float64Array

# Edge of the cubes that patches are cut by, over the lattice spacing and over how far hair reaches, whichever is more:
# parts of the body are told apart by what is in reach, and finer patches would only be more of them.
PER_SPACING, PER_REACH = 0.5, 0.3


@dataclass(frozen=True, eq=False)
class SkinPatches:
    """Connected pieces of a skin that fit into small cubes.

    Attributes:
        of_vertex: patch of each vertex of the skin, shape (N,); -1 for vertices without a triangle.
        count: number of patches, P.
        neighbors: pairs of patches that touch, each both ways, shape (E, 2).
        middle: mean of the vertices of each [m], shape (P, 3).
        radius: of the sphere around that middle which holds them [m], shape (P,).
    """

    of_vertex: IntArray
    count: int
    neighbors: IntArray
    middle: Float64Array
    radius: Float64Array


def make_patches(skin: Mesh, size: float) -> SkinPatches:
    """Cut a skin at rest into patches that fit into cubes of that size [m]."""
    points = skin.points.astype(np.float64)
    edges = np.concatenate([skin.faces[:, pair] for pair in ([0, 1], [1, 2], [2, 0])]).astype(np.int64)
    cube = np.floor(points / size).astype(np.int64)
    same = (cube[edges[:, 0]] == cube[edges[:, 1]]).all(axis=1)
    used = np.zeros(len(points), np.bool_)
    used[skin.faces] = True
    labels = _components(len(points), edges[same])
    _, of_used = np.unique(labels[used], return_inverse=True)
    of_vertex = np.full(len(points), -1, np.int64)
    of_vertex[used] = of_used
    count = int(of_used.max()) + 1
    pairs = of_vertex[edges[~same]]
    pairs = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    vertices = np.bincount(of_used, minlength=count)
    middle = np.stack([np.bincount(of_used, points[used, c], count) for c in range(3)], axis=1) / vertices[:, None]
    radius = np.zeros(count)
    np.maximum.at(radius, of_used, np.linalg.norm(points[used] - middle[of_used], axis=1))
    return SkinPatches(of_vertex, count, pairs[pairs[:, 0] != pairs[:, 1]], middle, radius)


def one_patch(skin: Mesh) -> SkinPatches:
    """The whole skin as a single patch, for a mesh without copies."""
    used = np.zeros(skin.vertex_count, np.bool_)
    used[skin.faces] = True
    points = skin.points[used].astype(np.float64)
    middle = points.mean(axis=0)
    radius = np.linalg.norm(points - middle, axis=1).max(keepdims=True)
    return SkinPatches(np.where(used, 0, -1), 1, np.zeros((0, 2), np.int64), middle[None], radius)


@dataclass(frozen=True, eq=False)
class Copies:
    """Copies of lattice tetrahedra.

    Attributes:
        tetrahedron: row of the lattice tetrahedron of each copy, rising, shape (C,).
        nodes: nodes of each copy, shape (C, 4).
        point: lattice point of each node, shape (N,).
        pair_tetrahedron: of each pair of a lattice tetrahedron and a patch in its reach, rising, shape (Q,).
        pair_patch: the patch, rising within one tetrahedron, shape (Q,).
        pair_copy: the copy that the patch belongs to there, shape (Q,).
        node_pairs: pairs of a node and a patch that some copy around it belongs to, shape (M, 2).
    """

    tetrahedron: IntArray
    nodes: IntArray
    point: IntArray
    pair_tetrahedron: IntArray
    pair_patch: IntArray
    pair_copy: IntArray
    node_pairs: IntArray


def make_copies(corners: IntArray, middles: Float64Array, patches: SkinPatches, reach: float) -> Copies:
    """Make the copies of lattice tetrahedra.

    Args:
        corners: lattice points of the tetrahedra, shape (T, 4).
        middles: of the tetrahedra [m], shape (T, 3); each has a patch within reach.
        patches: of the skin.
        reach: distance of a patch from the middle of a tetrahedron whose hair it may carry [m].
    """
    tetrahedron, patch = _in_reach(middles, patches, reach)
    key = tetrahedron * patches.count + patch
    copy = _components(len(key), _touching(tetrahedron, key, patch, patches))
    # Number copies by their tetrahedra, so that those of one stand together.
    _, first, copy = np.unique(copy, return_index=True, return_inverse=True)
    order = np.argsort(tetrahedron[first], kind="stable")
    copy = np.argsort(order)[copy]
    owner = tetrahedron[first][order]
    nodes, point, node_pairs = _shared_nodes(corners, tetrahedron, patch, copy, owner, patches.count)
    return Copies(owner, nodes, point, tetrahedron, patch, copy, node_pairs)


def _in_reach(middles: Float64Array, patches: SkinPatches, reach: float) -> tuple[IntArray, IntArray]:
    """Pairs of tetrahedra and patches that are near, sorted; the nearest patch of each where none is."""
    tree = cKDTree(patches.middle)
    near = cKDTree(middles).sparse_distance_matrix(tree, reach + float(patches.radius.max()), output_type="ndarray")
    near = near[near["v"] <= reach + patches.radius[near["j"]]]
    closest = tree.query(middles)[1]
    tetrahedron = np.concatenate([near["i"], np.arange(len(middles))]).astype(np.int64)
    patch = np.concatenate([near["j"], closest]).astype(np.int64)
    key = np.unique(tetrahedron * patches.count + patch)
    return key // patches.count, key % patches.count


def _touching(tetrahedron: IntArray, key: IntArray, patch: IntArray, patches: SkinPatches) -> IntArray:
    """Pairs of rows of `key` whose patches touch, in the same tetrahedron, shape (E, 2)."""
    first = np.searchsorted(patches.neighbors[:, 0], np.arange(patches.count + 1))
    count = (first[1:] - first[:-1])[patch]
    row = np.repeat(np.arange(len(key)), count)
    step = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    other = patches.neighbors[first[patch][row] + step, 1]
    wanted = tetrahedron[row] * patches.count + other
    found = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    is_there = key[found] == wanted
    return np.stack([row[is_there], found[is_there]], axis=1)


def _shared_nodes(
    corners: IntArray, tetrahedron: IntArray, patch: IntArray, copy: IntArray, owner: IntArray, patch_count: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Nodes of every copy (C, 4), the lattice point of every node (N,), and pairs of nodes and patches (M, 2)."""
    meeting, of_pair = np.unique(corners[tetrahedron] * patch_count + patch[:, None], return_inverse=True)
    of_pair = of_pair.reshape(-1, 4)
    slots = 4 * copy[:, None] + np.arange(4)
    offset = 4 * len(owner)
    links = np.stack([slots.reshape(-1), offset + of_pair.reshape(-1)], axis=1)
    label = _components(offset + len(meeting), links)
    kept, first, nodes = np.unique(label[:offset], return_index=True, return_inverse=True)
    point = corners[owner].reshape(-1)[first]
    with_patch = np.stack([np.searchsorted(kept, label[offset:]), meeting % patch_count], axis=1)
    return nodes.reshape(-1, 4), point, with_patch


def _components(count: int, edges: IntArray) -> IntArray:
    """Smallest number in the connected component of each of `count` things, joined by `edges` (E, 2)."""
    labels = np.arange(count)
    kernels.join(np.ascontiguousarray(edges), labels)
    return labels
