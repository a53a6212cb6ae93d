"""What the tests of USD share: small files of every kind, and OpenUSD's own opinion of what we write."""

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdValidation, Vt  # noqa: TID253 (tests of USD need it anyway)

from mane.groom.groom import Groom


def new_stage(path, up="Y", unit=1.0):
    """A stage on disk with units; None leaves one unauthored."""
    stage = Usd.Stage.CreateNew(str(path))
    if up is not None:
        UsdGeom.SetStageUpAxis(stage, up)
    if unit is not None:
        UsdGeom.SetStageMetersPerUnit(stage, unit)
    return stage


def strands(counts=(4, 7, 4), seed=0):
    """Points and counts of a few wavy strands."""
    rng = np.random.default_rng(seed)
    pieces = [np.cumsum(rng.normal(size=(count, 3)) * 0.1 + [0, 0.2, 0], axis=0) for count in counts]
    return np.concatenate(pieces).astype(np.float32), np.asarray(counts)


def add_curves(stage, path, points, counts, type="linear", basis=None, wrap=None):
    """A BasisCurves prim; the stage's root prim becomes its default prim."""
    curves = UsdGeom.BasisCurves.Define(stage, path)
    curves.CreateTypeAttr(type)
    if basis:
        curves.CreateBasisAttr(basis)
    if wrap:
        curves.CreateWrapAttr(wrap)
    curves.CreateCurveVertexCountsAttr(Vt.IntArray([int(count) for count in counts]))
    curves.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.asarray(points, np.float32)))
    curves.CreateExtentAttr(UsdGeom.BasisCurves.ComputeExtent(curves.GetPointsAttr().Get(), [0.0]))
    root = curves.GetPath().GetPrefixes()[0]
    stage.SetDefaultPrim(stage.GetPrimAtPath(root))
    return curves


def curves_file(path, points, counts, up="Y", unit=1.0, **shape):
    """A file with one BasisCurves prim at /Hair."""
    stage = new_stage(path, up, unit)
    add_curves(stage, "/Hair", points, counts, **shape)
    stage.Save()
    return path


def primvar(prim, name, kind, interpolation, value, element_size=None):
    created = UsdGeom.PrimvarsAPI(prim).CreatePrimvar(name, getattr(Sdf.ValueTypeNames, kind), interpolation)
    if element_size:
        created.SetElementSize(element_size)
    created.Set(value)
    return created


def place(prim, matrix, time=None):
    """Give a prim a transform by a 4x4 matrix on column vectors, at a time code or for all times."""
    xformable = UsdGeom.Xformable(prim)
    existing = xformable.GetOrderedXformOps()
    operation = existing[0] if existing else xformable.AddTransformOp()
    value = Gf.Matrix4d(np.asarray(matrix, float).T.tolist())
    operation.Set(value) if time is None else operation.Set(value, time)


def affine(seed):
    """A 4x4 matrix that turns, stretches by 2 overall and moves."""
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    matrix = np.eye(4)
    matrix[:3, :3] = 2.0 * turn * np.sign(np.linalg.det(turn))
    matrix[:3, 3] = rng.normal(size=3)
    return matrix


def carried(matrix, points):
    return np.asarray(points, np.float64) @ matrix[:3, :3].T + matrix[:3, 3]


def value_of(path, prim, attribute, time=None):
    """A value of a composed stage as an array."""
    stage = Usd.Stage.Open(str(path))
    code = Usd.TimeCode.EarliestTime() if time is None else Usd.TimeCode(time)
    value = stage.GetPrimAtPath(prim).GetAttribute(attribute).Get(code)
    return None if value is None else np.array(value)


def faults(path):
    """Everything that OpenUSD's validators find wrong with a file, warnings included."""
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    found = UsdValidation.ValidationContext(validators).Validate(Usd.Stage.Open(str(path)))
    return [f"{fault.GetName()}: {fault.GetMessage()}" for fault in found]


def full_groom(strand_count=12, vertex_count=5, seed=0):
    """A groom with an attribute of every kind, a third of it guides."""
    rng = np.random.default_rng(seed)
    total = strand_count * vertex_count
    return Groom.from_uniform(
        rng.normal(size=(strand_count, vertex_count, 3)).astype(np.float32),
        strand={
            "width": rng.random(strand_count).astype(np.float32) * 1e-4,
            "group_id": np.arange(strand_count) % 3,
            "root_uv": rng.random((strand_count, 2)).astype(np.float32),
            "is_guide": np.arange(strand_count) % 3 == 0,
            "id": 100 + np.arange(strand_count),
            "closest_guides": rng.integers(100, 100 + strand_count, (strand_count, 3)).astype(np.int32),
            "guide_weights": rng.random((strand_count, 3)).astype(np.float32),
            "groom_roughness": rng.random(strand_count).astype(np.float32),
            "five_numbers": rng.random((strand_count, 5)).astype(np.float32),
            "flag": np.arange(strand_count) % 2 == 0,
        },
        vertex={
            "color": rng.random((total, 3)).astype(np.float32),
            "stiffness_map": rng.random(total).astype(np.float32),
            "label": np.arange(total, dtype=np.int32),
            "precise": rng.random((total, 2)),
        },
        group_names={0: "scalp", 1: "brow", 2: "beard"},
    )


def assert_same_groom(found, expected):
    """Same strands in the same order, with the same attributes, bit for bit."""
    assert found.points.tobytes() == expected.points.tobytes()
    assert found.offsets.tolist() == expected.offsets.tolist()
    for scope in ("strand", "vertex"):
        mine, theirs = getattr(found, scope), getattr(expected, scope)
        assert set(mine) == set(theirs)
        for name, values in theirs.items():
            assert mine[name].dtype == values.dtype, name
            np.testing.assert_array_equal(mine[name], values, err_msg=name)
    assert found.group_names == expected.group_names
