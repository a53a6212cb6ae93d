"""Mends grooms that arrive damaged: what can be saved is saved, the rest is dropped strand by strand and reported.

Files hold lost vertices (NaN), doubled vertices, strands without length, offsets that point anywhere. `repair_arrays`
makes a valid groom from such arrays, `repair` mends a groom. A strand without a fault comes through bit for bit,
whatever happened to its neighbours.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import FloatArray, IntArray, as_array, shape_text
from mane.groom.groom import MIN_VERTICES, Groom
from mane.groom.soundness import FAULTS, SHORT_SHARE, soundness_of

Mask = NDArray[np.bool_]
Attributes = Mapping[str, ArrayLike]

# Why a strand was dropped, in the order in which it is looked for.
DROPPED = {
    "bad_offsets": "offsets go backwards, out of range or into another strand",
    "too_few_points": "too few points",
    "not_finite": "too few finite points",
    "no_length": "no length",
}
# What was mended in a strand that was kept.
MENDED = {
    "filled": "lost points filled in between their neighbours",
    "trimmed": "lost points cut off at root or tip",
    "merged": "points in the same place, or nearly so, merged",
}
# What was left as it is, since hair may be so; such strands are not chosen as guides.
NOTICED = {name: FAULTS[name] for name in ("folded", "stub")}
# How many strands a line of the summary names.
NAMED_STRANDS = 8


@dataclass(frozen=True, eq=False)
class RepairReport:
    """What `repair` found and did. All strand and point numbers are those of the input.

    Attributes:
        strand_count: strands in the input.
        point_count: points in the input.
        kept: the input strand behind each strand of the result, shape (S,).
        kept_points: the input point behind each point of the result, shape (P,).
        dropped: the strands that were dropped, by fault (see `DROPPED`); each strand under its first fault.
        mended: the kept strands that were changed, by mend (see `MENDED`).
        noticed: the kept strands that are left as they are and yet unusual (see `NOTICED`).
        filled_point_count: lost points that were filled in.
        removed_point_count: points that were trimmed or merged away in kept strands.
        attributes: number of NaN or infinite elements replaced, by attribute.
        lost_attributes: attributes left out, since none of their values was finite.
    """

    strand_count: int
    point_count: int
    kept: IntArray
    kept_points: IntArray
    dropped: Mapping[str, IntArray]
    mended: Mapping[str, IntArray]
    noticed: Mapping[str, IntArray]
    filled_point_count: int
    removed_point_count: int
    attributes: Mapping[str, int]
    lost_attributes: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing had to be done to any strand or attribute."""
        strands = [*self.dropped.values(), *self.mended.values()]
        return not any(len(found) for found in strands) and not self.attributes and not self.lost_attributes

    def summary(self) -> str:
        """Say in a few lines what was found and done."""
        lines = [
            f"kept {len(self.kept)} of {self.strand_count} strands "
            f"with {len(self.kept_points)} of {self.point_count} points"
        ]
        for verb, found, texts in (("dropped", self.dropped, DROPPED), ("mended", self.mended, MENDED)):
            lines += [f"{verb} {_named(strands)}: {texts[fault]}" for fault, strands in found.items() if len(strands)]
        lines += [f"left as they are {_named(found)}: {NOTICED[name]}" for name, found in self.noticed.items()]
        lines += [f"attribute {name!r}: {count} values replaced" for name, count in self.attributes.items()]
        lines += [f"attribute {name!r}: left out, no value is finite" for name in self.lost_attributes]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain numbers, lists and words, ready for JSON."""
        return {
            "strand_count": self.strand_count,
            "point_count": self.point_count,
            "kept_strand_count": len(self.kept),
            "kept_point_count": len(self.kept_points),
            "dropped": {fault: strands.tolist() for fault, strands in self.dropped.items()},
            "mended": {fault: strands.tolist() for fault, strands in self.mended.items()},
            "noticed": {fault: strands.tolist() for fault, strands in self.noticed.items()},
            "filled_point_count": self.filled_point_count,
            "removed_point_count": self.removed_point_count,
            "attributes": dict(self.attributes),
            "lost_attributes": list(self.lost_attributes),
        }


def repair(groom: Groom, **options: Any) -> tuple[Groom, RepairReport]:
    """Mend what a valid groom may still hold: doubled vertices, strands without length.

    Args:
        groom: any; it stays as it is.
        options: limits, as in `repair_arrays`: min_vertices, min_length, min_finite, merge_distance, merge_share.
    """
    return repair_arrays(
        groom.points,
        groom.offsets,
        strand=groom.strand,
        vertex=groom.vertex,
        group_names=groom.group_names,
        **options,
    )


def repair_arrays(
    points: ArrayLike,
    offsets: ArrayLike,
    *,
    strand: Attributes | None = None,
    vertex: Attributes | None = None,
    group_names: Mapping[int, str] | None = None,
    min_vertices: int = MIN_VERTICES,
    min_length: float = 1e-6,
    min_finite: float = 0.5,
    merge_distance: float = 1e-9,
    merge_share: float = SHORT_SHARE,
) -> tuple[Groom, RepairReport]:
    """Make a groom from arrays that may be damaged; ValueError only when no usable strand is left.

    Args:
        points: positions [m], shape (P, 3); may hold NaN and infinities.
        offsets: strand `s` owns points `offsets[s]:offsets[s + 1]`, shape (S + 1,); may go anywhere.
        strand: attributes per strand, name -> (S, ...).
        vertex: attributes per vertex, name -> (P, ...).
        group_names: as in `Groom`.
        min_vertices: drop strands with fewer vertices than this.
        min_length: drop strands shorter than this [m].
        min_finite: drop strands of which less than this share of the points is finite.
        merge_distance: merge neighbouring vertices that are this close [m] or closer.
        merge_share: or closer than this share of the mean segment of their strand.

    Lost points between finite ones are put on the straight line between them; at a root or tip they are cut off. Where
    offsets cross, the longer of two strands that claim the same points is dropped: it has swallowed its neighbour.
    Attribute values that are not finite are interpolated along the strand, or else take the median of all strands.
    """
    raw: FloatArray = as_array("points", points, ("P", 3), np.float32)
    cuts: IntArray = as_array("offsets", offsets, ("S+1",), np.int64)
    strand_count = max(len(cuts) - 1, 0)
    strand_values = _checked_lengths("strand", strand or {}, strand_count)
    vertex_values = _checked_lengths("vertex", vertex or {}, len(raw))

    job = _Repair(raw, cuts, max(min_vertices, MIN_VERTICES))
    job.drop_short("too_few_points")
    job.fill_lost_points(min_finite)
    job.merge_points(merge_distance, merge_share)
    job.drop_pointlike(min_length)
    job.require_strands()

    counts: dict[str, int] = {}
    kept_strand = {name: _mended_strand(value[job.strand], name, counts) for name, value in strand_values.items()}
    kept_vertex = {
        name: _mended_vertex(value[job.row], job.offsets, name, counts) for name, value in vertex_values.items()
    }
    lost = tuple(name for kept in (kept_strand, kept_vertex) for name, value in kept.items() if value is None)
    groom = Groom(
        job.points,
        job.offsets,
        {name: value for name, value in kept_strand.items() if value is not None},
        {name: value for name, value in kept_vertex.items() if value is not None},
        group_names or {},
    )
    unusual = soundness_of(groom).found()
    noticed = {name: job.strand[unusual[name]] for name in NOTICED if name in unusual}
    return groom, job.report(len(raw), counts, lost, noticed)


class _Repair:
    """The strands that are still in, and the notes taken on the way.

    Attributes:
        strand: input strand behind each strand.
        row: input point behind each point.
        points: positions, partly mended.
        offsets: the strands in `points`; a strand may be empty until `drop_short`.
    """

    def __init__(self, raw: FloatArray, cuts: IntArray, min_vertices: int) -> None:
        self.strand_count = max(len(cuts) - 1, 0)
        self.min_vertices = min_vertices
        self.dropped: dict[str, IntArray] = {}
        self.mended: dict[str, IntArray] = {}
        self.filled_rows: IntArray = np.zeros(0, np.int64)
        self.input_counts = np.diff(cuts)
        sound = _sound_ranges(cuts, len(raw))
        self.dropped["bad_offsets"] = np.flatnonzero(~sound)
        self.strand = np.flatnonzero(sound)
        start, count = cuts[:-1][sound], self.input_counts[sound]
        self.offsets = np.concatenate([[0], np.cumsum(count)])
        self.row = np.arange(self.offsets[-1]) + np.repeat(start - self.offsets[:-1], count)
        self.points = raw[self.row]

    def drop_short(self, fault: str) -> None:
        """Drop strands with too few points."""
        self._keep_strands(np.diff(self.offsets) >= self.min_vertices, fault)

    def fill_lost_points(self, min_finite: float) -> None:
        """Drop strands with too few finite points; fill the gaps of the others and cut off what has no neighbour."""
        finite = np.isfinite(self.points).all(axis=1)
        counts = np.diff(self.offsets)
        found = self._count(finite)
        enough = (found >= self.min_vertices) & (found >= min_finite * counts)
        finite = finite[np.repeat(enough, counts)]
        self._keep_strands(enough, "not_finite")
        before, after = _finite_neighbours(finite, self.offsets)
        inner = ~finite & (before >= 0) & (after >= 0)
        self.points[inner] = _between(self.points, before, after, inner)
        self._note_mended("filled", inner)
        self.filled_rows = self.row[inner]
        self._keep_points(finite | inner, "trimmed")

    def merge_points(self, merge_distance: float, merge_share: float) -> None:
        """Keep one of every run of neighbours in the same place, or nearly so."""
        steps = _step_lengths(self.points, self.offsets)
        counts = np.diff(self.offsets)
        total = np.diff(np.concatenate([[0.0], np.cumsum(steps)])[self.offsets])
        mean = total / np.maximum(counts - 1, 1)
        doubled = (steps <= merge_distance) | (steps < np.repeat(merge_share * mean, counts))
        doubled[self.offsets[:-1]] = False
        self._keep_points(~doubled, "merged")

    def drop_pointlike(self, min_length: float) -> None:
        """Drop strands that merging left with one place, or whose length is too small."""
        self._keep_strands(np.diff(self.offsets) > 1, "no_length")
        self.drop_short("too_few_points")
        if len(self.strand):
            lengths = np.add.reduceat(_step_lengths(self.points, self.offsets), self.offsets[:-1])
            self._keep_strands(lengths >= min_length, "no_length")

    def require_strands(self) -> None:
        """Raise ValueError, with the reasons, when nothing is left."""
        if len(self.strand) == 0:
            reasons = "; ".join(
                f"{len(found)}: {DROPPED[fault]}" for fault, found in self.dropped.items() if len(found)
            )
            raise ValueError(
                f"repair: must find a usable strand, got none in {self.strand_count} strands ({reasons or 'no strand'})"
            )

    def report(
        self,
        point_count: int,
        attributes: Mapping[str, int],
        lost: tuple[str, ...],
        noticed: Mapping[str, IntArray],
    ) -> RepairReport:
        """Sum up; strands that were mended first and dropped later count as dropped only."""
        none = np.zeros(0, np.int64)
        return RepairReport(
            self.strand_count,
            point_count,
            self.strand,
            self.row,
            {fault: np.sort(self.dropped.get(fault, none)) for fault in DROPPED},
            {mend: np.intersect1d(self.mended.get(mend, none), self.strand) for mend in MENDED},
            noticed,
            int(np.isin(self.filled_rows, self.row).sum()),
            int(self.input_counts[self.strand].sum()) - len(self.row),
            dict(attributes),
            lost,
        )

    def _count(self, mask: Mask) -> IntArray:
        """Number of points of each strand that `mask` (P,) marks."""
        result: IntArray = np.diff(np.concatenate([[0], np.cumsum(mask)])[self.offsets])
        return result

    def _note_mended(self, mend: str, touched: Mask) -> None:
        self.mended[mend] = self.strand[self._count(touched) > 0]

    def _keep_points(self, keep: Mask, mend: str) -> None:
        self._note_mended(mend, ~keep)
        self.offsets = np.concatenate([[0], np.cumsum(keep)])[self.offsets]
        self.row, self.points = self.row[keep], self.points[keep]

    def _keep_strands(self, keep: Mask, fault: str) -> None:
        earlier = self.dropped.get(fault, np.zeros(0, np.int64))
        self.dropped[fault] = np.concatenate([earlier, self.strand[~keep]])
        counts = np.diff(self.offsets)
        rows = np.repeat(keep, counts)
        self.strand, self.row, self.points = self.strand[keep], self.row[rows], self.points[rows]
        self.offsets = np.concatenate([[0], np.cumsum(counts[keep])])


def _sound_ranges(cuts: IntArray, point_count: int) -> Mask:
    """Which strands own a range of existing points that no other sound strand claims, shape (S,)."""
    start, end = cuts[:-1], cuts[1:]
    sound = (start >= 0) & (end <= point_count) & (start <= end)
    if sound.all():
        return sound  # offsets that never go backwards cannot overlap
    return _without_overlaps(start, end, sound)


def _without_overlaps(start: IntArray, end: IntArray, sound: Mask) -> Mask:
    """Of strands that overlap, keep the shortest first."""
    result = sound.copy()
    owned_start: list[int] = []
    owned_end: list[int] = []
    candidates = np.flatnonzero(sound & (end > start))
    for s in candidates[np.argsort((end - start)[candidates], kind="stable")].tolist():
        at = bisect_right(owned_start, start[s])
        clear_before = at == 0 or owned_end[at - 1] <= start[s]
        clear_after = at == len(owned_start) or end[s] <= owned_start[at]
        if clear_before and clear_after:
            owned_start.insert(at, int(start[s]))
            owned_end.insert(at, int(end[s]))
        else:
            result[s] = False
    return result


def _finite_neighbours(finite: Mask, offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Nearest finite point before and after each point of the same strand (itself where finite), or -1; both (P,)."""
    index = np.arange(len(finite))
    counts = np.diff(offsets)
    before = np.maximum.accumulate(np.where(finite, index, -1)) if len(finite) else index
    after = np.minimum.accumulate(np.where(finite, index, len(finite))[::-1])[::-1] if len(finite) else index
    first, last = np.repeat(offsets[:-1], counts), np.repeat(offsets[1:] - 1, counts)
    return np.where(before >= first, before, -1), np.where(after <= last, after, -1)


def _between(values: NDArray[Any], before: IntArray, after: IntArray, rows: Mask) -> NDArray[Any]:
    """Values at `rows`, on the straight line between those of the neighbours, by count of points."""
    low, high = before[rows], after[rows]
    share = (np.flatnonzero(rows) - low) / np.maximum(high - low, 1)
    share = share.reshape((-1,) + (1,) * (values.ndim - 1))
    result: NDArray[Any] = ((1 - share) * values[low].astype(np.float64) + share * values[high]).astype(values.dtype)
    return result


def _step_lengths(points: FloatArray, offsets: IntArray) -> NDArray[np.float64]:
    """Distance of each point from the one before it in its strand [m], 0 at the root; shape (P,)."""
    steps = np.zeros(len(points))
    if len(points):
        steps[1:] = np.linalg.norm(np.diff(points.astype(np.float64), axis=0), axis=1)
        steps[offsets[:-1]] = 0.0
    return steps


def _checked_lengths(scope: str, attributes: Attributes, count: int) -> dict[str, NDArray[Any]]:
    checked = {name: np.asarray(value) for name, value in attributes.items()}
    for name, array in checked.items():
        if array.ndim == 0 or len(array) != count:
            raise ValueError(
                f"{scope}[{name!r}]: must have one element per {scope} ({count}), got shape {shape_text(array.shape)}"
            )
    return checked


def _finite_rows(values: NDArray[Any]) -> Mask:
    result: Mask = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    return result


def _mended_strand(values: NDArray[Any], name: str, counts: dict[str, int]) -> NDArray[Any] | None:
    """Replace strands' values that are not finite by the median of the others; None where there is no other."""
    if values.dtype.kind != "f":
        return values
    finite = _finite_rows(values)
    if finite.all():
        return values
    if not finite.any():
        return None
    counts[name] = int((~finite).sum())
    # An element of the data rather than a mean of two, which could overflow.
    values[~finite] = np.quantile(values[finite], 0.5, axis=0, method="lower")
    return values


def _mended_vertex(values: NDArray[Any], offsets: IntArray, name: str, counts: dict[str, int]) -> NDArray[Any] | None:
    """Interpolate vertices' values that are not finite along their strand; strands without any take the median."""
    if values.dtype.kind != "f":
        return values
    finite = _finite_rows(values)
    if finite.all():
        return values
    before, after = _finite_neighbours(finite, offsets)
    low, high = np.where(before >= 0, before, after), np.where(after >= 0, after, before)
    reachable = ~finite & (low >= 0)
    values[reachable] = _between(values, low, high, reachable)
    mended = _mended_strand(values, name, counts)
    if mended is not None:
        counts[name] = int((~finite).sum())
    return mended


def _named(strands: IntArray) -> str:
    shown = ", ".join(str(s) for s in strands[:NAMED_STRANDS])
    more = ", ..." if len(strands) > NAMED_STRANDS else ""
    return f"{len(strands)} (strand {shown}{more})"
