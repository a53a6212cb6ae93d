"""Wind: the velocity of the air at any point and time.

Anything with a method `velocity(points, time)` is a wind, and `as_wind` makes one of a vector or of a function of
points and time. Winds know nothing of the hair and hold no state, so a run can be continued at any time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from mane.contact.air import _kernels_wind as kernels
from mane.geometry.checks import as_array, require_finite
from mane.geometry.limits import NotNegative, Positive, Seed, check_limits
from mane.strand.model import Float64Array

MODE_COUNT = 48
# Wave numbers of the gusts times their length scale: a decade below the peak of the spectrum, and down to eddies of a
# tenth of the scale. What lies outside would hold 9 percent of the energy, mostly in smaller eddies.
SMALLEST_WAVE, LARGEST_WAVE = 0.2, 60.0
# How fast an eddy turns over beside being carried along, in units of its own velocity over its size.
UNSTEADINESS = 0.5


@runtime_checkable
class Wind(Protocol):
    """A field of air velocity."""

    def velocity(self, points: Float64Array, time: float) -> Float64Array:
        """Velocity of the air [m/s], shape (P, 3), at `points` [m], shape (P, 3), world frame, at `time` [s]."""


@dataclass(frozen=True, eq=False)
class UniformWind:
    """The same wind everywhere and always.

    Attributes:
        mean: [m/s], shape (3,).
    """

    mean: Float64Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", _vector("wind", self.mean))

    def velocity(self, points: Float64Array, time: float) -> Float64Array:
        """Velocity of the air [m/s], shape (P, 3)."""
        return np.broadcast_to(self.mean, points.shape).copy()


@dataclass(frozen=True, eq=False)
class GustingWind:
    """A mean wind that carries eddies along: smooth in space and time, free of divergence, different for every seed.

    A sum of plane waves (kinematic simulation of turbulence) with von Karman's spectrum of isotropic turbulence,
    E(k) ~ (k s)^4 / (1 + (k s)^2)^(17/6), which falls as k^(-5/3): large gusts hold most of the energy. The waves move
    with the mean wind (Taylor), and change on their own within an eddy's turnover time.

    Attributes:
        mean: [m/s], shape (3,).
        intensity: standard deviation of each component over the mean speed; 0.1 over the sea, 0.3 between houses.
        scale: size s of the largest gusts [m]. At a mean speed U they take some 6 s / U seconds to pass.
        seed: of the waves.
    """

    mean: Float64Array
    intensity: NotNegative = 0.3
    scale: Positive = 2.0
    seed: Seed = 0
    _waves: Float64Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", _vector("wind", self.mean))
        check_limits(self)
        object.__setattr__(self, "_waves", self._make_waves())

    @property
    def deviation(self) -> float:
        """Standard deviation of each component [m/s]."""
        return self.intensity * float(np.linalg.norm(self.mean))

    def velocity(self, points: Float64Array, time: float) -> Float64Array:
        """Velocity of the air [m/s], shape (P, 3)."""
        out = np.empty(points.shape)
        kernels.sum_waves(np.ascontiguousarray(points, np.float64), self._waves_at(time), self.mean, out)
        return out

    def _make_waves(self) -> Float64Array:
        """Rows of wave vector [1/m], amplitude [m/s], frequency [1/s] and phase, angles in turns, shape (M, 8)."""
        rng = np.random.default_rng(self.seed)
        edges = np.geomspace(SMALLEST_WAVE, LARGEST_WAVE, MODE_COUNT + 1)
        wave = edges[:-1] * (edges[1:] / edges[:-1]) ** rng.random(MODE_COUNT)
        energy = wave**4 / (1 + wave**2) ** (17 / 6) * np.diff(edges)
        # All waves together have the mean square 3 sigma^2; a wave of amplitude a has a^2 / 2.
        amplitude = np.sqrt(2 * 3 * self.deviation**2 * energy / energy.sum())
        direction = _unit(rng.standard_normal((MODE_COUNT, 3)))
        across = _unit(np.cross(direction, rng.standard_normal((MODE_COUNT, 3))))
        turnover = UNSTEADINESS * self.deviation * wave ** (2 / 3) / self.scale
        vectors = direction * (wave / self.scale)[:, None]
        carried = turnover - vectors @ self.mean
        phase = rng.random(MODE_COUNT)
        turns = 2 * math.pi
        return np.column_stack([vectors / turns, across * amplitude[:, None], carried / turns, phase])

    def _waves_at(self, time: float) -> Float64Array:
        """Rows of wave vector, amplitude and phase at `time`, shape (M, 7)."""
        phase = np.mod(self._waves[:, 6] * time + self._waves[:, 7], 1.0)
        return np.column_stack([self._waves[:, :6], phase])


@dataclass(frozen=True, eq=False)
class CheckedWind:
    """Somebody else's wind: what it returns is looked at before it moves any hair."""

    function: Callable[[Float64Array, float], Any]

    def velocity(self, points: Float64Array, time: float) -> Float64Array:
        """Velocity of the air [m/s], shape (P, 3)."""
        air: Float64Array = as_array("wind velocity", self.function(points, time), points.shape, np.float64)
        require_finite("wind velocity", air)
        return air


AnyWind = Wind | Callable[[Float64Array, float], Any] | ArrayLike | None


def as_wind(wind: AnyWind) -> Wind | None:
    """Make a wind of a vector [m/s], of a function of (points, time), or of a wind; None is still air."""
    if wind is None or isinstance(wind, UniformWind | GustingWind | CheckedWind):
        return wind
    if isinstance(wind, Wind):
        return CheckedWind(wind.velocity)
    if callable(wind):
        return CheckedWind(wind)
    return UniformWind(_vector("wind", wind))


def _vector(name: str, value: ArrayLike) -> Float64Array:
    vector: Float64Array = as_array(name, value, (3,), np.float64)
    require_finite(name, vector)
    return vector


def _unit(vectors: Float64Array) -> Float64Array:
    length: Float64Array = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / length
