"""Hairs out of solids with their lengths kept, both at once."""

from dataclasses import replace

import numpy as np

from mane.body.motion import Pose
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.simulation import Simulation
from mane.skin.finish.keep_out import KeepOut

RADIUS, VERTICES = 0.06, 12


def tangled(seed=0, count=80):
    """Hairs that stand on a ball at rest, and the same as random walks that go through it and a second one."""
    random = np.random.default_rng(seed)
    way = random.normal(size=(count, 1, 3))
    way /= np.linalg.norm(way, axis=2, keepdims=True)
    rest = way * np.linspace(RADIUS + 5e-4, RADIUS + 0.05, VERTICES)[:, None]
    steps = random.normal(size=(count, VERTICES - 1, 3))
    steps *= np.linalg.norm(np.diff(rest, axis=1), axis=2)[..., None] / np.linalg.norm(steps, axis=2, keepdims=True)
    walk = np.concatenate([rest[:, :1], rest[:, :1] + np.cumsum(steps, axis=1)], axis=1)
    return rest.astype(np.float32), walk.astype(np.float32)


def test_depth_and_lengths_hold_at_once_and_other_hairs_stay():
    rest, walk = tangled()
    body, other = Solid(Sphere((0.0, 0.0, 0.0), RADIUS)), Solid(Sphere((0.09, 0.0, 0.0), 0.025))
    groom = Groom.from_uniform(rest)
    simulation = Simulation(Guides.chosen(groom, [0, 1]), body=body, solids=[other])
    frame = replace(simulation.rest, is_rest_pose=False, solid_poses=(Pose.identity(), Pose.identity()))

    def depth(points):
        return np.stack([-one.distance(points[:, 1:].reshape(-1, 3)).reshape(len(points), -1) for one in (body, other)])

    covered = np.linalg.norm(rest[:, 0] - [0.09, 0, 0], axis=1) < 0.025 + 0.01  # roots in or near the other ball
    assert (depth(walk).max(axis=0) > 5e-4).mean() > 0.1
    out = KeepOut((body, other), groom=groom, body=body)(walk.copy(), frame)
    assert depth(out)[:, ~covered].max() < 5e-4
    lengths = [np.linalg.norm(np.diff(one.astype(np.float64), axis=1), axis=2) for one in (out, rest)]
    fine = (depth(walk) < 3e-4).all(axis=(0, 2))
    np.testing.assert_array_equal(out[fine], walk[fine])
    np.testing.assert_allclose(lengths[0][~fine], lengths[1][~fine], rtol=1e-4)
    np.testing.assert_array_equal(out[:, 0], walk[:, 0])


def test_hair_that_was_groomed_below_the_skin_stays_there():
    rest, _ = tangled()
    sunk = rest.copy()
    sunk[:, 1:4] *= 0.97
    body = Solid(Sphere((0.0, 0.0, 0.0), RADIUS))
    groom = Groom.from_uniform(sunk)
    simulation = Simulation(Guides.chosen(groom, [0, 1]), body=body)
    frame = replace(simulation.rest, is_rest_pose=False)
    np.testing.assert_array_equal(KeepOut((body,), groom=groom, body=body)(sunk.copy(), frame), sunk)
