"""What the vertices of a curve mean: from control points to points on the hair, and back.

mane moves points that lie on the hair, one for each vertex of the input. Linear and Catmull-Rom curves pass through
their vertices, so nothing changes. The others are evaluated where each vertex has its say:

    bspline   (c[i-1] + 4 c[i] + c[i+1]) / 6 at inner vertices; the first and last vertex stay where they are,
    bezier    at parameter 1/3 and 2/3 of a segment in place of its two handles; the knots are on the curve already.

`pinned` B-splines do pass through their end vertices. `nonperiodic` ones end short of them, yet exporters put the first
vertex on the skin, so that is where the hair begins for us; the drawn part of the curve still goes through our inner
points. Both maps are linear and have a well conditioned inverse (norm at most 3 and 6), so a moved hair has control
points whose curve passes through every moved point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import IntArray

Float64Array = NDArray[np.float64]

# OpenUSD's documentation counts the phantom ends of pinned curves in `varying` data; its ComputeVaryingDataSize and its
# own renderer (issue 2775) do not. Files of both kinds exist, so that the latter is an interpolation of its own here.
VARYING_INNER = "varying without ends"
INTERPOLATIONS = ("constant", "uniform", "varying", "vertex", VARYING_INNER)


@dataclass(frozen=True)
class CurveShape:
    """How a BasisCurves prim draws its vertices: `type`, `basis` and `wrap` as authored or, if not, as USD assumes."""

    type: str = "linear"
    basis: str = "bezier"
    wrap: str = "nonperiodic"

    @property
    def is_on_hair(self) -> bool:
        """Whether vertices are points on the hair already."""
        return self.type == "linear" or self.basis == "catmullRom"

    @property
    def step(self) -> int:
        """Number of vertices from one segment to the next."""
        return 3 if self.type == "cubic" and self.basis == "bezier" else 1

    @property
    def reaches_ends(self) -> bool:
        """Whether the first and last vertex are the ends of the drawn curve."""
        return self.type == "linear" or self.basis == "bezier" or self.wrap == "pinned"

    @property
    def label(self) -> str:
        """The shape in words."""
        return self.type if self.type == "linear" else f"{self.wrap} {self.basis}"

    @property
    def needed(self) -> str:
        """How many vertices a curve must have, in words."""
        if self.type == "cubic" and self.basis == "bezier":
            return "4, 7, 10, ..."
        return "2 or more" if self.reaches_ends else "4 or more"

    def is_usable(self, counts: IntArray) -> NDArray[np.bool_]:
        """Which curves have enough vertices to be drawn, shape (C,)."""
        if self.type == "cubic" and self.basis == "bezier":
            result: NDArray[np.bool_] = (counts >= 4) & (counts % 3 == 1)
            return result
        return counts >= (2 if self.reaches_ends else 4)

    def varying_counts(self, counts: IntArray, *, with_ends: bool = True) -> IntArray:
        """Number of values per curve that `varying` data has: one per end of a segment, shape (C,)."""
        if self.type == "linear" or (with_ends and self.step == 1 and self.reaches_ends):
            return counts
        return np.maximum((counts - 4) // self.step + 1, 0) + 1


@dataclass(frozen=True, eq=False)
class CurveLayout:
    """The curves of one prim: their shape and the number of vertices of each, shape (C,), int64."""

    shape: CurveShape
    counts: IntArray

    @cached_property
    def offsets(self) -> IntArray:
        """Curve `c` owns vertices `offsets[c]:offsets[c + 1]`, shape (C + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @property
    def vertex_count(self) -> int:
        """Number of vertices over all curves."""
        return int(self.offsets[-1])

    def count_of(self, interpolation: str) -> int:
        """Number of values that data of an interpolation has."""
        if interpolation == "constant":
            return 1
        if interpolation == "uniform":
            return len(self.counts)
        if interpolation == "vertex":
            return self.vertex_count
        return int(self.shape.varying_counts(self.counts, with_ends=interpolation != VARYING_INNER).sum())

    def fitting(self, interpolation: str, count: int) -> str | None:
        """Return the interpolation that `count` values have: as declared, or another of that size, or None."""
        for candidate in (interpolation, *INTERPOLATIONS):
            if self.count_of(candidate) == count:
                return candidate
        return None

    def spread(self, values: NDArray[Any], interpolation: str) -> tuple[str, NDArray[Any]]:
        """Return the scope ("strand" or "vertex") of values (of the fitting count) and one value for each in it.

        Values of cubic `vertex` data are those of the control vertices, as authored.
        """
        if interpolation == "constant":
            return "strand", np.repeat(values, len(self.counts), axis=0)
        if interpolation == "uniform":
            return "strand", values
        if interpolation == "vertex" or len(values) == self.vertex_count:
            return "vertex", values
        return "vertex", self._from_varying(values, with_ends=interpolation != VARYING_INNER)

    def _from_varying(self, values: NDArray[Any], *, with_ends: bool) -> NDArray[Any]:
        """Values at the vertices of data at the ends of segments, on straight lines between them."""
        within = np.arange(self.vertex_count) - np.repeat(self.offsets[:-1], self.counts)
        varying = self.shape.varying_counts(self.counts, with_ends=with_ends)
        starts = np.repeat(np.cumsum(varying) - varying, self.counts)
        last = np.repeat(varying, self.counts) - 1
        # Without ends, vertex i of a curve of step 1 is the end i - 1 of a segment; before the first is like the first.
        place = within / 3.0 if self.shape.step == 3 else within - 1.0
        place = np.clip(place, 0.0, last)
        if values.dtype.kind != "f":
            return values[starts + np.rint(place).astype(np.int64)]
        low = np.floor(place).astype(np.int64)
        share = (place - low).reshape((-1,) + (1,) * (values.ndim - 1))
        high = np.minimum(low + 1, last)
        result: NDArray[Any] = ((1 - share) * values[starts + low] + share * values[starts + high]).astype(values.dtype)
        return result


def points_on_hair(shape: CurveShape, control: Float64Array, offsets: IntArray) -> Float64Array:
    """Points on the hair, one for each control point (P, 3) of usable curves; see the top of this file."""
    if shape.is_on_hair:
        return control
    points = control.copy()
    if shape.basis == "bspline":
        points[1:-1] = (control[:-2] + 4.0 * control[1:-1] + control[2:]) / 6.0
        for ends in (offsets[:-1], offsets[1:] - 1):  # where the neighbours above were those of another curve
            points[ends] = control[ends]
        return points
    one, two = _handle_rows(offsets)
    start, first, second, end = control[one - 1], control[one], control[two], control[two + 1]
    points[one] = (8.0 * start + 12.0 * first + 6.0 * second + end) / 27.0
    points[two] = (start + 6.0 * first + 12.0 * second + 8.0 * end) / 27.0
    return points


def control_points(shape: CurveShape, points: Float64Array, offsets: IntArray) -> Float64Array:
    """Control points whose curves pass through points (P, 3) on the hair: the inverse of `points_on_hair`."""
    if shape.is_on_hair:
        return points
    if shape.basis == "bspline":
        return _bspline_control(points, offsets)
    control = points.copy()
    one, two = _handle_rows(offsets)
    start, end = points[one - 1], points[two + 1]
    near = 27.0 * points[one] - 8.0 * start - end
    far = 27.0 * points[two] - start - 8.0 * end
    control[one] = (2.0 * near - far) / 18.0
    control[two] = (2.0 * far - near) / 18.0
    return control


def _handle_rows(offsets: IntArray) -> tuple[IntArray, IntArray]:
    """First and second handle of every segment of bezier curves."""
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
    return np.flatnonzero(within % 3 == 1), np.flatnonzero(within % 3 == 2)


def _bspline_control(points: Float64Array, offsets: IntArray) -> Float64Array:
    """Solve the tridiagonal system of every curve; curves of the same length share one factorisation."""
    from scipy.linalg import solve_banded

    control = points.copy()
    counts = np.diff(offsets)
    for count in np.unique(counts).tolist():
        if count < 3:
            continue  # nothing but ends
        rows = (offsets[:-1][counts == count][:, None] + np.arange(count)).T
        bands = np.full((3, count), 1.0 / 6.0)
        bands[1] = 4.0 / 6.0
        bands[1, [0, -1]] = 1.0
        bands[0, 1] = bands[2, -2] = 0.0
        solved = solve_banded((1, 1), bands, points[rows].reshape(count, -1), check_finite=False)
        control[rows] = solved.reshape(count, -1, 3)
    return control
