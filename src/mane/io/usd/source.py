"""Where a groom came from in a USD file: all that is needed to put moved points back onto the same prims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray, IntArray
from mane.groom.groom import Groom
from mane.io.raw import Problem
from mane.io.usd.curve_basis import CurveLayout, points_on_hair
from mane.io.usd.stage import Matrix, StageTiming, StageUnits, apply_matrix

# Points are converted this many at a time, so that float64 copies stay small beside the points themselves.
CHUNK_POINTS = 1 << 14


@dataclass(frozen=True, eq=False)
class CurvesPrim:
    """One BasisCurves prim, and which of its curves are which strands of the groom.

    Attributes:
        path: of the prim on its stage.
        layout: type, basis, wrap and vertex counts of all its curves, as authored.
        points: all its vertices, as authored at the time that was read, shape (N, 3), float32.
        curves: the curves in use, in order, shape (K,); damaged ones are left out and stay as they are in the file.
        strands: strand of the groom that each curve in use became, shape (K,).
        world_from_local: 4x4 matrix on column vectors from these points to metres with Y up, at the time that was read.
        is_moving: whether the transform of the prim changes over time.
        widest: largest width, in the prim's own units, or 0.
        stale: attributes of the prim that describe its motion, wrong as soon as points move otherwise.
        unbound: for curves bound by UsdSkel, whose points are not in the space of the prim: the 4x4 matrix from that to
            metres with Y up. Results are written there, and without the binding, which would move them a second time.
    """

    path: str
    layout: CurveLayout
    points: FloatArray
    curves: IntArray
    strands: IntArray
    world_from_local: Matrix
    is_moving: bool = False
    widest: float = 0.0
    stale: tuple[str, ...] = ()
    unbound: Matrix | None = None

    @cached_property
    def counts(self) -> IntArray:
        """Number of vertices of each curve in use, shape (K,)."""
        return self.layout.counts[self.curves]

    @cached_property
    def offsets(self) -> IntArray:
        """Where each curve in use would begin if they stood alone, shape (K + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Ranges of curves in use of some `CHUNK_POINTS` vertices each, never less than one curve."""
        first = 0
        while first < len(self.curves):
            goal = self.offsets[first] + CHUNK_POINTS
            last = max(int(np.searchsorted(self.offsets, goal, side="right")) - 1, first + 1)
            yield first, last
            first = last

    def rows(self, first: int, last: int) -> slice | IntArray:
        """Vertices of the prim that curves in use `first` to `last` own."""
        return rows_of(self.layout.offsets, self.curves[first:last])

    def on_hair(self, vertices: FloatArray, first: int, last: int) -> NDArray[np.float64]:
        """Points on the hair of curves in use `first` to `last`, from all vertices (N, 3), in the prim's own space."""
        control = vertices[self.rows(first, last)].astype(np.float64)
        return points_on_hair(self.layout.shape, control, self.offsets[first : last + 1] - self.offsets[first])

    def in_world(self, vertices: FloatArray, *, is_vector: bool = False) -> FloatArray:
        """Points on the hair of all curves in use [m], Y up, shape (P, 3), float32, from all vertices (N, 3)."""
        if self.is_plain:
            return np.array(vertices[self.rows(0, len(self.curves))], order="C")
        world = np.empty((self.offsets[-1], 3), np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # NaN and infinities are found by who uses the points
            for first, last in self.chunks():
                local = self.on_hair(vertices, first, last)
                part = slice(self.offsets[first], self.offsets[last])
                world[part] = apply_matrix(self.world_from_local, local, is_vector=is_vector)
        return world

    @property
    def is_plain(self) -> bool:
        """Whether the authored points are the groom's own: on the hair, in metres, Y up, not moved by any transform."""
        return self.layout.shape.is_on_hair and bool((self.world_from_local == np.eye(4)).all())


@dataclass(frozen=True, eq=False)
class UsdSource:
    """The file behind a groom.

    Attributes:
        path: of the file.
        prims: the curves, in the order of the groom.
        strand_offsets: strand `s` of the groom owns points `strand_offsets[s]:strand_offsets[s + 1]`, shape (S + 1,).
        units: of the stage.
        timing: of the stage.
        default_prim: name of the stage's default prim, or None.
        time: time code that was read; None for a still stage.
    """

    path: Path
    prims: tuple[CurvesPrim, ...]
    strand_offsets: IntArray
    units: StageUnits
    timing: StageTiming
    default_prim: str | None = None
    time: float | None = None

    @property
    def point_count(self) -> int:
        """Number of points of the groom."""
        return int(self.strand_offsets[-1])


@dataclass(frozen=True, eq=False)
class UsdGroom:
    """A groom as read from USD, with what the file says beside it.

    Attributes:
        groom: the strands, in metres with Y up.
        source: where they came from; hand it to `write_usd_layer`.
        rest: rest shape of the same strands [m], shape (P, 3), or None where no prim has one.
        velocities: velocity of each point [m/s], world axes, shape (P, 3), or None where no prim has them.
        times: time codes at which points or transforms are sampled, shape (F,), float64; empty for a still file.
        problems: what could not be used or had to be assumed.
        changes_at: first time code at which the file has other strands than those that were read, or None.
    """

    groom: Groom
    source: UsdSource
    rest: FloatArray | None
    velocities: FloatArray | None
    times: NDArray[np.float64]
    problems: tuple[Problem, ...]
    changes_at: float | None = None


def rows_of(offsets: IntArray, chosen: IntArray) -> slice | IntArray:
    """Rows that the chosen strands own in ragged data; a slice where they follow each other, which copies nothing."""
    if len(chosen) and (np.diff(chosen) == 1).all():
        return slice(int(offsets[chosen[0]]), int(offsets[chosen[-1] + 1]))
    counts = offsets[chosen + 1] - offsets[chosen]
    starts = np.cumsum(counts) - counts
    result: slice | IntArray = np.arange(int(counts.sum())) + np.repeat(offsets[chosen] - starts, counts)
    return result
