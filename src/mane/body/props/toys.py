"""Toys: something smooth to slide over, and something spiky to be caught by (after chai2017 fig. 12)."""

from __future__ import annotations

import math

import numpy as np

from mane.body.props.base import Prop, Resolution
from mane.body.shapes import Capsule, Shape, Sphere, Union
from mane.geometry.limits import Positive, Whole, check_arguments

# Parts of a little horse: from, to and radius; it looks along +X, stands on y = 0, and is this long in all.
HORSE_LENGTH = 1.15
HORSE = (
    ((-0.28, 0.46, 0.0), (0.22, 0.48, 0.0), 0.16),  # trunk
    ((0.24, 0.54, 0.0), (0.40, 0.82, 0.0), 0.085),  # neck
    ((0.40, 0.84, 0.0), (0.55, 0.74, 0.0), 0.065),  # head
    ((-0.26, 0.40, 0.09), (-0.28, 0.045, 0.09), 0.045),  # legs
    ((-0.26, 0.40, -0.09), (-0.28, 0.045, -0.09), 0.045),
    ((0.20, 0.40, 0.09), (0.22, 0.045, 0.09), 0.045),
    ((0.20, 0.40, -0.09), (0.22, 0.045, -0.09), 0.045),
    ((-0.42, 0.50, 0.0), (-0.50, 0.26, 0.0), 0.035),  # tail
)
GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))
SPIKE_RADIUS = 0.06  # of the ball's


def make_horse(*, length: Positive = 0.2, resolution: Resolution = 24) -> Prop:
    """Make a smooth little horse of round parts, which looks along +X and stands on the origin.

    Args:
        length: from nose to tail [m].
        resolution: segments around a leg in the mesh.
    """
    check_arguments(make_horse, locals(), "horse.")
    scale = length / HORSE_LENGTH
    parts: list[Shape] = [
        Capsule(tuple(scale * x for x in start), tuple(scale * x for x in end), scale * radius)
        for start, end, radius in HORSE
    ]
    shape = Union(parts)
    return Prop("horse", shape.mesh(resolution), shape)


def make_urchin(
    *, radius: Positive = 0.04, spike: Positive = 0.03, spikes: Whole = 24, resolution: Resolution = 16
) -> Prop:
    """Make a ball with round spikes spread evenly over it, its middle at the origin.

    Args:
        radius: of the ball [m].
        spike: length of the spikes beyond it [m].
        spikes: how many.
        resolution: segments around a spike in the mesh.
    """
    check_arguments(make_urchin, locals(), "urchin.")
    parts: list[Shape] = [Sphere((0.0, 0.0, 0.0), radius)]
    thin = SPIKE_RADIUS * radius
    for k in range(spikes):
        # A spiral over the sphere has points at about equal distances.
        height = 1 - (2 * k + 1) / spikes
        around, wide = GOLDEN_ANGLE * k, math.sqrt(1 - height * height)
        way = np.array([wide * math.cos(around), height, wide * math.sin(around)])
        parts.append(Capsule(tuple(0.5 * radius * way), tuple((radius + spike - thin) * way), thin))
    shape = Union(parts)
    return Prop("urchin", shape.mesh(resolution), shape)
