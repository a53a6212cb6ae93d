"""One frame of learned hair in plain NumPy, slow and obvious: the specification of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Distance = Callable[[Array], tuple[float, Array]]


def synthesize(control: Array, history: Array, controls: Array, past: Array) -> Array:
    """guan2012 eq. 10: y_t of what is known of the body (U,) and the last coefficients, oldest first (order, d)."""
    return np.asarray(control @ controls + sum(b @ y for b, y in zip(history, past, strict=True)))


def lay_strand(
    root: Array, directions: Array, lengths: Array, levels: Array, distances: list[Distance], thickness: float
) -> Array:
    """Vertices (V, 3) of a strand from root to tip, each out of solids by two pushes with its length kept.

    Args:
        root: [m], (3,).
        directions: of the segments, world, of any length, (N, 3).
        lengths: of the segments [m], (N,).
        levels: distance from the first solid that each vertex is pushed to at most [m], (V,).
        distances: of each solid: signed distance [m] and unit gradient at a point.
        thickness: distance that the other solids push to [m].
    """
    points = [root]
    for i, (direction, length) in enumerate(zip(directions, lengths, strict=True)):
        before = points[-1]
        here = before + length * direction / np.linalg.norm(direction)
        for _ in range(2):
            for number, distance in enumerate(distances):
                level = levels[i + 1] if number == 0 else thickness
                d, normal = distance(here)
                if d < level:
                    edge = here + (level - d) * normal - before
                    here = before + length * edge / np.linalg.norm(edge)
        points.append(here)
    return np.array(points)


def cut_forces(points: Array, previous: Array, velocity: Array, masses: Array, gravity: Any, dt: float) -> Array:
    """Force that the part beyond each segment pulls at it with [N], (N, 3): its weight less what speeds it up."""
    acceleration = ((points - previous) / dt - velocity) / dt
    each = masses[:, None] * (np.asarray(gravity) - acceleration)
    return np.asarray(np.cumsum(each[::-1], axis=0)[::-1][1:])
