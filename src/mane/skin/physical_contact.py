"""`SkinSolids`: what hairs of the physical skin are turned out of (hsu2024 4.2).

The sweep over all hairs knows no solids. Those whose points are found inside one are swept once more, segment by
segment: solved, tested, and solved again with the torque of eq. 18 where the end of the segment is inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.skin import _kernels_physical_contact as kernels
from mane.skin import _kernels_solid
from mane.skin.physical_params import PhysicalParams
from mane.skin.solid_table import PackedSolid, require_poses
from mane.strand.frame import GuideFrame
from mane.strand.model import Float64Array


class SkinSolids:
    """Solids as the kernels read them.

    Args:
        solids: shapes and meshes, in the order of `frame.solid_poses`; no animated meshes.
    """

    def __init__(self, solids: Sequence[Solid]) -> None:
        for number, solid in enumerate(solids):
            if solid.animation is not None:
                raise ValueError(
                    f"solids: must be shapes or rigid meshes, got an animated mesh at index {number}; "
                    "a finishing pass (SolidAdjustment) takes those"
                )
        self._solids = tuple(solids)
        self._packed = [PackedSolid.of(solid) for solid in solids]
        fixed = [packed.fixed for packed in self._packed]
        self._arrays: tuple[NDArray[Any], ...] = (
            np.concatenate([one[0] for one in fixed]),
            np.concatenate([one[1] for one in fixed]),
            _starts([len(one[0]) for one in fixed]),
            np.concatenate([one[2].reshape(-1) for one in fixed]),
            _starts([one[2].size for one in fixed])[:-1],
            np.array([one[2].shape for one in fixed], np.int64),
            np.array([one[3] for one in fixed], np.float32),
            np.array([one[4] for one in fixed], np.float32),
            np.zeros((1, 1, 1), np.float32),
        )

    def at(self, frame: GuideFrame) -> tuple[NDArray[Any], ...]:
        """Return what `_kernels_physical_contact.nearest_solid` wants to know at a frame."""
        poses = frame.solid_poses
        turn = np.array([pose.matrix[:3, :3] for pose in poses], np.float32)
        return (*self._arrays, turn, np.array([pose.position for pose in poses], np.float32))

    def penetrating(self, frame: GuideFrame, points: FloatArray) -> NDArray[np.int64]:
        """Hairs of `points (S, V, 3)` with a vertex inside a solid, roots apart."""
        require_poses(self._solids, frame.solid_poses)
        is_inside = np.zeros(len(points), np.bool_)
        for packed, pose in zip(self._packed, frame.solid_poses, strict=True):
            _kernels_solid.find_penetrating(packed.at(pose), points, is_inside)
        return np.flatnonzero(is_inside)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self._arrays) + sum(one.fixed[5].nbytes for one in self._packed)


def _starts(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def leave_solids(
    solids: tuple[NDArray[Any], ...],
    rest: tuple[Float64Array, ...],
    force: Float64Array,
    root: Float64Array,
    params: PhysicalParams,
    targets: FloatArray,
) -> FloatArray:
    """Sweep hairs with the penetration torque; returns their points (H, V, 3) [m].

    Args:
        solids: as of `SkinSolids.at`.
        rest: of the hairs, as of `Lanes.unpack`.
        force: on the hairs, in weights, shape (H, N, 3).
        root: how the skin has turned at each root, shape (H, 4).
        params: settings of the skin.
        targets: of the drift correction [m], shape (H, V, 3).
    """
    points = targets.copy()
    pull = np.float32(params.alpha * params.drift)
    length, first, bend, strain = (array.astype(np.float32) for array in rest)
    kernels.sweep_out_of_solids(
        solids,
        length,
        first,
        bend,
        strain,
        ((1 - params.alpha) * force).astype(np.float32),
        root.astype(np.float32),
        pull,
        np.float32(params.closing_used),
        pull if params.overshoots else np.float32(0.0),
        np.float32(1 / params.drift if params.stretch_by_blend else 0.0),
        np.float32(params.penetration),
        points,
    )
    return points
