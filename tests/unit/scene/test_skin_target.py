"""[skin.target]: physical hair that another skin puts where it belongs, in a scene as in a script."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest

from mane.scene.build import build
from mane.scene.config import FramesTable, OutputTable, SkinTable, SolidTable, TargetTable
from mane.scene.loop import run_scene
from mane.scene.reference import scene_reference
from mane.scene.scene_file import SceneError, overridden, parse_scene, scene_from_dict
from mane.scene.schema import scene_schema
from mane.scene.starter import starter_text
from mane.scene.written import scene_text
from mane.skin.finish.passes import LengthKeeping, SolidAdjustment
from mane.skin.finish.sides import SideKeeping
from mane.skin.table import make_skin

TEXT = """[groom]
style = "ball"

[skin]
method = "physical"
alpha = 0.2

[skin.target]
method = "adaptive"
eligible = 4
"""
ON_SETS = SkinTable("physical", {"alpha": 0.2}, TargetTable("adaptive", {"eligible": 4, "fade": 0.2}))
BALL = SolidTable(
    shape="sphere", keyframes=((0, 0.15, 0, 0), (0.2, 0.06, 0, 0)), settings={"center": [0, 0, 0], "radius": 0.03}
)


def test_a_scene_file_names_it():
    scene = parse_scene(TEXT)
    assert scene.skin == SkinTable("physical", {"alpha": 0.2}, TargetTable("adaptive", {"eligible": 4}))
    within = (
        TEXT.replace("[skin.target]\n", "")
        .replace('"adaptive"\n', '"adaptive", ')
        .replace("eligible = 4\n", "eligible = 4 }\n")
    )
    within = within.replace('\nmethod = "adaptive"', 'target = { method = "adaptive"')
    assert parse_scene(within).skin == scene.skin
    assert [one.kind for one in scene.finishing] == ["keep_lengths", "keep_sides", "push_out"]
    assert overridden(scene, ["skin.target.eligible=3"]).skin.target.settings == {"eligible": 3}
    assert scene_from_dict(scene.to_dict()).skin == scene.skin
    assert parse_scene(scene_text(scene)).skin == scene.skin


@pytest.mark.parametrize(
    ("given", "taken", "message"),
    [
        ("eligible = 4", "elligible = 4", r"scene:10: \[skin.target\] has no key 'elligible'.*did you mean 'eligible'"),
        ("eligible = 4", "eligible = 40", r"scene:10: \[skin.target\] eligible: must be from 1 to 10, got 40"),
        ("eligible = 4", "eligible = 'few'", r"scene:10: \[skin.target\] eligible: must be a whole number, got 'few'"),
        ('"adaptive"', '"adaptif"', r"scene:9: \[skin.target\] method: 'adaptif' is unknown.*did you mean 'adaptive'"),
        (
            '"adaptive"\neligible = 4',
            '"volume"',
            r"scene:9: \[skin.target\] method: 'volume' cannot.*rigid, linear, adapt",
        ),
        ('method = "adaptive"\n', "", r"scene:8: \[skin.target\] method: is missing"),
        (
            '"physical"\nalpha = 0.2',
            '"linear"',
            r"scene:7: \[skin.target\] must be left out: skin 'linear'.* physical does",
        ),
        ("[skin.target]\n", "target = 3\n#", r"scene:8: skin.target: must be a table, \[skin.target\], got 3"),
    ],
)
def test_mistakes_are_told_with_their_line(given, taken, message):
    text = TEXT.replace(given, taken).partition("#")[0]
    with pytest.raises(SceneError, match=message) as error:
        parse_scene(text)
    assert "\n" not in str(error.value)


def test_schema_page_and_starter_know_it():
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(scene_schema())
    validator.validate(tomllib.loads(TEXT))
    assert not validator.is_valid(tomllib.loads(TEXT.replace("eligible = 4", "eligible = 40")))
    assert not validator.is_valid(tomllib.loads(TEXT.replace('method = "adaptive"\n', "")))
    offered = scene_schema()["properties"]["skin"]["properties"]["target"]["properties"]["method"]["examples"]
    assert "adaptive" in offered
    assert "physical" not in offered
    assert "## `[skin.target]`" in scene_reference()
    assert "# [skin.target]\n" in starter_text("curls")


def test_a_scene_is_what_a_script_makes(tmp_path, tiny_scene):
    scene = tiny_scene(tmp_path, skin=ON_SETS, solids=(BALL,), frame_count=6)
    assembly = build(scene)
    stage, source, groom = assembly.hair_stage, assembly.source, assembly.hair.groom
    script = build(scene).source
    target = make_skin("adaptive", groom, script, eligible=4, fade=0.2)
    skin = make_skin("physical", groom, script, alpha=0.2, target=target)
    body = script.solids[0]
    finish = [
        LengthKeeping(groom),
        SideKeeping(script.solids, body=body, groom=groom),
        SolidAdjustment(script.solids, groom=groom, body=body, rounds=8),
    ]
    moved = 0.0
    for _ in range(6):
        points, frame = stage(source.step()), script.step()
        expected = skin(frame)
        free = expected.copy()
        for one in finish:
            expected = one(expected, frame)
        np.testing.assert_array_equal(points, expected)
        moved = max(moved, float(np.abs(points - free).max()))
    assert moved > 1e-3  # the solid came into the hair
    assert len(target.memory()["seen"])


def test_a_run_that_was_stopped_goes_on_with_its_sets_and_fades(tmp_path, tiny_scene):
    output = OutputTable(cache="a.cache", usd="hair.usda")
    for folder in ("whole", "parts"):
        (tmp_path / folder).mkdir()
    whole, parts = (
        tiny_scene(tmp_path / name, skin=ON_SETS, solids=(BALL,), output=output, frame_count=6)
        for name in ("whole", "parts")
    )
    run_scene(whole)
    run_scene(replace(parts, frames=FramesTable(end=4)))
    assert run_scene(parts, resume=True).resumed_after == 4
    for index in range(1, 7):
        name = f"hair.frames/frame.000{index}.usdc"
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
