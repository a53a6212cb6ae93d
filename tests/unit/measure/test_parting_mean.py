"""What is promised of hair near solids: the mean over scenes, of every hair that truth or method have near one."""

import json
from dataclasses import replace

import numpy as np
import pytest

from mane.body.motion_keys import KeyframedMotion
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.cli import main
from mane.groom import styles
from mane.groom.guides import Guides
from mane.measure.reproduce import chai2017_mean as means
from mane.measure.study import parting_scenes as scenes
from mane.measure.study.parting_meter import NEAR, FrameMeter, PropDistance, near_solids
from mane.scene.simulation import Simulation


def scene_left(folder, name, methods, *, quick=True):
    (folder / name).mkdir(parents=True)
    (folder / name / means.FILE).write_text(json.dumps({"quick": quick, "found": methods}), encoding="utf-8")


def of(error, flicker, inside):
    return {means.OVER_FIXED: error, means.OVER_FULL: flicker, means.INSIDE: inside}


def test_every_scene_counts_the_same_in_the_mean(tmp_path, capsys):
    for number, name in enumerate(means.SMALL):
        scene_left(tmp_path, name, {"linear": of(1.0 + number, 2.0, 0.0), means.DEFAULT: of(0.5, 1.0, 1e-5 * number)})
    main(["reproduce", "chai2017", "--scene", "mean", "--quick", "--json", "-o", str(tmp_path)])
    rows = json.loads(capsys.readouterr().out)["rows"]
    found = {(row["case"].rpartition("scenes, ")[2], row["metric"]): row["value"] for row in rows}
    assert found["linear", means.OVER_FIXED] == pytest.approx(3.5)
    assert found[means.DEFAULT, means.INSIDE] == pytest.approx(2.5e-5)


def test_a_mean_without_its_scenes_says_how_to_run_them(tmp_path, capsys):
    for name in means.SMALL[1:]:
        scene_left(tmp_path, name, {"linear": of(1.0, 1.0, 0.0)}, quick=False)
    scene_left(tmp_path, means.SMALL[0], {"linear": of(1.0, 1.0, 0.0)})
    assert main(["reproduce", "chai2017", "--scene", "mean", "-o", str(tmp_path)]) == 2
    said = capsys.readouterr().err.strip()
    assert "\n" not in said
    assert f"{means.SMALL[0]} must have been run there whole" in said
    assert "--scene comb --scene curly" in said


@pytest.fixture(scope="module")
def beside_a_ball():
    """Five hairs of a head that stands still, and a ball far away."""
    groom = styles.make("straight", strands=5, vertices=8, seed=1)
    far = KeyframedMotion(np.array([0.0]), np.array([[3.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 0.0, 1.0]]))
    ball = Solid(Sphere((0.0, 0.0, 0.0), 0.03), far)
    guides = Guides.chosen(groom, np.arange(5))
    return groom, Simulation(guides, body=styles.body("straight"), solids=[ball], head="still")


def test_a_hair_that_only_the_method_has_in_a_solid_counts(beside_a_ball):
    groom, simulation = beside_a_ball
    truth, frame = groom.as_uniform().copy(), simulation.step()
    made = truth.copy()
    made[2, -1] = [3.0, 0.0, 0.0]
    meter = FrameMeter(groom, simulation.solids, np.arange(5))
    is_near = near_solids(PropDistance(simulation.solids), frame.time, truth)
    assert not is_near.any()
    meter.add(frame, truth, is_near, made)
    found = meter.found()
    assert found.rate == pytest.approx(1 / 7)  # of the one hair that is near
    assert found.near_error == 0.0  # and it is not near in the truth


def test_distances_near_a_solid_are_its_own_and_infinite_elsewhere(beside_a_ball):
    _, simulation = beside_a_ball
    points = np.array([[[3.0, 0.0, 0.0], [3.04, 0.0, 0.0], [3.06, 0.0, 0.0], [0.0, 0.0, 0.0]]], np.float32)
    found = PropDistance(simulation.solids)(0.0, points)
    np.testing.assert_allclose(found, [[-0.03, 0.01, np.inf, np.inf]], atol=1e-6)


@pytest.mark.parametrize("solids", [scenes.comb_through, scenes.gears_below, scenes.urchin_below, scenes.horse_below])
def test_distances_are_those_of_the_solids_themselves(solids):
    props, time = solids(), 0.5
    points = np.concatenate([prop.at(time).mesh().points for prop in props]).astype(np.float64)
    points = points[np.random.default_rng(1).integers(len(points), size=2_000)]
    points = (points + np.random.default_rng(2).normal(0.0, 0.008, points.shape)).astype(np.float32)
    expected = np.min([prop.at(time).distance(points) for prop in props], axis=0)
    found = PropDistance([Solid(Sphere((0.0, 0.0, 0.0), 0.1)), *props])(time, points[None])[0]
    is_near = expected < NEAR - 1e-5
    assert 500 < is_near.sum() < 2_000
    np.testing.assert_allclose(found[is_near], expected[is_near], atol=2e-6)
    assert np.isinf(found[expected > NEAR + 1e-5]).all()


def test_a_scene_whose_solids_strands_or_hair_differ_is_another_one():
    slower = replace(scenes.COMB, seconds=1.6)
    finer = replace(scenes.COMB, options={"length": 0.2})
    springs = replace(scenes.COMB, model="spring")
    others = (slower, finer, springs, replace(scenes.COMB, solids=scenes.hand_through))
    digests = [one.digest() for one in (scenes.COMB, *others)]
    assert len(set(digests)) == len(digests)
    assert scenes.COMB.digest() == digests[0]
