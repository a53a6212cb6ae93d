"""Hair to Blender and back, through the real Blender; skipped where there is none (see docs/blender.md)."""

import json
import subprocess

import numpy as np
import pytest

from mane.cli import main
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


def test_files_without_hair_are_refused_in_one_line(tmp_path, capsys):
    (tmp_path / "broken.abc").write_bytes(b"Ogawa" + bytes(100))
    assert main(["convert", str(tmp_path / "broken.abc"), str(tmp_path / "a.usda")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"mane: error: {tmp_path / 'broken.abc'}: ")
    assert said.count("\n") == 1
    assert not (tmp_path / "a.usda").exists()
