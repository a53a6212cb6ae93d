"""Drops that lie on the floor of a box as one film: as high in every cell as their volume makes it, and smooth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.fluid.spray import Spray

Array = NDArray[np.float64]
SQUARE = ((0, 0), (1, 0), (1, 1), (0, 1))  # corners of a cell of the floor, one after the other


def puddle_mesh(spray: Spray) -> Mesh | None:
    """The film of all drops that lie on the floor, closed, of their volume; None where none does."""
    lying = spray.is_lying
    if not lying.any():
        return None
    up = spray.upright
    across = [axis for axis in range(3) if axis != up]
    heights = np.zeros([spray.grid.shape[axis] for axis in across])
    np.add.at(heights, tuple(spray.cells[lying][:, across].T), spray.volumes[lying])
    nodes = _means_of_cells(heights)
    corners = np.stack([nodes[i : i + len(heights), j : j + heights.shape[1]] for i, j in SQUARE], axis=-1)
    cells = np.argwhere(corners.max(axis=2) > 0.0)
    faces = _faces(cells, nodes)
    is_down = spray.gravity[up] < 0
    places = np.zeros((2, nodes.size, 3))  # the film's surface, and the floor below it
    places[:, :, across] = np.indices(nodes.shape).reshape(2, -1).T
    places[0, :, up] = nodes.reshape(-1)
    if not is_down:
        places[..., up] = spray.grid.shape[up] - places[..., up]
    # Axes that follow each other in a circle keep the sense of turning, a mirrored one changes it.
    if (up == 1) == is_down:
        faces = faces[:, ::-1]
    used, index = np.unique(faces, return_inverse=True)
    points = spray.grid.origin + spray.grid.cell * places.reshape(-1, 3)[used]
    return Mesh(points.astype(np.float32), index.reshape(-1, 3).astype(np.int32))


def _means_of_cells(heights: Array) -> Array:
    """Heights at the corners of cells: means of the cells that meet there, (X + 1, Y + 1). The volume stays."""
    sums, counts = (np.pad(array, 1) for array in (heights, np.ones_like(heights)))
    total, count = (array[:-1, :-1] + array[1:, :-1] + array[:-1, 1:] + array[1:, 1:] for array in (sums, counts))
    found: Array = total / count
    return found


def _faces(cells: NDArray[np.int64], nodes: Array) -> NDArray[np.int64]:
    """Triangles of the surface above cells (C, 2), of the floor below, and of walls between.

    Numbers of the floor are those of the surface and the count of nodes. Away from walls the film ends at height 0,
    where surface and floor have one vertex.
    """
    numbers = np.arange(nodes.size).reshape(nodes.shape)
    square = np.stack([numbers[cells[:, 0] + i, cells[:, 1] + j] for i, j in SQUARE], axis=1)
    surface = square[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)
    is_wet = nodes.reshape(-1) > 0.0
    surface = surface[is_wet[surface].any(axis=1)]
    floor = surface[:, ::-1] + np.where(is_wet, nodes.size, 0)[surface[:, ::-1]]
    sides = surface[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    _, first, count = np.unique(np.sort(sides, axis=1) @ (nodes.size, 1), return_index=True, return_counts=True)
    rim = sides[first[count == 1]]
    below = rim + np.where(is_wet, nodes.size, 0)[rim]
    walls = np.concatenate([np.column_stack([rim[:, ::-1], below[:, 0]]), np.column_stack([rim[:, 1], below])])
    has_area = (walls != np.roll(walls, 1, axis=1)).all(axis=1)
    return np.concatenate([surface, floor, walls[has_area]])
