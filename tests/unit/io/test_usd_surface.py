"""Surfaces of water to USD and back."""

import numpy as np
import pytest

from mane.body.shapes import Sphere
from mane.io.usd.write_surface import write_surface


def test_a_surface_whose_triangles_change_comes_back(tmp_path):
    from pxr import Usd, UsdGeom

    meshes = [Sphere((0.0, 0.1, 0.0), 0.2).mesh(8), None, Sphere((0.0, 0.0, 0.0), 0.1).mesh(12)]
    target = write_surface(tmp_path / "water.usda", meshes, 24.0)
    stage = Usd.Stage.Open(str(target))
    prim = UsdGeom.Mesh(stage.GetDefaultPrim())
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetTimeCodesPerSecond()) == (1.0, 3.0, 24.0)
    assert UsdGeom.GetStageUpAxis(stage) == "Y"
    for code, mesh in enumerate(meshes, 1):
        points = np.array(prim.GetPointsAttr().Get(code)).reshape(-1, 3)
        faces = np.array(prim.GetFaceVertexIndicesAttr().Get(code)).reshape(-1, 3)
        expected = np.zeros((0, 3)) if mesh is None else mesh.points
        assert np.array_equal(points, expected)
        assert len(faces) == (0 if mesh is None else len(mesh.faces))
    with pytest.raises(ValueError, match="meshes: must hold at least one frame"):
        write_surface(tmp_path / "none.usda", [], 24.0)
