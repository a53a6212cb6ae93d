"""Puts attributes of a groom onto a curves prim, under the names and types that other tools look for."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.groom.groom import KNOWN_ATTRIBUTES, Groom
from mane.io.notices import FileNotice
from mane.io.usd.attributes import ALIASES, GROUP_NAMES, GUIDE_ATTRIBUTES, REST_NAMES

UNREAL_GUIDES = 3
# Whole numbers up to this are exact in float32.
FLOAT_EXACT = 1 << 24
INTERPOLATION = {"strand": "uniform", "vertex": "vertex"}
# Names that mane writes or reads itself; a painted map of such a name would be taken for something else.
RESERVED = {*(name for names in ALIASES.values() for name in names), *GROUP_NAMES, *REST_NAMES, "points", "velocities"}
# dtype -> names of OpenUSD's types for 1 to 4 components: in scene description, and of arrays
_TYPES = {
    "float32": ("Float{}Array", "FloatArray", "Vec{}fArray"),
    "float64": ("Double{}Array", "DoubleArray", "Vec{}dArray"),
    "int32": ("Int{}Array", "IntArray", "Vec{}iArray"),
    "bool": ("BoolArray", "BoolArray", None),
    "uint8": ("UCharArray", "UCharArray", None),
    "uint32": ("UIntArray", "UIntArray", None),
    "int64": ("Int64Array", "Int64Array", None),
    "uint64": ("UInt64Array", "UInt64Array", None),
}
_WIDENED = {"int8": "int32", "int16": "int32", "uint16": "int32", "float16": "float32"}


def author_attributes(prim: Any, groom: Groom, ids: NDArray[np.int32], metres_per_unit: float) -> None:
    """Give a BasisCurves prim the attributes of its strands; `ids` (S,) are written as `groom_id`."""
    from pxr import Sdf, UsdGeom

    types = Sdf.ValueTypeNames
    set_primvar(prim, "groom_id", ids, "uniform", types.IntArray)
    for scope, attributes in (("strand", groom.strand), ("vertex", groom.vertex)):
        interpolation = INTERPOLATION[scope]
        if "width" in attributes:
            widths = (attributes["width"] / np.float64(metres_per_unit)).astype(np.float32)
            curves = UsdGeom.Curves(prim)
            curves.CreateWidthsAttr(vt_array(widths))
            curves.SetWidthsInterpolation(interpolation)
        if "color" in attributes:
            set_primvar(prim, "displayColor", attributes["color"], interpolation, types.Color3fArray)
            set_primvar(prim, "groom_color", attributes["color"], interpolation, types.Float3Array)
        for name, values in attributes.items():
            if name not in KNOWN_ATTRIBUTES and name not in GUIDE_ATTRIBUTES:
                _set_painted(prim, name, values, interpolation)
    if "is_guide" in groom.strand:
        set_primvar(prim, "groom_guide", groom.strand["is_guide"].astype(np.int32), "uniform", types.IntArray)
    if "root_uv" in groom.strand:
        set_primvar(prim, "groom_root_uv", groom.strand["root_uv"], "uniform", types.TexCoord2fArray)
    _author_groups(prim, groom)
    _author_guide_binding(prim, groom)


def _author_groups(prim: Any, groom: Groom) -> None:
    from pxr import Sdf, Vt

    if "group_id" not in groom.strand:
        return
    ids = groom.strand["group_id"]
    set_primvar(prim, "groom_group_id", ids, "uniform", Sdf.ValueTypeNames.IntArray)
    if groom.group_names:
        used, index = np.unique(ids, return_inverse=True)
        names = [groom.group_names.get(group, f"group{group}") for group in used.tolist()]
        primvar = _new_primvar(prim, "groom_group_name", Sdf.ValueTypeNames.StringArray, "uniform", 1)
        primvar.Set(Vt.StringArray(names))
        primvar.SetIndices(vt_array(index.reshape(-1).astype(np.int32)))


def _author_guide_binding(prim: Any, groom: Groom) -> None:
    """Write which guides carry a strand, so that Unreal can use our interpolation.

    Unreal reads whole numbers from USD one by one only, and triples as float3: so that is what the ids are.
    """
    from pxr import Sdf

    for name in GUIDE_ATTRIBUTES:
        if name not in groom.strand:
            continue
        values = groom.strand[name].reshape(groom.strand_count, -1)
        if not 1 <= values.shape[1] <= UNREAL_GUIDES:
            raise ValueError(f"groom.strand[{name!r}]: must have 1 to {UNREAL_GUIDES} columns, got {values.shape[1]}")
        if name == "closest_guides" and (np.abs(values) > FLOAT_EXACT).any():
            raise ValueError(f"groom.strand[{name!r}]: must be below {FLOAT_EXACT} to be exact in Unreal")
        # Missing guides are the first one again, with no weight.
        fill = values[:, :1] if name == "closest_guides" else np.zeros_like(values[:, :1])
        triple = np.hstack([values, *[fill] * (UNREAL_GUIDES - values.shape[1])])
        set_primvar(prim, f"groom_{name}", triple.astype(np.float32), "uniform", Sdf.ValueTypeNames.Float3Array)


def _set_painted(prim: Any, name: str, values: NDArray[Any], interpolation: str) -> None:
    """Write a painted map under its own name, changed only where USD does not allow it."""
    from pxr import Sdf, Tf

    if name in RESERVED:
        warnings.warn(
            f"{name!r} has a meaning in USD and was left out; rename the map to keep it", FileNotice, stacklevel=6
        )
        return
    allowed = name
    if not Sdf.Path.IsValidNamespacedIdentifier(name):
        allowed = Tf.MakeValidIdentifier(name)
        warnings.warn(f"{name!r} is no name in USD, written as {allowed!r}", FileNotice, stacklevel=6)
    set_primvar(prim, allowed, values, interpolation)


def set_primvar(prim: Any, name: str, values: NDArray[Any], interpolation: str, kind: Any = None) -> None:
    """Write a primvar with one row of `values` per element; `kind` defaults to the plain type of the rows."""
    from pxr import Sdf

    dtype = _WIDENED.get(values.dtype.name, values.dtype.name)
    scene_type, _, vector_array = _TYPES[dtype]
    rows = np.ascontiguousarray(values, dtype=dtype)
    components = 1 if rows.ndim == 1 else int(np.prod(rows.shape[1:]))
    is_vector = rows.ndim == 2 and 2 <= components <= 4 and vector_array is not None
    if kind is None:
        kind = getattr(Sdf.ValueTypeNames, scene_type.format(components if is_vector else ""))
    primvar = _new_primvar(prim, name, kind, interpolation, 1 if is_vector else components)
    primvar.Set(vt_array(rows if is_vector else rows.reshape(-1)))


def _new_primvar(prim: Any, name: str, kind: Any, interpolation: str, element_size: int) -> Any:
    from pxr import UsdGeom

    primvar = UsdGeom.PrimvarsAPI(prim).CreatePrimvar(name, kind, interpolation)
    if element_size > 1:
        primvar.SetElementSize(element_size)
    return primvar


def vt_array(values: NDArray[Any]) -> Any:
    """Return numbers (N,) or (N, 2 to 4) as OpenUSD's own array; one copy."""
    from pxr import Vt

    _, plain, vector = _TYPES[values.dtype.name]
    name = plain if values.ndim == 1 else str(vector).format(values.shape[1])
    return getattr(Vt, name).FromNumpy(np.ascontiguousarray(values))
