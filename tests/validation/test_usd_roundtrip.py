"""Grooms through USD and back: bits, attributes, counts, and a real file of Blender's."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from pxr import Usd, UsdGeom, UsdValidation  # noqa: TID253 (tests of USD need it anyway)
from scipy.interpolate import BSpline

from mane.groom.groom import Groom
from mane.io.usd import UsdSequenceWriter, read_usd_groom, read_usd_mesh, write_usd_groom, write_usd_layer

BLENDER = "hair-blender-3.0.1.usda"
CURVES, EMITTER = "/Cube/ParticleSystem", "/Cube/Cube"
# One rounding to float32.
ULP = 2.0**-24


def faults(path):
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    found = UsdValidation.ValidationContext(validators).Validate(Usd.Stage.Open(str(path)))
    return {f"{fault.GetName()}: {fault.GetMessage()}" for fault in found}


@st.composite
def grooms(draw):
    """Strands of any counts and sizes, with known attributes and painted maps in either scope."""
    counts = draw(st.lists(st.integers(2, 9), min_size=1, max_size=6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    total, size = sum(counts), 10.0 ** draw(st.integers(-4, 4))
    attributes = {"strand": {}, "vertex": {}}
    for name, element in (("width", ()), ("color", (3,)), ("my_map", ()), ("groom_roughness", ()), ("seven", (7,))):
        scope = draw(st.sampled_from(["strand", "vertex", "none"]))
        if scope != "none":
            count = len(counts) if scope == "strand" else total
            attributes[scope][name] = rng.random((count, *element)).astype(np.float32)
    for name, values in (("group_id", rng.integers(0, 3, len(counts))), ("root_uv", rng.random((len(counts), 2)))):
        if draw(st.booleans()):
            attributes["strand"][name] = values
    names = {0: "scalp", 1: "brow", 2: "beard"} if "group_id" in attributes["strand"] else {}
    points = (rng.normal(size=(total, 3)) * size).astype(np.float32)
    return Groom(points, np.concatenate([[0], np.cumsum(counts)]), **attributes, group_names=names)


def same_attributes(found, expected, rtol=0.0):
    for scope in ("strand", "vertex"):
        mine, theirs = dict(getattr(found, scope)), getattr(expected, scope)
        mine.pop("id", None)  # strands without ids are numbered on the way out
        assert set(mine) == set(theirs)
        for name, values in theirs.items():
            assert_allclose(mine[name], values, rtol=rtol, err_msg=name)


@settings(max_examples=25, deadline=None)
@given(groom=grooms(), suffix=st.sampled_from([".usda", ".usdc"]), curve=st.sampled_from(["linear", "catmullRom"]))
def test_points_and_attributes_are_kept_bit_for_bit(groom, suffix, curve):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        write_usd_groom(path, groom, curve=curve)
        read = read_usd_groom(path, trusted=True).groom
        assert read.points.tobytes() == groom.points.tobytes()
        assert read.offsets.tolist() == groom.offsets.tolist()
        same_attributes(read, groom)
        used = {group: groom.group_names[group] for group in set(groom.strand.get("group_id", []))}
        assert read.group_names == used
        assert faults(path) == set()


@settings(max_examples=25, deadline=None)
@given(groom=grooms(), unit=st.sampled_from([1.0, 0.01, 0.0254, 0.3]), up=st.sampled_from(["y", "z"]))
def test_units_and_axes_come_back_within_rounding(groom, unit, up):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.usdc"
        write_usd_groom(path, groom, unit=unit, up=up)
        read = read_usd_groom(path, trusted=True)
        assert (read.source.units.metres_per_unit, read.source.units.up) == (unit, up)
        assert_allclose(read.groom.points, groom.points, rtol=2 * ULP)
        same_attributes(read.groom, groom, rtol=2 * ULP)


@settings(max_examples=25, deadline=None)
@given(
    groom=grooms(),
    unit=st.sampled_from([1.0, 0.01]),
    up=st.sampled_from(["y", "z"]),
    basis=st.sampled_from(["linear", "bspline", "catmullRom"]),
    seed=st.integers(0, 1000),
)
def test_a_layer_over_any_file_gives_the_new_points_and_keeps_the_rest(groom, unit, up, basis, seed):
    with tempfile.TemporaryDirectory() as folder:
        original, over, still = (Path(folder) / name for name in ("hair.usda", "over.usdc", "still.usdc"))
        write_usd_groom(original, groom, unit=unit, up=up)
        if basis != "linear":
            stage = Usd.Stage.Open(str(original))
            curves = UsdGeom.BasisCurves(stage.GetPrimAtPath("/Groom/Strands"))
            curves.GetTypeAttr().Set("cubic")
            curves.CreateBasisAttr(basis)
            curves.GetWrapAttr().Set("pinned")
            stage.Save()
            del stage, curves
        read = read_usd_groom(original)
        write_usd_layer(still, read.source, read.groom.points)
        unmoved = read_usd_groom(still, trusted=True)
        assert unmoved.groom.points.tobytes() == read.groom.points.tobytes()
        size = np.abs(read.groom.points).max()
        shift = np.random.default_rng(seed).normal(0, 0.3 * size, read.groom.points.shape)
        moved = (read.groom.points + shift).astype(np.float32)
        write_usd_layer(over, read.source, moved)
        again = read_usd_groom(over, trusted=True)
        # Control points reach three times the size of what moved; each is rounded once, the sum once more.
        assert_allclose(again.groom.points, moved, rtol=0, atol=8 * ULP * (size + 3 * np.abs(shift).max()))
        assert again.groom.offsets.tolist() == read.groom.offsets.tolist()
        same_attributes(again.groom, read.groom.with_strand(id=None))
        (ours,), (theirs,) = again.source.prims, read.source.prims
        assert ours.layout.shape == theirs.layout.shape
        assert ours.path == theirs.path
        assert faults(over) == set()


# -- Blender's file --------------------------------------------------------------------------------------------------


@pytest.fixture
def blender(shared_data):
    path = shared_data / BLENDER
    if not path.is_file():
        pytest.skip(f"{BLENDER} is not in {shared_data}")
    return path


def authored(path, time=None):
    stage = Usd.Stage.Open(str(path))
    code = Usd.TimeCode.Default() if time is None else Usd.TimeCode(time)
    return np.array(stage.GetPrimAtPath(CURVES).GetAttribute("points").Get(code))


def test_blenders_hair_is_read_with_roots_on_its_emitter(blender):
    read = read_usd_groom(blender)
    assert read.groom.strand_count == 1000
    assert read.groom.point_count == 9000
    assert set(read.groom.vertex_counts.tolist()) == {9}
    assert read.source.units.up == "z"
    assert read.source.units.assumed == ()
    assert_allclose(read.groom.strand["color"], 0.8)
    mesh = read_usd_mesh(blender)
    assert mesh.face_count == 12
    assert mesh.volume == pytest.approx(8.0, rel=1e-6)
    # On the surface of a cube of side 2: the largest coordinate is 1.
    assert_allclose(np.abs(read.groom.roots).max(axis=1), 1.0, atol=1e-6)


def test_blenders_inner_points_are_on_the_curve_that_usd_draws(blender):
    control = authored(blender).reshape(1000, 9, 3).astype(np.float64)
    inner = read_usd_groom(blender).groom.as_uniform()[:, 1:-1]
    curve = BSpline(np.arange(-2, 11), control.transpose(1, 0, 2), 3)(np.arange(1.0, 8.0)).transpose(1, 0, 2)
    # In float32, with Z up turned to Y up.
    assert_allclose(inner, curve[..., [0, 2, 1]] * [1, 1, -1], atol=4 * ULP * 5)


def test_layers_and_sequences_over_blenders_file(blender, tmp_path):
    read = read_usd_groom(blender)
    write_usd_layer(tmp_path / "still.usda", read.source, read.groom.points)
    assert authored(tmp_path / "still.usda").tobytes() == authored(blender).tobytes()
    bent = read.groom.points.copy()
    bent[:, 0] += np.float32(0.1) * (bent[:, 1] - 1) ** 2
    write_usd_layer(tmp_path / "over.usda", read.source, bent)
    writer = UsdSequenceWriter(tmp_path / "sim.usda", read.source)
    writer.write(1, read.groom.points)
    writer.write(2, bent)
    assert authored(tmp_path / "sim.usda", 1).tobytes() == authored(blender).tobytes()
    assert_array_equal(authored(tmp_path / "sim.usda", 2), authored(tmp_path / "over.usda"))
    again = read_usd_groom(tmp_path / "over.usda")
    # Coordinates up to 25 in float32, control points up to three times as far out.
    assert_allclose(again.groom.points, bent, atol=8 * ULP * 25)
    for path in (tmp_path / "over.usda", tmp_path / "sim.usda"):
        stage = Usd.Stage.Open(str(path))
        curves = UsdGeom.BasisCurves(stage.GetPrimAtPath(CURVES))
        assert list(curves.GetCurveVertexCountsAttr().Get()) == [9] * 1000
        assert curves.GetBasisAttr().Get() == "bspline"
        assert curves.GetTypeAttr().Get() == "cubic"
        assert not curves.GetWrapAttr().HasAuthoredValue()
        assert not curves.GetWidthsAttr().HasAuthoredValue()
        original = Usd.Stage.Open(str(blender))
        assert [prim.GetPath() for prim in stage.Traverse()] == [prim.GetPath() for prim in original.Traverse()]
        assert faults(path) <= faults(blender)  # nothing that was not wrong before


def test_blenders_hair_as_a_new_file_is_valid(blender, tmp_path):
    read = read_usd_groom(blender)
    write_usd_groom(tmp_path / "new.usda", read.groom, unit="cm", up="z", rest=read.rest)
    again = read_usd_groom(tmp_path / "new.usda")
    assert_allclose(again.groom.points, read.groom.points, rtol=2 * ULP)
    assert faults(tmp_path / "new.usda") == set()
