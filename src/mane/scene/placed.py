"""`PlacedMotion`: a motion of something that does not start at the origin."""

from __future__ import annotations

from dataclasses import dataclass

from mane.body.motion import Motion, Pose, Twist


@dataclass(frozen=True, eq=False)
class PlacedMotion:
    """Carries what stands at `place` by `motion`.

    Attributes:
        motion: as if the thing stood at the origin.
        place: where it stands.
    """

    motion: Motion
    place: Pose

    @property
    def teleports(self) -> tuple[float, ...]:
        """Times [s] at which the pose jumps."""
        return self.motion.teleports

    def teleported(self, start: float, end: float) -> bool:
        """Whether the pose jumps after `start` and not after `end` [s]."""
        return self.motion.teleported(start, end)

    def pose(self, time: float) -> Pose:
        """Where it is at `time` [s]."""
        return self.motion.pose(time).compose(self.place)

    def velocity(self, time: float) -> Twist:
        """How it moves at `time` [s]; a rigid motion moves all points of space alike, wherever the thing stands."""
        return self.motion.velocity(time)
