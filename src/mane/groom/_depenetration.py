"""How strands are turned out of a solid: the order of questions and answers behind `depenetrate`.

A strand is a root, the directions of its segments and their lengths; only directions change. In each round the solid is
asked for its distance all along the strands, and every segment is turned away from the planes found there. Where a
solid is thinner or a gap narrower than segments are long, some strands never settle so: they try many directions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.geometry.arclength import arc_lengths
from mane.geometry.checks import FloatArray, IntArray, as_array, as_floats
from mane.groom import _kernels_depenetrate as kernels

# With roots kept on the skin, a strand may need twice the clearance in length to climb to it.
CLIMB = 0.5
# The turns are spread in these first rounds; the later ones only finish.
SPREAD_ROUNDS = 3
MAX_ROUNDS = 24
# A root is moved in steps of the distance there, one of which is enough where the distance is exact.
ROOT_ROUNDS = 16
# When fewer strands than this share are not ready yet, they are worked on apart.
FEW = 0.5
# Directions tried at each segment of a strand that does not settle: 12 degrees apart.
SEARCH_DIRECTIONS = 256
# Strands that search at once, at some 50 kB each.
SEARCH_STRANDS = 1024

Answer = tuple[FloatArray, FloatArray]
Mask = NDArray[np.bool_]


@dataclass(eq=False)
class Found:
    """What came of one batch of strands; `before` and `after` are the lowest distances of each [m]."""

    points: FloatArray
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    moved: Mask
    moved_roots: Mask
    unresolved: Mask


@dataclass(eq=False)
class Strands:
    """Ragged strands as directions and lengths of segments, each in the row of the point where it ends.

    Attributes:
        points: positions [m], shape (P, 3).
        offsets: the strands, shape (S + 1,).
        arc: arc length from the root [m], shape (P,).
        length: of the segments [m], shape (P,).
        rest: direction of the segments as they came, shape (P, 3).
        direction: and as they are now, shape (P, 3).
    """

    points: FloatArray
    offsets: IntArray
    arc: NDArray[np.float64]
    length: NDArray[np.float64]
    rest: NDArray[np.float64]
    direction: NDArray[np.float64]

    @classmethod
    def measure(cls, points: FloatArray, offsets: IntArray) -> Strands:
        """Take strands apart."""
        length, direction = np.zeros(len(points)), np.zeros((len(points), 3))
        kernels.measure_segments(points, offsets, length, direction)
        return cls(points.copy(), offsets, arc_lengths(points, offsets), length, direction, direction.copy())

    def rows(self, chosen: Mask) -> Mask:
        """Which points belong to the chosen strands (S,), shape (P,)."""
        return np.repeat(chosen, np.diff(self.offsets))

    def take(self, chosen: Mask) -> Strands:
        """Return a copy of the chosen strands."""
        rows = self.rows(chosen)
        offsets = np.concatenate([[0], np.cumsum(np.diff(self.offsets)[chosen])])
        arrays = (self.arc, self.length, self.rest, self.direction)
        return Strands(self.points[rows], offsets, *(array[rows] for array in arrays))

    def rebuild(self, chosen: Mask) -> None:
        """Lay the segments of the chosen strands end to end again, from the roots."""
        kernels.rebuild_points(chosen, self.offsets, self.length, self.direction, self.points)


@dataclass(eq=False)
class Survey:
    """Strands held against the solid; see `_kernels_depenetrate` for the places.

    Attributes:
        worst: what each strand lacks most to the distance that it must keep [m], shape (S,).
        lowest: least distance of each strand [m], shape (S,).
        places: distance and gradient at the ends of segments, the slots, distance and gradient at inner places.
    """

    worst: NDArray[np.float64]
    lowest: NDArray[np.float64]
    places: tuple[FloatArray, FloatArray, IntArray, FloatArray, FloatArray]


@dataclass(eq=False)
class Solver:
    """The solid and the settings; see `depenetrate`."""

    question: Callable[[FloatArray], Answer]
    clearance: float
    keep_roots: bool
    tolerance: float
    spread: float

    @property
    def _rule(self) -> tuple[float, float, float]:
        """Clearance [m], clearance at the root [m], and how fast it grows from there."""
        return self.clearance, 0.0 if self.keep_roots else self.clearance, CLIMB

    def solve(self, points: FloatArray, offsets: IntArray) -> Found:
        """Bring one batch of strands out."""
        strands = Strands.measure(points, offsets)
        survey = self._survey(strands)
        moved_roots = self._move_roots(strands)
        moved = moved_roots | (survey.worst > self.tolerance)
        found = Found(points, survey.lowest, survey.lowest.copy(), moved, moved_roots, np.zeros_like(moved))
        if moved.any():
            part = strands.take(moved)
            final = self._turn_out(part)
            found.points = points.copy()
            found.points[strands.rows(moved)] = part.points
            found.after[moved] = final.lowest
            found.unresolved[moved] = final.worst > self.tolerance
        return found

    def _ask(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        answer = self.question(points)
        distance = as_floats("distance", answer[0], (len(points),))
        gradient: FloatArray = as_array("gradient", answer[1], (len(points), 3), np.float32)
        unit = np.empty_like(gradient)
        kernels.normalize_rows(gradient, unit)
        return distance, unit

    def _survey(self, strands: Strands) -> Survey:
        distance, gradient = self._ask(strands.points)
        slot = np.empty(len(distance), np.int64)
        close = kernels.find_close_segments(strands.offsets, strands.length, distance, self.clearance, slot)
        inner = np.empty((close, kernels.INNER, 3), np.float32)
        kernels.fill_inner_places(strands.points, slot, inner)
        inner_distance, inner_gradient = self._ask(inner.reshape(-1, 3))
        inner_distance = inner_distance.reshape(close, kernels.INNER)
        worst, lowest = np.empty((2, len(strands.offsets) - 1))
        kernels.judge_strands(
            strands.offsets, strands.arc, strands.length, distance, slot, inner_distance, *self._rule, worst, lowest
        )
        return Survey(worst, lowest, (distance, gradient, slot, inner_distance, inner_gradient.reshape(inner.shape)))

    def _move_roots(self, strands: Strands) -> Mask:
        """Shift strands whose roots are inside, so that these come to the surface; return which."""
        first = strands.offsets[:-1]
        goal = np.float32(self._rule[1])
        roots = strands.points[first]
        moved = np.zeros(len(roots), bool)
        active, limit = np.arange(len(roots)), self.tolerance
        for _ in range(ROOT_ROUNDS):
            distance, gradient = self._ask(roots[active])
            inside = goal - distance > limit
            active = active[inside]
            if len(active) == 0:
                break
            roots[active] += (goal - distance[inside])[:, None] * gradient[inside]
            moved[active] = True
            limit = 0.1 * self.tolerance  # once a root moves, it may as well arrive
        strands.points[first] = roots
        strands.rebuild(moved)
        return moved

    def _turn_out(self, strands: Strands, turn: int = 0) -> Survey:
        """Turn segments until no strand lacks more than the tolerance; push out what cannot be turned out."""
        survey = self._survey(strands)
        late = survey.worst > self.tolerance
        while late.any() and turn < MAX_ROUNDS:
            if late.mean() < FEW:  # the others are ready; go on without them
                part = strands.take(late)
                found = self._turn_out(part, turn)
                strands.points[strands.rows(late)] = part.points
                survey.worst[late], survey.lowest[late] = found.worst, found.lowest
                return survey
            self._turn_once(strands, survey, late, is_spread=turn < SPREAD_ROUNDS)
            survey = self._survey(strands)
            late = survey.worst > self.tolerance
            turn += 1
        if late.any():
            self._settle(strands, late)
            survey = self._survey(strands)
        return survey

    def _turn_once(self, strands: Strands, survey: Survey, late: Mask, *, is_spread: bool) -> None:
        shape = (strands.points, strands.offsets, strands.arc, strands.length)
        kernels.turn_out(late, *shape, *survey.places, *self._rule, strands.direction)
        if is_spread:
            kernels.spread_turns(late, strands.offsets, strands.length, self.spread, strands.rest, strands.direction)
        strands.rebuild(late)

    def _settle(self, strands: Strands, late: Mask) -> None:
        """Find a way out for strands that turning did not bring out; as a last resort, push their points out."""
        chosen = np.flatnonzero(late)
        for first in range(0, len(chosen), SEARCH_STRANDS):
            self._search(strands, chosen[first : first + SEARCH_STRANDS])
        self._push_out(strands)

    def _search(self, strands: Strands, chosen: IntArray) -> None:
        """From root to tip, take of many directions the one nearest to the segment's own that stays outside."""
        many = sphere_directions(SEARCH_DIRECTIONS)
        shares = np.arange(1, kernels.INNER + 2) * kernels.SHARE_STEP
        root, count = strands.offsets[chosen], np.diff(strands.offsets)[chosen]
        for level in range(1, int(count.max())):
            end = root[count > level] + level
            own = strands.rest[end]
            tried = np.concatenate([own[:, None], np.broadcast_to(many, (len(end), *many.shape))], axis=1)
            reach = shares * strands.length[end, None]
            places = strands.points[end - 1, None, None] + reach[:, None, :, None] * tried[:, :, None]
            distance, _ = self._ask(places.reshape(-1, 3).astype(np.float32))
            required = self._required(strands.arc[end - 1, None] + reach)
            lack = (required[:, None] - distance.reshape(places.shape[:-1])).max(axis=-1)
            # Clear directions first, by how near they are to the segment's own; without any, the least deep.
            merit = np.where(
                lack <= 0.5 * self.tolerance, (tried * own[:, None]).sum(axis=-1), -2.0 - np.maximum(lack, 0)
            )
            best = merit.argmax(axis=1)
            strands.direction[end] = tried[np.arange(len(end)), best]
            strands.points[end] = places[np.arange(len(end)), best, -1]

    def _push_out(self, strands: Strands) -> None:
        """Move single points along the gradient; their segments change length."""
        goal = self._required(strands.arc).astype(np.float32)
        for _ in range(ROOT_ROUNDS):
            distance, gradient = self._ask(strands.points)
            lack = goal - distance
            far = lack > self.tolerance
            if not far.any():
                break
            strands.points[far] += lack[far, None] * gradient[far]

    def _required(self, arc: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distance that places must keep [m], from their arc lengths; `kernels.required` for arrays."""
        clearance, root_clearance, climb = self._rule
        return np.minimum(clearance, root_clearance + climb * arc)


def sphere_directions(count: int) -> NDArray[np.float64]:
    """Unit vectors spread evenly over all directions, along a spiral; shape (count, 3)."""
    height = 1 - (2 * np.arange(count) + 1) / count
    angle = np.arange(count) * np.pi * (3 - np.sqrt(5))
    radius = np.sqrt(1 - height**2)
    return np.stack([radius * np.cos(angle), height, radius * np.sin(angle)], axis=1)
