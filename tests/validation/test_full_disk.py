"""A disk that is full in the middle of a run: one line, nothing finished is lost, and the run goes on later."""

import subprocess
import sys

import pytest

from mane.cli import main

resource = pytest.importorskip("resource")  # limits of a process, which not every system has

FRAMES = 72
LIMIT = 28_000  # bytes; only the file of metrics, which grows by half a kilobyte per frame, comes to that
SCENE = f"""
seed = 3
[groom]
style = "ball"
strands = 30
vertices = 6
[guides]
count = 4
[frames]
end = {FRAMES}
[head]
motion = "shake"
[strand]
substeps = 2
[skin]
method = "linear"
[output]
cache = "run.cache"
usd = "hair.usda"
metrics = "metrics.json"
"""


def limited():
    """Let no file of this process grow further; the system then refuses as it does where a disk is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))


def results(folder):
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in ("cache.json", "log.csv"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def scene_in(folder):
    folder.mkdir()
    (folder / "scene.toml").write_text(SCENE)
    return folder / "scene.toml"


def test_a_file_that_finds_no_room_is_one_line_and_the_run_goes_on(tmp_path):
    # First of all, so that the limited run finds every kernel compiled, whose files are larger.
    assert main(["simulate", str(scene_in(tmp_path / "whole")), "--quiet"]) == 0
    scene = scene_in(tmp_path / "full")
    command = [sys.executable, "-m", "mane.cli", "simulate", str(scene), "--quiet"]
    ended = subprocess.run(command, preexec_fn=limited, capture_output=True, text=True)
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert "metrics.json: cannot be written" in ended.stderr
    assert "free some space" in ended.stderr
    assert "--resume goes on" in ended.stderr
    finished = len(list((tmp_path / "full" / "run.cache").glob("frame.*.npz")))
    assert 10 < finished < FRAMES
    assert not [path for path in (tmp_path / "full").rglob(".*") if path.is_file()]  # no half files

    assert main(["simulate", str(scene), "--resume", "--quiet"]) == 0
    assert results(tmp_path / "full") == results(tmp_path / "whole")
