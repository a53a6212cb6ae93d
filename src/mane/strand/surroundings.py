"""`Surroundings`: the body that the hair grows on and the solids around it, at any time."""

from __future__ import annotations

from collections.abc import Sequence

from mane.body.mesh import Mesh
from mane.body.motion import Pose
from mane.body.shapes import Shape
from mane.body.solid import Solid
from mane.strand.model import Float64Array
from mane.strand.ports import MovingSolid
from mane.strand.root_motion import body_pose

STILL = Pose.identity()
SWALLOWED = 0.005  # [m] inside a solid; hair may grow on one that stands for a head


class Surroundings:
    """What hair may touch.

    Args:
        body: rides on the head; its own motion, if it has one, is relative to the head.
        solids: move by themselves.
        collide_with_body: whether hair touches the body, or is only carried by it.

    Attributes:
        solids: body first, if there is one, then the others.
    """

    def __init__(
        self, body: Solid | Mesh | Shape | None, solids: Sequence[Solid], *, collide_with_body: bool = True
    ) -> None:
        for index, solid in enumerate(solids):
            if not isinstance(solid, Solid):
                raise ValueError(
                    f"solids[{index}]: must be a Solid, got {type(solid).__name__}; mane.Solid(mesh) is one"
                )
        own = [] if body is None else [body if isinstance(body, Solid) else Solid(body)]
        self._has_body = bool(own)
        self._collide_with_body = collide_with_body
        self.solids: tuple[Solid, ...] = (*own, *solids)

    def with_body(self, body: Solid) -> Surroundings:
        """Return the same with another body."""
        others = self.solids[1:] if self._has_body else self.solids
        return Surroundings(body, others, collide_with_body=self._collide_with_body)

    @property
    def body(self) -> Solid | None:
        """What the hair grows on."""
        return self.solids[0] if self._has_body else None

    @property
    def touched(self) -> range:
        """Numbers of the solids that hair touches."""
        return range(1 if self._has_body and not self._collide_with_body else 0, len(self.solids))

    def poses(self, head: Pose, time: float) -> tuple[Pose, ...]:
        """Pose of every solid at `time` [s] with the head at `head`."""
        return tuple(self._pose(index, head, time) for index in range(len(self.solids)))

    def swallowing(self, poses: Sequence[Pose], time: float, roots: Float64Array) -> int | None:
        """Number of a solid, not the body, in which every one of the `roots (G, 3)` [m] is deep; None for none."""
        for index in range(1 if self._has_body else 0, len(self.solids)):
            placed = self.solids[index].placed(poses[index], time)
            is_deep = placed.distance(roots[:1])[0] < -SWALLOWED  # one root tells, most of the time
            if is_deep and (placed.distance(roots) < -SWALLOWED).all():
                return index
        return None

    def moving(self, head_before: Pose, head_after: Pose, before: float, after: float) -> tuple[MovingSolid, ...]:
        """What hair touches between two times [s]; a solid that teleports is at its new place all the while."""
        result = []
        for index in self.touched:
            solid = self.solids[index]
            end = self._pose(index, head_after, after)
            jumps = solid.motion is not None and solid.motion.teleported(before, after)
            start = end if jumps else self._pose(index, head_before, before)
            result.append(MovingSolid(solid, start, end, (before, after)))
        return tuple(result)

    def _pose(self, index: int, head: Pose, time: float) -> Pose:
        solid = self.solids[index]
        if index == 0 and self._has_body:
            return body_pose(solid, head, time)
        return STILL if solid.motion is None else solid.motion.pose(time)
