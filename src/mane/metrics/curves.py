"""Curves at the door of this room: one (S, V, 3) array or a groom whose strands all have the same vertex count."""

from __future__ import annotations

from numpy.typing import ArrayLike

from mane.geometry.checks import FloatArray, as_floats
from mane.groom.groom import Groom

Curves = ArrayLike | Groom


def as_curves(name: str, value: Curves, min_vertices: int = 2) -> FloatArray:
    """Return strands as finite float32 of shape (S, V, 3), or raise ValueError saying what is wrong with `name`."""
    points = value.as_uniform() if isinstance(value, Groom) else as_floats(name, value, ("S", "V", 3))
    strands, vertices = points.shape[:2]
    if strands == 0:
        raise ValueError(f"{name}: must hold at least one strand, got none")
    if vertices < min_vertices:
        raise ValueError(f"{name}: this measure needs at least {min_vertices} vertices per strand, got {vertices}")
    return points


def as_pair(
    points: Curves, other: Curves, other_name: str = "rest", min_vertices: int = 2
) -> tuple[FloatArray, FloatArray]:
    """Return two sets of strands that correspond vertex by vertex, both (S, V, 3)."""
    ours = as_curves("points", points, min_vertices)
    theirs = as_curves(other_name, other, min_vertices)
    if ours.shape != theirs.shape:
        raise ValueError(f"{other_name}: must have the shape of points, {ours.shape}, got {theirs.shape}")
    return ours, theirs
