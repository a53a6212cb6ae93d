"""Triangles of the creature, finer on head and legs than on the trunk."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.body.implicit import Sculpture
from mane.body.mesh import Mesh
from mane.body.surface_nets import graded_axis, mesh_on_axes

DEFAULT_CELL = 0.006  # [m]

# Distances of the grid's planes at given places, for the default cell. All [mm].
X_CELLS = ((0, 5.5), (100, 5.5), (110, 8.0))
Y_CELLS = ((0, 5.0), (20, 5.0), (40, 8.0), (200, 9.0), (260, 10.0), (400, 10.0), (440, 6.0), (560, 6.0), (600, 5.0))
Z_CELLS = (
    (-660, 8.0), (-600, 10.0), (-280, 10.0), (-250, 6.0), (-180, 6.0), (-140, 7.5), (-110, 12.0), (70, 12.0),
    (90, 6.0), (160, 6.0), (190, 9.0), (270, 7.0), (300, 5.0), (480, 5.0),
)  # fmt: skip
GRID_LOW, GRID_HIGH = (0.0, -0.015, -0.665), (0.115, 0.625, 0.505)  # [m]


def creature_mesh(form: Sculpture, cell_size: float) -> Mesh:
    """Mesh the form with cells of about `cell_size` [m] on head and legs, twice that on the trunk."""
    return mesh_on_axes(form, _grid_axes(cell_size / DEFAULT_CELL))


def _grid_axes(scale: float) -> list[NDArray[np.float64]]:
    """Ascending x, y and z of the grid [m]; x mirrors itself about 0."""
    axes = []
    for cells, low, high in zip((X_CELLS, Y_CELLS, Z_CELLS), GRID_LOW, GRID_HIGH, strict=True):
        places, sizes = (1e-3 * np.array(cells)).T
        axes.append(graded_axis(low, high, places, scale * sizes))
    half = axes[0]
    return [np.concatenate([-half[:0:-1], half]), *axes[1:]]
