"""Meshes of a USD file as a body: any polygons, any transform, any motion."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pxr import Gf, Usd, UsdGeom, UsdSkel, Vt  # noqa: TID253 (tests of USD need it anyway)
from usd_files import affine, carried, new_stage, place, primvar

from mane.body.mesh import Mesh
from mane.io.notices import RepairNotice
from mane.io.usd import read_usd_body, read_usd_mesh
from mane.io.usd.triangulate import triangulate

CUBE = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float32)
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def add_mesh(stage, path, points=CUBE, polygons=QUADS):
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.asarray(points, np.float32)))
    mesh.CreateFaceVertexCountsAttr([len(polygon) for polygon in polygons])
    mesh.CreateFaceVertexIndicesAttr([vertex for polygon in polygons for vertex in polygon])
    return mesh


def cube_file(path, edit=lambda stage, mesh: None, **units):
    stage = new_stage(path, **units)
    edit(stage, add_mesh(stage, "/Root/Body"))
    stage.Save()
    return path


def test_quads_become_triangles_that_face_out(tmp_path):
    mesh = read_usd_mesh(cube_file(tmp_path / "a.usda"))
    assert mesh.face_count == 12
    assert mesh.is_closed
    assert mesh.volume == pytest.approx(8.0)
    assert_array_equal(mesh.points, CUBE)


def test_units_and_transforms_apply(tmp_path):
    def edit(stage, mesh):
        place(UsdGeom.Xform.Define(stage, "/Root"), affine(1))
        place(mesh, affine(2))

    mesh = read_usd_mesh(cube_file(tmp_path / "a.usda", edit, up="Z", unit=0.01))
    expected = carried(affine(1) @ affine(2), CUBE)[:, [0, 2, 1]] * [1, 1, -1] * 0.01
    assert_allclose(mesh.points, expected, atol=1e-7)
    assert mesh.volume == pytest.approx(8 * 64 * 1e-6, rel=1e-5)  # twice scaled by 2, in cubic centimetres


@pytest.mark.parametrize("is_left_handed", [False, True])
@pytest.mark.parametrize("is_mirrored", [False, True])
def test_triangles_face_out_whatever_the_handedness(tmp_path, is_left_handed, is_mirrored):
    def edit(stage, mesh):
        if is_left_handed:
            mesh.CreateOrientationAttr("leftHanded")
            mesh.CreateFaceVertexIndicesAttr([vertex for quad in QUADS for vertex in quad[::-1]])
        if is_mirrored:
            place(mesh, np.diag([-1.0, 1, 1, 1]))

    assert read_usd_mesh(cube_file(tmp_path / "a.usda", edit)).volume == pytest.approx(8.0)


def test_holes_stay_open(tmp_path):
    mesh = read_usd_mesh(cube_file(tmp_path / "a.usda", lambda stage, mesh: mesh.CreateHoleIndicesAttr([1, 4])))
    assert mesh.face_count == 8
    assert not mesh.is_closed


def test_concave_polygons_are_cut_into_triangles_that_cover_them():
    """A star of ten corners, whose fan would fold over; the area is that of the polygon (shoelace formula)."""
    angle = np.linspace(0, 2 * np.pi, 10, endpoint=False)
    radius = np.where(np.arange(10) % 2, 0.3, 1.0)
    star = np.stack([radius * np.cos(angle), np.zeros(10), radius * np.sin(angle)], axis=1).astype(np.float32)
    points = np.vstack([star, [(0, 5, 0), (1, 5, 0), (0, 6, 0)]])
    triangles, polygon = triangulate(points, np.array([3, 10, 2]), np.array([10, 11, 12, *range(10), 0, 1]))
    assert polygon.tolist() == [0] + [1] * 8
    x, z = star[:, 0], star[:, 2]
    shoelace = 0.5 * abs(np.sum(x * np.roll(z, -1) - z * np.roll(x, -1)))
    areas = Mesh.mended(points, triangles[polygon == 1]).face_areas
    assert areas.sum() == pytest.approx(shoelace, rel=1e-5)
    a, b, c = (points[triangles[1:, corner]] for corner in range(3))
    assert (np.cross(b - a, c - a)[:, 1] < 0).all()  # all facing the way of the polygon itself


def test_a_concave_quad_is_cut_on_its_inner_diagonal(tmp_path):
    arrow = [(0, 0, 0), (1, 1, 0), (0, 0.3, 0), (-1, 1, 0)]
    stage = new_stage(tmp_path / "a.usda")
    add_mesh(stage, "/Body", np.roll(arrow, 1, axis=0), [(0, 1, 2, 3)])
    stage.Save()
    # A triangle of area 1 with a notch of 0.7.
    assert read_usd_mesh(tmp_path / "a.usda").face_areas.sum() == pytest.approx(0.3, rel=1e-6)


def test_several_meshes_are_one_body(tmp_path):
    def edit(stage, mesh):
        place(add_mesh(stage, "/Root/Other"), np.array([[1, 0, 0, 5], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]]))
        add_mesh(stage, "/Root/Guide").CreatePurposeAttr("guide")
        add_mesh(stage, "/Root/Proxy").CreatePurposeAttr("proxy")

    path = cube_file(tmp_path / "a.usda", edit)
    mesh = read_usd_mesh(path)
    assert mesh.volume == pytest.approx(16.0)
    assert mesh.vertex_count == 16
    assert_array_equal(mesh.points[8:], CUBE + [5, 0, 0])
    assert read_usd_mesh(path, prims=["/Root/Other"]).vertex_count == 8


def test_instanced_meshes_are_read_where_they_are(tmp_path):
    def edit(stage, mesh):
        copy = stage.DefinePrim("/Copy", "Xform")
        copy.GetReferences().AddInternalReference("/Root")
        copy.SetInstanceable(True)
        UsdGeom.Xformable(copy).AddTranslateOp().Set((9, 0, 0))

    mesh = read_usd_mesh(cube_file(tmp_path / "a.usda", edit))
    assert mesh.volume == pytest.approx(16.0)
    assert mesh.bounds[1, 0] == 10


def test_uv_with_one_value_per_vertex_are_kept(tmp_path):
    uv = np.arange(16, dtype=np.float32).reshape(8, 2)
    corners = [uv[vertex].tolist() for quad in QUADS for vertex in quad]

    def per_vertex(stage, mesh):
        primvar(mesh, "st", "TexCoord2fArray", "vertex", Vt.Vec2fArray.FromNumpy(uv))

    def per_corner(stage, mesh):
        primvar(mesh, "UVMap", "TexCoord2fArray", "faceVarying", [tuple(corner) for corner in corners])

    def with_seam(stage, mesh):
        primvar(mesh, "st", "TexCoord2fArray", "faceVarying", [(9.0, 9.0), *[tuple(c) for c in corners[1:]]])

    for edit in (per_vertex, per_corner):
        assert_array_equal(read_usd_mesh(cube_file(tmp_path / f"{edit.__name__}.usda", edit)).uv, uv)
    assert read_usd_mesh(cube_file(tmp_path / "seam.usda", with_seam)).uv is None


def test_triangles_without_area_are_left_out_aloud(tmp_path):
    stage = new_stage(tmp_path / "a.usda")
    add_mesh(stage, "/Body", CUBE, [*QUADS, (0, 0, 1), (2, 3)])
    stage.Save()
    with pytest.warns(RepairNotice, match="1 of 13 triangles have no area"):
        assert read_usd_mesh(tmp_path / "a.usda").is_closed


# -- motion ----------------------------------------------------------------------------------------------------------


def test_sampled_points_and_transforms_move(tmp_path):
    def edit(stage, mesh):
        stage.SetTimeCodesPerSecond(30)
        attribute = mesh.GetPointsAttr()
        attribute.Clear()
        for time in (1, 3):
            attribute.Set(Vt.Vec3fArray.FromNumpy(CUBE * np.float32(time)), time)
        for time, shift in ((0, 0.0), (4, 4.0)):
            matrix = np.eye(4)
            matrix[1, 3] = shift
            place(mesh, matrix, time)

    body = read_usd_body(cube_file(tmp_path / "a.usda", edit))
    assert body.times.tolist() == [0, 1, 3, 4]
    assert body.timing.time_codes_per_second == 30
    assert_allclose(body.points(2), 2 * CUBE + [0, 2, 0], atol=1e-6)
    assert_allclose(body.mesh(2).points, body.points(2))
    frames = list(body.frames())
    assert [time for time, _ in frames] == [0, 1, 3, 4]
    assert_allclose(frames[2][1], 3 * CUBE + [0, 3, 0], atol=1e-6)
    assert [len(points) for _, points in body.frames([0.5, 1.5])] == [8, 8]


def skeleton_file(path, *, rigid=False, method=None):
    """A tube of two joints whose second one bends by 90 degrees about z from time 1 to 3."""
    stage = new_stage(path)
    root = UsdSkel.Root.Define(stage, "/Root")
    UsdGeom.Xformable(root).AddTranslateOp().Set((0, 0, 5))
    skeleton = UsdSkel.Skeleton.Define(stage, "/Root/Skeleton")
    place(skeleton, np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]]))
    skeleton.CreateJointsAttr(["hip", "hip/knee"])
    rest = [Gf.Matrix4d(1), Gf.Matrix4d(1).SetTranslate((0, 1, 0))]
    skeleton.CreateBindTransformsAttr(rest)
    skeleton.CreateRestTransformsAttr(rest)
    animation = UsdSkel.Animation.Define(stage, "/Root/Animation")
    animation.CreateJointsAttr(["hip", "hip/knee"])
    animation.CreateTranslationsAttr([(0, 0, 0), (0, 1, 0)])
    animation.CreateScalesAttr([(1, 1, 1), (1, 1, 1)])
    for time, angle in ((1, 0), (3, 90)):
        turn = Gf.Quatf(Gf.Rotation((0, 0, 1), angle).GetQuat())
        animation.CreateRotationsAttr().Set(Vt.QuatfArray([Gf.Quatf(1), turn]), time)
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([animation.GetPath()])
    mesh = add_mesh(stage, "/Root/Body", [(0, 0, 0), (1, 0, 0), (0, 2, 0)], [(0, 1, 2)])
    UsdGeom.Xformable(mesh).AddTranslateOp().Set((0, 0, 7))  # skinned meshes ignore their own transform
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    binding.CreateGeomBindTransformAttr(Gf.Matrix4d(1))
    if rigid:
        binding.CreateJointIndicesPrimvar(True, 1).Set([1])
        binding.CreateJointWeightsPrimvar(True, 1).Set([1.0])
    else:
        binding.CreateJointIndicesPrimvar(False, 1).Set([0, 0, 1])
        binding.CreateJointWeightsPrimvar(False, 1).Set([1.0, 1.0, 1.0])
    if method:
        binding.CreateSkinningMethodAttr(method)
    stage.SetDefaultPrim(root.GetPrim())
    stage.Save()
    return path


@pytest.mark.parametrize("method", [None, "dualQuaternion"])
def test_joints_move_the_skin_at_any_time(tmp_path, method):
    body = read_usd_body(skeleton_file(tmp_path / "a.usda", method=method))
    assert body.times.tolist() == [1, 3]
    root, hip = np.array([1.0, 0, 5]), [(0, 0, 0), (1, 0, 0)]
    for time, angle in ((1, 0.0), (2, np.pi / 4), (2.5, 3 * np.pi / 8), (3, np.pi / 2)):
        knee = np.array([0, 1, 0]) + [-np.sin(angle), np.cos(angle), 0]
        assert_allclose(body.points(time), root + [*hip, knee], atol=2e-6)


def test_rigid_parts_follow_one_joint(tmp_path):
    body = read_usd_body(skeleton_file(tmp_path / "a.usda", rigid=True))
    # Turned by 90 degrees about (0, 1, 0): (x, y) -> (1 - y, 1 + x).
    assert_allclose(body.points(3), np.array([(1, 1, 0), (1, 2, 0), (-1, 1, 0)]) + [1, 0, 5], atol=2e-6)


def test_skinning_agrees_with_openusds_own_baking(tmp_path):
    path = skeleton_file(tmp_path / "a.usda")
    ours = [read_usd_body(path).points(time) for time in (1, 3)]
    stage = Usd.Stage.Open(str(path))
    UsdSkel.BakeSkinning(UsdSkel.Root(stage.GetPrimAtPath("/Root")), Gf.Interval(1, 3))
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/Root/Body"))
    for time, points in zip((1, 3), ours, strict=True):
        world = np.array(UsdGeom.XformCache(time).GetLocalToWorldTransform(mesh.GetPrim())).T
        assert_allclose(points, carried(world, np.array(mesh.GetPointsAttr().Get(time))), atol=2e-6)


def test_blend_shapes_move_the_skin(tmp_path):
    path = skeleton_file(tmp_path / "a.usda")
    stage = Usd.Stage.Open(str(path))
    shape = UsdSkel.BlendShape.Define(stage, "/Root/Body/Smile")
    shape.CreateOffsetsAttr([(0, 0, 4)])
    shape.CreatePointIndicesAttr([1])
    animation = UsdSkel.Animation(stage.GetPrimAtPath("/Root/Animation"))
    animation.CreateBlendShapesAttr(["smile"])
    animation.CreateBlendShapeWeightsAttr().Set([0.0], 1)
    animation.CreateBlendShapeWeightsAttr().Set([1.0], 3)
    binding = UsdSkel.BindingAPI(stage.GetPrimAtPath("/Root/Body"))
    binding.CreateBlendShapesAttr(["smile"])
    binding.CreateBlendShapeTargetsRel().SetTargets([shape.GetPath()])
    stage.Save()
    assert_allclose(read_usd_body(path).points(2)[1], [2, 0, 7], atol=2e-6)  # half of 4 along z


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "match"),
    [
        (lambda mesh: mesh.GetFaceVertexIndicesAttr().Set([0, 1, 2, 99] * 6), "must be below 8, got 99 at index 3"),
        (lambda mesh: mesh.GetFaceVertexCountsAttr().Set([4]), "faceVertexCounts add up to 4"),
        (lambda mesh: mesh.GetPointsAttr().Set([]), "has no points"),
        (
            lambda mesh: [mesh.GetFaceVertexCountsAttr().Set(n, t) for t, n in ((1, [4] * 6), (2, [3] * 8))],
            "faceVertexCounts changes at time 2",
        ),
        (lambda mesh: mesh.GetPointsAttr().Set([(np.nan, 0, 0)] * 8), "is not finite"),
        (lambda mesh: mesh.GetPointsAttr().Set([(0, 0, 0)] * 8), "no triangle with an area"),
        (lambda mesh: mesh.CreatePurposeAttr("guide"), "has no Mesh; export the body as a mesh"),
    ],
)
def test_bad_meshes_are_refused_in_one_line(tmp_path, edit, match):
    path = cube_file(tmp_path / "a.usda", lambda stage, mesh: edit(mesh))
    with pytest.raises(ValueError, match=match) as caught:
        read_usd_mesh(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_points_that_change_in_number_are_refused(tmp_path):
    def edit(stage, mesh):
        mesh.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(CUBE), 1)
        mesh.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(CUBE[:7]), 2)

    with pytest.raises(ValueError, match=r"has 7 points at time 2.*not 8 as before"):  # before anybody asks for time 2
        read_usd_body(cube_file(tmp_path / "a.usda", edit))
