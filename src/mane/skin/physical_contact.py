"""Hairs of the physical skin that reach into a solid, rebuilt with the penetration torque (hsu2024 4.2).

The sweep over all hairs knows no solids. Those few whose points are found inside one are swept once more, segment by
segment: solved, tested, and solved again with the torque of eq. 18 where the end of the segment is inside.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Twist
from mane.body.solid import PosedSolid, Solid
from mane.geometry.checks import FloatArray
from mane.skin import _reference_physical as reference
from mane.strand.frame import GuideFrame

Array = NDArray[np.float64]


class PosedSolids:
    """All solids as they are at one frame.

    Args:
        solids: of the simulation, in the order of `frame.solid_poses`.
        frame: says where they are.
    """

    def __init__(self, solids: Sequence[Solid], frame: GuideFrame) -> None:
        if len(frame.solid_poses) != len(solids):
            raise ValueError(
                f"frame.solid_poses: must hold a pose for each of the {len(solids)} solids of the skin, "
                f"got {len(frame.solid_poses)}"
            )
        self._posed = [
            PosedSolid(solid, frame.time, pose, Twist.zero())
            for solid, pose in zip(solids, frame.solid_poses, strict=True)
        ]

    def penetrating(self, points: FloatArray) -> NDArray[np.int64]:
        """Hairs of `points (S, V, 3)` with a vertex inside a solid, roots apart."""
        flat = np.ascontiguousarray(points[:, 1:]).reshape(-1, 3)
        inside = np.zeros(len(flat), np.bool_)
        for solid in self._posed:
            inside |= solid.distance(flat) < 0
        return np.flatnonzero(inside.reshape(len(points), -1).any(axis=1))

    def distance(self, points: Array) -> tuple[Array, Array]:
        """Signed distance to the nearest solid (P,) [m] and its gradient (P, 3) at `points (P, 3)` [m]."""
        nearest, normal = np.full(len(points), np.inf), np.zeros(points.shape)
        for solid in self._posed:
            distance, gradient = solid.distance_and_gradient(points.astype(np.float32))
            closer = distance < nearest
            nearest[closer], normal[closer] = distance[closer], gradient[closer]
        return nearest, normal


def resolve(
    hairs: reference.Hairs, guidance: reference.Guidance, rules: reference.Rules, solids: PosedSolids
) -> FloatArray:
    """Sweep hairs with the penetration torque; points (S, V, 3) [m]."""
    points, _ = reference.sweep(hairs, guidance, rules, distance=solids.distance)
    return points.astype(np.float32)
