"""Fields that drive the air (chang2002 7.3): winds that come in through the sides, and what stirs it on the spot.

A field that fills all space is a `Wind`: the air that enters the box has its velocity. One that has a place pulls the
air around it to a velocity of its own, at a rate; the pull is implicit, so any rate is safe.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mane.body.shapes import Vector
from mane.contact.air.wind import GustingWind, UniformWind, Wind
from mane.fluid.flow import Drive
from mane.fluid.grid import FloatArray, Grid
from mane.geometry.checks import as_array, require_finite
from mane.geometry.limits import Finite, NotNegative, Positive, Seed, check_limits
from mane.strand.model import Float64Array

REACH = 3.0  # in radii: beyond, a place's pull counts as nothing


@dataclass(frozen=True, eq=False)
class WindFile:
    """A wind that changes with time as a file says: rows of time [s] and velocity [m/s], with lines between them.

    Attributes:
        file: a CSV file with four columns; a first line that holds no numbers is passed over.
    """

    file: str
    _times: Float64Array = field(init=False, repr=False)
    _velocity: Float64Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rows = _read_rows(Path(self.file))
        object.__setattr__(self, "_times", rows[:, 0])
        object.__setattr__(self, "_velocity", rows[:, 1:])

    def velocity(self, points: Float64Array, time: float) -> Float64Array:
        """Velocity of the air [m/s], shape (P, 3)."""
        now = [np.interp(time, self._times, self._velocity[:, axis]) for axis in range(3)]
        return np.broadcast_to(np.array(now), points.shape).copy()


def _read_rows(path: Path) -> Float64Array:
    with open(path, encoding="utf-8", newline="") as text:
        lines = [line for line in csv.reader(text) if line]
    if lines and not _is_numeric(lines[0]):
        lines = lines[1:]
    for number, line in enumerate(lines, 1):
        if len(line) != 4 or not _is_numeric(line):
            raise ValueError(f"file: {path}: row {number} must be time, x, y, z, got {','.join(line)!r}")
    rows = np.array(lines, np.float64).reshape(-1, 4)
    if not len(rows):
        raise ValueError(f"file: {path}: must have rows of time, x, y, z, got none")
    require_finite(f"file: {path}", rows)
    if (np.diff(rows[:, 0]) <= 0).any():
        raise ValueError(f"file: {path}: times must grow from row to row")
    return rows


def _is_numeric(line: list[str]) -> bool:
    try:
        [float(cell) for cell in line]
    except ValueError:
        return False
    return True


class PlacedField:
    """Pulls the air around a place to a velocity of its own."""

    rate: float

    def weight(self, points: Float64Array) -> Float64Array:
        """How strongly it pulls at `points` (..., 3) [m], 0 to 1."""
        raise NotImplementedError

    def target(self, points: Float64Array, axis: int) -> Float64Array:
        """Velocity that it pulls to along an axis [m/s]."""
        raise NotImplementedError

    def drive(self, grid: Grid) -> Drive:
        """Make what a flow on this grid calls in every substep."""
        parts = []
        for axis in range(3):
            points = grid.face_centers(axis)
            weight = self.weight(points)
            near = weight > 1e-3
            parts.append((near, self.rate * weight[near], self.target(points[near], axis)))

        def act(velocity: FloatArray, dt: float) -> None:
            for axis, (near, rate, target) in enumerate(parts):
                faces = grid.faces(velocity[axis], axis)
                faces[near] = (faces[near] + dt * rate * target) / (1.0 + dt * rate)

        return act


@dataclass(frozen=True, eq=False)
class Fan(PlacedField):
    """A jet of air from a disk.

    Attributes:
        position: middle of the disk [m].
        direction: that it blows in.
        speed: of the jet [m/s].
        radius: of the disk [m].
        rate: at which air is pulled along [1/s].
    """

    position: Vector
    direction: Vector
    speed: Finite = 5.0
    radius: Positive = 0.1
    rate: Positive = 200.0

    def __post_init__(self) -> None:
        _check_placed(self, "direction")

    def weight(self, points: Float64Array) -> Float64Array:
        """1 on the disk, smooth at its edge, a radius thick."""
        along, across = _about_axis(points, self)
        return np.exp(-((across / self.radius) ** 4) - (2.0 * along / self.radius) ** 4)

    def target(self, points: Float64Array, axis: int) -> Float64Array:
        """The velocity of the jet."""
        return np.full(len(points), self.speed * float(np.asarray(self.direction)[axis]))


@dataclass(frozen=True, eq=False)
class Vortex(PlacedField):
    """Air that turns around an axis.

    Attributes:
        position: any point of the axis [m].
        direction: of the axis; the air turns by the right hand.
        speed: at the radius [m/s].
        radius: of the fastest air [m].
        rate: at which air is pulled along [1/s].
    """

    position: Vector
    direction: Vector
    speed: Finite = 3.0
    radius: Positive = 0.15
    rate: Positive = 20.0

    def __post_init__(self) -> None:
        _check_placed(self, "direction")

    def weight(self, points: Float64Array) -> Float64Array:
        """1 within the radius, nothing beyond three of them."""
        _, across = _about_axis(points, self)
        return np.exp(-((across / (2.0 * self.radius)) ** 4)) * (across < REACH * self.radius)

    def target(self, points: Float64Array, axis: int) -> Float64Array:
        """A rigid core that turns and air around it that slows down (Rankine's vortex, smoothed)."""
        off = points - np.asarray(self.position)
        around = np.cross(np.asarray(self.direction, np.float64), off)
        distance = np.linalg.norm(around, axis=-1)
        scale = 2.0 * self.speed * self.radius / (distance**2 + self.radius**2)
        turned: Float64Array = scale * around[..., axis]
        return turned


def _about_axis(points: Float64Array, field: Fan | Vortex) -> tuple[Float64Array, Float64Array]:
    """How far points are along the axis of a field, and from it [m]."""
    off, axis = points - np.asarray(field.position), np.asarray(field.direction)
    along: Float64Array = off @ axis
    across: Float64Array = np.linalg.norm(off - along[..., None] * axis, axis=-1)
    return along, across


def _check_placed(made: Fan | Vortex, name: str) -> None:
    for vector in ("position", name):
        value = as_array(vector, getattr(made, vector), (3,), np.float64)
        require_finite(vector, value)
        object.__setattr__(made, vector, value)
    length = float(np.linalg.norm(getattr(made, name)))
    if length == 0.0:
        raise ValueError(f"{name}: must not be zero")
    object.__setattr__(made, name, getattr(made, name) / length)
    check_limits(made)


def _uniform(velocity: Vector) -> UniformWind:
    """A wind that is the same everywhere and always.

    Args:
        velocity: of the air [m/s].
    """
    return UniformWind(np.asarray(velocity, np.float64))


def _gust(velocity: Vector, intensity: NotNegative = 0.3, scale: Positive = 2.0, seed: Seed = 0) -> GustingWind:
    """A mean wind that carries eddies along; see `GustingWind`.

    Args:
        velocity: of the mean wind [m/s].
        intensity: standard deviation of each component over the mean speed; 0.1 over the sea, 0.3 between houses.
        scale: size of the largest gusts [m].
        seed: of the eddies.
    """
    return GustingWind(np.asarray(velocity, np.float64), intensity, scale, seed)


# kind of [[air_fields]] -> what makes it; its arguments are keys of the table.
FIELDS: dict[str, Callable[..., Any]] = {
    "uniform": _uniform,
    "gust": _gust,
    "file": WindFile,
    "vortex": Vortex,
    "fan": Fan,
}
AnyField = Wind | PlacedField
