"""Specs: what they say, and one line with file and line number for what cannot be meant."""

from pathlib import Path

import numpy as np
import pytest

from mane.dataset.sequences import plan_motions, plan_sequences
from mane.dataset.spec import AxisTable, Spec, read_spec
from mane.scene.scene_file import SceneError


def test_a_grid_has_every_motion_with_every_value(write_spec):
    spec = read_spec(write_spec())
    planned = plan_sequences(spec)
    assert [sequence.index for sequence in planned] == list(range(8))
    pairs = {(sequence.motion, sequence.factors["stiffness"]) for sequence in planned}
    assert len(pairs) == 8
    assert planned[1].scene(spec).strand.properties == {"stiffness": 2.0}
    assert planned[1].scene(spec).frames.count == 6


def test_copies_of_a_motion_differ_within_what_they_are_drawn_from(write_spec):
    motions = plan_motions(read_spec(write_spec()))
    seeds = [motion.settings["head.seed"] for motion in motions]
    assert len(set(seeds)) == len(seeds)
    drawn = [motion.settings["head.amplitude"] for motion in motions[:3]]
    assert len(set(drawn)) == 3
    assert all(0.2 <= value <= 0.6 for value in drawn)


BUST = """\
seed = 3
[scene.groom]
style = "bob"
strands = 4
[scene.body]
mesh = "bust"
[[motions]]
motion = "walk"
moves = "body"
count = 3
rate = [1.2, 2.2]
[[motions]]
motion = "nod"
moves = "body"
[[motions]]
motion = "walk"
"""


def test_motions_of_the_joints_of_a_bust_are_drawn_as_those_of_a_head(write_spec):
    spec = read_spec(write_spec(text=BUST))
    scenes = [one.scene(spec) for one in plan_sequences(spec)]
    assert [scene.body.motion for scene in scenes] == ["walk", "walk", "walk", "nod", None]
    assert [scene.head.motion for scene in scenes] == ["still"] * 4 + ["walk"]
    drawn = [scene.body.settings for scene in scenes[:3]]
    assert len({one["seed"] for one in drawn}) == len({one["rate"] for one in drawn}) == 3
    assert all(1.2 <= one["rate"] <= 2.2 for one in drawn)
    assert not scenes[3].body.settings  # a nod has no seed
    assert Spec.from_dict(spec.to_dict(), Path()).motions == spec.motions


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            'moves = "body"\ncount',
            'moves = "feet"\ncount',
            r"spec.toml:9: \[\[motions\]\] moves: 'feet' is unknown; choose",
        ),
        ("rate = [1.2, 2.2]", "stop = 2.0", r"spec.toml:11: \[\[motions\]\] stop: is for motions of the head"),
        ('mesh = "bust"', 'mesh = "none"', "motion: needs a body with joints; set mesh to 'bust' or 'creature'"),
        ('motion = "nod"', 'motion = "nap"', "spec.toml:13: .*motion: 'nap' is unknown; choose from dance, jump"),
        ("count = 3", "amplitude = -1.0", r"amplitude: must be at least 0, got -1\.0"),
    ],
)
def test_motions_that_no_body_has_are_refused_in_one_line(write_spec, old, new, text):
    with pytest.raises(SceneError, match=text) as error:
        plan_sequences(read_spec(write_spec((old, new), text=BUST)))
    assert "\n" not in str(error.value)


def test_a_motion_keeps_its_seed_when_others_are_added(write_spec):
    before = plan_motions(read_spec(write_spec()))
    after = plan_motions(read_spec(write_spec(("count = 3", "count = 5"))))
    assert [m.settings for m in before[:3]] == [m.settings for m in after[:3]]


def test_side_by_side_needs_as_many_of_each(write_spec):
    with pytest.raises(
        SceneError, match=r'spec.toml:2: combine: "zip" needs as many of each, got motions 4, stiffness 2'
    ):
        plan_sequences(read_spec(write_spec(("seed = 3", 'seed = 3\ncombine = "zip"'))))
    four = read_spec(write_spec(("seed = 3", 'seed = 3\ncombine = "zip"'), ("[0.5, 2.0]", "[1.0, 2.0, 3.0, 4.0]")))
    assert [sequence.factors["stiffness"] for sequence in plan_sequences(four)] == [1.0, 2.0, 3.0, 4.0]


def test_a_latin_hypercube_meets_every_part_of_every_axis_once(write_spec):
    changes = (
        ("seed = 3", 'seed = 3\ncombine = "latin"\nsamples = 16'),
        ("values = [0.5, 2.0]", 'range = [0.5, 2.0]\nscale = "log"'),
    )
    planned = plan_sequences(read_spec(write_spec(*changes)))
    values = np.array([sequence.factors["stiffness"] for sequence in planned])
    strata = np.floor(np.log(values / 0.5) / np.log(4.0) * 16).astype(int)
    assert sorted(strata) == list(range(16))
    motions = [sequence.motion for sequence in planned]
    assert all(motions.count(name) == 4 for name in set(motions))


def test_ranges_have_both_ends():
    assert AxisTable(key="a.b", range=(1.0, 4.0), count=3, scale="log").levels() == [1.0, 2.0, 4.0]
    assert AxisTable(key="a.b", range=(1.0, 4.0), count=4).levels() == [1.0, 2.0, 3.0, 4.0]


def test_keys_that_go_together(write_spec):
    changes = (
        ('key = "strand.properties.stiffness"', 'keys = ["strand.model", "skin.method"]\nname = "method"'),
        ("[0.5, 2.0]", '[["spring", "linear"], ["chain", "rigid"]]'),
    )
    spec = read_spec(write_spec(*changes))
    scenes = [sequence.scene(spec) for sequence in plan_sequences(spec)[:2]]
    assert [(scene.strand.model, scene.skin.method) for scene in scenes] == [("spring", "linear"), ("chain", "rigid")]


def test_splits_share_no_motion(write_spec):
    text = "\n[splits]\ntrain = 0.5\nvalidation = 0.25\ntest = 0.25\n"
    spec = read_spec(write_spec(("[store]", text + "\n[store]"), ("count = 3", "count = 8")))
    by_split: dict[str, set[str]] = {}
    for sequence in plan_sequences(spec):
        by_split.setdefault(sequence.split, set()).add(sequence.motion)
    assert {name: len(motions) for name, motions in by_split.items()} == {"train": 4, "validation": 2, "test": 3}
    assert not by_split["train"] & by_split["test"]


def test_a_spec_survives_its_own_plain_form(write_spec, tmp_path):
    spec = read_spec(write_spec())
    again = Spec.from_dict(spec.to_dict(), tmp_path)
    assert again.to_dict() == spec.to_dict()
    assert [s.settings for s in plan_sequences(again)] == [s.settings for s in plan_sequences(spec)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("stiffness", "stifness", r"spec.toml:\d+: .*no key 'stifness'.*did you mean 'stiffness'"),
        ("[0.5, 2.0]", "[]", r"spec.toml:\d+: \[\[axes\]\] values: must be given, or range"),
        (
            'properties.stiffness"\nvalues = [0.5, 2.0]',
            'drag"\nvalues = [0.5, -2.0]',
            r"toml:\d+: \[strand\] drag: must be",
        ),
        ('"shake"', '"shaek"', r"spec.toml:\d+: .*shaek"),
        ('split = "test"', 'split = "tset"', r"spec.toml:\d+: \[\[motions\]\] split: 'tset' is unknown"),
        ('"hairs"', '"hair"', r"spec.toml:\d+: \[store\] fields: 'hair' is unknown"),
        ("[store]", "[splits]\ntrain = 0.5\ntest = 0.5\nvalidation = 0.5\n[store]", r"\[splits\] train: must sum to 1"),
        (
            "count = 3",
            "count = 1\n[splits]\ntrain = 0.9\nvalidation = 0.1\n[[motions]]\nmotion='nod'",
            r"gets no sequence",
        ),
        ("frames = 6", "frames = 0", r"frames: must be at least 1"),
        ('style = "ball"', 'style = "bal"', r"spec.toml:5: .*'bal' is unknown"),
        ("[[axes]]", "[[axes]]\nvalue = 3", r"spec.toml:\d+: \[\[axes\]\] has no key 'value'"),
        (
            "strand.properties.stiffness",
            "head.amplitude",
            r"toml:\d+: \[\[axes\]\] head.amplitude: is given by \[\[motions",
        ),
        ("seed = 3", "sede = 3", r"spec.toml:1: the scene has no key 'sede'|spec.toml:1: .*no key 'sede'"),
    ],
)
def test_bad_specs_are_refused_in_one_line(write_spec, old, new, message):
    with pytest.raises(SceneError, match=message) as caught:
        plan_sequences(read_spec(write_spec((old, new))))
    assert "\n" not in str(caught.value)


def test_the_example_has_the_size_of_its_paper():
    spec = read_spec(Path(__file__).parents[3] / "examples" / "06_datasets" / "01_many_motions.toml")
    planned = plan_sequences(spec)
    assert len({sequence.motion for sequence in planned}) == 42
    assert len({sequence.factors["style"][0] for sequence in planned}) == 4
    frames = [sequence.scene(spec).frames.count for sequence in planned]
    assert 12_000 <= sum(frames) / 4 <= 12_100
    assert (planned[0].scene(spec).groom.strands, planned[0].scene(spec).groom.vertices) == (962, 15)
