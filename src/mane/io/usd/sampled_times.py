"""What a USD file has beside what is read of it: at which times it is sampled, and primvars of some type."""

from __future__ import annotations

import os

from mane.io.usd.find_prims import prims_below
from mane.io.usd.stage import open_stage, transform_samples


def sampled_times(path: str | os.PathLike[str], kind: str) -> list[float]:
    """Time codes at which points or transforms of prims of a type, such as "Mesh", are sampled, rising."""
    times: set[float] = set()
    for prim in prims_below(path, open_stage(path), None):
        if prim.GetTypeName() == kind:
            times.update(map(float, prim.GetAttribute("points").GetTimeSamples()))
            times.update(map(float, transform_samples(prim)))
    return sorted(times)


def has_primvar_of(path: str | os.PathLike[str], role: str) -> bool:
    """Whether a mesh of a file has a primvar whose type begins with a role, such as "texCoord"."""
    for prim in prims_below(path, open_stage(path), None):
        if prim.GetTypeName() == "Mesh":
            for attribute in prim.GetAttributes():
                if attribute.GetName().startswith("primvars:") and str(attribute.GetTypeName()).startswith(role):
                    return True
    return False
