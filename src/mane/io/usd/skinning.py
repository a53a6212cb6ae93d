"""UsdSkel skinning at any time: joints and blend shapes as points of a mesh or of curves."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mane.geometry.checks import FloatArray
from mane.io.usd.files import vectors
from mane.io.usd.stage import Matrix


@dataclass(frozen=True, eq=False)
class Skinning:
    """How one prim is bound to a skeleton.

    Attributes:
        where: file and prim, for messages.
        skeleton: prim of the skeleton where it stands on the stage, which may be inside an instance.
        skeleton_query: OpenUSD's query for the skeleton and its animation.
        target: OpenUSD's query for the bound prim.
    """

    where: str
    skeleton: Any
    skeleton_query: Any
    target: Any

    @property
    def animation(self) -> Any | None:
        """OpenUSD's query for what moves the skeleton, or None."""
        return self.skeleton_query.GetAnimQuery() or None

    @property
    def times(self) -> list[float]:
        """Time codes at which the animation of the skeleton is sampled."""
        if self.animation is None:
            return []
        return [*self.animation.GetJointTransformTimeSamples(), *self.animation.GetBlendShapeWeightTimeSamples()]

    @property
    def has_joints(self) -> bool:
        """Whether joints move the prim, and not blend shapes alone."""
        return bool(self.target.HasJointInfluences())

    def bind_matrix(self, time: Any) -> Matrix:
        """4x4 matrix on column vectors, from authored points to the skeleton's space in the pose of the binding."""
        return np.array(self.target.GetGeomBindTransform(time)).T

    def deformed(self, points: FloatArray, time: Any) -> tuple[FloatArray, Any | None]:
        """Points (N, 3) as the skeleton moves them at a `Usd.TimeCode`, and the prim in whose space they are then.

        The prim is None where that has not changed, because only blend shapes are at work.
        """
        moved = vectors(points)
        if self.target.HasBlendShapes():
            self._apply_blend_shapes(moved, time)
        if not self.has_joints:
            return np.array(moved), None
        joints = self.skeleton_query.ComputeSkinningTransforms(time)
        if not self.target.ComputeSkinnedPoints(joints, moved, time):
            raise ValueError(f"{self.where} cannot be skinned at time {time}; bind it again and export")
        return np.array(moved), self.skeleton

    def _apply_blend_shapes(self, points: Any, time: Any) -> None:
        mapper = self.target.GetBlendShapeMapper()
        if self.animation is None or not mapper:
            return
        query, indices, offsets = self.blend_shapes
        weights = mapper.Remap(self.animation.ComputeBlendShapeWeights(time))
        sub_weights, shapes, sub_shapes = query.ComputeSubShapeWeights(weights)
        query.ComputeDeformedPoints(sub_weights, shapes, sub_shapes, indices, offsets, points)

    @cached_property
    def blend_shapes(self) -> tuple[Any, Any, Any]:
        """OpenUSD's query for the shapes, the points that each moves, and how far: read once, since they stay."""
        from pxr import UsdSkel

        query = UsdSkel.BlendShapeQuery(UsdSkel.BindingAPI(self.target.GetPrim()))
        return query, query.ComputeBlendShapePointIndices(), query.ComputeSubShapePointOffsets()


def find_skinning(path: str | os.PathLike[str], stage: Any) -> dict[str, Skinning]:
    """Return how every skinned prim of a stage is skinned, by path; what is inside instances included."""
    from pxr import Usd, UsdSkel

    found = {}
    everything = Usd.TraverseInstanceProxies()
    for prim in stage.Traverse(everything):
        if not prim.IsA(UsdSkel.Root):
            continue
        # A cache of its own for each: instances of one prototype share prims and may have animations of their own.
        root, cache = UsdSkel.Root(prim), UsdSkel.Cache()
        cache.Populate(root, everything)
        for binding in cache.ComputeSkelBindings(root, everything):
            skeleton = binding.GetSkeleton()
            query = cache.GetSkelQuery(skeleton)
            for target in binding.GetSkinningTargets():
                if target.HasJointInfluences() or target.HasBlendShapes():
                    where = f"{os.fspath(path)}: {target.GetPrim().GetPath()}"
                    found[str(target.GetPrim().GetPath())] = Skinning(where, skeleton.GetPrim(), query, target)
    return found
