"""Nearest neighbours among points: SciPy's k-d tree, with ties settled so that the answer never depends on luck."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from mane.geometry.checks import FloatArray, IntArray, as_floats


class PointIndex:
    """A set of points that can be asked for its nearest members.

    Args:
        points: positions [m], shape (N, 3) or any (N, D); at least one.
    """

    def __init__(self, points: ArrayLike) -> None:
        self.points = as_floats("points", points, ("N", np.shape(points)[-1] if np.ndim(points) == 2 else "D"))
        if len(self.points) == 0:
            raise ValueError("points: a spatial index needs at least one point, got none")
        self._tree = cKDTree(self.points)

    def nearest(self, queries: ArrayLike, k: int = 1) -> tuple[FloatArray, IntArray]:
        """Return distance [m] and index of the `k` nearest points of each query (Q, D), both of shape (Q, k).

        Sorted by distance, points at the same distance by index; `k` is capped at the number of points.
        """
        array = as_floats("queries", queries, ("Q", self.points.shape[1]))
        count = min(k, len(self.points))
        # One neighbour more than asked for, so that a tie at the edge of the list is settled by index as well.
        reach = min(count + 1, len(self.points))
        distance, index = self._tree.query(array, k=np.arange(1, reach + 1), workers=-1)
        order = np.lexsort((index, distance), axis=-1)[:, :count]
        chosen = np.take_along_axis(index, order, axis=1)
        return np.take_along_axis(distance, order, axis=1).astype(np.float32), chosen.astype(np.int64)

    def pairs_within(self, radius: float) -> IntArray:
        """Return all pairs of points at most `radius` [m] apart, lower index first, sorted; shape (K, 2)."""
        pairs = self._tree.query_pairs(radius, output_type="ndarray").astype(np.int64)
        result: IntArray = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        return result
