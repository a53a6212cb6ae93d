"""BasisCurves as a groom: every basis, space, unit, time and interpolation, and clear words for what cannot be read."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pxr import UsdGeom, Vt  # noqa: TID253 (tests of USD need it anyway)
from usd_files import add_curves, affine, carried, curves_file, new_stage, place, primvar, strands

from mane.io.notices import AssumptionNotice, FileNotice, RepairNotice
from mane.io.usd import read_usd_groom
from mane.io.usd.curve_basis import CurveShape, points_on_hair

CUBIC = [(basis, wrap) for basis in ("bspline", "catmullRom", "bezier") for wrap in ("nonperiodic", "pinned")]
# float32 results of float64 sums: half a unit in the last place of numbers up to some 10.
ROUNDING = 1e-6


def test_linear_curves_in_metres_arrive_bit_for_bit(tmp_path):
    points, counts = strands()
    read = read_usd_groom(curves_file(tmp_path / "a.usda", points, counts))
    assert read.groom.points.tobytes() == points.tobytes()
    assert read.groom.vertex_counts.tolist() == counts.tolist()
    assert read.problems == ()
    assert read.rest is None
    assert read.velocities is None
    assert len(read.times) == 0


@pytest.mark.parametrize(("basis", "wrap"), CUBIC)
def test_cubic_curves_become_points_on_the_hair(tmp_path, basis, wrap):
    points, counts = strands((4, 7, 10))
    read = read_usd_groom(curves_file(tmp_path / "a.usda", points, counts, type="cubic", basis=basis, wrap=wrap))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    expected = points_on_hair(CurveShape("cubic", basis, wrap), points.astype(np.float64), offsets)
    assert_array_equal(read.groom.points, expected.astype(np.float32))
    assert_array_equal(read.groom.roots, points[offsets[:-1]])
    (prim,) = read.source.prims
    assert (prim.layout.shape.basis, prim.layout.shape.wrap) == (basis, wrap)


def test_what_is_not_authored_is_what_usd_assumes(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    points, _ = strands((4, 7))
    curves = UsdGeom.BasisCurves.Define(stage, "/Hair")
    curves.CreateCurveVertexCountsAttr([4, 7])
    curves.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points))
    stage.Save()
    (prim,) = read_usd_groom(tmp_path / "a.usda").source.prims
    assert prim.layout.shape == CurveShape("cubic", "bezier", "nonperiodic")


def test_transforms_of_all_ancestors_apply(tmp_path):
    points, counts = strands()
    stage = new_stage(tmp_path / "a.usda")
    place(UsdGeom.Xform.Define(stage, "/Root"), affine(1))
    place(add_curves(stage, "/Root/Hair", points, counts), affine(2))
    stage.Save()
    read = read_usd_groom(tmp_path / "a.usda")
    assert_allclose(read.groom.points, carried(affine(1) @ affine(2), points), atol=5 * ROUNDING)


def test_moving_transforms_and_points_are_read_at_their_time(tmp_path):
    points, counts = strands()
    stage = new_stage(tmp_path / "a.usda")
    root = UsdGeom.Xform.Define(stage, "/Root")
    for time, shift in ((10, 0.0), (20, 1.0)):
        matrix = np.eye(4)
        matrix[0, 3] = shift
        place(root, matrix, time)
    attribute = add_curves(stage, "/Root/Hair", points, counts).GetPointsAttr()
    attribute.Clear()
    for time, factor in ((10, 1.0), (20, 3.0)):
        attribute.Set(Vt.Vec3fArray.FromNumpy(points * np.float32(factor)), time)
    stage.Save()
    path = tmp_path / "a.usda"
    first = read_usd_groom(path)
    assert first.source.time == 10
    assert first.times.tolist() == [10, 20]
    assert_array_equal(first.groom.points, points)
    assert_allclose(read_usd_groom(path, time=15).groom.points, 2 * points + [0.5, 0, 0], atol=ROUNDING)
    assert_allclose(read_usd_groom(path, time=99).groom.points, 3 * points + [1, 0, 0], atol=ROUNDING)


def test_the_range_of_the_file_says_where_to_begin(tmp_path):
    points, counts = strands()
    stage = new_stage(tmp_path / "a.usda")
    attribute = add_curves(stage, "/Hair", points, counts).GetPointsAttr()
    attribute.Clear()
    for time in (1, 2, 3):
        attribute.Set(Vt.Vec3fArray.FromNumpy(points * np.float32(time)), time)
    stage.SetStartTimeCode(2)
    stage.SetEndTimeCode(3)
    stage.Save()
    read = read_usd_groom(tmp_path / "a.usda")
    assert read.source.time == 2
    assert (read.source.timing.start, read.source.timing.end) == (2, 3)
    assert_array_equal(read.groom.points, points * np.float32(2))


@pytest.mark.parametrize("unit", [1.0, 0.01, 0.0254])
def test_units_and_axes_become_metres_with_y_up(tmp_path, unit):
    points, counts = strands()
    path = curves_file(tmp_path / "a.usda", points, counts, up="Z", unit=unit)
    expected = points[:, [0, 2, 1]] * [1, 1, -1] * unit
    assert_allclose(read_usd_groom(path).groom.points, expected, rtol=1e-7)


@pytest.mark.parametrize(("up", "unit", "said"), [(None, 1.0, "upAxis"), ("Y", None, "metersPerUnit")])
def test_missing_units_are_assumed_aloud(tmp_path, up, unit, said):
    path = curves_file(tmp_path / "a.usda", *strands(), up=up, unit=unit)
    with pytest.warns(AssumptionNotice, match=f"{said} is not authored, .* is assumed") as caught:
        read = read_usd_groom(path)
    assert len(caught) == 1
    assert read.source.units.metres_per_unit == (unit or 0.01)
    assert read.source.units.up == "y"
    assert said in read.problems[0].text


def test_being_told_the_units_needs_no_assumption(tmp_path):
    points, counts = strands()
    path = curves_file(tmp_path / "a.usda", points, counts, up=None, unit=None)
    assert_allclose(read_usd_groom(path, unit="in", up="y").groom.points, points * 0.0254, rtol=1e-6)
    assert_array_equal(read_usd_groom(path, unit=1.0, up="z").groom.points, points[:, [0, 2, 1]] * [1, 1, -1])


def widths_file(path, interpolation, values, **shape):
    points, counts = strands((4, 7))
    stage = new_stage(path, unit=0.01)
    curves = add_curves(stage, "/Hair", points, counts, **shape)
    place(curves, np.diag([3.0, 3.0, 3.0, 1.0]))
    curves.CreateWidthsAttr(Vt.FloatArray(values))
    if interpolation:
        curves.SetWidthsInterpolation(interpolation)
    stage.Save()
    return path


@pytest.mark.parametrize(
    ("interpolation", "values", "shape", "scope", "expected"),
    [
        ("constant", [2], {}, "strand", [2, 2]),
        ("uniform", [1, 2], {}, "strand", [1, 2]),
        ("vertex", range(11), {}, "vertex", range(11)),
        ("varying", range(11), {}, "vertex", range(11)),
        (None, [2], {}, "strand", [2, 2]),
        (None, range(11), {}, "vertex", range(11)),
        ("vertex", range(11), {"type": "cubic", "basis": "bspline"}, "vertex", range(11)),
        ("varying", range(7), {"type": "cubic", "basis": "bspline"}, "vertex", [0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 6]),
        ("varying", range(11), {"type": "cubic", "basis": "bspline", "wrap": "pinned"}, "vertex", range(11)),
        ("varying", [0, 3, 3, 6, 9], {"type": "cubic", "basis": "bezier"}, "vertex", [0, 1, 2, 3, *range(3, 10)]),
    ],
)
def test_widths_of_every_interpolation_are_diameters_in_metres(tmp_path, interpolation, values, shape, scope, expected):
    groom = read_usd_groom(widths_file(tmp_path / "a.usda", interpolation, list(values), **shape)).groom
    # Three times by the transform, a hundredth by the unit.
    assert_allclose(getattr(groom, scope)["width"], np.array(list(expected)) * 0.03, rtol=1e-6, atol=1e-9)


def test_widths_that_do_not_fit_are_left_out_aloud(tmp_path):
    path = widths_file(tmp_path / "a.usda", "uniform", [1, 2, 3])
    with pytest.warns(FileNotice, match="widths has 3 values where its interpolation, uniform, needs 2"):
        read = read_usd_groom(path)
    assert "width" not in read.groom.strand
    assert "widths" in read.problems[0].text


@pytest.mark.parametrize("name", ["rest", "Pref", "rest_position"])
def test_rest_shapes_follow_the_points(tmp_path, name):
    points, counts = strands((7, 4))
    stage = new_stage(tmp_path / "a.usda", up="Z", unit=0.01)
    curves = add_curves(stage, "/Hair", points, counts, type="cubic", basis="bspline", wrap="pinned")
    place(curves, affine(3))
    primvar(curves, name, "Point3fArray", "vertex", Vt.Vec3fArray.FromNumpy(points))
    stage.Save()
    read = read_usd_groom(tmp_path / "a.usda")
    # The rest shape has the same control points, so it must land on the same hair.
    assert_array_equal(read.rest, read.groom.points)
    assert name not in read.groom.vertex


def test_velocities_are_metres_per_second(tmp_path):
    points, counts = strands()
    speeds = np.random.default_rng(4).normal(size=points.shape).astype(np.float32)
    stage = new_stage(tmp_path / "a.usda", up="Z", unit=0.01)
    add_curves(stage, "/Hair", points, counts).CreateVelocitiesAttr(Vt.Vec3fArray.FromNumpy(speeds))
    stage.Save()
    read = read_usd_groom(tmp_path / "a.usda")
    assert_allclose(read.velocities, 0.01 * speeds[:, [0, 2, 1]] * [1, 1, -1], rtol=1e-6)


def test_velocities_include_the_motion_of_the_prim(tmp_path):
    points, counts = strands()
    stage = new_stage(tmp_path / "a.usda")
    stage.SetTimeCodesPerSecond(25)
    curves = add_curves(stage, "/Hair", points, counts)
    curves.CreateVelocitiesAttr(Vt.Vec3fArray.FromNumpy(np.ones_like(points)))
    for time, shift in ((0, 0.0), (50, 4.0)):  # 4 m in 2 s
        matrix = np.eye(4)
        matrix[1, 3] = shift
        place(curves, matrix, time)
    stage.Save()
    read = read_usd_groom(tmp_path / "a.usda", time=20)
    assert_allclose(read.velocities, np.broadcast_to([1, 3, 1], points.shape), rtol=1e-6)


def test_prims_are_joined_in_the_order_of_the_stage(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    first, second = strands((3, 2), 1), strands((4,), 2)
    add_curves(stage, "/Root/A", *first)
    add_curves(stage, "/Root/B", *second).CreatePurposeAttr("guide")
    stage.Save()
    read = read_usd_groom(tmp_path / "a.usda")
    assert_array_equal(read.groom.points, np.concatenate([first[0], second[0]]))
    assert read.groom.strand["is_guide"].tolist() == [False, False, True]
    assert [prim.path for prim in read.source.prims] == ["/Root/A", "/Root/B"]
    assert [prim.strands.tolist() for prim in read.source.prims] == [[0, 1], [2]]
    only = read_usd_groom(tmp_path / "a.usda", prims=["/Root/B"])
    assert_array_equal(only.groom.points, second[0])
    with pytest.raises(ValueError, match="has no prim '/Root/C'; check the path"):
        read_usd_groom(tmp_path / "a.usda", prims=["/Root/C"])


def test_curves_too_short_for_their_basis_cost_only_themselves(tmp_path):
    points, counts = strands((4, 3, 0, 5))
    path = curves_file(tmp_path / "a.usda", points, counts, type="cubic", basis="bspline")
    with pytest.warns(RepairNotice, match=r"2 of 4 curves .* \(first: curve 1 with 3, needed are 4 or more\)"):
        read = read_usd_groom(path)
    assert read.groom.vertex_counts.tolist() == [4, 5]
    assert_array_equal(read.groom.roots, points[[0, 7]])
    (prim,) = read.source.prims
    assert prim.curves.tolist() == [0, 3]
    assert prim.layout.counts.tolist() == [4, 3, 0, 5]
    with pytest.raises(ValueError, match="repair=True to leave them out"):
        read_usd_groom(path, repair=False)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_curves_with_lost_points_cost_only_themselves(tmp_path, bad):
    points, counts = strands((4, 3, 5))
    points[5] = bad
    stage = new_stage(tmp_path / "a.usdc")
    curves = add_curves(stage, "/Hair", points, counts)
    primvar(curves, "map", "FloatArray", "vertex", Vt.FloatArray(np.arange(12).tolist()))
    primvar(curves, "rest", "Point3fArray", "vertex", Vt.Vec3fArray.FromNumpy(np.nan_to_num(points)))
    stage.Save()
    with pytest.warns(RepairNotice, match=r"kept 2 of 3 strands"):
        read = read_usd_groom(tmp_path / "a.usdc", trusted=True)
    kept = [0, 1, 2, 3, 7, 8, 9, 10, 11]
    assert_array_equal(read.groom.points, points[kept])
    assert_array_equal(read.groom.vertex["map"], kept)
    assert_array_equal(read.rest, points[kept])
    (prim,) = read.source.prims
    assert prim.curves.tolist() == [0, 2]
    assert prim.strands.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"a\.usdc: 1 of 3 strands have points that are NaN or infinite"):
        read_usd_groom(tmp_path / "a.usdc", repair=False, trusted=True)


# -- what is refused -------------------------------------------------------------------------------------------------


def refused(path, match, **options):
    with pytest.raises(ValueError, match=match) as caught:
        read_usd_groom(path, **options)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_periodic_curves_are_refused(tmp_path):
    path = curves_file(tmp_path / "a.usda", *strands(), type="cubic", basis="bspline", wrap="periodic")
    refused(path, "/Hair has periodic curves, and hair has ends; export it with wrap nonperiodic or pinned")


def test_curves_inside_instances_are_refused(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    add_curves(stage, "/Prototype/Hair", *strands())
    copy = stage.DefinePrim("/Copy")
    copy.GetReferences().AddInternalReference("/Prototype")
    copy.SetInstanceable(True)
    stage.Save()
    refused(tmp_path / "a.usda", "/Copy/Hair is inside an instance.*instanceable = false")
    assert read_usd_groom(tmp_path / "a.usda", prims=["/Prototype"]).groom.strand_count == 3


def test_prototypes_of_point_instancers_are_refused(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    add_curves(stage, "/Elsewhere/Hair", *strands())
    UsdGeom.PointInstancer.Define(stage, "/Scatter").CreatePrototypesRel().SetTargets(["/Elsewhere"])
    stage.Save()
    refused(tmp_path / "a.usda", "/Elsewhere/Hair is a prototype of the PointInstancer /Scatter; export every hair")


def test_changing_topology_is_told_and_read_at_one_time(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    points, _ = strands((4, 4))
    attribute = add_curves(stage, "/Hair", points, [4, 4]).GetCurveVertexCountsAttr()
    attribute.Set([4, 4], 1)
    attribute.Set([4, 4], 2)
    stage.Save()
    assert read_usd_groom(tmp_path / "a.usda").changes_at is None
    attribute.Set([3, 5], 3)
    stage.Save()
    with pytest.warns(
        FileNotice, match="curveVertexCounts change at time 3: the strands are those of the default time"
    ):
        read = read_usd_groom(tmp_path / "a.usda")
    assert (read.changes_at, read.groom.vertex_counts.tolist()) == (3, [4, 4])
    assert read_usd_groom(tmp_path / "a.usda", time=3).groom.vertex_counts.tolist() == [3, 5]


def test_counts_that_do_not_add_up_are_refused(tmp_path):
    points, _ = strands((4, 4))
    refused(curves_file(tmp_path / "a.usda", points, [4, 5]), "points has 8 values, curveVertexCounts add up to 9")
    refused(curves_file(tmp_path / "b.usda", points, [9, -1]), "curve 1 has -1 vertices")
    refused(curves_file(tmp_path / "c.usda", points[:0], []), "none of its BasisCurves has a curve; export")


def test_prims_without_curves_cost_only_themselves(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    add_curves(stage, "/Root/Full", *strands())
    add_curves(stage, "/Root/Empty", np.zeros((0, 3)), [])
    stage.Save()
    with pytest.warns(FileNotice, match="/Root/Empty has no curves; left out"):
        read = read_usd_groom(tmp_path / "a.usda")
    assert [prim.path for prim in read.source.prims] == ["/Root/Full"]


def test_velocities_of_the_wrong_count_are_left_out_aloud(tmp_path):
    points, counts = strands()
    stage = new_stage(tmp_path / "a.usda")
    add_curves(stage, "/Hair", points, counts).CreateVelocitiesAttr([(0, 0, 1)] * 3)
    stage.Save()
    with pytest.warns(FileNotice, match="/Hair: velocities has 3 values for 15 vertices; left out"):
        read = read_usd_groom(tmp_path / "a.usda")
    assert read.velocities is None


def test_transforms_that_flatten_are_refused(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    place(add_curves(stage, "/Hair", *strands()), np.diag([1.0, 0.0, 1.0, 1.0]))
    stage.Save()
    refused(tmp_path / "a.usda", "/Hair is flattened by its transform, which cannot be undone; give it a scale")


def test_points_too_far_out_for_float32_are_no_points(tmp_path):
    points, counts = strands()
    points[0] = 3e38
    path = curves_file(tmp_path / "a.usda", points, counts, unit=1000.0)
    with pytest.warns(RepairNotice, match="kept 2 of 3 strands"):
        assert read_usd_groom(path).groom.strand_count == 2


def test_files_without_curves_say_what_they_have(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    UsdGeom.Mesh.Define(stage, "/Body")
    stage.Save()
    refused(tmp_path / "a.usda", r"has no BasisCurves \(it has 1 Mesh\); export the hair as curves")


def test_lost_references_are_told_and_the_rest_is_read(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    add_curves(stage, "/Hair", *strands())
    stage.DefinePrim("/Body").GetReferences().AddReference("./gone.usda")
    stage.Save()
    del stage
    with pytest.warns(FileNotice, match="gone.usda"):
        read = read_usd_groom(tmp_path / "a.usda")
    assert read.groom.strand_count == 3


def test_nothing_reaches_the_terminal(tmp_path, capfd):
    """OpenUSD prints warnings about the lost layer and about the index where nobody stops it."""
    path = tmp_path / "a.usda"
    path.write_text(
        """#usda 1.0
(
    subLayers = [@./gone.usda@]
    metersPerUnit = 1
    upAxis = "Y"
)
def BasisCurves "Hair"
{
    uniform token type = "linear"
    int[] curveVertexCounts = [2]
    point3f[] points = [(0, 0, 0), (0, 1, 0)]
    float[] primvars:bad = [1] (interpolation = "uniform")
    int[] primvars:bad:indices = [7]
}
"""
    )
    with pytest.warns(FileNotice, match="gone.usda"):
        read_usd_groom(path)
    assert capfd.readouterr() == ("", "")
