"""The bust on joints: its head turns as a whole, its shoulders lift, and at rest it is the bust."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mane.body.articulated_bust import BUST_MOTIONS, make_articulated_bust


@pytest.fixture(scope="module")
def bust():
    return make_articulated_bust(0.007)


def moved_by(bust, joint, animation, sample):
    """The mesh as if all of it followed one joint, (N, 3)."""
    number = bust.skeleton.index(joint)
    transform = animation.sample_transforms(bust.skeleton, sample)[number]
    matrix = transform @ np.linalg.inv(bust.skeleton.bind_transforms[number])
    return bust.mesh.points @ matrix[:3, :3].T + matrix[:3, 3]


def test_weights_are_shares(bust):
    weights = bust.skinned.joint_weights
    assert weights.min() >= 0
    assert_allclose(weights.sum(axis=1), 1, atol=1e-6)


def test_at_rest_it_is_the_bust(bust):
    assert_array_equal(bust.skinned.deformed(bust.skeleton.bind_transforms), bust.bust.mesh.points)


@pytest.mark.parametrize("name", BUST_MOTIONS)
def test_motions_start_and_end_at_rest(bust, name):
    samples = bust.skinned.samples(bust.motion(name, duration=2.0))
    for sample in (samples[0], samples[len(samples) - 1]):
        assert_allclose(sample, bust.mesh.points, atol=1e-6)
    assert np.abs(samples[len(samples) // 2 + 7] - bust.mesh.points).max() > 0.005


def test_head_and_scalp_follow_the_head_joint(bust):
    animation = bust.motion("look_around")
    sample = 40
    expected = moved_by(bust, "head", animation, sample)
    points = bust.skinned.samples(animation)[sample]
    head = bust.mesh.points[:, 1] > bust.landmarks["chin"][1] + 0.02
    scalp = np.unique(bust.mesh.faces[bust.bust.scalp])
    assert np.abs(points - bust.mesh.points)[head].max() > 0.03
    assert_allclose(points[head], expected[head], atol=1e-6)
    assert_allclose(points[scalp], expected[scalp], atol=1e-6)


def test_shoulders_lift_and_the_head_stays(bust):
    animation = bust.motion("shrug", frequency=0.5, duration=4.0)
    points = bust.skinned.samples(animation)[48]  # one second: full lift
    shoulder = (np.abs(bust.mesh.points[:, 0]) > 0.16) & (bust.mesh.points[:, 1] > -0.22)
    assert shoulder.sum() > 10
    lift = (points - bust.mesh.points)[shoulder, 1]
    assert lift.min() > 0.03
    assert np.linalg.norm((points - bust.mesh.points)[bust.mesh.points[:, 1] > 0], axis=1).max() < 0.03
