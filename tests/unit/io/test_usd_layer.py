"""A layer over the original: other points on the same prims, and nothing else changed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pxr import Usd, UsdGeom, Vt  # noqa: TID253 (tests of USD need it anyway)
from usd_files import add_curves, affine, carried, curves_file, faults, new_stage, place, primvar, strands, value_of

from mane.io.notices import RepairNotice
from mane.io.usd import UsdSequenceWriter, read_usd_groom, write_usd_layer

SHAPES = [
    {"type": "linear"},
    *(
        {"type": "cubic", "basis": basis, "wrap": wrap}
        for basis in ("bspline", "catmullRom", "bezier")
        for wrap in ("nonperiodic", "pinned")
    ),
]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(shape.values()))


def artists_file(path, shape, counts=(7, 4, 10)):
    """Hair in centimetres, Z up, under two transforms, with widths and a painted map."""
    points, counts = strands(counts)
    stage = new_stage(path, up="Z", unit=0.01)
    place(UsdGeom.Xform.Define(stage, "/Root"), affine(1))
    curves = add_curves(stage, "/Root/Hair", points * np.float32(10), counts, **shape)
    place(curves, affine(2))
    curves.CreateWidthsAttr([0.01])
    curves.SetWidthsInterpolation("constant")
    primvar(curves, "my_map", "FloatArray", "vertex", Vt.FloatArray(np.arange(len(points)).tolist()))
    stage.Save()
    return path


def all_properties(path, prim, leave_out=("points", "extent", "velocities")):
    stage = Usd.Stage.Open(str(path))
    found = stage.GetPrimAtPath(prim).GetAttributes()
    return {a.GetName(): (a.Get(), a.GetMetadata("interpolation")) for a in found if a.GetName() not in leave_out}


@shapes
def test_unmoved_hair_is_the_original_bit_for_bit(tmp_path, shape):
    path = artists_file(tmp_path / "hair.usda", shape)
    read = read_usd_groom(path)
    write_usd_layer(tmp_path / "over.usda", read.source, read.groom.points)
    before, after = (value_of(tmp_path / name, "/Root/Hair", "points") for name in ("hair.usda", "over.usda"))
    assert before.tobytes() == after.tobytes()


@shapes
def test_moved_hair_passes_through_the_new_points(tmp_path, shape):
    path = artists_file(tmp_path / "hair.usda", shape)
    read = read_usd_groom(path)
    moved = read.groom.points + np.random.default_rng(5).normal(0, 0.05, read.groom.points.shape).astype(np.float32)
    write_usd_layer(tmp_path / "over.usdc", read.source, moved)
    again = read_usd_groom(tmp_path / "over.usdc", trusted=True)
    # Control points are rounded to float32 in centimetres of the prim, then scaled by 0.04 and moved by some 0.02 m.
    size = np.abs(value_of(tmp_path / "over.usdc", "/Root/Hair", "points")).max()
    assert_allclose(again.groom.points, moved, atol=2 * size * 2**-24 * 0.04 * 3)
    assert all_properties(path, "/Root/Hair") == all_properties(tmp_path / "over.usdc", "/Root/Hair")
    assert faults(tmp_path / "over.usdc") == []


def test_linear_hair_in_metres_takes_the_points_as_they_are(tmp_path):
    points, counts = strands()
    read = read_usd_groom(curves_file(tmp_path / "hair.usda", points, counts))
    moved = np.random.default_rng(0).normal(size=points.shape).astype(np.float32) * np.float32(1e-20)
    write_usd_layer(tmp_path / "over.usda", read.source, moved)
    assert value_of(tmp_path / "over.usda", "/Hair", "points").tobytes() == moved.tobytes()


def test_the_layer_is_a_stage_of_its_own_and_finds_the_original(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "shots").mkdir()
    artists_file(tmp_path / "assets" / "hair.usda", {"type": "linear"})
    read = read_usd_groom(tmp_path / "assets" / "hair.usda")
    write_usd_layer(tmp_path / "shots" / "over.usda", read.source, read.groom.points)
    assert "@../assets/hair.usda@" in (tmp_path / "shots" / "over.usda").read_text()
    stage = Usd.Stage.Open(str(tmp_path / "shots" / "over.usda"))
    assert UsdGeom.GetStageMetersPerUnit(stage) == 0.01
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert stage.GetDefaultPrim().GetPath() == "/Root"
    # The folder may move as a whole.
    (tmp_path / "elsewhere").mkdir()
    for name in ("assets", "shots"):
        (tmp_path / name).rename(tmp_path / "elsewhere" / name)
    moved = read_usd_groom(tmp_path / "elsewhere" / "shots" / "over.usda")
    assert_array_equal(moved.groom.points, read.groom.points)


def test_a_default_prim_that_is_not_there_is_replaced(tmp_path):
    points, counts = strands()
    stage = new_stage(tmp_path / "hair.usda")
    add_curves(stage, "/Hair", points, counts)
    stage.GetRootLayer().defaultPrim = "Gone"
    stage.Save()
    read = read_usd_groom(tmp_path / "hair.usda")
    write_usd_layer(tmp_path / "over.usda", read.source, points)
    assert faults(tmp_path / "over.usda") == []


def test_extent_and_velocities_follow(tmp_path):
    path = artists_file(tmp_path / "hair.usda", {"type": "cubic", "basis": "bspline", "wrap": "pinned"})
    read = read_usd_groom(path)
    rng = np.random.default_rng(2)
    moved, speeds = (rng.normal(size=read.groom.points.shape).astype(np.float32) for _ in range(2))
    write_usd_layer(tmp_path / "over.usda", read.source, moved, velocities=speeds)
    again = read_usd_groom(tmp_path / "over.usda")
    assert_allclose(again.velocities, speeds, atol=1e-5)
    points = value_of(tmp_path / "over.usda", "/Root/Hair", "points")
    extent = value_of(tmp_path / "over.usda", "/Root/Hair", "extent")
    assert_allclose(extent, [points.min(axis=0) - 0.005, points.max(axis=0) + 0.005], rtol=1e-6)


def test_velocities_of_another_motion_are_blocked(tmp_path):
    points, counts = strands()
    stage = new_stage(tmp_path / "hair.usda")
    curves = add_curves(stage, "/Hair", points, counts)
    curves.CreateVelocitiesAttr(Vt.Vec3fArray.FromNumpy(points))
    curves.CreateAccelerationsAttr(Vt.Vec3fArray.FromNumpy(points))
    stage.Save()
    read = read_usd_groom(tmp_path / "hair.usda")
    write_usd_layer(tmp_path / "over.usda", read.source, points)
    assert value_of(tmp_path / "over.usda", "/Hair", "velocities") is None
    assert value_of(tmp_path / "over.usda", "/Hair", "accelerations") is None
    write_usd_layer(tmp_path / "with.usda", read.source, points, velocities=2 * points)
    assert_array_equal(value_of(tmp_path / "with.usda", "/Hair", "velocities"), 2 * points)
    assert value_of(tmp_path / "with.usda", "/Hair", "accelerations") is None
    assert faults(tmp_path / "over.usda") == []
    assert faults(tmp_path / "with.usda") == []


def test_curves_that_were_left_out_stay_as_they_are(tmp_path):
    points, counts = strands((4, 3, 5, 6))
    points[8] = np.nan
    path = curves_file(tmp_path / "hair.usdc", points, counts, type="cubic", basis="bspline")
    with pytest.warns(RepairNotice):
        read = read_usd_groom(path, trusted=True)
    assert read.groom.vertex_counts.tolist() == [4, 6]
    write_usd_layer(tmp_path / "over.usdc", read.source, read.groom.points + np.float32(1))
    after = value_of(tmp_path / "over.usdc", "/Hair", "points")
    assert_array_equal(after[4:12], points[4:12])
    assert np.isfinite(value_of(tmp_path / "over.usdc", "/Hair", "extent")).all()
    assert_allclose(after[:4], points[:4] + 1, rtol=1e-6)
    assert_allclose(after[12:], points[12:] + 1, rtol=1e-6)


def test_several_prims_get_their_own_points(tmp_path):
    stage = new_stage(tmp_path / "hair.usda")
    first, second = strands((3, 2), 1), strands((4,), 2)
    add_curves(stage, "/Root/A", *first)
    place(add_curves(stage, "/Root/Deep/B", *second), affine(1))
    stage.Save()
    read = read_usd_groom(tmp_path / "hair.usda")
    moved = read.groom.points * np.float32(2)
    write_usd_layer(tmp_path / "over.usda", read.source, moved)
    assert_array_equal(value_of(tmp_path / "over.usda", "/Root/A", "points"), moved[:5])
    again = read_usd_groom(tmp_path / "over.usda")
    assert_allclose(again.groom.points, moved, atol=1e-6)


def test_points_of_an_animation_are_overridden_at_all_times(tmp_path):
    points, counts = strands()
    stage = new_stage(tmp_path / "hair.usda")
    attribute = add_curves(stage, "/Hair", points, counts).GetPointsAttr()
    for time in (1, 2):
        attribute.Set(Vt.Vec3fArray.FromNumpy(points * np.float32(time)), time)
    stage.Save()
    read = read_usd_groom(tmp_path / "hair.usda", time=2)
    write_usd_layer(tmp_path / "over.usda", read.source, points)
    for time in (None, 1, 1.5, 2):
        assert_array_equal(value_of(tmp_path / "over.usda", "/Hair", "points", time), points)


def moving_file(path):
    """Hair that rides on a head which turns and travels, 25 time codes per second."""
    points, counts = strands((7, 4))
    stage = new_stage(path, up="Z", unit=0.01)
    stage.SetTimeCodesPerSecond(25)
    head = UsdGeom.Xform.Define(stage, "/Head")
    for time in range(11):
        angle = 0.1 * time
        matrix = np.eye(4)
        matrix[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        matrix[0, 3] = 2.0 * time
        place(head, matrix, time)
    add_curves(stage, "/Head/Hair", points, counts, type="cubic", basis="bspline", wrap="pinned")
    stage.Save()
    return path


def test_moving_prims_are_followed_frame_by_frame(tmp_path):
    read = read_usd_groom(moving_file(tmp_path / "hair.usda"))
    frames = []
    for time in (0, 3, 7.5):
        there = read_usd_groom(tmp_path / "hair.usda", time=time)
        frames.append((time, there.groom.points))
    write_usd_layer(tmp_path / "over.usda", read.source, frames=frames)
    # Hair that goes where the head carries it has the same points in the head's own space, at all times.
    original = value_of(tmp_path / "hair.usda", "/Head/Hair", "points")
    for time, world in frames:
        # World coordinates reach 0.2 m, so their rounding is 2**-24 * 0.2 m, a hundred times that in centimetres.
        assert_allclose(value_of(tmp_path / "over.usda", "/Head/Hair", "points", time), original, atol=1e-5)
        assert_allclose(read_usd_groom(tmp_path / "over.usda", time=time).groom.points, world, atol=1e-7)
    assert faults(tmp_path / "over.usda") == []


def in_sequence(path, source, frames):
    with UsdSequenceWriter(path, source) as writer:
        for time, points in frames:
            writer.write(time, points)


def in_one_layer(path, source, frames):
    write_usd_layer(path, source, frames=frames)


@pytest.mark.parametrize("write", [in_sequence, in_one_layer])
def test_world_positions_hold_below_transforms_that_are_animated(tmp_path, write):
    """Two of them, one scaled and turned about a pivot, in centimetres with Z up; OpenUSD says where points are."""
    points, counts = strands((7, 4))
    stage = new_stage(tmp_path / "hair.usda", up="Z", unit=0.01)
    body = UsdGeom.Xform.Define(stage, "/Body")
    for time in (1, 2, 4, 8):
        place(body, affine(time), time)
    head = UsdGeom.XformCommonAPI(UsdGeom.Xform.Define(stage, "/Body/Head"))
    head.SetPivot((1, 2, 3))
    for time in (1, 8):
        head.SetRotate((10 * time, 20 * time, 0), UsdGeom.XformCommonAPI.RotationOrderXYZ, time)
        head.SetScale((1 + 0.1 * time,) * 3, time)
    add_curves(stage, "/Body/Head/Hair", points, counts)
    stage.Save()
    read = read_usd_groom(tmp_path / "hair.usda")
    rng = np.random.default_rng(3)
    frames = [(time, rng.normal(size=points.shape).astype(np.float32) * 0.1) for time in range(1, 9)]
    write(tmp_path / "over.usda", read.source, frames)
    shown = Usd.Stage.Open(str(tmp_path / "over.usda"))
    hair = shown.GetPrimAtPath("/Body/Head/Hair")
    for time, world in frames:
        matrix = np.array(UsdGeom.XformCache(time).GetLocalToWorldTransform(hair)).T
        in_stage = carried(matrix, np.array(hair.GetAttribute("points").Get(time)))
        assert_allclose(in_stage[:, [0, 2, 1]] * [0.01, 0.01, -0.01], world, atol=1e-6)


def test_prims_that_are_flattened_on_the_way_are_refused(tmp_path):
    points, counts = strands()
    stage = new_stage(tmp_path / "hair.usda")
    curves = add_curves(stage, "/Hair", points, counts)
    for time in (0, 1):
        place(curves, np.diag([1.0, 1.0 - time, 1.0, 1.0]), time)
    stage.Save()
    read = read_usd_groom(tmp_path / "hair.usda", time=0)
    with pytest.raises(ValueError, match=r"hair\.usda: /Hair is flattened by its transform at time 1"):
        write_usd_layer(tmp_path / "over.usda", read.source, frames=[(0, points), (1, points)])
    assert not (tmp_path / "over.usda").exists()


def test_velocities_are_relative_to_the_prim_in_the_file_and_to_the_world_inside(tmp_path):
    read = read_usd_groom(moving_file(tmp_path / "hair.usda"))
    speeds = np.random.default_rng(1).normal(size=read.groom.points.shape).astype(np.float32)
    write_usd_layer(tmp_path / "over.usda", read.source, frames=[(4, read.groom.points, speeds)])
    again = read_usd_groom(tmp_path / "over.usda", time=4)
    assert_allclose(again.velocities, speeds, atol=2e-6)


def test_original_files_of_all_kinds_can_be_below(tmp_path):
    """Curves that come by a reference in a variant are overridden like any others."""
    points, counts = strands()
    curves_file(tmp_path / "asset.usda", points, counts)
    stage = new_stage(tmp_path / "shot.usda")
    character = stage.DefinePrim("/Character")
    looks = character.GetVariantSets().AddVariantSet("hair")
    looks.AddVariant("long")
    looks.SetVariantSelection("long")
    with looks.GetVariantEditContext():
        stage.DefinePrim("/Character/Groom").GetReferences().AddReference("./asset.usda")
    stage.SetDefaultPrim(character)
    stage.Save()
    read = read_usd_groom(tmp_path / "shot.usda")
    assert [prim.path for prim in read.source.prims] == ["/Character/Groom"]
    write_usd_layer(tmp_path / "over.usda", read.source, points + np.float32(1))
    assert_array_equal(value_of(tmp_path / "over.usda", "/Character/Groom", "points"), points + np.float32(1))
    assert faults(tmp_path / "over.usda") == []


@pytest.mark.parametrize(
    ("points", "options", "match"),
    [
        (np.zeros((3, 3)), {}, r"points: must have shape \(15, 3\), got \(3, 3\)"),
        (np.full((15, 3), np.nan), {}, "points: must be finite, got nan at index 0"),
        (None, {}, "points: must be given, or frames"),
        (np.zeros((15, 3)), {"frames": []}, "and not both"),
        (None, {"frames": []}, "frames: must hold at least one frame"),
    ],
)
def test_wrong_arguments_leave_nothing_behind(tmp_path, points, options, match):
    read = read_usd_groom(curves_file(tmp_path / "hair.usda", *strands()))
    with pytest.raises(ValueError, match=match):
        write_usd_layer(tmp_path / "over.usda", read.source, points, **options)
    assert [file.name for file in tmp_path.iterdir()] == ["hair.usda"]


def test_the_original_is_never_replaced(tmp_path):
    path = curves_file(tmp_path / "hair.usda", *strands())
    read = read_usd_groom(path)
    text = path.read_text()
    (tmp_path / "link.usda").symlink_to(path)
    for name in ("hair.usda", "link.usda"):
        with pytest.raises(ValueError, match="is the original itself"):
            write_usd_layer(tmp_path / name, read.source, read.groom.points)
    assert path.read_text() == text
    path.unlink()
    with pytest.raises(FileNotFoundError, match="does not exist any more"):
        write_usd_layer(tmp_path / "over.usda", read.source, read.groom.points)
