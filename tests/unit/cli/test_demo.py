"""`mane demo` in miniature: what it makes and what it says."""

import numpy as np
import pytest

import mane
from mane.cli import main
from mane.render.sheet import read_picture


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "out"
    assert main(["demo", "-o", str(folder), "--strands", "300", "--frames", "3"]) == 0
    return folder


def test_demo_makes_a_movie_a_comparison_a_stage_and_a_scene(demo):
    assert (demo / "demo.mp4").stat().st_size > 1000
    halves = read_picture(demo / "skins.png")
    assert halves.shape[0] >= 720
    assert halves.shape[1] >= 2 * 720
    assert read_picture(demo / "moments.png").shape[1] > 3 * 400  # one of each of its three frames
    assert len(np.unique(halves.reshape(-1, 3), axis=0)) > 1000  # it is not blank
    assert mane.read_groom(demo / "demo.usda").strand_count == 300


def test_the_scene_that_demo_leaves_can_be_run_again(demo, tmp_path):
    settings = [f"output.{name}={tmp_path / file}" for name, file in (("cache", "b.cache"), ("movie", "b.mp4"))]
    options = [word for setting in settings for word in ("--set", setting)]
    assert main(["simulate", str(demo / "demo.toml"), "--quiet", *options]) == 0
    for name in ("frame.0001.npz", "frame.0003.npz"):
        assert (tmp_path / "b.cache" / name).read_bytes() == (demo / "demo.cache" / name).read_bytes()


def test_demo_can_be_run_again_in_the_same_folder(demo, capsys):
    assert main(["demo", "-o", str(demo), "--strands", "300", "--frames", "3"]) == 0
    said = capsys.readouterr().out
    assert "in all" in said
    assert "demo.mp4" in said


@pytest.mark.parametrize(("option", "value"), [("--strands", "0"), ("--frames", "1")])
def test_impossible_sizes_are_refused(option, value, tmp_path, capsys):
    assert main(["demo", "-o", str(tmp_path), option, value]) == 2
    assert f"{option}: must be at least" in capsys.readouterr().err
