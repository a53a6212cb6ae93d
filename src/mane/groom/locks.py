"""Locks: which strand each strand of a groom is drawn to where hair clumps."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from mane.geometry.checks import FloatArray, IntArray


def lock_centres(roots: FloatArray, hairs: int) -> IntArray:
    """Strand that each strand is drawn to, shape (S,): the nearest of those that are spread evenly, `hairs` to each."""
    count = max(1, len(roots) // hairs)
    # Every so many in the order of a space-filling curve: even, and the same for the same roots.
    low, size = roots.min(axis=0), np.ptp(roots, axis=0).max() + 1e-9
    cell = np.minimum(((roots - low) / size * 1023).astype(np.int64), 1023)
    code = sum(((cell[:, axis] >> bit) & 1) << (3 * bit + axis) for bit in range(10) for axis in range(3))
    order = np.argsort(code, kind="stable")
    centres = order[np.linspace(0, len(order) - 1, count).astype(np.int64)]
    nearest: IntArray = centres[cKDTree(roots[centres]).query(roots)[1]]
    return nearest
