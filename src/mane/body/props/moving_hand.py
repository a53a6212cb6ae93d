"""A hand whose fingers move: palm and bones as solids of their own, each rigid, on motions that belong together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.motion import Motion, Pose
from mane.body.motion_keys import KeyframedMotion
from mane.body.props.hand import (
    ADULT_LENGTH,
    FINGER_SPREAD,
    FINGERS,
    FOREARM,
    PALM,
    PALM_RADIUS,
    Bone,
    Side,
    Spread,
    block,
    finger_bones,
    thumb_bones,
)
from mane.body.shapes import Capsule, Shape, Union
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.geometry.checks import as_array
from mane.geometry.limits import Positive, check_arguments

SAMPLES_PER_SECOND = 60.0  # of the bones' motions between keys
STRAIGHT = np.array([0.0, -1.0, 0.0])  # where fingers point


def make_moving_hand(
    times: ArrayLike,
    curls: ArrayLike,
    motion: Motion | None = None,
    *,
    spread: Spread = FINGER_SPREAD,
    side: Side = "right",
    length: Positive = ADULT_LENGTH,
    forearm: Positive = 0.06,
) -> list[Solid]:
    """Make a hand that opens and closes: the palm first, then three bones of every finger.

    At every key it has the form of `make_hand` with that curl, and in between curls change evenly.

    Args:
        times: of the keys [s], rising, shape (K,).
        curls: at the keys, 0 for straight fingers to 1 for a fist, shape (K,).
        motion: of the whole hand; it stands still without one.
        spread: angle from one finger to the next [rad].
        side: `right` or `left`.
        length: from the wrist to the tip of the straight middle finger [m].
        forearm: how much of the arm is there behind the wrist [m].
    """
    check_arguments(make_moving_hand, locals(), "hand.")
    keys = as_array("times", times, ("K",), np.float64)
    values = as_array("curls", curls, (len(keys),), np.float64)
    if len(keys) == 0 or (np.diff(keys) <= 0).any():
        raise ValueError("times: must be at least one and rise")
    if (values < 0).any() or (values > 1).any():
        raise ValueError("curls: must be between 0 (straight) and 1 (fist)")
    scale = length / ADULT_LENGTH
    mirror = np.array([1.0 if side == "right" else -1.0, 1.0, 1.0])
    sampled = _sample_times(keys)
    poses = [Pose.identity() if motion is None else motion.pose(float(time)) for time in sampled]
    bones = [_bones(float(curl), spread) for curl in np.interp(sampled, keys, values)]
    solids = [Solid(_palm(scale, forearm, mirror), _motion(sampled, poses))]
    for number in range(len(bones[0])):
        chain = [step[number] for step in bones]
        size = scale * float(np.linalg.norm(chain[0][1] - chain[0][0]))
        shape = Capsule((0.0, 0.0, 0.0), tuple(size * STRAIGHT), scale * chain[0][2])
        own = [pose.compose(_bone_pose(bone, scale, mirror)) for pose, bone in zip(poses, chain, strict=True)]
        solids.append(Solid(shape, _motion(sampled, own)))
    return solids


def _sample_times(keys: NDArray[np.float64]) -> NDArray[np.float64]:
    """The keys, and times between them that are close enough to follow a bending finger."""
    between = np.arange(keys[0], keys[-1], 1 / SAMPLES_PER_SECOND)
    near = np.abs(between[:, None] - keys[None]).min(axis=1) < 0.2 / SAMPLES_PER_SECOND
    return np.sort(np.concatenate([keys, between[~near]]))


def _bones(curl: float, spread: float) -> list[Bone]:
    """Bones that move: three of the thumb, three of every finger."""
    bones = thumb_bones(curl)
    for finger in FINGERS:
        bones += finger_bones(finger, curl, spread)[1:]
    return bones


def _palm(scale: float, forearm: float, mirror: NDArray[np.float64]) -> Shape:
    parts: list[Shape] = [block(scale, *PALM), block(scale, *FOREARM, behind=forearm)]
    for finger in FINGERS:
        start, end, _ = finger_bones(finger, 0.0, 0.0)[0]
        parts.append(Capsule(scale * mirror * start, scale * mirror * end, scale * PALM_RADIUS))
    return Union(parts)


def _bone_pose(bone: Bone, scale: float, mirror: NDArray[np.float64]) -> Pose:
    start, end = scale * mirror * bone[0], scale * mirror * bone[1]
    way = (end - start) / np.linalg.norm(end - start)
    return Pose(start, quaternion.between_vectors(STRAIGHT, way))


def _motion(times: NDArray[np.float64], poses: Sequence[Pose]) -> KeyframedMotion:
    return KeyframedMotion(times, [pose.position for pose in poses], [pose.rotation for pose in poses])
