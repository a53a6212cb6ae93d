"""The shake of a wet animal: a roll about the spine that starts at the head and runs to the tip of the tail."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from mane.body.creature.anatomy import SIDES, SPINE, TAIL, side_name
from mane.body.creature.breath import breath
from mane.body.creature.legs import stand
from mane.body.posing import Posing, sample_times
from mane.body.skeleton import JointAnimation, Skeleton
from mane.geometry.limits import Positive, Range, check_arguments

Float64Array = NDArray[np.float64]

FREQUENCY = 5.0  # [1/s]; an animal of a fox's weight shakes some five times a second (Dickerson, Mills and Hu 2012)
# How far each joint rolls against the world at most [degrees], from the head back.
ROLLS = {
    "head": 42.0, "neck_2": 30.0, "neck_1": 23.0, "chest": 17.0, "spine_2": 16.0, "spine_1": 15.0, "pelvis": 13.0,
    "tail_1": 18.0, "tail_2": 24.0, "tail_3": 30.0, "tail_4": 34.0, "tail_5": 36.0,
}  # fmt: skip
LAG = 0.022  # [s] from joint to joint
LATE = 0.05  # [s] that each joint starts and stops later than the one before
RISE = 0.25  # [s] from stillness to the full roll, and back
LEAD_IN = 0.15  # [s] before the head begins
CROUCH = 0.016  # [m]
WAG = math.radians(9.0)  # of each joint of the tail, sideways


def shake(
    skeleton: Skeleton,
    *,
    duration: Annotated[float, Range(least=1.5)] = 2.5,
    frame_rate: Positive = 96.0,
    frequency: Positive = FREQUENCY,
    strength: Annotated[float, Range(least=0, most=1.3)] = 1.0,
) -> JointAnimation:
    """Shake dry, paws planted; at rest at the first and at the last sample.

    Args:
        skeleton: of the creature.
        duration: of the animation [s].
        frame_rate: samples per second; a shake is quick, 96 follow it well.
        frequency: rolls to and fro per second.
        strength: factor on how far it rolls.
    """
    check_arguments(shake, locals())
    posing = Posing(skeleton, sample_times(duration, frame_rate))
    effort = _envelope(posing.times, 0.0, duration)
    posing.shift("pelvis", effort[:, None] * np.array([0.0, -CROUCH, 0.0]))
    posing.turn("neck_1", "x", math.radians(16) * effort)
    posing.turn("head", "x", -math.radians(6) * effort)
    rolls = _rolls(posing.times, duration, frequency, strength)
    for joint in (*SPINE, *TAIL):
        parent = posing.parent_of(joint)
        posing.turn(joint, "z", rolls[joint] - rolls.get(parent, np.zeros_like(effort)))
    for number, joint in enumerate(TAIL):
        late = posing.times - LAG * (len(SPINE) + number)
        posing.turn(joint, "y", strength * WAG * effort * np.sin(2.0 * np.pi * frequency * late))
    for side in SIDES:
        posing.turn(side_name("ear", side), "z", 0.7 * (rolls["head"] - rolls["neck_1"]))
    stand(posing)
    return posing.animation(0.4 * breath(posing.times)[:, None] * effort[:, None])


def _rolls(times: Float64Array, duration: float, frequency: float, strength: float) -> dict[str, Float64Array]:
    """How far each joint is rolled against the world [rad], (F,) each."""
    rolls = {}
    for number, (joint, degrees) in enumerate(ROLLS.items()):
        envelope = _envelope(times, LATE * number, duration - LATE * (len(ROLLS) - 1 - number))
        wave = np.sin(2.0 * np.pi * frequency * (times - LEAD_IN - LAG * number))
        rolls[joint] = strength * math.radians(degrees) * envelope * wave
    return rolls


def _envelope(times: Float64Array, start: float, end: float) -> Float64Array:
    """0 at `start` and at `end` [s], 1 in between, smooth."""
    rising = np.clip((times - start - LEAD_IN) / RISE, 0.0, 1.0)
    falling = np.clip((end - times) / (2.0 * RISE), 0.0, 1.0)
    share = np.minimum(rising, falling)
    return share * share * (3.0 - 2.0 * share)
