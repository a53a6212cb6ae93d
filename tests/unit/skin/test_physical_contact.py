"""The penetration torque of the physical skin: hairs out of solids, the others left alone."""

from dataclasses import replace

import numpy as np
import pytest
from skin_frames import SOMEWHERE, curls, frame_of, guides_of

from mane.body.motion import Pose
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.skin.physical import PhysicalSkin

RADIUS = 0.05
BALL = Solid(Sphere((0.0, 0.0, 0.0), RADIUS))


def inside(points, pose):
    """How deep each vertex is inside the ball [m], roots apart."""
    local = pose.inverse_apply(points[:, 1:].reshape(-1, 3).astype(np.float64))
    return np.maximum(RADIUS - np.linalg.norm(local, axis=1), 0).reshape(len(points), -1)


@pytest.fixture(scope="module")
def scene():
    groom = curls(200, 16)
    guides = guides_of(groom, 20)
    above = SOMEWHERE.compose(Pose(np.array([0.0, 0.19, 0.0]), np.array([0.0, 0.0, 0.0, 1.0])))
    return groom, guides, replace(frame_of(guides, SOMEWHERE), solid_poses=(above,)), above


def test_hairs_in_a_solid_are_turned_out_of_it_and_others_stay(scene):
    groom, guides, frame, pose = scene
    plain = PhysicalSkin(groom, guides)(frame)
    resolved = PhysicalSkin(groom, guides, solids=[BALL])(frame)
    depth = inside(plain, pose)
    hit = depth.max(axis=1) > 0
    assert 10 < hit.sum() < 150
    np.testing.assert_array_equal(resolved[~hit], plain[~hit])
    assert inside(resolved, pose).sum() < 0.4 * depth.sum()


def test_lengths_are_kept_in_a_solid(scene):
    groom, guides, frame, _ = scene
    resolved = PhysicalSkin(groom, guides, solids=[BALL])(frame)
    rest = np.linalg.norm(np.diff(groom.as_uniform(), axis=1), axis=2)
    np.testing.assert_allclose(np.linalg.norm(np.diff(resolved, axis=1), axis=2), rest, rtol=2e-4)


def test_a_harder_push_leaves_less_inside(scene):
    groom, guides, frame, pose = scene
    left = [
        inside(PhysicalSkin(groom, guides, solids=[BALL], penetration=push)(frame), pose).sum()
        for push in (0.1, 0.5, 1.0)
    ]
    assert left[0] > left[1] > left[2]


def test_every_solid_needs_its_pose(scene):
    groom, guides, frame, _ = scene
    skin = PhysicalSkin(groom, guides, solids=[BALL, BALL])
    with pytest.raises(ValueError, match=r"frame\.solid_poses: must hold a pose for each of the 2 solids, got 1"):
        skin(frame)


def test_solids_want_one_sweep(scene):
    groom, guides, _, _ = scene
    with pytest.raises(ValueError, match="solids: must be none with sweeps other than 1"):
        PhysicalSkin(groom, guides, solids=[BALL], sweeps=2)
