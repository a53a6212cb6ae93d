"""Vorticity confinement: eddies that the grid wears out are kept turning (Fedkiw, Stam and Jensen 2001)."""

from __future__ import annotations

import numpy as np

from mane.fluid.grid import Float64Array, FloatArray, Grid

LEAST = 1e-6  # keeps the direction finite where vorticity is even


def confine(grid: Grid, velocity: FloatArray, strength: float) -> None:
    """Add strength * cell * (N x omega) to `velocity` (3, *padded), N towards where vorticity omega grows."""
    h = grid.cell
    omega = vorticity(grid, velocity)
    size = np.linalg.norm(omega, axis=0)
    towards = np.stack([_derivative(size, axis, h) for axis in range(3)])
    towards /= np.linalg.norm(towards, axis=0) + LEAST
    push = strength * h * np.cross(towards, omega, axis=0)
    for axis in range(3):
        rows, change = (np.moveaxis(array, axis, 0) for array in (grid.faces(velocity[axis], axis), push[axis]))
        rows[1:-1] += 0.5 * (change[1:] + change[:-1])


def vorticity(grid: Grid, velocity: FloatArray) -> Float64Array:
    """Curl of the velocity in the middle of every cell [1/s], shape (3, *shape)."""
    u, v, w = (_in_cells(grid, velocity, axis) for axis in range(3))
    h = grid.cell
    return np.stack(
        [
            _derivative(w, 1, h) - _derivative(v, 2, h),
            _derivative(u, 2, h) - _derivative(w, 0, h),
            _derivative(v, 0, h) - _derivative(u, 1, h),
        ]
    )


def _in_cells(grid: Grid, velocity: FloatArray, axis: int) -> Float64Array:
    rows = np.moveaxis(grid.faces(velocity[axis], axis), axis, 0).astype(np.float64)
    return np.moveaxis(0.5 * (rows[1:] + rows[:-1]), 0, axis)


def _derivative(values: Float64Array, axis: int, h: float) -> Float64Array:
    if values.shape[axis] < 2:
        return np.zeros_like(values)
    slope: Float64Array = np.gradient(values, h, axis=axis)
    return slope
