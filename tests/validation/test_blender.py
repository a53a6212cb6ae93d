"""Hair to Blender and back, through the real Blender; skipped where there is none (see docs/blender.md)."""

import json
import subprocess

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, Vt  # noqa: TID253 (tests of USD need it anyway)

import mane
from mane.body.shapes import Sphere
from mane.cli import main
from mane.groom.binding import bind_roots
from mane.groom.groom import Groom
from mane.io import blender, read_groom, write_groom
from mane.io.usd import UsdSequenceWriter, read_usd_groom

pytestmark = pytest.mark.skipif(not blender.is_there(), reason="no Blender here; set MANE_BLENDER")

FRAMES, RATE = (1, 2, 3, 5), 30.0
# Blender turns Y up into Z up with a matrix of sines and cosines and back again: some roundings of float32.
ROUNDING = 4 * 2.0**-24

LOOK = """
import json, sys
import bpy
import numpy as np
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.wm.usd_import(filepath=sys.argv[-1])
scene, (hair,) = bpy.context.scene, bpy.data.objects
found = {"type": hair.type, "frames": [scene.frame_start, scene.frame_end], "points": {}}
for frame in (1, 2, 3, 5):
    scene.frame_set(frame)
    shown = hair.evaluated_get(bpy.context.evaluated_depsgraph_get())
    points = np.empty(3 * len(shown.data.points), np.float32)
    shown.data.position_data.foreach_get("vector", points)
    world = points.reshape(-1, 3) @ np.array(shown.matrix_world)[:3, :3].T
    found["points"][frame] = world.astype(float).tolist()
    found["curves"] = [curve.points_length for curve in shown.data.curves]
    found["radius"] = [point.radius for point in shown.data.points]
print("FOUND" + json.dumps(found))
"""


@pytest.fixture(scope="module")
def still():
    rng = np.random.default_rng(3)
    strands = [rng.normal(size=(count, 3)).astype(np.float32).cumsum(axis=0) * 0.01 for count in (5, 8, 4)]
    return Groom.from_strands(strands).with_vertex(width=rng.uniform(5e-5, 1e-4, 17).astype(np.float32))


def moved(groom, time):
    return (groom.points + np.float32(0.01 * time) * groom.points[:, [1, 2, 0]]).astype(np.float32)


@pytest.fixture(scope="module")
def stage(still, tmp_path_factory):
    path = tmp_path_factory.mktemp("motion") / "hair.usda"
    writer = UsdSequenceWriter.new(path, still, time_codes_per_second=RATE)
    for time in FRAMES:
        writer.write(time, moved(still, time))
    return path


def as_curves(path):
    *command, _ = blender._command()
    run = subprocess.run([*command, "-c", LOOK, str(path)], capture_output=True, check=True, env=blender._environment())
    line = next(line for line in run.stdout.decode().splitlines() if line.startswith("FOUND"))
    return json.loads(line.removeprefix("FOUND"))


def test_blender_opens_mane_s_stage_as_hair_curves_that_move(still, stage):
    found = as_curves(stage)
    assert found["type"] == "CURVES"
    assert found["frames"] == [1, 5]
    assert found["curves"] == [5, 8, 4]
    np.testing.assert_allclose(found["radius"], still.vertex["width"] / 2, rtol=1e-6)
    for time in (1, 2, 3, 5):
        x, y, z = moved(still, time).T
        np.testing.assert_allclose(found["points"][str(time)], np.stack([x, -z, y], axis=1), atol=ROUNDING)


def test_motion_goes_to_alembic_and_back(still, stage, tmp_path, capsys):
    assert main(["convert", str(stage), str(tmp_path / "hair.abc")]) == 0
    assert "4 frames" in capsys.readouterr().out
    assert main(["convert", str(tmp_path / "hair.abc"), str(tmp_path / "back.usda")]) == 0
    back = read_usd_groom(tmp_path / "back.usda")
    np.testing.assert_array_equal(back.groom.offsets, still.offsets)
    # Alembic counts seconds, and Blender opens them at 24 frames per second unless told otherwise.
    seconds = np.asarray(back.times) / back.source.timing.time_codes_per_second
    for time in (1, 2, 3, 5):
        nearest = float(back.times[np.argmin(np.abs(seconds - time / RATE))])
        expected = moved(still, nearest / back.source.timing.time_codes_per_second * RATE)
        # Between the frames of the one rate and those of the other Blender interpolates linearly, as this motion is.
        np.testing.assert_allclose(read_groom(tmp_path / "back.usda", time=nearest).points, expected, atol=1e-6)


def test_a_still_groom_goes_to_alembic_and_back(still, tmp_path):
    write_groom(tmp_path / "hair.abc", still)
    back = read_groom(tmp_path / "hair.abc")
    np.testing.assert_array_equal(back.offsets, still.offsets)
    np.testing.assert_allclose(back.points, still.points, atol=ROUNDING)
    np.testing.assert_allclose(back.vertex["width"], still.vertex["width"], rtol=1e-6)


def test_units_and_axes_of_alembic_files_are_as_told(still, tmp_path):
    """A file in centimetres with Z up, which says neither."""
    write_groom(tmp_path / "hair.abc", still, unit="cm", up="z")
    np.testing.assert_allclose(read_groom(tmp_path / "hair.abc", unit="cm", up="z").points, still.points, atol=ROUNDING)
    assert (
        main(["convert", str(tmp_path / "hair.abc"), str(tmp_path / "a.npz"), "--from-unit", "cm", "--from-up", "z"])
        == 0
    )
    np.testing.assert_allclose(read_groom(tmp_path / "a.npz").points, still.points, atol=ROUNDING)


def test_hair_that_blender_saved_comes_in(still, tmp_path):
    """USD and Alembic as Blender itself writes them, not as mane does."""
    write_groom(tmp_path / "ours.usdc", still)
    for name in ("hair.usda", "hair.usdc", "hair.abc"):
        blender.convert(tmp_path / "ours.usdc", tmp_path / name)
        np.testing.assert_allclose(read_groom(tmp_path / name).points, still.points, atol=ROUNDING, err_msg=name)


@pytest.fixture(scope="module")
def body_file(tmp_path_factory):
    """A ball that is stretched and moved, below a transform that moves too, as Blender writes it to Alembic."""
    folder = tmp_path_factory.mktemp("body")
    stage = Usd.Stage.CreateNew(str(folder / "body.usdc"))
    UsdGeom.SetStageUpAxis(stage, "Y")
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(24)
    stage.SetStartTimeCode(1)
    stage.SetEndTimeCode(6)
    lift = UsdGeom.Xform.Define(stage, "/Root").AddTranslateOp()
    mesh = UsdGeom.Mesh.Define(stage, "/Root/Ball")
    mesh.CreateFaceVertexCountsAttr([3] * BALL.face_count)
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(BALL.faces.reshape(-1)))
    for frame in range(1, 7):
        lift.Set(Gf.Vec3d(0, 0.1 * frame, 0), frame)
        mesh.CreatePointsAttr().Set(Vt.Vec3fArray.FromNumpy(stretched(frame)), frame)
    stage.Save()
    blender.convert(folder / "body.usdc", folder / "body.abc", kind="meshes")
    return folder / "body.abc"


BALL = Sphere((0.0, 0.0, 0.0), 0.1).mesh(12)


def stretched(frame):
    growth = np.array([1 + 0.05 * frame, 1 - 0.03 * frame, 1.0])
    return (BALL.points * growth + [0.01 * frame**2, 0.2, 0.0]).astype(np.float32)


def test_a_body_that_moves_comes_from_alembic(body_file):
    """Points and the transforms above them, at the times of its samples."""
    body = mane.read_body(body_file).animation
    np.testing.assert_allclose(body.times, np.arange(6) / 24, atol=1e-9)
    for frame in range(1, 7):
        expected = stretched(frame) + np.float32([0, 0.1 * frame, 0])
        np.testing.assert_allclose(body.points((frame - 1) / 24), expected, atol=1e-6)
    twice = mane.read_body(body_file, rate=48).animation  # opened at more frames per second: the same motion
    np.testing.assert_allclose(twice.points(3 / 24), body.points(3 / 24), atol=1e-6)


def test_hair_in_a_scene_grows_on_a_body_from_alembic(body_file, tmp_path):
    roots = stretched(1)[::9] + np.float32([0, 0.1, 0])
    away = roots - roots.mean(axis=0)
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    hair = Groom.from_uniform((roots[:, None] + away[:, None] * np.linspace(0, 0.04, 6)[:, None]).astype(np.float32))
    write_groom(tmp_path / "hair.usda", hair)
    (tmp_path / "body.abc").write_bytes(body_file.read_bytes())
    (tmp_path / "scene.toml").write_text(
        '[groom]\nfile = "hair.usda"\n[body]\nmesh = "body.abc"\n[frames]\nend = 6\n[output]\nusd = "out.usda"\n'
    )
    assert main(["simulate", str(tmp_path / "scene.toml")]) == 0
    last = read_usd_groom(tmp_path / "out.usda", time=6).groom
    skin = BALL.with_points(stretched(6) + np.float32([0, 0.6, 0]))
    carried = bind_roots(hair, BALL.with_points(stretched(1) + np.float32([0, 0.1, 0]))).roots(skin.points)
    np.testing.assert_allclose(last.roots, carried, atol=2e-6)


def test_info_names_the_meshes_of_an_alembic_file(body_file, capsys):
    assert main(["info", str(body_file)]) == 0
    said = capsys.readouterr().out
    assert "Alembic mesh" in said
    assert f"Ball: {BALL.face_count:,} triangles, moved by" in said.replace("_", "")
    assert "1 to 6 at 24 per second" in said


def test_files_without_hair_are_refused_in_one_line(tmp_path, capsys):
    (tmp_path / "broken.abc").write_bytes(b"Ogawa" + bytes(100))
    assert main(["convert", str(tmp_path / "broken.abc"), str(tmp_path / "a.usda")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"mane: error: {tmp_path / 'broken.abc'}: ")
    assert said.count("\n") == 1
    assert not (tmp_path / "a.usda").exists()
