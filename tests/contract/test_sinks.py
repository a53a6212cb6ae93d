"""What every sink promises, whichever it is: one battery over the table of sinks."""

import numpy as np
import pytest
from ball_head import variants

from mane.scene.background import BackgroundWriter
from mane.scene.build import build
from mane.scene.config import (
    CameraTable,
    FinishTable,
    FramesTable,
    GroomTable,
    GuidesTable,
    HeadTable,
    OutputTable,
    Scene,
    SkinTable,
)
from mane.scene.loop import run_scene
from mane.scene.outputs import open_or_make
from mane.scene.sinks import SINKS, OutputRequest, make_sinks
from mane.stage.clock import StageClock

sinks = pytest.mark.parametrize(("stage", "settings"), variants(SINKS))
FRAMES = 4


def scene_of(folder, settings, **tables):
    folder.mkdir(exist_ok=True)
    usual = {
        "groom": GroomTable(style="ball", strands=60, vertices=8, settings={"length": 0.06}),
        "frames": FramesTable(end=FRAMES),
        "guides": GuidesTable(count=6),
        "head": HeadTable(motion="shake", ease_in=0.05),
        "skin": SkinTable("linear"),
        "camera": CameraTable(size=(64, 48)),
        "output": OutputTable(**settings),
    }
    return Scene(**{**usual, **tables}, folder=folder)


def files_of(folder):
    """Files of a run by name, without those that hold times or the range of frames."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in ("cache.json", "log.csv"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if path.suffix != ".mp4"}


def opened(folder, settings, assembly=None):
    """The one sink that is asked for, on an assembly, and its frames with hair."""
    scene = scene_of(folder, settings)
    assembly = build(scene) if assembly is None else assembly
    cache = open_or_make(folder / "a.cache", assembly, False) if scene.output.cache else None
    made = make_sinks(OutputRequest(assembly, scene.output, cache, range(1, FRAMES + 1)))
    assert len(made) == 1
    made[0].open(resume=False)
    return assembly, made[0]


def frames_of(assembly):
    frames = [assembly.source.reset(), *(assembly.source.step() for _ in range(FRAMES - 1))]
    return [(index, frame, assembly.hair_stage(frame).copy()) for index, frame in enumerate(frames, 1)]


@sinks
def test_it_is_made_where_it_is_asked_for_and_nowhere_else(stage, settings, tmp_path):
    assembly, sink = opened(tmp_path, settings)
    assert type(sink) is stage
    assert make_sinks(OutputRequest(assembly, OutputTable(), None, range(1, 3))) == []


@sinks
def test_every_frame_leaves_complete_files(stage, settings, tmp_path):
    assembly, sink = opened(tmp_path, settings)
    for index, frame, points in frames_of(assembly):
        assert not sink.has(index)
        before = points.copy()
        sink.write(index, frame, points)
        np.testing.assert_array_equal(points, before)  # they are lent
        assert not [name for name in files_of(tmp_path) if ".partial" in name]
    made = sink.close()
    assert made
    assert all(path.exists() for path in made)


@sinks
def test_what_is_left_for_later_needs_nothing_that_changes_meanwhile(stage, settings, tmp_path):
    """Frames are taken, the buffers overwritten, and only then written, in another thread."""
    at_once, sink = opened(tmp_path / "at_once", settings)
    for index, frame, points in frames_of(at_once):
        sink.write(index, frame, points)
    sink.close()
    assembly, sink = opened(tmp_path / "later", settings)
    clock = StageClock()
    frames = [assembly.source.reset(), *(None for _ in range(FRAMES - 1))]
    with BackgroundWriter(clock) as writer:
        for index, first in enumerate(frames, 1):
            frame = first if first is not None else assembly.source.step()
            points = assembly.hair_stage(frame)
            job = sink.take(index, frame, points)
            points.fill(7)
            for array in (frame.points, frame.cut_force, frame.weight):
                array.fill(7)  # a source may use its arrays again
            if job is not None:
                writer.submit(sink.label, job)
    sink.close()
    ours, theirs = files_of(tmp_path / "later"), files_of(tmp_path / "at_once")
    assert ours.keys() == theirs.keys()
    assert {name for name in ours if ours[name] != theirs[name]} == set()


@sinks
def test_a_resumed_run_gives_the_same_files(stage, settings, tmp_path):
    wanted = {**settings, "cache": "a.cache"}
    run_scene(scene_of(tmp_path / "whole", wanted))
    # A run that is stopped; and one without the sink, which comes later and is brought up to date.
    for folder, first in (("stopped", wanted), ("late", {"cache": "a.cache"})):
        with pytest.raises(KeyboardInterrupt):
            run_scene(scene_of(tmp_path / folder, first), progress=stop_after_two)
        summary = run_scene(scene_of(tmp_path / folder, wanted), resume=True)
        assert (summary.resumed_after, summary.frames) == (2, FRAMES - 2)
        ours, theirs = files_of(tmp_path / folder), files_of(tmp_path / "whole")
        assert ours.keys() == theirs.keys()
        assert {name for name in ours if ours[name] != theirs[name]} == set()


def stop_after_two(progress):
    if progress.done == 2:
        raise KeyboardInterrupt


@sinks
def test_finer_hair_and_threads(stage, settings, tmp_path, on_threads):
    numbers = iter(range(9))

    def written():
        folder = tmp_path / str(next(numbers))
        run_scene(scene_of(folder, settings, finish=FinishTable(subdivide=1)))
        return files_of(folder)

    on_threads(written)


@sinks
def test_two_runs_share_nothing(stage, settings, tmp_path):
    run_scene(scene_of(tmp_path / "alone", settings))
    first, sink = opened(tmp_path / "first", settings)
    second, other = opened(tmp_path / "second", settings)
    for (index, frame, points), (_, frame_2, points_2) in zip(
        frames_of(first), reversed(frames_of(second)), strict=True
    ):
        sink.write(index, frame, points)
        other.write(index, frame_2, points_2)
    sink.close(), other.close()
    ours, theirs = files_of(tmp_path / "first"), files_of(tmp_path / "alone")
    assert {name for name in theirs if ours.get(name) != theirs[name]} == set()
