"""Canonical space: controls against plain NumPy, and what must not depend on where a head stands."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from learned_hair import poses_of, strands, turned
from mane.body.motion_presets import make_motion
from mane.reduced._kernels_controls import STEP_COUNT
from mane.reduced.canonical import (
    BodyTrack,
    BustSpace,
    HeadSpace,
    body_points,
    fitted_poses,
    relative_motion,
    to_canonical,
    to_world,
)
from mane.reduced.factors import Factor, corner_weights


def heads(frames=20, seed=1):
    return poses_of(make_motion("random", amplitude=0.8, rate=2.0, seed=seed), frames, 30.0)


def test_controls_of_the_head_are_those_of_rotation_matrices():
    poses = heads()
    space = HeadSpace.learned(body_points(strands()[:, 0]), [BodyTrack(poses)], False)
    found = space.controls(BodyTrack(poses), poses)
    turn = Rotation.from_quat(poses[:, 3:])
    for t in range(STEP_COUNT, len(poses)):
        back = turn[t].inv()
        expected = [back.apply([0, -1, 0]) + [0, 1, 0]]
        steps = [back.apply(poses[t - a, :3] - poses[t - a - 1, :3]) for a in range(STEP_COUNT)]
        expected += [steps[0], *(steps[a] - steps[a + 1] for a in range(STEP_COUNT - 1))]
        expected += [(turn[t - a - 1].inv() * turn[t - a]).as_rotvec() for a in range(STEP_COUNT)]
        np.testing.assert_allclose(found[t], np.concatenate(expected), atol=1e-12)


def test_an_upright_head_that_stands_still_is_all_zero():
    poses = np.tile(np.array([1.0, 2.0, 3.0, 0.0, np.sin(0.4), 0.0, np.cos(0.4)]), (4, 1))
    space = HeadSpace.learned(body_points(strands()[:, 0]), [BodyTrack(poses)], False)
    np.testing.assert_allclose(space.controls(BodyTrack(poses), poses), 0, atol=1e-15)


@pytest.mark.parametrize("kind", [HeadSpace, BustSpace])
def test_where_a_head_stands_and_faces_makes_no_difference(kind):
    poses, body = heads(), body_points(strands()[:, 0])
    space = kind.learned(body, [BodyTrack(poses)], False)
    elsewhere = turned(poses, 1.1)
    first, second = (space.controls(BodyTrack(p), space.frames(BodyTrack(p))) for p in (poses, elsewhere))
    np.testing.assert_allclose(first, second, atol=1e-9)


def test_a_rigid_bust_has_the_rank_of_its_rotation_and_no_more():
    """Vertices are linear in the rotation within canonical space: a tilt, whose nine entries span at most 8 directions
    beside the mean (those of a rotation about Y are fixed by the head facing +Z)."""
    poses, body = heads(60), body_points(strands(80)[:, 0])
    space = BustSpace.learned(body, [BodyTrack(poses)], False)
    assert 3 <= space.body_count <= 8
    assert HeadSpace.learned(body, [BodyTrack(poses)], False).body_count == 0


def test_a_body_that_moves_against_the_head_is_seen():
    poses, body = heads(40), body_points(strands(30)[:, 0])
    lift = np.sin(np.arange(40) / 5)[:, None, None] * np.where(body.rest[:, 1:2] < 0, 0.02, 0.0) * np.array([0, 1, 0])
    points = to_world(poses, body.rest + lift)
    space = HeadSpace.learned(body, [BodyTrack(poses, points)], False)
    assert space.body_count == 1
    found = space.controls(BodyTrack(poses, points), poses)[:, 0]
    np.testing.assert_allclose(np.abs(found), np.linalg.norm(lift.reshape(40, -1), axis=1), atol=1e-9)


def test_z_is_eq_7():
    frames = BustSpace(body_points(strands()[:, 0])).frames(BodyTrack(heads()))
    now, then = np.arange(2, 20), np.arange(18)
    found = relative_motion(frames, now, then)
    r = 2 * np.arctan2(frames[:, 4], frames[:, 6])
    c, s = np.cos(r[then]), np.sin(r[then])
    way = 100 * (frames[now, :3] - frames[then, :3])
    expected = [c * way[:, 0] - s * way[:, 2], way[:, 1], s * way[:, 0] + c * way[:, 2]]
    expected += [np.sin(r[now] - r[then]), np.cos(r[now] - r[then])]
    np.testing.assert_allclose(found, np.column_stack(expected), atol=1e-9)


def test_longer_windows_and_busts_of_all_their_frames():
    """guan2012 section 5: x_t, x_(t-1), ... and z of all frames of the window, as seen from the first of them."""
    track = BodyTrack(heads())
    printed = BustSpace.learned(body_points(strands()[:, 0]), [track], False)
    frames, count = printed.frames(track), printed.body_count
    known = printed.controls(track, frames)
    assert known.shape[1] == printed.control_count == count + 10
    space = BustSpace(printed.body, window=4, bodies=3)
    found = space.controls(track, frames)
    assert found.shape[1] == space.control_count == 3 * count + 20
    for back in range(3):
        np.testing.assert_array_equal(found[4:, back * count : (back + 1) * count], known[4 - back : 20 - back, :count])
    for back in range(4):
        own = found[4:, 3 * count + 5 * back : 3 * count + 5 * (back + 1)]
        np.testing.assert_array_equal(own, relative_motion(frames, np.arange(4, 20) - back, np.arange(16)))
    np.testing.assert_array_equal(found[0, :count], found[0, count : 2 * count])  # before the first nothing moved
    assert (printed.steps, space.steps, BustSpace(printed.body, 2, 5).steps) == (2, 4, 4)


def test_there_and_back_and_the_pose_that_roots_tell():
    poses = heads()
    rest = strands()[:, 0].astype(np.float64)
    world = to_world(poses, np.broadcast_to(rest, (20, *rest.shape)))
    np.testing.assert_allclose(to_canonical(poses, world), np.broadcast_to(rest, world.shape), atol=1e-12)
    found = fitted_poses(rest, world)
    np.testing.assert_allclose(found[:, :3], poses[:, :3], atol=1e-9)
    same = np.abs((found[:, 3:] * poses[:, 3:]).sum(axis=1))
    np.testing.assert_allclose(same, 1, atol=1e-12)


def test_wind_is_felt_as_the_head_is_turned():
    poses = heads()
    wind = np.tile([0.0, 0.0, 3.0], (20, 1))
    space = HeadSpace.learned(body_points(strands()[:, 0]), [BodyTrack(poses, None, wind)], True)
    found = space.controls(BodyTrack(poses, None, wind), poses)[:, -9:]
    felt = Rotation.from_quat(poses[:, 3:]).inv().apply(wind)
    np.testing.assert_allclose(found[:, :3], felt, atol=1e-12)
    x, y, z = felt.T
    np.testing.assert_allclose(found[:, 3:], np.stack([x * x, x * y, x * z, y * y, y * z, z * z], axis=1), atol=1e-12)


def test_levels_lie_on_a_slider_by_their_values():
    assert Factor.of_levels("softness", [10.0, 0.3], "log").positions == (0.0, 1.0)
    assert Factor.of_levels("softness", [100, 10, 1], "log").positions == pytest.approx((0, 0.5, 1))
    assert Factor.of_levels("length", [0.2, 0.3, 0.6]).positions == pytest.approx((0, 0.25, 1))
    assert Factor.of_levels("style", ["bob", "wavy", "curly"]).positions == pytest.approx((0, 0.5, 1))
    for levels in ([1.0], [1, 3, 2], [2, 2]):
        with pytest.raises(ValueError, match="levels"):
            Factor.of_levels("length", levels)


def test_weights_are_barycentric_and_go_straight_on_beyond_the_ends():
    factors = (Factor.of_levels("a", [0, 1, 4]), Factor.of_levels("b", [0, 1]))
    weights = corner_weights(factors, {"a": np.array([0.25, 0.0, 1.25]), "b": np.array([1.0, 0.5, -0.1])})
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    levels = np.array([0, 0, 1, 1, 4, 4]) / 4
    np.testing.assert_allclose(weights @ levels, [0.25, 0.0, 1.25])
    np.testing.assert_allclose(weights[0], [0, 0, 0, 1, 0, 0], atol=1e-12)
