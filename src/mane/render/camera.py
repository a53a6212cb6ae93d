"""`Camera`: where a picture is taken from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import as_floats, require_positive

TINY = 1e-6  # [m] before a single point


@dataclass(frozen=True)
class Camera:
    """A perspective camera.

    Attributes:
        position: the eye [m].
        look_at: the point in the middle of the picture [m].
        up: direction that appears upright.
        fov: vertical field of view [rad].
    """

    position: tuple[float, float, float]
    look_at: tuple[float, float, float]
    up: tuple[float, float, float] = (0.0, 1.0, 0.0)
    fov: float = 0.45

    def __post_init__(self) -> None:
        for name in ("position", "look_at", "up"):
            value = as_floats(f"camera.{name}", getattr(self, name), (3,))
            object.__setattr__(self, name, tuple(float(v) for v in value))
        if not 0.0 < self.fov < np.pi:
            raise ValueError(f"camera.fov: must lie between 0 and pi radians, got {self.fov}")
        if not np.linalg.norm(np.subtract(self.position, self.look_at)) > 0:
            raise ValueError(f"camera.look_at: must differ from the position, got {self.look_at} for both")

    @classmethod
    def framing(
        cls,
        bounds: ArrayLike,
        direction: ArrayLike = (0.35, 0.1, 1.0),
        *,
        up: tuple[float, float, float] = (0.0, 1.0, 0.0),
        fov: float = 0.45,
        aspect: float = 16 / 9,
        margin: float = 0.06,
    ) -> Camera:
        """Place a camera so that the content fills the picture and nothing of it is cut off.

        Args:
            bounds: lowest and highest corner of the content [m], shape (2, 3), or its points, shape (N, 3).
            direction: from the content towards the camera, any length.
            up: direction that appears upright.
            fov: vertical field of view [rad].
            aspect: width of the picture over its height.
            margin: share of the picture left free on each side.
        """
        points = as_floats("bounds", bounds, ("N", 3)).astype(np.float64)
        towards = as_floats("direction", direction, (3,)).astype(np.float64)
        if not np.linalg.norm(towards) > 0:
            raise ValueError(f"direction: must not be zero, got {towards.tolist()}")
        require_positive("aspect", aspect)
        if not 0.0 <= margin < 0.5:
            raise ValueError(f"margin: must lie in [0, 0.5), got {margin}")
        if len(points) == 2:
            points = np.stack(np.meshgrid(*points.T), axis=-1).reshape(-1, 3)
        axes = np.stack(basis(towards, np.asarray(up)))
        x, y, z = axes @ points.T
        tangent_y = np.tan(0.5 * fov) * (1.0 - 2.0 * margin)
        tangent_x = tangent_y * aspect
        # A point fits when the eye's distance exceeds z plus its offset from the axis over the tangent. Both sides
        # bind equally when the axis is in the middle of the extremes of `offset / tangent + z`.
        far_right, far_left = (x + tangent_x * z).max(), (-x + tangent_x * z).max()
        far_up, far_down = (y + tangent_y * z).max(), (-y + tangent_y * z).max()
        eye_z = max((far_right + far_left) / (2 * tangent_x), (far_up + far_down) / (2 * tangent_y))
        eye_z = max(eye_z, z.max() + float(np.clip(1e-2 * np.ptp(points, axis=0).max(), TINY, 1e-3)))
        middle = np.array([0.5 * (far_right - far_left), 0.5 * (far_up - far_down), 0.5 * (z.min() + z.max())])
        eye = np.array([middle[0], middle[1], eye_z])
        return cls(tuple(eye @ axes), tuple(middle @ axes), up, fov)

    def zoomed(self, factor: float) -> Camera:
        """Return the camera with a longer lens: the middle of the picture so many times larger."""
        require_positive("zoom", factor)
        return replace(self, fov=2.0 * float(np.arctan(np.tan(0.5 * self.fov) / factor)))

    @property
    def axes(self) -> NDArray[np.float64]:
        """Unit vectors to the right, up and back (towards the viewer), as rows of a (3, 3) array."""
        return np.stack(basis(np.subtract(self.position, self.look_at), np.asarray(self.up)))


def basis(back: NDArray[Any], up: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Right, up and back unit vectors; any direction across `back` serves as up when the given one is along it."""
    back = np.asarray(back, np.float64) / np.linalg.norm(back)
    right = np.cross(up, back)
    if np.linalg.norm(right) < 1e-6 * max(float(np.linalg.norm(up)), 1e-30):
        right = np.cross(any_across(back), back)
    right = right / np.linalg.norm(right)
    return right, np.cross(back, right), back


def any_across(direction: NDArray[Any]) -> NDArray[Any]:
    """An axis that is not nearly parallel to `direction`; seen from straight above, +X stays on the right."""
    return np.array([0.0, 0.0, -1.0]) if abs(direction[2]) < 0.9 * np.linalg.norm(direction) else np.array([0.0, 1, 0])
