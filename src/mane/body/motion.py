"""How a rigid thing moves: a `Pose` at a time, the `Twist` it moves with, and the `Motion` that gives both.

A pose carries points from the thing's own frame to the world. Everything here is float64: a pose multiplies every root
of a head, and differences of poses become velocities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry import quaternion
from mane.geometry.checks import as_array, require_finite

Float64Array = NDArray[np.float64]

# A quaternion off unit length by less than this was rounded on its way here (six digits of text, float16 in a file) and
# is normalised; further off it is a mistake, such as three Euler angles and a zero.
UNIT_TOLERANCE = 1e-3

ROUNDING = 4 * np.finfo(np.float64).eps

EASE_IN = 0.5  # [s] from rest to full motion, as long as a person takes to set the head going


@dataclass(frozen=True, eq=False)
class Pose:
    """Where a rigid thing is: world = rotation * local + position.

    Attributes:
        position: of the local origin, in the world [m], shape (3,), float64.
        rotation: unit quaternion (x, y, z, w), local to world, shape (4,), float64; normalised when made.
    """

    position: Float64Array
    rotation: Float64Array

    def __post_init__(self) -> None:
        position = as_vector("pose.position", self.position, 3)
        rotation = unit_quaternion("pose.rotation", self.rotation)
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "rotation", rotation)

    @classmethod
    def identity(cls) -> Pose:
        """Return the pose that leaves every point where it is."""
        return cls(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Pose:
        """Make a pose from a rigid 4x4 matrix that acts on column vectors (translation in the last column)."""
        m = as_array("matrix", matrix, (4, 4), np.float64)
        require_rigid("matrix", m)
        return cls(m[:3, 3], quaternion.from_matrix(m[:3, :3]))

    @cached_property
    def matrix(self) -> Float64Array:
        """The same as a 4x4 matrix that acts on column vectors; read-only."""
        # One matrix at a time is made several times per frame: plain floats take a tenth of what arrays of four do.
        (x, y, z, w), (px, py, pz) = self.rotation.tolist(), self.position.tolist()
        matrix = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), px],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w), py],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y), pz],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
        matrix.flags.writeable = False
        return matrix

    def apply(self, points: ArrayLike) -> NDArray[Any]:
        """Carry points from the local frame to the world, shape (..., 3); float32 stays float32."""
        array = _as_points(points)
        return (array @ self.matrix[:3, :3].T + self.position).astype(array.dtype, copy=False)

    def inverse_apply(self, points: ArrayLike) -> NDArray[Any]:
        """Carry points from the world to the local frame, shape (..., 3); float32 stays float32."""
        array = _as_points(points)
        return ((array - self.position) @ self.matrix[:3, :3]).astype(array.dtype, copy=False)

    def compose(self, other: Pose) -> Pose:
        """Return the pose that applies `other` first and this one after it, like a product of matrices."""
        return Pose(self.apply(other.position), quaternion.multiply(self.rotation, other.rotation))

    def toward(self, other: Pose, fraction: float) -> Pose:
        """Return the pose at `fraction` of the way to `other`: a straight line and a steady turn, the shorter way."""
        position = self.position + fraction * (other.position - self.position)
        return Pose(position, _turned(self.rotation.tolist(), other.rotation.tolist(), fraction))

    def inverse(self) -> Pose:
        """Return the pose that undoes this one."""
        return Pose(self.inverse_apply(np.zeros(3)), quaternion.conjugate(self.rotation))


@dataclass(frozen=True, eq=False)
class Twist:
    """How a rigid thing moves at one instant.

    Attributes:
        linear: velocity of the material point that is now at `at` [m/s], world axes, shape (3,), float64.
        angular: angular velocity [rad/s], world axes, shape (3,), float64.
        at: the point that `linear` belongs to [m], world frame, shape (3,), float64.
    """

    linear: Float64Array
    angular: Float64Array
    at: Float64Array

    def __post_init__(self) -> None:
        for name in ("linear", "angular", "at"):
            object.__setattr__(self, name, as_vector(f"twist.{name}", getattr(self, name), 3))

    @classmethod
    def zero(cls) -> Twist:
        """Return the twist of a thing at rest."""
        return cls(np.zeros(3), np.zeros(3), np.zeros(3))

    def velocity(self, points: ArrayLike) -> NDArray[Any]:
        """Velocity [m/s] of the material now at `points` [m], world frame, shape (P, 3); float32 stays float32."""
        array = _as_points(points)
        return (self.linear + np.cross(self.angular, array - self.at)).astype(array.dtype, copy=False)


@runtime_checkable
class Motion(Protocol):
    """A rigid motion, defined at every time [s].

    Between teleports the pose is continuous and `velocity` is its derivative. At a teleport the pose jumps: at that
    very time it is already the new one, and hair must be carried along instead of being whipped across the gap.
    """

    def pose(self, time: float) -> Pose:
        """Where the thing is at `time` [s]."""
        ...

    def velocity(self, time: float) -> Twist:
        """How it moves at `time` [s]; at a teleport, how it moves after it."""
        ...

    @property
    def teleports(self) -> tuple[float, ...]:
        """Times [s] at which the pose jumps, rising."""
        ...

    def teleported(self, start: float, end: float) -> bool:
        """Whether the pose jumps after `start` and not after `end` [s]."""
        ...


def teleports_between(teleports: Sequence[float], start: float, end: float) -> bool:
    """Whether one of the times lies in the half-open interval (start, end], so that no frame sees a jump twice."""
    return any(start < time <= end for time in teleports)


def sample_within_frame(motion: Motion, start: float, end: float, substeps: int) -> list[Pose]:
    """Poses at the end of each of `substeps` equal steps from `start` to `end` [s]; the last is exactly at `end`."""
    if substeps < 1:
        raise ValueError(f"substeps: must be at least 1, got {substeps}")
    times = np.linspace(start, end, substeps + 1)[1:]
    return [motion.pose(float(time)) for time in times]


def smooth_start(time: float, duration: float) -> tuple[float, float, float]:
    """Rise from 0 at time 0 to 1 at `duration` [s], with no velocity or acceleration at either end.

    Returns:
        Its value, its rate [1/s] and its integral since time 0 [s], by which a steady speed becomes a way.
    """
    if time <= 0:
        return 0.0, 0.0, 0.0
    if time >= duration:
        return 1.0, 0.0, time - 0.5 * duration
    u = time / duration
    value = u**3 * (10 + u * (6 * u - 15))
    return value, 30 * (u * (1 - u)) ** 2 / duration, duration * u**4 * (2.5 + u * (u - 3))


def require_time(time: float) -> None:
    """Raise ValueError unless the time is a finite number."""
    if not math.isfinite(time):
        raise ValueError(f"time: must be a finite number of seconds, got {time}")


def as_vector(name: str, value: ArrayLike, size: int) -> Float64Array:
    """Return `value` as a read-only copy: finite float64 of shape (size,); ValueError names what is wrong."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape == (size,):
        array: Float64Array = value.copy()
    else:
        array = as_array(name, value, (size,), np.float64).copy()
    if not all(map(math.isfinite, array.tolist())):
        require_finite(name, array)
    array.flags.writeable = False
    return array


def unit_quaternion(name: str, value: ArrayLike) -> Float64Array:
    """Return `value` as a read-only unit quaternion (x, y, z, w); ValueError when it is far from unit length."""
    array = as_vector(name, value, 4)
    length = math.hypot(*array)  # unlike the square root of a sum of squares it does not overflow
    if not abs(length - 1.0) <= UNIT_TOLERANCE:
        raise ValueError(
            f"{name}: must be a unit quaternion (x, y, z, w), got {array.tolist()} of length {length:.6g}; "
            "divide it by its length if it is one"
        )
    if abs(length - 1.0) <= ROUNDING:  # dividing again would change the last digit of what was normalised before
        return array
    unit = array / length
    unit.flags.writeable = False
    return unit


def _turned(start: Sequence[float], end: Sequence[float], fraction: float) -> Float64Array:
    """`quaternion.slerp` of one quaternion, in plain floats."""
    (ax, ay, az, aw), (bx, by, bz, bw) = start, end
    if ax * bx + ay * by + az * bz + aw * bw < 0:
        bx, by, bz, bw = -bx, -by, -bz, -bw
    # Half the angle between them from its sine and its cosine: exact for small turns, where acos is not.
    apart = math.hypot(bx - ax, by - ay, bz - az, bw - aw)
    together = math.hypot(bx + ax, by + ay, bz + az, bw + aw)
    angle = 2 * math.atan2(apart, together)
    own, other = 1 - fraction, fraction
    if angle >= quaternion.TINY_ANGLE:
        sine = math.sin(angle)
        own, other = math.sin(own * angle) / sine, math.sin(other * angle) / sine
    x, y, z, w = own * ax + other * bx, own * ay + other * by, own * az + other * bz, own * aw + other * bw
    length = math.hypot(x, y, z, w)
    return np.array([x / length, y / length, z / length, w / length])


def require_rigid(name: str, matrix: Float64Array) -> None:
    """Raise ValueError unless the 4x4 matrix turns and moves only: no scale, shear or mirror, last row (0, 0, 0, 1)."""
    require_finite(name, matrix)
    if not np.allclose(matrix[3], [0, 0, 0, 1], atol=UNIT_TOLERANCE):
        raise ValueError(
            f"{name}: must have the last row (0, 0, 0, 1), got {matrix[3].tolist()}; "
            "transpose it if its translation is in the last row"
        )
    axes = matrix[:3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        skewed = not np.allclose(axes @ axes.T, np.eye(3), rtol=0, atol=UNIT_TOLERANCE)
    if skewed:
        lengths = np.linalg.norm(axes, axis=0)
        raise ValueError(
            f"{name}: must have orthogonal axes of length 1, got lengths {lengths.tolist()}; take scale and shear out"
        )
    if np.linalg.det(axes) < 0:
        raise ValueError(f"{name}: must not mirror, got determinant -1; flip one axis")


def _as_points(points: ArrayLike) -> NDArray[Any]:
    array = np.asarray(points)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
