"""What hands do to hair besides moving things: a lock that is grabbed and pulled, and air that is blown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.contact.air.wind import Wind
from mane.geometry.checks import FloatArray
from mane.strand.model import Float64Array
from mane.strand.ports import GuideLoad

GRAB_RADIUS = 0.03  # [m] around the fingers: a lock
GRAB_GIVE = 0.001  # [m] by which a lock of its own weight hangs below the fingers
GRAVITY = 9.81  # [m/s^2]
JET_SPREAD = 0.12  # radius of the jet over the way from its mouth, as of any round turbulent jet
JET_MOUTH = 0.05  # [m] radius at its mouth


class Grab:
    """Fingers that hold some vertices of guides and pull them to where they are.

    Args:
        points: guides when they were grabbed [m], shape (G, V, 3).
        masses: of their vertices [kg], shape (G, V).
        point: where they were grabbed [m], shape (3,).
        active: guides that are there, shape (G,).
    """

    def __init__(self, points: FloatArray, masses: Float64Array, point: FloatArray, active: NDArray[np.bool_]) -> None:
        away = np.linalg.norm(points - point, axis=2)
        away[:, 0] = np.inf  # a root is on the head
        share = np.where(active[:, None], np.clip(1 - away / GRAB_RADIUS, 0, 1), 0.0)
        weight = masses.sum(axis=1, keepdims=True) * GRAVITY
        self._stiffness = share * weight / GRAB_GIVE  # [N/m]
        self._offset = (points - point).astype(np.float64)
        self.target = np.array(point, np.float64)

    @classmethod
    def restored(cls, memory: Mapping[str, NDArray[Any]]) -> Grab:
        """Return the one that `memory` was of."""
        grab = cls.__new__(cls)
        grab._stiffness, grab._offset = np.array(memory["stiffness"]), np.array(memory["offset"])
        grab.target = np.array(memory["target"])
        return grab

    def memory(self) -> dict[str, NDArray[Any]]:
        """What is held, and where to."""
        return {"stiffness": self._stiffness.copy(), "offset": self._offset.copy(), "target": self.target.copy()}

    @property
    def is_empty(self) -> bool:
        """Whether there was no hair."""
        return not self._stiffness.any()

    def load(self, points: FloatArray, dt: float) -> GuideLoad:
        """Springs from the vertices (G, V, 3) [m] to the fingers, implicit over `dt` [s]."""
        stretch = self.target + self._offset - points
        resistance = np.zeros((*self._stiffness.shape, 6))
        resistance[..., :3] = (self._stiffness * dt)[..., None]
        return GuideLoad(self._stiffness[..., None] * stretch, resistance)


class Jet:
    """Air blown from a point on top of a wind: a round jet that widens and slows down on its way.

    Args:
        wind: what blows besides, or None.

    Attributes:
        wind: the same.
        origin: where air is blown from [m], shape (3,).
        speed: of the air there [m/s], shape (3,).
    """

    def __init__(self, wind: Wind | None) -> None:
        self.wind = wind
        self.origin, self.speed = np.zeros(3), np.zeros(3)

    @property
    def is_on(self) -> bool:
        """Whether there is any air to be felt."""
        return self.wind is not None or bool(self.speed.any())

    def velocity(self, points: Float64Array, time: float) -> Float64Array:
        """Velocity of the air [m/s], shape (P, 3), at `points` [m], shape (P, 3)."""
        air = np.zeros_like(points) if self.wind is None else self.wind.velocity(points, time)
        strength = float(np.linalg.norm(self.speed))
        if strength == 0:
            return air
        axis = self.speed / strength
        seen = points - self.origin
        along = seen @ axis
        across = np.linalg.norm(seen - along[:, None] * axis, axis=1)
        radius = JET_MOUTH + JET_SPREAD * np.maximum(along, 0.0)
        share = np.where(along > 0, JET_MOUTH / radius * np.exp(-((across / radius) ** 2)), 0.0)
        return air + share[:, None] * self.speed
