"""Pictures drawn by a process beside the simulation."""

import os
import signal

import numpy as np
import pytest
from tiny import tiny_scene

from mane.body.shapes import Sphere
from mane.groom.groom import Groom
from mane.scene import drawing, sink_pictures
from mane.scene.config import CameraTable, OutputTable
from mane.scene.drawing import LEAST_PICTURES, DrawingProcess, Picture, drawing_ahead
from mane.scene.loop import run_scene

HAIR = Groom.from_uniform(np.linspace(0, 0.1, 4)[None, :, None] * np.ones((3, 1, 3)))


def pictures_of(folder):
    folder.mkdir()
    scene = tiny_scene(
        folder, frame_count=LEAST_PICTURES, camera=CameraTable(size=(48, 32)), output=OutputTable(pictures="pictures")
    )
    summary = run_scene(scene)
    return {file.name: file.read_bytes() for file in sorted((folder / "pictures").iterdir())}, summary


def test_pictures_are_the_same_bytes_wherever_they_are_drawn(tmp_path, monkeypatch):
    beside, summary = pictures_of(tmp_path / "beside")
    assert summary.beside["draw"] > 0
    monkeypatch.setattr(sink_pictures, "can_draw_beside", lambda count: False)
    here, summary = pictures_of(tmp_path / "here")
    assert "draw" not in summary.beside
    assert len(here) == LEAST_PICTURES
    assert beside == here


def picture(file, **options):
    given = {"size": (24, 16), "look": ["brown"], **options}
    return Picture([file], HAIR.points, [Sphere((0.0, 0.0, 0.0), 0.02).mesh()], given)


def test_a_process_that_was_ended_is_named_with_the_picture_that_it_owes(tmp_path):
    process = DrawingProcess()
    os.kill(process._process.pid, signal.SIGKILL)
    with pytest.raises(OSError, match=r"hair\.png: is not drawn, since the process that draws was ended by signal 9"):
        process.draw(picture(tmp_path / "hair.png"), HAIR)
    process.close()
    assert not list(tmp_path.iterdir())


def test_what_goes_wrong_there_is_raised_here_and_drawing_goes_on(tmp_path):
    process = DrawingProcess()
    with pytest.raises(ValueError, match="look: 'green' is unknown"):
        process.draw(picture(tmp_path / "hair.png", look="green"), HAIR)
    assert not process.draw(picture(tmp_path / "hair.png"), HAIR)
    process.close()
    assert (tmp_path / "hair.png").is_file()
    assert process._process.returncode == 0


def test_the_process_is_begun_before_there_is_hair_and_draws_all_pictures(tmp_path, monkeypatch):
    begun = []

    class Counted(DrawingProcess):
        def __init__(self):
            begun.append(self)
            super().__init__()

    monkeypatch.setattr(drawing, "DrawingProcess", Counted)  # the sink's own would not be counted
    made, _ = pictures_of(tmp_path / "run")
    assert len(made) == LEAST_PICTURES
    assert [one._knows_rest for one in begun] == [True]
    assert begun[0]._process.returncode == 0


def test_a_process_that_was_begun_for_nothing_ends_at_once():
    with pytest.raises(ValueError, match="no hair"), drawing_ahead(LEAST_PICTURES) as process:
        raise ValueError("no hair")
    assert process._process.returncode == -signal.SIGKILL


def test_few_pictures_are_not_worth_a_process():
    with drawing_ahead(LEAST_PICTURES - 1) as process:
        assert process is None


@pytest.mark.parametrize(
    ("output", "count"),
    [
        (OutputTable(movie="a.mp4", pictures="b", every=3), 7),
        (OutputTable(pictures="b", every=3), 3),
        (OutputTable(), 0),
    ],
)
def test_pictures_are_counted_beforehand(output, count):
    assert output.picture_count(7) == count
