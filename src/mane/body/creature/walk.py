"""The walk of the creature: four beats, each paw on the ground for most of its stride and still while it is there.

Footfalls follow each other as in all mammals that walk: left hind, left fore, right hind, right fore, a quarter of a
stride apart.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from mane.body.creature.anatomy import SIDES, TAIL, side_name
from mane.body.creature.breath import breath
from mane.body.creature.legs import LEGS, place_paw, standing_place
from mane.body.posing import Posing, sample_times
from mane.body.skeleton import JointAnimation, Skeleton
from mane.geometry.limits import Positive, Range, check_arguments

Float64Array = NDArray[np.float64]

SLOWEST, FASTEST = 0.1, 1.2  # [m/s]; above, a fox trots
DUTY = 0.64  # share of a stride that a paw is on the ground
TOUCH_DOWN = {"hind_left": 0.0, "fore_left": 0.25, "hind_right": 0.5, "fore_right": 0.75}  # shares of a stride
AHEAD = {"fore": 0.008, "hind": 0.010}  # [m] how far the middle of a paw's way lies before where it stands at rest
LIFT = {"fore": 0.046, "hind": 0.040}  # [m] of a paw in the middle of its swing
CROUCH = 0.014  # [m] that the trunk is lower than at rest, so that legs reach ahead and behind
BOB = 0.005  # [m] that the trunk rises over a standing leg
SWAY = 0.007  # [m] towards the side that stands
DROOP = math.radians(48)  # of the toes in swing
# How far a knee is turned outwards while the thigh is ahead, so that it passes the belly and is not inside it; more for
# longer strides than at this speed [m/s]. From when to when, in multiples of a swing after lift-off.
SPREAD, SPREAD_SPEED = {"fore": 0.0, "hind": math.radians(32)}, 0.6
SPREAD_WINDOW = (0.1, 1.5)
SCAPULA_SWING = math.radians(13)
PELVIS_YAW, CHEST_YAW, PELVIS_ROLL, NOD = (math.radians(degrees) for degrees in (6.0, 4.5, 3.0, 3.0))
TAIL_SWING, TAIL_LAG = math.radians(5.0), 0.09

# Pitch of the foot [degrees] over a stride, as (share of the stance or swing, angle); positive lifts the heel.
STANCE_PITCH = {"fore": ((0.0, -12.0), (0.5, 2.0), (1.0, 46.0)), "hind": ((0.0, -14.0), (0.5, 0.0), (1.0, 46.0))}
SWING_PITCH = {"fore": ((0.35, 78.0), (0.62, 45.0), (0.87, -6.0)), "hind": ((0.35, 62.0), (0.62, 30.0), (0.87, -10.0))}


def walk(
    skeleton: Skeleton,
    *,
    duration: Positive = 4.0,
    frame_rate: Positive = 48.0,
    speed: Annotated[float, Range(least=SLOWEST, most=FASTEST)] = 0.6,
    in_place: bool = False,
) -> JointAnimation:
    """Walk straight ahead.

    Args:
        skeleton: of the creature.
        duration: of the animation [s].
        frame_rate: samples per second; a stride is rounded to a whole number of samples, so that the walk loops.
        speed: of the animal [m/s].
        in_place: whether the ground moves back under the animal instead of the animal ahead.
    """
    check_arguments(walk, locals())
    posing = Posing(skeleton, sample_times(duration, frame_rate))
    period = stride_samples(speed, frame_rate) / frame_rate
    stride = speed * period
    strides = posing.times / period
    travel = stride * strides
    if not in_place:
        posing.shift("root", travel[:, None] * np.array([0.0, 0.0, 1.0]))
    _move_trunk(posing, strides)
    for leg in LEGS:
        spread = SPREAD[LEGS[leg][0]] * max(speed / SPREAD_SPEED, 1.0)
        _move_leg(posing, leg, strides, stride, spread, travel if in_place else np.zeros_like(travel))
    return posing.animation(breath(strides)[:, None])


def stride_samples(speed: float, frame_rate: float) -> int:
    """Samples per stride of a walk: quicker steps and longer ones with speed, as animals do."""
    stride = 0.44 * math.sqrt(speed / FASTEST)
    return max(round(stride / speed * frame_rate), 4)


def is_standing(leg: str, strides: Float64Array) -> NDArray[np.bool_]:
    """Whether a paw is on the ground, after so many strides (F,)."""
    return (strides - TOUCH_DOWN[leg]) % 1.0 <= DUTY


def _wave(strides: Float64Array, beats: int = 1, peak: float = 0.0) -> Float64Array:
    """A cosine with `beats` per stride that peaks at the share `peak` of a stride."""
    return np.cos(2.0 * np.pi * beats * (strides - peak))


def _move_trunk(posing: Posing, strides: Float64Array) -> None:
    middle = 0.5 * DUTY  # when the left hind leg stands upright; the right one half a stride later
    rise = BOB * _wave(strides, 2, middle) - CROUCH
    sway = SWAY * _wave(strides, 1, middle)
    posing.shift("pelvis", np.stack([sway, rise, np.zeros_like(rise)], axis=1))
    # The side whose leg is put down goes ahead; a positive turn about y takes the left side back.
    pelvis, chest = -PELVIS_YAW * _wave(strides), -CHEST_YAW * _wave(strides, 1, 0.25)
    posing.turn("pelvis", "y", pelvis)
    posing.turn("pelvis", "z", PELVIS_ROLL * _wave(strides, 1, middle))
    for joint in ("spine_1", "spine_2", "chest"):
        posing.turn(joint, "y", (chest - pelvis) / 3.0)
        posing.turn(joint, "z", -PELVIS_ROLL * _wave(strides, 1, middle) / 3.0)
        # The shoulders bob a quarter of a stride after the hips.
        posing.turn(joint, "x", math.radians(0.7) * _wave(strides, 2, middle))
    # The head stays level and looks ahead.
    for joint in ("neck_1", "neck_2", "head"):
        posing.turn(joint, "y", -chest / 3.0)
    posing.turn("neck_1", "x", math.radians(8) + NOD * _wave(strides, 2, middle + 0.25))
    posing.turn("head", "x", -math.radians(6) - 0.8 * NOD * _wave(strides, 2, middle + 0.25))
    for number, joint in enumerate(TAIL):
        lag = TAIL_LAG * (number + 1)
        posing.turn(joint, "y", TAIL_SWING * _wave(strides, 1, lag))
        posing.turn(joint, "x", 0.25 * TAIL_SWING * _wave(strides, 2, lag))
    for side in SIDES:
        leg = f"fore_{side}"
        share = _way_along(leg, strides)
        posing.turn(side_name("scapula", side), "x", -SCAPULA_SWING * share)


def _way_along(leg: str, strides: Float64Array) -> Float64Array:
    """Where a paw is on its way under the body: 1 farthest ahead, -1 farthest behind."""
    u = (strides - TOUCH_DOWN[leg]) % 1.0
    swing = np.clip((u - DUTY) / (1.0 - DUTY), 0.0, 1.0)
    # As fast as on the ground at both ends, so that the shoulder moves without a jerk.
    slope = -2.0 / DUTY * (1.0 - DUTY)
    return np.where(u <= DUTY, 1.0 - 2.0 * u / DUTY, _hermite(-1.0, 1.0, slope, slope, swing))


def _hermite(start: float, end: float, start_slope: float, end_slope: float, t: Float64Array) -> Float64Array:
    """A cubic from `start` to `end` over t from 0 to 1 with these slopes at its ends."""
    t2, t3 = t * t, t * t * t
    return (
        start * (2 * t3 - 3 * t2 + 1) + end * (3 * t2 - 2 * t3)
        + start_slope * (t3 - 2 * t2 + t) + end_slope * (t3 - t2)
    )  # fmt: skip


def _move_leg(
    posing: Posing, leg: str, strides: Float64Array, stride: float, spread: float, ground: Float64Array
) -> None:
    end, _ = LEGS[leg]
    place = standing_place(posing, leg)
    step, u = np.divmod(strides - TOUCH_DOWN[leg], 1.0)
    swing = np.clip((u - DUTY) / (1.0 - DUTY), 0.0, 1.0)
    eased = swing**3 * (10.0 - 15.0 * swing + 6.0 * swing**2)
    lift = np.sin(np.pi * swing**0.85) ** 2
    target = np.tile(place, (len(u), 1))
    target[:, 1] += LIFT[end] * lift
    # Put down half its way ahead of where the body then is; the next place is a stride on.
    target[:, 2] += stride * (step + TOUCH_DOWN[leg] + 0.5 * DUTY + eased) + AHEAD[end] - ground
    place_paw(posing, leg, target, _foot_pitch(end)(u), DROOP * lift, spread * _spread_share(u))


def _spread_share(u: Float64Array) -> Float64Array:
    """How far a knee is out, 0 to 1, over the shares of a stride after touch-down (F,)."""
    begin, end = SPREAD_WINDOW
    swings = (u - DUTY) % 1.0 / (1.0 - DUTY)
    return np.sin(np.pi * np.clip((swings - begin) / (end - begin), 0.0, 1.0)) ** 2


def _foot_pitch(end: str) -> CubicSpline:
    """Pitch of a foot [rad] over the shares of a stride after touch-down, periodic."""
    keys = [(DUTY * share, angle) for share, angle in STANCE_PITCH[end]]
    keys += [(DUTY + (1.0 - DUTY) * share, angle) for share, angle in SWING_PITCH[end]]
    keys.append((1.0, STANCE_PITCH[end][0][1]))
    shares, angles = np.array(keys).T
    return CubicSpline(shares, np.radians(angles), bc_type="periodic")
