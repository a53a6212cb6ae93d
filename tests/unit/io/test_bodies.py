"""Bodies that move, from any file that can hold one: as what hair grows on, at the seconds of a scene."""

import gc
import os
import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pxr import UsdGeom, UsdSkel, Vt  # noqa: TID253 (tests of USD need it anyway)
from rig_files import TIMES, add_leg, leg, rig_file, translated
from usd_files import new_stage, place

import mane
from mane.body.animated import SAMPLES_KEPT
from mane.cli import main
from mane.io import blender
from mane.io.bodies import open_body
from mane.io.notices import FileNotice
from mane.io.usd import read_usd_body

CUBE = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float32)
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def add_cube(stage, path, points=CUBE):
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreateFaceVertexCountsAttr([4] * 6)
    mesh.CreateFaceVertexIndicesAttr([corner for quad in QUADS for corner in quad])
    if points is not None:
        mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.asarray(points, np.float32)))
    return mesh


def cube_file(path, edit):
    stage = new_stage(path)
    edit(stage, add_cube(stage, "/Root/Cube", None))
    stage.Save()
    return path


def growing(mesh, times=(1, 2, 4)):
    """A cube as large as the time code."""
    for time in times:
        mesh.CreatePointsAttr().Set(Vt.Vec3fArray.FromNumpy(CUBE * np.float32(time)), time)


def growing_file(path, **stage_times):
    def edit(stage, mesh):
        growing(mesh)
        for name, value in stage_times.items():
            getattr(stage, f"Set{name}")(value)

    return cube_file(path, edit)


# -- when --------------------------------------------------------------------------------------------------------------


def test_a_still_file_is_a_rigid_solid(tmp_path):
    path = cube_file(tmp_path / "a.usda", lambda stage, mesh: mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(CUBE)))
    solid = mane.read_body(path)
    assert solid.animation is None
    assert_array_equal(solid.mesh.points, CUBE)
    assert solid.skin is solid.mesh


def test_time_codes_become_seconds(tmp_path):
    body = mane.read_body(growing_file(tmp_path / "a.usda", TimeCodesPerSecond=30)).animation
    assert_allclose(body.times, [0, 1 / 30, 3 / 30])
    assert_allclose(body.points(0.05), CUBE * 2.5, atol=1e-6)  # half-way between time codes 2 and 3
    assert_allclose(body.points(-1.0), CUBE)
    assert_allclose(body.points(9.0), CUBE * 4)


def test_the_range_of_the_file_says_where_it_starts(tmp_path):
    path = growing_file(tmp_path / "a.usda", StartTimeCode=2, EndTimeCode=4, TimeCodesPerSecond=24)
    assert_allclose(mane.read_body(path).animation.times, np.array([-1, 0, 2]) / 24)
    chosen = open_body(path, start=3)
    assert_allclose(chosen.times, np.array([-2, -1, 1]) / 24)
    assert (chosen.clock.start, chosen.clock.rate) == (3, 24)
    assert_allclose(chosen.solid().animation.points(0.0), CUBE * 3, atol=1e-6)


def test_a_start_behind_the_end_is_refused(tmp_path):
    path = growing_file(tmp_path / "a.usda", StartTimeCode=1, EndTimeCode=4, TimeCodesPerSecond=24)
    with pytest.raises(ValueError, match=r"start: must be at most 4, where the animation of .*a\.usda ends, got 99"):
        open_body(path, start=99)


def test_joints_turn_between_samples_that_are_far_apart(tmp_path):
    """A knee that takes a second for its bend goes along an arc, not along its chord."""

    def slow(stage, mesh):
        stage.SetTimeCodesPerSecond(3)  # so that the rig's time codes 1 to 4 are one second

    path = rig_file(tmp_path / "a.usda", slow)
    body, exact = mane.read_body(path).animation, read_usd_body(path)
    assert np.diff(body.times).max() <= 1 / 24 + 1e-9
    assert set(np.round((np.array(TIMES) - 1) / 3, 9)) <= set(np.round(body.times, 9))
    for time in np.linspace(0, 1, 40):
        assert_allclose(body.points(time), exact.points(1 + 3 * time), atol=5e-3)  # USD itself rounds scales
    sparse = mane.Solid.animated(body.mesh, (np.array(TIMES) - 1) / 3, [exact.points(t) for t in TIMES]).animation
    assert np.abs(sparse.points(0.25) - exact.points(1.75)).max() > 0.05


def test_samples_are_read_when_they_are_needed(tmp_path):
    def edit(stage, mesh):
        growing(mesh, range(1, 2001))

    found = open_body(cube_file(tmp_path / "a.usdc", edit))
    assert len(found.times) == 2000
    reads = []
    track = found.samples._track
    track.points = lambda code, read=track.points: reads.append(code) or read(code)
    body = found.solid().animation
    for time in np.arange(0, 5, 0.3):
        body.points(time)
    # It grows so fast that a look around each interval, and around those beside it, must tell that this is no cut.
    assert 2 <= len(reads) <= 6 * 17
    assert len(body._read) <= SAMPLES_KEPT


def test_a_pose_without_motion_is_one_sample(tmp_path):
    """The groom was made in the bind pose, and the character stands in another one for good."""

    def hold(stage, mesh):
        animation = UsdSkel.Animation(stage.GetPrimAtPath("/Root/Animation"))
        for attribute in (animation.GetTranslationsAttr(), animation.GetRotationsAttr(), animation.GetScalesAttr()):
            last = attribute.Get(TIMES[-1])
            attribute.Clear()
            attribute.Set(last)

    path = rig_file(tmp_path / "a.usda", hold)
    body = mane.read_body(path).animation
    assert body.times.tolist() == [0.0]
    assert_allclose(body.mesh.points, leg()[0], atol=1e-6)
    assert_allclose(body.points(3.0), read_usd_body(path).points(), atol=1e-6)


@pytest.mark.parametrize("suffix", [".usdc", ".usd"])
def test_a_file_that_is_written_over_is_noticed(tmp_path, suffix):
    path = growing_file(tmp_path / f"a{suffix}")
    body = mane.read_body(path).animation
    shutil.copy(path, tmp_path / "other")
    os.replace(tmp_path / "other", path)  # another file of that name: the one that was opened is still there
    body.points(0.0)
    body = mane.read_body(path).animation
    with open(path, "r+b") as file:
        file.seek(0, os.SEEK_END)
        file.write(b"x")
    with pytest.raises(ValueError, match=r"a\.usdc?: was written over while it was being read; begin anew"):
        body.points(1.0)


# -- which pose --------------------------------------------------------------------------------------------------------


def roots_on(points):
    """Some points of the leg's faces, a hair's breadth off."""
    return (0.5 * (points[4:8] + points[8:12]) + [0, 0, 1e-4]).astype(np.float32)


def test_a_skeleton_has_a_bind_pose(tmp_path):
    def start_bent(stage, mesh):
        stage.SetStartTimeCode(TIMES[1])

    path = rig_file(tmp_path / "a.usda", start_bent)
    bent = read_usd_body(path).points(TIMES[1])
    for found in (open_body(path), open_body(path, roots=roots_on(leg()[0]))):
        assert found.rest == "the bind pose"
        assert_allclose(found.mesh.points, leg()[0], atol=1e-6)
    assert_allclose(open_body(path, rest="first").mesh.points, bent)
    assert_allclose(open_body(path, rest=TIMES[2]).mesh.points, read_usd_body(path).points(TIMES[2]))
    with pytest.warns(FileNotice, match=r"mm off the bind pose and .* mm off the first frame, which is taken"):
        assert_allclose(open_body(path, roots=roots_on(bent)).mesh.points, bent)
    assert_allclose(open_body(path, roots=roots_on(bent), rest="bind").mesh.points, leg()[0], atol=1e-6)


def test_a_bind_pose_is_taken_before_or_after_an_animated_transform(tmp_path):
    """A groom of its own is made where the character was modelled, one in the shot's file stands where that has it."""

    def walk(stage, mesh):
        for time, way in ((1.0, 5.0), (4.0, 8.0)):
            place(stage.GetPrimAtPath("/Root"), translated(way, 0, 0), time)

    path = rig_file(tmp_path / "a.usda", walk)
    in_the_shot = leg()[0] + np.float32([5, 0, 0])
    assert_allclose(open_body(path).mesh.points, in_the_shot, atol=1e-6)
    assert_allclose(open_body(path, roots=roots_on(in_the_shot)).mesh.points, in_the_shot, atol=1e-6)
    with pytest.warns(FileNotice, match=r"the bind pose before transforms are animated, which is taken"):
        assert_allclose(open_body(path, roots=roots_on(leg()[0])).mesh.points, leg()[0], atol=1e-6)
    # a shot that begins later: the groom in the file is read where that starts
    with pytest.warns(FileNotice, match=r"the bind pose where the file starts, which is taken"):
        late = open_body(path, roots=roots_on(in_the_shot), start=4)
    assert_allclose(late.mesh.points, in_the_shot, atol=1e-6)


def test_points_beside_their_samples_are_the_rest_pose(tmp_path):
    def with_default(stage, mesh):
        growing(mesh)
        mesh.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(CUBE * np.float32(1.5)))

    assert_allclose(mane.read_body(cube_file(tmp_path / "a.usda", with_default)).mesh.points, CUBE * 1.5)
    assert_allclose(mane.read_body(growing_file(tmp_path / "b.usda")).mesh.points, CUBE)


def test_poses_that_there_are_not(tmp_path):
    path = growing_file(tmp_path / "a.usda")
    with pytest.raises(ValueError, match=r"rest: must be another than 'bind', .*a.usda has no skeleton that moves it"):
        mane.read_body(path, rest="bind")
    with pytest.raises(
        ValueError, match=r"rest: 'bynd' is unknown; choose from auto, bind, first, or give a time code"
    ):
        mane.read_body(path, rest="bynd")


# -- which mesh --------------------------------------------------------------------------------------------------------


@pytest.fixture
def two_legs(tmp_path):
    """Two legs, one of them two metres to the side, and a cap on that."""

    def edit(stage, mesh):
        other = add_leg(stage, "/Root/Other")
        other.GetPointsAttr().Set([(x + 2, y, z) for x, y, z in leg()[0].tolist()])
        add_cube(stage, "/Root/Clothes/Cap", CUBE * np.float32(0.4) + np.float32([2, 2.3, 0]))

    return rig_file(tmp_path / "a.usda", edit)


def points_of(mesh):
    """Rows of the points that a mesh uses."""
    return np.unique(mesh.faces)


def test_hair_grows_on_the_mesh_that_its_roots_lie_on(two_legs):
    left, right, cap = np.arange(20), np.arange(20, 40), np.arange(40, 48)
    roots = roots_on(leg()[0])
    solid = mane.read_body(two_legs, roots=roots + np.float32([2, 0, 0]))
    assert_array_equal(points_of(solid.skin), right)
    assert_array_equal(points_of(solid.mesh), np.arange(48))  # hair collides with all of them
    assert_array_equal(solid.skin.points, solid.mesh.points)
    both = np.concatenate([roots, roots + np.float32([2, 0, 0])])
    assert_array_equal(points_of(mane.read_body(two_legs, roots=both).skin), np.r_[left, right])
    assert mane.read_body(two_legs).animation.skin_faces is None
    assert_array_equal(points_of(mane.read_body(two_legs, prim="/Root/Leg").skin), left)
    assert_array_equal(points_of(mane.read_body(two_legs, prim=["/Root/Leg", "/Root/Clothes"]).skin), np.r_[left, cap])


def test_what_is_ignored_is_not_there(two_legs):
    solid = mane.read_body(two_legs, ignore=["/Root/Clothes"])
    assert solid.mesh.vertex_count == 40
    assert solid.animation.points(0.0).shape == (40, 3)
    assert mane.read_body(two_legs, only=["/Root/Leg"]).mesh.vertex_count == 20


def test_meshes_that_there_are_not(two_legs):
    with pytest.raises(
        ValueError, match=r"prim: .* has no mesh at or below '/Root/Arm'; it has /Root/Leg, /Root/Other"
    ):
        mane.read_body(two_legs, prim="/Root/Arm")
    with pytest.raises(ValueError, match=r"a.usda: has no prim '/Root/Hat'"):
        mane.read_body(two_legs, ignore=["/Root/Hat"])


# -- arrays ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def cube_obj(tmp_path):
    lines = [f"v {x} {y} {z}" for x, y, z in CUBE.tolist()] + [f"f {' '.join(str(c + 1) for c in q)}" for q in QUADS]
    (tmp_path / "cube.obj").write_text("\n".join(lines) + "\n")
    return tmp_path / "cube.obj"


def frames(count=5):
    return np.stack([CUBE * np.float32(1 + 0.1 * k) for k in range(count)])


def test_an_array_moves_a_mesh(cube_obj, tmp_path):
    np.save(tmp_path / "a.npy", frames())
    body = mane.read_body(cube_obj, animation=tmp_path / "a.npy", rate=10).animation
    assert_allclose(body.times, np.arange(5) / 10)
    assert_allclose(body.mesh.points, CUBE)
    assert_allclose(body.points(0.25), CUBE * 1.25, atol=1e-6)
    late = open_body(cube_obj, animation=tmp_path / "a.npy", rest=2, start=1)
    assert_allclose(late.times, (np.arange(5) - 1) / 24)
    assert_allclose(late.mesh.points, CUBE * 1.2, atol=1e-6)
    assert late.clock is None  # it belongs to no shot
    assert any(isinstance(base, np.memmap) for base in bases(late.samples._track._array.points))


def bases(array):
    """What an array is a view of, and what that is a view of."""
    while array is not None:
        yield array
        array = getattr(array, "base", None)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_has_times_of_its_own(cube_obj, tmp_path, save):
    save(tmp_path / "a.npz", points=frames(3).astype(np.float64), times=[0.5, 0.75, 2.0], note=np.arange(3))
    found = open_body(cube_obj, animation=tmp_path / "a.npz")
    assert_allclose(found.times, [0, 0.25, 1.5])
    assert_allclose(found.solid().animation.points(1.5), CUBE * 1.2, atol=1e-6)
    with pytest.raises(ValueError, match=r"rate: must be left out, .*a.npz has times of its own"):
        open_body(cube_obj, animation=tmp_path / "a.npz", rate=24)


def test_an_array_is_in_the_units_of_its_mesh(cube_obj, tmp_path):
    np.save(tmp_path / "a.npy", frames())
    body = mane.read_body(cube_obj, animation=tmp_path / "a.npy", unit="cm", up="z").animation
    assert_allclose(body.mesh.points, CUBE[:, [0, 2, 1]] * [0.01, 0.01, -0.01], atol=1e-9)
    assert_allclose(body.sample(4), 1.4 * body.mesh.points, atol=1e-8)


def test_an_array_may_move_a_mesh_in_usd(tmp_path):
    stage = new_stage(tmp_path / "a.usda", up="Z", unit=0.01)
    add_cube(stage, "/Cube")
    stage.Save()
    np.save(tmp_path / "a.npy", frames())
    body = mane.read_body(tmp_path / "a.usda", animation=tmp_path / "a.npy").animation
    assert_allclose(body.sample(4), 1.4 * CUBE[:, [0, 2, 1]] * [0.01, 0.01, -0.01], atol=1e-8)


def test_an_array_that_is_written_over_is_noticed(cube_obj, tmp_path):
    np.save(tmp_path / "a.npy", frames())
    body = mane.read_body(cube_obj, animation=tmp_path / "a.npy").animation
    with open(tmp_path / "a.npy", "r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(bytes(4))
        file.truncate()
    os.utime(tmp_path / "a.npy", (1, 1))
    with pytest.raises(ValueError, match=r"a\.npy: was written over while it was being read"):
        body.sample(3)


def test_vertices_in_one_place_may_part(tmp_path):
    """Two cubes that touch: welded, they could not move apart."""
    corners = np.concatenate([CUBE, CUBE + np.float32([2, 0, 0])])
    lines = [f"v {x} {y} {z}" for x, y, z in corners.tolist()]
    lines += [f"f {' '.join(str(c + 1 + base) for c in quad)}" for base in (0, 8) for quad in QUADS]
    (tmp_path / "cubes.obj").write_text("\n".join(lines) + "\n")
    apart = np.stack([corners, corners + np.where(np.arange(16)[:, None] < 8, 0, [1, 0, 0])])
    np.save(tmp_path / "a.npy", apart)
    body = mane.read_body(tmp_path / "cubes.obj", animation=tmp_path / "a.npy").animation
    assert_allclose(body.sample(1), apart[1])


@pytest.mark.parametrize(
    ("array", "match"),
    [
        (frames()[:0], r"a.npy: points: must hold at least one frame, got shape \(0, 8, 3\)"),
        (frames()[:, :7], "a.npy: has 7 points per frame, the mesh 8 vertices; export both from the same mesh"),
        (frames()[0], r"a.npy: points: must be floating-point of shape \(frames, points, 3\), got float32 of shape"),
        (np.full((2, 8, 3), np.nan, np.float32), "a.npy: point 0 is not finite at sample 0; export it again"),
    ],
)
def test_an_array_that_cannot_be_it(cube_obj, tmp_path, array, match):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(ValueError, match=match) as caught:
        mane.read_body(cube_obj, animation=tmp_path / "a.npy")
    assert "\n" not in str(caught.value)


def test_arguments_of_other_files(cube_obj, tmp_path):
    with pytest.raises(ValueError, match=r"prim: is for paths in USD, and .*cube.obj has none"):
        mane.read_body(cube_obj, prim="/Root")
    with pytest.raises(ValueError, match=r"ignore: is for paths in USD"):
        mane.read_body(cube_obj, ignore=["/Root"])
    with pytest.raises(ValueError, match=r"rate: must be left out, .*cube.obj has its own or none"):
        mane.read_body(cube_obj, rate=24)
    with pytest.raises(FileNotFoundError, match=r"none.npy: does not exist; check the path"):
        mane.read_body(cube_obj, animation=tmp_path / "none.npy")
    with pytest.raises(ValueError, match=r"a.txt: '.txt' is no suffix of a file that mane can read as a body"):
        mane.read_body(tmp_path / "a.txt")


# -- Alembic -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def alembic_file(tmp_path):
    (tmp_path / "a.abc").write_bytes(b"Ogawa" + bytes(50))
    return tmp_path / "a.abc"


def test_alembic_needs_blender(alembic_file, monkeypatch):
    monkeypatch.delenv(blender.VARIABLE, raising=False)
    monkeypatch.setattr(blender, "find_spec", lambda name: None)
    monkeypatch.setattr(blender.shutil, "which", lambda name: None)
    with pytest.raises(ValueError, match=r"a\.abc: needs Blender: set MANE_BLENDER"):
        mane.read_body(alembic_file)


def test_alembic_comes_by_way_of_blender(alembic_file, tmp_path, monkeypatch):
    """A stand-in for Blender, which hands out a stage and writes down what it was asked for."""
    made = growing_file(tmp_path / "made.usdc")
    program = tmp_path / "blender"
    program.write_text(
        f'#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done\necho "$4 $5" > {tmp_path}/asked\n'
        f'echo "$3" >> {tmp_path}/asked\ncp {made} "$3"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv(blender.VARIABLE, str(program))
    solid = mane.read_body(alembic_file, unit="cm", rate=30)
    asked, stage = (tmp_path / "asked").read_text().splitlines()
    assert asked == "30.0 meshes"
    assert_allclose(solid.animation.points(0.0), CUBE * 0.01)  # a file that Blender took to be in metres
    assert os.path.exists(stage)  # as long as somebody may ask for another frame
    del solid
    gc.collect()
    assert not os.path.exists(stage)


def test_a_file_that_is_no_alembic(tmp_path):
    (tmp_path / "a.abc").write_bytes(b"hello world")
    with pytest.raises(ValueError, match=r"a\.abc: is no Alembic file, it begins with b'hello'"):
        mane.read_body(tmp_path / "a.abc")


# -- what `mane info` says ---------------------------------------------------------------------------------------------


def test_info_names_the_meshes_and_what_moves_them(two_legs, tmp_path, capsys):
    assert main(["info", str(two_legs)]) == 0
    said = capsys.readouterr().out
    assert "mesh        /Root/Leg: 36 triangles, moved by joints\n" in said
    assert "mesh        /Root/Clothes/Cap: 12 triangles\n" in said
    assert "time        1 to 4 at 24 per second" in said
    growing_file(tmp_path / "b.usda")
    assert main(["info", str(tmp_path / "b.usda")]) == 0
    assert "/Root/Cube: 12 triangles, moved by points" in capsys.readouterr().out
