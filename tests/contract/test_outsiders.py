"""Methods from outside the package: an entry in a table, and scenes run, resume, bake, bench and compare with them.

Nothing else is done for them anywhere: no list of names, no setting, no line of the command knows them.
"""

import json
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from outsiders import CopySkin, LagSolver, Sparkle, SwingSource, Tide

import mane
from mane.contact.table import INTERACTIONS
from mane.measure.bench.pipeline import stage_seconds
from mane.measure.compare.compare import compare
from mane.scene.cache import Cache
from mane.scene.config import FramesTable, OutputTable
from mane.scene.loop import bake_cache, run_scene
from mane.scene.scene_file import SceneError, parse_scene
from mane.scene.sources import SOURCES
from mane.skin.finish.passes import FINISHING_PASSES
from mane.skin.table import SKINS
from mane.strand.solver import SOLVERS

TEXT = """
seed = 3
[groom]
style = "ball"
strands = 60
vertices = 8
length = 0.06
[frames]
end = 6
[guides]
count = 6
[head]
motion = "shake"
ease_in = 0.05
[strand]
model = "lag"
substeps = 2
settings = { rate = 30 }
[[interactions]]
kind = "tide"
strength = 2e-6
[skin]
method = "copy"
share = 0.4
[[passes]]
kind = "sparkle"
height = 2e-4
[output]
cache = "a.cache"
usd = "hair.usda"
metrics = "metrics.json"
"""
SWINGING = (
    TEXT.replace('[[interactions]]\nkind = "tide"\nstrength = 2e-6\n', '[source]\nkind = "swing"\nsize = 0.02\n')
    .replace('model = "lag"\nsubsteps = 2\nsettings = { rate = 30 }\n', "")
    .replace("share = 0.4", "push = 0.0")
)
ALL = {"part": (INTERACTIONS, Tide), "strand": (SOLVERS, LagSolver), "skin": (SKINS, CopySkin)}


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for table, stage in (*ALL.values(), (FINISHING_PASSES, Sparkle), (SOURCES, SwingSource)):
        monkeypatch.setitem(table, stage.name, stage)


def scene_in(folder, text=TEXT):
    folder.mkdir(exist_ok=True)
    return parse_scene(text, name="toy.toml", folder=folder)


def bytes_of(folder):
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in ("cache.json", "log.csv"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("text", [TEXT, SWINGING], ids=["simulated", "swinging"])
def test_a_scene_runs_and_resumes_to_the_same_bytes(text, tmp_path, monkeypatch):
    summary = run_scene(scene_in(tmp_path / "whole", text))
    assert summary.frames == 6
    assert {"glitter", "skin", "guides"} <= set(summary.stages)
    assert ("moon" in summary.stages) == (text is TEXT)
    scene = scene_in(tmp_path / "parts", text)
    run_scene(replace(scene, frames=FramesTable(end=3)))
    replayed = []
    monkeypatch.setattr(Cache, "read_frame", lambda *args: replayed.append(args))
    assert run_scene(scene, resume=True).resumed_after == 3
    assert replayed == []  # memory is in the checkpoint: a skin that remembers need not see old frames again
    ours, theirs = bytes_of(tmp_path / "parts"), bytes_of(tmp_path / "whole")
    assert ours.keys() == theirs.keys()
    assert {name for name in ours if ours[name] != theirs[name]} == set()


def test_what_the_hair_returns_moves_the_guides(tmp_path):
    """With a cache alone the skin still makes hair, since the guides need it."""
    only = {"output": OutputTable(cache="a.cache")}
    run_scene(replace(scene_in(tmp_path / "pushed"), **only))
    silent = scene_in(tmp_path / "silent", TEXT.replace("share = 0.4", "share = 0.4\npush = 0.0"))
    run_scene(replace(silent, **only))
    pushed, free = (Cache.open(tmp_path / name / "a.cache") for name in ("pushed", "silent"))
    assert pushed.read_frame(1).points.tobytes() == free.read_frame(1).points.tobytes()
    assert np.abs(pushed.read_frame(6).points - free.read_frame(6).points).max() > 1e-6
    # It decides what is simulated, so another one cannot go on with the cache.
    with pytest.raises(ValueError, match=r"skin.settings was .* and is .*; --restart begins anew"):
        run_scene(replace(scene_in(tmp_path / "pushed", TEXT.replace("0.4", "0.5")), **only), resume=True)


@pytest.mark.parametrize("preroll", [0.0, 0.1])
def test_a_bake_is_what_the_run_wrote(tmp_path, preroll):
    run_scene(replace(scene_in(tmp_path), frames=FramesTable(end=6, preroll=preroll)))
    bake_cache(tmp_path / "a.cache", OutputTable(usd="baked.usda"))
    for file in (tmp_path / "hair.frames").glob("frame.*"):
        assert file.read_bytes() == (tmp_path / "baked.frames" / file.name).read_bytes()


def test_a_newer_version_does_not_go_on_with_an_older_run(tmp_path, monkeypatch):
    scene = scene_in(tmp_path)
    run_scene(replace(scene, frames=FramesTable(end=3)))
    for family, (_, stage) in ALL.items():
        with monkeypatch.context() as patch:
            patch.setattr(stage, "version", 2)
            with pytest.raises(ValueError, match=rf"its '{family}.{stage.name}' is of version 1 .* or --restart"):
                run_scene(scene, resume=True)
    # A pass decides nothing about the guides, but files have its hair.
    monkeypatch.setattr(CopySkin, "may_return_load", False)
    other = scene_in(tmp_path / "other")
    run_scene(replace(other, frames=FramesTable(end=3)))
    monkeypatch.setattr(Sparkle, "version", 2)
    with pytest.raises(ValueError, match=r"cannot be resumed, usd has frames of another version or other settings"):
        run_scene(other, resume=True)


def test_large_memories_are_saved_at_a_cadence(tmp_path, monkeypatch):
    run_scene(scene_in(tmp_path / "whole"))
    monkeypatch.setattr(Tide, "save_every", 4)
    scene = scene_in(tmp_path / "parts")
    run_scene(replace(scene, frames=FramesTable(end=3)))  # the last frame of a run is always saved
    written, write = [], Cache.write_checkpoint
    monkeypatch.setattr(Cache, "write_checkpoint", lambda *a: (written.append(a[1]), write(*a)))
    run_scene(scene, resume=True)
    assert written == [5, 6]
    ours, theirs = bytes_of(tmp_path / "parts"), bytes_of(tmp_path / "whole")
    assert {name for name in ours if ours[name] != theirs[name]} == set()


def test_a_run_that_stops_between_two_savings_makes_some_frames_again(tmp_path, monkeypatch):
    """Sinks are then ahead of the checkpoint."""
    run_scene(scene_in(tmp_path / "whole"))
    monkeypatch.setattr(Tide, "save_every", 4)

    def stop_after_four(progress):
        if progress.done == 4:
            raise KeyboardInterrupt

    scene = scene_in(tmp_path / "parts")
    with pytest.raises(KeyboardInterrupt):
        run_scene(scene, progress=stop_after_four)
    summary = run_scene(scene, resume=True)
    assert (summary.resumed_after, summary.frames) == (1, 5)
    ours, theirs = bytes_of(tmp_path / "parts"), bytes_of(tmp_path / "whole")
    assert ours.keys() == theirs.keys()
    assert {name for name in ours if ours[name] != theirs[name]} == set()


def test_it_is_timed_and_compared(tmp_path):
    seconds = stage_seconds(scene_in(tmp_path / "bench"), 2)
    assert {"guides", "moon", "skin", "glitter", "total"} <= set(seconds)
    found = compare(
        replace(scene_in(tmp_path / "scene"), frames=FramesTable(end=2)),
        tmp_path / "compared",
        skins=("copy", "linear"),
        models=("lag", "cosserat"),
        movie=False,
        size=(64, 48),
    )
    cases = {row["case"] for row in json.loads(found.figures.to_json())["rows"]}
    assert cases == {f"{model}, {skin}" for model in ("lag", "cosserat") for skin in ("copy", "linear")}


def test_python_makes_them_by_name():
    groom = mane.styles.make("ball", strands=30, vertices=8)
    guides = mane.select_guides(groom, 5)
    simulation = mane.Simulation(guides, "lag", rate=20, forces=[Tide()])
    skin = mane.skin("copy", groom, simulation)
    assert skin.material is simulation.material  # what it needs comes from the simulation
    points = skin(simulation.step())
    simulation.receive(skin.guide_load())
    assert np.isfinite(points).all()
    with pytest.raises(ValueError, match=r"source: 'swing' takes no forces back from a skin"):
        SwingSource(guides).receive(skin.guide_load())


class Curious(Sparkle):
    """Asks for more than most: of the source, of the scene, and for the frame before."""

    name = "curious"
    needs = ("solids", "rest", "seed", "gravity", "previous_frame", "material")
    seen: ClassVar[list] = []

    def __init__(self, solids, rest, seed, gravity, previous_frame, material):
        super().__init__()
        self.previous_frame = previous_frame
        self.seen.append((len(solids), rest.time, seed, gravity, material.radius))

    def __call__(self, points, frame):
        before = self.previous_frame()
        self.seen.append((None if before is None else round(24 * before.time), round(24 * frame.time)))
        return super().__call__(points, frame)


def test_needs_are_met_by_the_source_and_else_by_the_scene(tmp_path, monkeypatch):
    monkeypatch.setitem(FINISHING_PASSES, "curious", Curious)
    monkeypatch.setattr(Curious, "seen", [])
    text = SWINGING.replace('kind = "sparkle"\nheight = 2e-4', 'kind = "curious"')
    run_scene(replace(scene_in(tmp_path, text), frames=FramesTable(end=2)))
    assert Curious.seen[0][:4] == (0, 0.0, 3, (0.0, -9.81, 0.0))
    assert Curious.seen[1:] == [(None, 0), (0, 1)]
    run_scene(replace(scene_in(tmp_path, text), frames=FramesTable(end=3)), resume=True)
    assert Curious.seen[-1] == (1, 2)


def test_a_need_that_cannot_be_met_is_one_line(tmp_path, monkeypatch):
    lonely = type("Lonely", (Tide,), {"name": "lonely", "needs": ("rest",), "__doc__": "Asks for what comes later."})
    monkeypatch.setitem(INTERACTIONS, "lonely", lonely)
    text = TEXT.replace('kind = "tide"', 'kind = "lonely"')
    with pytest.raises(SceneError, match=r"toy.toml:\d+: .*'lonely' needs the `GuideFrame` of guides at rest"):
        run_scene(scene_in(tmp_path, text))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("strength", "strenght", r"toy.toml:21: \[\[interactions\]\] has no key 'strenght'; .*did you mean 'strength'"),
        ("height = 2e-4", "height = nan", r"toy.toml:27: \[\[passes\]\] height: must be a number"),
        ("height = 2e-4", "height = -1.0", r"toy.toml:27: \[\[passes\]\] height: must be at least 0, got -1"),
        ("rate = 30", "rate = -3", r"toy.toml:18: \[strand.settings\] rate: must be above 0, got -3"),
        ('"copy"', '"cpoy"', r"toy.toml:23: \[skin\] method: 'cpoy' is unknown; choose from .*; did you mean 'copy'"),
        (
            "[skin]",
            '[source]\nkind = "swing"\n[skin]',
            r"interactions\]\] must be left out: source 'swing' takes no forces",
        ),
    ],
)
def test_mistakes_are_named_with_their_line(old, new, message):
    with pytest.raises(SceneError, match=message) as error:
        parse_scene(TEXT.replace(old, new), name="toy.toml")
    assert "\n" not in str(error.value)
