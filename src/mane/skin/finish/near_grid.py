"""`NearGrid`: cells of space in which hair may be inside a solid; all that most vertices are asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.body._kernels_solid import SolidArrays
from mane.body._kernels_solid_f32 import FIELD_SLOPE
from mane.body.motion import Pose
from mane.body.packed import PackedSolid
from mane.body.shapes import Shape
from mane.geometry.checks import FloatArray
from mane.skin.finish import _kernels as kernels
from mane.skin.finish._kernels import NearCells

# Cells in the box of a shape, however long and flat that is: between the teeth of a comb there must be some that are
# not near. A mesh has those of its distance field.
SHAPE_CELLS = 48**3
MOST_CELLS = 256  # along the longest edge, where a shape is next to flat
# A vertex may be found in the next cell by rounding, no further from its own than this part of a cell.
ROUNDING = 0.05


@dataclass(frozen=True, eq=False)
class NearGrid:
    """Which cells of a box around a solid could hold a point below some distance of it; beyond the box nothing could.

    Attributes:
        is_near: (X, Y, Z), uint8, 1 for those cells.
        origin: lowest corner of the box in the solid's own frame [m], (3,).
        cell: edge of a cell [m].
    """

    is_near: NDArray[np.uint8]
    origin: FloatArray
    cell: float

    @classmethod
    def of(
        cls, packed: PackedSolid, thickness: float, time: float = 0.0, memory: NDArray[np.uint8] | None = None
    ) -> NearGrid:
        """Look at a solid as it is at `time` [s], for points less than `thickness` [m] away.

        What is near to a mesh is written to `memory` (N,), if that suffices.
        """
        if packed.solid.shape is not None:
            return cls._of_shape(packed.solid.shape, thickness)
        return cls._of_field(packed.arrays_at(time), thickness, memory)

    @classmethod
    def _of_shape(cls, shape: Shape, thickness: float) -> NearGrid:
        low, high = shape.bounds.astype(np.float64)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            return cls.everywhere()
        size = high - low + 2 * thickness
        cell = max(float(size.prod() / SHAPE_CELLS) ** (1 / 3), float(size.max()) / MOST_CELLS)
        # With two more cells on each side the outermost are not near, in which everything beyond the box is looked up.
        origin = low - thickness - 2 * cell
        counts = np.ceil(size / cell).astype(int) + 4
        centers = origin + cell * (np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1) + 0.5)
        distance = shape.distance(centers.reshape(-1, 3).astype(np.float32)).reshape(counts)
        near = distance <= thickness + cell * (0.5 * np.sqrt(3.0) + ROUNDING)
        return cls(near.astype(np.uint8), origin.astype(np.float32), cell)

    @classmethod
    def _of_field(cls, field: SolidArrays, thickness: float, memory: NDArray[np.uint8] | None) -> NearGrid:
        shape = tuple(count - 1 for count in field.values.shape)
        size = int(np.prod(shape))
        is_near = np.empty(size, np.uint8) if memory is None or memory.size < size else memory[:size]
        cell = float(1.0 / field.inv_cell)
        limit = np.float32(thickness + ROUNDING * cell * FIELD_SLOPE)
        kernels.fill_near_cells(field.values, limit, is_near.reshape(shape))
        return cls(is_near.reshape(shape), field.origin, cell)

    @classmethod
    def everywhere(cls) -> NearGrid:
        """Return a grid that knows nothing."""
        return cls(np.ones((1, 1, 1), np.uint8), np.zeros(3, np.float32), 1.0)

    def at(self, pose: Pose) -> NearCells:
        """Return the grid of a solid at `pose`, as `_kernels.flag_near` reads it."""
        lookup = np.empty((6, 3), np.float32)
        lookup[:3] = pose.matrix[:3, :3].T / self.cell
        lookup[3] = pose.position
        lookup[4] = -self.origin.astype(np.float64) / self.cell
        lookup[5] = np.array(self.is_near.shape) - 1.0
        return NearCells(self.is_near.reshape(-1), lookup)
