"""`Spray`: water in drops and films that are too small for a level set, as particles that carry volume and fly freely.

A level set loses what is thinner than a cell. Markers of liquid that have ended up in the air show where: those become
drops, each with the volume that a marker stands for (as the removed particles of Guendelman, Selle, Losasso and Fedkiw
2005), as many as volume is missing. They fall, slide along walls, and come back to the water that they meet, or make
water again where enough of them lie together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.fluid.grid import OPEN, Float64Array, Grid

EDGE = 1e-3  # [cells] that drops keep from walls
FRICTION = 3.0  # [1/s] by which walls slow down what slides along them
MOST_BACK = 0.2  # of a cell's volume that drops may bring back within a substep


@dataclass(frozen=True, eq=False)
class Around:
    """What drops may hit.

    Attributes:
        distance: of the middle of every cell to the nearest solid [cells], of the grid's shape; None for no solids.
        normal: away from it, (..., 3).
    """

    distance: NDArray[np.float32] | None = None
    normal: NDArray[np.float32] | None = None


class Spray:
    """Drops in a box; none at first.

    Args:
        grid: of the flow.
        gravity: [m/s^2].

    Attributes:
        places: [cells from the lowest corner of the box], shape (N, 3).
        velocities: [m/s], shape (N, 3).
        volumes: [volume of a cell], shape (N,).
    """

    def __init__(self, grid: Grid, gravity: Float64Array) -> None:
        self.grid, self.gravity = grid, gravity
        self.places: Float64Array = np.zeros((0, 3))
        self.velocities: Float64Array = np.zeros((0, 3))
        self.volumes: Float64Array = np.zeros(0)

    def __len__(self) -> int:
        return len(self.volumes)

    def clear(self) -> None:
        """Let all drops go."""
        none = np.zeros(0, np.int64)
        self.places, self.velocities, self.volumes = self.places[none], self.velocities[none], self.volumes[none]

    @property
    def volume(self) -> float:
        """Of all drops [m^3]."""
        return float(self.volumes.sum()) * self.grid.cell**3

    @property
    def points(self) -> Float64Array:
        """Where the drops are [m], shape (N, 3)."""
        return self.grid.origin + self.grid.cell * self.places

    @property
    def cells(self) -> NDArray[np.int64]:
        """Of every drop, shape (N, 3)."""
        found: NDArray[np.int64] = np.clip(self.places.astype(np.int64), 0, np.array(self.grid.shape) - 1)
        return found

    @property
    def upright(self) -> int:
        """Axis that gravity is most along."""
        return int(np.argmax(np.abs(self.gravity)))

    @property
    def is_lying(self) -> NDArray[np.bool_]:
        """Which drops lie on the floor of the box, shape (N,)."""
        axis = self.upright
        along = self.places[:, axis]
        lying: NDArray[np.bool_] = (
            along <= 2.0 * EDGE if self.gravity[axis] < 0 else along >= self.grid.shape[axis] - 2.0 * EDGE
        )
        return lying

    def add(self, places: NDArray[Any], velocities: Float64Array, volume: float) -> None:
        """Add drops of one volume each [volume of a cell]."""
        self.places = np.concatenate([self.places, places.astype(np.float64)])
        self.velocities = np.concatenate([self.velocities, velocities])
        self.volumes = np.concatenate([self.volumes, np.full(len(places), volume)])

    def move(self, dt: float, around: Around) -> float:
        """Let drops fly and slide for a step; return the volume that has left through open sides [m^3]."""
        if not len(self):
            return 0.0
        self.velocities += dt * self.gravity
        self.places += dt / self.grid.cell * self.velocities
        slowed = np.exp(-FRICTION * dt)
        if around.distance is not None and around.normal is not None:
            at = tuple(self.cells.T)
            depth, normal = around.distance[at], around.normal[at].astype(np.float64)
            inside = depth < 0.0
            self.places[inside] -= depth[inside, None] * normal[inside]
            self._stop(inside, normal, slowed)
        shape, left = np.array(self.grid.shape, np.float64), np.zeros(len(self), np.bool_)
        for side, kind in enumerate(self.grid.kinds):
            axis, is_high = side // 2, side % 2
            along = self.places[:, axis]
            beyond = along > shape[axis] - EDGE if is_high else along < EDGE
            if kind == OPEN:
                left |= beyond
                continue
            normal = np.zeros((len(self), 3))
            normal[:, axis] = -1.0 if is_high else 1.0
            self._stop(beyond, normal, slowed)
            along[beyond] = shape[axis] - EDGE if is_high else EDGE
        return self.take(left) * self.grid.cell**3

    def _stop(self, which: NDArray[np.bool_], normal: Float64Array, slowed: float) -> None:
        """Take from drops at a wall what moves them into it, and some of what moves them along it."""
        into = np.minimum((self.velocities * normal).sum(axis=1), 0.0)
        stopped = slowed * (self.velocities - into[:, None] * normal)
        self.velocities[which] = stopped[which]

    def take(self, which: NDArray[np.bool_]) -> float:
        """Remove drops; return their volume [volume of a cell]."""
        volume = float(self.volumes[which].sum())
        self.places, self.velocities, self.volumes = (
            array[~which] for array in (self.places, self.velocities, self.volumes)
        )
        return volume

    def memory(self) -> dict[str, NDArray[Any]]:
        """Arrays that continue exactly."""
        return {name: getattr(self, name).copy() for name in ("places", "velocities", "volumes")}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.places, self.velocities, self.volumes = (
            memory[name].copy() for name in ("places", "velocities", "volumes")
        )


def rank_in_cell(cells: NDArray[np.int64], amounts: Float64Array) -> Float64Array:
    """What the drops before each in its cell amount to, shape (N,); `cells` are numbers."""
    order = np.argsort(cells, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(amounts[order])])
    first = np.searchsorted(cells[order], cells[order])
    found = np.empty(len(cells))
    found[order] = sums[:-1] - sums[first]
    return found
