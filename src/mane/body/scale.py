"""Noticing that hair and body are not in the same units, before a simulation makes nonsense of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mane.geometry.checks import FloatArray, as_floats

# Hair down to the ground is some five times as large as the head; ten times is no hair.
LARGEST_HAIR = 10.0
# Eyelashes are a fortieth of a whole person; a head in centimetres is at least sixty times its hair.
LARGEST_BODY = 50.0
# Hair grows on the body, so their boxes touch; a gap of half the larger one is a wrong origin or up axis.
LARGEST_GAP = 0.5

# The two units that tools write; sizes of hair vary too much to tell centimetres from inches.
UNITS = {1e-3: "millimetres", 1e-2: "centimetres"}


def check_scale(hair: ArrayLike | Any, body: ArrayLike | Any) -> None:
    """Raise ValueError when hair and body cannot belong together: sizes of another order, or far apart.

    Args:
        hair: points [m], shape (P, 3), or bounds, shape (2, 3), or anything with `bounds`, such as a groom.
        body: the same for the body, such as a mesh.

    The message names both sizes and the likely unit. Nothing is changed or guessed: scale the data and call again.
    """
    hair_bounds, body_bounds = _bounds("hair", hair), _bounds("body", body)
    hair_size, body_size = _diagonal(hair_bounds), _diagonal(body_bounds)
    sizes = f"hair of {_size_text(hair_bounds)} and a body of {_size_text(body_bounds)}"
    if hair_size > LARGEST_HAIR * body_size:
        ratio = hair_size / body_size
        raise ValueError(f"scale: hair must fit its body, got {sizes}; the hair may be in {_unit(ratio)}")
    if body_size > LARGEST_BODY * hair_size:
        ratio = body_size / hair_size
        raise ValueError(f"scale: hair must fit its body, got {sizes}; the body may be in {_unit(ratio)}")
    gap = float(
        np.linalg.norm(np.maximum(np.maximum(hair_bounds[0] - body_bounds[1], body_bounds[0] - hair_bounds[1]), 0))
    )
    if gap > LARGEST_GAP * max(hair_size, body_size):
        raise ValueError(
            f"scale: hair must touch its body, got {sizes}, {gap:.3g} m apart; check the origin and the up axis of both"
        )


def _bounds(name: str, value: ArrayLike | Any) -> FloatArray:
    points = as_floats(name, getattr(value, "bounds", value), ("P", 3))
    if len(points) < 2:
        raise ValueError(f"{name}: must be at least two points or bounds of shape (2, 3), got {len(points)} point")
    bounds = np.stack([points.min(axis=0), points.max(axis=0)])
    if _diagonal(bounds) == 0:
        raise ValueError(f"{name}: must have a size, got all points at {bounds[0].tolist()}")
    return bounds


def _diagonal(bounds: FloatArray) -> float:
    return float(np.linalg.norm(bounds[1].astype(np.float64) - bounds[0]))


def _size_text(bounds: FloatArray) -> str:
    return " x ".join(f"{size:.3g}" for size in (bounds[1] - bounds[0]).tolist()) + " m"


def _unit(ratio: float) -> str:
    """Name the unit that would bring two sizes of this ratio closest together, and its factor."""
    factor = min(UNITS, key=lambda unit: abs(np.log(ratio * unit)))
    return f"{UNITS[factor]} (scale it by {factor:g})"
