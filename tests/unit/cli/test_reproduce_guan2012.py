"""`mane reproduce guan2012` and `mane bench learned` at their smallest: every figure is there and finite."""

import json

import numpy as np
import pytest

from learned_hair import KnownHair
from mane.cli import main
from mane.dataset.sequences import plan_motions
from mane.measure.bench import learned
from mane.measure.figures import Figures
from mane.measure.reproduce import guan2012
from mane.measure.reproduce.guan2012 import STYLE_AXES, Size, bust_spec, motions, spec_of
from mane.measure.reproduce.guan2012_styles import draw_sliders, draw_styles
from mane.measure.reproduce.reproduce import Report
from mane.reduced.training import MultilinearTraining, fit_model
from mane.scene.config import BodyTable


@pytest.mark.parametrize("spec", [spec_of(Size(198), STYLE_AXES), bust_spec(Size(198))])
def test_motions_to_learn_from_and_to_test_with_are_35_and_7_and_none_is_both(spec):
    planned = plan_motions(spec)
    by_split = {name: [m for m in planned if m.split == name] for name in ("train", "test")}
    assert {name: len(own) for name, own in by_split.items()} == {"train": 35, "test": 7}
    drawn = [json.dumps(m.settings, sort_keys=True) for m in planned]
    assert len(set(drawn)) == len(drawn)
    assert sum(table.count for table in motions()) == 42


def test_the_rigid_scenes_stay_and_the_bust_has_joints():
    rigid, jointed = spec_of(Size(198), ()), bust_spec(Size(198))
    assert not any(key.startswith("body.") for one in plan_motions(rigid) for key in one.settings)
    assert all(one.settings["body.motion"] for one in plan_motions(jointed))
    assert (rigid.scene.body, jointed.scene.body.mesh) == (BodyTable(), "bust")
    assert "body" in jointed.store.fields


def test_a_share_of_the_frames_is_said(tmp_path):
    part, whole = (Report("main", tmp_path, Figures("guan2012 main"), share) for share in (0.25, 1.0))
    assert [guan2012._size(report, 962, quick=False).frames for report in (part, whole)] == [86, 343]
    assert part.notes[0].startswith("Falls short: learned from 86 frames")
    assert not whole.notes


SCENES = {
    "sparse": (
        ["deviations.png", "styles.png", "sliders.png", "sliders.mp4"],
        ["vertex error, test, calibrated", "all", "window of 5", "numbers that a frame is"],
    ),
    "main": (
        [],
        [
            "vertex error, training",
            "start from the bust alone",
            "points deeper than 0.5 mm",
            "time of a whole step",
            "all",
        ],
    ),
    "wind": (["winds.png"], ["vertex error, training", "points deeper than 0.5 mm"]),
    "bust": (["bust.png"], ["vertex error, training", "the same of hair carried rigidly", "components of the bust"]),
    "dense": (
        ["sampling.png", "factors.png"],
        ["deviation of the coefficients", "points deeper than 0.5 mm", "time of collision handling alone", "all"],
    ),
}


# `dense` takes the least, some eight seconds, and has what most scenes share: both models, what they are worth, what is
# inside a bust before and after, both methods, pictures, times. The others took 8 to 100 seconds each.
USUAL = "dense"


@pytest.mark.parametrize(
    "scene", [name if name == USUAL else pytest.param(name, marks=pytest.mark.stress) for name in SCENES]
)
def test_a_small_version_of_each_scene_runs_and_goes_on(tmp_path, capsys, scene):
    words = ["reproduce", "guan2012", "--scene", scene, "--quick", "-o", str(tmp_path), "--json"]
    assert main(words) in (0, 1)
    rows = json.loads(capsys.readouterr().out)["rows"]
    found = {row["metric"] for row in rows}
    assert "vertex error, test" in found
    pictures, metrics = SCENES[scene]
    assert all((tmp_path / scene / name).stat().st_size > 1000 for name in pictures)
    assert all(any(text in metric for metric in found) for text in metrics)
    for row in rows:
        assert row["value"] is not None or "as printed" in row["case"], row
    radii = [row["value"] for row in rows if row["metric"].startswith("largest eigenvalue") and row["target"]]
    assert max(radii) < 1
    made = (tmp_path / scene / "hair.zarr" / "log.jsonl").read_text()
    assert main(words) in (0, 1)  # nothing is simulated twice
    assert (tmp_path / scene / "hair.zarr" / "log.jsonl").read_text() == made


def test_a_model_of_random_numbers_is_whole():
    model = learned.random_model(20, factors=1)
    model.check()
    assert model.nbytes > 20 * 14 * 3 * 100 * 2
    frame = next(model.play("shake", length=0.5))
    assert np.isfinite(frame.points).all()


def test_styles_and_sliders_are_drawn_of_any_model(tmp_path):
    """Figure 5 and the movie of sliders, of hair that nothing was simulated for."""
    from PIL import Image

    report = Report("sparse", tmp_path, Figures("guan2012 sparse"))
    data = KnownHair((("length", (0.2, 0.4)), ("softness", (1.0, 3.0))), motions=3)
    model = fit_model(data, MultilinearTraining(dimensions=3)).model
    draw_styles(report, model, quick=True)
    draw_sliders(report, model, quick=True)
    assert [name for name, _ in report.pictures] == ["styles.png", "sliders.png"]
    assert (tmp_path / "sliders.mp4").stat().st_size > 1000
    for name, _ in report.pictures:
        assert np.asarray(Image.open(tmp_path / name)).std() > 5


@pytest.mark.stress
def test_the_smallest_bench_has_every_row():
    rows = learned.run(quick=True).rows
    found = {(row.case, row.metric) for row in rows}
    metrics = {metric for _, metric in found}
    assert all(np.isfinite(row.value) for row in rows)
    assert {"in plain NumPy, all stages", "simulated", "learning", "vertex error, test"} <= metrics
    assert "memory of a source at work, besides the model" in metrics
    assert {f"48 guides, {count} factors" for count in range(5)} <= {case for case, _ in found}
    (radius,) = [row.value for row in rows if row.metric == "largest eigenvalue"]
    assert radius < 1


@pytest.mark.stress
def test_a_model_of_four_factors_keeps_its_styles_in_few_numbers():
    """39 controls and three times 100 coefficients: 81 triangles of a matrix of 339 rows, for 16 styles."""
    model = learned.random_model(4, factors=4)
    assert model.dynamics.grams.shape == (81, 339 * 340 // 2)
    # What does not grow with the guides, and what does: two poses in 16 styles, the basis, the strand's number.
    growing = 2 * 16 * 15 * 3 * 4 + 14 * 3 * 100 * 2 + 8
    assert model.nbytes + (3980 - 4) * growing < 1e6 * learned.MEGABYTES_TARGET
