"""`View`: how a camera or a light sees the scene, as a grid of pixels or texels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray
from mane.render import _kernels_view as kernels
from mane.render.camera import Camera, any_across, basis

WIDEST_HALF_ANGLE = np.deg2rad(70.0)  # of a light's view; beyond it a flat map has too little left for its middle
PARTS = 16  # of an array, looked through side by side
NEAREST = 1e-4  # share of the distance to the middle of the scene below which a point counts as behind the eye


@dataclass(frozen=True, eq=False)
class View:
    """A projection onto a grid.

    Attributes:
        origin: the eye, or for a parallel projection any point on the axis [m], shape (3,).
        axes: unit vectors to the right, up and back as rows, shape (3, 3).
        focal: pixels per metre at one metre's distance, or anywhere in a parallel projection.
        width: columns of the grid.
        height: rows of the grid.
        is_perspective: whether lines of sight meet in the origin.
        smallest_depth: what is nearer to the eye than this is not seen [m].
    """

    origin: FloatArray
    axes: FloatArray
    focal: np.float32
    width: int
    height: int
    is_perspective: bool
    smallest_depth: np.float32

    @classmethod
    def of_camera(cls, camera: Camera, width: int, height: int) -> View:
        """How a camera sees the scene on `width` x `height` samples."""
        focal = np.float32(0.5 * height / np.tan(0.5 * camera.fov))
        distance = float(np.linalg.norm(np.subtract(camera.position, camera.look_at)))
        near = np.float32(NEAREST * distance)
        return cls(
            np.asarray(camera.position, np.float32), camera.axes.astype(np.float32), focal, width, height, True, near
        )

    @classmethod
    def towards(cls, back: NDArray[Any], points: FloatArray, texels: int) -> View:
        """A parallel projection against `back`, fitted around `points` (N, 3) with a texel to spare."""
        axes = np.stack(basis(back, any_across(back)))
        low, high = _local_bounds(points, np.zeros(3), axes)
        side = max(float((high - low)[:2].max()), 1e-6)
        centre = 0.5 * (low + high)[:2] @ axes[:2]
        return cls(
            centre.astype(np.float32),
            axes.astype(np.float32),
            np.float32((texels - 4) / side),
            texels,
            texels,
            False,
            np.float32(0.0),
        )

    @classmethod
    def from_point(cls, eye: NDArray[Any], points: FloatArray, texels: int) -> View:
        """A perspective view from `eye` that sees all `points`, unless they surround it, with a texel to spare."""
        low, high = _local_bounds(points, np.zeros(3), np.eye(3))
        back = eye - 0.5 * (low + high)
        distance = float(np.linalg.norm(back))
        if distance < 1e-9:
            back = np.array([0.0, 1.0, 0.0])
        axes = np.stack(basis(back, any_across(back)))
        ratios = np.empty(PARTS, np.float32)
        kernels.widest_angle(points, eye.astype(np.float32), axes.astype(np.float32), ratios)
        widest = min(float(np.tan(WIDEST_HALF_ANGLE)), float(ratios.max()))
        focal = np.float32((0.5 * texels - 2) / max(widest, 1e-6))
        near = np.float32(max(NEAREST * distance, 1e-9))
        return cls(eye.astype(np.float32), axes.astype(np.float32), focal, texels, texels, True, near)

    @property
    def centre(self) -> tuple[np.float32, np.float32]:
        """Where the axis meets the grid."""
        return np.float32(0.5 * self.width), np.float32(0.5 * self.height)

    @property
    def arguments(self) -> tuple[FloatArray, FloatArray, np.float32, np.float32, np.float32, bool, np.float32]:
        """What the kernels take: origin, axes, focal, centre x, centre y, is_perspective, smallest_depth."""
        return (self.origin, self.axes, self.focal, *self.centre, self.is_perspective, self.smallest_depth)

    def project(self, points: FloatArray) -> FloatArray:
        """Column, row and nearness of points (N, 3), see `_kernels_view`; shape (N, 3)."""
        screen = np.empty_like(points)
        kernels.project(points, *self.arguments, screen)
        return screen

    def project_strands(self, points: FloatArray, width: FloatArray) -> FloatArray:
        """Column, row, nearness and width in pixels of points (N, 3) that are `width` (N,) metres wide; (N, 4)."""
        seen = np.empty((len(points), 4), np.float32)
        kernels.project_strands(points, width, *self.arguments, seen)
        return seen

    def depth(self, points: FloatArray) -> FloatArray:
        """Distance along the axis [m], shape (N,); negative behind the eye."""
        return np.asarray(-((points - self.origin) @ self.axes[2]), np.float32)

    def depth_range(self, points: FloatArray) -> tuple[float, float]:
        """Smallest and largest `depth` of points."""
        low, high = _local_bounds(points, self.origin, self.axes)
        return -float(high[2]), -float(low[2])

    def texel_size(self, depth: float = 1.0) -> float:
        """Side of a texel at a depth [m]."""
        return float((depth if self.is_perspective else 1.0) / self.focal)


def bounds_of(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest corner of points (N, 3) in the world, both (3,)."""
    low, high = _local_bounds(points, np.zeros(3), np.eye(3))
    return low.astype(np.float32), high.astype(np.float32)


def _local_bounds(
    points: FloatArray, origin: NDArray[Any], axes: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest offset of points from an origin along axes, each of shape (3,)."""
    low, high = np.empty((PARTS, 3), np.float32), np.empty((PARTS, 3), np.float32)
    kernels.local_bounds(points, origin.astype(np.float32), axes.astype(np.float32), low, high)
    return low.min(axis=0).astype(np.float64), high.max(axis=0).astype(np.float64)
