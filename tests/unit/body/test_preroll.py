"""From the rest pose to where a shot begins: smooth, exact at both ends, without collapsing what turns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mane.body.mesh import Mesh
from mane.body.motion import Pose, Twist
from mane.body.preroll import HeldMotion, Morph, needs_preroll, rigid_fit, twist_about, with_preroll
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.geometry import quaternion

FRAME = 1 / 24
UP = np.array([0.0, 1.0, 0.0])


def tube(rings=40, around=12, radius=0.05, length=0.8):
    """A closed tube along x that can be bent like a limb."""
    x = np.linspace(0, length, rings)
    angle = 2 * np.pi * np.arange(around) / around
    ring = np.stack([np.zeros(around), radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    points = (ring[None] + np.stack([x, 0 * x, 0 * x], axis=1)[:, None]).reshape(-1, 3)
    a = (np.arange(rings - 1)[:, None] * around + np.arange(around)).ravel()
    b = (np.arange(rings - 1)[:, None] * around + np.roll(np.arange(around), -1)).ravel()
    walls = np.concatenate([np.stack([a, b, b + around], 1), np.stack([a, b + around, a + around], 1)])
    caps = [
        np.stack([np.full(around, len(points) + k), np.roll(np.arange(around), s), np.arange(around)], 1)
        for k, s in ((0, -1), (1, 1))
    ]
    caps[1][:, 1:] += (rings - 1) * around
    ends = np.array([[0.0, 0, 0], [length, 0, 0]])
    return Mesh(np.concatenate([points, ends]), np.concatenate([walls, *caps]))


def bent(points, angle, length=0.8):
    """The tube bent into an arc of this angle [rad] in the plane of x and y."""
    r = length / angle
    phi = points[:, 0] / r
    return np.stack([(r - points[:, 1]) * np.sin(phi), r - (r - points[:, 1]) * np.cos(phi), points[:, 2]], axis=1)


def shot(mesh, first, velocity=0.0, count=6, motion=None):
    """An animation that begins with the points `first` and moves on with a `velocity` [m/s]."""
    times = FRAME * np.arange(count)
    frames = np.stack([first + time * np.broadcast_to(velocity, first.shape) for time in times])
    return Solid.animated(mesh, times, frames.astype(np.float32), motion)


def edge_lengths(mesh, points):
    pairs = np.sort(np.concatenate([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]], mesh.faces[:, [2, 0]]]), axis=1)
    pairs = np.unique(pairs, axis=0)
    return np.linalg.norm(points[pairs[:, 0]].astype(float) - points[pairs[:, 1]], axis=1)


def samples(body, before=0.0):
    """All points before a time, (F, N, 3), and those times."""
    animation = body.animation
    times = animation.times[animation.times <= before]
    return np.stack([animation.points(time) for time in times]), times


def test_it_begins_in_the_rest_pose_and_ends_in_the_first_sample():
    mesh = tube()
    first = bent(mesh.points, 1.5) + [0.0, 0.3, 0.0]
    body = with_preroll(shot(mesh, first), 0.0, 1.0, FRAME, UP)
    points, times = samples(body)
    assert_allclose(times, np.linspace(-1, 0, 25), atol=1e-12)
    assert_array_equal(points[-1], first.astype(np.float32))
    # The rest pose, moved and turned about the vertical alone: all heights are those of the rest pose, shifted.
    assert_allclose(np.ptp(points[0][:, 1] - mesh.points[:, 1]), 0, atol=1e-6)
    assert_allclose(edge_lengths(mesh, points[0]), edge_lengths(mesh, mesh.points), atol=1e-6)
    later = body.animation
    for time in (0.3 * FRAME, FRAME, 4.2 * FRAME, 9.0):
        assert_array_equal(later.points(time), shot(mesh, first).animation.points(time))


def test_a_limb_that_bends_by_a_right_angle_keeps_its_length():
    """On straight lines its middle would be cut short by a tenth and its end turned by nothing in between."""
    mesh = tube()
    goal = bent(mesh.points, np.pi)
    points, _ = samples(with_preroll(shot(mesh, goal), 0.0, 1.0, FRAME, UP))
    lengths = np.stack([edge_lengths(mesh, one) for one in points])
    low, high = np.minimum(lengths[0], lengths[-1]), np.maximum(lengths[0], lengths[-1])
    assert (lengths / low).min() > 0.97
    assert (lengths / high).max() < 1.03
    straight = edge_lengths(mesh, 0.5 * (points[0] + points[-1]))
    assert (straight / low).min() < 0.75


@pytest.mark.parametrize("axis", [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [1.0, 1.0, 0.3]])
def test_a_character_that_is_turned_round_keeps_its_edges(axis):
    mesh = tube()
    goal = quaternion.rotate(quaternion.from_axis_angle(np.array(axis), np.pi), bent(mesh.points, 0.6))
    points, _ = samples(with_preroll(shot(mesh, goal), 0.0, 1.0, FRAME, UP))
    lengths = np.stack([edge_lengths(mesh, one) for one in points])
    assert np.abs(lengths / lengths[0] - 1).max() < 0.1


def test_it_is_smooth_and_enters_the_shot_with_its_velocity():
    """No frame changes the velocity by more than the largest acceleration allows; nor does the first of the shot."""
    mesh = tube()
    first = bent(mesh.points, 1.0)
    spin = np.cross([0.0, 0.8, 0.3], first - first.mean(axis=0))
    velocity = np.array([1.5, 0.0, 0.4]) + spin + 0.3 * np.sin(9 * mesh.points[:, :1])
    body = with_preroll(shot(mesh, first, velocity), 0.0, 1.0, FRAME, UP)
    points, times = samples(body, before=3 * FRAME)
    speeds = np.diff(points.astype(np.float64), axis=0) / np.diff(times)[:, None, None]
    assert np.linalg.norm(speeds[0], axis=1).max() < 0.02
    assert_allclose(speeds[-1], velocity, atol=1e-3)
    change = np.linalg.norm(np.diff(speeds, axis=0), axis=2).max(axis=1)
    fastest = np.linalg.norm(speeds, axis=2).max()
    assert change.max() < 0.2 * fastest
    into_the_shot = change[-3]  # between the last interval before time 0 and the first after it
    assert into_the_shot < 0.1 * fastest


def test_a_run_up_goes_forward():
    """A character that runs into the shot does not step back first."""
    mesh = tube()
    body = with_preroll(shot(mesh, bent(mesh.points, 1.0), [4.0, 0, 0]), 0.0, 1.0, FRAME, UP)
    middle = samples(body)[0].mean(axis=1)
    assert np.diff(middle[:, 0]).min() > -1e-6
    assert middle[-1, 0] - middle[0, 0] == pytest.approx(2.0, abs=1e-3)


def test_a_violent_start_does_not_blow_the_body_up():
    """A shake of 30 rad/s: points wind up by little before they are thrown."""
    mesh = tube()
    first = bent(mesh.points, 1.0)
    velocity = np.cross([30.0, 0.0, 0.0], first - first.mean(axis=0)) + 3 * np.sin(40 * mesh.points[:, :1])
    points, _ = samples(with_preroll(shot(mesh, first, velocity), 0.0, 1.0, FRAME, UP))
    size = np.linalg.norm(np.ptp(points, axis=1), axis=1)
    assert size.max() < 1.2 * max(size[0], size[-1])


def test_parts_that_hang_on_nothing_come_along():
    one = tube(rings=10)
    eye = Sphere((0.3, 0.2, 0.0), 0.02).mesh(8)
    mesh = Mesh(np.concatenate([one.points, eye.points]), np.concatenate([one.faces, eye.faces + one.vertex_count]))
    goal = mesh.points.copy()
    goal[: one.vertex_count] = bent(one.points, 2.0)
    goal[one.vertex_count :] += np.float32([0.0, 0.4, 0.0])
    morph = Morph(mesh.points.astype(float), goal.astype(float), mesh.faces)
    assert_allclose(morph.at(0.5)[one.vertex_count :], eye.points + [0.0, 0.2, 0.0], atol=1e-5)
    assert_allclose(morph.at(1.0), goal, atol=1e-6)


def test_collapsed_triangles_leave_no_nan():
    mesh = tube(rings=8)
    goal = mesh.points.astype(float).copy()
    goal[:24] = goal[0]
    assert np.isfinite(Morph(mesh.points.astype(float), goal, mesh.faces).at(0.4)).all()
    assert np.isfinite(Morph(goal, mesh.points.astype(float), mesh.faces).at(0.4)).all()


def test_a_shot_that_begins_in_the_rest_pose_needs_none():
    mesh = tube()
    anywhere = quaternion.rotate(quaternion.exp(np.array([0.5, 2.0, 0.1])), mesh.points.astype(float)) + [3.0, 1.0, 0.0]
    assert not needs_preroll(shot(mesh, mesh.points).animation, 0.0)
    assert not needs_preroll(shot(mesh, anywhere).animation, 0.0)
    assert not needs_preroll(shot(mesh, bent(mesh.points, 0.01)).animation, 0.0)
    assert needs_preroll(shot(mesh, bent(mesh.points, 0.3)).animation, 0.0)


def test_it_may_end_in_the_middle_of_an_animation():
    mesh = tube()
    body = shot(mesh, bent(mesh.points, 1.0), [1.0, 0, 0])
    time = 2.5 * FRAME
    longer = with_preroll(body, time, 0.5, FRAME, UP).animation
    assert_allclose(longer.times[:2], [time - 0.5, time - 0.5 + 0.5 / 12])
    for t in (time, time + 0.3 * FRAME, 4 * FRAME):
        assert_allclose(longer.points(t), body.animation.points(t), atol=1e-6)


def test_the_body_s_own_motion_has_not_begun():
    class Rising:
        teleports = (0.5, 2.0)

        def teleported(self, start, end):
            return any(start < one <= end for one in self.teleports)

        def pose(self, time):
            return Pose(np.array([0.0, time, 0.0]), np.array([0.0, 0, 0, 1]))

        def velocity(self, time):
            return Twist(np.array([0.0, 1.0, 0.0]), np.zeros(3), np.zeros(3))

    held = HeldMotion(Rising(), 1.0)
    assert held.teleports == (2.0,)
    assert not held.teleported(0.0, 1.0)
    assert held.teleported(1.5, 2.5)
    assert [held.pose(time).position[1] for time in (-3.0, 1.0, 1.5)] == [1.0, 1.0, 1.5]
    assert [held.velocity(time).linear[1] for time in (0.5, 1.5)] == [0.0, 1.0]


def test_rigid_fit_and_twist():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(50, 3))
    turn = quaternion.normalize(rng.normal(size=4))
    rotation, here, there = rigid_fit(points, quaternion.rotate(turn, points) + [1.0, 2, 3])
    assert quaternion.angle_between(rotation, turn) < 1e-6
    assert_allclose(there - quaternion.rotate(turn, here), [1.0, 2, 3])
    swing = quaternion.from_axis_angle(np.array([1.0, 0, 0.5]), 0.7)
    yaw = quaternion.from_axis_angle(UP, 2.1)
    assert quaternion.angle_between(twist_about(quaternion.multiply(swing, yaw), 9.81 * UP), yaw) < 1e-7
    assert_array_equal(twist_about(turn, np.zeros(3)), turn)
