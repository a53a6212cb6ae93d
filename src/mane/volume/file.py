"""Meshes of a shot on disk: a USD file with a tetrahedral mesh whose nodes have time samples (docs/methods/volume.md).

`/Kdsm/Tets` is a UsdGeom.TetMesh with what mane needs to bind hair to it, `/Kdsm/Surface` its outer triangles, which
Blender and others that know no tetrahedra show. Both may be edited: what is read is `points` of `Tets`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.cache import content_key
from mane.body.mesh import Mesh
from mane.body.solid import Solid
from mane.geometry.checks import IntArray
from mane.volume.lattice import Float64Array, Lattice
from mane.volume.mesh import TetMesh
from mane.volume.motion import PlayedMesh

VERSION = 2  # says which shot of a body it is of
ROOT, TETS, SURFACE = "/Kdsm", "/Kdsm/Tets", "/Kdsm/Surface"
SUFFIXES = (".usd", ".usda", ".usdc")
PREFIX = "mane:"
PROBES, PROBE_TIMES = 16, 5  # vertices of the skin and times by which another shot of the same body is told
NEAR = 1e-3  # [m] by which these may differ
INTEGERS = ("keys", "patch_of_vertex", "copy_keys", "copy_tets", "node_pairs", "is_driven")


def kdsm_path(path: str | os.PathLike[str]) -> Path:
    """The file that a name stands for: `shot.kdsm` is `shot.kdsm.usdc`, since USD knows files by their ending."""
    given = Path(path)
    return given if given.suffix.lower() in SUFFIXES else given.with_name(given.name + ".usdc")


def skin_key(skin: Mesh | None) -> str:
    """What tells the skin of one body from that of another."""
    return "" if skin is None else content_key(skin.points, skin.faces)


def write_kdsm(
    path: str | os.PathLike[str],
    mesh: TetMesh,
    times: Float64Array,
    samples: NDArray[np.floating],
    *,
    body: Solid | None,
    rate: float = 24.0,
    start: float = 1.0,
) -> Path:
    """Write a mesh and its nodes over a shot; return the file.

    Args:
        path: `.usd`, `.usda`, `.usdc`, or a name that gets `.usdc`.
        mesh: at rest.
        times: of the samples [s], shape (F,).
        samples: nodes at these times [m], shape (F, N, 3).
        body: that the mesh was stepped along with, by which another body and another shot of it are told.
        rate: time codes per second.
        start: time code at 0 s.
    """
    from pxr import Sdf, Usd, UsdGeom, Vt

    from mane.io.usd.diagnostics import writing
    from mane.io.usd.files import check_target, export_layer, extent_of, vectors
    from mane.io.usd.stage import animated_layer

    target = check_target(kdsm_path(path))
    with writing(target):
        codes = start + np.asarray(times) * rate
        layer = animated_layer(ROOT, rate, float(codes[0]), float(codes[-1]))
        stage = Usd.Stage.Open(layer)
        UsdGeom.Xform.Define(stage, ROOT)
        tets = UsdGeom.TetMesh.Define(stage, TETS)
        tets.CreateTetVertexIndicesAttr(Vt.Vec4iArray.FromNumpy(np.ascontiguousarray(mesh.tets, np.int32)))
        faces = _outer_faces(mesh.tets)
        tets.CreateSurfaceFaceVertexIndicesAttr(Vt.Vec3iArray.FromNumpy(np.ascontiguousarray(faces, np.int32)))
        used, local = np.unique(faces, return_inverse=True)
        surface = UsdGeom.Mesh.Define(stage, SURFACE)
        surface.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)))
        surface.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(local.reshape(-1).astype(np.int32)))
        surface.CreateSubdivisionSchemeAttr("none")
        tets.GetPrim().CreateAttribute("primvars:displayOpacity", Sdf.ValueTypeNames.FloatArray).Set([0.3])
        inner, outer = tets.CreatePointsAttr(), surface.CreatePointsAttr()
        for sample, code in zip(samples, codes.tolist(), strict=True):
            nodes = np.asarray(sample, np.float32)
            inner.Set(vectors(nodes), code)
            outer.Set(vectors(nodes[used]), code)
        tets.CreateExtentAttr(vectors(extent_of(np.asarray(samples[0], np.float32), 0.0)))
        _author_mesh(tets.GetPrim(), mesh, None if body is None else body.skin)
        _author_probes(tets.GetPrim(), body, np.asarray(times, np.float64))
    export_layer(layer, target)
    return target


def _author_mesh(prim: Any, mesh: TetMesh, skin: Mesh | None) -> None:
    from pxr import Gf, Sdf, Vt

    kinds = Sdf.ValueTypeNames
    lattice = mesh.lattice
    plain = {
        "version": (kinds.Int, VERSION),
        "skin": (kinds.String, skin_key(skin)),
        "spacing": (kinds.Double, lattice.spacing),
        "origin": (kinds.Double3, Gf.Vec3d(*lattice.origin.tolist())),
        "counts": (kinds.Int3, Gf.Vec3i(*lattice.counts.tolist())),
    }
    for name, (kind, value) in plain.items():
        prim.CreateAttribute(PREFIX + name, kind, True).Set(value)
    for name in INTEGERS:
        values = np.ascontiguousarray(getattr(mesh, name).reshape(-1), np.int64)
        prim.CreateAttribute(PREFIX + name, kinds.Int64Array, True).Set(Vt.Int64Array.FromNumpy(values))


def _author_probes(prim: Any, body: Solid | None, times: Float64Array) -> None:
    """Say where some vertices of the skin are at some times of the shot."""
    from pxr import Sdf, Vt

    from mane.io.usd.files import vectors

    if body is None or body.animation is None:
        return
    chosen = times[np.unique(np.linspace(0, len(times) - 1, PROBE_TIMES).round().astype(np.int64))]
    kinds = Sdf.ValueTypeNames
    prim.CreateAttribute(PREFIX + "probe_times", kinds.DoubleArray, True).Set(Vt.DoubleArray.FromNumpy(chosen))
    points = probes_of(body, chosen).reshape(-1, 3).astype(np.float32)
    prim.CreateAttribute(PREFIX + "probes", kinds.Float3Array, True).Set(vectors(points))


def probes_of(body: Solid, times: Float64Array) -> Float64Array:
    """Some vertices of a body's skin at times [s], shape (times, vertices, 3)."""
    assert body.animation is not None
    vertices = np.linspace(0, body.animation.mesh.vertex_count - 1, PROBES).round().astype(np.int64)
    found = []
    for time in times.tolist():
        points = body.animation.precise_points(time)[vertices]
        found.append(points if body.motion is None else body.motion.pose(time).apply(points))
    return np.stack(found)


def _check_shot(file: Path, prim: Any, body: Solid) -> None:
    """Refuse a mesh that was stepped along with another body, or along with this one in another shot."""
    if prim.GetAttribute(PREFIX + "skin").Get() != skin_key(body.skin):
        raise ValueError(f"{file}: belongs to another body than this one; write it again by `mane volume`")
    times, probes = (prim.GetAttribute(PREFIX + name).Get() for name in ("probe_times", "probes"))
    if body.animation is None or times is None or probes is None:
        return
    here = probes_of(body, np.array(times, np.float64))
    off = np.linalg.norm(here - np.array(probes, np.float64).reshape(here.shape), axis=2).max(axis=1)
    wrong = np.flatnonzero(~(off <= NEAR))
    if len(wrong):
        raise ValueError(
            f"{file}: belongs to another shot of this body, whose skin is {1e3 * off[wrong[0]]:.3g} mm off at "
            f"{times[int(wrong[0])]:g} s; write it again by `mane volume`"
        )


def read_kdsm(path: str | os.PathLike[str], body: Solid | None = None) -> PlayedMesh:
    """Read a mesh over a shot.

    Args:
        path: as `write_kdsm` was given it.
        body: that hair grows on, which must be that of the shot, and move as it does there.

    Raises:
        ValueError: the file is no such mesh, is damaged, or belongs to another body or shot; in one line.
    """
    from mane.io.usd.diagnostics import reading
    from mane.io.usd.stage import open_stage

    file = kdsm_path(path)
    stage = open_stage(file)
    with reading(file):
        prim = stage.GetPrimAtPath(TETS)
        if not prim or not prim.GetAttribute(PREFIX + "version"):
            raise ValueError(f"{file}: holds no mesh of a shot ({TETS}); write one by `mane volume`")
        version = prim.GetAttribute(PREFIX + "version").Get()
        if version != VERSION:
            raise ValueError(f"{file}: is of version {version}, and {VERSION} is read; write it again by `mane volume`")
        if body is not None:
            _check_shot(file, prim, body)
        return _read_prim(file, stage, prim)


def _read_prim(file: Path, stage: Any, prim: Any) -> PlayedMesh:
    def plain(name: str) -> Any:
        value = prim.GetAttribute(PREFIX + name).Get()
        if value is None:
            raise ValueError(f"{file}: {TETS} lacks {PREFIX}{name}; the file is damaged, write it again")
        return value

    lattice = Lattice(
        np.array(plain("origin"), np.float64), float(plain("spacing")), np.array(plain("counts"), np.int64)
    )
    arrays = {name: np.array(plain(name), np.int64) for name in INTEGERS}
    tets = np.array(prim.GetAttribute("tetVertexIndices").Get(), np.int32).reshape(-1, 4)
    points = prim.GetAttribute("points")
    codes = np.array(points.GetTimeSamples())
    if len(codes) == 0:
        raise ValueError(f"{file}: {TETS} has no time samples of points; write it again by `mane volume`")
    samples = np.stack([np.array(points.Get(code), np.float32) for code in codes])
    mesh = _checked_mesh(file, lattice, tets, arrays, samples)
    start, rate = float(stage.GetStartTimeCode()), float(stage.GetTimeCodesPerSecond())
    return PlayedMesh(mesh, (codes - start) / rate, samples)


def _checked_mesh(
    file: Path, lattice: Lattice, tets: NDArray[np.int32], arrays: dict[str, IntArray], samples: NDArray[np.float32]
) -> TetMesh:
    """The mesh at rest, whose nodes are where the lattice has them."""
    count, keys = samples.shape[1], arrays["keys"]
    sound = (
        len(keys) == len(tets) > 0
        and len(arrays["is_driven"]) == count
        and int(keys.min()) >= 0
        and int(keys.max()) < lattice.key_count
        and int(tets.min()) >= 0
        and int(tets.max()) < count
        and len(arrays["copy_keys"]) == len(arrays["copy_tets"])
        and bool((arrays["copy_tets"] < len(tets)).all())
        and bool(np.isfinite(samples).all())
    )
    if not sound:
        raise ValueError(f"{file}: {TETS} does not agree with itself; the file is damaged, write it again")
    nodes = np.zeros((count, 3))
    nodes[tets] = lattice.positions(lattice.corners(keys))
    driven, pairs = arrays["is_driven"].astype(np.bool_), arrays["node_pairs"].reshape(-1, 2)
    patches = arrays["patch_of_vertex"]
    return TetMesh(lattice, nodes, tets, keys, patches, arrays["copy_keys"], arrays["copy_tets"], driven, pairs)


def _outer_faces(tets: NDArray[np.int32]) -> IntArray:
    """Triangles that belong to one tetrahedron only, facing out, shape (K, 3)."""
    faces = np.concatenate([tets[:, [0, 2, 1]], tets[:, [0, 1, 3]], tets[:, [0, 3, 2]], tets[:, [1, 2, 3]]])
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    outer: IntArray = faces[np.sort(first[count == 1])].astype(np.int64)
    return outer
