"""Stand-ins for characters that artists send: a leg of three joints, posed by UsdSkel in every way that files do it."""

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdSkel, Vt  # noqa: TID253 (tests of USD need it anyway)
from usd_files import carried, new_stage, place

RINGS = 5
JOINTS = ["hip", "hip/knee", "hip/knee/ankle"]
TIMES = (1.0, 2.5, 4.0)


def leg():
    """Points (4 RINGS, 3) and quads of a closed square column of height 2 along y."""
    ring = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * 0.2
    points = [(x, 2.0 * level / (RINGS - 1), z) for level in range(RINGS) for x, z in ring]
    quads = [(0, 1, 2, 3), tuple(range(4 * RINGS - 1, 4 * RINGS - 5, -1))]
    for low in range(0, 4 * (RINGS - 1), 4):
        quads += [(low + i, low + 4 + i, low + 4 + (i + 1) % 4, low + (i + 1) % 4) for i in range(4)]
    return np.array(points, np.float32), quads


def weights_of(points, joint_count=3):
    """Joint indices and weights (N, 2): each point is held by the joints below and above it, at 0, 1 and 2."""
    height = np.clip(np.asarray(points)[:, 1], 0, joint_count - 1)
    low = np.minimum(height.astype(int), joint_count - 2)
    share = (height - low).astype(np.float32)
    return np.stack([low, low + 1], axis=1).astype(np.int32), np.stack([1 - share, share], axis=1)


def translated(x, y, z):
    matrix = np.eye(4)
    matrix[:3, 3] = x, y, z
    return matrix


def gf(matrix):
    """A 4x4 matrix on column vectors as OpenUSD's own."""
    return Gf.Matrix4d(np.asarray(matrix, float).T.tolist())


def add_skeleton(stage, root, *, has_animation=True):
    """A skeleton below a SkelRoot, bound for all that is below that, with an animation of 90 degrees per joint."""
    skeleton = UsdSkel.Skeleton.Define(stage, f"{root}/Skeleton")
    skeleton.CreateJointsAttr(JOINTS)
    skeleton.CreateBindTransformsAttr([gf(translated(0, y, 0)) for y in range(3)])
    skeleton.CreateRestTransformsAttr([gf(translated(0, min(y, 1), 0)) for y in range(3)])
    UsdSkel.BindingAPI.Apply(stage.GetPrimAtPath(root)).CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    if has_animation:
        animation = add_animation(stage, f"{root}/Animation")
        UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([animation.GetPath()])
    return skeleton


def add_animation(stage, path, turn=90.0):
    """The knee bends by `turn` degrees, the hip wanders and grows."""
    animation = UsdSkel.Animation.Define(stage, path)
    animation.CreateJointsAttr(JOINTS)
    for time in TIMES:
        part = (time - TIMES[0]) / (TIMES[-1] - TIMES[0])
        animation.CreateTranslationsAttr().Set([(part, 0, 0), (0, 1, 0), (0, 1, 0)], time)
        knee, ankle = (Gf.Quatf(Gf.Rotation((0, 0, 1), angle * part).GetQuat()) for angle in (turn, -0.5 * turn))
        animation.CreateRotationsAttr().Set(Vt.QuatfArray([Gf.Quatf(1), knee, ankle]), time)
        animation.CreateScalesAttr().Set(Vt.Vec3hArray([Gf.Vec3h(1 + 0.5 * part), Gf.Vec3h(1), Gf.Vec3h(1)]), time)
    return animation


def add_leg(stage, path, *, geom_bind=None, method=None, joints=None):
    """A mesh that is bound to the skeleton above it; `joints` is an order of its own for the joints."""
    points, quads = leg()
    indices, weights = weights_of(points)
    if joints is not None:
        indices = np.array([joints.index(joint) for joint in JOINTS], np.int32)[indices]
    geom_bind = np.eye(4) if geom_bind is None else geom_bind
    mesh = UsdGeom.Mesh.Define(stage, path)
    authored = carried(np.linalg.inv(geom_bind), points).astype(np.float32)
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(authored))
    mesh.CreateFaceVertexCountsAttr([4] * len(quads))
    mesh.CreateFaceVertexIndicesAttr([corner for quad in quads for corner in quad])
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateGeomBindTransformAttr(gf(geom_bind))
    binding.CreateJointIndicesPrimvar(False, 2).Set(Vt.IntArray.FromNumpy(indices.reshape(-1)))
    binding.CreateJointWeightsPrimvar(False, 2).Set(Vt.FloatArray.FromNumpy(weights.reshape(-1).astype(np.float32)))
    if method:
        binding.CreateSkinningMethodAttr(method)
    if joints is not None:
        binding.CreateJointsAttr(joints)
    return mesh


def add_shapes(stage, mesh):
    """Two blend shapes, one with an in-between that does not lie on the way, driven by the animation beside it."""
    bulge = UsdSkel.BlendShape.Define(stage, f"{mesh.GetPath()}/Bulge")
    bulge.CreateOffsetsAttr([(0.3, 0, 0), (0, 0, 0.2)])
    bulge.CreatePointIndicesAttr([9, 10])
    between = bulge.CreateInbetween("half")
    between.SetWeight(0.5)
    between.SetOffsets([(0, 0.4, 0), (0, 0.1, 0)])
    lean = UsdSkel.BlendShape.Define(stage, f"{mesh.GetPath()}/Lean")
    lean.CreateOffsetsAttr([(0.05 * i, 0, -0.01 * i) for i in range(4 * RINGS)])
    animation = UsdSkel.Animation(stage.GetPrimAtPath("/Root/Animation"))
    animation.CreateBlendShapesAttr(["lean", "bulge"])
    for time, values in zip(TIMES, ((0, 0), (0.7, 0.4), (0.2, 1.0)), strict=True):
        animation.CreateBlendShapeWeightsAttr().Set(list(map(float, values)), time)
    binding = UsdSkel.BindingAPI(mesh.GetPrim())
    binding.CreateBlendShapesAttr(["bulge", "lean"])
    binding.CreateBlendShapeTargetsRel().SetTargets([bulge.GetPath(), lean.GetPath()])


def rig_file(path, edit=lambda stage, mesh: None, *, up="Y", unit=1.0, root_matrix=None, **leg_options):
    """A SkelRoot with a skeleton and a leg, as `edit` leaves it."""
    stage = new_stage(path, up, unit)
    root = UsdSkel.Root.Define(stage, "/Root")
    if root_matrix is not None:
        place(root, root_matrix)
    add_skeleton(stage, "/Root")
    mesh = add_leg(stage, "/Root/Leg", **leg_options)
    stage.SetDefaultPrim(root.GetPrim())
    stage.SetStartTimeCode(TIMES[0])
    stage.SetEndTimeCode(TIMES[-1])
    edit(stage, mesh)
    stage.Save()
    return path


def baked(path, prim_paths, times):
    """What OpenUSD's own baking makes of prims: points in the world of the stage, by path and time."""
    stage = Usd.Stage.Open(str(path))
    stage.SetEditTarget(stage.GetSessionLayer())  # the file must stay as it is
    instances = [prim for prim in stage.Traverse() if prim.IsInstanceable()]
    for prim in instances:
        prim.SetInstanceable(False)  # OpenUSD bakes no instances
    if instances:
        stage = Usd.Stage.Open(stage.Flatten())  # what is baked must not be what others refer to
    for prim in list(stage.Traverse()):
        if prim.IsA(UsdSkel.Root):
            UsdSkel.BakeSkinning(UsdSkel.Root(prim), Gf.Interval(min(times), max(times)))
    found = {}
    for prim_path in prim_paths:
        prim = stage.GetPrimAtPath(prim_path)
        for time in times:
            world = np.array(UsdGeom.XformCache(time).GetLocalToWorldTransform(prim)).T
            points = np.array(UsdGeom.PointBased(prim).GetPointsAttr().Get(time))
            found[prim_path, time] = carried(world, points)
    return found


def upright(points, unit=1.0, up="Y"):
    """Points of a stage in metres with Y up."""
    points = np.asarray(points) * unit
    return points if up == "Y" else points[:, [0, 2, 1]] * [1, 1, -1]
