"""Primvars as plain arrays: values with their interpolation, whatever way the file stores them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Data of other systems, bound to arrays that mane does not carry.
SKIPPED_NAMESPACES = ("skel:",)
WIDTHS = "widths"


@dataclass(frozen=True, eq=False)
class PrimvarValue:
    """One primvar at one time.

    Attributes:
        name: without the `primvars:` prefix.
        values: one row for each element; numbers or text.
        interpolation: as declared.
    """

    name: str
    values: NDArray[Any]
    interpolation: str


def read_primvars(prim: Any, time: Any, plain_names: frozenset[str]) -> dict[str, PrimvarValue]:
    """Return everything on a curves prim that is one value per something, at a `Usd.TimeCode`, by name.

    Primvars, those inherited from ancestors, `widths`, and custom attributes without a prefix that are called `groom_*`
    or one of `plain_names`. A primvar wins over a plain attribute of the same name, as in OpenUSD.
    """
    found = {}
    for name, attribute, value, interpolation, element_size in _candidates(prim, time, plain_names):
        values = _rows(value, attribute.GetTypeName(), element_size)
        if values is not None and name not in found:
            found[name] = PrimvarValue(name, values, interpolation)
    return found


def _candidates(prim: Any, time: Any, plain_names: frozenset[str]) -> Iterator[tuple[str, Any, Any, str, int]]:
    from pxr import UsdGeom

    for primvar in UsdGeom.PrimvarsAPI(prim).FindPrimvarsWithInheritance():
        name = primvar.GetPrimvarName()
        if not name.startswith(SKIPPED_NAMESPACES):
            yield (
                name,
                primvar.GetAttr(),
                primvar.ComputeFlattened(time),
                primvar.GetInterpolation(),
                max(int(primvar.GetElementSize()), 1),
            )
    curves = UsdGeom.Curves(prim)
    yield WIDTHS, curves.GetWidthsAttr(), curves.GetWidthsAttr().Get(time), curves.GetWidthsInterpolation(), 1
    for attribute in prim.GetAuthoredAttributes():
        name = attribute.GetName()
        if name in plain_names or name.startswith("groom_"):
            yield name, attribute, attribute.Get(time), attribute.GetMetadata("interpolation") or "constant", 1


def _rows(value: Any, type_name: Any, element_size: int) -> NDArray[Any] | None:
    """Return a value as rows of numbers or text, or None where it is neither (an asset path) or missing."""
    if value is None:
        return None
    array = np.array(value)
    if array.ndim == 0 or not type_name.isArray:  # a damaged file may hold a number where an array is declared
        array = _narrowed(array, str(type_name))[None]
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    if array.dtype.kind not in "biufU":
        return None
    if element_size > 1:
        if len(array) % element_size:
            return None
        array = array.reshape(-1, element_size * int(np.prod(array.shape[1:], dtype=np.int64)))
    return array


def _narrowed(scalar: NDArray[Any], type_name: str) -> NDArray[Any]:
    """Undo what Python does to single numbers, which it keeps in 64 bits."""
    if scalar.dtype == np.float64 and not type_name.startswith(("double", "matrix")):
        return scalar.astype(np.float32)
    if scalar.dtype == np.int64 and type_name in ("int", "uchar"):
        return scalar.astype(np.int32)
    return scalar
