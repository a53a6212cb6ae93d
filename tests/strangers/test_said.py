"""What a run says is what became of the full head, and nothing that a file holds is left out in silence."""

import json
import warnings

import numpy as np
import pytest
from awkward import ball, hairs

from mane.body.motion import Pose
from mane.body.motion_files import write_motion
from mane.body.motion_keys import KeyframedMotion
from mane.cli import main
from mane.groom.groom import Groom
from mane.io.grooms import read_groom, write_groom
from mane.io.meshes import write_mesh

SCENE = """
[groom]
file = "{hair}"
[body]
mesh = "body.obj"
[guides]
count = 6
[frames]
end = 3
[head]
motion = "{motion}"
[strand]
substeps = 2
[skin]
method = "{skin}"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_mesh("body.obj", ball())
    return tmp_path


def told(capsys, *argv):
    """Exit code, standard output and lines of standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code = main([str(word) for word in argv])
    out, err = capsys.readouterr()
    return code, out, [line for line in err.splitlines() if not line.startswith("mane: simulating: ")]


def scene(
    folder, hair="hair.npz", motion="shake", skin="physical", more='[output]\nusd = "out.usda"\nlog = "log.csv"\n'
):
    (folder / "scene.toml").write_text(SCENE.format(hair=hair, motion=motion, skin=skin) + more)
    return "scene.toml"


def write_hair(points, path="hair.npz"):
    write_groom(path, Groom.from_uniform(points.astype(np.float32)))


def test_the_numbers_of_a_run_are_those_of_the_full_head_roots_apart(folder, capsys):
    points = hairs(50)
    sunk = np.arange(50) % 10 == 3
    out = points[:, 0] / np.linalg.norm(points[:, 0], axis=1, keepdims=True)
    points[sunk, 0] -= 0.0041 * out[sunk]  # 4 mm below the skin, and the rest of the strand where it was
    write_hair(points)
    code, text, lines = told(capsys, "simulate", scene(folder), "--json")
    facts = json.loads(text)
    assert (code, lines) == (0, [])
    hair = facts["hair_worst"]
    assert hair["roots_inside"] == pytest.approx(0.1)
    assert hair["root_penetration"] == pytest.approx(0.004, abs=3e-4)  # a ball of facets
    assert hair["penetration"] < 5e-4
    assert hair["fallbacks"] == 0
    # Against the file that was written.
    rest, last = (read_groom("out.usda", time=time).lengths for time in (1, 3))
    assert hair["stretch"] >= (last / rest).max() - 1 - 1e-6
    assert facts["guides_worst"]["stretch"] < 0.01
    assert facts["outside_bounds"] is None
    log = (folder / "log.csv").read_text()
    for row in ("guide stretch", "guide penetration", "hair stretch", "hair penetration", "hair roots inside"):
        assert f"3,{row}," in log


def test_what_a_groom_has_below_the_skin_is_no_fault_of_the_run(folder, capsys):
    """Hair stays as deep as it was groomed, here half a hand below the skin: the bound is on what comes on top."""
    points = hairs(50)
    out = points[:, :1] / np.linalg.norm(points[:, :1], axis=2, keepdims=True)
    points[::10] -= 0.04 * out[::10]
    write_hair(points)
    told_of = ("simulate", scene(folder, motion="still"))
    code, text, lines = told(capsys, *told_of, "--json")
    assert (code, lines) == (0, [])
    hair = json.loads(text)["hair_worst"]
    assert 0.015 < hair["penetration"] < 0.04
    assert hair["added_penetration"] < 1e-3
    deeper = told(capsys, *told_of)[1]
    assert f"inside by up to {1e3 * hair['penetration']:.2g} mm (at most " in deeper
    assert "mm deeper than groomed)" in deeper
    code, _, lines = told(capsys, *told_of, "--set", "bounds.hair_penetration=0")
    assert code == (1 if hair["added_penetration"] > 0 else 0)


def test_a_run_that_ends_outside_its_bounds_says_so_and_exits_with_1(folder, capsys):
    write_hair(hairs(30))
    code, out, lines = told(capsys, "simulate", scene(folder), "--set", "bounds.hair_stretch=0")
    assert code == 1
    assert len(lines) == 1
    assert lines[0].startswith("mane: outside bounds: in the last frame hair is stretched by ")
    assert lines[0].endswith("% (bounds.hair_stretch is 0 %)")
    assert "hair:   stretched by up to " in out
    code, _, lines = told(capsys, "simulate", scene(folder), "--set", "bounds.hair_stretch=-1")
    assert code == 2
    assert "hair_stretch: must be at least 0, got -1" in lines[0]


def test_a_scene_without_output_says_that_nothing_is_written(folder, capsys):
    write_hair(hairs(30))
    code, out, lines = told(capsys, "simulate", scene(folder, more=""))
    assert code == 0
    assert lines == ["mane: note: scene.toml: [output] names no file, so that nothing is written; see `mane new`"]
    assert "hair:   not made" in out


def animated_usd(path, counts_at):
    """Straight curves at times 1, 2, ...; `counts_at` has the vertex counts at each."""
    from pxr import Usd, UsdGeom, Vt

    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    curves = UsdGeom.BasisCurves.Define(stage, "/hair")
    curves.CreateTypeAttr("linear")
    for time, counts in enumerate(counts_at, 1):
        rows = [hairs(1, count, seed=i)[0] + 0.001 * time for i, count in enumerate(counts)]
        curves.CreateCurveVertexCountsAttr().Set(Vt.IntArray(counts), time)
        curves.CreatePointsAttr().Set(Vt.Vec3fArray.FromNumpy(np.concatenate(rows).astype(np.float32)), time)
    stage.SetStartTimeCode(1)
    stage.SetEndTimeCode(len(counts_at))
    stage.Save()


def test_motion_that_is_not_used_is_named(folder, capsys):
    animated_usd("moving.usda", [[8] * 12] * 3)
    note = "mane: warning: moving.usda: moves from time 1 to 3, only time 1 is used; "
    code, _, lines = told(capsys, "convert", "moving.usda", "still.hair")
    assert (code, lines) == (0, [note + "write USD or Alembic to keep all, or choose one by --time"])
    assert told(capsys, "convert", "moving.usda", "still.hair", "--time", 2)[2] == []
    code, out, lines = told(capsys, "convert", "moving.usda", "all.usda")
    assert (code, lines) == (0, [])
    assert "3 frames" in out
    np.testing.assert_allclose(
        read_groom("all.usda", time=3).points, read_groom("moving.usda", time=3).points, atol=1e-6
    )
    assert told(capsys, "repair", "moving.usda", "mended.npz")[2] == [note + "choose another by --time"]
    code, _, lines = told(capsys, "simulate", scene(folder, "moving.usda"))
    assert (code, lines) == (0, [note + "guides are simulated, not played from the file"])


def test_strands_that_change_over_time_are_read_moment_by_moment(folder, capsys):
    animated_usd("grows.usda", [[4] * 12, [5] * 12, [6] * 14])
    for time, counts in ((1, [4] * 12), (2, [5] * 12), (3, [6] * 14)):
        assert read_groom("grows.usda", time=time).vertex_counts.tolist() == counts
    code, _, lines = told(capsys, "convert", "grows.usda", "one.npz", "--time", 3)
    assert (code, lines) == (0, [])
    assert read_groom("one.npz").strand_count == 14
    code, _, lines = told(capsys, "convert", "grows.usda", "all.usda")
    assert code == 2
    assert lines[-1].startswith("mane: error: grows.usda: has other strands from time 2 on")
    assert lines[-1].endswith("convert one moment by --time")
    code, out, lines = told(capsys, "info", "grows.usda")
    assert (code, lines) == (0, [])
    assert "curveVertexCounts change at time 2: the strands are those of time 1 alone" in out


SEAM = """
v 0 0 0
v 1 0 0
v 0 1 0
v 1 1 0
vt 0 0
vt 1 0
vt 0 1
vt 0.5 0.5
f 1/1 2/2 3/3
f 2/4 4/2 3/3
"""


def test_uvs_that_are_not_read_are_named(folder, capsys):
    (folder / "seam.obj").write_text(SEAM)
    said = "its UVs are not read, since they differ along seams that are closed"
    assert said in told(capsys, "info", "seam.obj")[1]
    code, _, lines = told(capsys, "convert", "seam.obj", "seam.ply")
    assert (code, lines) == (0, [f"mane: warning: seam.obj: {said}"])


def test_the_page_of_motion_files_is_right(folder):
    """Its two examples are read as they stand, and what is written is what it says."""
    from pathlib import Path

    from mane.body.motion_files import read_motion

    page = (Path(__file__).parents[2] / "docs" / "motions.md").read_text(encoding="utf-8")
    blocks = page.split("```")
    (folder / "a.json").write_text(blocks[1].removeprefix("json\n"))
    (folder / "a.csv").write_text(blocks[3].lstrip())
    for name in ("a.json", "a.csv"):
        np.testing.assert_allclose(read_motion(name).pose(0.5).position, [0, 0.02, 0])
    assert read_motion("a.json").teleports
    motion = KeyframedMotion([0.0, 1.0], np.zeros((2, 3)), np.tile(Pose.identity().rotation, (2, 1)))
    write_motion("b.csv", motion, [0.0, 1.0])
    assert (folder / "b.csv").read_text().startswith("time,x,y,z,qx,qy,qz,qw,teleport\n")


def test_degenerate_strands_are_named_by_info_and_repair(folder, capsys):
    points = hairs(40)
    points[3, 4] = points[3, 3]
    points[5, 4:] += 1e-7 - (points[5, 4] - points[5, 3])
    points[7] = points[7, :1] + (points[7] - points[7, :1]) * 1e-3
    points[9, 5:] = points[9, 3::-1][:3]
    write_hair(points)
    facts = json.loads(told(capsys, "info", "hair.npz", "--json")[1])
    assert {p["kind"]: (p["count"], p["first"]) for p in facts["problems"]} == {
        "doubled": (1, 3),
        "short": (1, 5),
        "folded": (2, 9),  # one of them is so by nature
        "stub": (1, 7),
    }
    report = json.loads(told(capsys, "repair", "hair.npz", "mended.npz", "--json")[1])["repair"]
    assert report["mended"]["merged"] == [3, 5]
    assert report["noticed"] == {"folded": [9, 26], "stub": [7]}
    mended = read_groom("mended.npz")
    assert mended.vertex_counts[[3, 5, 7, 9]].tolist() == [7, 7, 8, 8]
    text = told(capsys, "repair", "hair.npz", "mended.npz")[1]
    assert "left as they are 1 (strand 7): are shorter than 1% of the median strand" in text
