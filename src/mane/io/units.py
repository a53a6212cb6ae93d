"""Units and up axes: what files use, and the way to metres with Y up and back."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import FloatArray, require_choice

METRES = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "km": 1000.0, "in": 0.0254, "ft": 0.3048, "yd": 0.9144}
# up axis -> for each axis with Y up the axis of the file that becomes it, and its sign: the shortest turn that puts it
# upright. Of -y, which has none, half a turn about X, as from the axes of computer vision (Y down, Z into the picture).
UP_AXES: dict[str, tuple[tuple[int, int, int], tuple[int, int, int]]] = {
    "x": ((1, 0, 2), (-1, 1, 1)),
    "y": ((0, 1, 2), (1, 1, 1)),
    "z": ((0, 2, 1), (1, 1, -1)),
    "-x": ((1, 0, 2), (1, -1, 1)),
    "-y": ((0, 1, 2), (1, -1, -1)),
    "-z": ((0, 2, 1), (1, -1, 1)),
}
STATED_BY_USD = ("y", "z")

_UNIT = re.compile(r"(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)?\s*([a-z]+)?", re.IGNORECASE)


def metres_per_unit(unit: str | float) -> float:
    """Return the length of a unit [m]: a name ("cm"), a multiple of one ("0.1in"), or a number of metres (0.0254)."""
    match = _UNIT.fullmatch(str(unit).strip())
    number, name = match.groups() if match else (None, None)
    size = float(number or 1) * METRES.get((name or "m").lower(), np.nan)
    if (number is None and name is None) or not (np.isfinite(size) and size > 0):
        raise ValueError(
            f"unit: {str(unit)!r} is unknown; choose from {', '.join(METRES)}, a multiple such as 0.1in, "
            f"or a number of metres"
        )
    return size


def unit_name(metres: float) -> str:
    """Return the shortest name for a unit of that many metres: "cm", or a number with "m"."""
    for name, size in METRES.items():
        if np.isclose(metres, size, rtol=1e-6, atol=0):
            return name
    return f"{metres:.9g}m"


def checked_up(up: str) -> str:
    """Return one of `UP_AXES`, in lower case and without a plus, or raise ValueError."""
    axis = up.strip().lower().removeprefix("+")
    require_choice("up", axis, list(UP_AXES))
    return axis


def checked_usd_up(up: str) -> str:
    """Return "y" or "z", the up axes that a USD file can state, or raise ValueError."""
    axis = checked_up(up)
    if axis not in STATED_BY_USD:
        raise ValueError(f"up: must be y or z to be written, for USD states no other, got {up!r}")
    return axis


def upright(up: str) -> NDArray[np.float64]:
    """3x3 matrix on column vectors that turns a file with that axis up to Y up."""
    columns, signs = UP_AXES[checked_up(up)]
    matrix = np.zeros((3, 3))
    matrix[(0, 1, 2), columns] = signs
    return matrix


def to_metres(points: FloatArray, unit: str | float, up: str) -> FloatArray:
    """Return points (P, 3) of a file in metres with Y up; the array itself where nothing changes."""
    return _converted(points, metres_per_unit(unit), *UP_AXES[checked_up(up)])


def from_metres(points: FloatArray, unit: str | float, up: str) -> FloatArray:
    """Return points (P, 3) in metres with Y up in the units and axes of a file; the inverse of `to_metres`."""
    columns, signs = UP_AXES[checked_up(up)]
    back = np.argsort(columns)
    return _converted(points, 1 / metres_per_unit(unit), back, np.take(signs, back))


def _converted(points: FloatArray, scale: float, columns: ArrayLike, signs: ArrayLike) -> FloatArray:
    """Scale, then swap axes without any rounding. Numbers that are not finite, or become too large, stay no numbers."""
    axes, sign = np.asarray(columns), np.asarray(signs, np.float32)
    is_turned = bool((axes != np.arange(3)).any() or (sign < 0).any())
    with np.errstate(invalid="ignore", over="ignore"):
        if scale != 1:
            points = (points.astype(np.float64) * scale).astype(np.float32)
        if is_turned:
            points = points[:, axes] * sign
    return points
