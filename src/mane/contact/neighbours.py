"""Which guides a triangle strip spans: those whose roots are neighbours (chang2002 4.2 and figure 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import IntArray, as_array
from mane.geometry.index import PointIndex
from mane.strand.model import Float64Array

NEIGHBOURHOODS = ("all", "horizontal")
UP = np.array([0.0, 1.0, 0.0])
STEEPEST = np.sqrt(0.5)  # a horizontal neighbour is seen at 45 degrees or less
USUAL_REACH = 2.5  # in multiples of the usual distance to the nearest root, where none is given
TIE = 1e-3  # a root this close to the edge of a pair's sphere lies in it


def find_pairs(
    roots: Float64Array, takes_part: NDArray[np.bool_], groups: IntArray, neighbours: str, reach: float | None
) -> IntArray:
    """Return neighbours, lower strand first, sorted, shape (P, 2).

    Two roots are neighbours when no third one lies in the sphere between them: the Gabriel graph, a part of Delaunay's
    that needs no plane to be drawn in. On a square lattice these are the four nearest.

    Args:
        roots: [m], shape (G, 3).
        takes_part: strands that may have strips, shape (G,).
        groups: pairs are made within a group alone, shape (G,).
        neighbours: "all" for a brush, "horizontal" for a scalp, whose layers should slide over each other.
        reach: roots farther apart than this are no neighbours [m]; None for 2.5 times the usual nearest distance.
    """
    found = [
        _gabriel(roots, members, reach)
        for group in np.unique(groups[takes_part])
        if len(members := np.flatnonzero(takes_part & (groups == group))) > 1
    ]
    pairs = np.concatenate(found) if found else np.zeros((0, 2), np.int64)
    if neighbours == "horizontal":
        edge = roots[pairs[:, 1]] - roots[pairs[:, 0]]
        pairs = pairs[np.abs(edge @ UP) <= STEEPEST * np.linalg.norm(edge, axis=1)]
    return np.ascontiguousarray(pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))])


def _gabriel(roots: Float64Array, members: IntArray, reach: float | None) -> IntArray:
    own = roots[members]
    index = PointIndex(own)
    if reach is None:
        reach = USUAL_REACH * float(np.median(index.nearest(own, 2)[0][:, 1]))
    near = index.pairs_within(reach)
    half = 0.5 * np.linalg.norm(own[near[:, 1]] - own[near[:, 0]], axis=1)
    near, half = near[half > 0], half[half > 0]
    if len(near) == 0:
        return np.zeros((0, 2), np.int64)
    distance, who = index.nearest(0.5 * (own[near[:, 0]] + own[near[:, 1]]), 3)
    is_end = (who == near[:, :1]) | (who == near[:, 1:])
    free = (is_end | (distance > half[:, None] * (1 + TIE))).all(axis=1)
    result: IntArray = members[near[free]]
    return result


def with_split(pairs: IntArray, parents: IntArray) -> tuple[IntArray, IntArray]:
    """Add the strips that a strip is split into while a slot is inserted in its middle (chang2002 4.3).

    Args:
        pairs: of guides, shape (P, 2).
        parents: of all strands, as in `StrandModel`, shape (G, 2).

    Returns:
        Pairs (Q, 2): those given, and behind them two for each that a slot lies between; and the slot
        that each is split by, or -1, shape (Q,).
    """
    row_of = {(min(a, b), max(a, b)): row for row, (a, b) in enumerate(pairs.tolist())}
    splitter = np.full(len(pairs), -1)
    halves: list[tuple[int, int]] = []
    for slot in np.flatnonzero(parents[:, 0] != parents[:, 1]).tolist():
        a, b = parents[slot].tolist()
        row = row_of.get((min(a, b), max(a, b)))
        if row is not None:
            splitter[row] = slot
            halves += [(a, slot), (slot, b)]
    added = np.array(halves, np.int64).reshape(-1, 2)
    return np.concatenate([pairs, added]), np.concatenate([splitter, np.full(len(added), -1)])


def rest_widths(points: Float64Array, pairs: IntArray, least: float) -> Float64Array:
    """Width of every triangle [m], the longer of its edges across the strip, shape (P, 2 N), at least `least`."""
    a, b = points[pairs[:, 0]], points[pairs[:, 1]]
    straight = np.linalg.norm(a - b, axis=2)
    slanted = np.linalg.norm(a[:, 1:] - b[:, :-1], axis=2)
    both = np.stack([np.maximum(straight[:, :-1], slanted), np.maximum(straight[:, 1:], slanted)], axis=2)
    return np.ascontiguousarray(np.maximum(both.reshape(len(pairs), 2 * (points.shape[1] - 1)), least))


def checked_pairs(pairs: ArrayLike, strand_count: int) -> IntArray:
    """Return pairs of strands as int64 (P, 2); ValueError names the first that is none."""
    checked: IntArray = as_array("strips.pairs", np.asarray(pairs, dtype=np.int64).reshape(-1, 2), ("P", 2), np.int64)
    bad = ((checked < 0) | (checked >= strand_count)).any(axis=1) | (checked[:, 0] == checked[:, 1])
    if bad.any():
        first = int(bad.argmax())
        raise ValueError(
            f"strips.pairs: must be two different strands below {strand_count}, got {checked[first].tolist()} "
            f"at pair {first}"
        )
    return checked
