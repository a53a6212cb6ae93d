"""Triangles of the creature, finer on head and legs than on the trunk."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.body.implicit import Sculpture
from mane.body.mesh import Mesh
from mane.body.surface_nets import graded_axis, mesh_on_axes

DEFAULT_CELL = 0.007  # [m]

# Distances of the grid's planes at given places, for the default cell. All [mm].
X_CELLS = ((0, 7.0), (100, 7.0), (110, 8.0))
Y_CELLS = ((0, 6.0), (20, 6.5), (40, 10.0), (200, 11.0), (260, 13.0), (390, 13.0), (430, 7.0), (540, 7.0), (580, 6.0))
Z_CELLS = (
    (-650, 9.0), (-600, 12.0), (-290, 12.0), (-260, 7.5), (-190, 7.5), (-150, 9.0), (-110, 14.0), (60, 14.0),
    (85, 7.5), (160, 7.5), (190, 11.0), (250, 9.0), (280, 6.0), (460, 6.0),
)  # fmt: skip
GRID_LOW, GRID_HIGH = (0.0, -0.02, -0.67), (0.12, 0.62, 0.48)  # [m]


def creature_mesh(form: Sculpture, cell_size: float) -> Mesh:
    """Mesh the form with cells of about `cell_size` [m] on head and legs, up to twice that on the trunk."""
    return mesh_on_axes(form, _grid_axes(cell_size / DEFAULT_CELL))


def _grid_axes(scale: float) -> list[NDArray[np.float64]]:
    """Ascending x, y and z of the grid [m]; x mirrors itself about 0."""
    axes = []
    for cells, low, high in zip((X_CELLS, Y_CELLS, Z_CELLS), GRID_LOW, GRID_HIGH, strict=True):
        places, sizes = (1e-3 * np.array(cells)).T
        axes.append(graded_axis(low, high, places, scale * sizes))
    half = axes[0]
    return [np.concatenate([-half[:0:-1], half]), *axes[1:]]
