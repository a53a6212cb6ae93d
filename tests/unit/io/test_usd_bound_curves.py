"""Curves that are bound by UsdSkel: read as they were bound, written so that nothing moves them a second time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pxr import UsdGeom, UsdSkel, Vt  # noqa: TID253 (tests of USD need it anyway)
from rig_files import TIMES, baked, gf, leg, rig_file, translated, upright, weights_of
from usd_files import add_curves, affine, carried, faults, place, value_of

from mane.io.usd import UsdSequenceWriter, read_usd_body, read_usd_groom, write_usd_layer

COUNTS = (4, 5, 4)
HAIR = "/Root/Group/Hair"


def strands_on_the_leg():
    """Strands that stand off the leg at three heights, each a bit longer than the one before."""
    pieces = [
        np.stack([0.2 + 0.1 * np.arange(count), np.full(count, 0.4 + 0.5 * i), 0.02 * np.arange(count)], axis=1)
        for i, count in enumerate(COUNTS)
    ]
    return np.concatenate(pieces).astype(np.float32)


def bind_vertices(stage, curves, geom_bind):
    indices, weights = weights_of(strands_on_the_leg())
    binding = UsdSkel.BindingAPI.Apply(curves.GetPrim())
    binding.CreateGeomBindTransformAttr(gf(geom_bind))
    binding.CreateJointIndicesPrimvar(False, 2).Set(Vt.IntArray.FromNumpy(indices.reshape(-1)))
    binding.CreateJointWeightsPrimvar(False, 2).Set(Vt.FloatArray.FromNumpy(weights.reshape(-1).astype(np.float32)))


def bind_to_one_joint(stage, curves, geom_bind):
    binding = UsdSkel.BindingAPI.Apply(curves.GetPrim())
    binding.CreateGeomBindTransformAttr(gf(geom_bind))
    binding.CreateJointIndicesPrimvar(True, 1).Set([2])
    binding.CreateJointWeightsPrimvar(True, 1).Set([1.0])


def bind_the_prim_above(stage, curves, geom_bind):
    bind_to_one_joint(stage, UsdGeom.Xform.Define(stage, "/Root/Group"), geom_bind)


BINDINGS = [bind_vertices, bind_to_one_joint, bind_the_prim_above]


def hair_file(path, bind=bind_vertices, *, geom_bind=None, edit=lambda stage: None, **options):
    """A leg with curves that are bound to the same skeleton."""
    geom_bind = np.eye(4) if geom_bind is None else geom_bind

    def add_hair(stage, mesh):
        UsdGeom.Xform.Define(stage, "/Root/Group")
        curves = add_curves(stage, HAIR, carried(np.linalg.inv(geom_bind), strands_on_the_leg()), COUNTS)
        bind(stage, curves, geom_bind)
        edit(stage)

    return rig_file(path, add_hair, **options)


@pytest.mark.parametrize("bind", BINDINGS)
def test_curves_are_read_as_they_were_bound(tmp_path, bind):
    path = hair_file(tmp_path / "a.usda", bind, geom_bind=affine(3), up="Z", unit=0.01, root_matrix=affine(1))
    read = read_usd_groom(path)
    expected = upright(carried(affine(1), strands_on_the_leg()), 0.01, "Z")
    assert_allclose(read.groom.points, expected, atol=1e-6)
    assert read.times.tolist() == list(TIMES)
    assert not {name for name in (*read.groom.strand, *read.groom.vertex) if "skel" in name}
    # the leg in its own rest pose is where they grow
    assert_allclose(read_usd_body(path).rest_points(), upright(carried(affine(1), leg()[0]), 0.01, "Z"), atol=1e-6)


@pytest.mark.parametrize("bind", BINDINGS)
def test_at_a_time_they_are_where_openusd_bakes_them(tmp_path, bind):
    path = hair_file(tmp_path / "a.usda", bind, geom_bind=affine(3), root_matrix=affine(1))
    theirs = baked(path, [HAIR], TIMES)
    for time in TIMES:
        posed = read_usd_groom(path, time=time)
        assert_allclose(posed.groom.points, theirs[HAIR, time], atol=1e-5)
        assert_allclose(posed.rest, carried(affine(1), strands_on_the_leg()), atol=1e-5)
    assert np.abs(theirs[HAIR, 4.0] - theirs[HAIR, 1.0]).max() > 0.1


def animate_group(stage):
    """The curves ride on an animated transform besides, which UsdSkel ignores as long as they are bound."""
    for time in TIMES:
        turned = affine(7)
        turned[:3, 3] += 0.3 * time
        place(UsdGeom.Xform.Define(stage, "/Root/Group"), turned, time)


def moved(points, time):
    return (points + np.float32(0.02 * time) * points[:, [1, 2, 0]]).astype(np.float32)


@pytest.mark.parametrize("writes_sequence", [False, True])
@pytest.mark.parametrize("edit", [lambda stage: None, animate_group], ids=["still", "moving"])
@pytest.mark.parametrize("bind", BINDINGS)
def test_results_are_not_skinned_a_second_time(tmp_path, bind, edit, writes_sequence):
    units = {"up": "Z", "unit": 0.01}
    path = hair_file(tmp_path / "a.usda", bind, geom_bind=affine(3), root_matrix=affine(1), edit=edit, **units)
    read = read_usd_groom(path)
    if writes_sequence:
        with UsdSequenceWriter(tmp_path / "over.usda", read.source) as writer:
            for time in TIMES:
                writer.write(time, moved(read.groom.points, time))
    else:
        frames = [(time, moved(read.groom.points, time)) for time in TIMES]
        write_usd_layer(tmp_path / "over.usda", read.source, frames=frames)
    shown = baked(tmp_path / "over.usda", [HAIR, "/Root/Leg"], TIMES)
    before = baked(path, ["/Root/Leg"], TIMES)
    for time in TIMES:
        assert_allclose(upright(shown[HAIR, time], **units), moved(read.groom.points, time), atol=1e-6)
        assert_allclose(shown["/Root/Leg", time], before["/Root/Leg", time], atol=1e-6)  # the leg still is
    assert read_usd_groom(path).source.prims[0].unbound is not None
    assert read_usd_groom(tmp_path / "over.usda").source.prims[0].unbound is None
    again = read_usd_groom(tmp_path / "over.usda", time=TIMES[1])
    assert_allclose(again.groom.points, moved(read.groom.points, TIMES[1]), atol=1e-6)


def test_a_layer_without_motion_takes_the_binding_away_too(tmp_path):
    path = hair_file(tmp_path / "a.usda")
    read = read_usd_groom(path)
    write_usd_layer(tmp_path / "over.usda", read.source, moved(read.groom.points, 1.0))
    assert_allclose(value_of(tmp_path / "over.usda", HAIR, "points"), moved(read.groom.points, 1.0))
    assert value_of(tmp_path / "over.usda", HAIR, "primvars:skel:jointIndices") is None
    assert faults(tmp_path / "over.usda") == faults(path)


def test_curves_that_are_left_out_stay_where_they_were_bound(tmp_path):
    """A damaged curve is no strand, and its points are shown in the space of the prim like those of the others."""

    def spoil(stage):
        curves = UsdGeom.BasisCurves(stage.GetPrimAtPath(HAIR))
        curves.GetCurveVertexCountsAttr().Set([4, 5, 1, 3])
        place(UsdGeom.Xform.Define(stage, "/Root/Group"), translated(0, 0, 5))

    path = hair_file(tmp_path / "a.usda", edit=spoil)
    with pytest.warns(UserWarning, match="1 of 4 curves"):
        read = read_usd_groom(path)
    write_usd_layer(tmp_path / "over.usda", read.source, read.groom.points)
    assert_allclose(value_of(tmp_path / "over.usda", HAIR, "points"), strands_on_the_leg() - [0, 0, 5], atol=1e-6)


def test_joints_without_a_skeleton_are_refused(tmp_path):
    path = hair_file(tmp_path / "a.usda", edit=lambda stage: stage.RemovePrim("/Root/Skeleton"))
    with pytest.raises(ValueError, match=r"/Root/Group/Hair is bound to joints of a skeleton, which the file does not"):
        read_usd_groom(path)


def test_without_a_skel_root_nothing_is_bound(tmp_path):
    """OpenUSD skins nothing there, so the points are those of the prim."""
    path = hair_file(tmp_path / "a.usda", edit=lambda stage: stage.GetPrimAtPath("/Root").SetTypeName("Xform"))
    assert_allclose(read_usd_groom(path).groom.points, strands_on_the_leg())
