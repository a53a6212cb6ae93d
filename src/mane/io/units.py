"""Units and up axes: what files use, and the way to metres with Y up and back."""

from __future__ import annotations

import re

import numpy as np

from mane.geometry.checks import FloatArray, require_choice

METRES = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "km": 1000.0, "in": 0.0254, "ft": 0.3048, "yd": 0.9144}
UP_AXES = ("y", "z")

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
    """Return "y" or "z" in lower case, or raise ValueError."""
    require_choice("up", up.lower(), UP_AXES)
    return up.lower()


def to_metres(points: FloatArray, unit: str | float, up: str) -> FloatArray:
    """Return points (P, 3) of a file in metres with Y up; the array itself where nothing changes."""
    scale = metres_per_unit(unit)
    return _converted(points, scale, up, signs=(1, 1, -1))  # Z up becomes Y up by (x, y, z) -> (x, z, -y)


def from_metres(points: FloatArray, unit: str | float, up: str) -> FloatArray:
    """Return points (P, 3) in metres with Y up in the units and axes of a file; the inverse of `to_metres`."""
    scale = metres_per_unit(unit)
    return _converted(points, 1 / scale, up, signs=(1, -1, 1))


def _converted(points: FloatArray, scale: float, up: str, signs: tuple[int, int, int]) -> FloatArray:
    """Scale, then swap axes without any rounding. Numbers that are not finite, or become too large, stay no numbers."""
    is_turned = checked_up(up) == "z"
    with np.errstate(invalid="ignore", over="ignore"):
        if scale != 1:
            points = (points.astype(np.float64) * scale).astype(np.float32)
        if is_turned:
            points = points[:, (0, 2, 1)] * np.asarray(signs, np.float32)
    return points
