"""Frames written by the layout of their file: the bytes of OpenUSD, from any thread; or OpenUSD writes them itself."""

import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pxr import Sdf, Usd, Vt  # noqa: TID253 (tests of USD need it anyway)
from usd_files import add_curves, affine, curves_file, faults, full_groom, new_stage, place, strands

from mane.io.usd import UsdSequenceWriter, frame_files, frame_layout, read_usd_groom
from mane.io.usd.frame_layout import FrameLayout, PrimRows, find_layout

TIMES = (1, 2, 12.25)


def wave(points, time):
    return (points * np.float32(1 + 0.1 * time) + np.float32(0.01 * time)).astype(np.float32)


def new_groom(folder, name):
    groom = full_groom()
    return UsdSequenceWriter.new(folder / name, groom, unit="cm", up="z"), groom.points


def plain_curves(folder, name):
    read = read_usd_groom(curves_file(folder / "hair.usda", *strands()))
    return UsdSequenceWriter(folder / name, read.source), read.groom.points


def several_prims(folder, name):
    """Curves of every kind: at rest and moving, cubic, below two roots, with velocities of their own."""
    stage = new_stage(folder / "hair.usda", up="Z", unit=0.01)
    for index, (path, kind) in enumerate(
        {
            "/Head/Hair": {},
            "/Head/Brows": {"type": "cubic", "basis": "bspline", "wrap": "pinned"},
            "/Beard": {"type": "cubic", "basis": "catmullRom", "wrap": "pinned"},
        }.items()
    ):
        points, counts = strands((7, 4, 10), seed=index)
        curves = add_curves(stage, path, points, counts, **kind)
        if path == "/Head/Brows":
            place(curves, affine(2))
        if path == "/Beard":
            curves.CreateVelocitiesAttr(Vt.Vec3fArray.FromNumpy(points))
            for time in (0, 20):
                place(curves, affine(time), time)
    stage.Save()
    read = read_usd_groom(folder / "hair.usda")
    return UsdSequenceWriter(folder / name, read.source), read.groom.points


def values(file):
    """Every attribute of a frame's file with its type, times and values."""
    layer = Sdf.Layer.FindOrOpen(str(file))
    found = {}

    def look(path):
        if path.IsPropertyPath():
            times = layer.ListTimeSamplesForPath(path)
            samples = [np.array(layer.QueryTimeSample(path, time)).tobytes() for time in times]
            found[str(path)] = (str(layer.GetAttributeAtPath(path).typeName), times, samples)

    layer.Traverse("/", look)
    return found


@pytest.mark.parametrize("written_bytes", [50, 1 << 23])  # arrays in parts, and at once
@pytest.mark.parametrize("has_velocities", [False, True])
@pytest.mark.parametrize("make", [new_groom, plain_curves, several_prims])
def test_files_are_those_that_openusd_writes(tmp_path, monkeypatch, make, has_velocities, written_bytes):
    monkeypatch.setattr(frame_layout, "WRITTEN_BYTES", written_bytes)
    found = {}
    for name in ("ours", "theirs"):
        folder = tmp_path / name
        folder.mkdir()
        if name == "theirs":
            monkeypatch.setattr(frame_files, "find_layout", lambda *_: None)
        writer, points = make(folder, "sim.usda")
        for time in TIMES:
            writer.write(time, wave(points, time), wave(points, time + 7) if has_velocities else None)
        assert (writer.files._layouts[has_velocities] is None) == (name == "theirs")
        found[name] = {file.name: file for file in (folder / "sim.frames").glob("frame.*")}
    assert len(found["ours"]) == len(TIMES)
    for name, file in found["ours"].items():
        ours, theirs = values(file), values(found["theirs"][name])
        assert ours == theirs
        assert len(ours) == (3 if has_velocities else 2) * len(writer.source.prims)
        assert file.read_bytes() == found["theirs"][name].read_bytes()
        assert faults(file) == []
        assert Usd.Stage.Open(str(file)).GetPrimAtPath(writer.source.prims[0].path)


def test_bytes_depend_on_the_values_alone(tmp_path):
    """Arrays that are equal are stored once by OpenUSD, which must not change the files after such a frame."""
    equal = {}
    for name, earlier in (("alone", ()), ("after", (1, 2))):
        writer, points = plain_curves(tmp_path, f"{name}.usda")
        for time in earlier:
            writer.write(time, np.zeros_like(points), np.zeros_like(points))
        writer.write(3, np.zeros_like(points), np.zeros_like(points))
        writer.write(4, wave(points, 4), wave(points, 4))
        equal[name] = [(tmp_path / f"{name}.frames" / f"frame.000{time}.usdc").read_bytes() for time in (3, 4)]
        assert_array_equal(read_usd_groom(tmp_path / f"{name}.usda", time=4).groom.points, wave(points, 4))
    assert equal["alone"] == equal["after"]


# -- doubts ------------------------------------------------------------------------------------------------------------


def swapped(layout):
    """A layout that would give one prim's points to another attribute of as many rows."""
    places = dict(layout.places)
    first, second = [key for key in places if key[1] != "extent"][:2]
    places[first], places[second] = places[second], places[first]
    return replace(layout, places=places)


def shifted(layout):
    """A layout whose time code is somewhere else."""
    return replace(layout, time_start=layout.time_start - 8)


def damaged(layout):
    """A layout of files that OpenUSD cannot open."""
    return replace(layout, fixed=((0, bytes(16)), *layout.fixed[1:]))


@pytest.mark.parametrize("change", [swapped, shifted, damaged, lambda layout: None])
def test_where_there_is_doubt_openusd_writes_the_frames(tmp_path, monkeypatch, change):
    locate = frame_layout._locate
    monkeypatch.setattr(frame_layout, "_locate", lambda *arguments: change(locate(*arguments)))
    writer, points = plain_curves(tmp_path, "sim.usda")
    for time in TIMES:
        writer.write(time, wave(points, time), wave(points, time + 7))
    assert writer.files._layouts == {True: None}
    for time in TIMES:
        read = read_usd_groom(tmp_path / "sim.usda", time=time, trusted=True)
        assert_array_equal(read.groom.points, wave(points, time))
        assert_array_equal(read.velocities, wave(points, time + 7))
    assert not list((tmp_path / "sim.frames").glob(".*"))


def test_marks_must_be_there_exactly_once(tmp_path):
    prims = [PrimRows("/Hair", 5, True)]
    export = Sdf.Layer.Export

    def found(more):
        """Find a layout in a file with something more behind it."""

        def export_more(layer, path):
            export(layer, path)
            Path(path).write_bytes(Path(path).read_bytes() + more(Path(path).read_bytes()))
            return True

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Sdf.Layer, "Export", export_more)
            return find_layout(tmp_path, lambda: Sdf.Layer.CreateAnonymous(".usdc"), prims)

    whole = found(lambda content: b"")
    assert whole is not None
    for size in (32, 40, 57, 1000):  # a mark may lie across two blocks of the search
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(frame_layout, "SEARCHED_BYTES", size)
            again = found(lambda content: b"")
        assert (again.places, again.time_start, again.fixed) == (whole.places, whole.time_start, whole.fixed)
    assert found(lambda content: content) is None
    assert found(lambda content: frame_layout.TIME.pack(frame_layout.MARK_TIME)) is None
    assert list(tmp_path.iterdir()) == []


def test_every_value_of_a_large_frame_is_checked(tmp_path, monkeypatch):
    """Rows beyond the first period of check values, and one of them wrong."""
    prims = [PrimRows("/Hair", 3 * frame_layout.CHECK_PERIOD + 7, False)]

    def found():
        return find_layout(tmp_path, lambda: Sdf.Layer.CreateAnonymous(".usdc"), prims)

    assert found() is not None
    write = FrameLayout.write

    def write_another(layout, file, time, frames, **options):
        frames = list(frames)
        frames[0].points[2 * frame_layout.CHECK_PERIOD + 3, 1] += 1
        write(layout, file, time, frames, **options)

    monkeypatch.setattr(FrameLayout, "write", write_another)
    assert found() is None


def test_a_prim_without_points_has_no_layout(tmp_path):
    for count in (0, 1):
        prims = [PrimRows("/A", 3, False), PrimRows("/B", count, False)]
        layout = find_layout(tmp_path, lambda: Sdf.Layer.CreateAnonymous(".usdc"), prims)
        assert (layout is None) == (count == 0)


def test_velocities_that_come_after_a_frame_that_failed(tmp_path, monkeypatch):
    """The first frame has none and finds no room; the second first frame has them."""
    writer, points = plain_curves(tmp_path, "sim.usda")
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", lambda *names: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="no space left on device"):
            writer.write(1, points)
    writer.write(1, points, wave(points, 3))
    read = read_usd_groom(tmp_path / "sim.usda", time=1, trusted=True)
    assert_array_equal(read.velocities, wave(points, 3))


# -- who calls ---------------------------------------------------------------------------------------------------------


def in_thread(action):
    """Run in another thread and raise here what it raises there."""
    caught = []

    def run():
        try:
            action()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if caught:
        raise caught[0]


@pytest.mark.parametrize("make", [new_groom, plain_curves, several_prims])
def test_another_thread_may_write(tmp_path, make):
    for name, call in (("here", lambda action: action()), ("there", in_thread)):
        (tmp_path / name).mkdir()
        writer, points = make(tmp_path / name, "sim.usda")
        for time in TIMES:
            call(partial(writer.write, time, wave(points, time)))
        with pytest.raises(ValueError, match="points: must be finite, got nan at index 0"):
            call(partial(writer.write, 20, points * np.nan))
    here, there = (
        {p.name: p.read_bytes() for p in (tmp_path / n).rglob("*") if p.suffix != ".usda" and p.is_file()}
        for n in ("here", "there")
    )
    assert here == there


def test_arrays_are_only_lent(tmp_path):
    writer, points = plain_curves(tmp_path, "sim.usda")
    moved, speeds = wave(points, 1), wave(points, 2)
    before = sys.getrefcount(moved), sys.getrefcount(speeds)
    writer.write(1, moved, speeds)
    assert (sys.getrefcount(moved), sys.getrefcount(speeds)) == before
    moved[:] = speeds[:] = 0  # a caller's buffers, used again
    writer.write(2, moved, speeds)
    read = read_usd_groom(tmp_path / "sim.usda", time=1, trusted=True)
    assert_array_equal(read.groom.points, wave(points, 1))
    assert_array_equal(read.velocities, wave(points, 2))


@pytest.mark.parametrize("call", [lambda action: action(), in_thread])
@pytest.mark.parametrize("done", [0, 1])
def test_a_file_that_finds_no_room_is_one_line_and_leaves_nothing(tmp_path, done, call):
    """The system refuses in the middle of a file, of the layout (done=0) or of a frame, as where a disk is full."""
    resource = pytest.importorskip("resource")
    read = read_usd_groom(curves_file(tmp_path / "hair.usda", *strands((9,) * 2000)))
    writer = UsdSequenceWriter(tmp_path / "sim.usda", read.source)
    for time in range(1, done + 1):
        writer.write(time, read.groom.points)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))  # of 216,000 bytes
    try:
        with pytest.raises(
            OSError, match=rf"frame\.000{done + 1}\.usdc: cannot be written \(.*\); free some space"
        ) as e:
            call(lambda: writer.write(done + 1, read.groom.points))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "\n" not in str(e.value)
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    after.pop(tmp_path / "sim.frames" / "manifest.usda", None)
    before.pop(tmp_path / "sim.frames" / "manifest.usda", None)
    assert after == before
    writer.write(done + 1, wave(read.groom.points, 1))
    found = read_usd_groom(tmp_path / "sim.usda", time=done + 1, trusted=True).groom.points
    assert_array_equal(found, wave(read.groom.points, 1))


def test_a_layout_is_for_its_own_frames(tmp_path):
    layout = find_layout(tmp_path, lambda: Sdf.Layer.CreateAnonymous(".usdc"), [PrimRows("/A", 3, False)])
    assert isinstance(layout, FrameLayout)
    few, extent = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)
    with open(tmp_path / "frame.usdc", "wb") as file:
        with pytest.raises(AssertionError, match="of the same counts"):
            layout.write(file, 1.0, [frame_layout.PrimFrame("/A", few, None, extent)])
        with pytest.raises(AssertionError, match="of the same prims"):
            layout.write(file, 1.0, [])
