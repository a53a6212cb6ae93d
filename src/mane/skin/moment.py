"""`Moment`: the frame that a stage was called with last, by which it knows when it is asked for that frame again."""

from __future__ import annotations

import numpy as np

from mane.body.motion import Pose
from mane.strand.frame import GuideFrame


class Moment:
    """What hair of a frame is made of.

    A picture that is saved, or a page that is opened, asks for hair that has been made before. A stage that remembers
    frames must not take that for a frame behind the last one.
    """

    def __init__(self, frame: GuideFrame) -> None:
        self._time, self._poses = frame.time, (frame.head, *frame.solid_poses)
        # Sources may use their arrays again.
        self._points, self._weight, self._active = frame.points.copy(), frame.weight.copy(), frame.active.copy()

    def is_of(self, frame: GuideFrame) -> bool:
        """Whether a frame is the same one: its time, guides and solids."""
        poses = (frame.head, *frame.solid_poses)
        return (
            frame.time == self._time
            and len(poses) == len(self._poses)
            and all(_are_same(a, b) for a, b in zip(poses, self._poses, strict=True))
            and np.array_equal(frame.active, self._active)
            and np.array_equal(frame.weight, self._weight)
            and np.array_equal(frame.points, self._points)
        )


def _are_same(a: Pose, b: Pose) -> bool:
    return np.array_equal(a.position, b.position) and np.array_equal(a.rotation, b.rotation)
