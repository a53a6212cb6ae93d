"""`Groom`: many strands with their attributes, validated once and carried whole through every operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import FloatArray, IntArray, as_array, as_floats, first_not_finite, shape_text

# Attributes whose meaning every room knows: name -> (dtype, shape of one element).
# Any other name is a painted map, carried along as it came.
KNOWN_ATTRIBUTES: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {
    "width": (np.float32, ()),  # diameter of the hair [m]
    "color": (np.float32, (3,)),  # linear RGB
    "group_id": (np.int32, ()),  # names are in Groom.group_names
    "root_uv": (np.float32, (2,)),  # texture coordinates of the root on the skin
    "is_guide": (np.bool_, ()),  # marked by the artist as a guide strand
    "id": (np.int32, ()),  # the strand's number in the file that it came from
}
STRAND_ONLY = ("group_id", "root_uv", "is_guide", "id")

MIN_VERTICES = 2


@dataclass(frozen=True, eq=False, repr=False)
class Groom:
    """Strands of hair at the edge of the system: ragged, in metres, root first.

    Attributes:
        points: positions [m], shape (P, 3), float32.
        offsets: strand `s` owns points `offsets[s]:offsets[s + 1]`; shape (S + 1,), int64.
        strand: attributes with one element per strand, name -> array of shape (S, ...).
        vertex: attributes with one element per point, name -> array of shape (P, ...).
        group_names: name of each group id in use, where the file gave one.

    A name lives in `strand` or in `vertex`, never in both. See `KNOWN_ATTRIBUTES` for the names with a meaning.
    """

    points: FloatArray
    offsets: IntArray
    strand: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    vertex: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    group_names: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        points = as_array("groom.points", self.points, ("P", 3), np.float32)
        offsets: IntArray = as_array("groom.offsets", self.offsets, ("S+1",), np.int64)
        check_offsets("groom.offsets", offsets, len(points))
        _check_finite_points(points, offsets)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "offsets", offsets)
        both = sorted(set(self.strand) & set(self.vertex))
        if both:
            raise ValueError(f"groom: attribute {both[0]!r} must be per strand or per vertex, got both")
        object.__setattr__(self, "strand", _checked_attributes("strand", self.strand, self.strand_count))
        object.__setattr__(self, "vertex", _checked_attributes("vertex", self.vertex, self.point_count))
        object.__setattr__(self, "group_names", {int(k): str(v) for k, v in self.group_names.items()})

    def __repr__(self) -> str:
        low, high = int(self.vertex_counts.min()), int(self.vertex_counts.max())
        each = f"{low} each" if low == high else f"{low} to {high} each"
        names = ", ".join([*self.strand, *self.vertex]) or "no attributes"
        return f"Groom({self.strand_count:,} strands, {self.point_count:,} points, {each}; {names})"

    # -- making one ------------------------------------------------------------------------------------------------

    @classmethod
    def from_strands(cls, strands: Sequence[ArrayLike], **attributes: Any) -> Groom:
        """Make a groom from a list of (V, 3) arrays, root first; keyword arguments as in the constructor."""
        arrays = [as_array(f"strands[{i}]", strand, ("V", 3), np.float32) for i, strand in enumerate(strands)]
        counts = [len(array) for array in arrays]
        points = np.concatenate(arrays) if arrays else np.zeros((0, 3), np.float32)
        return cls(points, np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]), **attributes)

    @classmethod
    def from_uniform(cls, points: ArrayLike, **attributes: Any) -> Groom:
        """Make a groom from one (S, V, 3) array; keyword arguments as in the constructor."""
        array = as_array("points", points, ("S", "V", 3), np.float32)
        strand_count, vertex_count = array.shape[:2]
        return cls(array.reshape(-1, 3), np.arange(strand_count + 1, dtype=np.int64) * vertex_count, **attributes)

    # -- asking it -------------------------------------------------------------------------------------------------

    @property
    def strand_count(self) -> int:
        """Number of strands."""
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
    def strand_of_point(self) -> IntArray:
        """The strand that owns each point, shape (P,)."""
        return np.repeat(np.arange(self.strand_count), self.vertex_counts)

    @property
    def is_uniform(self) -> bool:
        """Whether every strand has the same number of points."""
        return bool((self.vertex_counts == self.vertex_counts[0]).all())

    @property
    def roots(self) -> FloatArray:
        """First point of each strand [m], shape (S, 3)."""
        return self.points[self.offsets[:-1]]

    @property
    def tips(self) -> FloatArray:
        """Last point of each strand [m], shape (S, 3)."""
        return self.points[self.offsets[1:] - 1]

    @cached_property
    def lengths(self) -> FloatArray:
        """Arc length of each strand [m], shape (S,)."""
        from mane.geometry.arclength import arc_lengths  # a kernel, which not everybody who has a groom needs

        return arc_lengths(self.points, self.offsets)[self.offsets[1:] - 1].astype(np.float32)

    @cached_property
    def bounds(self) -> FloatArray:
        """Lowest and highest corner of all points [m], shape (2, 3)."""
        return np.stack([self.points.min(axis=0), self.points.max(axis=0)])

    def as_uniform(self) -> FloatArray:
        """View the points as (S, V, 3); ValueError unless every strand has the same count (resample first)."""
        if not self.is_uniform:
            low, high = int(self.vertex_counts.min()), int(self.vertex_counts.max())
            raise ValueError(
                f"groom: must have one vertex count for all strands, got {low} to {high}; resample it first"
            )
        return self.points.reshape(self.strand_count, -1, 3)

    def per_vertex(self, name: str, default: float | None = None) -> NDArray[Any]:
        """Return an attribute with one element per point, whichever way it is stored, shape (P, ...)."""
        if name in self.vertex:
            return self.vertex[name]
        if name in self.strand:
            return self.strand[name][self.strand_of_point]
        if default is None:
            known = ", ".join(sorted([*self.strand, *self.vertex])) or "none"
            raise ValueError(f"groom: has no attribute {name!r}; it has {known}")
        return np.full(self.point_count, default, np.float32)

    # -- changing it (always a new groom; every attribute comes along) -----------------------------------------------

    def with_points(self, points: ArrayLike) -> Groom:
        """Return the groom with its points moved; (P, 3), or (S, V, 3) for a uniform one."""
        array = np.asarray(points)
        return replace(self, points=array.reshape(-1, 3) if array.ndim == 3 else array)

    def with_strand(self, **attributes: ArrayLike | None) -> Groom:
        """Return the groom with per-strand attributes added, replaced or (None) removed."""
        return replace(self, strand=_updated(self.strand, attributes), vertex=_without(self.vertex, attributes))

    def with_vertex(self, **attributes: ArrayLike | None) -> Groom:
        """Return the groom with per-vertex attributes added, replaced or (None) removed."""
        return replace(self, vertex=_updated(self.vertex, attributes), strand=_without(self.strand, attributes))

    def take(self, strands: ArrayLike) -> Groom:
        """Return the chosen strands, by index in the order given or by a mask of shape (S,)."""
        chosen = np.asarray(strands)
        if chosen.dtype == np.bool_:
            chosen = np.flatnonzero(as_array("strands", chosen, (self.strand_count,), np.bool_))
        chosen = as_array("strands", chosen, ("K",), np.int64)
        outside = (chosen < 0) | (chosen >= self.strand_count)
        if outside.any():
            raise ValueError(
                f"strands: must be below {self.strand_count}, got {int(chosen[outside][0])} "
                f"at index {int(outside.argmax())}"
            )
        counts = self.vertex_counts[chosen]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], counts)
        return Groom(
            self.points[rows],
            offsets,
            {name: value[chosen] for name, value in self.strand.items()},
            {name: value[rows] for name, value in self.vertex.items()},
            self.group_names,
        )

    def transformed(self, matrix: ArrayLike) -> Groom:
        """Return the groom moved by a 4x4 matrix that acts on column vectors; widths follow its mean scale."""
        m = np.asarray(as_floats("matrix", matrix, (4, 4)), dtype=np.float64)
        scale = np.float32(abs(np.linalg.det(m[:3, :3])) ** (1 / 3))
        moved = self.with_points(self.points @ m[:3, :3].T + m[:3, 3])
        if "width" in moved.strand:
            return moved.with_strand(width=moved.strand["width"] * scale)
        if "width" in moved.vertex:
            return moved.with_vertex(width=moved.vertex["width"] * scale)
        return moved


def concatenate(grooms: Sequence[Groom]) -> Groom:
    """Join grooms into one; only attributes that all of them have, in the same scope and shape, are kept.

    Args:
        grooms: one or more; their strands follow each other in this order.
    """
    if not grooms:
        raise ValueError("grooms: must hold at least one groom, got none")
    starts = np.cumsum([0] + [groom.point_count for groom in grooms])
    offsets = [grooms[0].offsets[:1]]
    offsets += [groom.offsets[1:] + start for groom, start in zip(grooms, starts[:-1], strict=True)]
    names = {key: value for groom in grooms for key, value in groom.group_names.items()}
    return Groom(
        np.concatenate([groom.points for groom in grooms]),
        np.concatenate(offsets),
        _joined([groom.strand for groom in grooms]),
        _joined([groom.vertex for groom in grooms]),
        names,
    )


def check_offsets(name: str, offsets: IntArray, point_count: int) -> None:
    """Raise ValueError unless `offsets` cuts `point_count` points into strands of two or more points."""
    if len(offsets) < 2:
        raise ValueError(f"{name}: must describe at least one strand, got {len(offsets)} offsets and no strand")
    if offsets[0] != 0 or offsets[-1] != point_count:
        raise ValueError(
            f"{name}: must start at 0 and end at {point_count} (= number of points), "
            f"started at {offsets[0]} and ended at {offsets[-1]}"
        )
    counts = np.diff(offsets)
    short = counts < MIN_VERTICES
    if short.any():
        first = int(short.argmax())
        fault = "goes backwards" if counts[first] < 0 else f"has {counts[first]} points"
        raise ValueError(
            f"{name}: every strand must have at least {MIN_VERTICES} points, strand {first} {fault} "
            f"(offsets {offsets[first]}, {offsets[first + 1]}); groom.repair drops such strands"
        )


def _check_finite_points(points: FloatArray, offsets: IntArray) -> None:
    row = first_not_finite(points)
    if row is not None:
        owner = int(np.searchsorted(offsets, row, side="right")) - 1
        bad = points[row][~np.isfinite(points[row])][0]
        raise ValueError(
            f"groom.points: must be finite, got {bad} at point {row} (strand {owner}); groom.repair mends such strands"
        )


def _checked_attributes(scope: str, attributes: Mapping[str, NDArray[Any]], count: int) -> dict[str, NDArray[Any]]:
    checked = {}
    for name, value in attributes.items():
        where = f"groom.{scope}[{name!r}]"
        if scope == "vertex" and name in STRAND_ONLY:
            raise ValueError(f"{where}: must be given per strand, got one per vertex")
        array = np.asarray(value)
        if name in KNOWN_ATTRIBUTES:
            dtype, element = KNOWN_ATTRIBUTES[name]
            array = as_array(where, array, (count, *element), dtype)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{where}: must hold numbers, got dtype {array.dtype}")
        if array.ndim == 0 or len(array) != count:
            raise ValueError(
                f"{where}: must have one element per {scope} ({count}), got shape {shape_text(array.shape)}"
            )
        row = first_not_finite(array)
        if row is not None:
            raise ValueError(f"{where}: must be finite, got {array[row]} at index {row}")
        checked[name] = np.ascontiguousarray(array)
    return checked


def _updated(old: Mapping[str, NDArray[Any]], new: Mapping[str, ArrayLike | None]) -> dict[str, NDArray[Any]]:
    kept = _without(old, new)
    return kept | {name: np.asarray(value) for name, value in new.items() if value is not None}


def _without(old: Mapping[str, NDArray[Any]], names: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    return {name: value for name, value in old.items() if name not in names}


def _joined(scopes: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    first, rest = scopes[0], scopes[1:]
    shared = [
        name
        for name, value in first.items()
        if all(name in other and other[name].shape[1:] == value.shape[1:] for other in rest)
    ]
    return {name: np.concatenate([scope[name] for scope in scopes]) for name in shared}
