"""Tetrahedra turned inside out, or nearly flat, brought back: the last word on every step of a mesh."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.volume.lattice import Float64Array
from mane.volume.mesh import TetMesh

SMALLEST_RATIO = 0.02  # of a tetrahedron's volume to that at rest, below which it is brought back
STRETCHES = (0.4, 2.5)  # that a tetrahedron is brought back to, at least and at most
ROUNDS, PATIENCE = 300, 8  # in all, and those in which driven nodes stay
RELAXATION = 1.8


def recover(mesh: TetMesh, x: Float64Array) -> tuple[Float64Array, int]:
    """Return nodes (N, 3) [m] with inverted tetrahedra brought back, and how many are left.

    Each takes the nearest shape whose stretches are within `STRETCHES`: the singular values of F, clamped, the smallest
    one with the sign that F is inverted by. So do those that touch them, which would be inverted next. A node goes
    beyond the mean of what its tetrahedra ask for (over-relaxed Jacobi iteration). Driven nodes give way where
    free ones alone do not settle it: the skin itself folds there. `x` is left alone.
    """
    ratio = mesh.volume_ratios(x)
    if ratio.min() >= SMALLEST_RATIO:
        return x, 0
    x = x.copy()
    for number in range(ROUNDS):
        bad = np.flatnonzero(ratio < SMALLEST_RATIO)
        if len(bad) == 0:
            return x, 0
        touched = np.zeros(len(x), np.bool_)
        touched[mesh.tets[bad]] = True
        _improve(mesh, x, np.flatnonzero(touched[mesh.tets].any(axis=1)), mesh.is_driven if number < PATIENCE else None)
        ratio = mesh.volume_ratios(x)
    return x, int((ratio < SMALLEST_RATIO).sum())


def _improve(mesh: TetMesh, x: Float64Array, rows: NDArray[np.int64], held: NDArray[np.bool_] | None) -> None:
    """Move the nodes of some tetrahedra, in place, towards shapes that are right way out."""
    tets = mesh.tets[rows]
    corners, rest = x[tets], mesh.nodes[tets]
    gradient = (corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1) @ mesh.inverse_edges[rows]
    u, size, vt = np.linalg.svd(gradient)
    size[np.linalg.det(gradient) < 0, 2] *= -1
    u[np.linalg.det(u) < 0, :, 2] *= -1
    vt[np.linalg.det(vt) < 0, 2] *= -1
    wanted = (u * np.clip(size, *STRETCHES)[:, None, :]) @ vt
    goal = np.einsum("tij,taj->tai", wanted, rest - rest.mean(axis=1, keepdims=True))
    goal += corners.mean(axis=1, keepdims=True)
    total, count = np.zeros_like(x), np.zeros(len(x))
    np.add.at(total, tets, goal - corners)
    np.add.at(count, tets, 1.0)
    moved = count > 0
    if held is not None:
        moved &= ~held
    x[moved] += RELAXATION * total[moved] / count[moved, None]
