"""Two thousand frames that no fox would survive: jumps, joints turned through each other, fur all over."""

import numpy as np
import pytest

from mane.body.creature import make_creature
from mane.body.solid import Solid
from mane.groom import styles
from mane.groom.select import select_guides
from mane.scene.simulation import Simulation
from mane.strand.solver import converged_models

FRAME_RATE = 24.0
LARGEST_STRETCH = 0.01
DEEPEST = 2e-3  # [m]
CLEAR = 0.02  # [m]: farther than this from where parts of the body are within each other


def depth_away_from_crossings(body, frame):
    """How deep a guide is inside [m], at most, away from parts of the body that pass through each other.

    There the winding number around a place just outside the closest triangle says that it is inside all the same.
    """
    at = body.animation.at(frame.time)
    points = frame.points[:, 1:].reshape(-1, 3)
    closest, face, weights = at._closest(points)
    near = np.flatnonzero(closest < CLEAR)
    foot = np.einsum("pc,pci->pi", weights, at.mesh.points[at.mesh.faces[face]])
    probes = foot[:, None] + at.mesh.face_normals[face][:, None] * np.array([0.003, 0.01, CLEAR])[None, :, None]
    inside = at._all_tree.winding((probes[near].reshape(-1, 3) - at._center).astype(np.float32)).reshape(-1, 3) > 0.5
    clear = near[~inside.any(axis=1)]
    if not len(clear):
        return 0.0
    distance, _ = at.distance_and_gradient(points[clear])
    return max(0.0, -float(distance.min()))


def violent_run(model, frames, guides=60):
    creature = make_creature(0.012)
    body: Solid = creature.solid("violent", duration=frames / FRAME_RATE + 1, frame_rate=2 * FRAME_RATE, seed=3)
    groom = styles.make("fox", strands=2_000, seed=1)
    sim = Simulation(select_guides(groom, guides, method="farthest", vertices=8, seed=1), model, body=body)
    stretch, deepest = 0.0, 0.0
    for number in range(frames):
        frame = sim.step()
        assert np.isfinite(frame.points).all()
        stretch = max(stretch, sim.report.stretch)
        if number % 10 == 0:
            deepest = max(deepest, depth_away_from_crossings(body, frame))
    return stretch, deepest


@pytest.mark.stress
@pytest.mark.parametrize("model", converged_models())
def test_two_thousand_violent_frames_of_the_creature(model):
    stretch, deepest = violent_run(model, 2_000)
    assert stretch < LARGEST_STRETCH
    assert deepest < DEEPEST
