"""Motions through keys: smooth between them, exact at them, and never smeared across a teleport."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mane.body.motion import Motion
from mane.body.motion_keys import MAX_SPEED, MAX_SPIN, KeyframedMotion
from mane.body.motion_presets import make_motion
from mane.geometry import quaternion

Y_AXIS = np.array([0.0, 1.0, 0.0])


def smooth_keys(seed: int = 0, count: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unevenly spaced keys whose neighbours turn by less than half a radian or so, some with q and -q exchanged."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.05, 0.2, count))
    positions = np.cumsum(rng.normal(scale=0.05, size=(count, 3)), axis=0)
    rotations = [quaternion.normalize(rng.normal(size=4))]
    for _ in range(count - 1):
        rotations.append(quaternion.multiply(rotations[-1], quaternion.exp(rng.normal(scale=0.2, size=3))))
    signs = rng.choice([-1.0, 1.0], size=(count, 1))
    return times, positions, np.array(rotations) * signs


def assert_same_pose(motion: Motion, time: float, position: np.ndarray, rotation: np.ndarray) -> None:
    pose = motion.pose(time)
    np.testing.assert_allclose(pose.position, position, atol=1e-14)
    # 2 asin of a sine rounded to 1e-16 is good to some 1e-15; an angle read from a cosine would not be.
    assert quaternion.angle_between(pose.rotation, rotation) < 1e-14


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 8))
def test_passes_through_its_keys(seed: int, count: int) -> None:
    times, positions, rotations = smooth_keys(seed, count)
    motion = KeyframedMotion(times, positions, rotations)
    assert motion.teleports == ()
    for key in zip(times, positions, rotations, strict=True):
        assert_same_pose(motion, *key)


@pytest.mark.parametrize("seed", range(5))
def test_velocity_is_the_derivative_of_the_pose(seed: int) -> None:
    """Central differences with step 1e-6 s: rounding 1e-9 m/s, curvature (third derivative about 1e4 m/s3) 1e-9."""
    motion = KeyframedMotion(*smooth_keys(seed))
    local = np.random.default_rng(1).normal(size=(3, 3), scale=0.2)
    step = 1e-6
    for time in np.linspace(motion.times[0] + step, motion.times[-1] - step, 61):
        numeric = (motion.pose(time + step).apply(local) - motion.pose(time - step).apply(local)) / (2 * step)
        exact = motion.velocity(time).velocity(motion.pose(time).apply(local))
        # At a key the acceleration steps, by up to some 200 m/s2: half of that times the step.
        np.testing.assert_allclose(exact, numeric, atol=1e-4)


def test_velocity_is_continuous_at_keys() -> None:
    motion = KeyframedMotion(*smooth_keys(2))
    for time in motion.times[1:-1]:
        before, after = motion.velocity(time - 1e-9), motion.velocity(time)
        # Accelerations of some 1e3 rad/s2 change the velocity by 1e-6 in that time.
        np.testing.assert_allclose(before.linear, after.linear, atol=2e-6)
        np.testing.assert_allclose(before.angular, after.angular, atol=2e-6)


def test_straight_steady_motion_is_reproduced() -> None:
    times = np.array([0.0, 0.1, 0.35, 0.4, 1.0])
    speed, spin = np.array([1.0, -2.0, 0.5]), np.array([1.0, 2.0, -1.5])
    rotations = quaternion.exp(times[:, None] * spin)
    motion = KeyframedMotion(times, times[:, None] * speed, rotations)
    for time in np.linspace(0.0, 1.0, 33):
        assert_same_pose(motion, time, time * speed, quaternion.exp(time * spin))
        twist = motion.velocity(time)
        np.testing.assert_allclose(twist.linear, speed, atol=1e-13)
        np.testing.assert_allclose(twist.angular, spin, atol=1e-13)


def test_even_keys_of_a_smooth_motion_converge_with_third_order() -> None:
    """Slopes from even neighbours are good to the second order, so positions between keys are good to the third."""
    truth = make_motion("random", seed=5, amplitude=0.6)
    between = np.linspace(1.0, 2.0, 41)

    def error(spacing: float) -> float:
        times = np.arange(0.5, 2.5 + spacing / 2, spacing)
        poses = [truth.pose(time) for time in times]
        motion = KeyframedMotion(times, [p.position for p in poses], [p.rotation for p in poses])
        marks = 0.2 * np.eye(3)
        return max(float(np.abs(motion.pose(t).apply(marks) - truth.pose(t).apply(marks)).max()) for t in between)

    assert error(1 / 12) / error(1 / 24) > 6.0  # 2 ** 3 in the limit
    assert error(1 / 24) < 1e-4


def test_turns_the_shorter_way_whatever_the_signs() -> None:
    for sign in (1.0, -1.0):
        rotations = np.stack([quaternion.exp(0.2 * Y_AXIS), sign * quaternion.exp(-0.2 * Y_AXIS)])
        motion = KeyframedMotion([0.0, 1.0], np.zeros((2, 3)), rotations)
        np.testing.assert_allclose(quaternion.log(motion.pose(0.5).rotation), 0.0, atol=1e-15)
        np.testing.assert_allclose(motion.velocity(0.5).angular, [0.0, -0.4, 0.0], atol=1e-14)


def test_constant_beyond_the_ends() -> None:
    times, positions, rotations = smooth_keys(3)
    motion = KeyframedMotion(times, positions, rotations)
    assert_same_pose(motion, times[0] - 5.0, positions[0], rotations[0])
    assert_same_pose(motion, times[-1] + 5.0, positions[-1], rotations[-1])
    for time in (times[0] - 5.0, times[-1] + 5.0):
        np.testing.assert_array_equal(motion.velocity(time).velocity(np.eye(3)), 0.0)


def test_single_key_stands_still() -> None:
    motion = KeyframedMotion([1.0], [[1.0, 2.0, 3.0]], [[0.0, 0.0, 0.0, 1.0]])
    for time in (0.0, 1.0, 2.0):
        np.testing.assert_array_equal(motion.pose(time).position, [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(motion.velocity(time).linear, 0.0)


# -- teleports -----------------------------------------------------------------------------------------------------


def two_pieces(**settings: object) -> KeyframedMotion:
    """Half a second at 1 m/s along x, then a jump of 10 m up and half a turn, then half a second at 2 m/s along z."""
    times = np.arange(10) * 0.1
    positions = np.zeros((10, 3))
    positions[:5, 0] = times[:5]
    positions[5:] = [0.0, 10.0, 0.0]
    positions[5:, 2] = 2 * (times[5:] - times[5])
    rotations = np.tile([0.0, 0.0, 0.0, 1.0], (10, 1))
    rotations[5:] = quaternion.exp(0.9 * math.pi * Y_AXIS)
    return KeyframedMotion(times, positions, rotations, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [{}, {"jumps": [5], "max_speed": math.inf, "max_spin": math.inf}])
def test_teleport_does_not_blend(settings: dict) -> None:
    motion = two_pieces(**settings)
    assert motion.teleports == (pytest.approx(0.5),)
    for time in np.linspace(0.0, 0.4999, 40):
        np.testing.assert_allclose(motion.pose(time).position, [time, 0.0, 0.0], atol=1e-14)
        np.testing.assert_allclose(motion.velocity(time).linear, [1.0, 0.0, 0.0], atol=1e-13)
        np.testing.assert_array_equal(motion.velocity(time).angular, 0.0)
    for time in np.linspace(motion.times[5], 0.9, 40):
        np.testing.assert_allclose(motion.pose(time).position, [0.0, 10.0, 2 * (time - 0.5)], atol=1e-14)
        np.testing.assert_allclose(motion.velocity(time).linear, [0.0, 0.0, 2.0], atol=1e-13)
        np.testing.assert_allclose(motion.velocity(time).angular, 0.0, atol=1e-13)


def test_unflagged_jump_below_the_threshold_is_motion() -> None:
    motion = two_pieces(max_speed=math.inf, max_spin=math.inf)
    assert motion.teleports == ()
    assert 1.0 < motion.pose(0.45).position[1] < 9.0


def test_each_frame_sees_a_teleport_once() -> None:
    motion = two_pieces()
    jump = motion.teleports[0]
    assert motion.teleported(0.4, jump)
    assert not motion.teleported(jump, 0.6)
    frames = np.arange(0, 1.0, 1 / 24)
    seen = [motion.teleported(start, end) for start, end in pairwise(frames)]
    assert sum(seen) == 1


@pytest.mark.parametrize(("factor", "expected"), [(0.99, 0), (1.01, 1)])
def test_thresholds_are_speeds_not_distances(factor: float, expected: int) -> None:
    still = np.tile([0.0, 0.0, 0.0, 1.0], (2, 1))
    for span in (0.001, 0.1, 2.0):
        far = [[0, 0, 0], [0, factor * MAX_SPEED * span, 0]]
        assert len(KeyframedMotion([0, span], far, still).teleports) == expected
    for span in (0.001, 0.04):  # more than half a turn cannot be told from less
        turned = np.stack([still[0], quaternion.exp(factor * MAX_SPIN * span * Y_AXIS)])
        assert len(KeyframedMotion([0, span], np.zeros((2, 3)), turned).teleports) == expected


def test_neighbouring_teleports_make_single_key_pieces() -> None:
    still = np.tile([0.0, 0.0, 0.0, 1.0], (3, 1))
    motion = KeyframedMotion([0.0, 0.1, 0.2], [[0, 0, 0], [1, 0, 0], [2, 0, 0]], still, jumps=[1, 2])
    assert motion.teleports == (0.1, 0.2)
    assert motion.pose(0.15).position[0] == 1.0
    np.testing.assert_array_equal(motion.velocity(0.15).linear, 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"times": []}, "times: must hold at least one key, got none"),
        ({"times": [0.0, 0.2, 0.2]}, "times: must rise from key to key, got 0.2 after 0.2 s at key 2"),
        ({"times": [0.0, 1e-320, 1.0]}, "times: must rise from key to key, got 9.99989e-321 after 0 s at key 1"),
        ({"times": [0.0, np.nan, 1.0]}, "times: must be finite, got nan at index 1"),
        ({"positions": np.zeros((2, 3))}, r"positions: must have shape \(3, 3\), got \(2, 3\)"),
        ({"rotations": np.zeros((3, 4))}, r"rotations\[0\]: must be a unit quaternion"),
        ({"jumps": [3]}, "jumps: must be indices from 1 to 2 of the keys reached by a jump, got 3"),
        ({"jumps": [0]}, "jumps: must be indices from 1 to 2"),
    ],
)
def test_bad_keys_are_refused(change: dict, message: str) -> None:
    keys = {"times": [0.0, 1.0, 2.0], "positions": np.zeros((3, 3)), "rotations": np.tile([0, 0, 0, 1.0], (3, 1))}
    with pytest.raises(ValueError, match=message):
        KeyframedMotion(**{**keys, **change})
