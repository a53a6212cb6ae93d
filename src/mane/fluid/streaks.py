"""Streamlines of a flow, to look at it: curves that are everywhere along the velocity of one moment."""

from __future__ import annotations

import numpy as np

from mane.fluid.flow import Flow
from mane.fluid.grid import FloatArray
from mane.geometry.checks import require_positive

STEPS_PER_CELL = 2
STILL = 1e-3  # of the fastest velocity: a line that gets this slow stays where it is


def streamlines(flow: Flow, count: int, *, length: float, seed: int = 0) -> FloatArray:
    """Return lines that start at random places of the fluid [m], shape (count, V, 3).

    Args:
        flow: as it is now.
        count: how many lines.
        length: of each [m]; a line that leaves the box or comes to rest stays at its last point.
        seed: of where they start.
    """
    require_positive("length", length)
    rng, (low, high) = np.random.default_rng(seed), flow.grid.bounds
    step = flow.grid.cell / STEPS_PER_CELL
    points = rng.uniform(low, high, (count, 3))
    slowest = STILL * max(float(np.abs(flow.velocity).max()), 1e-9)
    lines = [points]
    for _ in range(max(1, round(length / step))):
        middle = points + 0.5 * step * _direction(flow, points, slowest)
        moved = points + step * _direction(flow, middle, slowest)
        is_inside = ((moved > low) & (moved < high)).all(axis=1, keepdims=True)
        points = np.where(is_inside, moved, points)
        lines.append(points)
    return np.stack(lines, axis=1).astype(np.float32)


def _direction(flow: Flow, points: np.ndarray, slowest: float) -> np.ndarray:
    velocity = flow.at(points)
    speed = np.linalg.norm(velocity, axis=1, keepdims=True)
    return np.where(speed > slowest, velocity / np.maximum(speed, slowest), 0.0)
