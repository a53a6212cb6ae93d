"""New USD files: everything that is known of a groom, under names that other tools look for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pxr import Usd, UsdGeom  # noqa: TID253 (tests of USD need it anyway)
from usd_files import assert_same_groom, faults, full_groom, value_of

from mane.groom.groom import Groom
from mane.io.notices import FileNotice
from mane.io.usd import read_usd_groom, write_usd_groom

STRANDS, GUIDES = "/Groom/Strands", "/Groom/Guides"


def plain_groom(strand_count=6, vertex_count=4, seed=1):
    rng = np.random.default_rng(seed)
    return Groom.from_uniform(rng.normal(size=(strand_count, vertex_count, 3)).astype(np.float32))


def prim_of(path, name=STRANDS):
    stage = Usd.Stage.Open(str(path))
    return stage, UsdGeom.BasisCurves(stage.GetPrimAtPath(name))


@pytest.mark.parametrize("suffix", [".usda", ".usdc", ".usd"])
def test_everything_comes_back(tmp_path, suffix):
    groom = full_groom()
    path = tmp_path / f"a{suffix}"
    write_usd_groom(path, groom)
    read = read_usd_groom(path, trusted=True)
    # Guides are on a prim of their own, after the strands; ids tell the old order.
    order = np.argsort(read.groom.strand["id"])
    assert_same_groom(read.groom.take(order), groom)
    assert_array_equal(read.rest, read.groom.points)
    assert read.problems == ()
    assert faults(path) == []


@pytest.mark.parametrize(("unit", "up"), [("cm", "z"), ("mm", "y"), (0.3, "z"), ("m", "z")])
def test_other_units_and_axes_come_back_within_rounding(tmp_path, unit, up):
    groom = full_groom()
    write_usd_groom(tmp_path / "a.usdc", groom, unit=unit, up=up)
    read = read_usd_groom(tmp_path / "a.usdc", trusted=True)
    found = read.groom.take(np.argsort(read.groom.strand["id"]))
    # Rounded once on the way out and once on the way in.
    assert_allclose(found.points, groom.points, rtol=2 * 2**-24)
    assert_allclose(found.strand["width"], groom.strand["width"], rtol=2 * 2**-24)
    assert faults(tmp_path / "a.usdc") == []


def test_the_file_states_its_units_and_time(tmp_path):
    write_usd_groom(tmp_path / "a.usda", plain_groom(), unit="cm", up="z", time_codes_per_second=30)
    stage, _ = prim_of(tmp_path / "a.usda")
    assert UsdGeom.GetStageMetersPerUnit(stage) == 0.01
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert stage.GetTimeCodesPerSecond() == 30
    assert stage.GetDefaultPrim().GetPath() == "/Groom"
    assert stage.GetDefaultPrim().GetMetadata("apiSchemas").GetAppliedItems() == ["GroomAPI"]


def test_linear_curves_by_default_and_smooth_ones_on_request(tmp_path):
    groom = plain_groom()
    write_usd_groom(tmp_path / "a.usda", groom)
    _stage, curves = prim_of(tmp_path / "a.usda")
    assert curves.GetTypeAttr().Get() == "linear"
    assert not curves.GetNormalsAttr().HasValue()
    write_usd_groom(tmp_path / "b.usda", groom, curve="catmullRom")
    _stage, curves = prim_of(tmp_path / "b.usda")
    assert [a.Get() for a in (curves.GetTypeAttr(), curves.GetBasisAttr(), curves.GetWrapAttr())] == [
        "cubic",
        "catmullRom",
        "pinned",
    ]
    assert_array_equal(read_usd_groom(tmp_path / "b.usda").groom.points, groom.points)
    assert faults(tmp_path / "b.usda") == []


def test_extent_covers_the_hair_with_its_width(tmp_path):
    groom = plain_groom().with_strand(width=np.full(6, 0.5))
    write_usd_groom(tmp_path / "a.usda", groom)
    stage, curves = prim_of(tmp_path / "a.usda")
    ours = np.array(curves.GetExtentAttr().Get())
    theirs = UsdGeom.Boundable.ComputeExtentFromPlugins(curves, Usd.TimeCode.Default())
    assert_allclose(ours, np.array(theirs), rtol=1e-6)
    assert stage


@pytest.mark.parametrize(("scope", "interpolation"), [("strand", "uniform"), ("vertex", "vertex")])
def test_widths_state_their_interpolation(tmp_path, scope, interpolation):
    groom = plain_groom()
    count = groom.strand_count if scope == "strand" else groom.point_count
    width = np.arange(1, count + 1, dtype=np.float32)
    write_usd_groom(tmp_path / "a.usda", getattr(groom, f"with_{scope}")(width=width), unit="cm")
    _stage, curves = prim_of(tmp_path / "a.usda")
    assert curves.GetWidthsInterpolation() == interpolation
    assert_allclose(np.array(curves.GetWidthsAttr().Get()), 100 * width)


def test_guides_are_marked_and_kept_from_renderers(tmp_path):
    groom = full_groom()
    write_usd_groom(tmp_path / "a.usda", groom)
    _stage, guides = prim_of(tmp_path / "a.usda", GUIDES)
    assert guides.GetPurposeAttr().Get() == "guide"
    assert value_of(tmp_path / "a.usda", GUIDES, "primvars:groom_guide").tolist() == [1] * 4
    assert value_of(tmp_path / "a.usda", STRANDS, "primvars:groom_guide").tolist() == [0] * 8
    assert value_of(tmp_path / "a.usda", GUIDES, "primvars:groom_id").tolist() == [100, 103, 106, 109]


def test_only_guides_make_only_a_guide_prim(tmp_path):
    groom = plain_groom().with_strand(is_guide=np.ones(6, np.bool_))
    write_usd_groom(tmp_path / "a.usda", groom)
    stage, guides = prim_of(tmp_path / "a.usda", GUIDES)
    assert guides
    assert not stage.GetPrimAtPath(STRANDS)
    assert faults(tmp_path / "a.usda") == []


def test_guides_of_another_groom_join_with_ids_of_their_own(tmp_path):
    groom, guides = plain_groom(6), plain_groom(2, 8, seed=5)
    groom = groom.with_strand(closest_guides=np.array([[0, 1]] * 6), guide_weights=np.full((6, 2), 0.5))
    write_usd_groom(tmp_path / "a.usda", groom, guides=guides)
    assert value_of(tmp_path / "a.usda", GUIDES, "primvars:groom_id").tolist() == [0, 1]
    assert value_of(tmp_path / "a.usda", STRANDS, "primvars:groom_id").tolist() == [2, 3, 4, 5, 6, 7]
    read = read_usd_groom(tmp_path / "a.usda").groom
    assert read.strand["is_guide"].tolist() == [False] * 6 + [True] * 2
    assert_array_equal(read.points, np.concatenate([groom.points, guides.points]))
    assert faults(tmp_path / "a.usda") == []
    with pytest.raises(ValueError, match="guides: must be None, since 4 strands"):
        write_usd_groom(tmp_path / "b.usda", full_groom(), guides=guides)


def test_our_interpolation_is_written_for_unreal(tmp_path):
    """Unreal takes triples from float3 only, and ids of guides that are missing would be taken for guide 0."""
    groom = plain_groom(2).with_strand(
        closest_guides=np.array([[7, 9], [8, 7]]), guide_weights=np.array([[0.25, 0.75], [1.0, 0.0]])
    )
    write_usd_groom(tmp_path / "a.usda", groom)
    path = tmp_path / "a.usda"
    assert value_of(path, STRANDS, "primvars:groom_closest_guides").tolist() == [[7, 9, 7], [8, 7, 8]]
    assert value_of(path, STRANDS, "primvars:groom_guide_weights").tolist() == [[0.25, 0.75, 0], [1, 0, 0]]
    stage, curves = prim_of(path)
    kind = UsdGeom.PrimvarsAPI(curves).GetPrimvar("groom_closest_guides")
    assert str(kind.GetTypeName()) == "float3[]"
    assert kind.GetInterpolation() == "uniform"
    assert stage


@pytest.mark.parametrize(
    ("values", "match"),
    [(np.zeros((2, 4), np.int32), "1 to 3 columns, got 4"), (np.full((2, 1), 2**25), "to be exact in Unreal")],
)
def test_bindings_that_unreal_cannot_hold_are_refused(tmp_path, values, match):
    with pytest.raises(ValueError, match=match):
        write_usd_groom(tmp_path / "a.usda", plain_groom(2).with_strand(closest_guides=values))
    assert list(tmp_path.iterdir()) == []


def test_colours_are_there_for_everyone(tmp_path):
    groom = full_groom()
    write_usd_groom(tmp_path / "a.usda", groom)
    shown, unreal = (value_of(tmp_path / "a.usda", STRANDS, f"primvars:{n}") for n in ("displayColor", "groom_color"))
    assert_array_equal(shown, unreal)
    assert_array_equal(shown, groom.take(~groom.strand["is_guide"]).vertex["color"])


def test_rest_and_velocities(tmp_path):
    groom = full_groom()
    rng = np.random.default_rng(3)
    rest, speeds = (rng.normal(size=groom.points.shape).astype(np.float32) for _ in range(2))
    write_usd_groom(tmp_path / "a.usda", groom, rest=rest, velocities=speeds, unit="cm", up="z")
    read = read_usd_groom(tmp_path / "a.usda")
    # Guides come after the strands: rows in the order of ids.
    order = np.argsort(read.groom.strand["id"])
    rows = (order[:, None] * 5 + np.arange(5)).ravel()
    assert_allclose(read.rest[rows], rest, rtol=2 * 2**-24)
    assert_allclose(read.velocities[rows], speeds, rtol=3 * 2**-24)
    assert faults(tmp_path / "a.usda") == []


def test_frames_become_time_samples(tmp_path):
    groom = plain_groom()
    frames = [(time, groom.points + np.float32(time), np.ones_like(groom.points)) for time in (1, 2, 4)]
    write_usd_groom(tmp_path / "a.usdc", groom, frames=iter(frames))
    stage, curves = prim_of(tmp_path / "a.usdc")
    assert curves.GetPointsAttr().GetTimeSamples() == [1, 2, 4]
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (1, 4)
    for time, points, _ in frames:
        read = read_usd_groom(tmp_path / "a.usdc", time=time, trusted=True)
        assert read.groom.points.tobytes() == points.tobytes()
        assert_array_equal(read.velocities, np.ones_like(points))
        extent = np.array(curves.GetExtentAttr().Get(time))
        assert_array_equal(extent, [points.min(axis=0), points.max(axis=0)])
    assert faults(tmp_path / "a.usdc") == []


def test_names_that_usd_cannot_have_are_changed_aloud(tmp_path):
    groom = plain_groom().with_strand(**{"my map": np.arange(6, dtype=np.float32), "rest": np.zeros(6)})
    with pytest.warns(FileNotice) as caught:
        write_usd_groom(tmp_path / "a.usda", groom)
    assert [str(w.message) for w in caught] == [
        "'my map' is no name in USD, written as 'my_map'",
        "'rest' has a meaning in USD and was left out; rename the map to keep it",
    ]
    assert_array_equal(read_usd_groom(tmp_path / "a.usda").groom.strand["my_map"], np.arange(6))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"unit": "parsec"}, "unit: 'parsec' is unknown"),
        ({"up": "x"}, "up: must be y or z to be written"),
        ({"curve": "bspline"}, "curve: 'bspline' is unknown; choose from catmullRom, linear"),
        ({"time_codes_per_second": 0}, "time_codes_per_second: must be a finite number above zero"),
        ({"rest": np.zeros((3, 3))}, r"rest: must have shape \(24, 3\)"),
        ({"velocities": np.full((24, 3), np.nan)}, "velocities: must be finite"),
        ({"frames": []}, "frames: must hold at least one frame"),
        ({"frames": [(1, np.zeros((24, 3))), (1, np.zeros((24, 3)))]}, "must be after the frame before, 1, got 1"),
        ({"frames": [(np.nan, np.zeros((24, 3)))]}, "must be a finite time code"),
    ],
)
def test_wrong_arguments_leave_nothing_behind(tmp_path, options, match):
    with pytest.raises(ValueError, match=match):
        write_usd_groom(tmp_path / "a.usda", plain_groom(), **options)
    assert list(tmp_path.iterdir()) == []


def test_the_same_groom_gives_the_same_text(tmp_path):
    for name in ("a.usda", "b.usda"):
        write_usd_groom(tmp_path / name, full_groom())
    assert (tmp_path / "a.usda").read_bytes() == (tmp_path / "b.usda").read_bytes()
