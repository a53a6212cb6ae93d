"""UsdSkel skinning at any time: joints and blend shapes as points of the mesh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mane.geometry.checks import FloatArray
from mane.io.usd.files import vectors


@dataclass(frozen=True, eq=False)
class Skinning:
    """How one mesh is bound to a skeleton: OpenUSD's queries for it."""

    skeleton: Any
    target: Any

    @property
    def times(self) -> list[float]:
        """Time codes at which the animation of the skeleton is sampled."""
        animation = self.skeleton.GetAnimQuery()
        if not animation:
            return []
        return [*animation.GetJointTransformTimeSamples(), *animation.GetBlendShapeWeightTimeSamples()]

    def deformed(self, points: FloatArray, time: Any) -> tuple[FloatArray, Any | None]:
        """Points (N, 3) as the skeleton moves them at a time, and the prim in whose space they are then.

        The prim is None where that has not changed, because only blend shapes are at work.
        """
        moved = vectors(points)
        if self.target.HasBlendShapes():
            self._apply_blend_shapes(moved, time)
        if not self.target.HasJointInfluences():
            return np.array(moved), None
        self.target.ComputeSkinnedPoints(self.skeleton.ComputeSkinningTransforms(time), moved, time)
        return np.array(moved), self.skeleton.GetPrim()

    def _apply_blend_shapes(self, points: Any, time: Any) -> None:
        from pxr import UsdSkel

        animation = self.skeleton.GetAnimQuery()
        mapper = self.target.GetBlendShapeMapper()
        if not animation or not mapper:
            return
        weights = mapper.Remap(animation.ComputeBlendShapeWeights(time))
        query = UsdSkel.BlendShapeQuery(UsdSkel.BindingAPI(self.target.GetPrim()))
        sub_weights, shapes, sub_shapes = query.ComputeSubShapeWeights(weights)
        query.ComputeDeformedPoints(
            sub_weights,
            shapes,
            sub_shapes,
            query.ComputeBlendShapePointIndices(),
            query.ComputeSubShapePointOffsets(),
            points,
        )


def find_skinning(stage: Any) -> dict[str, Skinning]:
    """Return how every skinned prim of a stage is skinned, by path."""
    from pxr import Usd, UsdSkel

    found = {}
    for prim in stage.Traverse():
        if not prim.IsA(UsdSkel.Root):
            continue
        root, cache = UsdSkel.Root(prim), UsdSkel.Cache()
        cache.Populate(root, Usd.PrimDefaultPredicate)
        for binding in cache.ComputeSkelBindings(root, Usd.PrimDefaultPredicate):
            skeleton = cache.GetSkelQuery(binding.GetSkeleton())
            for target in binding.GetSkinningTargets():
                found[str(target.GetPrim().GetPath())] = Skinning(skeleton, target)
    return found
