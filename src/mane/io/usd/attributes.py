"""Names and meanings: from the primvars of other tools to the attributes of a groom, and joined over several prims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.groom.groom import KNOWN_ATTRIBUTES, STRAND_ONLY
from mane.io.usd.curve_basis import CurveLayout
from mane.io.usd.primvars import PrimvarValue

Arrays = dict[str, NDArray[Any]]
Note = Callable[[str], None]

# Attribute of a groom -> names that tools give it, the first that is there wins. Unreal's `groom_*` names come first.
ALIASES: dict[str, tuple[str, ...]] = {
    "width": ("groom_width", "widths", "width"),
    "color": ("groom_color", "displayColor", "Cd", "color"),
    "group_id": ("groom_group_id", "group_id"),
    "root_uv": ("groom_root_uv", "root_uv", "surface_uv_coordinate", "st1", "st"),
    "is_guide": ("groom_guide", "is_guide", "guide"),
    "id": ("groom_id", "id"),
    "closest_guides": ("groom_closest_guides", "closest_guides"),
    "guide_weights": ("groom_guide_weights", "guide_weights"),
}
GROUP_NAMES = ("groom_group_name", "group_name")
REST_NAMES = ("rest", "Pref", "rest_position")
PLAIN_NAMES = frozenset(name for names in ALIASES.values() for name in names) - {"widths", "displayColor"} | {
    *GROUP_NAMES,
    *REST_NAMES,
}
# One element per strand, with as many numbers as Unreal takes.
GUIDE_ATTRIBUTES: dict[str, type[np.generic]] = {"closest_guides": np.int32, "guide_weights": np.float32}


@dataclass
class Attributes:
    """What is known of the curves of one prim beside their points, for all its curves.

    Attributes:
        strand: one element per curve.
        vertex: one element per vertex.
        group_name: name of each curve's group, shape (C,), text, or None.
        rest: points of the rest shape as authored, shape (P, 3), or None.
    """

    strand: Arrays = field(default_factory=dict)
    vertex: Arrays = field(default_factory=dict)
    group_name: NDArray[np.str_] | None = None
    rest: NDArray[np.float32] | None = None

    def add(self, name: str, scope: str, values: NDArray[Any]) -> None:
        """Keep an attribute in its scope."""
        (self.strand if scope == "strand" else self.vertex)[name] = values


Spread = tuple[str, NDArray[Any]]  # scope ("strand" or "vertex") and one value for each in it


def sort_out(layout: CurveLayout, primvars: Mapping[str, PrimvarValue], note: Note) -> Attributes:
    """Give the primvars of a prim their meaning; what has none becomes a painted map under its own name.

    `note` is told of values that do not fit the curves, which are left out.
    """
    result = Attributes()
    spread: dict[str, Spread] = {}
    for name, primvar in primvars.items():
        found = _spread(layout, primvar, note)
        if found is not None:
            spread[name] = found
    used: set[str] = set()
    for attribute, names in ALIASES.items():
        used |= _take_known(result, layout, attribute, [name for name in names if name in spread], spread, note)
    used |= _take_group_names(result, layout, spread) | _take_rest(result, spread, note)
    # A map that bears the name of an attribute without being fit for it could only be taken for it.
    used |= {*KNOWN_ATTRIBUTES, *GUIDE_ATTRIBUTES}
    for name, (scope, values) in spread.items():
        if name not in used and values.dtype.kind != "U":
            result.add(name, scope, values)
    return result


def _spread(layout: CurveLayout, primvar: PrimvarValue, note: Note) -> Spread | None:
    fitting = layout.fitting(primvar.interpolation, len(primvar.values))
    if fitting is None:
        note(
            f"{primvar.name} has {len(primvar.values)} values where its interpolation, {primvar.interpolation}, "
            f"needs {layout.count_of(primvar.interpolation)}; left out"
        )
        return None
    return layout.spread(primvar.values, fitting)


def _take_known(
    result: Attributes,
    layout: CurveLayout,
    attribute: str,
    names: Sequence[str],
    spread: Mapping[str, Spread],
    note: Note,
) -> set[str]:
    """Fill a known attribute from the first of the names whose values can be it; return the names that are used up."""
    for name in names:
        scope, values = spread[name]
        fitted = _fitted(attribute, values)
        if fitted is None:
            note(f"{name} has type {values.dtype} and shape {values.shape}, which cannot be {attribute!r}")
            continue
        if scope == "vertex" and attribute in (*STRAND_ONLY, *GUIDE_ATTRIBUTES):
            # The root decides for its strand. The map is kept under its own name too, since it says more.
            result.strand[attribute] = fitted[_root_rows(layout)]
            return set(names) - {name}
        result.add(attribute, scope, fitted)
        return set(names)
    return set()


def _root_rows(layout: CurveLayout) -> NDArray[np.int64]:
    return np.minimum(layout.offsets[:-1], layout.vertex_count - 1)  # a curve without vertices has no root


def _fitted(attribute: str, values: NDArray[Any]) -> NDArray[Any] | None:
    """Return values in the form that an attribute has inside mane, or None where they cannot have it."""
    if values.dtype.kind == "U":
        return None
    if attribute in GUIDE_ATTRIBUTES:
        flat = values.reshape(len(values), -1)
        return flat.astype(GUIDE_ATTRIBUTES[attribute]) if 1 <= flat.shape[1] <= 3 else None
    dtype, element = KNOWN_ATTRIBUTES[attribute]
    if values.shape[1:] != element:
        return None
    if attribute == "is_guide":
        result: NDArray[Any] | None = values != 0
        return result
    if np.issubdtype(dtype, np.integer) and not _fits_int32(values):
        return None
    return values.astype(dtype)


def _fits_int32(values: NDArray[Any]) -> bool:
    limits = np.iinfo(np.int32)
    return values.dtype.kind != "f" and bool(((values >= limits.min) & (values <= limits.max)).all())


def _take_group_names(result: Attributes, layout: CurveLayout, spread: Mapping[str, Spread]) -> set[str]:
    for name in GROUP_NAMES:
        scope, values = spread.get(name, ("", np.zeros(0)))
        if values.dtype.kind == "U" and values.ndim == 1:
            result.group_name = values if scope == "strand" else values[_root_rows(layout)]
            return {name}
    return set()


def _take_rest(result: Attributes, spread: Mapping[str, Spread], note: Note) -> set[str]:
    used = {name for name in REST_NAMES if name in spread}
    for name in REST_NAMES:
        if name in used:
            scope, values = spread[name]
            if scope == "vertex" and values.dtype.kind == "f" and values.shape[1:] == (3,):
                result.rest = values.astype(np.float32)
                break
            note(f"{name} is no point per vertex, so it cannot be the rest shape; left out")
    return used
