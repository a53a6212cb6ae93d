"""`Surroundings`: the body that the hair grows on and the solids around it, at any time."""

from __future__ import annotations

from collections.abc import Sequence

from mane.body.mesh import Mesh
from mane.body.motion import Pose
from mane.body.shapes import Shape
from mane.body.solid import Solid
from mane.strand.ports import MovingSolid

STILL = Pose.identity()


class Surroundings:
    """What hair may touch.

    Args:
        body: rides on the head; its own motion, if it has one, is relative to the head.
        solids: move by themselves.

    Attributes:
        solids: body first, if there is one, then the others.
    """

    def __init__(self, body: Solid | Mesh | Shape | None, solids: Sequence[Solid]) -> None:
        for index, solid in enumerate(solids):
            if not isinstance(solid, Solid):
                raise ValueError(
                    f"solids[{index}]: must be a Solid, got {type(solid).__name__}; mane.Solid(mesh) is one"
                )
        own = [] if body is None else [body if isinstance(body, Solid) else Solid(body)]
        self._has_body = bool(own)
        self.solids: tuple[Solid, ...] = (*own, *solids)

    @property
    def body(self) -> Solid | None:
        """What the hair grows on."""
        return self.solids[0] if self._has_body else None

    def poses(self, head: Pose, time: float) -> tuple[Pose, ...]:
        """Pose of every solid at `time` [s] with the head at `head`."""
        return tuple(self._pose(index, head, time) for index in range(len(self.solids)))

    def moving(self, head_before: Pose, head_after: Pose, before: float, after: float) -> tuple[MovingSolid, ...]:
        """Every solid between two times [s]; one that teleports in between is at its new place all the while."""
        result = []
        for index, solid in enumerate(self.solids):
            end = self._pose(index, head_after, after)
            jumps = solid.motion is not None and solid.motion.teleported(before, after)
            start = end if jumps else self._pose(index, head_before, before)
            result.append(MovingSolid(solid, start, end, (before, after)))
        return tuple(result)

    def _pose(self, index: int, head: Pose, time: float) -> Pose:
        motion = self.solids[index].motion
        if index == 0 and self._has_body:
            return head if motion is None else head.compose(motion.pose(time))
        return STILL if motion is None else motion.pose(time)
