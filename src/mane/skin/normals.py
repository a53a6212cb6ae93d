"""Which way the skin faces at a root, seen from the roots around it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.index import PointIndex
from mane.groom.groom import Groom

# Roots that stand for the skin. Fewer than all, so that roots that share a pore do not hide the surface between pores.
SAMPLES = 2000
NEIGHBOURS = 16
# Roots in a line, or in one place, say nothing about a normal.
FLATTEST = 1e-4


def root_normals(groom: Groom, places: ArrayLike) -> NDArray[np.float64]:
    """Unit normal of the plane through the roots of `groom` around each place (P, 3), shape (P, 3).

    Either of the two directions: a caller that compares normals has to settle the sign. Zero where roots are too few
    or in one line.
    """
    roots = groom.roots[:: -(-groom.strand_count // SAMPLES)]
    near = roots.astype(np.float64)[PointIndex(roots).nearest(places, NEIGHBOURS)[1]]
    centred = near - near.mean(axis=1, keepdims=True)
    spread, axes = np.linalg.eigh(np.einsum("pni,pnj->pij", centred, centred))
    is_surface = spread[:, 1] > FLATTEST * spread[:, 2]
    return np.where(is_surface[:, None], axes[:, :, 0], 0.0)
