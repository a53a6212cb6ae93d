"""A motion for stress tests: leaps, spins and joints turned at random, legs through each other and through the body."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mane.body.creature.breath import breath
from mane.body.posing import Posing, sample_times
from mane.body.skeleton import JointAnimation, Skeleton
from mane.geometry import quaternion
from mane.geometry.limits import Positive, Seed, check_arguments

Float64Array = NDArray[np.float64]

TONES = 5  # sines per channel, enough that no period is seen
SLOWEST, FASTEST = 0.4, 2.5  # [1/s] of these sines
# How far joints turn at most, in each of three axes [rad]; others by `OTHERS`.
TURNS = {"hip": 1.1, "knee": 1.0, "shoulder": 1.1, "elbow": 1.0, "neck_1": 0.6, "head": 0.7, "tail_1": 0.8}
OTHERS = 0.3
LEAP = 0.8  # [m]
LEAP_PERIOD = 0.9  # [s]
EASE_IN = 0.5  # [s] from the rest pose


def violent(
    skeleton: Skeleton,
    *,
    duration: Positive = 4.0,
    frame_rate: Positive = 48.0,
    strength: Positive = 1.0,
    seed: Seed = 0,
) -> JointAnimation:
    """Throw the animal about, from the rest pose on.

    Args:
        skeleton: of the creature.
        duration: of the animation [s].
        frame_rate: samples per second.
        strength: factor on how far joints turn and how high it leaps.
        seed: another seed, another motion.
    """
    check_arguments(violent, locals())
    posing = Posing(skeleton, sample_times(duration, frame_rate))
    rng = np.random.default_rng(seed)
    share = np.clip(posing.times / EASE_IN, 0.0, 1.0)
    gain = strength * share * share * (3.0 - 2.0 * share)
    for joint in skeleton.names:
        if joint == "root":
            continue
        most = TURNS.get(joint.removesuffix("_left").removesuffix("_right"), OTHERS)
        posing.rotate(joint, quaternion.exp(most * gain[:, None] * _noise(posing.times, rng)))
    # Up and down like a ball, thrown about and spun at the same time.
    flight = posing.times / LEAP_PERIOD % 1.0
    place = 0.3 * _noise(posing.times, rng)
    place[:, 1] = 4.0 * LEAP * flight * (1.0 - flight)
    posing.shift("root", gain[:, None] * place)
    posing.rotate("root", quaternion.exp(gain[:, None] * _noise(posing.times, rng) * np.array([0.5, 1.5, 0.5])))
    return posing.animation(breath(1.5 * posing.times)[:, None])


def _noise(times: Float64Array, rng: np.random.Generator) -> Float64Array:
    """Smooth noise between -1 and 1 in three channels, shape (F, 3); the same at a time whatever the others are."""
    rate = rng.uniform(SLOWEST, FASTEST, (TONES, 3))
    phase = rng.uniform(0.0, 2.0 * math.pi, (TONES, 3))
    result: Float64Array = np.sin(2.0 * math.pi * rate * times[:, None, None] + phase).mean(axis=1) * math.sqrt(
        TONES / 2.0
    )
    return result
