"""`KeepOut`: hairs out of solids with their lengths kept, both at once, as the last of all passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mane.body.solid import PosedSolid, Solid
from mane.geometry.checks import FloatArray, IntArray
from mane.geometry.directions import spread_directions
from mane.geometry.limits import NotNegative, check_arguments
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.base import require_poses
from mane.skin.finish.passes import FinishingPass
from mane.skin.lengths import HairScales
from mane.strand.frame import GuideFrame

Float64Array = NDArray[np.float64]

ROUNDS = 12  # projections to the surfaces and back to the length, at most
CLOSE = 2e-5  # [m] that are left inside
TRIED = 128  # directions, where projections do not settle it


class KeepOut(FinishingPass):
    """Hairs out of solids, with the lengths of the groom.

    Only hairs with a vertex deeper than `tolerance` beyond what was groomed are touched. From root to tip, a vertex is
    projected out of the solids and back to its distance from the vertex before in turns, which settles where both can
    be had at all; where it does not, many directions are tried, and at last the hair stands off the skin. Roots stay.
    Points are changed in place.

    Args:
        solids: in the order of `frame.solid_poses`.
        groom: the hairs at rest.
        touched: numbers of the solids that count; all by default.
        body: what hair grows on, the first of `solids`; no vertex is brought farther out of it than it was groomed.
        tolerance: depth that is left alone [m].
        guides: what carries the hairs, at rest. With them, hair is as much longer than the groom as its guides are, as
            sliders of learned hair make them.

    Limitations: vertices are tested, not the segments between them. A hair whose root is carried into other skin, where
    two parts of the body fold on each other, comes out as early as its lengths allow.
    """

    name = "keep_out"
    needs = ("solids", "touched", "groom", "body", "guides")

    def __init__(
        self,
        solids: Sequence[Solid],
        *,
        groom: Groom,
        touched: Sequence[int] | None = None,
        body: Solid | None = None,
        tolerance: NotNegative = 3e-4,
        guides: Guides | None = None,
    ) -> None:
        check_arguments(KeepOut, locals())
        self.solids, self.tolerance = tuple(solids), tolerance
        self._touched = range(len(self.solids)) if touched is None else touched
        rest = groom.as_uniform()
        self._rest_lengths = np.linalg.norm(np.diff(rest.astype(np.float64), axis=1), axis=2)
        self._lengths = self._rest_lengths  # at the frame at hand
        self._scales = None if guides is None else HairScales(groom, guides)
        self._lowest: FloatArray = np.zeros(rest.shape[:2], np.float32)
        self._body = body if body is not None and 0 in self._touched and body is self.solids[0] else None
        if self._body is not None:
            self._lowest = np.minimum(self._body.rest_distance(groom.points).reshape(rest.shape[:2]), 0)

    def __call__(self, points: FloatArray, frame: GuideFrame) -> FloatArray:
        """Move `points (S, V, 3)` [m] out of the solids as they are at this frame, in place, and return them."""
        require_poses(len(self.solids), frame.solid_poses)
        if points.shape[1] != self._lowest.shape[1]:
            wanted = self._lowest.shape[1]
            raise ValueError(f"points: must have the groom's {wanted} vertices for each hair, got {points.shape[1]}")
        if frame.is_rest_pose and self._body is not None and self._body.animation is not None:
            return points  # as it was groomed; its animation is elsewhere
        scale = None if self._scales is None else self._scales.of(frame)
        self._lengths = self._rest_lengths if scale is None else self._rest_lengths * scale[:, None]
        poses, time = frame.solid_poses, frame.time
        placed = [(number, self.solids[number].placed(poses[number], time)) for number in self._touched]
        rows = self._deep(points, self._lowest, placed)
        if len(rows):
            points[rows] = self._brought_out(points[rows].astype(np.float64), rows, placed, is_straight=False)
            # A hair that took a wrong turn early on has no way out later: it stands off the skin instead.
            stuck = rows[self._deep(points[rows], self._lowest[rows], placed)]
            if len(stuck):
                points[stuck] = self._brought_out(points[stuck].astype(np.float64), stuck, placed, is_straight=True)
        return points

    def _limit(self, number: int, rows: IntArray, vertex: int) -> FloatArray:
        """How far from a solid a vertex of hairs `rows` must be [m]: below 0 where it was groomed deeper."""
        is_body = number == 0 and self._body is not None
        return self._lowest[rows, vertex] if is_body else np.zeros(len(rows), np.float32)

    def _deep(self, points: FloatArray, lowest: FloatArray, placed: list[tuple[int, PosedSolid]]) -> IntArray:
        """Hairs with a vertex behind the root that is too deep in a solid."""
        is_deep = np.zeros(len(points), np.bool_)
        flat = points[:, 1:].reshape(-1, 3)
        for number, solid in placed:
            low, high = solid.surface.bounds
            local = solid.pose.inverse_apply(flat)
            near = np.flatnonzero(((local > low) & (local < high)).all(axis=1))
            row, vertex = np.divmod(near, points.shape[1] - 1)
            limit = lowest[row, vertex + 1] if number == 0 and self._body is not None else 0.0
            is_deep[row[solid.distance(flat[near]) < limit - self.tolerance]] = True
        return np.flatnonzero(is_deep)

    def _worst(
        self, points: Float64Array, rows: IntArray, vertex: int, placed: list[tuple[int, PosedSolid]]
    ) -> tuple[Float64Array, Float64Array]:
        """How deep a vertex of each hair (H, 3) is in the solid it is deepest in [m], and the way out, (H,), (H, 3)."""
        depth, out = np.full(len(points), -np.inf), np.zeros_like(points)
        for number, solid in placed:
            distance, gradient = solid.distance_and_gradient(points.astype(np.float32))
            deeper = self._limit(number, rows, vertex) - distance
            worse = deeper > depth
            depth[worse], out[worse] = deeper[worse], gradient[worse]
        size = np.linalg.norm(out, axis=1, keepdims=True)
        return depth, out / np.maximum(size, 1e-9)

    def _brought_out(
        self, hairs: Float64Array, rows: IntArray, placed: list[tuple[int, PosedSolid]], *, is_straight: bool
    ) -> Float64Array:
        """Hairs from root to tip, each vertex towards where it is, or straight away from the solids."""
        for vertex in range(1, hairs.shape[1]):
            before, length = hairs[:, vertex - 1], self._lengths[rows, vertex - 1, None]
            way = self._worst(before, rows, vertex, placed)[1] if is_straight else hairs[:, vertex] - before
            goal = before + length * _direction(way)
            hairs[:, vertex] = self._settled(before, goal, length, rows, vertex, placed)
        return hairs

    def _settled(
        self,
        before: Float64Array,
        goal: Float64Array,
        length: Float64Array,
        rows: IntArray,
        vertex: int,
        placed: list[tuple[int, PosedSolid]],
    ) -> Float64Array:
        """Ends of segments from `before (H, 3)` that are as long as they must be, and outside where that can be."""
        left = np.arange(len(goal))
        for _ in range(ROUNDS):
            depth, out = self._worst(goal[left], rows[left], vertex, placed)
            inside = depth > CLOSE
            left, depth, out = left[inside], depth[inside], out[inside]
            if len(left) == 0:
                return goal
            pushed = goal[left] + depth[:, None] * out
            goal[left] = before[left] + length[left] * _direction(pushed - before[left])
        goal[left] = self._tried(before[left], goal[left], length[left], rows[left], vertex, placed)
        return goal

    def _tried(
        self,
        before: Float64Array,
        goal: Float64Array,
        length: Float64Array,
        rows: IntArray,
        vertex: int,
        placed: list[tuple[int, PosedSolid]],
    ) -> Float64Array:
        """The end among many directions that turns least and is outside, or the one that is least deep."""
        best, _ = self._worst(goal, rows, vertex, placed)
        start, found, turned = _direction(goal - before), goal.copy(), np.full(len(goal), -np.inf)
        for way in DIRECTIONS:
            tried = before + length * way
            depth = self._worst(tried, rows, vertex, placed)[0]
            is_out, agrees = depth <= CLOSE, start @ way
            better = np.where(best <= CLOSE, is_out & (agrees > turned), depth < best)
            found[better], best[better], turned[better] = tried[better], depth[better], agrees[better]
        return found


def _direction(vectors: Float64Array) -> Float64Array:
    """Unit vectors (H, 3); up where there is none."""
    size = np.linalg.norm(vectors, axis=1, keepdims=True)
    up = np.broadcast_to(np.array([0.0, 1.0, 0.0]), vectors.shape)
    return np.where(size > 1e-12, vectors / np.maximum(size, 1e-12), up)


DIRECTIONS = spread_directions(TRIED)
