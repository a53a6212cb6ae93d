"""Tetrahedra turned inside out, or nearly flat, brought back: the last word on every step of a mesh."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import splu

from mane.volume import _kernels_recovery as kernels
from mane.volume.lattice import Float64Array
from mane.volume.mesh import TetMesh

SMALLEST_RATIO = 0.02  # of a tetrahedron's volume to that at rest, below which it is brought back
# That tetrahedra are brought back to, at least and at most, and how far beyond that nodes go, in the first round and in
# the last: large corrections settle most in a few rounds, small ones what these cannot agree on.
STRETCHES, RELAXATIONS = ((0.4, 2.5), (0.1, 8.0)), (1.8, 0.9)
SCHEDULE = (STRETCHES, RELAXATIONS)
ROUNDS, PATIENCE = 300, 8  # in all, and those in which driven nodes stay
EVERY = 30  # rounds that do not settle it, what is around is smoothed, each time farther


def recover(mesh: TetMesh, x: Float64Array) -> tuple[Float64Array, int]:
    """Return nodes (N, 3) [m] with inverted tetrahedra brought back, and how many are left.

    Each takes the nearest shape whose stretches are within bounds: the singular values of F, clamped, the smallest
    one with the sign that F is inverted by. So do those that touch them, which would be inverted next. A node goes
    beyond the mean of what its tetrahedra ask for (over-relaxed Jacobi iteration). Driven nodes give way where
    free ones alone do not settle it: the skin itself folds there. `x` is left alone.
    """
    bad = np.flatnonzero(mesh.volume_ratios(x) < SMALLEST_RATIO)
    if len(bad) == 0:
        return x, 0
    x = np.ascontiguousarray(x).copy()
    late = np.arange(ROUNDS)[:, None] / ROUNDS
    first, last = (np.array([*stretches, relaxation]) for stretches, relaxation in zip(*SCHEDULE, strict=True))
    rounds = (1 - late) * first + late * last
    bad = _bring_back(mesh, x, bad, rounds[:PATIENCE], mesh.is_driven)
    nobody = np.zeros_like(mesh.is_driven)
    for start in range(PATIENCE, ROUNDS, EVERY):
        bad = _bring_back(mesh, x, bad, rounds[start : start + EVERY], nobody)
        if len(bad) == 0:
            break
        if start + EVERY < ROUNDS:
            _smooth(mesh, x, bad, rings=1 + start // EVERY)
    return x, len(bad)


def _bring_back(
    mesh: TetMesh, x: Float64Array, bad: NDArray[np.int64], rounds: Float64Array, is_held: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Rounds of the iteration, in place; return the tetrahedra that are still bad."""
    shapes = (mesh.tets, mesh.nodes, mesh.inverse_edges, mesh.volumes)
    found: NDArray[np.int64] = kernels.bring_back(bad, *shapes, *mesh.tets_of_nodes, is_held, SMALLEST_RATIO, rounds, x)
    return found


def _touching(mesh: TetMesh, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tetrahedra that have a node in common with some others, themselves among them."""
    seen = np.zeros(mesh.tet_count, np.bool_)
    found: NDArray[np.int64] = kernels.touching(mesh.tets, *mesh.tets_of_nodes, rows, seen)
    return found


def _smooth(mesh: TetMesh, x: Float64Array, bad: NDArray[np.int64], rings: int) -> None:
    """Lay the nodes around bad tetrahedra anew, in place: what they were in a tangle is forgotten.

    They go where the affine map that fits the nodes around them best has them, and a harmonic displacement that agrees
    with these.
    """
    rows = bad
    for _ in range(rings):
        rows = _touching(mesh, rows)
    inner = np.unique(mesh.tets[rows])
    outer = np.setdiff1d(np.unique(mesh.tets[_touching(mesh, rows)]), inner)
    if len(outer) < 4:
        return
    place = np.full(mesh.node_count, -1)
    place[inner], place[outer] = np.arange(len(inner)), len(inner) + np.arange(len(outer))
    edges = place[mesh.edges]
    edges = edges[(edges >= 0).all(axis=1)]
    both = np.concatenate([edges, edges[:, ::-1]])
    count = len(inner) + len(outer)
    near = csr_matrix((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(count, count))
    laplacian = (diags(np.asarray(near.sum(axis=1)).reshape(-1)) - near).tocsc()[: len(inner)]
    around = np.column_stack([mesh.nodes[outer], np.ones(len(outer))])
    fit = np.linalg.lstsq(around, x[outer], rcond=None)[0]
    given = laplacian[:, len(inner) :] @ (x[outer] - around @ fit)
    affine = np.column_stack([mesh.nodes[inner], np.ones(len(inner))]) @ fit
    x[inner] = affine - splu(laplacian[:, : len(inner)].tocsc()).solve(np.ascontiguousarray(given))
