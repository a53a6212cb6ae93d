"""`PackedSolid`: a solid as kernels read it, with what spares them most of their looking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mane.body.motion import Pose
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray

# Cells of a distance field along each edge of a block: the smaller, the closer hair may come before it is looked at;
# the larger, the less memory is read.
BLOCK = 2
# How fast distances fall along a way at most: 1 for shapes, the square root of 3 between the nodes of a field.
SHAPE_SLOPE, FIELD_SLOPE = 1.0, 1.7321

_NO_KINDS = np.zeros(0, np.int32)
_NO_PARAMS = np.zeros((0, 16), np.float32)
_NO_FIELD = np.zeros((2, 2, 2), np.float32)
# Of a shape, whose distance is quick to compute, nothing is known beforehand.
_NOTHING_KNOWN = np.full((1, 1, 1), -np.inf, np.float32)


@dataclass(frozen=True, eq=False)
class PackedSolid:
    """A shape or a rigid mesh.

    Attributes:
        fixed: what does not move of the tuple that `_kernels_solid` describes.
    """

    fixed: tuple[Any, ...]

    @classmethod
    def of(cls, solid: Solid) -> PackedSolid:
        """Pack a solid that is no animated mesh."""
        if solid.shape is not None:
            nowhere = np.zeros(3, np.float32)
            one, slope = np.float32(1.0), np.float32(SHAPE_SLOPE)
            return cls((*solid.shape.pack(), _NO_FIELD, nowhere, one, _NOTHING_KNOWN, one, slope))
        field = solid.field
        assert field is not None
        # Kernels are compiled for arrays that may be written, and for no others.
        values = field.values if field.values.flags.writeable else field.values.copy()
        inv_block = np.float32(field.inv_cell / BLOCK)
        known = (lowest_of_blocks(values), inv_block, np.float32(FIELD_SLOPE))
        return cls((_NO_KINDS, _NO_PARAMS, values, field.origin, field.inv_cell, *known))

    def at(self, pose: Pose) -> tuple[Any, ...]:
        """Return the tuple that `_kernels_solid` describes."""
        return (*self.fixed, pose.matrix[:3, :3].astype(np.float32), pose.position.astype(np.float32))


def lowest_of_blocks(values: FloatArray, block: int = BLOCK) -> FloatArray:
    """Least value that a field of nodes (X, Y, Z) has within each block of its cells."""
    lowest = values
    for axis in range(3):
        nodes = np.moveaxis(lowest, axis, 0)
        cells = np.minimum(nodes[:-1], nodes[1:])
        starts = np.arange(0, len(cells), block)
        lowest = np.moveaxis(np.minimum.reduceat(cells, starts, axis=0), 0, axis)
    return np.ascontiguousarray(lowest)


def require_poses(solids: Sequence[Solid], poses: Sequence[Pose]) -> None:
    """Raise ValueError unless there is a pose for every solid."""
    if len(poses) != len(solids):
        raise ValueError(f"frame.solid_poses: must hold a pose for each of the {len(solids)} solids, got {len(poses)}")
