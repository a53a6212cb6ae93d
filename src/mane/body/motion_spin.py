"""`SpinMotion`: turning on the spot at a steady rate, like a gear or a fan."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mane.body.motion import EASE_IN, Float64Array, Pose, Twist, as_vector, require_time, smooth_start
from mane.geometry import quaternion
from mane.geometry.checks import require_positive


@dataclass(frozen=True, eq=False)
class SpinMotion:
    """A steady turn about an axis through the thing's own origin, eased in from rest; never teleports.

    Attributes:
        speed: angular speed once it is under way [rad/s]; negative turns the other way.
        base: where the thing stands before it turns.
        axis: of the turn, in the thing's own frame, shape (3,); stored with unit length.
        phase: angle up to time 0 [rad].
        ease_in: time from rest to full speed [s].
    """

    speed: float
    base: Pose = field(default_factory=Pose.identity)
    axis: Float64Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    phase: float = 0.0
    ease_in: float = EASE_IN

    def __post_init__(self) -> None:
        for name in ("speed", "phase"):
            if not np.isfinite(getattr(self, name)):
                raise ValueError(f"{name}: must be a finite number, got {getattr(self, name)}")
        axis = as_vector("axis", self.axis, 3)
        length = float(np.linalg.norm(axis))
        require_positive("axis: its length", length)
        object.__setattr__(self, "axis", axis / length)
        require_positive("ease_in", self.ease_in)

    @property
    def teleports(self) -> tuple[float, ...]:
        """No times: a spin is continuous."""
        return ()

    def teleported(self, start: float, end: float) -> bool:
        """Whether the pose jumps between the two times: never."""
        return False

    def angle(self, time: float) -> float:
        """How far it has turned at `time` [s], phase included [rad]."""
        require_time(time)
        _, _, way = smooth_start(time, self.ease_in)
        return self.phase + self.speed * way

    def pose(self, time: float) -> Pose:
        """Where the thing is at `time` [s]."""
        rotation = quaternion.from_axis_angle(self.axis, self.angle(time))
        return Pose(self.base.position, quaternion.multiply(self.base.rotation, rotation))

    def velocity(self, time: float) -> Twist:
        """How it moves at `time` [s]: the derivative of the pose, by formula."""
        require_time(time)
        gain, _, _ = smooth_start(time, self.ease_in)
        spin = quaternion.rotate(self.base.rotation, gain * self.speed * self.axis)
        return Twist(np.zeros(3), spin, self.base.position)
