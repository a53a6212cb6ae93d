"""Lights: far away, in a point, in a cone, and from everywhere; and the rig that travels with a camera.

An intensity of 1 makes a white matte surface that faces the light white: the irradiance is pi times the intensity. That
holds everywhere for a directional light, and at one metre for a point or a spot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import FloatArray, as_floats, require_positive
from mane.render.camera import Camera

Triple = tuple[float, float, float]
WHITE = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class DirectionalLight:
    """Light from very far away, like the sun's.

    Attributes:
        direction: towards the light, any length.
        color: linear RGB.
        intensity: see the module.
        size: apparent diameter [rad]; the sun's is 0.009, a large softbox's 0.5. Larger means softer shadows.
        has_shadow: whether hair and solids block it.
    """

    direction: Triple
    color: Triple = WHITE
    intensity: float = 1.0
    size: float = 0.1
    has_shadow: bool = True

    def __post_init__(self) -> None:
        _check_light(self, ("direction", "color"))
        if not np.linalg.norm(self.direction) > 0:
            raise ValueError(f"light.direction: must not be zero, got {self.direction}")

    def to_light(self, points: FloatArray) -> FloatArray:
        """Unit direction to the light, shape (1, 3): the same for all points."""
        direction = np.asarray(self.direction, np.float64)
        return (direction / np.linalg.norm(direction)).astype(np.float32)[None]

    def irradiance(self, points: FloatArray) -> FloatArray:
        """Light on a surface facing it, nothing in between, linear RGB, shape (1, 3)."""
        return _full(self)[None]


@dataclass(frozen=True)
class PointLight:
    """Light from a small ball.

    Attributes:
        position: its middle [m].
        color: linear RGB.
        intensity: see the module; it falls with the square of the distance.
        size: diameter [m]. Larger means softer shadows.
        has_shadow: whether hair and solids block it. A light amid them is blocked only within 70 degrees of the
            direction to the middle of the scene.
    """

    position: Triple
    color: Triple = WHITE
    intensity: float = 1.0
    size: float = 0.05
    has_shadow: bool = True

    def __post_init__(self) -> None:
        _check_light(self, ("position", "color"))

    def to_light(self, points: FloatArray) -> FloatArray:
        """Unit direction to the light from points (N, 3), shape (N, 3)."""
        offset = np.asarray(self.position, np.float32) - points
        distance = np.sqrt(np.einsum("ij,ij->i", offset, offset))
        return np.asarray(offset / np.maximum(distance, np.float32(1e-9))[:, None], np.float32)

    def irradiance(self, points: FloatArray) -> FloatArray:
        """Light on a surface at points (N, 3) facing it, nothing in between, linear RGB, shape (N, 3)."""
        offset = np.asarray(self.position, np.float32) - points
        # Inside the ball it gets no brighter.
        squared = np.maximum(np.einsum("ij,ij->i", offset, offset), np.float32(0.25 * self.size**2 + 1e-12))
        result: FloatArray = _full(self)[None] / squared[:, None]
        return result


@dataclass(frozen=True)
class SpotLight(PointLight):
    """A point light that shines in a cone.

    Attributes:
        look_at: the point that it is aimed at [m].
        angle: from the axis to the edge of the cone [rad].
        edge: share of the angle over which it fades out, 0 to 1.
    """

    look_at: Triple = (0.0, 0.0, 0.0)
    angle: float = 0.4
    edge: float = 0.25

    def __post_init__(self) -> None:
        _check_light(self, ("position", "color", "look_at"))
        if not 0.0 < self.angle < np.pi / 2:
            raise ValueError(f"light.angle: must lie between 0 and pi/2 radians, got {self.angle}")
        if not 0.0 <= self.edge <= 1.0:
            raise ValueError(f"light.edge: must lie in [0, 1], got {self.edge}")
        if self.position == self.look_at:
            raise ValueError(f"light.look_at: must differ from the position, got {self.look_at} for both")

    def irradiance(self, points: FloatArray) -> FloatArray:
        """Light on a surface at points (N, 3) facing it, nothing in between, linear RGB, shape (N, 3)."""
        axis = np.subtract(self.position, self.look_at)
        cosine = self.to_light(points) @ (axis / np.linalg.norm(axis)).astype(np.float32)
        outer, inner = np.cos(self.angle), np.cos(self.angle * (1.0 - self.edge))
        share = np.clip((cosine - outer) / max(inner - outer, 1e-6), 0.0, 1.0).astype(np.float32)
        return np.asarray(super().irradiance(points) * (share * share * (3.0 - 2.0 * share))[:, None], np.float32)


@dataclass(frozen=True)
class AmbientLight:
    """Light from everywhere, blocked by hair and solids alike.

    Attributes:
        sky: linear RGB radiance from straight above.
        ground: linear RGB radiance from straight below; between the two it changes with the height.
    """

    sky: Triple = (0.5, 0.5, 0.5)
    ground: Triple = (0.2, 0.2, 0.2)

    def __post_init__(self) -> None:
        for name in ("sky", "ground"):
            _check_triple(self, name, "ambient")


Light = DirectionalLight | PointLight | SpotLight


def three_point(camera: Camera) -> tuple[Light | AmbientLight, ...]:
    """A studio that travels with the camera: key from above right, cool fill from the left, rim from behind, sky.

    Args:
        camera: that the lights travel with.
    """

    def towards(right: float, up: float, back: float) -> Triple:
        x, y, z = np.array([right, up, back]) @ camera.axes
        return float(x), float(y), float(z)

    return (
        DirectionalLight(towards(0.55, 0.70, 0.75), (1.0, 0.93, 0.84), 1.7, size=0.18),
        DirectionalLight(towards(-0.90, 0.10, 0.60), (0.80, 0.91, 1.0), 0.35, size=0.6),
        DirectionalLight(towards(-0.55, 0.60, -0.80), (0.90, 0.95, 1.0), 1.5, size=0.2),
        AmbientLight((0.40, 0.43, 0.48), (0.20, 0.18, 0.16)),
    )


def _full(light: Light) -> FloatArray:
    return np.asarray(np.pi * light.intensity * np.asarray(light.color), np.float32)


def _check_light(light: Any, triples: tuple[str, ...]) -> None:
    for name in triples:
        _check_triple(light, name, "light")
    if not (np.isfinite(light.intensity) and light.intensity >= 0):
        raise ValueError(f"light.intensity: must be a finite number, zero or above, got {light.intensity}")
    require_positive("light.size", light.size)


def _check_triple(light: Any, name: str, noun: str) -> None:
    value: NDArray[Any] = as_floats(f"{noun}.{name}", _as_given(light, name), (3,))
    if name in ("color", "sky", "ground") and (value < 0).any():
        raise ValueError(f"{noun}.{name}: must be zero or above, got {value.tolist()}")
    object.__setattr__(light, name, tuple(float(v) for v in value))


def _as_given(light: Any, name: str) -> ArrayLike:
    value: ArrayLike = getattr(light, name)
    return value
