"""Directions in space."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def spread_directions(count: int) -> NDArray[np.float64]:
    """Directions spread evenly over a sphere (a Fibonacci lattice), shape (count, 3)."""
    up = 1 - (2 * np.arange(count) + 1) / count
    angle = np.pi * (3 - np.sqrt(5)) * np.arange(count)
    side = np.sqrt(1 - up * up)
    return np.stack([side * np.cos(angle), up, side * np.sin(angle)], axis=1)
