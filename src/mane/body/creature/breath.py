"""Breathing: how far the chest is filled over time, and the blend shape that fills it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mane.body.creature.legs import stand
from mane.body.mesh import Mesh
from mane.body.posing import Posing, sample_times
from mane.body.skeleton import BlendShape, JointAnimation, Skeleton
from mane.geometry.limits import Positive, check_arguments

Float64Array = NDArray[np.float64]

PERIOD = 2.6  # [s] of a breath at rest
RIB_SWELL, BELLY_SWELL = 0.0065, 0.0055  # [m] outwards at full breath
# Middles and widths of what swells [m]: the ribs to both sides and the belly below.
RIBS, RIB_REACH = (0.0, 0.320, 0.055), (0.10, 0.085, 0.105)
BELLY, BELLY_REACH = (0.0, 0.290, -0.060), (0.08, 0.060, 0.090)
TAIL_SWAY = math.radians(3.0)


def breath_shape(mesh: Mesh) -> BlendShape:
    """How the skin moves at a full breath: out along its normals over ribs and belly, smoothly to nothing around."""
    swell = RIB_SWELL * _bell(mesh, RIBS, RIB_REACH) + BELLY_SWELL * _bell(mesh, BELLY, BELLY_REACH)
    return BlendShape("breath", (swell[:, None] * mesh.vertex_normals).astype(np.float32))


def _bell(mesh: Mesh, middle: tuple[float, float, float], reach: tuple[float, float, float]) -> Float64Array:
    """1 at the middle, falling to exactly 0 at twice the reach along each axis."""
    square = (((mesh.points.astype(np.float64) - middle) / (2.0 * np.array(reach))) ** 2).sum(axis=1)
    result: Float64Array = np.maximum(1.0 - square, 0.0) ** 3
    return result


def breath(cycles: Float64Array) -> Float64Array:
    """How full the chest is, 0 to 1, after so many breaths (F,): in quicker than out, a rest in between."""
    phase = cycles % 1.0
    inhale, exhale = 0.38, 0.85  # shares of a breath at which it is full, and empty again
    rising = 0.5 - 0.5 * np.cos(np.pi * np.clip(phase / inhale, 0.0, 1.0))
    falling = 0.5 + 0.5 * np.cos(np.pi * np.clip((phase - inhale) / (exhale - inhale), 0.0, 1.0))
    return np.where(phase < inhale, rising, falling)


def breathe(
    skeleton: Skeleton, *, duration: Positive = 4.0, frame_rate: Positive = 48.0, period: Positive = PERIOD
) -> JointAnimation:
    """Stand and breathe, the tail swaying a little.

    Args:
        skeleton: of the creature.
        duration: of the animation [s].
        frame_rate: samples per second.
        period: of a breath [s].
    """
    check_arguments(breathe, locals())
    posing = Posing(skeleton, sample_times(duration, frame_rate))
    cycles = posing.times / period
    full = breath(cycles)
    posing.turn("chest", "x", -math.radians(0.6) * full)
    posing.turn("neck_1", "x", -math.radians(0.8) * full)
    posing.turn("head", "x", math.radians(1.0) * full)
    for number in range(1, 6):
        posing.turn(f"tail_{number}", "y", TAIL_SWAY * np.sin(np.pi * cycles - 0.5 * number))
    stand(posing)
    return posing.animation(full[:, None])
