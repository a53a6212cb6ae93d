"""`LiveMotion`: a motion whose keyframes arrive one by one while it is played, from a hand that holds something."""

from __future__ import annotations

import math

import numpy as np

from mane.body.motion import Pose, Twist
from mane.body.motion_keys import KeyframedMotion
from mane.geometry import quaternion

# A hand that combs moves at some 0.5 m/s; what a mouse asks for beyond these is followed as fast as they allow.
MAX_SPEED = 2.5  # [m/s]
MAX_SPIN = 12.0  # [rad/s]
WINDOW = 4  # keys that decide the cubic between the middle two


class _Still:
    """A `KeyframedMotion` of keys that are all alike, which most things in a salon are most of the time."""

    def __init__(self, pose: Pose) -> None:
        self._pose = pose

    def pose(self, time: float) -> Pose:
        return self._pose

    def velocity(self, time: float) -> Twist:
        return Twist(np.zeros(3), np.zeros(3), self._pose.position)


class LiveMotion:
    """Follows a target, with one keyframe per frame.

    Between keys it is a `KeyframedMotion` through all of them, and that is known once the key after the next is there.
    So a frame is played one frame after its key was set, and a recording that is written as keyframes and read again is
    the very same motion.

    Args:
        pose: where it begins.
        time: when [s].
        dt: from key to key [s].
    """

    teleports: tuple[float, ...] = ()

    def __init__(self, pose: Pose, time: float, dt: float) -> None:
        self.target = pose
        self._dt = dt
        self.restart(pose, time)

    def restart(self, pose: Pose, time: float) -> None:
        """Begin anew at a pose, with a key there and at the end of the coming frame."""
        self.times, self.poses = [time, time + self._dt], [pose, pose]
        self._made = self._window()

    def advance(self) -> None:
        """Set the key after the coming frame towards the target, as fast as a hand moves."""
        last = self.poses[-1]
        way = float(np.linalg.norm(self.target.position - last.position))
        turn = quaternion.multiply(self.target.rotation, quaternion.conjugate(last.rotation))
        angle = float(np.linalg.norm(quaternion.log(turn)))
        share = min(1.0, MAX_SPEED * self._dt / max(way, 1e-12), MAX_SPIN * self._dt / max(angle, 1e-12))
        self.poses.append(last if way == 0.0 and angle == 0.0 else last.toward(self.target, share))
        self.times.append(self.times[-1] + self._dt)
        self._made = self._window()

    def forget_past(self) -> None:
        """Drop keys that no frame needs any more."""
        if len(self.times) > 2 * WINDOW:
            del self.times[:-WINDOW], self.poses[:-WINDOW]

    def _window(self) -> KeyframedMotion | _Still:
        poses = self.poses[-WINDOW:]
        if all(pose is poses[0] for pose in poses):
            return _Still(poses[0])
        return KeyframedMotion(
            self.times[-WINDOW:],
            [pose.position for pose in poses],
            [pose.rotation for pose in poses],
            max_speed=math.inf,
            max_spin=math.inf,
        )

    def pose(self, time: float) -> Pose:
        """Where it is at `time` [s]."""
        return self._made.pose(time)

    def velocity(self, time: float) -> Twist:
        """How it moves at `time` [s]."""
        return self._made.velocity(time)

    def teleported(self, start: float, end: float) -> bool:
        """Never: a hand does not jump."""
        return False
