"""What is measured of hair that parts around solids, frame by frame: nothing is kept but sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.body.cells import solid_cells
from mane.body.packed import PackedSolid, packed_poses
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray, IntArray
from mane.groom.groom import Groom
from mane.metrics.flicker import FlickerMeter
from mane.metrics.kink import kink
from mane.metrics.length import length_error
from mane.scene.config import ROUNDS_BEHIND_SIDES
from mane.skin.finish import _kernels as kernels
from mane.skin.finish.near_grid import NearGrid
from mane.skin.finish.passes import FinishingPass, LengthKeeping, SolidAdjustment
from mane.strand.frame import GuideFrame

NEAR = 0.02  # [m]
INSIDE = 1e-4  # [m] deeper than this counts as penetration


class PropDistance:
    """Distance from the nearest of some solids behind the first one, the body.

    Args:
        solids: the body first.
    """

    def __init__(self, solids: Sequence[Solid]) -> None:
        self._props = list(solids[1:])
        self._packed = [PackedSolid.of(solid) for solid in self._props]
        self._cells = [solid_cells([one]) for one in self._packed]
        self._grids = [NearGrid.of(one, NEAR) for one in self._packed]

    def __call__(self, time: float, points: FloatArray) -> FloatArray:
        """Signed distance of points (S, V, 3) [m], (S, V); infinite where that is more than `NEAR`."""
        points = np.ascontiguousarray(points, np.float32)
        found = np.full(points.shape[:2], np.inf, np.float32)
        flags, distance = np.empty(points.shape[:2], np.uint8), np.empty(points.shape[:2], np.float32)
        for solid, packed, cells, grid in zip(self._props, self._packed, self._cells, self._grids, strict=True):
            pose = solid.at(time).pose
            kernels.flag_near(grid.at(pose), points.reshape(-1), flags.reshape(-1))
            kernels.fill_distance(packed.arrays_at(time), cells, packed_poses([pose])[0], flags, points, distance)
            np.minimum(found, distance, out=found)
        found[found > NEAR] = np.inf
        return found


def near_solids(distance: PropDistance, time: float, points: FloatArray) -> NDArray[np.bool_]:
    """Whether hairs (S, V, 3) have a vertex within `NEAR` of a solid, (S,)."""
    is_near: NDArray[np.bool_] = np.any(distance(time, points) < NEAR, axis=1)
    return is_near


def finish_of(groom: Groom, solids: Sequence[Solid]) -> tuple[FinishingPass, ...]:
    """What every method is held behind: lengths kept, and `push_out` as scenes have it behind sides kept."""
    adjustment = SolidAdjustment(solids, groom=groom, body=solids[0], rounds=ROUNDS_BEHIND_SIDES)
    return LengthKeeping(groom), adjustment


@dataclass(frozen=True)
class Found:
    """What a method did, over all frames, hairs that are no guides.

    Attributes:
        near: part of the hairs that are near a solid in the truth, mean over frames.
        near_error: mean distance of hairs near a solid from the truth [m], as they come from the method.
        near_error_finished: after push-out with lengths kept, as a frame is drawn.
        error: of all hairs, before push-out [m].
        rate: part of the vertices of hairs near a solid, in the truth or by the method, that are deeper in it than
            `INSIDE`, before push-out.
        rate_finished: after push-out with lengths kept.
        deepest: deepest penetration of all frames [m], after push-out.
        deepest_mean: mean over frames of the deepest penetration [m], after push-out.
        flicker: of what is drawn, after push-out [m], of hairs that are near a solid in the truth; 0 where none is.
        flicker_of_all: the same of all hairs.
        flicker_alone: of all hairs, before push-out [m].
        length_error: mean of the skin alone.
        kink: mean of the skin alone [rad].
        length_error_finished: mean after push-out.
        kink_finished: mean after push-out [rad].
    """

    near: float
    near_error: float
    near_error_finished: float
    error: float
    rate: float
    rate_finished: float
    deepest: float
    deepest_mean: float
    flicker: float
    flicker_of_all: float
    flicker_alone: float
    length_error: float
    kink: float
    length_error_finished: float
    kink_finished: float


class FrameMeter:
    """Compares the hairs of a method with the truth.

    Args:
        groom: the hairs at rest.
        solids: the body first.
        others: hairs that are no guides.
    """

    def __init__(self, groom: Groom, solids: Sequence[Solid], others: IntArray) -> None:
        self._others, self._rest, self._prop_distance = others, groom.as_uniform(), PropDistance(solids)
        self._finish = finish_of(groom, solids)
        self._flicker, self._flicker_of_all, self._flicker_alone = FlickerMeter(), FlickerMeter(), FlickerMeter()
        self._rows: list[tuple[float, ...]] = []

    def add(self, frame: GuideFrame, truth: FloatArray, is_near: NDArray[np.bool_], made: FloatArray | None) -> None:
        """Add a frame, after the one before; `made (S, V, 3)` is changed, None measures the truth itself."""
        others = self._others
        points = truth.copy() if made is None else made
        near = others[is_near[others]]
        apart = _apart(points, truth)
        self._flicker_alone.add(points[others])
        before = self._distance(frame, points, is_near)
        of_shape = self._shape_errors(points)
        if made is not None:
            for one in self._finish:
                points = one(points, frame)
        after = self._distance(frame, points, is_near)
        self._flicker.add(points[others], is_near[others])
        self._flicker_of_all.add(points[others])
        self._rows.append(
            (
                apart[near].sum(),
                _apart(points[near], truth[near]).sum(),
                len(near),
                apart[others].mean(),
                (before < -INSIDE).sum(),
                before.size,
                (after < -INSIDE).sum(),
                after.size,
                max(-after.min(initial=0.0), 0.0),
                *of_shape,
                *self._shape_errors(points),
            )
        )

    def _shape_errors(self, points: FloatArray) -> tuple[float, float]:
        """Mean error of length, relative, and mean kink [rad], of hairs (S, V, 3)."""
        own, rest = points[self._others], self._rest[self._others]
        return float(np.abs(length_error(own, rest)).mean()), float(kink(own, rest).mean())

    def _distance(self, frame: GuideFrame, points: FloatArray, is_near: NDArray[np.bool_]) -> FloatArray:
        """Distance of the vertices of hairs that are near a solid, in the truth or here, (N, V - 1) [m]."""
        distance = self._prop_distance(frame.time, points[self._others, 1:])
        return distance[is_near[self._others] | (distance < NEAR).any(axis=1)]

    def found(self) -> Found:
        """What all frames came to."""
        table = np.array(self._rows, np.float64)
        near, finished, hairs, error, inside, count, inside_finished, count_finished, deepest, *of_shape = table.T
        stretch, bend, stretch_finished, bend_finished = of_shape
        return Found(
            near=hairs.mean() / max(len(self._others), 1),
            near_error=near.sum() / max(hairs.sum(), 1),
            near_error_finished=finished.sum() / max(hairs.sum(), 1),
            error=error.mean(),
            rate=inside.sum() / max(count.sum(), 1),
            rate_finished=inside_finished.sum() / max(count_finished.sum(), 1),
            deepest=deepest.max(),
            deepest_mean=deepest.mean(),
            flicker=float(np.nan_to_num(self._flicker.value)),  # NaN where none is near
            flicker_of_all=self._flicker_of_all.value,
            flicker_alone=self._flicker_alone.value,
            length_error=stretch.mean(),
            kink=bend.mean(),
            length_error_finished=stretch_finished.mean(),
            kink_finished=bend_finished.mean(),
        )


def _apart(points: FloatArray, truth: FloatArray) -> FloatArray:
    """Mean distance of the vertices of each hair from where they should be [m], (S,)."""
    distance: FloatArray = np.linalg.norm(points - truth, axis=2).mean(axis=1)
    return distance
