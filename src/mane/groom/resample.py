"""Strands cut anew by arc length, and the way back to the vertices that they came with.

A simulation wants the same number of vertices on every strand; an artist wants their own curves back. `resample` makes
the former and remembers enough to give back the latter:

```
  source      o--o---o-o----o--o      any counts; arc length from the root is the parameter of both
  resampled   *------*------*------*  every resampled vertex lies on the source curve
  detail      what the source is beside the straight pieces between the *, seen in twist-free frames that follow them
```
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry import quaternion
from mane.geometry.arclength import CurveLocation, arc_lengths, even_lengths, locate
from mane.geometry.checks import FloatArray, IntArray, as_floats, require_positive
from mane.groom import _kernels_resample as kernels
from mane.groom.groom import MIN_VERTICES, Groom

# A strand finer than this is a mistake of units rather than a wish.
MAX_VERTICES = 100_000
# A strand that is a whole number of steps long must not gain a vertex by the rounding of float32 lengths.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Resampling:
    """A resampled groom that remembers where it came from.

    Attributes:
        groom: the resampled strands, with every attribute of the source.
        source: the strands as they were.
        location: the place of each source vertex on the resampled curves.
        detail: offset of each source vertex from that place [m], in the frame of the segment there, shape (P, 3).
        error: largest such offset of each strand [m], shape (S,): what `restore(detail=False)` loses.

    With `h` the arc length between resampled vertices, `error` is never above `h / 2`, whatever the curve, and never
    above `k h^2 / 8`, the sagitta of an arc, where the curve's curvature is at most `k` [1/m].
    """

    groom: Groom
    source: Groom
    location: CurveLocation
    detail: FloatArray
    error: FloatArray
    _root_frame: NDArray[np.float64]

    def restore(
        self, points: ArrayLike | None = None, detail: bool = True, *, root_rotation: ArrayLike | None = None
    ) -> Groom:
        """Carry moved strands back to the source's own vertices, counts, order and attributes.

        Args:
            points: positions of the resampled vertices now [m], shape (P', 3), or (S, V, 3) when they are uniform;
                without them, where they were made.
            detail: keep shape that is finer than the resampling, such as a curl, by turning it along with the strand.
                Strands that did not move then come back exactly, up to the rounding of float32. Without it, vertices
                lie on the straight pieces between the resampled ones, within `error` of where they were.
            root_rotation: how each root has turned since, a quaternion of shape (S, 4) or (4,). It is needed to know
                a turn about the strand's own first direction; without it the first segment turns the shortest way.

        Detail keeps its size when a segment is stretched. Where a strand is moved into a sharp fold, detail follows
        each side of it stiffly.
        """
        curves = self._checked_points(points)
        if not detail:
            return self.source.with_points(self.location.interpolate(curves))
        out = np.empty((self.source.point_count, 3), np.float32)
        kernels.restore_detail(
            curves,
            self.groom.offsets,
            self.source.offsets,
            self.location.point,
            self.location.fraction,
            self._turned_root_frame(root_rotation),
            self.detail,
            out,
        )
        return self.source.with_points(out)

    def _checked_points(self, points: ArrayLike | None) -> FloatArray:
        if points is None:
            return self.groom.points
        array = np.asarray(points)
        if array.ndim == 3:
            shape = self.groom.as_uniform().shape
            return as_floats("points", array, shape).reshape(-1, 3)
        return as_floats("points", array, (self.groom.point_count, 3))

    def _turned_root_frame(self, root_rotation: ArrayLike | None) -> NDArray[np.float64]:
        if root_rotation is None:
            return self._root_frame
        rotation = np.asarray(root_rotation)
        shape = (4,) if rotation.ndim == 1 else (self.source.strand_count, 4)
        turn = quaternion.normalize(as_floats("root_rotation", rotation, shape).astype(np.float64))
        return quaternion.multiply(turn, self._root_frame)


def resample(groom: Groom, *, vertices: int | None = None, spacing: float | None = None) -> Resampling:
    """Cut every strand anew, at equal steps of arc length; root and tip stay where they are.

    Args:
        groom: any strands.
        vertices: the same number of vertices for every strand, at least 2.
        spacing: or as many as each strand needs for steps of at most this length [m].

    Per-strand attributes stay; per-vertex ones are interpolated (whole numbers take the nearer vertex's). A strand
    without length keeps its place and is cut by the count of its vertices.
    """
    parameter, total = _curve_parameter(groom)
    counts = _vertex_counts(groom, vertices, spacing)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    knots = even_lengths(total, counts)
    places = locate(parameter, groom.offsets, knots, offsets)
    resampled = Groom(
        places.interpolate(groom.points),
        offsets,
        groom.strand,
        {name: places.interpolate(value) for name, value in groom.vertex.items()},
        groom.group_names,
    )
    back = locate(knots, offsets, parameter, groom.offsets)
    return _with_detail(resampled, groom, back)


def _curve_parameter(groom: Groom) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Arc length at every point and of every strand [m]; for a strand without length, its vertices are counted."""
    arc = arc_lengths(groom.points, groom.offsets)
    pointlike = arc[groom.offsets[1:] - 1] == 0.0
    if pointlike.any():
        rows = pointlike[groom.strand_of_point]
        arc[rows] = (np.arange(groom.point_count) - groom.offsets[groom.strand_of_point])[rows]
    return arc, arc[groom.offsets[1:] - 1]


def _vertex_counts(groom: Groom, vertices: int | None, spacing: float | None) -> IntArray:
    if vertices is not None and spacing is None:
        if vertices != int(vertices) or not MIN_VERTICES <= vertices <= MAX_VERTICES:
            raise ValueError(f"vertices: must be a whole number from {MIN_VERTICES} to {MAX_VERTICES}, got {vertices}")
        return np.full(groom.strand_count, vertices, np.int64)
    if spacing is not None and vertices is None:
        return _counts_for_spacing(groom, spacing)
    given = "neither" if vertices is None else "both"
    raise ValueError(f"resample: must be given either vertices or spacing, got {given}")


def _counts_for_spacing(groom: Groom, spacing: float) -> IntArray:
    require_positive("spacing", spacing)
    steps = np.ceil(groom.lengths.astype(np.float64) / spacing * (1 - ROUNDING))
    if steps.max() >= MAX_VERTICES:
        longest = int(steps.argmax())
        raise ValueError(
            f"spacing: must leave at most {MAX_VERTICES} vertices on a strand, got {spacing:g} m for strand {longest}, "
            f"which is {groom.lengths[longest]:g} m long"
        )
    return np.maximum(steps, 1).astype(np.int64) + 1


def _with_detail(groom: Groom, source: Groom, back: CurveLocation) -> Resampling:
    frame = np.empty((source.strand_count, 4), np.float64)
    detail = np.empty((source.point_count, 3), np.float32)
    error = np.empty(source.strand_count, np.float32)
    kernels.store_detail(
        groom.points, groom.offsets, source.points, source.offsets, back.point, back.fraction, frame, detail, error
    )
    return Resampling(groom, source, back, detail, error, frame)
