"""Where static links are tied: the closest points of nearby strands, seen from the frame of each segment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.contact.compliance import Compliance
from mane.geometry.checks import IntArray
from mane.geometry.index import PointIndex
from mane.strand.model import Float64Array

NOBODY = -1
# Neighbours asked for, per link wanted: a strand nearby fills several places with its segments, the strand itself some.
NEIGHBOURS_PER_LINK = 8
# Reach, in multiples of the usual distance to the nearest strand, where none is given. At 2, a sixth of the segments of
# a head of 200 guides had no neighbour, and hairs hardly moved together.
USUAL_REACH = 8.0


@dataclass(frozen=True, eq=False)
class LinkTable:
    """Links of all segments, `count` places each; G strands of N segments.

    Attributes:
        other: the segment that each link is tied to, as strand * N + segment, -1 for none, shape (G, N, count), int64.
        fraction: where on it, 0 to 1, shape (G, N, count).
        local: the tied point as the owning segment sees it: along the segment as a fraction of its length, and across
            it along two axes [m]; shape (G, N, count, 3).
        health: share of its stiffness that a link still has, 1 whole to 0 broken, shape (G, N, count).
    """

    other: IntArray
    fraction: Float64Array
    local: Float64Array
    health: Float64Array

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name; copies."""
        return {name: getattr(self, name).copy() for name in ("other", "fraction", "local", "health")}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LinkTable:
        """Make a table from what `arrays` returned; copies."""
        return cls(*(np.array(arrays[name]) for name in ("other", "fraction", "local", "health")))


def find_links(
    points: Float64Array,
    axes: Float64Array,
    takes_part: NDArray[np.bool_],
    groups: IntArray,
    count: int,
    reach: float | None,
) -> LinkTable:
    """Tie every segment to the closest points of at most `count` other strands.

    Args:
        points: vertices [m], shape (G, V, 3).
        axes: unit vectors across the segments, the first axis of each one's frame, shape (G, N, 3).
        takes_part: strands that may be linked, shape (G,).
        groups: strands are linked within their group alone, shape (G,).
        count: links per segment.
        reach: links longer than this are not made [m]; None for eight times the usual distance to the nearest strand.
    """
    strands, vertices = points.shape[:2]
    segments = vertices - 1
    other = np.full((strands, segments, count), NOBODY)
    fraction = np.zeros(other.shape)
    distance = np.full(other.shape, np.inf)
    for group in np.unique(groups[takes_part]):
        members = np.flatnonzero(takes_part & (groups == group))
        if len(members) > 1:
            other[members], fraction[members], distance[members] = _nearest(points, members, count)
    if reach is None:
        nearest = distance[..., 0][np.isfinite(distance[..., 0])]
        reach = USUAL_REACH * float(np.median(nearest)) if len(nearest) else 0.0
    too_far = ~(distance <= reach)
    other[too_far], fraction[too_far] = NOBODY, 0.0
    local = _local_coordinates(points, axes, other, fraction)
    return LinkTable(other, fraction, local, np.where(too_far, 0.0, 1.0))


def retied(links: LinkTable, found: LinkTable, is_open: NDArray[np.bool_]) -> LinkTable | None:
    """Fill open places (G, N, count) of `links` with what was `found`, nearest first, each to a strand of its own.

    Returns None where there is nothing to fill them with.
    """
    segments = links.other.shape[1]
    given, wanted = found.arrays(), links.arrays()
    left = is_open.copy()
    tied = np.where((links.other >= 0) & ~is_open, links.other // segments, NOBODY)
    for place in range(found.other.shape[2]):
        other = found.other[..., place]
        fits = (other >= 0) & left.any(axis=2) & ~(tied == (other // segments)[..., None]).any(axis=2)
        g, i = np.nonzero(fits)
        slot = left[g, i].argmax(axis=1)
        for name, array in wanted.items():
            array[g, i, slot] = given[name][g, i, place]
        left[g, i, slot], tied[g, i, slot] = False, other[g, i] // segments
    return None if (left == is_open).all() else LinkTable.from_arrays(wanted)


def _nearest(points: Float64Array, members: IntArray, count: int) -> tuple[IntArray, Float64Array, Float64Array]:
    """Closest points of other strands to the middle of each segment of `members`: segment, fraction, distance."""
    segments = points.shape[1] - 1
    start = points[members, :-1].reshape(-1, 3)
    edge = points[members, 1:].reshape(-1, 3) - start
    middle = start + 0.5 * edge
    owner = np.repeat(members, segments)
    _, found = PointIndex(middle).nearest(middle, NEIGHBOURS_PER_LINK * count + 3)
    # Closest point on each found segment; one's own strand does not count.
    gap = middle[:, None] - start[found]
    square = np.maximum((edge[found] ** 2).sum(axis=2), np.finfo(float).tiny)
    fraction = np.clip((gap * edge[found]).sum(axis=2) / square, 0.0, 1.0)
    distance = np.linalg.norm(gap - fraction[..., None] * edge[found], axis=2)
    distance[owner[found] == owner[:, None]] = np.inf
    order = np.lexsort((found, distance), axis=1)
    found, fraction, distance = (np.take_along_axis(array, order, axis=1) for array in (found, fraction, distance))
    # One link per strand: what comes after the first of the same strand goes to the end.
    strand = owner[found]
    repeated = np.zeros(found.shape, np.bool_)
    for place in range(1, found.shape[1]):
        repeated[:, place] = (strand[:, :place] == strand[:, place : place + 1]).any(axis=1)
    distance[repeated] = np.inf
    order = np.argsort(distance, axis=1, kind="stable")[:, :count]
    found, fraction, distance = (np.take_along_axis(array, order, axis=1) for array in (found, fraction, distance))
    width = found.shape[1]
    shape = (len(members), segments, count)
    result = np.full((3, len(found), count), np.inf)
    result[0, :, :width] = owner[found] * segments + found % segments
    result[1, :, :width], result[2, :, :width] = fraction, distance
    missing = ~np.isfinite(result[2])
    result[0][missing], result[1][missing] = NOBODY, 0.0
    return result[0].astype(np.int64).reshape(shape), result[1].reshape(shape), result[2].reshape(shape)


def _local_coordinates(
    points: Float64Array, axes: Float64Array, other: IntArray, fraction: Float64Array
) -> Float64Array:
    vertices = points.shape[1]
    edges = np.diff(points, axis=1)
    length = np.linalg.norm(edges, axis=2)
    tangent = edges / length[..., None]
    safe = np.maximum(other, 0)
    row, place = safe // (vertices - 1), safe % (vertices - 1)
    tied = points[row, place] + fraction[..., None] * edges[row, place]
    gap = tied - points[:, :-1, None]
    along = np.einsum("gnmi,gni->gnm", gap, tangent) / length[..., None]
    across = [np.einsum("gnmi,gni->gnm", gap, axis) for axis in (axes, np.cross(tangent, axes))]
    return np.stack([along, *across], axis=-1)


class LinkResponse:
    """How far the two ends of each link give way together to a push [1/kg], s_c of `contact.compliance`."""

    def __init__(self, links: LinkTable, compliance: Compliance) -> None:
        self._compliance = compliance
        model = compliance.model
        self._tied = links.other >= 0
        along = links.local[..., 0]
        lever = np.linalg.norm(links.local[..., 1:], axis=-1) / model.rest_length[..., None]
        # Weights on the ends of the own segment, with the couple of what is beside it; and on those of the other.
        self._own = [(np.abs(1 - along) + lever) * self._tied, (np.abs(along) + lever) * self._tied]
        self._other = [(1 - links.fraction) * self._tied, links.fraction * self._tied]
        self._place = np.maximum(links.other + links.other // model.segment_count, 0)  # vertex that the other starts at
        busy = np.zeros(model.mass.shape)
        for end in range(2):
            busy[:, end : end + model.segment_count] += self._own[end].sum(axis=2)
            busy += np.bincount((self._place + end).reshape(-1), self._other[end].reshape(-1), busy.size).reshape(
                busy.shape
            )
        self._busy = busy
        self._table: Float64Array | None = None
        self._found: Float64Array = np.empty(0)

    def of(self, dt: float) -> Float64Array:
        """For steps of `dt` [s], shape (G, N, count), zero where there is no link; read only."""
        table = self._compliance.of(dt)
        if table is not self._table:
            total = np.einsum("gvw,gw->gv", table, self._busy)
            here = self._own[0] * total[:, :-1, None] + self._own[1] * total[:, 1:, None]
            flat = total.reshape(-1)
            there = self._other[0] * flat[self._place] + self._other[1] * flat[self._place + 1]
            self._table, self._found = table, here + there
        return self._found
