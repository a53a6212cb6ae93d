"""Poses, twists and the ready-made motions; keyframes and files have tests of their own."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mane.body.motion import Motion, Pose, Twist, sample_within_frame
from mane.body.motion_presets import MOTIONS, SHIFT_PER_RADIAN, PresetMotion, make_motion
from mane.geometry import quaternion

PIVOT = np.array([0.02, -0.11, 0.03])


def random_pose(rng: np.random.Generator) -> Pose:
    return Pose(rng.normal(size=3), quaternion.normalize(rng.normal(size=4)))


def angles(motion: Motion, time: float) -> np.ndarray:
    """The rotation vector of the pose [rad], which for a turn about one axis is the angle on that axis."""
    return quaternion.log(motion.pose(time).rotation)


# -- Pose ----------------------------------------------------------------------------------------------------------


def test_pose_moves_points_like_its_matrix() -> None:
    rng = np.random.default_rng(1)
    pose, points = random_pose(rng), rng.normal(size=(7, 3))
    homogeneous = np.column_stack([points, np.ones(7)])
    np.testing.assert_allclose(pose.apply(points), (homogeneous @ pose.matrix.T)[:, :3], atol=1e-14)
    np.testing.assert_allclose(pose.inverse_apply(pose.apply(points)), points, atol=1e-14)


def test_quarter_turn_about_y_takes_z_to_x() -> None:
    pose = Pose(np.array([0.0, 1.0, 0.0]), quaternion.from_axis_angle([0.0, 1.0, 0.0], math.pi / 2))
    np.testing.assert_allclose(pose.apply([0.0, 0.0, 1.0]), [1.0, 1.0, 0.0], atol=1e-15)


def test_compose_and_inverse_are_those_of_the_matrices() -> None:
    rng = np.random.default_rng(2)
    a, b = random_pose(rng), random_pose(rng)
    np.testing.assert_allclose(a.compose(b).matrix, a.matrix @ b.matrix, atol=1e-14)
    np.testing.assert_allclose(a.inverse().matrix, np.linalg.inv(a.matrix), atol=1e-14)
    np.testing.assert_allclose(Pose.identity().compose(a).matrix, a.matrix, atol=1e-15)


def test_pose_from_matrix_is_the_inverse_of_matrix() -> None:
    pose = random_pose(np.random.default_rng(3))
    np.testing.assert_allclose(Pose.from_matrix(pose.matrix).matrix, pose.matrix, atol=1e-14)


def test_pose_keeps_the_precision_of_its_points_and_cannot_be_changed() -> None:
    pose = random_pose(np.random.default_rng(4))
    points = np.ones((2, 3), np.float32)
    assert pose.apply(points).dtype == np.float32
    assert pose.inverse_apply(points).dtype == np.float32
    assert pose.apply(points.astype(np.float64)).dtype == np.float64
    assert pose.apply([[1, 2, 3]]).dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        pose.position[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        pose.matrix[0, 0] = 1.0


def test_pose_leaves_the_callers_array_alone() -> None:
    position, rotation = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    pose = Pose(position, rotation)
    position[0] = 5.0
    rotation[0] = 5.0
    np.testing.assert_array_equal(pose.position, 0.0)
    np.testing.assert_array_equal(pose.rotation, [0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("position", "rotation", "message"),
    [
        ([0, 0], [0, 0, 0, 1], r"pose.position: must have shape \(3,\), got \(2,\)"),
        ([0, np.nan, 0], [0, 0, 0, 1], "pose.position: must be finite, got nan"),
        ([0, 0, 0], [0, 0, 0, 2], "pose.rotation: must be a unit quaternion"),
        ([0, 0, 0], [0, 0, 0, 0], "pose.rotation: must be a unit quaternion"),
        ([0, 0, 0], [1e200, 1e200, 0, 0], "pose.rotation: must be a unit quaternion"),
    ],
)
def test_bad_poses_are_refused(position: list[float], rotation: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pose(np.array(position), np.array(rotation))


def test_rounded_quaternion_is_normalised() -> None:
    pose = Pose(np.zeros(3), np.array([0.7071, 0.0, 0.0, 0.7071]))
    assert np.linalg.norm(pose.rotation) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m * np.array([2, 2, 2, 1.0]), "length 1"),
        (lambda m: m * np.array([-1, 1, 1, 1.0]), "must not mirror"),
        (lambda m: (m + np.outer([1, 2, 3, 0], [0, 0, 0, 1.0])).T, "transpose it"),
        (lambda m: m * np.nan, "must be finite"),
    ],
)
def test_matrices_that_are_not_rigid_are_refused(change, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        Pose.from_matrix(change(np.eye(4)))


# -- Twist ---------------------------------------------------------------------------------------------------------


def test_twist_is_linear_plus_angular_cross_lever() -> None:
    twist = Twist(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 2.0]), np.array([0.0, 1.0, 0.0]))
    # A point 3 m along +x from `at` moves along +y at 2 * 3 m/s on top of the linear velocity.
    np.testing.assert_allclose(twist.velocity([[3.0, 1.0, 0.0], [0.0, 1.0, 5.0]]), [[1, 6, 0], [1, 0, 0]])


def test_twist_describes_the_same_motion_from_any_point() -> None:
    rng = np.random.default_rng(5)
    twist = Twist(*rng.normal(size=(3, 3)))
    elsewhere = rng.normal(size=3)
    moved = Twist(twist.velocity(elsewhere[None])[0], twist.angular, elsewhere)
    points = rng.normal(size=(10, 3))
    np.testing.assert_allclose(moved.velocity(points), twist.velocity(points), atol=1e-14)
    # A rigid motion changes no distance: the difference of velocities is perpendicular to that of positions.
    velocity = twist.velocity(points)
    stretch = np.einsum("ij,ij->i", velocity[1:] - velocity[:-1], points[1:] - points[:-1])
    np.testing.assert_allclose(stretch, 0.0, atol=1e-14)


# -- presets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MOTIONS)
def test_velocity_is_the_derivative_of_the_pose(name: str) -> None:
    """Central differences of material points. Step 1e-6 s: rounding gives 1e-9 m/s, curvature 1e-11, and where a jump
    changes from push to flight its acceleration steps by some 40 m/s2, which gives at most 40 * 1e-6 / 2 m/s."""
    motion = make_motion(name, pivot=PIVOT, seed=3)
    local = np.random.default_rng(6).normal(size=(4, 3), scale=0.2)
    step = 1e-6
    for time in np.random.default_rng(7).uniform(-0.1, 4.0, 100):
        numeric = (motion.pose(time + step).apply(local) - motion.pose(time - step).apply(local)) / (2 * step)
        exact = motion.velocity(time).velocity(motion.pose(time).apply(local))
        np.testing.assert_allclose(exact, numeric, atol=3e-5)


@pytest.mark.parametrize("name", MOTIONS)
def test_velocity_is_continuous(name: str) -> None:
    """Halving the step halves the largest change of velocity between neighbours; a jump of it would not shrink."""
    motion = make_motion(name, pivot=PIVOT, seed=3)
    lever = np.array([[0.1, 0.2, 0.0], [0.0, -0.1, 0.2]])

    def largest_change(step: float) -> float:
        velocities = [motion.velocity(time).velocity(lever) for time in np.arange(-0.01, 2.6, step)]
        return float(np.abs(np.diff(velocities, axis=0)).max())

    coarse, fine = largest_change(8e-3), largest_change(4e-3)
    assert fine <= 0.6 * coarse + 1e-12


@pytest.mark.parametrize("name", MOTIONS)
def test_starts_from_rest_at_the_identity(name: str) -> None:
    motion = make_motion(name, pivot=PIVOT)
    for time in (-1.0, 0.0):
        np.testing.assert_allclose(motion.pose(time).matrix, np.eye(4), atol=1e-15)
        np.testing.assert_array_equal(motion.velocity(time).velocity(np.eye(3)), 0.0)
    # The ease-in starts like time cubed: in the first 1/240 s nothing moves by more than a hundredth of a millimetre.
    assert np.abs(motion.pose(1 / 240).apply(0.2 * np.eye(3)) - 0.2 * np.eye(3)).max() < 1e-5


@pytest.mark.parametrize("name", ["shake", "nod", "turn", "tilt"])
def test_turns_have_stated_amplitude_period_and_axis(name: str) -> None:
    axis = {"shake": 1, "turn": 1, "nod": 0, "tilt": 2}[name]
    motion = make_motion(name, amplitude=0.4, rate=2.0)
    times = 1.0 + np.arange(100) / 200  # one period of 0.5 s, peaks included
    turned = np.array([angles(motion, time) for time in times])
    assert turned[:, axis].max() == pytest.approx(0.4, abs=1e-12)
    assert turned[:, axis].min() == pytest.approx(-0.4, abs=1e-12)
    np.testing.assert_allclose(np.delete(turned, axis, axis=1), 0.0, atol=1e-15)
    np.testing.assert_allclose([angles(motion, time + 0.5) for time in times[:5]], turned[:5], atol=1e-12)


def test_turn_is_45_degrees_at_1_hz_unless_told_otherwise() -> None:
    motion = make_motion("turn")
    assert angles(motion, 1.25)[1] == pytest.approx(math.pi / 4)
    assert angles(motion, 1.75)[1] == pytest.approx(-math.pi / 4)


def test_rotations_leave_the_pivot_in_place() -> None:
    for name in ("shake", "nod", "turn", "tilt"):
        motion = make_motion(name, pivot=PIVOT)
        np.testing.assert_allclose(motion.pose(1.1).apply(PIVOT), PIVOT, atol=1e-15)


def test_walk_goes_forward_bobs_and_sways() -> None:
    motion = make_motion("walk", amplitude=0.03, rate=2.0)
    times = np.arange(1.0, 3.0, 1 / 64)
    way = np.array([motion.pose(time).position for time in times])
    np.testing.assert_allclose(np.diff(way[:, 2]), 0.75 * 2.0 / 64, atol=1e-12)  # step length times steps per second
    assert np.abs(way[:, 1]).max() == pytest.approx(0.03, rel=1e-2)
    assert np.abs(way[:, 0]).max() == pytest.approx(0.8 * 0.03, rel=1e-2)
    np.testing.assert_allclose(way[32:, 1], way[:-32, 1], atol=1e-12)  # one step
    np.testing.assert_allclose(way[64:, 0], way[:-64, 0], atol=1e-12)  # left and right


def test_jump_reaches_its_height_and_falls_freely() -> None:
    height = 0.25
    motion = make_motion("jump", amplitude=height, rate=0.7)
    times = np.linspace(2 / 0.7, 3 / 0.7, 1001)
    heights = np.array([motion.pose(time).position[1] for time in times])
    assert heights.max() == pytest.approx(height, abs=1e-5)  # at most 9.81 / 2 * 0.7 ms ** 2 below
    assert heights.min() < -0.05  # it crouches
    airborne = heights > 1e-6
    # Above the standing height for the whole flight, 2 sqrt(2 h / g), and with gravity's acceleration all the while.
    assert np.ptp(times[airborne]) == pytest.approx(2 * math.sqrt(2 * height / 9.81), abs=3e-3)  # two samples
    inside = np.flatnonzero(airborne)[2:-2]
    acceleration = np.diff(heights, 2)[inside - 1] / (times[1] - times[0]) ** 2
    np.testing.assert_allclose(acceleration, -9.81, atol=1e-6)


def test_random_is_bounded_repeatable_and_different_for_another_seed() -> None:
    amplitude = 0.5
    motion = make_motion("random", amplitude=amplitude, seed=1)
    same, other = make_motion("random", amplitude=amplitude, seed=1), make_motion("random", amplitude=amplitude, seed=2)
    for time in np.linspace(0.0, 20.0, 200):
        pose = motion.pose(time)
        np.testing.assert_array_equal(pose.matrix, same.pose(time).matrix)
        assert np.abs(pose.position).max() <= SHIFT_PER_RADIAN * amplitude
        # Yaw, pitch and roll of at most `amplitude` each turn by at most three times that.
        assert np.linalg.norm(quaternion.log(pose.rotation)) <= 3 * amplitude
    assert np.abs(motion.pose(5.0).matrix - other.pose(5.0).matrix).max() > 0.01


def test_random_has_no_frequency_above_its_rate() -> None:
    rate, window = 1.5, 64.0
    motion = make_motion("random", rate=rate, seed=4)
    times = 1.0 + np.arange(0.0, window, 1 / 16)
    signal = np.array([motion.pose(time).position[0] for time in times]) * np.hanning(len(times))
    power = np.abs(np.fft.rfft(signal)) ** 2
    frequency = np.fft.rfftfreq(len(times), 1 / 16)
    # A Hann window spreads a line over two bins, 2 / 64 Hz, and falls with the sixth power beyond.
    assert power[frequency > rate + 0.2].sum() < 1e-6 * power.sum()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"name": "wobble"},
            "motion: 'wobble' is unknown; choose from dance, jump, look, nod, random, shake, still, tilt, turn, walk",
        ),
        ({"name": "nod", "rate": 0.0}, "rate: must be above 0, got 0.0"),
        ({"name": "nod", "amplitude": -1.0}, "amplitude: must be at least 0, got -1.0"),
        ({"name": "nod", "amplitude": math.nan}, "amplitude: must be at least 0, got nan"),
        ({"name": "nod", "ease_in": 0.0}, "ease_in: must be above 0"),
        ({"name": "nod", "pivot": (0, 0)}, r"pivot: must have shape \(3,\), got \(2,\)"),
        ({"name": "jump", "amplitude": 3.0}, "jump: must spend at most 60% of its time in the air"),
    ],
)
def test_bad_settings_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_motion(**arguments)


def test_remedy_of_the_jump_message_works() -> None:
    with pytest.raises(ValueError, match=r"lower the rate to 0\.384 Hz"):
        make_motion("jump", amplitude=3.0)
    assert make_motion("jump", amplitude=3.0, rate=0.383).pose(3.0).position[1] < 3.0


def test_zero_amplitude_is_still() -> None:
    for name in set(MOTIONS) - {"walk"}:
        np.testing.assert_allclose(make_motion(name, amplitude=0.0).pose(1.3).matrix, np.eye(4), atol=1e-15)


def test_time_must_be_finite() -> None:
    with pytest.raises(ValueError, match="time: must be a finite number of seconds, got nan"):
        make_motion("nod").pose(math.nan)


def test_presets_are_motions_without_teleports() -> None:
    motion = make_motion("walk")
    assert isinstance(motion, Motion)
    assert isinstance(motion, PresetMotion)
    assert motion.teleports == ()
    assert not motion.teleported(-10.0, 10.0)


def test_unknown_channels_are_refused() -> None:
    with pytest.raises(ValueError, match="channels: 'heave' is unknown; choose from pitch, roll, x, y, yaw, z"):
        PresetMotion({"heave": lambda time: (0.0, 0.0)})


# -- within a frame ------------------------------------------------------------------------------------------------


def test_substeps_divide_the_frame_and_end_exactly_at_its_end() -> None:
    motion = make_motion("walk")
    start, end = 1.1, 1.1 + 1 / 24
    poses = sample_within_frame(motion, start, end, 5)
    assert len(poses) == 5
    np.testing.assert_array_equal(poses[-1].matrix, motion.pose(end).matrix)
    np.testing.assert_allclose(poses[1].matrix, motion.pose(start + 0.4 * (end - start)).matrix, atol=1e-14)
    with pytest.raises(ValueError, match="substeps: must be at least 1, got 0"):
        sample_within_frame(motion, start, end, 0)


def test_a_pose_on_the_way_to_another_turns_steadily_the_shorter_way() -> None:
    rng = np.random.default_rng(5)
    for start, end in quaternion.random(20, rng).reshape(10, 2, 4).astype(np.float64):
        a, b = Pose(np.zeros(3), start), Pose(np.ones(3), -end)
        there = a.toward(b, 0.3)
        np.testing.assert_allclose(there.position, 0.3, rtol=1e-15)
        expected = quaternion.slerp(a.rotation, b.rotation, 0.3)
        # q and -q are the same rotation
        assert abs(abs(float(there.rotation @ expected)) - 1.0) < 1e-14


def test_a_tiny_turn_keeps_its_digits_on_the_way() -> None:
    turned = Pose(np.zeros(3), quaternion.exp([0.0, 1e-6, 0.0]))
    np.testing.assert_allclose(Pose.identity().toward(turned, 0.5).rotation[1], 0.25e-6, rtol=1e-9)
