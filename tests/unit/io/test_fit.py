"""Sizes of hair and body in commands and scenes: the likely unit is named in the caller's words."""

import warnings

import numpy as np
import pytest
from usd_files import new_stage

from mane.body.shapes import Sphere
from mane.cli import main
from mane.groom.groom import Groom
from mane.io import write_groom, write_mesh
from mane.io.units import from_metres
from mane.scene.build import build
from mane.scene.scene_file import SceneError, parse_scene

HEAD = Sphere((0, 1.6, 0), 0.1).mesh(16)


def hair(part=slice(None)):
    roots = HEAD.points[::3][part]
    away = (roots - np.float32((0, 1.6, 0))) * np.float32(10)
    return Groom.from_uniform(roots[:, None] + away[:, None] * np.linspace(0, 0.2, 5, dtype=np.float32)[:, None])


def scaled(groom, scale):
    return groom.with_points(groom.points * np.float32(scale))


@pytest.fixture
def folder(tmp_path):
    write_mesh(tmp_path / "head.obj", HEAD)
    write_mesh(tmp_path / "small.obj", HEAD.with_points(HEAD.points * np.float32(0.01)))
    write_mesh(tmp_path / "large.obj", HEAD.with_points(HEAD.points * np.float32(100)))
    write_groom(tmp_path / "hair.data", hair())
    write_groom(tmp_path / "large.data", scaled(hair(), 100))
    write_groom(tmp_path / "z.data", hair().with_points(from_metres(hair().points, "m", "z")))
    return tmp_path


def run(capsys, *argv):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code = main([str(word) for word in argv])
    out, err = capsys.readouterr()
    return code, out, err


CASES = [
    ("large.data", "head.obj", "these look like centimetres: {hair_unit}cm"),
    ("hair.data", "large.obj", "these look like centimetres: {body_unit}cm"),
    ("hair.data", "small.obj", "the body looks 100 times too small: {body_unit}100m"),
    ("z.data", "head.obj", "the up axis looks wrong: {hair_up}z"),
]
OPTIONS = {"hair_unit": "--from-unit ", "body_unit": "--body-unit ", "hair_up": "--from-up "}
KEYS = {"hair_unit": '[groom] unit = "', "body_unit": '[body] unit = "', "hair_up": '[groom] up = "'}


@pytest.mark.parametrize(("groom", "body", "text"), CASES, ids=lambda value: value if " " not in value else "")
@pytest.mark.parametrize("command", ["repair", "render"])
def test_commands_refuse_what_cannot_be_meant_and_name_the_option(folder, capsys, command, groom, body, text):
    out = {"repair": [folder / "out.npz"], "render": ["-o", folder / "out.png"]}[command]
    code, _, err = run(capsys, command, folder / groom, *out, "--body", folder / body)
    assert code == 2
    assert text.format(**OPTIONS) in err
    assert err.endswith("; --any-scale takes them as they are\n")
    assert err.count("\n") == 1
    assert not (folder / out[-1]).exists()


@pytest.mark.parametrize(("groom", "body", "text"), CASES, ids=lambda value: value if " " not in value else "")
def test_scenes_refuse_it_and_name_the_key(folder, groom, body, text):
    scene = parse_scene(f'[groom]\nfile = "{groom}"\n[body]\nmesh = "{body}"\n[guides]\ncount = 4\n', folder=folder)
    with pytest.raises(SceneError) as caught:
        build(scene)
    assert text.format(**KEYS) in str(caught.value)
    assert str(caught.value).endswith("; [groom] any_scale = true takes them as they are")


def test_the_remedy_is_the_right_one(folder, capsys):
    words = ["repair", folder / "large.data", folder / "out.npz", "--body", folder / "large.obj"]
    code, _, err = run(capsys, *words)
    assert (code, "--from-unit cm" in err) == (2, True)
    code, _, err = run(capsys, *words, "--from-unit", "cm")
    assert (code, "--body-unit cm" in err) == (2, True)
    code, _, err = run(capsys, *words, "--from-unit", "cm", "--body-unit", "cm")
    assert (code, err) == (0, "")


def test_it_can_be_overruled(folder, capsys):
    words = ["repair", folder / "large.data", folder / "out.npz", "--body", folder / "large.obj", "--any-scale"]
    code, _, _ = run(capsys, *words)
    assert code == 0


def test_metres_in_a_usd_file_that_states_none_are_recognised(folder, capsys):
    """USD's fallback is centimetres: hair of 20 cm is read as 2 mm on a head of 2 mm."""
    stage = new_stage(folder / "hair.usda", unit=None)
    from usd_files import add_curves

    groom = hair()
    short = Groom.from_uniform(groom.as_uniform()[:, :2])
    add_curves(stage, "/Hair", short.points, short.vertex_counts)
    stage.Save()
    code, _, err = run(capsys, "repair", folder / "hair.usda", folder / "out.npz", "--body", folder / "head.obj")
    assert code == 2
    assert "metersPerUnit is not authored, 0.01 (cm) is assumed, as OpenUSD does; tell it by --from-unit" in err
    assert "these look like metres: --from-unit m; --any-scale" in err
