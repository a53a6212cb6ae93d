"""`make_articulated_bust`: the bust with joints, a head that turns on the neck and shoulders that lift and roll.

The bust itself is that of `make_bust`, in the same coordinates; the joint `head` is at its origin, and everything above
the neck, the whole scalp included, moves with it alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.body.bust import DEFAULT_CELL, Bust, make_bust
from mane.body.bust_motions import PRESET_MOTIONS
from mane.body.character import Character, MakeMotion
from mane.body.posing import Posing, sample_times
from mane.body.skeleton import JointAnimation, Skeleton, SkinnedMesh
from mane.geometry.checks import FloatArray
from mane.geometry.limits import Finite, NotNegative, Positive, check_arguments

Float64Array = NDArray[np.float64]

JOINTS: dict[str, tuple[str | None, tuple[float, float, float]]] = {
    "chest": (None, (0.0, -0.285, -0.045)),
    "clavicle_left": ("chest", (0.016, -0.178, -0.010)),
    "clavicle_right": ("chest", (-0.016, -0.178, -0.010)),
    "neck": ("chest", (0.0, -0.135, -0.040)),
    "head": ("neck", (0.0, 0.0, 0.0)),
}
# Height [m] of a point over the neck, leaned so that chin and nape count as equally high.
LEAN = 0.15
HEAD_BLEND, NECK_BLEND = (-0.135, -0.070), (-0.205, -0.135)  # heights between which head and neck take over
SHOULDER_BLEND = (0.045, 0.135)  # [m] from the middle, between which the shoulder takes over


@dataclass(frozen=True, eq=False)
class ArticulatedBust(Character):
    """The bust on joints; see `Character` for what it can do.

    Attributes:
        bust: as it is at rest, for the styles that grow on it.
    """

    bust: Bust


# How far head and shoulders go [rad].
NOD, LOOK, SHRUG = math.radians(24), math.radians(55), math.radians(13)


def make_skeleton() -> Skeleton:
    """Return the joints alone."""
    return Skeleton.from_positions(JOINTS)


def make_articulated_bust(cell_size: float = DEFAULT_CELL) -> ArticulatedBust:
    """Make the bust of `make_bust(cell_size)` with joints for head, neck and shoulders.

    Args:
        cell_size: edge of the cells that the surface is found on [m].
    """
    bust = make_bust(cell_size)
    skeleton = make_skeleton()
    weights = _weights(bust.mesh.points)
    order = np.argsort(-weights, axis=1, kind="stable")[:, :4].astype(np.int32)
    skinned = SkinnedMesh(bust.mesh, skeleton, order, np.take_along_axis(weights, order, axis=1))
    return ArticulatedBust(skinned, bust.landmarks, BUST_MOTIONS, bust)


def _weights(points: FloatArray) -> FloatArray:
    """How much each joint, in the order of `JOINTS`, moves each point (N, 5); rows have a sum of 1."""
    x, y, z = points.astype(np.float64).T
    height = y + LEAN * z
    head, neck = _smooth_step(height, *HEAD_BLEND), _smooth_step(height, *NECK_BLEND)
    left, right = (_smooth_step(side * x, *SHOULDER_BLEND) for side in (1.0, -1.0))
    neck = head + (neck - head) * (1.0 - left - right)  # the top of a shoulder is as high as the neck's foot
    trunk = 1.0 - neck
    columns = [trunk * (1.0 - left - right), trunk * left, trunk * right, neck - head, head]
    return np.stack(columns, axis=1).astype(np.float32)


def _smooth_step(values: Float64Array, low: float, high: float) -> Float64Array:
    t = np.clip((values - low) / (high - low), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def nod(
    skeleton: Skeleton,
    *,
    duration: Positive = 4.0,
    frame_rate: Positive = 48.0,
    angle: Finite = NOD,
    frequency: NotNegative = 0.9,
) -> JointAnimation:
    """Nod: head and neck share `angle` [rad] down and up, `frequency` times a second; from rest to rest.

    Args:
        skeleton: of the bust.
        duration: of the motion, from rest to rest [s].
        frame_rate: samples per second.
        angle: how far head and neck go down and up [rad].
        frequency: times per second [Hz].
    """
    check_arguments(nod, locals())
    posing = Posing(skeleton, sample_times(duration, frame_rate))
    swing = _effort(posing.times, duration) * np.sin(2.0 * np.pi * frequency * posing.times)
    posing.turn("neck", "x", 0.35 * angle * swing)
    posing.turn("head", "x", 0.65 * angle * swing)
    return posing.animation()


def look_around(
    skeleton: Skeleton,
    *,
    duration: Positive = 4.0,
    frame_rate: Positive = 48.0,
    angle: Finite = LOOK,
    frequency: NotNegative = 0.4,
) -> JointAnimation:
    """Look from side to side by `angle` [rad], `frequency` times a second, shoulders following; from rest to rest.

    Args:
        skeleton: of the bust.
        duration: of the motion, from rest to rest [s].
        frame_rate: samples per second.
        angle: to either side [rad].
        frequency: times per second [Hz].
    """
    check_arguments(look_around, locals())
    posing = Posing(skeleton, sample_times(duration, frame_rate))
    effort, turns = _effort(posing.times, duration), 2.0 * np.pi * frequency * posing.times
    swing = effort * np.sin(turns)
    posing.turn("chest", "y", 0.10 * angle * swing)
    posing.turn("neck", "y", 0.30 * angle * swing)
    posing.turn("neck", "z", -0.10 * angle * swing)
    posing.turn("head", "x", 0.20 * angle * effort * np.sin(2.0 * turns))
    posing.turn("head", "y", 0.60 * angle * swing)
    return posing.animation()


def shrug(
    skeleton: Skeleton,
    *,
    duration: Positive = 4.0,
    frame_rate: Positive = 48.0,
    angle: Finite = SHRUG,
    frequency: NotNegative = 0.6,
) -> JointAnimation:
    """Lift both shoulders by `angle` [rad] and roll them, `frequency` times a second, head tilting; from rest to rest.

    Args:
        skeleton: of the bust.
        duration: of the motion, from rest to rest [s].
        frame_rate: samples per second.
        angle: how far shoulders are lifted [rad].
        frequency: times per second [Hz].
    """
    check_arguments(shrug, locals())
    posing = Posing(skeleton, sample_times(duration, frame_rate))
    effort, turns = _effort(posing.times, duration), 2.0 * np.pi * frequency * posing.times
    lift = angle * effort * (0.5 - 0.5 * np.cos(turns))
    roll = 0.5 * angle * effort * np.sin(turns)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        posing.turn(f"clavicle_{side}", "z", sign * lift)
        posing.turn(f"clavicle_{side}", "y", sign * roll)
    posing.turn("neck", "x", 0.25 * lift)
    posing.turn("head", "z", 0.35 * lift)
    return posing.animation()


def _effort(times: Float64Array, duration: float, rise: float = 0.5) -> Float64Array:
    """0 at the first and last time, 1 in between, smooth over `rise` [s]."""
    away = np.minimum(times, duration - times)
    return _smooth_step(away, 0.0, min(rise, 0.5 * duration))


BUST_MOTIONS: dict[str, MakeMotion] = {"nod": nod, "look_around": look_around, "shrug": shrug, **PRESET_MOTIONS}
