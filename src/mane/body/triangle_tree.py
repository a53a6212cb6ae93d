"""`TriangleTree`: triangles that can be asked for the closest point on them and for the winding number around them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mane.body import _kernels_bvh as bvh
from mane.body import _kernels_distance as distance_kernels
from mane.body import _kernels_winding as winding_kernels
from mane.geometry.checks import FloatArray


class TriangleTree:
    """A tree over triangles. Inputs are trusted; units are the caller's.

    Args:
        corners: of each triangle, shape (T, 3, 3), float32, at least one, finite.

    Attributes:
        corners: the same in the tree's order.
        order: the caller's number of each triangle in the tree's order, shape (T,).
    """

    def __init__(self, corners: FloatArray) -> None:
        triangle_count = len(corners)
        self.order = np.arange(triangle_count)
        first, last, right = np.zeros((3, 2 * triangle_count), np.int32)
        node_count = bvh.split_at_medians(corners.mean(axis=1, dtype=np.float32), self.order, first, last, right)
        boxes = np.empty((node_count, 6), np.float32)
        self._tree = bvh.Tree(first[:node_count].copy(), last[:node_count].copy(), right[:node_count].copy(), boxes)
        self._place(corners)

    def _place(self, corners: FloatArray) -> None:
        self.corners: FloatArray = np.ascontiguousarray(corners[self.order])
        bvh.fit_boxes(self.corners, *self._tree)

    def refitted(self, corners: FloatArray) -> TriangleTree:
        """Return the tree with the triangles moved, keeping its shape: quick, and right however far they moved."""
        moved = object.__new__(TriangleTree)
        moved.order = self.order
        moved._tree = self._tree._replace(box=np.empty_like(self._tree.box))
        moved._place(corners)
        return moved

    @cached_property
    def _moments(self) -> FloatArray:
        moments = np.empty((len(self._tree.first), winding_kernels.MOMENT_COUNT))
        winding_kernels.fill_moments(self._tree, self.corners, moments)
        return moments.astype(np.float32)

    def closest(self, points: FloatArray) -> tuple[FloatArray, NDArray[np.int64], FloatArray]:
        """Distance to the closest triangle (P,), its number (P,), and its corners' weights there (P, 3)."""
        distance = np.empty(len(points), np.float32)
        triangle = np.empty(len(points), np.int64)
        weights = np.empty((len(points), 3), np.float32)
        distance_kernels.closest_points(self._tree, self.corners, points, distance, triangle, weights)
        return distance, self.order[triangle], weights

    def winding(self, points: FloatArray) -> FloatArray:
        """Winding number at each point (P, 3), shape (P,): above 0.5 is inside; off by some 1e-3."""
        winding = np.empty(len(points), np.float32)
        winding_kernels.winding_numbers(self._tree, self.corners, self._moments, points, winding)
        return winding

    def grid_winding(self, shape: tuple[int, int, int]) -> FloatArray:
        """Winding number at the points with whole coordinates from (0, 0, 0) up to below `shape`."""
        winding = np.empty(shape, np.float32)
        winding_kernels.grid_winding_numbers(self._tree, self.corners, self._moments, winding)
        return winding

    def lower_grid_distance(self, distance: FloatArray) -> None:
        """Lower `distance (nx, ny, nz)`, at the points with whole coordinates, to the nearest triangle; in place."""
        coefficients = np.empty((len(self.corners), distance_kernels.COEFFICIENT_COUNT), np.float32)
        distance_kernels.fill_coefficients(self.corners, coefficients)
        distance_kernels.lower_grid_distances(self._tree, coefficients, distance)
