"""Shapes with a formula: what hair touches when no mesh is needed, exact and quick.

All of them are solid: the signed distance is negative inside. `pack` turns a shape into the flat table that kernels
read (see `_kernels_shapes`), so a contact kernel evaluates any union of shapes without a line of Python.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body import _tessellation
from mane.body._kernels_shapes import BOX, CAPSULE, PARAM_COUNT, PLANE, SPHERE, TORUS, shape_distances
from mane.body.mesh import Mesh
from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, as_array, as_floats, require_positive
from mane.geometry.limits import NotNegative, Positive, limits_of

__all__ = ["Box", "Capsule", "Plane", "Shape", "Sphere", "Torus", "Union"]

# What a caller may give for a point or a direction; stored as a tuple of floats.
Vector = Sequence[float] | NDArray[np.floating]
Table = tuple[NDArray[np.int32], FloatArray]

IDENTITY = (0.0, 0.0, 0.0, 1.0)
MIN_RESOLUTION = 4


class Shape(ABC):
    """What all shapes can do; use one of the classes below."""

    @abstractmethod
    def pack(self) -> Table:
        """Return `kinds (K,) int32` and `params (K, 16) float32`, the union of K primitives that kernels read."""

    @abstractmethod
    def mesh(self, resolution: int = 32) -> Mesh:
        """Return triangles for drawing, facing out; a full turn has `resolution` segments."""

    @property
    @abstractmethod
    def bounds(self) -> FloatArray:
        """Lowest and highest corner [m], shape (2, 3)."""

    def distance(self, points: ArrayLike) -> FloatArray:
        """Signed distance [m], shape (P,), negative inside; `points` [m], shape (P, 3)."""
        return self.distance_and_gradient(points)[0]

    def distance_and_gradient(self, points: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Signed distance [m], shape (P,), and its gradient, shape (P, 3), a unit vector that points outwards.

        Where the gradient does not exist (a centre, an axis) it is a fixed unit vector, so that a push-out along it
        always leads out.
        """
        checked = as_floats("points", points, ("P", 3))
        distance = np.empty(len(checked), np.float32)
        gradient = np.empty((len(checked), 3), np.float32)
        shape_distances(*self.pack(), checked, distance, gradient)
        return distance, gradient


@dataclass(frozen=True)
class Sphere(Shape):
    """A ball.

    Attributes:
        center: [m], (3,).
        radius: [m].
    """

    center: Vector
    radius: Positive

    def __post_init__(self) -> None:
        _set_vector(self, "center")
        _set_number(self, "radius")

    def pack(self) -> Table:
        """Return the table of one primitive."""
        return _row(SPHERE, self.center, self.radius)

    def mesh(self, resolution: int = 32) -> Mesh:
        """Return a closed sphere with its poles on Y."""
        return _tessellation.capsule(self.center, self.center, self.radius, _resolution(resolution))

    @property
    def bounds(self) -> FloatArray:
        """Lowest and highest corner [m], shape (2, 3)."""
        return _bounds_around([self.center], np.full(3, self.radius))


@dataclass(frozen=True)
class Capsule(Shape):
    """All points within `radius` of a line segment.

    Attributes:
        start: one end of the segment [m], (3,).
        end: its other end [m], (3,).
        radius: [m].
    """

    start: Vector
    end: Vector
    radius: Positive

    def __post_init__(self) -> None:
        _set_vector(self, "start")
        _set_vector(self, "end")
        _set_number(self, "radius")
        if np.array_equal(np.asarray(self.start, np.float32), np.asarray(self.end, np.float32)):
            raise ValueError(f"capsule.end: must differ from start, got {self.end} for both; use a Sphere")

    def pack(self) -> Table:
        """Return the table of one primitive."""
        axis = np.subtract(self.end, self.start)
        inv_square = 1.0 / float(axis @ axis)
        return _row(CAPSULE, self.start, axis, inv_square, self.radius, quaternion.any_perpendicular(axis))

    def mesh(self, resolution: int = 32) -> Mesh:
        """Return a closed capsule."""
        return _tessellation.capsule(self.start, self.end, self.radius, _resolution(resolution))

    @property
    def bounds(self) -> FloatArray:
        """Lowest and highest corner [m], shape (2, 3)."""
        return _bounds_around([self.start, self.end], np.full(3, self.radius))


@dataclass(frozen=True)
class Box(Shape):
    """A box, turned any way, with edges that may be rounded.

    Attributes:
        center: [m], (3,).
        half_size: from the centre to each face [m], (3,); rounding does not change it.
        rotation: quaternion (x, y, z, w) from the box's axes to the world's.
        rounding: radius of the edges [m], at most the smallest half size.
    """

    center: Vector
    half_size: Vector
    rotation: Vector = IDENTITY
    rounding: NotNegative = 0.0

    def __post_init__(self) -> None:
        _set_vector(self, "center")
        _set_vector(self, "half_size")
        for axis, half in zip("xyz", self.half_size, strict=True):
            require_positive(f"box.half_size.{axis}", half)
        _set_vector(self, "rotation", 4)
        norm = float(np.linalg.norm(self.rotation))
        if norm < 1e-6:
            raise ValueError(f"box.rotation: must be a quaternion with a length, got {self.rotation}")
        object.__setattr__(self, "rotation", tuple(value / norm for value in self.rotation))
        _set_number(self, "rounding")
        if self.rounding > min(self.half_size):
            raise ValueError(
                f"box.rounding: must be between 0 and the smallest half size {min(self.half_size)}, got {self.rounding}"
            )

    @property
    def _matrix(self) -> NDArray[np.float64]:
        return quaternion.to_matrix(self.rotation)

    @property
    def _core(self) -> NDArray[np.float64]:
        """Half size of the box that rounding inflates [m], (3,)."""
        return np.asarray(self.half_size) - self.rounding

    def pack(self) -> Table:
        """Return the table of one primitive."""
        return _row(BOX, self.center, self._core, self.rounding, self._matrix.ravel())

    def mesh(self, resolution: int = 32) -> Mesh:
        """Return a closed box: twelve triangles, or more when its edges are rounded."""
        return _tessellation.box(self.center, self._core, self._matrix, self.rounding, _resolution(resolution))

    @property
    def bounds(self) -> FloatArray:
        """Lowest and highest corner [m], shape (2, 3)."""
        return _bounds_around([self.center], np.abs(self._matrix) @ self._core + self.rounding)


@dataclass(frozen=True)
class Plane(Shape):
    """The half space below a plane: a floor.

    Attributes:
        point: any point of the plane [m], (3,).
        normal: where free space is, (3,); stored with unit length.
    """

    point: Vector
    normal: Vector

    def __post_init__(self) -> None:
        _set_vector(self, "point")
        _set_direction(self, "normal")

    def pack(self) -> Table:
        """Return the table of one primitive."""
        return _row(PLANE, self.point, self.normal)

    def mesh(self, resolution: int = 32, *, size: float = 10.0) -> Mesh:
        """Return an open square of `size` x `size` [m] around `point`, two triangles whatever the resolution."""
        _resolution(resolution)
        require_positive("size", size)
        return _tessellation.square(self.point, self.normal, size)

    @property
    def bounds(self) -> FloatArray:
        """Minus and plus infinity, shape (2, 3)."""
        return np.array([[-np.inf] * 3, [np.inf] * 3], np.float32)


@dataclass(frozen=True)
class Torus(Shape):
    """A ring.

    Attributes:
        center: [m], (3,).
        axis: the direction through the hole, (3,); stored with unit length.
        major_radius: from the centre to the middle of the tube [m].
        minor_radius: of the tube [m], below `major_radius`, for otherwise the distance inside would not be exact.
    """

    center: Vector
    axis: Vector
    major_radius: Positive
    minor_radius: Positive

    def __post_init__(self) -> None:
        _set_vector(self, "center")
        _set_direction(self, "axis")
        _set_number(self, "major_radius")
        _set_number(self, "minor_radius")
        if self.minor_radius >= self.major_radius:
            raise ValueError(
                f"torus.minor_radius: must be below the major radius {self.major_radius}, got {self.minor_radius}"
            )

    def pack(self) -> Table:
        """Return the table of one primitive."""
        side = quaternion.any_perpendicular(self.axis)
        return _row(TORUS, self.center, self.axis, self.major_radius, self.minor_radius, side)

    def mesh(self, resolution: int = 32) -> Mesh:
        """Return a closed ring, with half as many segments around the tube."""
        return _tessellation.torus(
            self.center, self.axis, self.major_radius, self.minor_radius, _resolution(resolution)
        )

    @property
    def bounds(self) -> FloatArray:
        """Lowest and highest corner [m], shape (2, 3)."""
        reach = self.major_radius * np.sqrt(np.maximum(1.0 - np.square(self.axis), 0.0)) + self.minor_radius
        return _bounds_around([self.center], reach)


@dataclass(frozen=True)
class Union(Shape):
    """Several shapes as one.

    Outside, the distance is exact. Inside, where shapes overlap, it is the depth below the surface of one of them,
    which is never more than the true depth: the sign is right and the magnitude is a lower bound.

    Attributes:
        shapes: one or more shapes; a union among them is taken apart.
    """

    shapes: Sequence[Shape]

    def __post_init__(self) -> None:
        parts: list[Shape] = []
        for index, shape in enumerate(self.shapes):
            if not isinstance(shape, Shape):
                raise ValueError(f"union.shapes: must be shapes, got {type(shape).__name__} at index {index}")
            parts.extend(shape.shapes if isinstance(shape, Union) else [shape])
        if not parts:
            raise ValueError("union.shapes: must hold at least one shape, got none")
        object.__setattr__(self, "shapes", tuple(parts))

    def pack(self) -> Table:
        """Return the table of all parts, in order."""
        tables = [shape.pack() for shape in self.shapes]
        return np.concatenate([kinds for kinds, _ in tables]), np.concatenate([params for _, params in tables])

    def mesh(self, resolution: int = 32) -> Mesh:
        """Return the meshes of all parts in one, overlaps and all."""
        return _tessellation.joined([shape.mesh(resolution) for shape in self.shapes])

    @cached_property
    def bounds(self) -> FloatArray:
        """Lowest and highest corner [m], shape (2, 3); infinite when a part is a plane."""
        boxes = np.stack([shape.bounds for shape in self.shapes])
        return np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])


def _where(shape: Shape, field: str) -> str:
    return f"{type(shape).__name__.lower()}.{field}"


def _set_vector(shape: Shape, field: str, size: int = 3) -> None:
    name = _where(shape, field)
    value = getattr(shape, field)
    as_floats(name, value, (size,))
    object.__setattr__(shape, field, tuple(as_array(name, value, (size,), np.float64).tolist()))


def _set_direction(shape: Shape, field: str) -> None:
    _set_vector(shape, field)
    value = getattr(shape, field)
    length = float(np.linalg.norm(value))
    if length < 1e-12:
        raise ValueError(f"{_where(shape, field)}: must be a direction with a length, got {value}")
    object.__setattr__(shape, field, tuple(part / length for part in value))


def _set_number(shape: Shape, field: str) -> None:
    value, kind = getattr(shape, field), type(shape)
    limits_of(kind)[field].check(_where(shape, field), value)
    object.__setattr__(shape, field, float(value))


def _resolution(resolution: int) -> int:
    if resolution < MIN_RESOLUTION:
        raise ValueError(f"resolution: must be at least {MIN_RESOLUTION} segments in a turn, got {resolution}")
    return int(resolution)


def _row(kind: int, *parts: ArrayLike) -> Table:
    """Lay `parts` side by side in one row of the table; the rest of the row is zero."""
    flat = np.concatenate([np.atleast_1d(np.asarray(part, np.float64)) for part in parts])
    params = np.zeros((1, PARAM_COUNT), np.float32)
    params[0, : len(flat)] = flat
    return np.array([kind], np.int32), params


def _bounds_around(centers: Sequence[Vector], reach: NDArray[np.float64]) -> FloatArray:
    points = np.stack([np.asarray(center, np.float64) for center in centers])
    low, high = points.min(axis=0) - reach, points.max(axis=0) + reach
    return np.stack([low, high]).astype(np.float32)
