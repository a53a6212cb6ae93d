"""Writes a skinned mesh with its skeleton and animation as UsdSkel, which other tools pose as mane does."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.skeleton import JointAnimation, Skeleton, SkinnedMesh
from mane.geometry import quaternion
from mane.geometry.checks import require_positive
from mane.io.notices import LossNotice
from mane.io.units import checked_usd_up, metres_per_unit
from mane.io.usd.author import set_primvar, vt_array
from mane.io.usd.diagnostics import writing
from mane.io.usd.files import check_target, export_layer, extent_of, vectors
from mane.io.usd.stage import Matrix, StageUnits, apply_matrix, author_units

Matrices = NDArray[np.float64]

ROOT, MESH, SKELETON, ANIMATION = "/Character", "Body", "Skeleton", "Animation"
SHAPE_EPSILON = 1e-9  # offsets of a blend shape below this are left out [m]
SCALE_LOSS = 1e-4  # of a joint's scale, from which on it is told


def write_usd_character(
    path: str | os.PathLike[str],
    skinned: SkinnedMesh,
    animation: JointAnimation | None = None,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    time_codes_per_second: float = 24.0,
    start: float = 1.0,
) -> None:
    """Write a skinned mesh as a new USD file: `/Character` with `Body`, `Skeleton` and `Animation`.

    Args:
        path: .usda, .usdc or .usd to write.
        skinned: the mesh in its bind pose [m], Y up; skeleton; joint indices and weights, both (N, K); blend shapes.
        animation: samples of rotations (F, J, 4), translations (F, J, 3) [m] and scales (F, J, 3) or None of the joints
            relative to their parents, of blend shape weights (F, B), and their times [s], shape (F,). Without it the
            skeleton stands in its rest pose.
        unit: unit of length of the file, e.g. "cm" or metres per unit; metres by default.
        up: up axis of the file, "y" by default or "z".
        time_codes_per_second: what one second is in time codes.
        start: time code at 0 s.

    UsdSkel stores scales in half precision; a `LossNotice` tells where that shows. The file appears whole or not at
    all. OSError or ValueError in one line where it cannot be written.
    """
    target = check_target(path)
    require_positive("time_codes_per_second", time_codes_per_second)
    units = StageUnits(metres_per_unit(unit or "m"), checked_usd_up(up or "y"))
    with writing(path):
        layer = _new_layer(units, time_codes_per_second)
        _CharacterWriter(layer, skinned, units).write(animation, time_codes_per_second, start)
    export_layer(layer, target)


def _new_layer(units: StageUnits, rate: float) -> Any:
    from pxr import Sdf

    layer = Sdf.Layer.CreateAnonymous("character.usda")
    layer.defaultPrim = ROOT.strip("/")
    author_units(layer, units)
    layer.timeCodesPerSecond = layer.framesPerSecond = rate
    return layer


class _CharacterWriter:
    """Puts a character into a layer, in the units and axes of its stage."""

    def __init__(self, layer: Any, skinned: SkinnedMesh, units: StageUnits) -> None:
        from pxr import Usd, UsdGeom, UsdSkel

        self._layer, self._skinned = layer, skinned
        self._stage_from_world = units.stage_from_world
        self._turn = units.stage_from_world[:3, :3] * units.metres_per_unit  # without the scale
        self._stage = Usd.Stage.Open(layer)
        root = UsdSkel.Root.Define(self._stage, ROOT)
        Usd.ModelAPI(root.GetPrim()).SetKind("component")
        self._root = root
        self._joints = joint_paths(skinned.skeleton)
        self._geometry = UsdGeom

    def write(self, animation: JointAnimation | None, rate: float, start: float) -> None:
        """Write mesh, skeleton, shapes and, where there is one, the animation."""
        skeleton = self._write_skeleton()
        shapes = self._write_mesh(skeleton)
        if animation is None:
            return
        codes = start + np.asarray(animation.times, np.float64) * rate
        self._layer.startTimeCode, self._layer.endTimeCode = float(codes[0]), float(codes[-1])
        self._write_animation(skeleton, animation, codes, shapes)

    def _write_skeleton(self) -> Any:
        from pxr import UsdSkel

        own = self._skinned.skeleton
        skeleton = UsdSkel.Skeleton.Define(self._stage, f"{ROOT}/{SKELETON}")
        skeleton.CreateJointsAttr(self._joints)
        skeleton.CreateBindTransformsAttr(_gf_matrices(self._in_stage(own.bind_transforms)))
        skeleton.CreateRestTransformsAttr(_gf_matrices(self._in_stage(own.rest_transforms)))
        skeleton.CreatePurposeAttr("guide")  # of its drawing; what it poses has a purpose of its own
        UsdSkel.BindingAPI.Apply(self._root.GetPrim()).CreateSkeletonRel().SetTargets([skeleton.GetPath()])
        return skeleton

    def _write_mesh(self, skeleton: Any) -> list[str]:
        """Write the mesh with its binding and return the names of its blend shapes."""
        from pxr import Gf, Sdf, UsdGeom, UsdSkel

        own, mesh = self._skinned, self._skinned.mesh
        prim = UsdGeom.Mesh.Define(self._stage, f"{ROOT}/{MESH}")
        points = apply_matrix(self._stage_from_world, mesh.points).astype(np.float32)
        prim.CreatePointsAttr(vectors(points))
        prim.CreateExtentAttr(vectors(extent_of(points, 0.0)))
        prim.CreateFaceVertexCountsAttr(vt_array(np.full(mesh.face_count, 3, np.int32)))
        prim.CreateFaceVertexIndicesAttr(vt_array(mesh.faces.reshape(-1).astype(np.int32)))
        prim.CreateSubdivisionSchemeAttr("none")
        if mesh.uv is not None:
            set_primvar(prim.GetPrim(), "st", mesh.uv, "vertex", Sdf.ValueTypeNames.TexCoord2fArray)
        binding = UsdSkel.BindingAPI.Apply(prim.GetPrim())
        influences = own.joint_indices.shape[1]
        indices = np.ascontiguousarray(own.joint_indices, np.int32).reshape(-1)
        binding.CreateJointIndicesPrimvar(False, influences).Set(vt_array(indices))
        weights = np.ascontiguousarray(own.joint_weights, np.float32).reshape(-1)
        binding.CreateJointWeightsPrimvar(False, influences).Set(vt_array(weights))
        binding.CreateGeomBindTransformAttr(Gf.Matrix4d(1))
        self._root.CreateExtentAttr(vectors(extent_of(points, 0.0)))
        return self._write_shapes(prim, binding)

    def _write_shapes(self, mesh: Any, binding: Any) -> list[str]:
        from pxr import UsdSkel

        names: list[str] = []
        targets = []
        for shape in self._skinned.blend_shapes:
            offsets = np.asarray(shape.offsets, np.float32)
            moved = np.flatnonzero(np.abs(offsets).max(axis=1) > SHAPE_EPSILON)
            names.append(_identifier(shape.name, names))
            prim = UsdSkel.BlendShape.Define(self._stage, mesh.GetPath().AppendChild(names[-1]))
            turned = apply_matrix(self._stage_from_world, offsets[moved], is_vector=True).astype(np.float32)
            prim.CreateOffsetsAttr(vectors(turned))
            prim.CreatePointIndicesAttr(vt_array(moved.astype(np.int32)))
            targets.append(prim.GetPath())
        if names:
            binding.CreateBlendShapesAttr(names)
            binding.CreateBlendShapeTargetsRel().SetTargets(targets)
        return names

    def _write_animation(
        self, skeleton: Any, animation: JointAnimation, codes: NDArray[np.float64], shapes: list[str]
    ) -> None:
        from pxr import UsdSkel, Vt

        prim = UsdSkel.Animation.Define(self._stage, f"{ROOT}/{ANIMATION}")
        prim.CreateJointsAttr(self._joints)
        UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([prim.GetPath()])
        translations, rotations, scales = (
            prim.CreateTranslationsAttr(),
            prim.CreateRotationsAttr(),
            prim.CreateScalesAttr(),
        )
        halves = self._half_scales(animation)
        is_held = len(halves) == 1 or bool((halves == halves[0]).all())
        if is_held:
            scales.Set(Vt.Vec3hArray.FromNumpy(halves[0]))
        for sample, code in enumerate(codes.tolist()):
            moved = apply_matrix(self._stage_from_world, animation.translations[sample], is_vector=True)
            translations.Set(vectors(moved.astype(np.float32)), code)
            rotations.Set(_gf_quaternions(self._turned(animation.rotations[sample])), code)
            if not is_held:
                scales.Set(Vt.Vec3hArray.FromNumpy(halves[sample]), code)
        if shapes and animation.blend_weights.shape[1]:
            prim.CreateBlendShapesAttr(shapes)
            weights = prim.CreateBlendShapeWeightsAttr()
            for sample, code in enumerate(codes.tolist()):
                weights.Set(vt_array(np.ascontiguousarray(animation.blend_weights[sample], np.float32)), code)

    def _half_scales(self, animation: JointAnimation) -> NDArray[np.float16]:
        """Scales along the axes of the stage, shape (F, J, 3), or (1, J, 3) where they do not change."""
        if animation.scales is None:
            own: NDArray[Any] = np.linalg.norm(self._skinned.skeleton.rest_transforms[:, :3, :3], axis=1)[None]
        else:
            own = np.asarray(animation.scales)
        turned = own @ np.abs(self._turn).T  # axes only change places
        halves: NDArray[np.float16] = turned.astype(np.float16)
        loss = float(np.abs(halves - turned).max(initial=0.0))
        if loss > SCALE_LOSS:
            warnings.warn(
                f"scales of joints are off by up to {loss:.2g}, since UsdSkel stores them in half precision; blend "
                "shapes are exact",
                LossNotice,
                stacklevel=6,
            )
        return np.ascontiguousarray(halves)

    def _in_stage(self, matrices: Matrices) -> Matrices:
        """Transforms (J, 4, 4) as they are in the units and axes of the stage."""
        to_stage: Matrix = self._stage_from_world
        result: Matrices = to_stage @ matrices @ np.linalg.inv(to_stage)
        return result

    def _turned(self, rotations: NDArray[Any]) -> NDArray[np.float64]:
        """Rotations (J, 4) in the axes of the stage."""
        turn = quaternion.from_matrix(self._turn)
        unit = quaternion.normalize(rotations.astype(np.float64))
        return quaternion.multiply(quaternion.multiply(turn, unit), quaternion.conjugate(turn))


def joint_paths(skeleton: Skeleton) -> list[str]:
    """Names of joints with those of all joints above, as UsdSkel has them: `root/spine/neck`."""
    paths: list[str] = []
    for name, parent in zip(skeleton.names, skeleton.parents, strict=True):
        own = re.sub(r"[^A-Za-z0-9_]", "_", str(name))
        paths.append(own if parent < 0 else f"{paths[parent]}/{own}")
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise ValueError(f"skeleton.names: must differ below one parent, got two joints {twice!r}; rename one")
    return paths


def _identifier(name: str, taken: Sequence[str]) -> str:
    """A name as USD allows it, other than those that are taken."""
    from pxr import Tf

    allowed = str(Tf.MakeValidIdentifier(name))
    while allowed in taken:
        allowed += "_"
    return allowed


def _gf_matrices(matrices: Matrices) -> Any:
    """Matrices (J, 4, 4) on column vectors as OpenUSD's own, which act on row vectors."""
    from pxr import Vt

    return Vt.Matrix4dArray.FromNumpy(np.ascontiguousarray(matrices.transpose(0, 2, 1)))


def _gf_quaternions(rotations: NDArray[np.float64]) -> Any:
    """Quaternions (J, 4) as OpenUSD's own."""
    from pxr import Vt

    return Vt.QuatfArray.FromNumpy(np.ascontiguousarray(rotations, np.float32))
