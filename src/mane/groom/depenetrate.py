"""Strands that start or run inside a head, brought out of it with their lengths kept.

A root inside is moved to the surface and its strand is shifted along. Then every strand is followed from root to tip,
and each segment that would enter the solid is turned just enough to pass it by. What was turned is spread along the
strand, so that it bends around the solid instead of breaking at the first touch; more widely where it would still be
bent sharply. Behind the solid, segments keep their own directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mane.geometry.checks import FloatArray, IntArray, require_positive
from mane.groom._depenetration import Answer, Solver
from mane.groom.groom import Groom

# Points that are worked on at once, at some 200 bytes each.
BATCH_POINTS = 1 << 20
BENT = np.radians(60)  # a joint that is bent by more than this is reported


class Shaped(Protocol):
    """What shapes, solids and posed solids answer."""

    def distance_and_gradient(self, points: FloatArray, /) -> Answer:
        """Signed distance [m], negative inside, shape (P,), and its gradient, shape (P, 3), at `points` (P, 3) [m]."""
        ...


class Sampled(Protocol):
    """What distance fields on a grid answer."""

    def sample_with_gradient(self, points: FloatArray, /) -> Answer:
        """Signed distance [m], negative inside, shape (P,), and its gradient, shape (P, 3), at `points` (P, 3) [m]."""
        ...


@dataclass(frozen=True, eq=False)
class DepenetrationReport:
    """What `depenetrate` found and did.

    Attributes:
        strand_count: strands in the groom.
        moved: the strands that were changed, shape (K,).
        moved_roots: the strands whose roots were moved to the surface, shape (R,).
        unresolved: the strands that are still deeper than the tolerance somewhere, shape (U,).
        deepest_before: largest depth of any strand below the surface [m], at or between its vertices; 0 if none.
        deepest_after: the same afterwards.
        largest_move: how far a point was moved at most [m].
        largest_length_change: largest change of a strand's length, as a share of it.
        bent: the strands that are bent by more than 60 degrees at a joint than they were, shape (B,).
        largest_bend: by how much a joint is bent more than it was, at most [rad].
    """

    strand_count: int
    moved: IntArray
    moved_roots: IntArray
    unresolved: IntArray
    deepest_before: float
    deepest_after: float
    largest_move: float
    largest_length_change: float
    bent: IntArray
    largest_bend: float

    def summary(self) -> str:
        """Say in a few lines what was found and done."""
        lines = [
            f"moved {len(self.moved)} of {self.strand_count} strands out, {len(self.moved_roots)} of them by the root",
            f"deepest {self.deepest_before * 1000:.3f} mm before, {self.deepest_after * 1000:.3f} mm after",
            f"points moved by up to {self.largest_move * 1000:.3f} mm, "
            f"lengths changed by a share of up to {self.largest_length_change:.1e}",
        ]
        if self.largest_bend > 0:
            first = f", first strand {self.bent[0]}" if len(self.bent) else ""
            lines.append(
                f"joints bent by up to {np.degrees(self.largest_bend):.0f} degrees more, those of {len(self.bent)} "
                f"strands by more than {np.degrees(BENT):.0f}{first}"
            )
        if len(self.unresolved):
            lines.append(f"{len(self.unresolved)} strands are still inside, first strand {self.unresolved[0]}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain numbers and lists, ready for JSON."""
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in ((name, getattr(self, name)) for name in self.__dataclass_fields__)
        }


def depenetrate(
    groom: Groom,
    distance: Shaped | Sampled,
    *,
    clearance: float = 0.0,
    keep_roots: bool = True,
    tolerance: float = 1e-4,
    spread: float = 0.02,
) -> tuple[Groom, DepenetrationReport]:
    """Push strands that start or run inside a solid back out; the others come through bit for bit.

    Args:
        groom: the strands.
        distance: the solid: a shape, a `Solid` (posed or not), a `SignedDistanceField`, or anything else that answers
            `distance_and_gradient(points)` or `sample_with_gradient(points)`.
        clearance: how far off the surface hair must stay [m].
        keep_roots: roots belong on the skin: one that is outside stays, one that is inside is moved to the surface, and
            clearance grows from nothing at the root. Otherwise roots must keep their clearance like any other point.
        tolerance: what is less than this far [m] from where it must be is left alone. Choose it above the error of the
            distance, or every strand that touches the skin is moved a little.
        spread: length along the strand over which a turn is spread [m].

    Segments keep their lengths. Only where a strand finds no way out are its vertices pushed out one by one, at the
    cost of length; the report says how much. A segment is held outside at every quarter of its length. Between these it
    may dip in by at most l^2 / (128 R), for a length l on a surface of radius R: 8 um for 1 cm on a head. What is
    thinner than a quarter of a segment may slip through.
    """
    _check_settings(clearance, tolerance, spread)
    solver = Solver(_question(distance), float(clearance), keep_roots, float(tolerance), float(spread))
    points = groom.points.copy()
    before, after, bend = np.empty((3, groom.strand_count))
    moved, moved_roots, unresolved = (np.zeros(groom.strand_count, bool) for _ in range(3))
    for first, last in _batches(groom.offsets):
        rows = slice(groom.offsets[first], groom.offsets[last])
        found = solver.solve(groom.points[rows], groom.offsets[first : last + 1] - groom.offsets[first])
        points[rows] = found.points
        strands = slice(first, last)
        before[strands], after[strands], bend[strands] = found.before, found.after, found.bend
        moved[strands], moved_roots[strands], unresolved[strands] = found.moved, found.moved_roots, found.unresolved
    result = groom.with_points(points)
    return result, DepenetrationReport(
        groom.strand_count,
        np.flatnonzero(moved),
        np.flatnonzero(moved_roots),
        np.flatnonzero(unresolved),
        float(max(0.0, -before.min())),
        float(max(0.0, -after.min())),
        float(np.linalg.norm(points - groom.points, axis=1).max()),
        _largest_length_change(groom, result),
        np.flatnonzero(bend > BENT),
        float(bend.max()),
    )


def _batches(offsets: IntArray) -> Iterator[tuple[int, int]]:
    """Ranges of strands with some `BATCH_POINTS` points each; one strand at the least."""
    first = 0
    while first < len(offsets) - 1:
        last = int(np.searchsorted(offsets, offsets[first] + BATCH_POINTS, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def _largest_length_change(before: Groom, after: Groom) -> float:
    old = before.lengths.astype(np.float64)
    change = np.abs(after.lengths - old)
    return float(np.divide(change, old, out=np.zeros_like(old), where=old > 0).max())


def _question(distance: Shaped | Sampled) -> Callable[[FloatArray], Answer]:
    for name in ("distance_and_gradient", "sample_with_gradient"):
        question: Callable[[FloatArray], Answer] | None = getattr(distance, name, None)
        if question is not None:
            return question
    raise ValueError(
        f"distance: must have distance_and_gradient(points) or sample_with_gradient(points), "
        f"got {type(distance).__name__}"
    )


def _check_settings(clearance: float, tolerance: float, spread: float) -> None:
    if not (np.isfinite(clearance) and clearance >= 0):
        raise ValueError(f"clearance: must be a finite number, zero or above, got {clearance}")
    require_positive("tolerance", tolerance)
    require_positive("spread", spread)
