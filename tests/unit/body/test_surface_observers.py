"""Rigid frames that go along with a surface: what they say of its motion is never too little, and rarely too much."""

import numpy as np
import pytest

from mane.body.animated import AnimatedMesh
from mane.body.deforming import _kernels_observers as observing
from mane.body.deforming.surface import FORGOTTEN, DeformingSurface
from mane.body.motion import Pose
from mane.body.packed import fill_pose_pair
from mane.body.shapes import Sphere
from mane.geometry import quaternion

STILL = (Pose.identity(), Pose.identity())
BALL = Sphere((0, 0, 0), 0.3).mesh(48)
LIMB = BALL.with_points(BALL.points * np.float32([1 / 6, 1.0, 1 / 6]))


def bent(points, angle):
    """The limb bent around the z axis, the upper half only."""
    turn = angle * np.maximum(points[:, 1], 0.0) / 0.3
    c, s = np.cos(turn), np.sin(turn)
    return np.stack([c * points[:, 0] - s * points[:, 1], s * points[:, 0] + c * points[:, 1], points[:, 2]], 1)


def poses_of(before, after):
    poses = np.zeros(24)
    fill_pose_pair(before, after, poses)
    return poses


def observed(frames, before, after, reach, poses=STILL):
    """Observers after one step of a surface, from `before` to `after`, positions and rotations of each."""
    surface = DeformingSurface(AnimatedMesh(LIMB, [0.0, 1.0], np.stack(frames).astype(np.float32)), rings(reach))
    arrays = surface.during(0.0, 1.0)
    surface.observe(poses_of(*poses), before, after)
    return surface, arrays.observers


def rings(reach):
    """Rings of observers that reach that far at most [m], shape (W, 4)."""
    return np.array(reach)[:, None] * [0.2, 0.5, 0.9, 1.0]


def columns(one, k):
    """Rings of an observer, each with how far it has seen things move, until the start and the end, and `reach`."""
    return one[observing.RING + k * observing.RING_SIZE :][: observing.RING_SIZE]


def seen(frame, points):
    rotation, position = frame[:9].reshape(3, 3), frame[9:12]
    return (points - position) @ rotation


@pytest.mark.parametrize("seed", range(4))
def test_no_point_within_reach_moves_farther_than_an_observer_says(seed):
    rng = np.random.default_rng(seed)
    frames = LIMB.points, bent(LIMB.points, rng.uniform(-0.5, 0.5)) + rng.normal(scale=0.02, size=3)
    count = 12
    positions = [frame[rng.integers(0, len(LIMB.points), count)].astype(float) for frame in frames]
    turns = [quaternion.normalize(np.array([0, 0, 0, 1.0]) + rng.normal(scale=0.1, size=(count, 4))) for _ in range(2)]
    reach = rng.uniform(0.02, 0.4, count)
    _, observers = observed(frames, (positions[0], turns[0]), (positions[1], turns[1]), reach)
    for one, reaches in zip(observers, rings(reach), strict=True):
        start, end = seen(one[:12], frames[0].astype(float)), seen(one[12:24], frames[1].astype(float))
        for k, far in enumerate(reaches):
            before, after, motion, _ = columns(one, k)
            near = (np.linalg.norm(start, axis=1) <= far) | (np.linalg.norm(end, axis=1) <= far)
            assert motion >= np.linalg.norm(end - start, axis=1)[near].max(initial=0.0)
            assert after - before == pytest.approx(motion)


def test_what_moves_rigidly_with_an_observer_stands_still_for_it_and_what_is_beyond_its_reach_does_not_count():
    turn, shift = quaternion.exp(np.array([0.0, 0.0, 0.03])), np.array([0.01, 0.02, 0.0])
    moved = quaternion.rotate(turn, LIMB.points.astype(float)) + shift
    moved[LIMB.points[:, 1] > 0.2] += [0.0, 0.05, 0.0]  # far from the observer
    root = np.array([[0.0, -0.3, 0.0]])
    rest = np.array([[0.0, 0.0, 0.0, 1.0]])
    after = quaternion.rotate(turn, root) + shift, turn[None]
    _, observers = observed((LIMB.points, moved), (root, rest), after, [0.1])
    assert (
        columns(observers[0], 3)[observing.MOTION] < 1e-4
    )  # of second order in the turn, 0.03^2 / 2 of a cluster's radius
    _, observers = observed((LIMB.points, moved), (root, rest), after, [1.0])
    assert columns(observers[0], 3)[observing.MOTION] > 0.05


def test_observers_move_in_the_frame_of_the_solid():
    """A solid that stands still in its own frame, carried about with its observers: nothing moves."""
    carried = Pose(np.array([0.3, -0.1, 0.2]), quaternion.exp(np.array([0.2, 0.1, -0.4])))
    root, rest = np.array([[0.05, 0.0, 0.0]]), np.array([[0.0, 0.0, 0.0, 1.0]])
    poses = Pose.identity(), carried
    after = carried.apply(root), carried.rotation[None]
    _, observers = observed((LIMB.points, LIMB.points), (root, rest), after, [1.0], poses)
    assert columns(observers[0], 3)[observing.MOTION] < 1e-5


def test_steps_that_follow_each_other_add_up_and_others_are_forgotten():
    frames = np.stack([LIMB.points + np.float32([0.01 * k, 0, 0]) for k in range(4)])
    surface = DeformingSurface(AnimatedMesh(LIMB, [0.0, 0.1, 0.2, 0.3], frames), rings([0.5]))
    root, rest = np.array([[0.05, 0.0, 0.0]]), np.array([[0.0, 0.0, 0.0, 1.0]])
    still = poses_of(*STILL)
    seen_at = []
    for start, end in ((0.0, 0.1), (0.1, 0.2), (0.2, 0.25), (0.05, 0.1)):
        arrays = surface.during(start, end)
        surface.observe(still, (root, rest), (root, rest))
        seen_at.append(columns(arrays.observers[0], 3)[:2].copy())
    assert seen_at[0][1] - seen_at[0][0] == pytest.approx(0.01, rel=1e-3)
    assert seen_at[1][0] == seen_at[0][1]
    assert seen_at[2][0] == seen_at[1][1]
    assert seen_at[3][0] >= seen_at[2][1] + FORGOTTEN
    # A frame that jumps between two steps sees all it reaches jump.
    surface.during(0.1, 0.2)
    surface.observe(still, (root + [0.0, 0.2, 0.0], rest), (root, rest))
    assert columns(arrays.observers[0], 3)[observing.SEEN] >= seen_at[3][1] + 0.2
