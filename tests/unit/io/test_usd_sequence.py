"""Animations frame by frame: complete after every frame, whatever happens then, and in little memory."""

import os
import signal
import subprocess
import sys
import time as clock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pxr import Sdf, Usd, UsdGeom, Vt  # noqa: TID253 (tests of USD need it anyway)
from usd_files import add_curves, affine, curves_file, faults, full_groom, new_stage, place, strands, value_of

from mane.groom.groom import Groom
from mane.io.usd import UsdSequenceWriter, read_usd_groom, write_usd_groom, write_usd_layer


def wave(points, time):
    """Points that differ at every time in every bit that they can."""
    return (points * np.float32(1 + 0.1 * time)).astype(np.float32)


def read_points(path, time):
    return read_usd_groom(path, time=time, trusted=True).groom.points


def test_a_new_groom_comes_back_bit_for_bit_at_every_frame(tmp_path):
    rng = np.random.default_rng(0)
    groom = Groom.from_uniform(rng.normal(size=(6, 5, 3)).astype(np.float32), strand={"width": np.full(6, 1e-4)})
    with UsdSequenceWriter.new(tmp_path / "hair.usda", groom, time_codes_per_second=30) as writer:
        for time in range(1, 6):
            writer.write(time, wave(groom.points, time))
    assert writer.times == (1, 2, 3, 4, 5)
    for time in range(1, 6):
        assert read_points(tmp_path / "hair.usda", time).tobytes() == wave(groom.points, time).tobytes()
    still = read_usd_groom(tmp_path / "hair.usda", trusted=True)
    assert still.times.tolist() == [1, 2, 3, 4, 5]
    assert still.source.timing.time_codes_per_second == 30
    assert_array_equal(still.rest, groom.points)
    assert_array_equal(still.groom.strand["width"], groom.strand["width"])
    stage = Usd.Stage.Open(str(tmp_path / "hair.usda"))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (1, 5)
    # Between frames, readers see them blended.
    assert_allclose(read_points(tmp_path / "hair.usda", 2.5), wave(groom.points, 2.5), rtol=1e-5)


def test_everything_that_is_written_is_valid(tmp_path):
    groom = full_groom()
    writer = UsdSequenceWriter.new(tmp_path / "hair.usda", groom, unit="cm", up="z")
    assert faults(tmp_path / "hair.usda") == []
    for time in (1, 2):
        writer.write(time, groom.points, np.ones_like(groom.points))
        files = [tmp_path / "hair.usda", *(tmp_path / "hair.frames").iterdir()]
        assert {str(file): faults(file) for file in files} == {str(file): [] for file in files}


def test_guides_and_strands_of_one_groom_keep_their_order(tmp_path):
    groom = full_groom()
    writer = UsdSequenceWriter.new(tmp_path / "hair.usda", groom, unit="cm", up="z")
    moved = wave(groom.points, 3)
    writer.write(3, moved)
    read = read_usd_groom(tmp_path / "hair.usda", time=3, trusted=True).groom
    found = read.take(np.argsort(read.strand["id"]))
    assert_allclose(found.points, moved, rtol=3 * 2**-24, atol=1e-9)


def artists_file(path):
    points, counts = strands((7, 4, 10))
    stage = new_stage(path, up="Z", unit=0.01)
    curves = add_curves(stage, "/Root/Hair", points, counts, type="cubic", basis="bspline", wrap="pinned")
    place(curves, affine(2))
    curves.CreateVelocitiesAttr(Vt.Vec3fArray.FromNumpy(points))
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(50)
    stage.Save()
    return path


def test_over_the_original_the_counts_and_basis_stay(tmp_path):
    read = read_usd_groom(artists_file(tmp_path / "hair.usda"))
    writer = UsdSequenceWriter(tmp_path / "sim.usda", read.source)
    for time in (10, 11, 12.25):
        writer.write(time, wave(read.groom.points, time))
    assert sorted(file.name for file in (tmp_path / "sim.frames").iterdir()) == [
        "frame.0010.usdc",
        "frame.0011.usdc",
        "frame.0012_25.usdc",
        "manifest.usda",
    ]
    for time in writer.times:
        assert_allclose(read_points(tmp_path / "sim.usda", time), wave(read.groom.points, time), atol=1e-7)
    stage = Usd.Stage.Open(str(tmp_path / "sim.usda"))
    curves = UsdGeom.BasisCurves(stage.GetPrimAtPath("/Root/Hair"))
    assert list(curves.GetCurveVertexCountsAttr().Get(11)) == [7, 4, 10]
    assert curves.GetBasisAttr().Get(11) == "bspline"
    assert curves.GetWrapAttr().Get(11) == "pinned"
    assert curves.GetVelocitiesAttr().Get(11) is None  # those of the original belong to other points
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, 50)
    assert faults(tmp_path / "sim.usda") == []


def test_velocities_come_with_every_frame_or_none(tmp_path):
    read = read_usd_groom(artists_file(tmp_path / "hair.usda"))
    writer = UsdSequenceWriter(tmp_path / "sim.usda", read.source)
    writer.write(1, read.groom.points, np.ones_like(read.groom.points))
    with pytest.raises(ValueError, match="velocities: must be given for all frames or for none"):
        writer.write(2, read.groom.points)
    again = read_usd_groom(tmp_path / "sim.usda", time=1, trusted=True)
    assert_allclose(again.velocities, np.ones_like(read.groom.points), atol=1e-6)


def test_an_animated_original_is_covered(tmp_path):
    points, counts = strands()
    stage = new_stage(tmp_path / "hair.usda")
    attribute = add_curves(stage, "/Hair", points, counts).GetPointsAttr()
    for time in (1, 2, 3):
        attribute.Set(Vt.Vec3fArray.FromNumpy(points[::-1].copy()), time)
    stage.Save()
    read = read_usd_groom(tmp_path / "hair.usda")
    writer = UsdSequenceWriter(tmp_path / "sim.usda", read.source)
    for time in (1, 2, 3):
        writer.write(time, wave(points, time))
    for time in (1, 2, 3):
        assert_array_equal(read_points(tmp_path / "sim.usda", time), wave(points, time))


def test_results_can_be_put_over_results(tmp_path):
    """An original with value clips of its own, ours or another tool's, under a layer and under a sequence."""
    points, counts = strands()
    first = read_usd_groom(curves_file(tmp_path / "hair.usda", points, counts))
    for name, clip_set in (("ours", "mane_template"), ("theirs", "default")):
        writer = UsdSequenceWriter(tmp_path / f"{name}.usda", first.source)
        for time in (1, 2):
            writer.write(time, wave(points, time))
        text = (tmp_path / f"{name}.usda").read_text()
        assert "mane_template =" in text
        (tmp_path / f"{name}.usda").write_text(text.replace("mane_template", clip_set))
        middle = read_usd_groom(tmp_path / f"{name}.usda", time=2, trusted=True)
        assert_array_equal(middle.groom.points, wave(points, 2))
        write_usd_layer(tmp_path / f"{name}_still.usda", middle.source, points)
        assert_array_equal(read_points(tmp_path / f"{name}_still.usda", 1), points)
        writer = UsdSequenceWriter(tmp_path / f"{name}_again.usda", middle.source)
        writer.write(1, wave(points, 7))
        writer.write(2, wave(points, 8))
        assert_array_equal(read_points(tmp_path / f"{name}_again.usda", 1), wave(points, 7))
        assert_array_equal(read_points(tmp_path / f"{name}_again.usda", 2), wave(points, 8))


def test_the_stage_is_readable_before_the_first_frame(tmp_path):
    points, counts = strands()
    read = read_usd_groom(curves_file(tmp_path / "hair.usda", points, counts))
    UsdSequenceWriter(tmp_path / "sim.usda", read.source)
    assert_array_equal(read_points(tmp_path / "sim.usda", 1), points)
    assert faults(tmp_path / "sim.usda") == []


def test_a_second_run_begins_anew_and_a_resumed_one_goes_on(tmp_path):
    points, counts = strands()
    read = read_usd_groom(curves_file(tmp_path / "hair.usda", points, counts))
    writer = UsdSequenceWriter(tmp_path / "sim.usda", read.source)
    for time in (1, 2):
        writer.write(time, wave(points, time))
    (tmp_path / "sim.frames" / ".deadbeef.partial.usdc").write_bytes(b"left by a run that was killed")
    resumed = UsdSequenceWriter(tmp_path / "sim.usda", read.source, resume=True)
    assert resumed.times == (1, 2)
    with pytest.raises(ValueError, match="must be after the frame before, 2, got 2"):
        resumed.write(2, points)
    resumed.write(3, wave(points, 3))
    for time in (1, 2, 3):
        assert_array_equal(read_points(tmp_path / "sim.usda", time), wave(points, time))
    assert not list((tmp_path / "sim.frames").glob(".*"))
    anew = UsdSequenceWriter(tmp_path / "sim.usda", read.source)
    assert anew.times == ()
    anew.write(1, points)
    assert_array_equal(read_points(tmp_path / "sim.usda", 3), points)  # held, not the third frame of the old run
    for name in ("frame.0001.usdc", "manifest.usda"):
        (tmp_path / "sim.frames" / name).unlink()
        with pytest.raises(ValueError, match=rf"lists \./sim\.frames/{name}, which is gone; begin anew"):
            UsdSequenceWriter(tmp_path / "sim.usda", read.source, resume=True)
        (tmp_path / "sim.frames" / name).touch()
    assert UsdSequenceWriter(tmp_path / "other.usda", read.source, resume=True).times == ()


def test_bad_frames_are_refused_and_leave_the_stage_as_it_was(tmp_path):
    points, counts = strands()
    read = read_usd_groom(curves_file(tmp_path / "hair.usda", points, counts))
    writer = UsdSequenceWriter(tmp_path / "sim.usda", read.source)
    writer.write(1, points)
    before = (tmp_path / "sim.usda").read_bytes()
    for time, bad, match in (
        (2, points[:3], "points: must have shape"),
        (2, points * np.nan, "points: must be finite"),
        (0, points, "must be after the frame before"),
        (np.inf, points, "must be a finite time code"),
    ):
        with pytest.raises(ValueError, match=match):
            writer.write(time, bad)
    assert (tmp_path / "sim.usda").read_bytes() == before
    assert writer.times == (1,)


def test_a_full_disk_costs_only_the_frame_that_did_not_fit(tmp_path, monkeypatch):
    points, counts = strands()
    read = read_usd_groom(curves_file(tmp_path / "hair.usda", points, counts))
    writer = UsdSequenceWriter(tmp_path / "sim.usda", read.source)
    writer.write(1, points)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *names: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(
            OSError, match=r"frame\.0002\.usdc: cannot be written \(no space left on device\); free some"
        ):
            writer.write(2, points)
    assert writer.times == (1,)
    assert sorted(f.name for f in (tmp_path / "sim.frames").iterdir()) == ["frame.0001.usdc", "manifest.usda"]
    writer.write(2, wave(points, 2))
    assert_array_equal(read_points(tmp_path / "sim.usda", 2), wave(points, 2))


WRITER = """
import sys
import numpy as np
from mane.io.usd import UsdSequenceWriter, read_usd_groom
read = read_usd_groom(sys.argv[1])
writer = UsdSequenceWriter(sys.argv[2], read.source)
time = 0
while True:
    time += 1
    writer.write(time, (read.groom.points * np.float32(1 + 0.1 * time)).astype(np.float32))
    print(time, flush=True)
"""


def test_finished_frames_survive_a_kill_and_readers_always_see_a_whole_stage(tmp_path):
    points, counts = strands((9,) * 400)
    path = curves_file(tmp_path / "hair.usda", points, counts)
    stage = tmp_path / "sim.usda"
    command = [sys.executable, "-c", WRITER, str(path), str(stage)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        finished = 0
        for line in child.stdout:
            finished = int(line)
            if finished % 5 == 0:  # a reader in the middle of the run
                assert_array_equal(read_points(stage, finished), wave(points, finished))
            if finished == 20:
                break
        clock.sleep(0.003)  # somewhere in the next frame
        os.kill(child.pid, signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    listed = UsdSequenceWriter(stage, read_usd_groom(path).source, resume=True).times
    assert len(listed) >= finished
    for time in listed:
        assert_array_equal(read_points(stage, time), wave(points, time))
    assert faults(stage) == []


MEASURED = """
import sys
import numpy as np
from mane.groom.groom import Groom
from mane.io.usd import UsdSequenceWriter, read_usd_groom, write_usd_groom
rng = np.random.default_rng(0)
points = rng.random((40_000, 16, 3), dtype=np.float32)
groom = Groom.from_uniform(points)
if sys.argv[2] == "new":
    writer = UsdSequenceWriter.new(sys.argv[1] + "/sim.usda", groom)
else:
    write_usd_groom(sys.argv[1] + "/hair.usdc", groom, unit="cm", up="z")
    source = read_usd_groom(sys.argv[1] + "/hair.usdc", trusted=True).source
    writer = UsdSequenceWriter(sys.argv[1] + "/sim.usda", source)
moved = points.reshape(-1, 3).copy()

def high_water():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024

with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forget the peak of the preparations
before = high_water()
for time in range(1, int(sys.argv[3]) + 1):
    moved += np.float32(0.001)
    writer.write(time, moved)
print((high_water() - before) / moved.nbytes)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="memory is measured where Linux tells it")
@pytest.mark.parametrize("kind", ["new", "over"])
def test_memory_is_a_few_frames_however_many_are_written(tmp_path, kind):
    """Peak beyond what the program held before, in frames of 7.7 MB: one for OpenUSD's copy, one converted, chunks."""
    command = [sys.executable, "-c", MEASURED, str(tmp_path), kind, "8"]
    peak = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert peak < 3.0


def test_where_frames_cannot_be_kept(tmp_path):
    read = read_usd_groom(curves_file(tmp_path / "hair.usda", *strands()))
    (tmp_path / "sim.frames").write_text("a file in the way")
    with pytest.raises(OSError, match=r"sim\.frames: cannot be made \(file exists\); choose another name"):
        UsdSequenceWriter(tmp_path / "sim.usda", read.source)
    with pytest.raises(ValueError, match=r"must end in one of \.usd, \.usda, \.usdc"):
        UsdSequenceWriter(tmp_path / "sim.abc", read.source)
    with pytest.raises(FileNotFoundError, match="its folder does not exist"):
        UsdSequenceWriter(tmp_path / "none" / "sim.usda", read.source)


def test_binary_stages_work_like_text(tmp_path):
    points, counts = strands()
    read = read_usd_groom(curves_file(tmp_path / "hair.usda", points, counts))
    writer = UsdSequenceWriter(tmp_path / "sim.usdc", read.source)
    writer.write(-3, wave(points, 1))
    writer.write(0.5, wave(points, 2))
    assert_array_equal(read_points(tmp_path / "sim.usdc", 0.5), wave(points, 2))
    assert UsdSequenceWriter(tmp_path / "sim.usdc", read.source, resume=True).times == (-3, 0.5)
    layer = Sdf.Layer.FindOrOpen(str(tmp_path / "sim.usdc"))
    assert list(layer.subLayerPaths) == ["./hair.usda"]


def test_a_sequence_can_start_from_a_new_file_too(tmp_path):
    """write_usd_groom, read it, put a sequence over it: the way of a scene that keeps its groom in USD."""
    groom = full_groom()
    write_usd_groom(tmp_path / "hair.usda", groom, unit="cm", up="z")
    read = read_usd_groom(tmp_path / "hair.usda")
    writer = UsdSequenceWriter(tmp_path / "sim.usda", read.source)
    writer.write(1, read.groom.points)
    before, after = (value_of(tmp_path / n, "/Groom/Strands", "points", 1) for n in ("hair.usda", "sim.usda"))
    assert before.tobytes() == after.tobytes()
