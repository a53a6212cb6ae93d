"""Where the creature's joints and bones are: a fox, standing, in metres.

Y is up, the animal faces +Z, its left is +X, and its paws stand on y = 0. All numbers are for the left side; the right
one is its mirror image.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mane.body.joint_weights import Bone
from mane.body.skeleton import Skeleton

Vector = tuple[float, float, float]

SIDES = ("left", "right")


class Segment(NamedTuple):
    """Flesh that a joint carries: a cone from `start` to `end` with these radii, all [m]."""

    joint: str
    start: Vector
    end: Vector
    start_radius: float
    end_radius: float


# name -> parent and position; those with a parent of the same side end in `_left` and are mirrored
MIDDLE_JOINTS: dict[str, tuple[str | None, Vector]] = {
    "root": (None, (0, 0, 0)),
    "pelvis": ("root", (0, 0.350, -0.190)),
    "spine_1": ("pelvis", (0, 0.362, -0.110)),
    "spine_2": ("spine_1", (0, 0.366, -0.020)),
    "chest": ("spine_2", (0, 0.358, 0.070)),
    "neck_1": ("chest", (0, 0.372, 0.165)),
    "neck_2": ("neck_1", (0, 0.412, 0.216)),
    "head": ("neck_2", (0, 0.456, 0.260)),
    "tail_1": ("pelvis", (0, 0.372, -0.262)),
    "tail_2": ("tail_1", (0, 0.352, -0.335)),
    "tail_3": ("tail_2", (0, 0.315, -0.410)),
    "tail_4": ("tail_3", (0, 0.275, -0.485)),
    "tail_5": ("tail_4", (0, 0.245, -0.560)),
}
LEFT_JOINTS: dict[str, tuple[str, Vector]] = {
    "ear": ("head", (0.034, 0.508, 0.292)),
    "scapula": ("chest", (0.040, 0.385, 0.100)),
    "shoulder": ("scapula", (0.056, 0.286, 0.158)),
    "elbow": ("shoulder", (0.058, 0.218, 0.096)),
    "wrist": ("elbow", (0.057, 0.086, 0.108)),
    "forepaw": ("wrist", (0.057, 0.030, 0.120)),
    "hip": ("pelvis", (0.050, 0.338, -0.190)),
    "knee": ("hip", (0.061, 0.222, -0.140)),
    "hock": ("knee", (0.057, 0.124, -0.243)),
    "hindpaw": ("hock", (0.056, 0.030, -0.222)),
}

MIDDLE_SEGMENTS = (
    Segment("pelvis", (0, 0.345, -0.245), (0, 0.350, -0.150), 0.055, 0.060),
    Segment("spine_1", (0, 0.345, -0.110), (0, 0.345, -0.065), 0.062, 0.064),
    Segment("spine_2", (0, 0.340, -0.020), (0, 0.335, 0.025), 0.066, 0.070),
    Segment("chest", (0, 0.325, 0.070), (0, 0.325, 0.130), 0.078, 0.070),
    # The keel of the breast and the belly, which are far below the spine and near the legs.
    Segment("chest", (0, 0.262, 0.065), (0, 0.262, 0.140), 0.040, 0.040),
    Segment("spine_2", (0, 0.300, -0.015), (0, 0.292, 0.025), 0.042, 0.042),
    Segment("spine_1", (0, 0.305, -0.105), (0, 0.302, -0.060), 0.042, 0.042),
    Segment("neck_1", (0, 0.368, 0.175), (0, 0.400, 0.205), 0.062, 0.056),
    Segment("neck_2", (0, 0.419, 0.222), (0, 0.437, 0.243), 0.052, 0.048),
    Segment("head", (0, 0.480, 0.295), (0, 0.466, 0.340), 0.050, 0.046),
    Segment("head", (0, 0.500, 0.290), (0, 0.492, 0.335), 0.028, 0.026),
    Segment("head", (0, 0.460, 0.355), (0, 0.447, 0.425), 0.032, 0.016),
    Segment("tail_1", (0, 0.368, -0.275), (0, 0.354, -0.325), 0.026, 0.025),
    Segment("tail_2", (0, 0.348, -0.345), (0, 0.320, -0.400), 0.025, 0.026),
    Segment("tail_3", (0, 0.310, -0.420), (0, 0.280, -0.475), 0.026, 0.027),
    Segment("tail_4", (0, 0.270, -0.495), (0, 0.249, -0.550), 0.027, 0.024),
    Segment("tail_5", (0, 0.242, -0.570), (0, 0.228, -0.640), 0.022, 0.010),
)
LEFT_SEGMENTS = (
    Segment("ear", (0.036, 0.520, 0.290), (0.050, 0.570, 0.286), 0.022, 0.006),
    Segment("scapula", (0.042, 0.375, 0.105), (0.053, 0.305, 0.146), 0.032, 0.036),
    Segment("shoulder", (0.056, 0.280, 0.152), (0.058, 0.228, 0.105), 0.034, 0.028),
    Segment("elbow", (0.058, 0.210, 0.096), (0.057, 0.100, 0.107), 0.026, 0.0165),
    Segment("wrist", (0.057, 0.078, 0.109), (0.057, 0.044, 0.116), 0.0165, 0.0165),
    Segment("forepaw", (0.057, 0.014, 0.108), (0.057, 0.014, 0.154), 0.020, 0.018),
    Segment("hip", (0.050, 0.320, -0.187), (0.060, 0.236, -0.148), 0.054, 0.040),
    Segment("knee", (0.061, 0.212, -0.150), (0.057, 0.138, -0.229), 0.036, 0.018),
    Segment("hock", (0.057, 0.112, -0.241), (0.056, 0.046, -0.226), 0.0165, 0.0165),
    Segment("hindpaw", (0.056, 0.014, -0.234), (0.056, 0.014, -0.188), 0.020, 0.018),
)

# The legs from the joint that inverse kinematics starts at: upper bone, lower bone, foot, paw.
FORE_CHAIN = ("shoulder", "elbow", "wrist", "forepaw")
HIND_CHAIN = ("hip", "knee", "hock", "hindpaw")
SPINE = ("pelvis", "spine_1", "spine_2", "chest", "neck_1", "neck_2", "head")
TAIL = ("tail_1", "tail_2", "tail_3", "tail_4", "tail_5")

EYE: Vector = (0.0285, 0.4900, 0.3450)
EYE_RADIUS = 0.0090
NOSE: Vector = (0.0, 0.4560, 0.4465)
NOSE_RADIUS = 0.0125
PAD_HEIGHT = 0.008  # skin below this [m] that faces down is the sole of a paw


def side_name(joint: str, side: str) -> str:
    """The joint of that name on one side of the animal."""
    return f"{joint}_{side}"


def mirrored(point: Vector, side: str) -> Vector:
    """A point of the left side, or its image on the right."""
    return point if side == "left" else (-point[0], point[1], point[2])


def make_skeleton() -> Skeleton:
    """The joints of the animal, standing."""
    joints: dict[str, tuple[str | None, Vector]] = dict(MIDDLE_JOINTS)
    for side in SIDES:
        for name, (parent, position) in LEFT_JOINTS.items():
            above = parent if parent in MIDDLE_JOINTS else side_name(parent, side)
            joints[side_name(name, side)] = (above, mirrored(position, side))
    return Skeleton.from_positions(joints)


def _segments() -> Iterator[Segment]:
    """The flesh of both sides."""
    yield from MIDDLE_SEGMENTS
    for side in SIDES:
        for s in LEFT_SEGMENTS:
            start, end = mirrored(s.start, side), mirrored(s.end, side)
            yield Segment(side_name(s.joint, side), start, end, s.start_radius, s.end_radius)


def make_bones(skeleton: Skeleton) -> list[Bone]:
    """What decides which skin each joint carries."""
    return [Bone(skeleton.index(s.joint), s.start, s.end, s.start_radius, s.end_radius) for s in _segments()]
