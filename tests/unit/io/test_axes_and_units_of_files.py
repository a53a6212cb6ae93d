"""Up axes and units of whole files: every reader, every axis, old files, and what messages call the remedy."""

import warnings

import numpy as np
import pytest
from crate_floats import make_unit_a_float
from usd_files import curves_file, new_stage, strands

from mane.body.mesh import Mesh
from mane.cli import main
from mane.groom.groom import Groom
from mane.io import read_body, read_groom, read_mesh, write_groom, write_mesh
from mane.io.notices import FileNotice
from mane.io.units import UP_AXES, from_metres
from mane.io.usd import read_usd_groom, write_usd_layer

CLOSE = 2e-6  # two roundings of metres to float32


@pytest.fixture
def hair():
    points, counts = strands()
    return Groom(points, np.concatenate([[0], np.cumsum(counts)]))


def run(capsys, *argv):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code = main([str(word) for word in argv])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("up", list(UP_AXES))
@pytest.mark.parametrize("suffix", [".hair", ".data", ".npz", ".usda", ".usdc"])
def test_grooms_with_any_axis_up(tmp_path, hair, up, suffix):
    path = tmp_path / f"hair{suffix}"
    write_groom(path, hair.with_points(from_metres(hair.points, "m", up)))
    assert np.abs(read_groom(path, up=up).points - hair.points).max() < CLOSE


@pytest.mark.parametrize("up", list(UP_AXES))
@pytest.mark.parametrize("suffix", [".obj", ".ply", ".usda"])
def test_meshes_with_any_axis_up(tmp_path, up, suffix):
    mesh = Mesh(np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], np.float32), [[0, 2, 1], [0, 1, 3], [1, 2, 3]])
    path = tmp_path / f"mesh{suffix}"
    points = from_metres(mesh.points, "m", up)
    if suffix == ".usda":
        from pxr import UsdGeom

        stage = new_stage(path)
        prim = UsdGeom.Mesh.Define(stage, "/Body")
        prim.CreatePointsAttr(points.tolist())
        prim.CreateFaceVertexCountsAttr([3] * 3)
        prim.CreateFaceVertexIndicesAttr(mesh.faces.reshape(-1).tolist())
        stage.Save()
    else:
        write_mesh(path, mesh.with_points(points))
    assert np.abs(read_mesh(path, up=up).points - mesh.points).max() < CLOSE
    assert np.abs(read_body(path, up=up).mesh.points - mesh.points).max() < CLOSE


@pytest.mark.parametrize("suffix", [".hair", ".npz"])
def test_formats_that_state_an_axis_state_any(tmp_path, hair, suffix):
    for up in UP_AXES:
        path = tmp_path / f"hair{suffix}"
        write_groom(path, hair, unit="cm", up=up)
        assert np.abs(read_groom(path).points - hair.points).max() < CLOSE


def test_usd_refuses_an_axis_that_it_cannot_state(tmp_path, hair, capsys):
    with pytest.raises(ValueError, match="up: must be y or z to be written"):
        write_groom(tmp_path / "hair.usda", hair, up="-x")
    write_groom(tmp_path / "hair.npz", hair)
    code, _, err = run(capsys, "convert", tmp_path / "hair.npz", tmp_path / "hair.usda", "--up", "-x")
    assert (code, err.count("\n")) == (2, 1)
    assert "--up: must be y or z to be written" in err


def test_an_axis_that_is_none_is_refused_by_name_and_may_be_told(tmp_path, hair):
    path = tmp_path / "hair.usda"
    write_groom(path, hair)
    path.write_text(path.read_text().replace('upAxis = "Y"', 'upAxis = "Q"'))
    with pytest.raises(ValueError, match=r"hair\.usda: upAxis must be Y or Z, got 'Q'; tell it by"):
        read_groom(path)
    np.testing.assert_allclose(read_groom(path, up="y").points, hair.points, atol=1e-7)


@pytest.mark.parametrize("up", ["x", "-z"])
def test_moved_hair_goes_back_into_a_file_of_any_axis(tmp_path, hair, up):
    write_groom(tmp_path / "hair.usda", hair.with_points(from_metres(hair.points, "m", up)))
    read = read_usd_groom(tmp_path / "hair.usda", up=up)
    moved = read.groom.points + np.float32(0.1)
    write_usd_layer(tmp_path / "moved.usda", read.source, moved)
    assert np.abs(read_groom(tmp_path / "moved.usda", up=up).points - moved).max() < CLOSE


def test_the_command_takes_an_axis_with_a_minus(tmp_path, hair, capsys):
    write_groom(tmp_path / "hair.data", hair.with_points(from_metres(hair.points, "m", "-z")))
    code, _, _ = run(capsys, "convert", tmp_path / "hair.data", tmp_path / "up.npz", "--from-up", "-z")
    assert code == 0
    assert np.abs(read_groom(tmp_path / "up.npz").points - hair.points).max() < CLOSE


# -- old files ---------------------------------------------------------------------------------------------------------


def test_units_stored_as_float_are_read_with_a_notice(tmp_path, capsys):
    """Blender 2.83 wrote metersPerUnit as float, OpenUSD's own functions then fail; the file is not damaged."""
    points, counts = strands()
    path = curves_file(tmp_path / "blender283.usdc", points, counts, unit=0.5)
    make_unit_a_float(path, 0.5)
    with pytest.warns(
        FileNotice, match="metersPerUnit is stored as a float, where USD asks for a double; 0.5 is taken"
    ):
        groom = read_groom(path)
    assert np.abs(groom.points - 0.5 * points).max() < CLOSE
    code, out, err = run(capsys, "info", path)
    assert (code, err) == (0, "")
    assert "0.5m, Y up (as authored)" in out
    assert "stored as a float" in out


# -- what messages call things -----------------------------------------------------------------------------------------


def test_units_that_usd_leaves_unsaid_are_centimetres_and_the_remedy_is_the_callers_own(tmp_path, capsys):
    points, counts = strands()
    path = curves_file(tmp_path / "plain.usda", points, counts, up=None, unit=None)
    with (
        pytest.warns(FileNotice, match="upAxis is not authored, Y is assumed"),
        pytest.warns(FileNotice, match=r"0.01 \(cm\) is assumed, as OpenUSD does; tell it by unit=\.\.\."),
    ):
        groom = read_groom(path)
    assert np.abs(groom.points - 0.01 * points).max() < CLOSE
    for words in (["info", path], ["convert", path, tmp_path / "out.npz"], ["repair", path, tmp_path / "out.npz"]):
        code, out, err = run(capsys, *words)
        assert code == 0
        assert "tell it by --from-unit" in out + err
        assert "tell it by --from-up" in out + err
        assert "=..." not in out + err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["info", "{}", "--from-unit", "parsec"], "--from-unit: 'parsec' is unknown"),
        (["info", "{}", "--points-per-strand", "7"], "--points-per-strand is for .ply files"),
        (["convert", "{}", "{}.usda", "--time", "7"], "--time is for animated USD files"),
        (["convert", "{}", "{}.hair", "--guides", "99"], "--guides: must be between 1 and 3"),
        (["convert", "{}", "{}.hair", "--resample", "1"], "--resample: must be a whole number from 2"),
        (["convert", "{}", "{}.hair", "--unit", "parsec"], "--unit: 'parsec' is unknown"),
        (["render", "{}", "-o", "{}.png", "--supersample", "9"], "--supersample: must lie between 1 and 8"),
        (["render", "{}", "-o", "{}.png", "--finest", "-1"], "--finest: must be at least 0"),
        (["render", "{}", "-o", "{}.png", "--direction", "up,left"], "--direction: must be a name or three numbers"),
        (["render", "{}", "-o", "{}.png", "--body", "{}.obj", "--body-unit", "ell"], "--body-unit: 'ell' is unknown"),
        (["style", "curly", "--strands", "0"], "--strands: must be at least 1"),
        (["style", "curly", "--strands", "9", "--vertices", "1"], "--vertices: must be at least"),
        (["style", "curly", "--strands", "9", "--seed", "-1"], "--seed: must be a whole number of at least 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_messages_of_commands_name_their_options(tmp_path, hair, capsys, words, message):
    path = tmp_path / "hair.npz"
    write_groom(path, hair)
    triangle = Mesh(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32), [[0, 1, 2]])
    write_mesh(f"{path}.obj", triangle)
    code, _, err = run(capsys, *(word.format(path) for word in words))
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
