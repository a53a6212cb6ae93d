"""A character that is elsewhere from one sample to the next is nowhere in between."""

from itertools import pairwise

import numpy as np
import pytest

from mane.body.animated import AnimatedMesh
from mane.body.shapes import Sphere

FRAME = 1 / 24
BALL = Sphere((0.0, 0.0, 0.0), 0.1).mesh(16)


def animated(*places, factor=1.0):
    """A ball that is at these places [m] at one frame after the other."""
    frames = np.stack([BALL.points * np.float32(factor) + np.float32(place) for place in places])
    return AnimatedMesh(BALL, FRAME * np.arange(len(places)), frames)


CUT = animated([0, 0, 0], [0.1, 0, 0], [5, 0, 0], [5.1, 0, 0])


@pytest.mark.parametrize(
    ("time", "x"), [(0.5, 0.05), (1.0, 0.1), (1.0 + 1e-9, 0.1), (1.001, 5.0), (1.5, 5.0), (2.5, 5.05)]
)
def test_after_the_last_sample_before_a_cut_the_mesh_is_at_the_next(time, x):
    for points in (CUT.points(time * FRAME), CUT.precise_points(time * FRAME)):
        np.testing.assert_allclose(points, BALL.points + [x, 0, 0], atol=1e-6)


def test_nothing_moves_within_a_cut():
    assert not CUT.velocities(1.5 * FRAME).any()
    np.testing.assert_allclose(CUT.velocities(0.5 * FRAME)[:, 0], 2.4, rtol=1e-4)


@pytest.mark.parametrize("shift", [-1e-12, 0.0, 1e-12])
def test_a_cut_belongs_to_one_frame_however_its_times_are_rounded(shift):
    times = FRAME * np.arange(4) + shift
    assert [CUT.has_cut(start, end) for start, end in pairwise(times)] == [False, True, False]
    # Half frames: the first half has it.
    halves = FRAME * np.arange(0, 3.5, 0.5) + shift
    assert [CUT.has_cut(*pair) for pair in pairwise(halves)] == [n == 2 for n in range(6)]


def test_long_steps_and_times_outside_find_it_too():
    assert CUT.has_cut(-1.0, 10.0)
    assert not CUT.has_cut(-1.0, 0.0)
    assert not CUT.has_cut(1.0, 2.0)
    assert not AnimatedMesh(BALL, [0.0], BALL.points[None]).has_cut(-1.0, 1.0)


def test_steady_flight_and_a_thrown_arm_are_no_cuts():
    flight = animated([0, 0, 0], [2, 0, 0], [4, 0, 0], [6, 0, 0])  # 48 m/s
    assert not flight.has_cut(-1.0, 1.0)
    np.testing.assert_allclose(flight.points(0.5 * FRAME), BALL.points + [1, 0, 0], atol=1e-6)
    arm = np.stack([BALL.points, BALL.points, np.where(BALL.points[:, :1] > 0.0, BALL.points + 4, BALL.points)])
    assert not AnimatedMesh(BALL, FRAME * np.arange(3), arm.astype(np.float32)).has_cut(-1.0, 1.0)


def test_a_flight_that_begins_with_a_cut():
    both = animated([0, 0, 0], [0, 0, 0], [9, 0, 0], [11, 0, 0], [13, 0, 0])
    assert [both.has_cut(n * FRAME, (n + 1) * FRAME) for n in range(4)] == [False, True, False, False]
