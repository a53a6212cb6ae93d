"""Which single hairs are simulated: those that touch something, and how they come back (lee2018 3.2.2, fig. 7)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.stage.protocol import Memory
from mane.strand.ports import MovingSolid
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
    """

    def __init__(self, shape: tuple[int, int], linger: float, return_time: float) -> None:
        self.linger, self.return_time = linger, return_time
        self._shape = shape
        self.reset()

    def reset(self) -> None:
        """Begin anew: all hairs follow their targets."""
        self.status = np.zeros(self._shape[0], np.int8)
        self.touched = np.full(self._shape[0], -np.inf)
        self._left = np.zeros(self._shape[0])
        self._gap, self._speed = np.zeros((2, *self._shape, 3))

    def is_in(self, status: Status) -> NDArray[np.bool_]:
        """Hairs with a status, shape (G,)."""
        mask: NDArray[np.bool_] = self.status == status
        return mask

    def release(self, rows: NDArray[np.bool_], time: float, gap: Float64Array, speed: Float64Array) -> None:
        """Let hairs of the mask (G,) go back: `gap` [m] from their targets, `speed` [m/s] beside them, (G, V, 3)."""
        self.status[rows] = Status.RETURNING
        self._left[rows], self._gap[rows], self._speed[rows] = time, gap[rows], speed[rows]

    def offsets(self, time: float) -> tuple[Float64Array, Float64Array]:
        """How far hairs that return are from their targets [m], and how fast beside them [m/s], both (R, V, 3).

        The cubic that leaves with the position and the velocity of the hair and arrives with those of its target
        (position and velocity matching in closed form, after Weinstein, Guendelman and Fedkiw 2008).
        """
        rows, total = self.is_in(Status.RETURNING), self.return_time
        t = np.clip((time - self._left[rows]) / total, 0.0, 1.0)[:, None, None]
        gap, speed = self._gap[rows], self._speed[rows]
        offset = (1 + 2 * t) * (1 - t) ** 2 * gap + t * (1 - t) ** 2 * total * speed
        rate = 6 * t * (t - 1) / total * gap + (1 - t) * (1 - 3 * t) * speed
        return offset, rate

    def arrive(self, time: float) -> None:
        """Hairs whose time to return is over follow their targets again."""
        is_over = time - self._left >= self.return_time - ROUNDING
        self.status[self.is_in(Status.RETURNING) & is_over] = Status.KINEMATIC

    def memory(self) -> Memory:
        """Status, times, and what hairs had when they began to return."""
        return {
            "status": self.status.copy(),
            "touched": self.touched.copy(),
            "left": self._left.copy(),
            "gap": self._gap.copy(),
            "speed": self._speed.copy(),
        }

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.status, self.touched = memory["status"].copy(), memory["touched"].copy()
        self._left, self._gap, self._speed = (memory[name].copy() for name in ("left", "gap", "speed"))


def near_solids(points: Float64Array, solids: tuple[MovingSolid, ...], margin: Float64Array) -> NDArray[np.bool_]:
    """Hairs (G, V, 3) [m] with a vertex nearer than their `margin` (G,) [m] to solids as they are at the end, (G,)."""
    found = np.zeros(len(points), np.bool_)
    for moving in solids:
        solid = moving.solid.placed(moving.after, moving.times[1])
        low, high = solid.surface.bounds.astype(np.float64)
        local, far = moving.after.inverse_apply(points), margin[:, None, None]
        inside = ((local > low - far) & (local < high + far)).all(axis=2) & ~found[:, None]
        row = np.nonzero(inside)[0]
        if len(row):
            distance = solid.distance(points[inside].astype(np.float32))
            found[row[distance < margin[row]]] = True
    return found
