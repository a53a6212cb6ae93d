"""Tetrahedra turned inside out, or nearly flat, brought back: the last word on every step of a mesh."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import splu

from mane.volume.lattice import Float64Array
from mane.volume.mesh import TetMesh

SMALLEST_RATIO = 0.02  # of a tetrahedron's volume to that at rest, below which it is brought back
# That tetrahedra are brought back to, at least and at most, and how far beyond that nodes go, in the first round and in
# the last: large corrections settle most in a few rounds, small ones what these cannot agree on.
STRETCHES, LAST_STRETCHES = (0.4, 2.5), (0.1, 8.0)
RELAXATIONS = (1.8, 0.9)
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
    x = x.copy() if len(bad) else x
    for number in range(ROUNDS):
        if len(bad) == 0:
            return x, 0
        moved = _touching(mesh, bad)
        if number % EVERY == EVERY - 1:
            _smooth(mesh, x, bad, rings=(number + 1) // EVERY)
        late = number / ROUNDS
        stretches = (1 - late) * np.array(STRETCHES) + late * np.array(LAST_STRETCHES)
        relaxation = (1 - late) * RELAXATIONS[0] + late * RELAXATIONS[1]
        _improve(mesh, x, moved, stretches, relaxation, mesh.is_driven if number < PATIENCE else None)
        # What shares no node with these has not changed, and is as right as it was.
        changed = _touching(mesh, moved)
        bad = changed[mesh.volume_ratios(x, changed) < SMALLEST_RATIO]
    return x, len(bad)


def _touching(mesh: TetMesh, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tetrahedra that have a node in common with some others, themselves among them."""
    touched = np.zeros(mesh.node_count, np.bool_)
    touched[mesh.tets[rows]] = True
    return np.flatnonzero(touched[mesh.tets].any(axis=1))


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


def _improve(
    mesh: TetMesh,
    x: Float64Array,
    rows: NDArray[np.int64],
    stretches: Float64Array,
    relaxation: float,
    held: NDArray[np.bool_] | None,
) -> None:
    """Move the nodes of some tetrahedra, in place, towards shapes that are right way out."""
    tets = mesh.tets[rows]
    corners, rest = x[tets], mesh.nodes[tets]
    gradient = (corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1) @ mesh.inverse_edges[rows]
    u, size, vt = np.linalg.svd(gradient)
    size[np.linalg.det(gradient) < 0, 2] *= -1
    u[np.linalg.det(u) < 0, :, 2] *= -1
    vt[np.linalg.det(vt) < 0, 2] *= -1
    wanted = (u * np.clip(size, *stretches)[:, None, :]) @ vt
    goal = np.einsum("tij,taj->tai", wanted, rest - rest.mean(axis=1, keepdims=True))
    goal += corners.mean(axis=1, keepdims=True)
    total, count = np.zeros_like(x), np.zeros(len(x))
    np.add.at(total, tets, goal - corners)
    np.add.at(count, tets, 1.0)
    moved = count > 0
    if held is not None:
        moved &= ~held
    x[moved] += relaxation * total[moved] / count[moved, None]
