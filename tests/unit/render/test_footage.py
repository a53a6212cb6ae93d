"""What a file shows at each time: hair and bodies, still or moving."""

import numpy as np
import pytest

from mane.body.mesh import Mesh
from mane.groom.groom import Groom
from mane.io import write_groom, write_mesh
from mane.io.usd import write_usd_groom
from mane.render.footage import Footage


def sample(strands=4, vertices=5):
    return Groom.from_uniform(np.random.default_rng(0).normal(scale=0.1, size=(strands, vertices, 3)))


def triangle():
    return Mesh([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0]], [[0, 1, 2]])


@pytest.fixture
def moving(tmp_path):
    groom = sample()
    frames = [(float(t), groom.points + np.float32([0, t, 0])) for t in (10, 11, 13)]
    write_usd_groom(tmp_path / "moving.usda", groom, unit="cm", up="z", frames=frames, time_codes_per_second=12)
    return tmp_path / "moving.usda"


def add_mesh(path, name="Body", times=()):
    """Put a triangle into a USD stage that is there or new, at x = time where it moves."""
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.Open(str(path)) if path.exists() else Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, UsdGeom.GetStageMetersPerUnit(stage))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.GetStageUpAxis(stage))
    mesh = UsdGeom.Mesh.Define(stage, f"/{name}")
    mesh.CreateFaceVertexCountsAttr([3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2])
    corners = triangle().points
    points = mesh.CreatePointsAttr(corners.tolist())
    for time in times:
        points.Set((corners + np.float32([time, 0, 0])).tolist(), time)
    stage.Save()
    return path


def test_a_still_groom_has_one_moment_and_no_body(tmp_path):
    write_groom(tmp_path / "a.npz", sample())
    footage = Footage(tmp_path / "a.npz")
    assert (footage.times, footage.is_moving, footage.rate) == ([], False, 24.0)
    moment = footage.at()
    np.testing.assert_array_equal(moment.groom.points, sample().points)
    assert (moment.time, moment.bodies) == (None, ())


def test_a_moving_groom_is_read_frame_by_frame(moving):
    footage = Footage(moving)
    assert footage.times == [10.0, 11.0, 12.0, 13.0]
    assert footage.is_moving
    assert footage.rate == 12.0
    for time in (10.0, 13.0):
        np.testing.assert_allclose(footage.at(time).groom.points, sample().points + [0, time, 0], rtol=1e-5, atol=1e-5)
    assert footage.at().time == 10.0
    # Colours go by id: they must not change from strand to strand while roots move.
    np.testing.assert_array_equal(footage.at(12.0).groom.strand["id"], np.arange(4))


def test_meshes_of_the_same_file_are_its_bodies(moving):
    add_mesh(moving)
    assert len(Footage(moving).at().bodies) == 1
    assert Footage(moving, "none").at().bodies == ()


def test_a_moving_mesh_without_hair(tmp_path):
    footage = Footage(add_mesh(tmp_path / "body.usda", times=(1.0, 2.0)))
    assert footage.times == [1.0, 2.0]
    assert footage.at(2.0).groom is None
    first, second = (footage.at(time).bodies[0].points for time in (1.0, 2.0))
    assert np.abs(second - first).max() > 0


def test_bodies_of_other_files_and_the_bust(tmp_path):
    write_groom(tmp_path / "a.npz", sample())
    write_mesh(tmp_path / "b.obj", triangle(), unit="cm")
    add_mesh(tmp_path / "c.usda", times=(1.0, 3.0))
    still = Footage(tmp_path / "a.npz", tmp_path / "b.obj", body_unit="cm").at().bodies[0]
    np.testing.assert_allclose(still.points, triangle().points, rtol=1e-6)
    assert Footage(tmp_path / "a.npz", tmp_path / "c.usda").times == [1.0, 2.0, 3.0]
    assert Footage(tmp_path / "a.npz", "bust").at().bodies[0].face_count > 1000


def test_warnings_come_once_and_not_with_every_frame(moving, recwarn):
    text = moving.read_text().replace("metersPerUnit = 0.01", "")
    moving.write_text(text)
    with pytest.warns(UserWarning, match="metersPerUnit is not authored"):
        footage = Footage(moving)
    recwarn.clear()
    for time in footage.times:
        footage.at(time)
    assert len(recwarn) == 0


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("no.npz", None, "no.npz"),
        ("a.npz", "no.obj", "no.obj"),
        ("a.npz", "a.npz", "is no suffix of a file that mane can read as a mesh"),
        ("a.txt", None, "is no suffix of a file that mane can read"),
        ("empty.usda", None, "has neither BasisCurves nor a Mesh to show"),
    ],
)
def test_what_cannot_be_shown_is_refused(path, body, message, tmp_path):
    write_groom(tmp_path / "a.npz", sample())
    (tmp_path / "empty.usda").write_text('#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = "Y"\n)\n')
    with pytest.raises((ValueError, OSError), match=message):
        Footage(tmp_path / path, None if body is None else tmp_path / body)
