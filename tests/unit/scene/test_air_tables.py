"""[air] and [[air_fields]] of a scene: what they make, and one line for what they cannot."""

import numpy as np
import pytest

from mane.cli import main
from mane.contact.air.airflow import Airflow
from mane.groom.groom import Groom
from mane.render.sheet import read_picture
from mane.scene.air_picture import with_streaks
from mane.scene.build import build
from mane.scene.loop import run_scene
from mane.scene.scene_file import SceneError, parse_scene

SCENE = """
[groom]
style = "ball"
strands = 60
vertices = 8
[guides]
count = 8
[wind]
velocity = [2.0, 0.0, 0.0]
[air]
cell = 0.05
hairs = 2000.0
"""
FAN = '[[air_fields]]\nkind = "fan"\nposition = [0, 0, 0.2]\ndirection = [0, 0, -1]\n'


def air_of(text, **settings):
    source = build(parse_scene(text, **settings)).source
    (air,) = (part for part in source.parts if isinstance(part, Airflow))
    return source, air


def test_air_takes_the_place_of_wind_and_shelters():
    source, air = air_of(SCENE + FAN)
    assert not any(part.name == "drag" for part in source.parts)
    assert (air.cell, air.hairs_each, len(air.winds), len(air.placed)) == (0.05, 250.0, 1, 1)
    source.step()
    assert air.flow.at(np.array([[0.0, 0.0, 0.2]]))[0, 2] < -0.5  # the fan blows
    assert source.report.parts["air_speed"] > 2.0


def test_a_wind_file_lies_beside_the_scene(tmp_path):
    (tmp_path / "wind.csv").write_text("0,0,0,1\n1,0,0,3\n")
    _, air = air_of(SCENE + '[[air_fields]]\nkind = "file"\nfile = "wind.csv"\n', folder=tmp_path)
    assert len(air.winds) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SCENE.replace("cell = 0.05", "cell = -1.0"), r"scene:11: \[air\] cell: must be above 0, got"),
        (SCENE + 'wall = "rough"\n', r"scene:13: \[air\] wall: .*slip"),
        (SCENE + '[[air_fields]]\nkind = "storm"\n', r"kind: 'storm' is unknown; choose from fan, file, gust"),
        (SCENE + FAN + "speeed = 3.0\n", r"has no key 'speeed'.*did you mean 'speed'"),
        (SCENE + FAN.replace("[0, 0, -1]", "[0, 0, 0]"), "direction: must not be zero"),
        (SCENE.replace("cell = 0.05\n", "") + FAN, "give it a cell"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(text, message):
    with pytest.raises(SceneError, match=message):
        parse_scene(text)


def test_the_look_of_the_air_draws_streamlines_with_the_hair(tmp_path):
    """By `--look air`; where no air is simulated, one line says so before anything is run."""
    scene = tmp_path / "scene.toml"
    scene.write_text(SCENE + '[frames]\nend = 2\n[camera]\nsize = [160, 120]\n[output]\npictures = "pictures"\n')
    assert main(["simulate", str(scene), "--look", "air", "--quiet"]) == 0
    with_air = read_picture(tmp_path / "pictures" / "picture.0002.png").astype(np.float64)
    assert main(["simulate", str(scene), "--look", "brown", "--quiet"]) == 0
    without = read_picture(tmp_path / "pictures" / "picture.0002.png").astype(np.float64)
    corner = np.abs(with_air - without)[:30, :30]  # away from the hair, where nothing is without streaks
    assert (corner.max(axis=-1) > 20).mean() > 0.02
    still = SCENE.replace("cell = 0.05\nhairs = 2000.0\n", "") + '[output]\npictures = "pictures"\n'
    with pytest.raises(ValueError, match="shows the air while it is simulated, and this run simulates none"):
        run_scene(parse_scene(still + '[camera]\nlook = "air"\n', folder=tmp_path))


def test_streaks_are_strands_of_their_own():
    source, air = air_of(SCENE)
    source.step()
    hair = Groom.from_uniform(source.frame.points)
    both = with_streaks(hair, air, count=50, length=0.05)
    assert (both.points[: hair.point_count] == hair.points).all()
    assert 20 < both.strand_count - hair.strand_count <= 50
    speed = np.linalg.norm(air.flow.at(both.points[hair.point_count :].astype(np.float64)), axis=1)
    bright = both.vertex["color"][hair.point_count :].sum(axis=1)
    assert np.corrcoef(speed, bright)[0, 1] > 0.8


def test_cells_that_do_not_fit_into_memory_are_refused():
    with pytest.raises(SceneError, match=r"GB of memory and .* GB are free; use larger cells"):
        build(parse_scene(SCENE.replace("0.05", "1e-5")))
