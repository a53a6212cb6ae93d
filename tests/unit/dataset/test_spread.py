"""Frames of one shot shared out: the same bytes as one after the other, whoever makes which, whoever dies meanwhile."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mane.cli import main
from mane.dataset.cluster import Cluster, TaskDied
from mane.dataset.spread import BakeRequest, bake_on_cluster, chunks_of, in_order
from mane.groom import styles
from mane.io.usd import UsdSequenceWriter
from mane.scene.cache import Cache
from mane.scene.config import OutputTable
from mane.scene.loop import bake_cache, run_scene
from mane.scene.scene_file import parse_scene

SCENE = """\
[groom]
style = "ball"
strands = 60
vertices = 5

[guides]
count = 6

[frames]
end = 7

[head]
motion = "shake"

[camera]
size = [48, 40]

[output]
cache = "run.cache"
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shot")
    run_scene(parse_scene(SCENE, folder=folder))
    return folder / "run.cache"


def output_in(folder):
    folder.mkdir()
    names = {"usd": "hair.usda", "pictures": "pictures", "metrics": "metrics.json", "movie": "hair.mp4"}
    return OutputTable(**{name: str(folder / file) for name, file in names.items()})


def files_of(folder):
    """Contents of all files by name; those of OpenUSD's text say where they are."""
    found = {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    assert not any("partial" in str(name) for name in found)
    return found


@pytest.mark.parametrize("every", [1, 2])
def test_shared_out_frames_have_the_bytes_of_a_bake(cache, tmp_path, every):
    from distributed.protocol.pickle import dumps, loads

    serial = bake_cache(cache, output_in(tmp_path / "serial"), every=every)
    request = loads(dumps(BakeRequest(str(cache), output_in(tmp_path / "spread"), every=every)))
    told = []
    spread = bake_on_cluster(request, workers=0, progress=told.append)
    one, other = files_of(tmp_path / "serial"), files_of(tmp_path / "spread")
    assert len(one) >= 2 * len(range(0, 7, every)) + 4
    assert one == other
    assert (spread.frames, spread.hair, spread.outside) == (serial.frames, serial.hair, serial.outside)
    assert [progress.done for progress in told] == list(range(1, spread.frames + 1))
    metrics = json.loads((tmp_path / "spread" / "metrics.json").read_text())
    assert ("flicker" in metrics["means"]) == (every == 1 or spread.frames >= 3)


def test_hair_that_remembers_cannot_be_shared_out(cache, tmp_path):
    scene = dataclasses.replace(Cache.open(cache).scene, output=OutputTable())
    skin = dataclasses.replace(scene.skin, settings={**scene.skin.settings, "warm_start": "previous"})
    request = BakeRequest(str(cache), output_in(tmp_path / "spread"), dataclasses.replace(scene, skin=skin))
    with pytest.raises(ValueError, match="skin physical: each frame depends on the one before it; leave --scheduler"):
        bake_on_cluster(request, workers=0)


def test_frames_are_shared_out_without_a_gap():
    for count, workers in ((1, 4), (7, 2), (240, 2), (1000, 64)):
        chunks = chunks_of(count, workers)
        assert [frame for chunk in chunks for frame in chunk] == list(range(count))
    assert max(map(len, chunks_of(240, 2))) == 15


class Backwards(Cluster):
    """Makes the last piece first, and gives one up."""

    def __init__(self, dies=None):
        self._dies = dies

    def run(self, function, arguments):
        for number, given in reversed(list(enumerate(arguments))):
            yield number, TaskDied("out of memory?") if number == self._dies else function(*given)


def doubled(offset, positions):
    return [2 * position + offset for position in positions]


def test_frames_come_in_their_order_whatever_is_made_first():
    assert list(in_order(Backwards(), doubled, (1,), 40)) == [(k, 2 * k + 1) for k in range(40)]


def test_frames_that_cannot_be_made_are_named():
    with pytest.raises(OSError, match="frames 6 to 10 of 40 were not made: out of memory"):
        list(in_order(Backwards(dies=1), doubled, (1,), 40))


@pytest.fixture(scope="module")
def animated(cache, tmp_path_factory):
    path = tmp_path_factory.mktemp("usd") / "hair.usda"
    bake_cache(cache, OutputTable(usd=str(path)))
    return path


@pytest.mark.parametrize("name", ["shot.png", "shot.mp4"])
def test_a_shared_out_render_has_the_bytes_of_one_after_the_other(animated, tmp_path, name, capsys):
    command = ["render", str(animated), "--size", "48x40", "--frames", "1:5"]
    for folder, more in (("serial", []), ("spread", ["--workers", "0"])):
        (tmp_path / folder).mkdir()
        assert main([*command, "-o", str(tmp_path / folder / name), *more]) == 0
    one, other = files_of(tmp_path / "serial"), files_of(tmp_path / "spread")
    assert len(one) == (1 if name.endswith(".mp4") else 5)
    assert one == other
    assert "5 frames of 48 x 40" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["render", "USD", "-o", "x.mp4", "--workers", "2", "--scheduler", "tcp://a:1"],
            "--workers 2: must be left out",
        ),
        (["render", "USD", "-o", "x.png", "--workers", "2"], "share frames out, and there is one only"),
        (["bake", "CACHE", "-o", "x.usda", "--workers", "-1"], "--workers: must be at least 0, got -1"),
        (["bake", "CACHE", "-o", "x.usda", "--threads", "0"], "--threads: must be at least 1, got 0"),
    ],
)
def test_bad_commands_get_one_line(cache, animated, capsys, words, message):
    named = {"USD": str(animated), "CACHE": str(cache)}
    assert main([named.get(word, word) for word in words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_frame_that_nobody_wrote_is_not_listed(tmp_path):
    writer = UsdSequenceWriter.new(tmp_path / "hair.usda", styles.make("ball", strands=3, vertices=5))
    with pytest.raises(FileNotFoundError, match=r"frame\.0001\.usdc: is not there"):
        writer.add(1.0)


@pytest.mark.stress
@pytest.mark.parametrize("what", ["bake", "render"])
def test_workers_killed_at_random_leave_the_same_bytes(cache, animated, tmp_path, what):
    import psutil

    for folder in ("serial", "killed"):
        (tmp_path / folder).mkdir()
    command = {
        "bake": ["bake", str(cache), "-o", "hair.usda", "--movie", "hair.mp4", "--metrics", "metrics.json"],
        "render": ["render", str(animated), "-o", "hair.mp4", "--size", "1280x720", "--supersample", "4"],
    }[what]

    def start(folder, *more):
        return subprocess.Popen([sys.executable, "-m", "mane", *command, *more], cwd=tmp_path / folder)

    assert start("serial").wait() == 0
    process, killed = start("killed", "--workers", "3"), 0
    while process.poll() is None:
        time.sleep(1.0)
        try:
            children = psutil.Process(process.pid).children(recursive=True)
            victims = [one.pid for one in children if "spawn_main" in " ".join(one.cmdline())]
        except psutil.Error:
            victims = []
        if victims and killed < 3:
            os.kill(victims[0], signal.SIGKILL)
            killed += 1
    assert process.returncode == 0
    assert killed >= 1
    assert files_of(tmp_path / "serial") == files_of(tmp_path / "killed")
    assert not Path(tmp_path / "killed" / "hair.mp4.frames").exists()
