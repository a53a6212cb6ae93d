"""`RawGroom`: strands as a file holds them, before anyone asked whether they are sound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray, IntArray, first_not_finite
from mane.groom.groom import MIN_VERTICES
from mane.groom.soundness import FAULTS, soundness


@dataclass(frozen=True)
class Problem:
    """Something wrong with a file.

    Attributes:
        kind: a word for programs: "not finite", "too few points", "no length", "attribute", "file", or one of
            `mane.groom.soundness.FAULTS`.
        count: how many strands (or values, or bytes) are concerned.
        first: the first strand (or index) concerned, or None.
        text: one sentence for people.
        is_fatal: whether a `Groom` cannot hold it, so that it has to be mended or left out.
    """

    kind: str
    count: int
    first: int | None
    text: str
    is_fatal: bool


@dataclass(frozen=True, eq=False)
class RawGroom:
    """Strands in the units and axes of their file, unchecked: points may be NaN, strands may be empty.

    Attributes:
        points: positions in units of the file, shape (P, 3), float32.
        offsets: strand `s` owns points `offsets[s]:offsets[s + 1]`; shape (S + 1,), int64, never decreasing.
        strand: attributes with one element per strand.
        vertex: attributes with one element per point.
        group_names: name of each group id.
        unit: unit of length that the file states, e.g. "cm", or None.
        up: up axis that the file states, one of `units.UP_AXES`, or None.
        remarks: what the parser noticed beside the strands.
    """

    points: FloatArray
    offsets: IntArray
    strand: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    vertex: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    group_names: Mapping[int, str] = field(default_factory=dict)
    unit: str | None = None
    up: str | None = None
    remarks: tuple[Problem, ...] = ()

    @property
    def strand_count(self) -> int:
        """Number of strands, sound or not."""
        return len(self.offsets) - 1

    @property
    def point_count(self) -> int:
        """Number of points over all strands."""
        return len(self.points)

    @cached_property
    def vertex_counts(self) -> IntArray:
        """Number of points of each strand, shape (S,)."""
        return np.diff(self.offsets)

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Arc length of each strand in units of the file, shape (S,); NaN where a point is not finite."""
        with np.errstate(invalid="ignore", over="ignore"):
            steps = np.linalg.norm(np.diff(self.points.astype(np.float64), axis=0, prepend=0.0), axis=1)
        steps[self._starts] = np.where(np.isfinite(self.points[self._starts]).all(axis=1), 0.0, np.nan)
        return self._reduced(np.add, steps, 0.0)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Everything found wrong, the fatal first."""
        return (*self.fatal_problems, *self._unusual(), *self.remarks)

    @cached_property
    def fatal_problems(self) -> tuple[Problem, ...]:
        """What a `Groom` cannot hold; quick, since every reader asks."""
        short = self.vertex_counts < MIN_VERTICES
        broken = np.zeros(self.strand_count, np.bool_)
        if first_not_finite(self.points) is not None:
            lost = np.flatnonzero(np.logical_not(np.isfinite(self.points).all(axis=1)))
            broken[np.searchsorted(self.offsets, lost, side="right") - 1] = True
        still = ~self._moves & ~short & ~broken
        found = [
            self._problem("too few points", short, f"have fewer than {MIN_VERTICES} points"),
            self._problem("not finite", broken, "have points that are NaN or infinite"),
            self._problem("no length", still, "have no length, all their points are one"),
        ]
        found += [_attribute_problem("strand", *item) for item in self.strand.items()]
        found += [_attribute_problem("vertex", *item) for item in self.vertex.items()]
        return tuple(problem for problem in found if problem is not None)

    def _unusual(self) -> tuple[Problem, ...]:
        """What a groom can hold, and a guide had better not."""
        found = soundness(self.points, self.offsets).found()
        problems = [self._problem(kind, bad, FAULTS[kind], is_fatal=False) for kind, bad in found.items()]
        return tuple(problem for problem in problems if problem is not None)

    @property
    def _starts(self) -> IntArray:
        """First point of each strand that has any."""
        return self.offsets[:-1][self.vertex_counts > 0]

    @cached_property
    def _moves(self) -> NDArray[np.bool_]:
        """Whether any point of a strand differs from the one before it, shape (S,)."""
        differs = np.zeros(self.point_count, np.bool_)
        with np.errstate(invalid="ignore"):
            for axis in range(3):  # several times quicker than a reduction over three numbers
                differs[1:] |= self.points[1:, axis] != self.points[:-1, axis]
        differs[self._starts] = False
        return self._reduced(np.logical_or, differs, False)

    def _reduced(self, reduce: np.ufunc, values: NDArray[Any], empty: Any) -> NDArray[Any]:
        """Combine per-point values (P,) per strand, shape (S,); `empty` where a strand has no points."""
        result = np.full(self.strand_count, empty, values.dtype)
        if len(self._starts):
            result[self.vertex_counts > 0] = reduce.reduceat(values, self._starts)
        return result

    def _problem(self, kind: str, bad: NDArray[np.bool_], what: str, *, is_fatal: bool = True) -> Problem | None:
        if not bad.any():
            return None
        count, first = int(bad.sum()), int(bad.argmax())
        return Problem(
            kind, count, first, f"{count:,} of {len(bad):,} strands {what} (first: strand {first})", is_fatal
        )


def _attribute_problem(scope: str, name: str, values: NDArray[Any]) -> Problem | None:
    first = first_not_finite(values)
    if first is None:
        return None
    count = int((~np.isfinite(values)).reshape(len(values), -1).any(axis=1).sum())
    text = f"{scope} attribute {name!r} has {count:,} values that are NaN or infinite (first: {scope} {first})"
    return Problem("attribute", count, first, text, True)
