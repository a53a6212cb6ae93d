"""`mane info`, `mane convert` and `mane repair` on the command line."""

import io
import json
import os
import struct
import sys
import time
import warnings

import numpy as np
import pytest

from mane.body.mesh import Mesh
from mane.cli import _waiting, main
from mane.groom.groom import Groom
from mane.io import read_groom, read_mesh, write_groom, write_mesh
from mane.io.usd import write_usd_groom


def sample(strands=6, vertices=5):
    points = np.random.default_rng(0).normal(scale=0.1, size=(strands, vertices, 3))
    names = {0: "scalp", 1: "brow"}
    group = np.arange(strands) % 2
    return Groom.from_uniform(points, strand={"group_id": group, "width": np.full(strands, 1e-4)}, group_names=names)


def ball(radius=1.0):
    import trimesh

    sphere = trimesh.creation.icosphere(3, radius)
    return Mesh(sphere.vertices, sphere.faces)


@pytest.fixture
def groom_file(tmp_path):
    write_groom(tmp_path / "groom.npz", sample())
    return tmp_path / "groom.npz"


def damaged_file(path):
    rng = np.random.default_rng(1)
    strands = [rng.normal(size=(n, 3)).astype("<f4") for n in (5, 1, 6)]
    strands[2][3] = np.nan
    path.write_bytes(struct.pack("<i", 3) + b"".join(struct.pack("<i", len(s)) + s.tobytes() for s in strands))
    return path


def run(capsys, *argv):
    with warnings.catch_warnings():
        warnings.simplefilter("always")  # shown, as outside of the tests
        code = main([str(word) for word in argv])
    out, err = capsys.readouterr()
    return code, out, err


# -- info --------------------------------------------------------------------------------------------------------------


def test_info_in_json(groom_file, capsys):
    code, out, err = run(capsys, "info", groom_file, "--json")
    facts = json.loads(out)
    groom = sample()
    assert (code, err) == (0, "")
    assert (facts["kind"], facts["strands"], facts["points"]) == ("groom", 6, 30)
    assert facts["length_min"] == pytest.approx(groom.lengths.min(), rel=1e-6)
    assert facts["length_mean"] == pytest.approx(groom.lengths.mean(), rel=1e-6)
    assert facts["length_max"] == pytest.approx(groom.lengths.max(), rel=1e-6)
    np.testing.assert_allclose(facts["bounds"], groom.bounds, rtol=1e-6)
    assert facts["groups"] == [{"id": 0, "name": "scalp", "strands": 3}, {"id": 1, "name": "brow", "strands": 3}]
    assert [(a["name"], a["scope"]) for a in facts["attributes"]] == [("group_id", "strand"), ("width", "strand")]
    assert (facts["unit"], facts["up"], facts["units_assumed"]) == ("m", "y", False)
    assert (facts["time"], facts["problems"]) == (None, [])


def test_info_for_people_states_what_is_assumed(tmp_path, capsys):
    write_groom(tmp_path / "a.data", Groom.from_uniform(np.random.default_rng(0).random((3, 4, 3)) * 100))
    code, out, _ = run(capsys, "info", tmp_path / "a.data")
    assert code == 0
    assert "3 with 12 points, 4 each" in out
    assert "m, Y up (assumed, such files are in metres with Y up)" in out
    assert "problems    none found" in out
    assert "hint        the longest strand would be" in out
    _, told, _ = run(capsys, "info", tmp_path / "a.data", "--from-unit", "mm", "--from-up", "z")
    assert "mm, Z up (as told)" in told
    assert "hint" not in told


def test_info_is_about_the_file_as_it_is_damaged_strands_included(tmp_path, capsys):
    path = damaged_file(tmp_path / "a.data")
    code, out, err = run(capsys, "info", path, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert (facts["strands"], facts["points"]) == (3, 12)
    assert [problem["kind"] for problem in facts["problems"]] == ["too few points", "not finite"]
    _, text, _ = run(capsys, "info", path)
    assert "1 of 3 strands have points that are NaN or infinite (first: strand 2)" in text


@pytest.mark.parametrize("name", ["a.obj", "a.ply"])
def test_info_of_a_mesh(name, tmp_path, capsys):
    write_mesh(tmp_path / name, ball())
    _, out, _ = run(capsys, "info", tmp_path / name, "--json")
    facts = json.loads(out)
    assert (facts["kind"], facts["faces"], facts["is_closed"]) == ("mesh", 1280, True)
    assert facts["volume"] == pytest.approx(4 / 3 * np.pi, rel=0.02)
    _, text, _ = run(capsys, "info", tmp_path / name)
    assert "1,280 on 642 vertices" in text


def test_info_of_the_file_that_blender_wrote(shared_data, capsys):
    code, out, _ = run(capsys, "info", shared_data / "hair-blender-3.0.1.usda", "--json")
    facts = json.loads(out)
    assert code == 0
    assert (facts["strands"], facts["points"], facts["unit"], facts["up"]) == (1000, 9000, "m", "z")


@pytest.mark.parametrize("name", ["fur.hair", "Ratboy_mohawk.tfx"])
def test_info_of_other_real_files(name, shared_data, capsys):
    _, out, _ = run(capsys, "info", shared_data / name, "--json")
    facts = json.loads(out)
    counts = {"fur.hair": (50_000, 200_000, 1), "Ratboy_mohawk.tfx": (2_228, 71_296, 1)}
    assert (facts["strands"], facts["points"], len(facts["problems"])) == counts[name]


@pytest.fixture
def animated_file(tmp_path):
    """Six strands that rise by a metre per frame, at 12 frames per second."""
    groom = sample()
    frames = [(float(t), groom.points + np.float32([0, t, 0])) for t in range(10, 14)]
    write_usd_groom(tmp_path / "moving.usda", groom, unit="cm", up="z", frames=frames, time_codes_per_second=12)
    return tmp_path / "moving.usda"


def test_info_of_an_animation(animated_file, capsys):
    code, out, err = run(capsys, "info", animated_file, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert facts["time"] == {"start": 10.0, "end": 13.0, "samples": 4, "fps": 12.0}
    assert (facts["strands"], facts["unit"], facts["up"], facts["units_assumed"]) == (6, "cm", "z", False)
    assert "10 to 13 at 12 per second" in run(capsys, "info", animated_file)[1]


def test_info_of_usd_says_what_it_had_to_assume(animated_file, capsys):
    text = animated_file.read_text()
    animated_file.write_text(text.replace("metersPerUnit = 0.01", "").replace('upAxis = "Z"', ""))
    code, out, err = run(capsys, "info", animated_file, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert facts["units_assumed"]
    assert len(facts["problems"]) == 2


def test_info_of_a_usd_body(tmp_path, capsys):
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.CreateNew(str(tmp_path / "body.usda"))
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    UsdGeom.SetStageUpAxis(stage, "Y")
    mesh, prim = ball(), UsdGeom.Mesh.Define(stage, "/Ball")
    prim.CreatePointsAttr((mesh.points * 100).tolist())
    prim.CreateFaceVertexCountsAttr([3] * mesh.face_count)
    prim.CreateFaceVertexIndicesAttr(mesh.faces.reshape(-1).tolist())
    stage.Save()
    code, out, err = run(capsys, "info", tmp_path / "body.usda", "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert (facts["kind"], facts["faces"], facts["unit"], facts["up"]) == ("mesh", 1280, "cm", "y")
    np.testing.assert_allclose(facts["bounds"], ball().bounds, rtol=1e-6)


# -- convert -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".hair", ".data", ".npz", ".usda", ".usdc"])
def test_convert_there_and_back(suffix, groom_file, tmp_path, capsys):
    there, back = tmp_path / f"there{suffix}", tmp_path / "back.npz"
    code, out, _ = run(capsys, "convert", groom_file, there, "--unit", "cm", "--up", "z")
    assert code == 0
    assert f"there{suffix}: 6 strands with 30 points, cm, Z up" in out
    told = ["--from-unit", "cm", "--from-up", "z"] if suffix == ".data" else []
    assert run(capsys, "convert", there, back, *told)[0] == 0
    np.testing.assert_allclose(read_groom(back).points, sample().points, rtol=3e-7, atol=1e-9)


def test_convert_resamples_and_takes_guides(groom_file, tmp_path, capsys):
    code, out, _ = run(capsys, "convert", groom_file, tmp_path / "b.npz", "--resample", 9, "--guides", 3)
    assert code == 0
    assert "3 strands with 27 points" in out
    guides = read_groom(tmp_path / "b.npz")
    assert guides.vertex_counts.tolist() == [9, 9, 9]
    assert guides.strand["is_guide"].all()
    roots = {tuple(root) for root in sample().roots.tolist()}
    assert all(tuple(root) in roots for root in guides.roots.tolist())


def test_convert_takes_one_moment_of_an_animation(animated_file, tmp_path, capsys):
    assert run(capsys, "convert", animated_file, tmp_path / "b.npz", "--time", 12)[0] == 0
    moment = read_groom(tmp_path / "b.npz")
    np.testing.assert_allclose(moment.points, sample().points + [0, 12, 0], rtol=1e-5, atol=1e-5)
    # The shape at rest is not the shape at that time, so it comes along, also through another format.
    np.testing.assert_allclose(moment.vertex["rest"], sample().points, rtol=1e-5, atol=1e-7)
    assert run(capsys, "convert", tmp_path / "b.npz", tmp_path / "c.usdc", "--unit", "ft")[0] == 0
    back = read_groom(tmp_path / "c.usdc")
    np.testing.assert_allclose(back.vertex["rest"], sample().points, rtol=1e-5, atol=1e-7)


def test_convert_cuts_bare_points(tmp_path, capsys):
    header = "ply\nformat binary_little_endian 1.0\nelement vertex 12\n" + "".join(
        f"property float {a}\n" for a in "xyz"
    )
    points = np.random.default_rng(0).random((12, 3)).astype("<f4")
    (tmp_path / "a.ply").write_bytes(f"{header}end_header\n".encode() + points.tobytes())
    assert run(capsys, "convert", tmp_path / "a.ply", tmp_path / "b.npz", "--points-per-strand", 4)[0] == 0
    assert read_groom(tmp_path / "b.npz").vertex_counts.tolist() == [4, 4, 4]


def test_convert_mends_and_says_so(tmp_path, capsys):
    code, out, err = run(capsys, "convert", damaged_file(tmp_path / "a.data"), tmp_path / "b.hair")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("mane: warning: ")
    assert "kept 2 of 3 strands" in err
    assert "2 strands with 11 points" in out


def test_convert_meshes(tmp_path, capsys):
    write_mesh(tmp_path / "a.obj", ball())
    code, out, _ = run(capsys, "convert", tmp_path / "a.obj", tmp_path / "b.ply", "--unit", "mm")
    assert code == 0
    assert "1,280 triangles on 642 vertices, mm, Y up" in out
    np.testing.assert_allclose(read_mesh(tmp_path / "b.ply", unit="mm").points, ball().points, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("output", "options", "message"),
    [
        ("b.tfx", [], "is no suffix of a file that mane can write"),
        ("no/b.hair", [], "its folder does not exist; make it first"),
        ("b.hair", ["--unit", "cubit"], "unit: 'cubit' is unknown"),
        ("b.hair", ["--time", "3"], "holds one moment only"),
        ("b.hair", ["--resample", "1"], "must be"),
        ("b.hair", ["--guides", "0"], "must be"),
        ("b.obj", ["--guides", "3"], "--guides: is for grooms"),
    ],
)
def test_convert_refused_is_one_line_exit_code_2_and_no_file(output, options, message, groom_file, tmp_path, capsys):
    code, out, err = run(capsys, "convert", groom_file, tmp_path / output, *options)
    assert (code, out) == (2, "")
    assert err.startswith("mane: error: ")
    assert err.count("\n") == 1
    assert message in err
    assert os.listdir(tmp_path) == ["groom.npz"]


# -- repair ------------------------------------------------------------------------------------------------------------


def test_repair_reports_and_writes(tmp_path, capsys):
    code, out, _ = run(capsys, "repair", damaged_file(tmp_path / "a.data"), tmp_path / "b.npz")
    assert code == 0
    assert "kept 2 of 3 strands" in out
    assert read_groom(tmp_path / "b.npz", repair=False).strand_count == 2


def test_repair_brings_strands_out_of_the_body(tmp_path, capsys):
    """Strands that start on a ball of 10 cm and run straight through it must end up outside, as long as they were."""
    directions = np.random.default_rng(0).normal(size=(20, 1, 3))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    groom = Groom.from_uniform(directions * np.linspace(0.1, -0.1, 12)[:, None])
    write_groom(tmp_path / "a.npz", groom)
    write_mesh(tmp_path / "ball.obj", ball(0.1), unit="cm")
    options = ["--body", tmp_path / "ball.obj", "--body-unit", "cm", "--json"]
    code, out, _ = run(capsys, "repair", tmp_path / "a.npz", tmp_path / "b.npz", *options)
    report = json.loads(out)
    assert code == 0
    assert report["repair"]["kept_strand_count"] == 20
    assert report["depenetrate"]["deepest_before"] == pytest.approx(0.1, abs=0.005)
    assert report["depenetrate"]["deepest_after"] < 1e-3
    moved = read_groom(tmp_path / "b.npz")
    # An icosphere of 1,280 triangles lies up to 0.5 % inside its ball.
    assert np.linalg.norm(moved.points, axis=1).min() > 0.1 * 0.99
    np.testing.assert_allclose(moved.lengths, groom.lengths, rtol=0.01)


def test_repair_drops_what_is_too_short(tmp_path, capsys):
    points = np.zeros((2, 3, 3))
    points[0, :, 1], points[1, :, 1] = [0, 0.1, 0.2], [0, 1e-4, 2e-4]
    write_groom(tmp_path / "a.npz", Groom.from_uniform(points))
    assert run(capsys, "repair", tmp_path / "a.npz", tmp_path / "b.npz", "--min-length", "1mm")[0] == 0
    assert read_groom(tmp_path / "b.npz").strand_count == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--body", "no.obj"], "no.obj: does not exist"),
        (["--clearance", "far"], "--clearance: must be a length such as 0.001 or 1mm, got 'far'"),
        (["--min-length", "10m"], "must find a usable strand"),
    ],
)
def test_repair_refused(options, message, groom_file, tmp_path, capsys):
    code, _, err = run(capsys, "repair", groom_file, tmp_path / "b.npz", *options)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert os.listdir(tmp_path) == ["groom.npz"]


# -- while one waits ---------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "patience", "shows"), [(Terminal, 0.01, True), (Terminal, 60.0, False), (io.StringIO, 0.01, False)]
)
def test_progress_is_for_people_who_wait(stream, patience, shows, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setattr(_waiting, "PATIENCE_SECONDS", patience)
    with _waiting.busy("reading [hair]"):
        deadline = time.monotonic() + (5.0 if shows else 0.1)
        while "reading [hair]" not in sys.stderr.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert ("reading [hair]" in sys.stderr.getvalue()) == shows
