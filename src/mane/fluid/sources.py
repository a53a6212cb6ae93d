"""What brings water in and takes it away: jets that pour or spout, and drains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from mane.body.shapes import Vector
from mane.fluid.grid import Float64Array, FloatArray, Grid
from mane.fluid.level_set import Shape
from mane.fluid.surface import FreeSurface
from mane.geometry.checks import require_finite
from mane.geometry.limits import Finite, Positive, Range, check_limits


def _require_vector(name: str, value: Vector) -> None:
    if len(value) != 3:
        raise ValueError(f"{name}: must be three numbers, got {len(value)}")
    require_finite(name, np.asarray(value, np.float64))


@dataclass(frozen=True)
class Jet:
    """Water that comes out of a place: poured, or as a fountain.

    Attributes:
        position: of the mouth [m].
        velocity: of the water there [m/s].
        radius: of the mouth [m].
        start: when it begins [s].
        end: when it ends [s], after it has begun.
    """

    position: Vector = (0.0, 0.0, 0.0)
    velocity: Vector = (0.0, -1.0, 0.0)
    radius: Positive = 0.03
    start: Finite = 0.0
    end: Annotated[float, Range(finite=False)] = float("inf")

    def __post_init__(self) -> None:
        check_limits(self)
        _require_vector("position", self.position)
        _require_vector("velocity", self.velocity)
        if not self.start < self.end:
            raise ValueError(f"end: must be later than start, {self.start:g} s, got {self.end:g} s")

    def is_open(self, time: float) -> bool:
        """Whether it runs at a time [s]."""
        return self.start <= time < self.end

    def fill(self, surface: FreeSurface) -> float:
        """Fill the mouth, which a substep has emptied; return the volume that was added [m^3]."""
        return surface.add(*_ball(self.position, self.radius))

    def drive(self, grid: Grid, velocity: FloatArray) -> None:
        """Give the water in the mouth its velocity."""
        place = np.asarray(self.position, np.float64)
        for axis in range(3):
            faces = grid.faces(velocity[axis], axis)
            window, centers = _faces_near(grid, axis, place, self.radius)
            faces[window][np.linalg.norm(centers - place, axis=-1) < self.radius] = self.velocity[axis]


@dataclass(frozen=True)
class Drain:
    """A ball that swallows water.

    Attributes:
        position: of its middle [m].
        radius: [m].
    """

    position: Vector = (0.0, 0.0, 0.0)
    radius: Positive = 0.03

    def __post_init__(self) -> None:
        check_limits(self)
        _require_vector("position", self.position)

    def empty(self, surface: FreeSurface) -> float:
        """Remove what is in it; return its volume [m^3]."""
        return surface.remove(*_ball(self.position, self.radius))


# What a scene may name as kinds of [[water_sources]].
WATER_SOURCES: dict[str, type[Jet] | type[Drain]] = {"drain": Drain, "jet": Jet}


def _ball(position: Vector, radius: float) -> tuple[Shape, Float64Array]:
    """Signed distance to a ball, and its bounds (2, 3) [m]."""
    place = np.asarray(position, np.float64)
    bounds = np.stack([place - radius, place + radius])
    return lambda points: np.linalg.norm(points - place, axis=-1) - radius, bounds


def _faces_near(
    grid: Grid, axis: int, place: Float64Array, radius: float
) -> tuple[tuple[slice, ...], NDArray[np.float64]]:
    """Faces across an axis in a cube around a place, as slices, and their middles [m]."""
    shift = np.array([0.0 if own == axis else 0.5 for own in range(3)])
    counts = np.array(grid.shape) + (np.arange(3) == axis)
    placed = (place - grid.origin) / grid.cell - shift
    low = np.clip(np.floor(placed - radius / grid.cell).astype(np.int64), 0, counts)
    high = np.clip(np.ceil(placed + radius / grid.cell).astype(np.int64) + 1, low, counts)
    axes = [o + grid.cell * (np.arange(a, b) + s) for o, a, b, s in zip(grid.origin, low, high, shift, strict=True)]
    return tuple(slice(a, b) for a, b in zip(low, high, strict=True)), np.stack(
        np.meshgrid(*axes, indexing="ij"), axis=-1
    )
