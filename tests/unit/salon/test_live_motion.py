import numpy as np
import pytest

from mane.body.motion import Pose
from mane.body.motion_keys import KeyframedMotion
from mane.salon.live_motion import MAX_SPEED, MAX_SPIN, LiveMotion

DT = 0.01


def pose(x, angle=0.0):
    return Pose(np.array([x, 0.0, 0.0]), np.array([0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)]))


def played(targets):
    """A hand that follows targets, frame by frame: poses within each frame."""
    motion, time, seen = LiveMotion(pose(0.0), 0.0, DT), 0.0, []
    for target in targets:
        motion.target = target
        motion.advance()
        seen.append([motion.pose(time + share * DT) for share in (0.25, 0.5, 1.0)])
        time += DT
    return motion, seen


def test_frames_are_those_of_all_keys_together():
    rng = np.random.default_rng(1)
    motion, seen = played([pose(0.02 * x, 0.1 * a) for x, a in rng.normal(size=(30, 2))])
    whole = KeyframedMotion(motion.times, [p.position for p in motion.poses], [p.rotation for p in motion.poses])
    for frame, poses in enumerate(seen):
        for share, one in zip((0.25, 0.5, 1.0), poses, strict=True):
            again = whole.pose(frame * DT + share * DT)
            assert again.position == pytest.approx(one.position, abs=1e-12)
            assert again.rotation == pytest.approx(one.rotation, abs=1e-12)


def test_a_hand_is_no_faster_than_a_hand():
    motion, _ = played([pose(3.0, 3.0)] * 20)
    ways = np.linalg.norm(np.diff([p.position for p in motion.poses], axis=0), axis=1)
    assert ways.max() <= MAX_SPEED * DT * (1 + 1e-9)
    pairs = zip(motion.poses, motion.poses[1:], strict=False)
    turns = [2 * np.arccos(min(abs(a.rotation @ b.rotation), 1.0)) for a, b in pairs]
    assert max(turns) <= MAX_SPIN * DT * (1 + 1e-6)
    assert motion.poses[-1].position[0] > 0.1


def test_the_past_is_forgotten_without_a_trace():
    targets = [pose(0.01 * i) for i in range(40)]
    _, seen = played(targets)
    motion, time = LiveMotion(pose(0.0), 0.0, DT), 0.0
    for target, poses in zip(targets, seen, strict=True):
        motion.target = target
        motion.advance()
        motion.forget_past()
        assert np.array_equal(motion.pose(time + 0.5 * DT).position, poses[1].position)
        time += DT
    assert len(motion.times) < 12
