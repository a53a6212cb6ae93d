"""Guides behind teeth that pass them faster than a tooth is thick per substep: nothing is thrown off."""

import numpy as np
import pytest

from mane.body.motion_keys import KeyframedMotion
from mane.body.props import make_comb
from mane.geometry import quaternion
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.simulation import Simulation

SPEED = 1.0  # [m/s] of the comb: five millimetres, five times the radius of a tooth, per default substep
TRUTH = 50  # substeps where others take one


def hanging(count=5, vertices=16, length=0.25, seed=4):
    """Hair that hangs from a line, a little wavy, so that its segments meet teeth at angles of their own."""
    rng = np.random.default_rng(seed)
    along = np.linspace(0.0, length, vertices)
    points = np.zeros((count, vertices, 3))
    points[..., 0] = np.linspace(-0.012, 0.012, count)[:, None]
    points[..., 1] = -along
    for axis in (0, 2):
        phase = rng.uniform(0, 2 * np.pi, (count, 1))
        points[..., axis] += 0.004 * (np.sin(60 * along + phase) - np.sin(phase))
    return Guides.from_groom(Groom.from_strands(list(points.astype(np.float32))))


def comb():
    """Teeth across the hair, one above the other, that go through it, stop behind it and are drawn out."""
    rows = np.array([[0.0, -0.02, -0.1, 0.08], [0.16 / SPEED, -0.02, -0.1, -0.08], [0.2 / SPEED, -0.1, -0.1, -0.08]])
    across = quaternion.from_axis_angle(np.array([0.0, 0.0, 1.0]), 0.5 * np.pi)
    return make_comb().solid(KeyframedMotion(rows[:, 0], rows[:, 1:], np.tile(across, (len(rows), 1))))


def fastest(model, finer=1):
    """Speed of the fastest vertex of each guide at any frame [m/s], and the deepest in the comb [m]."""
    simulation = Simulation(hanging(), model=model, head="still", solids=[comb()], frame_rate=100.0, substeps=2 * finer)
    speeds, depth = [], 0.0
    for _ in range(30):
        speeds.append(np.linalg.norm(simulation.step().velocity, axis=2).max(axis=1))
        depth = max(depth, simulation.report.penetration)
    return np.max(speeds, axis=0), depth


@pytest.fixture(scope="module")
def true_speed():
    """Of the fastest guide with steps so small that no tooth passes by more than a fifth of its radius in one."""
    speeds, depth = fastest("cosserat", TRUTH)
    assert depth < 1e-6
    assert 2 * SPEED < speeds.max() < 10 * SPEED  # bent hair that a tooth lets go is faster than the tooth
    return speeds.max()


@pytest.mark.parametrize("model", ["cosserat", "chain", "spring"])
def test_no_guide_behind_a_fast_comb_is_much_faster_than_with_tiny_steps(model, true_speed):
    speeds, depth = fastest(model)
    assert speeds.max() < 1.25 * true_speed
    assert depth < 2e-4
