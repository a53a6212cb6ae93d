"""What can be wrong with a rig, each fault in one line: OpenUSD itself would leave points where they are, or at zero."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.io.usd.skinning import Skinning

JOINT_INDICES, JOINT_WEIGHTS = "primvars:skel:jointIndices", "primvars:skel:jointWeights"


def check_bound(path: str | os.PathLike[str], prim: Any) -> None:
    """Raise ValueError where a prim that nothing skins has joints all the same: its skeleton is missing."""
    from pxr import UsdSkel

    indices = prim.GetAttribute(JOINT_INDICES)
    if not (indices and indices.HasValue()) or UsdSkel.Root.Find(prim) is None or not UsdSkel.Root.Find(prim):
        return  # outside of a SkelRoot OpenUSD skins nothing, and says so
    relation = UsdSkel.BindingAPI(prim).GetSkeletonRel()
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
    if not skinning.has_joints:
        return
    _check_skeleton(skinning)
    _check_animation(skinning)
    _check_influences(skinning, point_count, used, time)


def _check_skeleton(skinning: Skinning) -> None:
    query = skinning.skeleton_query
    name = skinning.skeleton.GetPath()
    if len(query.GetJointOrder()) == 0:
        raise ValueError(f"{skinning.where} is bound to {name}, which has no joints; export the skeleton again")
    if not query.HasBindPose():
        raise ValueError(
            f"{skinning.where} is bound to {name}, whose bindTransforms do not match its "
            f"{len(query.GetJointOrder())} joints; export the skeleton again"
        )


def _check_animation(skinning: Skinning) -> None:
    """Frames that are not there, and joints that nothing poses."""
    from pxr import Usd, UsdSkel

    joints = [str(joint) for joint in skinning.skeleton_query.GetJointOrder()]
    animated: list[str] = []
    if skinning.animation is not None:
        prim = skinning.animation.GetPrim()
        animated = [str(joint) for joint in skinning.animation.GetJointOrder()]
        attributes = UsdSkel.Animation(prim)
        for attribute in (
            attributes.GetTranslationsAttr(),
            attributes.GetRotationsAttr(),
            attributes.GetScalesAttr(),
        ):
            values = attribute.Get(Usd.TimeCode.EarliestTime())
            found = 0 if values is None else len(values)
            if animated and found == 0:
                raise ValueError(
                    f"{skinning.where} is moved by {prim.GetPath()}, which has no frames of {attribute.GetName()}; "
                    "export the animation again"
                )
            if found != len(animated) and animated:
                raise ValueError(
                    f"{skinning.where} is moved by {prim.GetPath()}, which has {found} {attribute.GetName()} for "
                    f"{len(animated)} joints; export the animation again"
                )
        if animated and not set(animated) & set(joints):
            raise ValueError(
                f"{skinning.where} is moved by {prim.GetPath()}, whose joints ({animated[0]}, ...) are not those of "
                f"{skinning.skeleton.GetPath()} ({joints[0]}, ...); export the animation of this skeleton"
            )
    still = [joint for joint in joints if joint not in animated]
    if still and not skinning.skeleton_query.HasRestPose():
        raise ValueError(
            f"{skinning.where} is bound to {skinning.skeleton.GetPath()}, whose joint {still[0]} has neither animation "
            "nor restTransforms; export the skeleton again"
        )


def _check_influences(skinning: Skinning, point_count: int, used: NDArray[np.bool_], time: Any) -> None:
    """Joint indices and weights: as many as there must be, of joints that are there, and not all zero."""
    target = skinning.target
    indices = np.array(target.GetJointIndicesPrimvar().ComputeFlattened(time), np.int64).reshape(-1)
    weights = np.array(target.GetJointWeightsPrimvar().ComputeFlattened(time), np.float64).reshape(-1)
    per_point = max(int(target.GetNumInfluencesPerComponent()), 1)
    rows = 1 if target.IsRigidlyDeformed() else point_count
    for name, values in (("jointIndices", indices), ("jointWeights", weights)):
        if len(values) != rows * per_point:
            raise ValueError(
                f"{skinning.where}: {name} has {len(values)} values where {rows} x {per_point} are needed; "
                "bind it again and export"
            )
    joints = target.GetJointOrder() or skinning.skeleton_query.GetJointOrder()
    known = {str(joint) for joint in skinning.skeleton_query.GetJointOrder()}
    indices, weights = indices.reshape(rows, per_point), weights.reshape(rows, per_point)
    rows_used = used if rows == point_count and not target.IsRigidlyDeformed() else np.ones(rows, np.bool_)
    # OpenUSD refuses any index that is out of range, whatever its weight.
    outside = (indices < 0) | (indices >= len(joints))
    if outside.any():
        row = int(outside.any(axis=1).argmax())
        raise ValueError(
            f"{skinning.where}: jointIndices must be below {len(joints)} (= joints), got "
            f"{indices[row][outside[row]][0]} at point {row}; bind it again and export"
        )
    missing = [number for number, joint in enumerate(joints) if str(joint) not in known]
    lost = np.isin(indices, missing) & (weights != 0) & rows_used[:, None]
    if lost.any():
        row = int(lost.any(axis=1).argmax())
        name = joints[int(indices[row][lost[row]][0])]
        raise ValueError(
            f"{skinning.where}: point {row} is bound to joint {name}, which {skinning.skeleton.GetPath()} does not "
            "have; bind it again and export"
        )
    _check_weights(skinning.where, weights, rows_used)


def _check_weights(where: str, weights: NDArray[np.float64], used: NDArray[np.bool_]) -> None:
    finite = np.isfinite(weights).all(axis=1)
    if not finite.all():
        raise ValueError(f"{where}: jointWeights of point {int((~finite).argmax())} are not finite; export it again")
    idle = (np.abs(weights.sum(axis=1)) < 1e-6) & used
    if idle.any():
        raise ValueError(
            f"{where}: jointWeights of point {int(idle.argmax())} sum to 0 ({int(idle.sum())} such points), so no "
            "joint holds it; paint weights for it and export again"
        )
