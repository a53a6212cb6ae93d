"""Skinned meshes are where OpenUSD's own baking puts them, and rigs that cannot be posed are refused in one line."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pxr import Gf, UsdGeom, UsdSkel  # noqa: TID253 (tests of USD need it anyway)
from rig_files import JOINTS, TIMES, add_animation, add_leg, add_shapes, baked, leg, rig_file, translated, upright
from usd_files import affine, carried, place

from mane.io.usd import read_usd_body

TOLERANCE = 1e-5  # [m]


def assert_as_baked(path, prims=("/Root/Leg",), unit=1.0, up="Y"):
    body = read_usd_body(path)
    assert [part.path for part in body.parts] == list(prims)
    theirs = baked(path, prims, TIMES)
    for part in body.parts:
        for time in TIMES:
            expected = upright(theirs[part.path, time], unit, up)
            assert_allclose(body.points(time)[part.rows], expected, atol=TOLERANCE)
    moved = np.abs(body.points(TIMES[-1]) - body.points(TIMES[0])).max()
    assert moved > 0.1 * np.ptp(body.points(TIMES[0]), axis=0).max()  # else this would prove nothing
    return body


@pytest.mark.parametrize("method", [None, "dualQuaternion"])
def test_joints(tmp_path, method):
    assert_as_baked(rig_file(tmp_path / "a.usda", method=method))


def test_a_transform_when_bound_and_one_of_its_own(tmp_path):
    def edit(stage, mesh):
        place(mesh, affine(4))  # skinned meshes ignore their own
        place(stage.GetPrimAtPath("/Root/Skeleton"), affine(5))

    body = assert_as_baked(rig_file(tmp_path / "a.usda", edit, geom_bind=affine(3)))
    # in the pose of the binding, the leg stands as it was modelled, where the skeleton is
    assert_allclose(body.rest_points(), carried(affine(5), leg()[0]), atol=TOLERANCE)


def test_a_scaled_root_in_centimetres_with_z_up(tmp_path):
    root = affine(1)
    root[:3, :3] *= 50.0
    units = {"up": "Z", "unit": 0.01}
    body = assert_as_baked(rig_file(tmp_path / "a.usda", root_matrix=root, **units), **units)
    assert_allclose(body.rest_points(), upright(carried(root, leg()[0]), 0.01, "Z"), atol=TOLERANCE)


def test_an_animated_root_turns_with_the_joints(tmp_path):
    def edit(stage, mesh):
        UsdGeom.Xformable(stage.GetPrimAtPath("/Root")).AddRotateYOp().Set(0.0, 1.0)
        UsdGeom.Xformable(stage.GetPrimAtPath("/Root")).GetOrderedXformOps()[0].Set(90.0, 4.0)

    body = assert_as_baked(rig_file(tmp_path / "a.usda", edit))
    assert_allclose(body.rest_points(4.0), leg()[0][:, [2, 1, 0]] * [1, 1, -1], atol=TOLERANCE)
    assert_allclose(body.rest_points(None), leg()[0], atol=TOLERANCE)  # nothing is authored beside the samples


def test_an_order_of_joints_of_its_own(tmp_path):
    assert_as_baked(rig_file(tmp_path / "a.usda", joints=[JOINTS[2], JOINTS[0], JOINTS[1]]))


def test_blend_shapes_with_in_betweens(tmp_path):
    body = assert_as_baked(rig_file(tmp_path / "a.usda", add_shapes))
    still = read_usd_body(rig_file(tmp_path / "b.usda"))
    assert np.abs(body.points(2.5) - still.points(2.5)).max() > 0.1
    assert_allclose(body.rest_points(), still.rest_points())  # shapes are no part of it


def test_what_joints_leave_out_is_in_its_rest_pose(tmp_path):
    def edit(stage, mesh):
        animation = UsdSkel.Animation(stage.GetPrimAtPath("/Root/Animation"))
        animation.GetJointsAttr().Set(JOINTS[:2])
        for time in TIMES:
            for attribute in (animation.GetTranslationsAttr(), animation.GetRotationsAttr(), animation.GetScalesAttr()):
                attribute.Set(attribute.Get(time)[:2], time)

    assert_as_baked(rig_file(tmp_path / "a.usda", edit))


def test_instances_are_posed_each_by_its_own_animation(tmp_path):
    def edit(stage, mesh):
        for name, turn in (("A", 60.0), ("B", -80.0)):
            animation = add_animation(stage, f"/Animations/{name}", turn)
            copy = stage.DefinePrim(f"/Copies/{name}")
            copy.GetReferences().AddInternalReference("/Root")
            copy.SetInstanceable(True)
            place(copy, translated(3.0 if name == "A" else -3.0, 0, 0))
            UsdSkel.BindingAPI.Apply(copy).CreateAnimationSourceRel().SetTargets([animation.GetPath()])
        stage.GetPrimAtPath("/Root/Skeleton").RemoveProperty("skel:animationSource")
        stage.GetPrimAtPath("/Root").SetActive(True)

    path = rig_file(tmp_path / "a.usda", edit)
    body = read_usd_body(path, prims=["/Copies"])
    prims = ("/Copies/A/Leg", "/Copies/B/Leg")
    assert [part.path for part in body.parts] == list(prims)
    assert all(part.prim.IsInstanceProxy() for part in body.parts)
    theirs = baked(path, prims, TIMES)
    for part in body.parts:
        for time in TIMES:
            assert_allclose(body.points(time)[part.rows], theirs[part.path, time], atol=TOLERANCE)
    assert np.abs(theirs[prims[0], 4.0] + [-6, 0, 0] - theirs[prims[1], 4.0]).max() > 0.1


def test_points_in_an_instance_below_a_skeleton_outside_of_it(tmp_path):
    def edit(stage, mesh):
        stage.DefinePrim("/Parts", "Scope")
        stage.GetPrimAtPath("/Root/Leg").SetActive(False)
        add_leg(stage, "/Parts/Leg")
        inside = stage.DefinePrim("/Root/Inside", "Xform")
        inside.GetReferences().AddInternalReference("/Parts")
        inside.SetInstanceable(True)

    path = rig_file(tmp_path / "a.usda", edit)
    body = read_usd_body(path, prims=["/Root"])
    theirs = baked(path, ["/Root/Inside/Leg"], TIMES)
    for time in TIMES:
        assert_allclose(body.points(time), theirs["/Root/Inside/Leg", time], atol=TOLERANCE)


# -- rigs that are broken ----------------------------------------------------------------------------------------------


def no_joints(stage, mesh):
    stage.GetPrimAtPath("/Root/Skeleton").GetAttribute("joints").Clear()


def no_bind_pose(stage, mesh):
    stage.GetPrimAtPath("/Root/Skeleton").GetAttribute("bindTransforms").Set([Gf.Matrix4d(1)])


def no_skeleton(stage, mesh):
    stage.RemovePrim("/Root/Skeleton")


def missing_joint(stage, mesh):
    UsdSkel.BindingAPI(mesh).CreateJointsAttr(["hip", "hip/knee", "hip/knee/toe"])


def unposed_joint(stage, mesh):
    stage.GetPrimAtPath("/Root/Skeleton").GetAttribute("restTransforms").Clear()
    stage.GetPrimAtPath("/Root/Animation").GetAttribute("joints").Set(["hip", "hip/knee", "tail"])


def index_out_of_range(stage, mesh):
    UsdSkel.BindingAPI(mesh).GetJointIndicesPrimvar().Set([0, 1] * 7 + [0, 9] + [1, 2] * 12)


def too_few_indices(stage, mesh):
    UsdSkel.BindingAPI(mesh).GetJointIndicesPrimvar().Set([0, 1] * 7)


def no_weight(stage, mesh):
    UsdSkel.BindingAPI(mesh).GetJointWeightsPrimvar().Set([1.0, 0.0] * 5 + [0.0, 0.0] + [1.0, 0.0] * 14)


def weight_not_finite(stage, mesh):
    UsdSkel.BindingAPI(mesh).GetJointWeightsPrimvar().Set([1.0, 0.0] * 5 + [float("nan"), 0.0] + [1.0, 0.0] * 14)


def no_frames(stage, mesh):
    stage.GetPrimAtPath("/Root/Animation").GetAttribute("rotations").Clear()


def frames_of_fewer_joints(stage, mesh):
    attribute = stage.GetPrimAtPath("/Root/Animation").GetAttribute("translations")
    attribute.Clear()
    attribute.Set([(0, 0, 0)])


def frames_of_other_joints(stage, mesh):
    stage.GetPrimAtPath("/Root/Animation").GetAttribute("joints").Set(["a", "b", "c"])


def shape_of_other_points(stage, mesh):
    add_shapes(stage, mesh)
    UsdSkel.BlendShape(stage.GetPrimAtPath("/Root/Leg/Bulge")).GetPointIndicesAttr().Set([3, 77])


def polygons_that_change(stage, mesh):
    counts = list(mesh.GetFaceVertexCountsAttr().Get())
    mesh.GetFaceVertexCountsAttr().Set(counts, 1)
    mesh.GetFaceVertexCountsAttr().Set(counts[:-1], 3)


def points_that_change_in_number(stage, mesh):
    points = mesh.GetPointsAttr().Get()
    mesh.GetPointsAttr().Set(points, 1)
    mesh.GetPointsAttr().Set(points[:-1], 3)


@pytest.mark.parametrize(
    ("edit", "match"),
    [
        (no_joints, "is bound to /Root/Skeleton, which has no joints; export the skeleton again"),
        (no_bind_pose, "whose bindTransforms do not match its 3 joints"),
        (no_skeleton, "is bound to joints of a skeleton, which the file does not have; export it together"),
        (missing_joint, r"point 12 is bound to joint hip/knee/toe, which /Root/Skeleton does not have; bind it again"),
        (unposed_joint, "whose joint hip/knee/ankle has neither animation nor restTransforms"),
        (index_out_of_range, r"jointIndices must be below 3 \(= joints\), got 9 at point 7; bind it again"),
        (too_few_indices, "jointIndices has 14 values where 20 x 2 are needed"),
        (no_weight, r"jointWeights of point 5 sum to 0 \(1 such points\), so no joint holds it; paint weights"),
        (weight_not_finite, "jointWeights of point 5 are not finite"),
        (no_frames, "is moved by /Root/Animation, which has no frames of rotations; export the animation again"),
        (frames_of_fewer_joints, "which has 1 translations for 3 joints"),
        (frames_of_other_joints, r"whose joints \(a, \.\.\.\) are not those of /Root/Skeleton \(hip, \.\.\.\)"),
        (shape_of_other_points, "blend shape /Root/Leg/Bulge has offsets or pointIndices that do not fit 20 points"),
        (polygons_that_change, "faceVertexCounts changes at time 3, and a body must keep its triangles"),
        (points_that_change_in_number, r"has 19 points at time 3(\.0)?, not 20 as before; export it with constant"),
    ],
)
def test_a_broken_rig_is_refused_in_one_line(tmp_path, edit, match):
    path = rig_file(tmp_path / "a.usda", edit)
    with pytest.raises(ValueError, match=match) as caught:
        read_usd_body(path)
    assert str(caught.value).startswith(f"{path}: /Root/Leg")
    assert "\n" not in str(caught.value)


def test_weights_of_a_point_that_no_face_uses_do_not_matter(tmp_path):
    def edit(stage, mesh):
        points = list(mesh.GetPointsAttr().Get())
        mesh.GetPointsAttr().Set([*points, Gf.Vec3f(9, 9, 9)])
        binding = UsdSkel.BindingAPI(mesh)
        binding.GetJointIndicesPrimvar().Set([*binding.GetJointIndicesPrimvar().Get(), 0, 0])
        binding.GetJointWeightsPrimvar().Set([*binding.GetJointWeightsPrimvar().Get(), 0.0, 0.0])

    assert read_usd_body(rig_file(tmp_path / "a.usda", edit)).point_count == 21
