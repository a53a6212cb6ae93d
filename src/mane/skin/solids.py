"""`SkinSolids`: what a skin keeps its hairs out of, as its kernels read it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mane.body._kernels_solid import SolidList
from mane.body.packed import PackedSolid, packed_poses, solid_list
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.skin import _kernels_solids as kernels
from mane.skin.base import require_poses
from mane.strand.frame import GuideFrame


class SkinSolids:
    """Solids that hairs are kept out of, one by one and as one table.

    Args:
        solids: in the order of `frame.solid_poses`.
    """

    def __init__(self, solids: Sequence[Solid]) -> None:
        self._packed = [PackedSolid.of(solid) for solid in solids]
        self._is_deforming = any(one.is_deforming for one in self._packed)
        self._table = None if self._is_deforming else solid_list([one.arrays for one in self._packed])

    def at(self, frame: GuideFrame) -> tuple[SolidList, FloatArray]:
        """Return all solids and their poses at a frame, as `_kernels_solids.nearest_solid` reads them."""
        table = self._table
        if table is None:
            table = solid_list([one.arrays_at(frame.time) for one in self._packed])
        return table, packed_poses(frame.solid_poses)

    def penetrating(self, frame: GuideFrame, points: FloatArray) -> NDArray[np.int64]:
        """Hairs of `points (S, V, 3)` with a vertex inside a solid, roots apart."""
        require_poses(len(self._packed), frame.solid_poses)
        is_inside = np.zeros(len(points), np.bool_)
        for one, pose in zip(self._packed, packed_poses(frame.solid_poses), strict=True):
            solid, blocks = one.arrays_at(frame.time), one.blocks_at(frame.time)
            kernels.find_penetrating(solid, blocks, pose, points, is_inside)
        return np.flatnonzero(is_inside)

    @property
    def nbytes(self) -> int:
        """Bytes of the table, and of what is known of the solids beforehand; what deforms has its own."""
        rigid = [one for one in self._packed if not one.is_deforming]
        table = 0 if self._table is None else sum(array.nbytes for array in self._table)
        return table + sum(one.blocks.lowest.nbytes for one in rigid)
