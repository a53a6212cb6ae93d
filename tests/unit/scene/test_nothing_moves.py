"""Nothing moves before the head does: a groom that runs below the skin, as many do, stays as groomed."""

from __future__ import annotations

import numpy as np
import pytest

from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.measure.study.cohesion import sunk
from mane.scene.config import FramesTable, GroomTable, Scene
from mane.scene.hair_stage import HairStage
from mane.scene.simulation import Simulation
from mane.skin.finish.passes import SolidAdjustment
from mane.stage.clock import StageClock

SUNK = 0.004  # [m]
STILL = 2e-5  # [m]: what single precision and a solve to its tolerance leave


@pytest.fixture(scope="module")
def bob() -> Groom:
    return sunk(styles.make("bob", strands=300, seed=1))


def deepest(points: np.ndarray) -> float:
    return float(-Solid(styles.body("bob")).distance(points[:, 1:].reshape(-1, 3)).min())


@pytest.mark.parametrize("model", ["cosserat", "chain", "spring"])
def test_guides_below_the_skin_stay_where_they_were_groomed(bob: Groom, model: str) -> None:
    guides = select_guides(bob, 40, seed=1)
    assert deepest(guides.rest) > 0.5 * SUNK
    sim = Simulation(guides, model, body=styles.body("bob"))
    for _ in range(3):
        frame = sim.step()
        assert np.abs(frame.points - guides.rest).max() < STILL


def test_hair_below_the_skin_stays_where_it_was_groomed(bob: Groom) -> None:
    guides = select_guides(bob, 40, seed=1)
    sim = Simulation(guides, body=styles.body("bob"))
    scene = Scene(groom=GroomTable(style="bob", strands=300), frames=FramesTable(end=3))
    stage = HairStage(scene, bob, sim, StageClock())
    rest = bob.as_uniform()
    assert deepest(rest) > 0.5 * SUNK
    assert [one.name for one in stage.passes] == ["push_out"]
    assert np.abs(stage(sim.frame) - rest).max() < STILL
    assert np.abs(stage(sim.step()) - rest).max() < STILL


def test_hair_that_is_not_sunk_is_pushed_out_as_before() -> None:
    rng = np.random.default_rng(0)
    way = rng.normal(size=(40, 1, 3))
    way /= np.linalg.norm(way, axis=2, keepdims=True)
    outside = Groom.from_uniform((way * np.linspace(0.1, 0.15, 8)[None, :, None]).astype(np.float32))
    ball = Solid(Sphere((0.0, 0.0, 0.0), 0.1))
    sim = Simulation(Guides.chosen(outside, np.arange(4)), body=ball)
    pressed = (outside.as_uniform() * np.float32(0.95)).copy()
    plain = SolidAdjustment(sim.solids)(pressed.copy(), sim.frame)
    knowing = SolidAdjustment(sim.solids, groom=outside, body=sim.solids[0])(pressed.copy(), sim.frame)
    assert np.array_equal(plain, knowing)


def test_sunk_hair_goes_no_deeper_than_it_was_groomed(bob: Groom) -> None:
    rest = bob.as_uniform()
    body = Solid(styles.body("bob"))
    sim = Simulation(select_guides(bob, 10, seed=1), body=body)
    middle = rest[:, 0].mean(axis=0)
    deeper = (middle + np.float32(0.97) * (rest - middle)).astype(np.float32)
    deeper[:, 0] = rest[:, 0]
    before = body.distance(rest[:, 1:].reshape(-1, 3))
    pushed = SolidAdjustment(sim.solids, groom=bob, body=sim.solids[0], rounds=1)(deeper.copy(), sim.frame)
    after = body.distance(pushed[:, 1:].reshape(-1, 3))
    # The last push follows the field's gradient once: within a tenth of what it pushes by.
    assert (after > np.minimum(before, 0) - 1e-3).all()
    assert body.distance(deeper[:, 1:].reshape(-1, 3)).min() < before.min() - 1e-3


def test_hair_below_a_skin_that_deforms_stays_below_it_in_the_pre_roll() -> None:
    """A ball that has grown since its rest pose: the pre-roll takes hair along as it was groomed."""
    mesh = Sphere((0.0, 0.0, 0.0), 0.1).mesh(24)
    body = Solid.animated(mesh, [0.0], 1.05 * mesh.points[None])
    out = mesh.points[::9] / np.linalg.norm(mesh.points[::9], axis=1, keepdims=True)
    side = np.cross(out, [0.3, 0.5, 0.8])
    height = np.array([0.0, -SUNK, -0.5 * SUNK, 0.004, 0.01, 0.016])[:, None]
    along = np.array([0.0, 0.004, 0.009, 0.012, 0.014, 0.016])[:, None]
    rest = mesh.points[::9, None] + height * out[:, None] + along * side[:, None]
    groom = Groom.from_uniform(rest.astype(np.float32))
    guides = Guides.chosen(groom, np.arange(groom.strand_count))
    sim = Simulation(guides, body=body, preroll=1.0)
    frame = [sim.frame, sim.step()][-1]
    shape = frame.points - frame.points[:, :1]
    # A vertex that was pushed out would be off by the most part of 4 mm; the growth leaves a little swing.
    assert np.abs(shape - (guides.rest - guides.rest[:, :1])).max() < 5e-4
