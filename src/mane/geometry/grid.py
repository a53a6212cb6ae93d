"""Uniform grids: values on lattice nodes, and trilinear sampling of value and gradient anywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mane.geometry import _kernels_grid as kernels
from mane.geometry.checks import FloatArray, as_floats, require_positive

# A cell needs a node on either side of it.
MIN_NODES = 2


@dataclass(frozen=True, eq=False)
class UniformGrid:
    """A scalar field on the nodes of a lattice of cubes.

    Attributes:
        values: the field at the nodes, shape (nx, ny, nz), float32.
        origin: position of node (0, 0, 0) [m], shape (3,).
        cell_size: edge of a cell [m].

    Between the nodes the field is trilinear: continuous, exact for linear fields, second-order accurate for smooth ones
    (error at most 3/8 h^2 times the largest second derivative). Its gradient is that of the trilinear form:
    first-order accurate, with jumps across cell faces. A point outside takes what the nearest point of the box has.
    """

    values: FloatArray
    origin: FloatArray
    cell_size: float

    def __post_init__(self) -> None:
        values = as_floats("grid.values", self.values, ("nx", "ny", "nz"))
        if min(values.shape) < MIN_NODES:
            raise ValueError(f"grid.values: must have at least {MIN_NODES} nodes along each axis, got {values.shape}")
        require_positive("grid.cell_size", self.cell_size)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "origin", as_floats("grid.origin", self.origin, (3,)))

    @property
    def bounds(self) -> FloatArray:
        """Positions of the first and the last node [m], shape (2, 3)."""
        span = (np.array(self.values.shape) - 1) * self.cell_size
        return np.stack([self.origin, self.origin + span]).astype(np.float32)

    def node_axes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Coordinates x (nx,), y (ny,) and z (nz,) of the nodes [m]."""
        x, y, z = (
            (self.origin[axis] + np.arange(self.values.shape[axis]) * self.cell_size).astype(np.float32)
            for axis in range(3)
        )
        return x, y, z

    def node_positions(self) -> FloatArray:
        """Positions of all nodes [m], shape (nx, ny, nz, 3)."""
        return np.stack(np.meshgrid(*self.node_axes(), indexing="ij"), axis=-1)

    def sample(self, points: ArrayLike) -> FloatArray:
        """Return the field at `points` [m], shape (..., 3), as an array of shape (...)."""
        array = np.asarray(points)
        flat = as_floats("points", array.reshape(-1, 3), ("P", 3))
        out = np.empty(len(flat), np.float32)
        kernels.sample_grid(self.values, self.origin, np.float32(1.0 / self.cell_size), flat, out)
        return out.reshape(array.shape[:-1])

    def sample_with_gradient(self, points: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the field and its gradient [1/m] at `points`, shapes (...) and (..., 3)."""
        array = np.asarray(points)
        flat = as_floats("points", array.reshape(-1, 3), ("P", 3))
        out = np.empty(len(flat), np.float32)
        gradient = np.empty((len(flat), 3), np.float32)
        kernels.sample_grid_gradient(self.values, self.origin, np.float32(1.0 / self.cell_size), flat, out, gradient)
        return out.reshape(array.shape[:-1]), gradient.reshape(array.shape)
