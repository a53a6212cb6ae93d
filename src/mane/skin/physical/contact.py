"""`SkinSolids`: what hairs of the physical skin are turned out of (hsu2024 4.2).

The sweep over all hairs knows no solids. Those whose points are found inside one are swept once more, segment by
segment: solved, tested, and solved again with the torque of eq. 18 where the end of the segment is inside.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mane.body._kernels_solid import SolidList
from mane.body.packed import PackedSolid, packed_poses, solid_list
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.skin.base import require_poses
from mane.skin.physical import _kernels_contact as kernels
from mane.skin.physical.params import PhysicalParams
from mane.strand.frame import GuideFrame
from mane.strand.model import Float64Array


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
        """Return all solids and their poses at a frame, as `_kernels_contact.nearest_solid` reads them."""
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


def leave_solids(
    solids: tuple[SolidList, FloatArray],
    rest: tuple[Float64Array, ...],
    force: Float64Array,
    root: Float64Array,
    params: PhysicalParams,
    targets: FloatArray,
) -> FloatArray:
    """Sweep hairs with the penetration torque; returns their points (H, V, 3) [m].

    Args:
        solids: as of `SkinSolids.at`.
        rest: of the hairs, as of `HairBlocks.unpack`.
        force: on the hairs, in weights, shape (H, N, 3).
        root: how the skin has turned at each root, shape (H, 4).
        params: settings of the skin.
        targets: of the drift correction [m], shape (H, V, 3).
    """
    points = targets.copy()
    pull = np.float32(params.alpha * params.drift)
    length, first, bend, strain = (array.astype(np.float32) for array in rest)
    kernels.sweep_out_of_solids(
        *solids,
        length,
        first,
        bend,
        strain,
        ((1 - params.alpha) * force).astype(np.float32),
        root.astype(np.float32),
        pull,
        np.float32(params.drift_gain_used),
        pull if params.overshoots else np.float32(0.0),
        np.float32(1 / params.drift if params.stretch_by_blend else 0.0),
        np.float32(params.penetration),
        points,
    )
    return points
