"""Two thousand frames that no fox would survive: jumps, joints turned through each other, fur all over."""

import sys

import numpy as np
import pytest

from mane.body._boundary import is_bounding
from mane.body.creature import make_creature
from mane.body.solid import Solid
from mane.body.triangle_tree import TriangleTree
from mane.groom import styles
from mane.groom.select import select_guides
from mane.scene.simulation import Simulation
from mane.strand.solver import converged_models

FRAME_RATE = 24.0
LARGEST_STRETCH = 0.01
DEEPEST = 2e-3  # [m]
CLEAR = 0.01  # [m]: a strand this close to skin that is within another part of the body cannot be outside of both
# Frames after that in which it may come out, by 21 mm each (`push_out_speed`).
COMING_OUT = 2
LEAST_JUDGED = 0.8  # part of all strands, in the mean over all frames


class Judge:
    """Measures how deep guides are inside a body, away from parts of it that pass through each other.

    Those are found by winding numbers: skin is within another part where a place just above it is inside. No vertex of
    a strand may be near such skin, nor have been in the last frames.
    """

    def __init__(self, body: Solid, strand_count: int) -> None:
        self._animation = body.animation
        self._tree = TriangleTree(self._corners(0.0)[0])
        self._waits = np.zeros(strand_count, np.int64)
        self.deepest, self.judged = 0.0, []

    def _corners(self, time):
        """Triangles as seen from the middle of the body, and that middle."""
        points = self._animation.points(time)
        middle = points.mean(axis=0)
        return (points - middle)[self._animation.mesh.faces], middle

    def look(self, frame):
        corners, middle = self._corners(frame.time)
        tree = self._tree.refitted(corners)
        bounds = is_bounding(tree, corners, 1e-4 * float(np.ptp(corners, axis=(0, 1)).max()))
        points = frame.points - middle
        self._waits -= 1
        if not bounds.all():
            to_hidden, _, _ = TriangleTree(corners[~bounds]).closest(points.reshape(-1, 3))
            near = (to_hidden.reshape(points.shape[:2]) < CLEAR).any(axis=1)
            self._waits[near] = COMING_OUT
        clear = self._waits < 0
        self.judged.append(clear.mean())
        places = points[clear, 1:].reshape(-1, 3)
        inside = places[tree.winding(places) > 0.5]
        if len(inside):
            depth, _, _ = TriangleTree(corners[bounds]).closest(inside)
            self.deepest = max(self.deepest, float(depth.max()))


def violent_run(model, frames, guides=60):
    """Largest stretch of a guide, and the judge of their depth."""
    creature = make_creature(0.012)
    body: Solid = creature.solid("violent", duration=frames / FRAME_RATE + 1, frame_rate=2 * FRAME_RATE, seed=3)
    groom = styles.make("fox", strands=2_000, seed=1)
    sim = Simulation(select_guides(groom, guides, method="farthest", vertices=8, seed=1), model, body=body)
    stretch, judge = 0.0, Judge(body, guides)
    for _ in range(frames):
        frame = sim.step()
        assert np.isfinite(frame.points).all()
        stretch = max(stretch, sim.report.stretch)
        judge.look(frame)
    return stretch, judge


@pytest.mark.stress
@pytest.mark.parametrize("model", converged_models())
def test_two_thousand_violent_frames_of_the_creature(model):
    stretch, judge = violent_run(model, 2_000)
    sys.stdout.write(
        f"{model}: stretch {stretch:.2e}, depth {1e3 * judge.deepest:.2f} mm, {np.mean(judge.judged):.0%} judged\n"
    )
    assert np.mean(judge.judged) > LEAST_JUDGED
    assert stretch < LARGEST_STRETCH
    assert judge.deepest < DEEPEST
