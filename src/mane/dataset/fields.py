"""What can be stored of a frame: a table of fields, each with its shape and how it is taken from a frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Pose
from mane.geometry.checks import FloatArray
from mane.strand.frame import GuideFrame

if TYPE_CHECKING:
    from mane.scene.build import Assembly

Array = NDArray[Any]


@dataclass(frozen=True)
class FrameRecord:
    """A frame to take fields from.

    Attributes:
        assembly: what is simulated.
        guides: the guides.
        hairs: every hair [m], shape (S, V, 3), lent; None where no field needs it.
    """

    assembly: Assembly
    guides: GuideFrame
    hairs: FloatArray | None


@dataclass(frozen=True)
class Field:
    """Something that is stored of every frame.

    Attributes:
        summary: what it is, with shape and unit.
        take: returns its array of a frame, which may be lent.
        is_position: whether it is a place in the world, stored from the middle of the roots with float16.
        needs_hair: whether it needs every hair.
        is_compact: whether float16 may be used for it.
    """

    summary: str
    take: Callable[[FrameRecord], Array]
    is_position: bool = False
    needs_hair: bool = False
    is_compact: bool = True


def _guides(name: str) -> Callable[[FrameRecord], Array]:
    return lambda frame: getattr(frame.guides, name)


def _pose_row(pose: Pose) -> Array:
    return np.concatenate([pose.position, pose.rotation])


def _solids(frame: FrameRecord) -> Array:
    return np.array([_pose_row(pose) for pose in frame.guides.solid_poses]).reshape(-1, 7)


def _hairs(frame: FrameRecord) -> Array:
    assert frame.hairs is not None
    return frame.hairs


def _body(frame: FrameRecord) -> Array:
    source = frame.assembly.source
    animation = source.solids[0].animation if source.has_body else None
    if animation is None:
        raise ValueError("fields: 'body' is for a body that deforms; the pose of a rigid one is 'head'")
    body = source.solids[0]
    pose = frame.guides.solid_poses[0]
    from mane.geometry import quaternion

    assert body.animation is not None
    local = body.animation.points(frame.guides.time)
    return np.asarray(quaternion.rotate(pose.rotation, local) + pose.position, np.float32)


FIELDS: dict[str, Field] = {
    "points": Field("vertices of the guides [m], (G, V, 3)", _guides("points"), is_position=True),
    "velocity": Field("of the vertices [m/s], (G, V, 3)", _guides("velocity")),
    "orientations": Field("quaternions of the segments, third axis along them, (G, N, 4)", _guides("orientations")),
    "cut_force": Field("force within each segment [N], (G, N, 3)", _guides("cut_force"), is_compact=False),
    "roots": Field("where the skin has the roots [m], (G, 3)", _guides("roots"), is_position=True),
    "root_rotations": Field("how the skin at the roots has turned, quaternions, (G, 4)", _guides("root_rotations")),
    "head": Field(
        "pose of the head: position [m] and quaternion, (7,)",
        lambda frame: _pose_row(frame.guides.head),
        is_compact=False,
    ),
    "solids": Field("pose of each solid, the body first, (K, 7)", _solids, is_compact=False),
    "body": Field("vertices of a body that deforms [m], (N, 3)", _body, is_position=True),
    "hairs": Field("vertices of every hair [m], (S, V, 3)", _hairs, is_position=True, needs_hair=True),
}
# Stored with every sequence: what positions are stored from.
ORIGIN = "origin"


def origin_of(frame: GuideFrame) -> FloatArray:
    """Return the middle of the roots [m], shape (3,)."""
    result: FloatArray = frame.roots.mean(axis=0, dtype=np.float64).astype(np.float32)
    return result
