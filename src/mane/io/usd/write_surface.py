"""The surface of water as one USD mesh whose triangles change from frame to frame."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mane.body.mesh import Mesh
from mane.geometry.checks import require_positive

PRIM = "/Water"


def write_surface(
    path: str | os.PathLike[str], meshes: Sequence[Mesh | None], rate: float, *, start: float = 1.0
) -> Path:
    """Write a mesh with samples of points and topology; return the file.

    Args:
        path: a USD file.
        meshes: one per frame [m], Y up; None where there is no water.
        rate: frames per second.
        start: time code of the first.
    """
    from pxr import Usd, UsdGeom, Vt

    from mane.io.usd.diagnostics import writing
    from mane.io.usd.files import check_target, export_layer, extent_of, vectors
    from mane.io.usd.stage import animated_layer

    require_positive("rate", rate)
    if not meshes:
        raise ValueError("meshes: must hold at least one frame, got none")
    target = check_target(Path(path))
    with writing(target):
        layer = animated_layer(PRIM, rate, start, start + len(meshes) - 1)
        stage = Usd.Stage.Open(layer)  # held while its prims are written
        prim = UsdGeom.Mesh.Define(stage, PRIM)
        prim.CreateSubdivisionSchemeAttr("none")
        counts, indices = prim.CreateFaceVertexCountsAttr(), prim.CreateFaceVertexIndicesAttr()
        points, extent = prim.CreatePointsAttr(), prim.CreateExtentAttr()
        for number, mesh in enumerate(meshes):
            places = np.zeros((0, 3), np.float32) if mesh is None else mesh.points
            faces = np.zeros((0, 3), np.int32) if mesh is None else mesh.faces
            code = start + number
            points.Set(vectors(places), code)
            counts.Set(Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)), code)
            indices.Set(Vt.IntArray.FromNumpy(np.ascontiguousarray(faces.reshape(-1), np.int32)), code)
            if mesh is not None:
                extent.Set(vectors(extent_of(places, 0.0)), code)
    export_layer(layer, target)
    return target
