"""Finds the prims of a stage that mane can read, and says why where it cannot."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any


def find_curves(path: str | os.PathLike[str], stage: Any, chosen: Sequence[str] | None) -> list[Any]:
    """Return the `UsdGeom.BasisCurves` of a stage, in its order; ValueError where there are none that can be moved."""
    from pxr import UsdGeom

    found = [UsdGeom.BasisCurves(prim) for prim in prims_below(path, stage, chosen) if prim.IsA(UsdGeom.BasisCurves)]
    if not found:
        where = "" if chosen is None else f" under {', '.join(chosen)}"
        raise ValueError(
            f"{os.fspath(path)}: has no BasisCurves{where} (it has {_census(stage)}); export the hair as curves"
        )
    prototypes = _prototypes(stage)
    for curves in found:
        fault = _fault(curves.GetPrim(), prototypes)
        if fault:
            raise ValueError(f"{os.fspath(path)}: {curves.GetPath()} {fault}")
    return found


def prims_below(path: str | os.PathLike[str], stage: Any, chosen: Sequence[str] | None) -> Iterator[Any]:
    """All prims at and below the chosen paths (all by default), each once, what is inside instances included."""
    from pxr import Sdf, Usd

    if chosen is None:
        yield from stage.Traverse(Usd.TraverseInstanceProxies())
        return
    seen = set()
    for name in chosen:
        root = stage.GetPrimAtPath(name) if Sdf.Path.IsValidPathString(name) else None
        if not root:
            raise ValueError(f"{os.fspath(path)}: has no prim {name!r}; check the path")
        for prim in Usd.PrimRange(root, Usd.TraverseInstanceProxies()):
            if prim.GetPath() not in seen:
                seen.add(prim.GetPath())
                yield prim


def _prototypes(stage: Any) -> dict[Any, Any]:
    """Paths below which everything is drawn by a PointInstancer -> that PointInstancer."""
    from pxr import UsdGeom

    found = {}
    for prim in stage.Traverse():
        if prim.IsA(UsdGeom.PointInstancer):
            found[prim.GetPath()] = prim.GetPath()
            for target in UsdGeom.PointInstancer(prim).GetPrototypesRel().GetForwardedTargets():
                found[target] = prim.GetPath()
    return found


def _fault(prim: Any, prototypes: dict[Any, Any]) -> str | None:
    """Why overriding the points of a curves prim would not move its hair, with a remedy, or None."""
    if prim.IsInstanceProxy():
        return (
            "is inside an instance, so its points cannot be changed; set instanceable = false on that and export again"
        )
    for prefix in prim.GetPath().GetPrefixes():
        if prefix in prototypes:
            return f"is a prototype of the PointInstancer {prototypes[prefix]}; export every hair as a curve of its own"
    return None


def _census(stage: Any) -> str:
    """Name the kinds of prims in a stage, the most frequent first."""
    kinds = Counter(str(prim.GetTypeName()) or "untyped" for prim in stage.Traverse())
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(4)) or "no prims"
