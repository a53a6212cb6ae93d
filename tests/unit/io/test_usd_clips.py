"""How a stage lists its frames: as a template where times allow, with the same values as a plain list; resuming."""

import os
import shutil
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pxr import Sdf, Usd, UsdUtils, Vt  # noqa: TID253 (tests of USD need it anyway)
from usd_files import curves_file, faults, strands

import mane
from mane.io.usd import UsdSequenceWriter, read_usd_groom
from mane.io.usd.clips import FrameTimes, frame_name

REGULAR = {
    "from one": (1, 2, 3, 4),
    "from zero, every fifth": (0, 5, 10),
    "one frame": (7,),
    "five digits": (9998, 9999, 10000, 10001),
}
IRREGULAR = {
    "a gap": (1, 2, 4),
    "half frames": (1, 1.5, 2),
    "negative": (-2, -1, 0, 1),
    "across zero": (-1.5, 1e-3, 12.25),
    "more than C's int": (2**31 - 1, 2**31),
}


def wave(points, time):
    return (points * np.float32(1 + 0.1 * np.sin(time))).astype(np.float32)


@pytest.fixture
def source(tmp_path):
    return read_usd_groom(curves_file(tmp_path / "hair.usda", *strands())).source


def written(path, source, times, **options):
    writer = UsdSequenceWriter(path, source, **options)
    for time in times:
        writer.write(time, wave(source.prims[0].points, time))
    return writer


def list_one_by_one(path, times):
    """Turn a stage into one as mane wrote it before it knew of templates."""
    layer = Sdf.Layer.OpenAsAnonymous(str(path))
    prim = layer.GetPrimAtPath("/Hair")
    folder = path.with_suffix(".frames").name
    clips = {
        "assetPaths": Sdf.AssetPathArray([Sdf.AssetPath(f"./{folder}/{frame_name(time)}") for time in times]),
        "manifestAssetPath": Sdf.AssetPath(f"./{folder}/manifest.usda"),
        "primPath": "/Hair",
        "active": Vt.Vec2dArray([(time, index) for index, time in enumerate(times)]),
        "times": Vt.Vec2dArray([(time, time) for time in times]),
    }
    prim.SetInfo("clips", {"mane": clips})
    order = Sdf.StringListOp()
    order.prependedItems = ["mane"]
    prim.SetInfo("clipSets", order)
    layer.Export(str(path))


def clip_sets(path):
    layer = Sdf.Layer.OpenAsAnonymous(str(path))  # a prim would not keep it alive
    return set(layer.GetPrimAtPath("/Hair").GetInfo("clips"))


def seen(path, times):
    """All that a reader finds: range, samples, and values at, between, before and after the frames."""
    stage = Usd.Stage.Open(str(path))
    moments = [times[0] - 3, times[0] - 1e-3, times[-1] + 0.25, times[-1] + 9]
    for before, after in pairwise(times):
        moments += [before, before + 0.3 * (after - before), 0.5 * (before + after)]
    found = [(stage.GetStartTimeCode(), stage.GetEndTimeCode())]
    for name in ("points", "extent"):
        attribute = stage.GetPrimAtPath("/Hair").GetAttribute(name)
        found.append((attribute.GetTimeSamples(), attribute.GetNumTimeSamples(), attribute.ValueMightBeTimeVarying()))
        found += [attribute.GetBracketingTimeSamples(time) for time in moments]
        found += [np.array(attribute.Get(time)).tobytes() for time in (*moments, times[-1])]
    found += [read_usd_groom(path, time=time, trusted=True).groom.points.tobytes() for time in moments]
    return found


@pytest.mark.parametrize("times", [*REGULAR.values(), *IRREGULAR.values()], ids=[*REGULAR, *IRREGULAR])
def test_readers_find_what_a_plain_list_gives(tmp_path, source, times):
    written(tmp_path / "sim.usda", source, times)
    assert clip_sets(tmp_path / "sim.usda") == {"mane_template" if times in REGULAR.values() else "mane"}
    found = seen(tmp_path / "sim.usda", times)
    assert faults(tmp_path / "sim.usda") == []
    list_one_by_one(tmp_path / "sim.usda", times)
    assert found == seen(tmp_path / "sim.usda", times)
    assert found[0] == (times[0], times[-1])
    assert found[1][0] == [*times]
    points = source.prims[0].points
    for time in times:
        assert_array_equal(mane.read_groom(tmp_path / "sim.usda", time=time).points, wave(points, time))


def test_a_frame_costs_as_many_bytes_however_many_there_are(tmp_path, source, monkeypatch):
    sizes, replace = [], os.replace

    def counted(old, new):
        sizes.append(os.path.getsize(old))
        replace(old, new)

    writer = written(tmp_path / "sim.usda", source, range(10, 13))
    monkeypatch.setattr(os, "replace", counted)
    per_frame = []
    for time in range(13, 100):  # of two digits
        sizes.clear()
        writer.write(time, wave(source.prims[0].points, time))
        per_frame.append(tuple(sizes))
    assert len(set(per_frame)) == 1
    assert len(per_frame[0]) == 2  # the frame and the stage


def test_dependencies_of_a_stage_are_found(tmp_path, source):
    """Tools that pack or copy a stage with all its files ask OpenUSD for them."""
    written(tmp_path / "sim.usda", source, (1, 2, 3))
    layers, _, missing = UsdUtils.ComputeAllDependencies(str(tmp_path / "sim.usda"))
    assert missing == []
    assert {os.path.basename(layer.realPath) for layer in layers} >= {frame_name(time) for time in (1.0, 2.0, 3.0)}


@pytest.mark.parametrize("below", [(1, 2, 3), (1, 2, 4)])
@pytest.mark.parametrize("above", [(1, 2, 3), (1, 2, 4)])
def test_a_template_and_a_list_can_lie_over_each_other(tmp_path, source, below, above):
    """OpenUSD mixes clip sets of the same name, and prefers a list to a template then."""
    points = source.prims[0].points
    written(tmp_path / "below.usda", source, below)
    for name, original, times, shift in (("above", "below", above, 10), ("top", "above", below, 20)):
        middle = read_usd_groom(tmp_path / f"{original}.usda", time=1, trusted=True).source
        writer = UsdSequenceWriter(tmp_path / f"{name}.usda", middle)
        for time in times:
            writer.write(time, wave(points, time + shift))
        for time in times:
            assert_array_equal(mane.read_groom(tmp_path / f"{name}.usda", time=time).points, wave(points, time + shift))


# -- resuming ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [(1, 2, 3, 4, 5), (1, 2, 3, 4.5, 5)])
@pytest.mark.parametrize("done", [1, 2, 3, 4])
def test_a_resumed_stage_has_the_same_bytes_as_one_that_never_stopped(tmp_path, source, times, done):
    written(tmp_path / "sim.usda", source, times)
    whole = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    written(tmp_path / "sim.usda", source, times[:done])
    assert written(tmp_path / "sim.usda", source, times[done:], resume=True).times == times
    assert {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == whole


@pytest.mark.parametrize("times", [(1, 2, 3, 4), (1, 2, 2.5, 7)])
def test_a_stage_of_an_earlier_mane_is_gone_on_with(tmp_path, source, times):
    written(tmp_path / "whole.usda", source, times)
    written(tmp_path / "sim.usda", source, times[:3])
    list_one_by_one(tmp_path / "sim.usda", times[:3])
    assert written(tmp_path / "sim.usda", source, times[3:], resume=True).times == times
    whole = (tmp_path / "whole.usda").read_text().replace("whole.frames", "sim.frames")
    assert (tmp_path / "sim.usda").read_text() == whole


@pytest.mark.parametrize("times", [(1, 2, 3, 4), (1, 2, 2.5, 7)])
@pytest.mark.parametrize("gone", [0, 1, 2, 3])
def test_a_frame_that_is_gone_is_named(tmp_path, source, times, gone):
    written(tmp_path / "sim.usda", source, times)
    name = frame_name(times[gone])
    (tmp_path / "sim.frames" / name).unlink()
    with pytest.raises(ValueError, match=rf"lists \./sim\.frames/{name}, which is gone; begin anew with resume=False"):
        UsdSequenceWriter(tmp_path / "sim.usda", source, resume=True)


@pytest.mark.parametrize("times", [(1, 2, 3, 4), (1, 2, 2.5, 7)])
def test_a_kill_at_any_moment_loses_no_finished_frame(tmp_path, monkeypatch, times):
    """The disk as it is before and after every file is synced and takes its name: nothing else can be found later."""
    run = tmp_path / "run"
    run.mkdir()
    source = read_usd_groom(curves_file(run / "hair.usda", *strands())).source
    snapshots, finished = [], [0]

    def spied(action):
        def wrapper(*arguments):
            for step in (None, action):
                if step is not None:
                    step(*arguments)
                folder = tmp_path / f"killed{len(snapshots)}"
                shutil.copytree(run, folder)
                snapshots.append((folder, finished[0]))

        return wrapper

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", spied(os.replace))
        patch.setattr(os, "fsync", spied(os.fsync))
        writer = UsdSequenceWriter(run / "sim.usda", source)
        for time in times:
            writer.write(time, wave(source.prims[0].points, time))
            finished[0] += 1
    whole = {path.name: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert len(snapshots) > 8 * len(times)
    assert any(".partial" in path.name for folder, _ in snapshots for path in folder.rglob("*"))
    for folder, count in snapshots:
        again = read_usd_groom(folder / "hair.usda").source
        if (folder / "sim.usda").exists():
            stage = Usd.Stage.Open(str(folder / "sim.usda"))
            shown = stage.GetPrimAtPath("/Hair").GetAttribute("points")
            assert shown.GetNumTimeSamples() in (count, count + 1)
            for time in times[:count]:
                assert_array_equal(shown.Get(time), wave(again.prims[0].points, time))
        resumed = UsdSequenceWriter(folder / "sim.usda", again, resume=True)
        assert resumed.times in (times[:count], times[: count + 1])
        for time in times[len(resumed.times) :]:
            resumed.write(time, wave(again.prims[0].points, time))
        # A half stage stays: it is in the user's own folder, and might be of another run.
        left = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert {name: content for name, content in left.items() if not name.endswith(".partial.usda")} == whole


def test_frames_of_an_older_run_that_were_not_written_again_are_not_shown(tmp_path, source):
    written(tmp_path / "sim.usda", source, (1, 2, 3, 4))
    written(tmp_path / "sim.usda", source, (1, 2))
    assert UsdSequenceWriter(tmp_path / "sim.usda", source, resume=True).times == (1, 2)
    stage = Usd.Stage.Open(str(tmp_path / "sim.usda"))
    assert stage.GetPrimAtPath("/Hair").GetAttribute("points").GetTimeSamples() == [1, 2]


def test_strides():
    assert FrameTimes.of([]).stride == 1
    assert FrameTimes.of([3.0, 6.0, 9.0]).stride == 3
    assert FrameTimes.of([3.0, 6.0, 10.0, 14.0]).stride is None
    assert FrameTimes.of([0.5]).stride is None
    assert FrameTimes.of([0.5, 1.0, 2.0]).stride is None
