"""Arc length along ragged curves: where a given length falls, and values carried to such places.

A place on a curve is a `CurveLocation`: the point before it and the fraction of the way to the next one. Positions and
every attribute are interpolated with the same locations, so that nothing drifts apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry import _kernels_arclength as kernels
from mane.geometry.checks import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class CurveLocation:
    """Places on ragged curves.

    Attributes:
        point: index of the point before each place, shape (K,), int64; never a curve's last point.
        fraction: share of the way to the next point, 0 to 1, shape (K,), float32.
    """

    point: IntArray
    fraction: FloatArray

    def interpolate(self, values: NDArray[Any]) -> NDArray[Any]:
        """Carry per-point values (P, ...) to the places, shape (K, ...); whole numbers take the nearer point's."""
        if values.dtype.kind != "f":
            return values[self.point + (self.fraction >= 0.5)]
        if values.dtype == np.float32:
            out = np.empty((len(self.point), *values.shape[1:]), np.float32)
            rows = np.ascontiguousarray(values).reshape(len(values), -1)
            kernels.interpolate_rows(rows, self.point, self.fraction, out.reshape(len(out), -1))
            return out
        weight = self.fraction.reshape((-1,) + (1,) * (values.ndim - 1)).astype(values.dtype, copy=False)
        before, after = values[self.point], values[self.point + 1]
        # Written so that a fraction of exactly 0 or 1 returns the point itself, to the last bit.
        result: NDArray[Any] = np.where(
            weight < 0.5, before + weight * (after - before), after - (1 - weight) * (after - before)
        )
        return result


def arc_lengths(points: FloatArray, offsets: IntArray) -> NDArray[np.float64]:
    """Arc length from the root to every point of ragged curves [m], shape (P,), float64."""
    out = np.empty(len(points), np.float64)
    kernels.fill_arc_lengths(points, offsets, out)
    return out


def locate(
    arc: NDArray[np.float64], offsets: IntArray, wanted: NDArray[np.float64], wanted_offsets: IntArray
) -> CurveLocation:
    """Find where the curves reach given arc lengths.

    Args:
        arc: arc length at every point, as from `arc_lengths`, shape (P,).
        offsets: the curves, shape (S + 1,).
        wanted: arc lengths to find, increasing within each curve, shape (K,); clamped to the curve.
        wanted_offsets: curve `s` is asked for `wanted[wanted_offsets[s]:wanted_offsets[s + 1]]`, shape (S + 1,).
    """
    point = np.empty(len(wanted), np.int64)
    fraction = np.empty(len(wanted), np.float32)
    kernels.locate_lengths(arc, offsets, wanted, wanted_offsets, point, fraction)
    return CurveLocation(point, fraction)


def even_lengths(total: NDArray[np.float64], counts: IntArray) -> NDArray[np.float64]:
    """Arc lengths that cut curves of `total` length (S,) into `counts` (S,) evenly spaced points each, concatenated."""
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    index = np.arange(counts.sum()) - np.repeat(starts, counts)
    result: NDArray[np.float64] = np.repeat(total, counts) * index / np.repeat(np.maximum(counts - 1, 1), counts)
    return result
