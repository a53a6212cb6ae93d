"""What a camera must show of a run before it has been made: body and groomed hair at every frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mane.body.mesh import Mesh
from mane.body.motion import Motion, Pose
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.groom.binding import bind_roots
from mane.groom.groom import Groom
from mane.render.cameras import FRAMED
from mane.strand.root_motion import body_pose, skin_of

ENOUGH_STRANDS = 2000  # to know how far hair reaches


def rigid_outlines(groom: Groom, body: Mesh | None, poses: Sequence[Pose], framed: str) -> list[FloatArray]:
    """Outline of the groom and a rigid body, or what of them is `framed`, at each pose of the head, (K, 3) [m] each."""
    still = FRAMED[framed](groom, [] if body is None else [body])
    return [pose.apply(still) for pose in poses]


def deforming_outlines(
    groom: Groom, body: Solid, poses: Sequence[Pose], times: Sequence[float], framed: str
) -> list[FloatArray]:
    """Outline of an animated body at each time [s] and pose of the head, and of hair that it carries as groomed.

    `framed` is what of them a picture must show, a name of `mane.render.cameras.FRAMED`.
    """
    animation = body.animation
    assert animation is not None
    rows = np.unique(np.linspace(0, groom.strand_count - 1, ENOUGH_STRANDS).astype(np.int64))
    some = groom.take(rows)
    binding = bind_roots(some, skin_of(body))
    outlines = []
    for pose, time in zip(poses, times, strict=True):
        points = animation.points(time)
        shown = FRAMED[framed](binding.carry(some, points), [animation.mesh.with_points(points)])
        outlines.append(body_pose(body, pose, time).apply(shown))
    return outlines


def head_poses(head: Motion | None, times: Sequence[float]) -> list[Pose]:
    """Where the head is at each time [s]; at rest without a motion."""
    return [Pose.identity() if head is None else head.pose(time) for time in times]
