"""Models that [skin] names: those of other guides are refused at once, whether the scene makes hair or not."""

import re
from dataclasses import replace

import pytest

from mane.groom.select import select_guides
from mane.measure.study.adaptive_steps import random_model
from mane.scene.hair import load_hair
from mane.scene.loop import run_scene
from mane.scene.scene_file import SceneError, read_scene

SCENE = """\
[groom]
style = "straight"
strands = 60
vertices = 6

[frames]
end = 2

[guides]
count = 12

[skin]
method = "adaptive"
model = "curls.model"
"""
OUTPUTS = ('cache = "hair.cache"', 'usd = "hair.usda"', 'cache = "hair.cache"\nusd = "hair.usda"')


def write(folder, output, scene=SCENE):
    """A scene file, and beside it a model of its hair on other guides than it simulates."""
    path = folder / "shot.toml"
    path.write_text(f"{scene}\n[output]\n{output}\n")
    groom = load_hair(read_scene(path)).groom
    with open(folder / "curls.model", "wb") as file:
        random_model(groom, select_guides(groom, 12, seed=5)).to_file().write(file)
    return read_scene(path)


@pytest.mark.parametrize("output", OUTPUTS)
def test_guides_that_are_not_those_of_the_model_are_refused_at_once_and_in_their_line(tmp_path, output):
    scene = write(tmp_path, output)
    with pytest.raises(SceneError) as error:
        run_scene(scene)
    expected = (
        r".*shot\.toml:14: \[skin\] model: must carry the groom by its own 12 guides, got 12 others; "
        r'\[guides\] model = "curls\.model" takes them in a scene, .*'
    )
    assert re.fullmatch(expected, str(error.value))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curls.model", "shot.toml"]


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_target_of_other_guides_is_refused_in_its_line(tmp_path, output):
    target = 'method = "physical"\n\n[skin.target]\nmethod = "adaptive"'
    scene = write(tmp_path, output, SCENE.replace('method = "adaptive"', target))
    with pytest.raises(SceneError, match=r"shot\.toml:17: \[skin\.target\] model: must carry the groom by its own 12"):
        run_scene(scene)


def test_an_error_of_the_skin_keeps_its_line_where_an_output_binds_it(tmp_path):
    """The stage of USD asks for the hair when it is opened, for [output]."""
    scene = write(tmp_path, OUTPUTS[1], SCENE.replace('"curls.model"', '"curls.model"\nuse_motion = true\nsigma = 7.0'))
    groom = load_hair(scene).groom
    model = replace(random_model(groom, select_guides(groom, 12, seed=scene.seed)), facts={"sigma": 5.0})
    with open(tmp_path / "curls.model", "wb") as file:
        model.to_file().write(file)
    with pytest.raises(SceneError) as error:
        run_scene(scene)
    assert re.fullmatch(r"\S*shot\.toml:16: \[skin\] sigma: must be 5, which .*", str(error.value))
