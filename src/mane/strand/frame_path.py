"""How head, roots and solids move within one frame."""

from __future__ import annotations

from functools import cache

from mane.body.motion import Motion, Pose
from mane.strand.ports import MovingSolid
from mane.strand.root_motion import RootMoment, RootMotion
from mane.strand.roots import RootPose
from mane.strand.stepping import StepPath
from mane.strand.surroundings import Surroundings


def frame_path(
    start: RootMoment,
    end: RootMoment,
    dt: float,
    surroundings: Surroundings,
    *,
    head: Motion | None,
    motion: RootMotion | None,
) -> StepPath:
    """Return the path from one moment to another.

    Args:
        start: where the frame begins.
        end: where it ends.
        dt: its length [s].
        surroundings: solids that move besides.
        head: the motion of the head in between; None for a straight line and a steady turn.
        motion: that of the roots on head and body; None for straight lines and steady turns.
    """

    @cache  # the end of one substep is the start of the next
    def head_at(fraction: float) -> Pose:
        if fraction <= 0.0:
            return start.head
        if fraction >= 1.0:
            return end.head
        if head is not None:
            return head.pose(start.time + fraction * dt)
        return start.head.toward(end.head, fraction)

    @cache
    def roots_at(fraction: float) -> RootPose:
        if fraction <= 0.0:
            return start.roots
        if motion is not None and fraction < 1.0:
            return motion.at(head_at(fraction), start.time + fraction * dt)
        return start.roots.toward(end.roots, fraction)

    def solids_at(before: float, after: float) -> tuple[MovingSolid, ...]:
        times = (start.time + before * dt, start.time + after * dt)
        return surroundings.moving(head_at(before), head_at(after), *times)

    return StepPath(roots_at, solids_at)
