"""How strands are turned out of a solid: the order of questions and answers behind `depenetrate`.

A strand is a root, the directions of its segments and their lengths; only directions change. In each round the solid is
asked for its distance all along the strands, and every segment is turned away from the planes found there. Where a
solid is thinner or a gap narrower than segments are long, some strands never settle so: they try many directions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

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
# Strands that were bent by more than this at a joint [rad] are turned out anew, with turns spread so many times wider.
SHARP = np.radians(40)
WIDER = (2.0, 4.0, 8.0)
# A root is moved in steps of the distance there, one of which is enough where the distance is exact.
ROOT_ROUNDS = 16
LENGTH_ROUNDING = 1e-5  # of single precision, as a share of a strand's length
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
    """What came of one batch of strands; `before` and `after` are the lowest distances of each [m], `bend` [rad] is by
    how much each is bent more than it was, at the joint where that is most."""

    points: FloatArray
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    moved: Mask
    moved_roots: Mask
    unresolved: Mask
    bend: NDArray[np.float64]


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
        nothing = np.zeros_like(moved), np.zeros(len(moved))
        found = Found(points, survey.lowest, survey.lowest.copy(), moved, moved_roots, *nothing)
        if moved.any():
            part = strands.take(moved)
            start = part.points.copy()
            final = self._turn_out(part)
            found.bend[moved] = self._soften(part, start, final)
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

    def _soften(self, strands: Strands, start: FloatArray, survey: Survey) -> NDArray[np.float64]:
        """Turn strands that were bent sharply out anew from `start` (P, 3), with wider spreads, where that is softer.

        A turn that is spread widely begins before the first touch, and goes around an ear instead of breaking at it.

        Returns:
            By how much each strand is bent more than it was [rad], shape (S,).
        """
        bend = added_bend(strands, strands.points)
        for factor in WIDER:
            sharp = bend > SHARP
            if not sharp.any():
                break
            part = strands.take(sharp)
            part.points = start[strands.rows(sharp)].copy()
            part.direction = part.rest.copy()
            wider = replace(self, spread=factor * self.spread)
            found = wider._turn_out(part)
            tried = added_bend(part, part.points)
            own = strands.points[strands.rows(sharp)]
            is_better = (found.worst <= np.maximum(survey.worst[sharp], self.tolerance)) & (tried < bend[sharp])
            is_better &= _length_change(part, part.points) <= _length_change(part, own) + LENGTH_ROUNDING
            better = np.flatnonzero(sharp)[is_better]
            rows = part.rows(is_better)
            strands.points[strands.rows(np.isin(np.arange(len(bend)), better))] = part.points[rows]
            survey.worst[better], survey.lowest[better] = found.worst[is_better], found.lowest[is_better]
            bend[better] = tried[is_better]
        return bend

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


def added_bend(strands: Strands, points: FloatArray) -> NDArray[np.float64]:
    """By how much strands at `points` (P, 3) are bent more than they came, at most, [rad], shape (S,); 0 if nowhere."""
    length, direction = np.zeros(len(points)), np.zeros((len(points), 3))
    kernels.measure_segments(points, strands.offsets, length, direction)
    more = _bends(direction) - _bends(strands.rest)
    # A joint is the end of a segment that has another one behind it: not the root, nor the tip.
    is_joint = np.ones(len(points), bool)
    is_joint[strands.offsets[:-1]] = is_joint[strands.offsets[1:] - 1] = False
    strand = np.repeat(np.arange(len(strands.offsets) - 1), np.diff(strands.offsets))
    worst = np.zeros(len(strands.offsets) - 1)
    np.maximum.at(worst, strand[is_joint], more[is_joint])
    return worst


def _bends(direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Angle between every segment and the next row's [rad], shape (P,)."""
    cosine = np.einsum("pk,pk->p", direction, np.roll(direction, -1, axis=0))
    angle: NDArray[np.float64] = np.arccos(np.clip(cosine, -1, 1))
    return angle


def _length_change(strands: Strands, points: FloatArray) -> NDArray[np.float64]:
    """Change of length of each strand as a share of it, shape (S,)."""
    length, direction = np.zeros(len(points)), np.zeros((len(points), 3))
    kernels.measure_segments(points, strands.offsets, length, direction)
    ends = strands.offsets[1:] - 1
    own, now = (np.cumsum(array)[ends] for array in (strands.length, length))
    own, now = np.diff(own, prepend=0.0), np.diff(now, prepend=0.0)
    return np.abs(now - own) / np.maximum(own, 1e-12)


def sphere_directions(count: int) -> NDArray[np.float64]:
    """Unit vectors spread evenly over all directions, along a spiral; shape (count, 3)."""
    height = 1 - (2 * np.arange(count) + 1) / count
    angle = np.arange(count) * np.pi * (3 - np.sqrt(5))
    radius = np.sqrt(1 - height**2)
    return np.stack([radius * np.cos(angle), height, radius * np.sin(angle)], axis=1)
