"""Primvars of other tools as attributes of a groom: names, interpolations, types, several prims."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pxr import Gf, Sdf, UsdGeom, Vt  # noqa: TID253 (tests of USD need it anyway)
from usd_files import add_curves, new_stage, primvar, strands

from mane.io.notices import FileNotice
from mane.io.usd import read_usd_groom

COUNTS = (3, 4, 2)


@pytest.fixture
def hair(tmp_path):
    """A stage with three curves of nine vertices, and a function that saves and reads it."""
    stage = new_stage(tmp_path / "a.usda")
    curves = add_curves(stage, "/Root/Hair", *strands(COUNTS))

    def read():
        stage.Save()
        return read_usd_groom(tmp_path / "a.usda").groom

    return curves, read


@pytest.mark.parametrize(
    ("name", "kind", "values", "attribute", "expected"),
    [
        ("groom_group_id", "IntArray", [4, 5, 4], "group_id", [4, 5, 4]),
        ("group_id", "IntArray", [4, 5, 4], "group_id", [4, 5, 4]),
        ("groom_id", "IntArray", [9, 8, 7], "id", [9, 8, 7]),
        ("id", "Int64Array", [9, 8, 7], "id", [9, 8, 7]),
        ("groom_guide", "IntArray", [1, 0, 1], "is_guide", [True, False, True]),
        ("guide", "BoolArray", [1, 0, 1], "is_guide", [True, False, True]),
        ("groom_root_uv", "Float2Array", [(0, 1), (2, 3), (4, 5)], "root_uv", [(0, 1), (2, 3), (4, 5)]),
        ("st1", "TexCoord2fArray", [(0, 1), (2, 3), (4, 5)], "root_uv", [(0, 1), (2, 3), (4, 5)]),
        ("groom_color", "Float3Array", [(0, 1, 2)] * 3, "color", [(0, 1, 2)] * 3),
        ("Cd", "Color3fArray", [(0, 1, 2)] * 3, "color", [(0, 1, 2)] * 3),
        ("groom_width", "FloatArray", [1, 2, 3], "width", [1, 2, 3]),
        ("groom_closest_guides", "Float3Array", [(0, 1, 2)] * 3, "closest_guides", [(0, 1, 2)] * 3),
        ("groom_closest_guides", "Int3Array", [(0, 1, 2)] * 3, "closest_guides", [(0, 1, 2)] * 3),
        ("groom_guide_weights", "Float3Array", [(0, 1, 2)] * 3, "guide_weights", [(0, 1, 2)] * 3),
    ],
)
def test_names_of_other_tools_have_their_meaning(hair, name, kind, values, attribute, expected):
    curves, read = hair
    primvar(curves, name, kind, "uniform", values)
    groom = read()
    assert_array_equal(groom.strand[attribute], expected)
    assert name == attribute or name not in groom.strand


def test_attributes_without_a_prefix_count_too(hair):
    curves, read = hair
    attribute = curves.GetPrim().CreateAttribute("groom_group_id", Sdf.ValueTypeNames.IntArray)
    attribute.Set([1, 2, 3])
    curves.GetPrim().CreateAttribute("groom_tool", Sdf.ValueTypeNames.String).Set("mane")
    groom = read()
    assert groom.strand["group_id"].tolist() == [1, 2, 3]
    assert set(groom.strand) == {"group_id"}
    assert not groom.vertex


def test_unreals_width_wins_and_constants_reach_every_strand(hair):
    curves, read = hair
    curves.CreateWidthsAttr([1.0])
    primvar(curves, "groom_width", "Float", "constant", 3.0)
    assert read().strand["width"].tolist() == [3, 3, 3]


def test_the_root_decides_for_a_strand_and_the_map_stays(hair):
    curves, read = hair
    uv = np.arange(18, dtype=np.float32).reshape(9, 2)
    primvar(curves, "st", "TexCoord2fArray", "vertex", Vt.Vec2fArray.FromNumpy(uv))
    groom = read()
    assert_array_equal(groom.strand["root_uv"], uv[[0, 3, 7]])
    assert_array_equal(groom.vertex["st"], uv)


def test_groups_have_names(hair):
    curves, read = hair
    primvar(curves, "groom_group_id", "IntArray", "uniform", [7, 2, 7])
    primvar(curves, "groom_group_name", "StringArray", "uniform", ["beard", "brow", "beard"])
    assert read().group_names == {2: "brow", 7: "beard"}


def test_names_alone_are_numbered(hair):
    curves, read = hair
    names = primvar(curves, "groom_group_name", "StringArray", "uniform", ["brow", "beard"])
    names.SetIndices([1, 0, 1])
    groom = read()
    assert [groom.group_names[group] for group in groom.strand["group_id"].tolist()] == ["beard", "brow", "beard"]


def test_constant_primvars_of_ancestors_are_inherited(hair):
    curves, read = hair
    root = curves.GetPrim().GetParent()
    primvar(root, "groom_group_name", "String", "constant", "beard")
    primvar(root, "density", "FloatArray", "constant", [0.5])
    groom = read()
    assert groom.group_names == {0: "beard"}
    assert groom.strand["group_id"].tolist() == [0, 0, 0]
    assert groom.strand["density"].tolist() == [0.5] * 3


@pytest.mark.parametrize(
    ("kind", "interpolation", "values", "scope", "dtype", "shape"),
    [
        ("FloatArray", "vertex", [0.5] * 9, "vertex", np.float32, (9,)),
        ("FloatArray", "varying", [0.5] * 9, "vertex", np.float32, (9,)),
        ("FloatArray", "uniform", [0.5] * 3, "strand", np.float32, (3,)),
        ("FloatArray", "constant", [0.5], "strand", np.float32, (3,)),
        ("Float", "constant", 0.5, "strand", np.float32, (3,)),
        ("Double", "constant", 0.5, "strand", np.float64, (3,)),
        ("Vector3f", "constant", Gf.Vec3f(1, 2, 3), "strand", np.float32, (3, 3)),
        ("Int", "constant", 5, "strand", np.int32, (3,)),
        ("IntArray", "vertex", [5] * 9, "vertex", np.int32, (9,)),
        ("HalfArray", "vertex", [0.5] * 9, "vertex", np.float32, (9,)),
        ("DoubleArray", "vertex", [0.5] * 9, "vertex", np.float64, (9,)),
        ("Int64Array", "uniform", [2**40] * 3, "strand", np.int64, (3,)),
        ("BoolArray", "uniform", [True] * 3, "strand", np.bool_, (3,)),
        ("Normal3fArray", "vertex", [(0, 0, 1)] * 9, "vertex", np.float32, (9, 3)),
        ("QuatfArray", "uniform", [Gf.Quatf(1)] * 3, "strand", np.float32, (3, 4)),
    ],
)
def test_painted_maps_of_any_kind_are_carried(hair, kind, interpolation, values, scope, dtype, shape):
    curves, read = hair
    primvar(curves, "my:map", kind, interpolation, values)
    found = getattr(read(), scope)["my:map"]
    assert found.dtype == dtype
    assert found.shape == shape


def test_elements_of_several_numbers_stay_together(hair):
    curves, read = hair
    primvar(curves, "basis", "FloatArray", "uniform", list(range(15)), element_size=5)
    assert_array_equal(read().strand["basis"], np.arange(15).reshape(3, 5))


def test_undeclared_interpolation_is_told_by_size(hair):
    curves, read = hair
    curves.GetPrim().CreateAttribute("primvars:map", Sdf.ValueTypeNames.FloatArray).Set([1.0, 2.0, 3.0])
    assert read().strand["map"].tolist() == [1, 2, 3]


def test_what_does_not_fit_is_left_out_aloud(hair):
    curves, read = hair
    primvar(curves, "short", "FloatArray", "vertex", [1.0] * 5)
    with pytest.warns(FileNotice, match="/Root/Hair: short has 5 values where its interpolation, vertex, needs 9"):
        assert "short" not in read().vertex


@pytest.mark.parametrize(("name", "stays"), [("groom_id", True), ("id", False)])
def test_ids_too_large_for_us_are_no_ids(hair, name, stays):
    curves, read = hair
    primvar(curves, name, "Int64Array", "uniform", [2**40, 1, 2])
    with pytest.warns(FileNotice, match="cannot be 'id'"):
        groom = read()
    assert {name: values.tolist() for name, values in groom.strand.items()} == ({name: [2**40, 1, 2]} if stays else {})


def test_text_and_skinning_data_are_not_carried(hair):
    curves, read = hair
    primvar(curves, "shader", "StringArray", "uniform", ["a", "b", "c"])
    primvar(curves, "skel:other", "FloatArray", "uniform", [1.0, 2.0, 3.0])
    groom = read()
    assert not groom.strand
    assert not groom.vertex


def two_prims(tmp_path, first, second):
    stage = new_stage(tmp_path / "a.usda")
    for name, edit, seed in (("A", first, 1), ("B", second, 2)):
        edit(add_curves(stage, f"/Root/{name}", *strands((3, 2), seed)))
    stage.Save()
    return read_usd_groom(tmp_path / "a.usda")


def test_scopes_of_several_prims_are_brought_together(tmp_path):
    read = two_prims(
        tmp_path,
        lambda curves: primvar(curves, "map", "FloatArray", "uniform", [1.0, 2.0]),
        lambda curves: primvar(curves, "map", "FloatArray", "vertex", [3.0, 4.0, 5.0, 6.0, 7.0]),
    )
    assert read.groom.vertex["map"].tolist() == [1, 1, 1, 2, 2, 3, 4, 5, 6, 7]


def test_what_one_prim_lacks_is_zero(tmp_path):
    read = two_prims(
        tmp_path,
        lambda curves: primvar(curves, "map", "FloatArray", "uniform", [1.0, 2.0]),
        lambda curves: primvar(curves, "groom_guide", "IntArray", "uniform", [1, 1]),
    )
    assert read.groom.strand["map"].tolist() == [1, 2, 0, 0]
    assert read.groom.strand["is_guide"].tolist() == [False, False, True, True]


def test_a_missing_width_is_that_of_the_others(tmp_path):
    def widths(curves):
        curves.CreateWidthsAttr([0.1, 0.3])
        curves.SetWidthsInterpolation("uniform")

    with pytest.warns(FileNotice, match="width is missing on some prims"):
        read = two_prims(tmp_path, widths, lambda curves: None)
    assert_allclose(read.groom.strand["width"], [0.1, 0.3, 0.2, 0.2], rtol=1e-6)


def test_a_missing_rest_shape_is_the_shape(tmp_path):
    rest = np.ones((5, 3), np.float32)
    with pytest.warns(FileNotice, match="/Root/B has no rest shape while others do"):
        read = two_prims(
            tmp_path,
            lambda curves: primvar(curves, "rest", "Point3fArray", "vertex", Vt.Vec3fArray.FromNumpy(rest)),
            lambda curves: None,
        )
    assert_array_equal(read.rest[:5], rest)
    assert_array_equal(read.rest[5:], read.groom.points[5:])


def test_groups_of_several_prims_keep_apart(tmp_path):
    def group(name):
        def edit(curves):
            primvar(curves, "groom_group_id", "IntArray", "constant", [0])
            primvar(curves, "groom_group_name", "String", "constant", name)

        return edit

    with pytest.warns(FileNotice, match="group 0 has two names; 'brow' becomes group 1"):
        read = two_prims(tmp_path, group("beard"), group("brow"))
    assert read.groom.group_names == {0: "beard", 1: "brow"}
    assert read.groom.strand["group_id"].tolist() == [0, 0, 1, 1]


def test_elements_of_different_shape_are_left_out_aloud(tmp_path):
    with pytest.warns(FileNotice, match="map has elements of different shape"):
        read = two_prims(
            tmp_path,
            lambda curves: primvar(curves, "map", "FloatArray", "uniform", [1.0, 2.0]),
            lambda curves: primvar(curves, "map", "Float3Array", "uniform", [(1, 2, 3), (4, 5, 6)]),
        )
    assert "map" not in read.groom.strand


def test_invisible_and_inactive_prims(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    UsdGeom.Imageable(add_curves(stage, "/Root/A", *strands())).MakeInvisible()
    add_curves(stage, "/Root/B", *strands()).GetPrim().SetActive(False)
    stage.Save()
    assert [prim.path for prim in read_usd_groom(tmp_path / "a.usda").source.prims] == ["/Root/A"]
