"""The motion of a head out of a USD file: a joint of a skeleton, or a prim whose transform is animated.

As of other recordings, the way is measured from the first frame, so that it begins where a head is. The rotation of a
joint is that from the pose in which its skeleton was bound, that of a prim is as the file has it: both are upright at
rest. Hair grows on a head whose joint is the origin, as that of the busts of mane.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.motion_keys import MAX_SPEED, MAX_SPIN, KeyframedMotion
from mane.geometry import quaternion
from mane.io.usd.diagnostics import reading
from mane.io.usd.stage import (
    Matrix,
    StageUnits,
    open_stage,
    stage_timing,
    stage_units,
    time_code,
    transform_samples,
    world_from_local,
)

HEAD = "head"
MOST_NAMED = 12  # joints or prims that an error lists


def read_usd_motion(
    path: str | os.PathLike[str],
    *,
    prim: str | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    trusted: bool = False,
    max_speed: float = MAX_SPEED,
    max_spin: float = MAX_SPIN,
) -> KeyframedMotion:
    """Read the motion of a head from a USD file.

    Args:
        path: .usd, .usda, .usdc or .usdz.
        prim: path of a prim that moves, or name of a joint; by default the joint that is called head, whatever its case
            and prefix, else a prim of that name, else the first prim that moves.
        unit: unit of length to use instead of what the file states.
        up: up axis to use instead of what the file states.
        trusted: skip the trial run in a child process that keeps a damaged binary file from crashing this one.
        max_speed: neighbours that would need more are a teleport [m/s].
        max_spin: the same for turning [rad/s].

    Raises:
        ValueError: nothing in it moves, or not what was asked for; names the file and what there is.
        OSError: the file cannot be opened.
    """
    stage = open_stage(path, trusted=trusted)
    with reading(path):
        units = stage_units(path, stage, unit, up)
        wanted = (prim or HEAD).lower()
        joints, prims = list(_joints(stage)), list(_moving(stage))
        found = [one for one in joints if one[0].rpartition("/")[2].lower() == wanted]
        found += [one for one in joints if one[0].lower().endswith(wanted)]
        if found:
            codes, matrices = _joint_matrices(*found[0][1:], units)
        else:
            codes, matrices = _prim_matrices(_chosen(path, prims, joints, prim), units)
        if not codes:
            raise ValueError(f"{os.fspath(path)}: {found[0][0]} has no animation; export it with its animation")
        seconds = np.array(codes) / stage_timing(stage).time_codes_per_second
    places = matrices[:, :3, 3]
    rotations = quaternion.from_matrix(_rotations(matrices[:, :3, :3]))
    return KeyframedMotion(seconds - seconds[0], places - places[0], rotations, max_speed=max_speed, max_spin=max_spin)


def _joints(stage: Any) -> Iterator[tuple[str, Any, Any, int]]:
    """Path, skeleton, OpenUSD's query and number of every joint."""
    from pxr import Usd, UsdSkel

    everything = Usd.TraverseInstanceProxies()
    cache = UsdSkel.Cache()
    for prim in stage.Traverse(everything):
        if prim.IsA(UsdSkel.Root):
            cache.Populate(UsdSkel.Root(prim), everything)
        if prim.IsA(UsdSkel.Skeleton):
            query = cache.GetSkelQuery(UsdSkel.Skeleton(prim))
            for number, name in enumerate(query.GetJointOrder() if query else ()):
                yield str(name), prim, query, number


def _moving(stage: Any) -> Iterator[Any]:
    """Prims whose own transform is sampled."""
    from pxr import UsdGeom

    for prim in stage.Traverse():
        xformable = UsdGeom.Xformable(prim)
        if xformable and len(xformable.GetTimeSamples()) > 1:
            yield prim


def _chosen(path: str | os.PathLike[str], prims: list[Any], joints: list[Any], wanted: str | None) -> Any:
    if wanted is not None:
        prims = [prim for prim in prims if wanted in (str(prim.GetPath()), prim.GetName())]
    named = [prim for prim in prims if prim.GetName().lower().endswith(HEAD)]
    if not prims:
        has = ", ".join(name for name, *_ in joints[:MOST_NAMED]) or "no joints"
        what = "moves" if wanted is None else f"is called {wanted!r} and moves"
        raise ValueError(f"{os.fspath(path)}: has no prim that {what}, and no joint that is called so; it has {has}")
    return (named or prims)[0]


def _joint_matrices(skeleton: Any, query: Any, number: int, units: StageUnits) -> tuple[list[float], Matrix]:
    """Time codes, and matrices (T, 4, 4) of a joint: where it is [m], turned from the pose of the binding."""
    animation = query.GetAnimQuery()
    codes = sorted({*(animation.GetJointTransformTimeSamples() if animation else ()), *transform_samples(skeleton)})
    matrices = []
    for code in codes:
        time = time_code(code)
        world = world_from_local(skeleton, units, time)
        place = world @ np.array(query.ComputeJointSkelTransforms(time)[number]).T
        turned = world @ np.array(query.ComputeSkinningTransforms(time)[number]).T @ units.stage_from_world
        turned[:3, 3] = place[:3, 3]
        matrices.append(turned)
    return codes, np.array(matrices).reshape(-1, 4, 4)


def _prim_matrices(prim: Any, units: StageUnits) -> tuple[list[float], Matrix]:
    """Time codes, and matrices (T, 4, 4) of a prim."""
    codes = transform_samples(prim)
    # What is not turned on the stage is not turned here, whichever axis is up there.
    return codes, np.array([world_from_local(prim, units, time_code(code)) @ units.stage_from_world for code in codes])


def _rotations(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """The closest rotations to linear maps (T, 3, 3): scales and shears are left out."""
    left, _, right = np.linalg.svd(linear)
    left[:, :, 2] *= np.sign(np.linalg.det(left @ right))[:, None]
    return np.asarray(left @ right)
