"""A hand: palm and five fingers of capsules, posed by two numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from mane.body.props.base import Prop, Resolution
from mane.body.shapes import Box, Capsule, Shape, Union
from mane.geometry.limits import Choice, Fraction, Positive, Range, check_arguments

Point = NDArray[np.float64]
Bone = tuple[Point, Point, float]  # from, to and radius [m]

ADULT_LENGTH = 0.19  # [m] from the wrist to the tip of the straight middle finger, the size of the tables below


@dataclass(frozen=True)
class _Finger:
    """A right finger: its knuckle (x, y) [m], lengths and radii of its three bones [m], and its place in the fan."""

    name: str
    knuckle: tuple[float, float]
    lengths: tuple[float, float, float]
    radii: tuple[float, float, float]
    fan: float


FINGERS = (
    _Finger("index", (-0.029, -0.088), (0.042, 0.025, 0.017), (0.0092, 0.0083, 0.0075), -1.5),
    _Finger("middle", (-0.009, -0.093), (0.046, 0.029, 0.0144), (0.0095, 0.0085, 0.0076), -0.5),
    _Finger("ring", (0.011, -0.089), (0.043, 0.027, 0.017), (0.0090, 0.0080, 0.0072), 0.5),
    _Finger("little", (0.029, -0.080), (0.033, 0.020, 0.016), (0.0080, 0.0070, 0.0063), 1.5),
)
# How far each joint of a finger bends in a fist [rad]: knuckle, middle joint, last joint.
FIST = (math.radians(85), math.radians(100), math.radians(65))

THUMB_BASE = (-0.020, -0.018, 0.006)  # [m]
THUMB_LENGTHS = (0.046, 0.033, 0.022)  # [m]
THUMB_RADII = (0.0125, 0.0105, 0.0092)  # [m]
# Directions of the thumb's bones with the hand open, and closed over the fingers.
THUMB_OPEN = ((-0.66, -0.70, 0.28), (-0.62, -0.76, 0.18), (-0.58, -0.80, 0.12))
THUMB_CLOSED = ((-0.30, -0.72, 0.62), (0.15, -0.72, 0.68), (0.78, -0.60, 0.20))

PALM_RADIUS = 0.0118  # [m] of the bones of the hand, flesh included
# Flat blocks with round edges: half width, half thickness, and from which y to which [m].
PALM = (0.027, 0.0115, -0.087, -0.007)
FOREARM = (0.0265, 0.017, -0.020, 0.0)
WRIST_SPAN = 0.45  # the bones of the hand start closer together than the knuckles by this factor
FINGER_SPREAD = math.radians(5)  # from one finger to the next, relaxed

Spread = Annotated[float, Range(least=-0.1, most=0.5)]  # [rad]
Side = Annotated[str, Choice("left", "right")]


def make_hand(
    *,
    curl: Fraction = 0.22,
    spread: Spread = FINGER_SPREAD,
    side: Side = "right",
    length: Positive = ADULT_LENGTH,
    forearm: Positive = 0.06,
    resolution: Resolution = 24,
) -> Prop:
    """Make a hand, relaxed unless told otherwise.

    The origin is at the middle of the wrist; straight fingers point to -Y, as the teeth of a comb do, and the palm
    faces +Z. A right hand has its thumb on the side of -X, a left hand on the side of +X. The forearm leads to +Y.

    Args:
        curl: 0 has straight fingers, 1 is a fist.
        spread: angle from one finger to the next [rad].
        side: `right` or `left`.
        length: from the wrist to the tip of the straight middle finger [m]; everything follows it in proportion.
        forearm: how much of the arm is there behind the wrist [m].
        resolution: segments around a finger in the mesh.
    """
    check_arguments(make_hand, locals(), "hand.")
    scale = length / ADULT_LENGTH
    mirror = np.array([1.0 if side == "right" else -1.0, 1.0, 1.0])
    bones = thumb_bones(curl)
    for finger in FINGERS:
        bones += finger_bones(finger, curl, spread)
    parts: list[Shape] = [block(scale, *PALM), block(scale, *FOREARM, behind=forearm)]
    parts += [Capsule(scale * mirror * start, scale * mirror * end, scale * radius) for start, end, radius in bones]
    shape = Union(parts)
    return Prop("hand", shape.mesh(resolution), shape)


def block(scale: float, width: float, thickness: float, low: float, high: float, behind: float = 0.0) -> Box:
    """A flat block along Y that ends `behind` [m] further up, whatever the scale."""
    bottom, top = scale * low, scale * high + behind
    half_size = (scale * width, 0.5 * (top - bottom), scale * thickness)
    return Box((0.0, 0.5 * (top + bottom), 0.0), half_size, rounding=0.9 * min(half_size))


def finger_bones(finger: _Finger, curl: float, spread: float) -> list[Bone]:
    """The bone in the palm and the three of the finger, bent towards the palm and fanned out."""
    knuckle = np.array([*finger.knuckle, 0.0])
    wrist = np.array([WRIST_SPAN * finger.knuckle[0], -0.008, 0.0])
    sideways = spread * finger.fan
    aside = np.array([math.sin(sideways), -math.cos(sideways), 0.0])
    bend, directions = 0.0, []
    for joint in FIST:
        bend += curl * joint
        directions.append(math.cos(bend) * aside + math.sin(bend) * np.array([0.0, 0.0, 1.0]))
    return [(wrist, knuckle, PALM_RADIUS), *_chain(knuckle, directions, finger.lengths, finger.radii)]


def thumb_bones(curl: float) -> list[Bone]:
    """The three bones of the thumb, between open and closed over the fingers."""
    directions = [
        (1 - curl) * np.array(is_open) + curl * np.array(closed)
        for is_open, closed in zip(THUMB_OPEN, THUMB_CLOSED, strict=True)
    ]
    return _chain(np.array(THUMB_BASE), directions, THUMB_LENGTHS, THUMB_RADII)


def _chain(start: Point, directions: list[Point], lengths: tuple[float, ...], radii: tuple[float, ...]) -> list[Bone]:
    bones = []
    for direction, length, radius in zip(directions, lengths, radii, strict=True):
        end = start + length * direction / np.linalg.norm(direction)
        bones.append((start, end, radius))
        start = end
    return bones
