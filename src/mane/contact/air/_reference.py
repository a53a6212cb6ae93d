"""The drag of one vertex in plain numbers: the specification of `_kernels_drag`."""

from __future__ import annotations

import math

import numpy as np

from mane.strand.model import Float64Array


def drag_coefficient(reynolds: float) -> float:
    """Drag coefficient of a cylinder across the flow (Sucker and Brauer 1975)."""
    small = 0.0004 * reynolds / (1 + 3.64e-7 * reynolds**2)
    result: float = 1.18 + 6.8 / reynolds**0.89 + 1.96 / reynolds**0.5 - small
    return result


def across_coefficient(speed: float, radius: float, length: float, density: float, viscosity: float) -> float:
    """Force across a strand over its length and speed [kg/(m s)]."""
    creeping = 4 * math.pi * viscosity / (math.log(length / radius) + 0.5)
    if speed == 0:
        return creeping
    reynolds = 2 * radius * speed * density / viscosity
    return max(creeping, 0.5 * density * 2 * radius * drag_coefficient(reynolds) * speed)


def along_coefficient(speed: float, radius: float, length: float, density: float, viscosity: float) -> float:
    """Force along a strand over its length and speed [kg/(m s)]."""
    creeping = 2 * math.pi * viscosity / (math.log(length / radius) - 0.5)
    if speed == 0:
        return creeping
    layer = math.log(4 * viscosity * length / (density * speed * radius**2))
    return max(creeping, 4 * math.pi * viscosity / max(layer, 1.0))


def resistance(
    edges: Float64Array, wind: Float64Array, radius: float, length: float, density: float, viscosity: float
) -> Float64Array:
    """Resistance [kg/s] of a vertex as a matrix (3, 3).

    Args:
        edges: the segments beside it [m], shape (1 or 2, 3).
        wind: relative to the vertex [m/s], shape (3,).
        radius: of the hair [m].
        length: of the strand [m].
        density: of the air [kg/m^3].
        viscosity: of the air [Pa s].
    """
    half = 0.5 * np.linalg.norm(edges, axis=1)
    tangent = edges / (2 * half[:, None])
    along = math.sqrt((half * (tangent @ wind) ** 2).sum() / half.sum())
    across = math.sqrt(max(float(wind @ wind) - along**2, 0.0))
    normal = across_coefficient(across, radius, length, density, viscosity)
    tangential = along_coefficient(along, radius, length, density, viscosity)
    total = np.zeros((3, 3))
    for part, direction in zip(half, tangent, strict=True):
        projector = np.outer(direction, direction)
        total += part * (normal * (np.eye(3) - projector) + tangential * projector)
    return total
