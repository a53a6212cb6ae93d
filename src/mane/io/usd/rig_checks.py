"""What can be wrong with a rig, each fault in one line. OpenUSD itself would leave points where they are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.io.usd.skinning import Skinning

JOINT_INDICES = "primvars:skel:jointIndices"
NO_WEIGHT = 1e-6  # sum of weights below which nothing holds a point


def check_bound(path: str | os.PathLike[str], prim: Any) -> None:
    """Raise ValueError where a prim that nothing skins has joints all the same: its skeleton is missing."""
    from pxr import UsdSkel

    indices, binding = prim.GetAttribute(JOINT_INDICES), UsdSkel.BindingAPI(prim)
    if not (indices and indices.HasValue() and UsdSkel.Root.Find(prim)) or binding.GetInheritedSkeleton():
        return  # outside of a SkelRoot and below prims without a type OpenUSD skins nothing
    relation = binding.GetSkeletonRel()
    wanted = [str(target) for target in relation.GetForwardedTargets()] if relation else []
    if relation and relation.HasAuthoredTargets() and not wanted:
        return  # unbound on purpose
    raise ValueError(
        f"{os.fspath(path)}: {prim.GetPath()} is bound to joints of {wanted[0] if wanted else 'a skeleton'}, which the "
        "file does not have; export it together with its skeleton"
    )


def check_rig(skinning: Skinning, point_count: int, used: NDArray[np.bool_], time: Any) -> None:
    """Raise ValueError, in one line with a remedy, unless a skeleton can pose a bound prim.

    Args:
        skinning: the binding.
        point_count: N, points of the prim.
        used: which of them matter, shape (N,).
        time: `Usd.TimeCode` at which to look.
    """
    if skinning.target.HasBlendShapes():
        _check_shapes(skinning, point_count)
    if skinning.has_joints:
        _check_skeleton(skinning)
        _check_animation(skinning)
        influences = _Influences.of(skinning, point_count, time)
        influences.check_joints(used)
        influences.check_weights(used)


def _check_shapes(skinning: Skinning, point_count: int) -> None:
    """Blend shapes must move points that are there, each by an offset of its own."""
    query, indices, offsets = skinning.blend_shapes
    for number, values in enumerate(offsets):
        shape = int(query.GetBlendShapeIndex(number))
        moved = np.array(indices[shape], np.int64)
        is_sound = len(values) in (0, len(moved)) if len(moved) else len(values) in (0, point_count)
        if not is_sound or ((moved < 0) | (moved >= point_count)).any():
            raise ValueError(
                f"{skinning.where}: blend shape {query.GetBlendShape(shape).GetPath()} has offsets or pointIndices "
                f"that do not fit {point_count} points; export it again"
            )


def _joints_of(query: Any) -> list[str]:
    return [str(joint) for joint in query.GetJointOrder() or ()]


def _check_skeleton(skinning: Skinning) -> None:
    """A skeleton must have joints, a place of each when the prim was bound, and something that poses each."""
    query, name = skinning.skeleton_query, skinning.skeleton.GetPath()
    joints = _joints_of(query)
    if not joints:
        raise ValueError(f"{skinning.where} is bound to {name}, which has no joints; export the skeleton again")
    if not query.HasBindPose():
        raise ValueError(
            f"{skinning.where} is bound to {name}, whose bindTransforms do not match its {len(joints)} joints; "
            "export the skeleton again"
        )
    animated = [] if skinning.animation is None else _joints_of(skinning.animation)
    still = [joint for joint in joints if joint not in animated]
    if still and not query.HasRestPose():
        raise ValueError(
            f"{skinning.where} is bound to {name}, whose joint {still[0]} has neither animation nor restTransforms; "
            "export the skeleton again"
        )


def _check_animation(skinning: Skinning) -> None:
    """An animation of joints must have frames, of as many joints as it names, some of which are the skeleton's."""
    animated = [] if skinning.animation is None else _joints_of(skinning.animation)
    if skinning.animation is None or not animated:
        return
    from pxr import Usd, UsdSkel

    moved = f"{skinning.where} is moved by {skinning.animation.GetPrim().GetPath()}"
    frames = UsdSkel.Animation(skinning.animation.GetPrim())
    for attribute in (frames.GetTranslationsAttr(), frames.GetRotationsAttr(), frames.GetScalesAttr()):
        values = attribute.Get(Usd.TimeCode.EarliestTime())
        if values is None or len(values) == 0:
            raise ValueError(f"{moved}, which has no frames of {attribute.GetName()}; export the animation again")
        if len(values) != len(animated):
            raise ValueError(
                f"{moved}, which has {len(values)} {attribute.GetName()} for {len(animated)} joints; "
                "export the animation again"
            )
    joints = _joints_of(skinning.skeleton_query)
    if not set(animated) & set(joints):
        raise ValueError(
            f"{moved}, whose joints ({animated[0]}, ...) are not those of {skinning.skeleton.GetPath()} ({joints[0]}, "
            "...); export the animation of this skeleton"
        )


@dataclass(frozen=True, eq=False)
class _Influences:
    """Joints and weights of the points of a prim, both (N, K), or (1, K) where all points share them."""

    skinning: Skinning
    indices: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, skinning: Skinning, point_count: int, time: Any) -> _Influences:
        """Read them, as many as there must be."""
        target = skinning.target
        per_point = max(int(target.GetNumInfluencesPerComponent()), 1)
        rows = 1 if target.IsRigidlyDeformed() else point_count
        found = []
        for primvar in (target.GetJointIndicesPrimvar(), target.GetJointWeightsPrimvar()):
            values = np.array(primvar.ComputeFlattened(time)).reshape(-1)
            if len(values) != rows * per_point:
                raise ValueError(
                    f"{skinning.where}: {primvar.GetPrimvarName()} has {len(values)} values where {rows} x {per_point} "
                    "are needed; bind it again and export"
                )
            found.append(values.reshape(rows, per_point))
        return cls(skinning, found[0].astype(np.int64), found[1].astype(np.float64))

    def _rows(self, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which rows matter, where these points do."""
        return used if len(used) == len(self.indices) else np.ones(len(self.indices), np.bool_)

    def check_joints(self, used: NDArray[np.bool_]) -> None:
        """Indices must be those of joints, and joints with a weight must be the skeleton's."""
        where, known = self.skinning.where, _joints_of(self.skinning.skeleton_query)
        joints = _joints_of(self.skinning.target) or known
        # OpenUSD refuses any index that is out of range, whatever its weight.
        row, index = self._first((self.indices < 0) | (self.indices >= len(joints)))
        if row is not None:
            raise ValueError(
                f"{where}: jointIndices must be below {len(joints)} (= joints), got {index} at point {row}; "
                "bind it again and export"
            )
        missing = [number for number, joint in enumerate(joints) if joint not in known]
        lost = np.isin(self.indices, missing) & (self.weights != 0) & self._rows(used)[:, None]
        row, index = self._first(lost)
        if row is not None:
            raise ValueError(
                f"{where}: point {row} is bound to joint {joints[index]}, which {self.skinning.skeleton.GetPath()} "
                "does not have; bind it again and export"
            )

    def _first(self, is_bad: NDArray[np.bool_]) -> tuple[int | None, int]:
        """The first point with a bad joint, and that joint."""
        if not is_bad.any():
            return None, 0
        row = int(is_bad.any(axis=1).argmax())
        return row, int(self.indices[row][is_bad[row]][0])

    def check_weights(self, used: NDArray[np.bool_]) -> None:
        """Weights must be finite, and something must hold every point."""
        where = self.skinning.where
        finite = np.isfinite(self.weights).all(axis=1)
        if not finite.all():
            row = int((~finite).argmax())
            raise ValueError(f"{where}: jointWeights of point {row} are not finite; export it again")
        idle = (np.abs(self.weights.sum(axis=1)) < NO_WEIGHT) & self._rows(used)
        if idle.any():
            raise ValueError(
                f"{where}: jointWeights of point {int(idle.argmax())} sum to 0 ({int(idle.sum())} such points), so no "
                "joint holds it; paint weights for it and export again"
            )
