"""A mesh and its hair through violent frames: nothing is lost, nothing stays inside out (stress)."""

import os
from dataclasses import replace

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.groom import styles
from mane.groom.select import select_guides
from mane.scene.simulation import Simulation
from mane.skin.table import make_skin

FRAMES = int(os.environ.get("MANE_VIOLENT_FRAMES", "2000"))
RATE = 24.0


def flung(frames, seed=5):
    """A ball of skin that is thrown about, turned, stretched and squeezed at random, up to 3 m/s and half its size."""
    mesh = Sphere((0.0, 0.0, 0.0), 0.06).mesh(20)
    random = np.random.default_rng(seed)
    points = mesh.points.astype(np.float64)
    keys = np.arange(0, frames + 6, 5)
    place, turn = np.zeros(3), np.zeros(3)
    samples = []
    for _ in keys:
        place = 0.7 * place + 0.15 * random.normal(size=3)
        turn = turn + random.normal(size=3)
        angle = np.linalg.norm(turn)
        x, y, z = turn / max(angle, 1e-9)
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        rotation = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
        stretch = np.diag(np.exp(0.35 * np.clip(random.normal(size=3), -2, 2)))
        samples.append(points @ (rotation @ stretch).T + place)
    return Solid.animated(mesh, keys / RATE, np.stack(samples).astype(np.float32))


@pytest.mark.stress
@pytest.mark.parametrize("dynamic", [0.0, 0.05])
def test_two_thousand_violent_frames(dynamic):
    body = flung(FRAMES)
    groom = styles.make("ball", strands=200, vertices=10, seed=3, length=0.05)
    simulation = Simulation(select_guides(groom, 6, seed=1), body=body, preroll=0.0)
    skin = make_skin("volume", groom, simulation, spacing=0.035, dynamic=dynamic)
    first = skin.motion.carrier if dynamic else skin.motion
    rest = np.linalg.norm(np.diff(groom.as_uniform(), axis=1), axis=2)
    inverted, fallen = 0, 0
    for number in range(FRAMES):
        frame = replace(simulation.rest, time=number / RATE, is_rest_pose=False, solid_poses=(Pose.identity(),))
        hair = skin(frame)
        assert np.isfinite(hair).all(), number
        np.testing.assert_allclose(np.linalg.norm(np.diff(hair, axis=1), axis=2), rest, rtol=1e-4, err_msg=str(number))
        reports = [first.kdsm.report, *([skin.motion.report] if dynamic else [])]
        assert all(one.left == 0 for one in reports), number
        inverted = max(inverted, *(one.inverted for one in reports))
        fallen += len(skin.fallback_hairs)
    assert inverted > 0  # or it was not violent
    assert fallen == 0
