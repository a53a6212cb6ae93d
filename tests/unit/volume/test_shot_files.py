"""Meshes of a shot: bodies that change their topology or pass through themselves, and files of another shot."""

from dataclasses import replace

import numpy as np
import pytest

from mane.body.mesh import Mesh
from mane.body.motion import Pose
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.cli import main
from mane.groom import styles
from mane.groom.select import select_guides
from mane.scene.simulation import Simulation
from mane.skin.table import make_skin
from mane.volume.around import covered_share
from mane.volume.file import read_kdsm, write_kdsm
from mane.volume.mesh import mesh_around_body

RADIUS = 0.06


def moving(mesh, way):
    """The mesh, moved by `way` (V, 3) [m] within half a second."""
    return Solid.animated(mesh, [0.0, 0.5], np.stack([mesh.points, mesh.points + way]).astype(np.float32))


def test_a_topology_that_changes_within_the_shot_is_refused_by_name(tmp_path, capsys):
    from pxr import Usd, UsdGeom

    path = tmp_path / "changing.usda"
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, "Y")
    prim = UsdGeom.Mesh.Define(stage, "/Body")
    for time, mesh in ((1.0, Sphere((0.0, 0.0, 0.0), RADIUS).mesh(8)), (5.0, Sphere((0.0, 0.0, 0.0), RADIUS).mesh(10))):
        prim.CreatePointsAttr().Set([tuple(map(float, point)) for point in mesh.points], time)
        prim.CreateFaceVertexCountsAttr().Set([3] * len(mesh.faces), time)
        prim.CreateFaceVertexIndicesAttr().Set(mesh.faces.reshape(-1).tolist(), time)
    stage.SetEndTimeCode(5.0)
    stage.Save()
    assert main(["volume", str(path), "-o", str(tmp_path / "shot.kdsm"), "--reach", "0.05"]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "changing.usda" in said
    assert "with constant topology" in said
    assert not list(tmp_path.glob("shot*"))


def test_a_file_of_another_shot_of_the_same_body_is_refused_in_one_line(tmp_path):
    skin = Sphere((0.0, 0.0, 0.0), RADIUS).mesh(10)
    one, other = (moving(skin, way) for way in (np.array([0.1, 0.0, 0.0]), np.array([0.0, 0.1, 0.0])))
    mesh = mesh_around_body(one, spacing=0.05, reach=0.04)
    times = np.arange(13) / 24
    samples = mesh.nodes + np.array([0.2, 0.0, 0.0]) * times[:, None, None]
    path = write_kdsm(tmp_path / "shot", mesh, times, samples, body=one)
    np.testing.assert_allclose(read_kdsm(path, one).at(0.25), mesh.nodes + [0.05, 0, 0], atol=1e-6)
    with pytest.raises(ValueError, match=r"belongs to another shot of this body, whose skin is .* mm off at") as error:
        read_kdsm(path, other)
    assert "\n" not in str(error.value)


def two_balls(distance, fineness):
    """Two balls that overlap, of which the second goes deeper into the first; and the first alone."""
    parts = [Sphere((side * distance / 2, 0.0, 0.0), RADIUS).mesh(fineness) for side in (-1.0, 1.0)]
    count = parts[0].vertex_count
    faces = np.concatenate([parts[0].faces, parts[1].faces + count])
    skin = Mesh(np.concatenate([part.points for part in parts]), faces)
    way = np.zeros_like(skin.points)
    way[count:, 0] = -0.03
    return moving(skin, way), moving(parts[0], way[:count])


def test_how_much_of_a_body_passes_through_itself_is_known():
    """Each ball has a cap of area 2 pi r (r - d / 2) inside the other, of 8 pi r^2 in all; by half an edge at most."""
    distance, fineness = 0.08, 60
    body, alone = two_balls(distance, fineness)
    cap = (RADIUS - distance / 2) / (2 * RADIUS)
    assert covered_share(body) == pytest.approx(cap, abs=0.5 * np.pi * RADIUS / fineness / (2 * RADIUS))
    assert covered_share(alone) == 0.0


def test_hair_on_a_body_that_passes_through_itself_keeps_its_lengths():
    distance = 0.08
    body, _ = two_balls(distance, 20)
    groom = styles.make("ball", strands=40, vertices=6, seed=3, length=0.04)
    groom = groom.with_points(groom.points + np.array([distance / 2, 0, 0], np.float32))
    simulation = Simulation(select_guides(groom, 4, seed=1), body=body, preroll=0.0)
    skin = make_skin("volume", groom, simulation, spacing=0.04)
    rest = np.linalg.norm(np.diff(groom.as_uniform(), axis=1), axis=2)
    for time in np.arange(13) / 24:
        frame = replace(simulation.rest, time=float(time), is_rest_pose=False, solid_poses=(Pose.identity(),))
        hair = skin(frame)
        np.testing.assert_allclose(np.linalg.norm(np.diff(hair, axis=1), axis=2), rest, rtol=1e-4)
        assert skin.motion.kdsm.report.left == 0
