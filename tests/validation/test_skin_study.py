"""The studies of skins in their short form: the physical skin keeps what it promises beside the linear one."""

import json
from dataclasses import replace

import pytest

from mane.measure.study import physical as study_physical
from mane.measure.study.skin import METHODS, SCENES, measure, record
from mane.measure.validate import skin as validate_skin


def values(figures, case):
    return {row["metric"]: row["value"] for row in json.loads(figures.to_json())["rows"] if row["case"] == case}


def test_physical_beats_linear_on_a_small_head():
    """Lengths and kinks of shaken curls, with flicker no worse than a little more than the guides'."""
    scene = replace(SCENES[0], guides=24, style_options={"vertices": 16})
    recording = record(scene, strands=400, sampled=8, seconds=0.4)
    linear, physical = (
        measure(recording, METHODS[name](recording), measured=200, every=6) for name in ("linear", "physical")
    )
    assert physical["length_error"] < 1e-3 * linear["length_error"]
    assert physical["kink"] < 0.5 * linear["kink"]
    assert physical["relative_flicker"] < 1.2


@pytest.mark.stress
def test_physical_is_better_than_linear_at_length_and_kink(tmp_path):
    figures = validate_skin.run(quick=True, plot=str(tmp_path))
    name = "curly, shaken (fig. 1)"
    linear, physical = (values(figures, f"{name}, {method}") for method in ("linear", "physical"))
    assert physical["mean length error"] < 1e-3 * linear["mean length error"]
    assert physical["mean kink"] < 0.5 * linear["mean kink"]
    assert physical["flicker over the guides'"] < 1.2
    # The paper as printed has guides of its own. Lengths it keeps better than linear skinning, kinks it does not.
    cases = ("hsu2024 as printed", "linear, xpbd guides", "physical, xpbd guides")
    printed, plain, ours = (values(figures, f"{name}, {case}") for case in cases)
    assert ours["mean length error"] < printed["mean length error"] < plain["mean length error"]
    assert ours["mean kink"] < min(printed["mean kink"], plain["mean kink"])
    assert values(figures, f"{name}, full simulation, xpbd")
    assert len(list(tmp_path.glob("*.png"))) == 2


@pytest.mark.stress
def test_one_sweep_is_printed_against_the_load_and_follows_a_guide_of_its_own_shape():
    figures = study_physical.run(quick=True)
    for load in study_physical.LOADS:
        (off,) = values(figures, f"sag, G = {load:g}, 1 sweep").values()
        assert off < 1e-3
