"""Which single hairs are simulated: those that touch something, and how they come back (lee2018 3.2.2, fig. 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray, IntArray
from mane.stage.protocol import Memory
from mane.strand.ports import NO_STRANDS, MovingSolid
from mane.volume import _kernels_activation as kernels
from mane.volume.lattice import Float64Array

ROUNDING = 1e-9  # [s]
SAMPLES = 4  # times of a frame at which hair is looked at, its end among them


class Status(IntEnum):
    """What a hair does."""

    KINEMATIC = 0
    """It follows its target."""
    ACTIVE = 1
    """It is simulated."""
    RETURNING = 2
    """It goes back to its target."""


class Activation:
    """Status of G hairs of V vertices.

    Args:
        shape: G and V.
        linger: how long a hair stays active after it has touched something [s].
        return_time: in which it goes back to its target then [s].

    Attributes:
        status: of each hair, a `Status`, shape (G,).
        touched: time at which each was last near a solid [s], shape (G,).
        returning: hairs that go back to their targets, shape (R,).
    """

    def __init__(self, shape: tuple[int, int], linger: float, return_time: float) -> None:
        self.linger, self.return_time = linger, return_time
        self._shape = shape
        self.reset()

    def reset(self) -> None:
        """Begin anew: all hairs follow their targets."""
        self.status = np.zeros(self._shape[0], np.int8)
        self.touched = np.full(self._shape[0], -np.inf)
        self.returning = NO_STRANDS
        self._left = np.zeros(0)
        self._gap, self._speed = np.zeros((2, 0, self._shape[1], 3))

    def rows(self, status: Status) -> IntArray:
        """Hairs with a status, sorted, shape (A,)."""
        return np.flatnonzero(self.status == status)

    def wake(self, rows: IntArray) -> None:
        """Hairs (A,) are simulated from now on."""
        self.status[rows] = Status.ACTIVE
        self._keep(self.status[self.returning] == Status.RETURNING)

    def release(self, rows: IntArray, time: float, gap: Float64Array, speed: Float64Array) -> None:
        """Let hairs (L,) go back: `gap` [m] from their targets, `speed` [m/s] beside them, both (L, V, 3)."""
        self.status[rows] = Status.RETURNING
        self.returning = np.concatenate([self.returning, rows])
        self._left = np.concatenate([self._left, np.full(len(rows), time)])
        self._gap, self._speed = np.concatenate([self._gap, gap]), np.concatenate([self._speed, speed])

    def offsets(self, time: float) -> tuple[Float64Array, Float64Array]:
        """How far hairs that return are from their targets [m], and how fast beside them [m/s], both (R, V, 3).

        The cubic that leaves with the position and the velocity of the hair and arrives with those of its target
        (position and velocity matching in closed form, after Weinstein, Guendelman and Fedkiw 2008).
        """
        total = self.return_time
        t = np.clip((time - self._left) / total, 0.0, 1.0)[:, None, None]
        offset = (1 + 2 * t) * (1 - t) ** 2 * self._gap + t * (1 - t) ** 2 * total * self._speed
        rate = 6 * t * (t - 1) / total * self._gap + (1 - t) * (1 - 3 * t) * self._speed
        return offset, rate

    def arrive(self, time: float) -> None:
        """Hairs whose time to return is over follow their targets again."""
        is_over = time - self._left >= self.return_time - ROUNDING
        self.status[self.returning[is_over]] = Status.KINEMATIC
        self._keep(~is_over)

    def _keep(self, which: NDArray[np.bool_]) -> None:
        """Go on with those of the hairs that return that a mask (R,) has."""
        self.returning, self._left = self.returning[which], self._left[which]
        self._gap, self._speed = self._gap[which], self._speed[which]

    def memory(self) -> Memory:
        """Status, times, and what hairs had when they began to return."""
        return {
            "status": self.status.copy(),
            "touched": self.touched.copy(),
            "returning": self.returning.copy(),
            "left": self._left.copy(),
            "gap": self._gap.copy(),
            "speed": self._speed.copy(),
        }

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.status, self.touched = memory["status"].copy(), memory["touched"].copy()
        self.returning, self._left = memory["returning"].copy(), memory["left"].copy()
        self._gap, self._speed = memory["gap"].copy(), memory["speed"].copy()


def near_on_the_way(
    before: FloatArray, after: FloatArray, solids: Sequence[tuple[MovingSolid, ...]], margin: Float64Array
) -> IntArray:
    """Hairs that come nearer than their `margin` (G,) [m] to solids on straight lines from `before` to `after`.

    Args:
        before: hairs at the start of a frame [m], shape (G, V, 3).
        after: the same at its end.
        solids: during each of as many equal parts of the frame; hair is looked at where these end.
        margin: [m], shape (G,).

    Returns:
        Their numbers, sorted, shape (A,).
    """
    low, high = np.empty((2, len(before), 3), np.float32)
    kernels.bound_hairs(before, after, low, high)
    rows = np.flatnonzero(_in_reach(low, high, margin, [one for moment in solids for one in moment]))
    start, way = before[rows].astype(np.float64), after[rows].astype(np.float64) - before[rows]
    found = np.zeros(len(rows), np.bool_)
    for number, moment in enumerate(solids, 1):
        left = np.flatnonzero(~found)
        found[left] = near_solids(start[left] + number / len(solids) * way[left], moment, margin[rows[left]])
    return rows[found]


def _in_reach(
    low: FloatArray, high: FloatArray, margin: Float64Array, solids: Sequence[MovingSolid]
) -> NDArray[np.bool_]:
    """Boxes (G, 3) that are nearer than `margin` (G,) to the boxes of solids as they are at the end, (G,)."""
    found, far = np.zeros(len(low), np.bool_), margin[:, None]
    for moving in solids:
        bounds = _bounds(moving)
        corners = moving.after.apply(np.stack(np.meshgrid(*bounds.T), axis=-1).reshape(-1, 3))
        found |= ((high > corners.min(axis=0) - far) & (low < corners.max(axis=0) + far)).all(axis=1)
    return found


def _bounds(moving: MovingSolid) -> Float64Array:
    """Corners of a solid's box in its own frame at the end [m], shape (2, 3)."""
    return moving.solid.placed(moving.after, moving.times[1]).surface.bounds.astype(np.float64)


def near_solids(points: Float64Array, solids: Sequence[MovingSolid], margin: Float64Array) -> NDArray[np.bool_]:
    """Hairs (G, V, 3) [m] with a vertex nearer than their `margin` (G,) [m] to solids as they are at the end, (G,)."""
    found = np.zeros(len(points), np.bool_)
    for moving in solids:
        low, high = _bounds(moving)
        local, far = moving.after.inverse_apply(points), margin[:, None, None]
        inside = ((local > low - far) & (local < high + far)).all(axis=2) & ~found[:, None]
        row = np.nonzero(inside)[0]
        if len(row):
            solid = moving.solid.placed(moving.after, moving.times[1])
            distance = solid.distance(points[inside].astype(np.float32))
            found[row[distance < margin[row]]] = True
    return found
