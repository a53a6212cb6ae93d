"""`Markers`: particles on both sides of a surface that remember where it is (Enright, Fedkiw, Ferziger, Mitchell 2002).

A level set forgets what is thinner than a cell. Markers are carried with the flow, exactly as far as its velocities are
known; one that turns up on the wrong side of the surface by more than its radius shows that the level is wrong there,
and rebuilds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.fluid import _kernels_markers as kernels
from mane.fluid.grid import Float64Array, FloatArray
from mane.fluid.level_set import LevelSet

DEPTH = 3.0  # [cells] from the surface within which markers are
SMALLEST, LARGEST = float(kernels.SMALLEST), float(kernels.LARGEST)
CROWDED = 2  # times as many markers in a cell as wanted, from which on they are thinned out


class Markers:
    """Particles beside a surface; none at first.

    Args:
        level: the surface.
        per_cell: markers in every cell near it; 64 in the paper.
        seed: of where they are.

    Attributes:
        places: [cells from the lowest corner of the box], shape (N, 3).
        signs: 1 for markers of air, -1 of liquid, shape (N,).
        radii: [cells], shape (N,).
    """

    def __init__(self, level: LevelSet, per_cell: int = 16, seed: int = 0) -> None:
        if per_cell < 0:
            raise ValueError(f"per_cell: must be at least zero, got {per_cell}")
        self.level, self.per_cell, self.seed = level, per_cell, seed
        self.places: FloatArray = np.zeros((0, 3), np.float32)
        self.signs: NDArray[np.int8] = np.zeros(0, np.int8)
        self.radii: FloatArray = np.zeros(0, np.float32)
        self._rounds = 0
        self._plus, self._minus = np.empty_like(level.phi), np.empty_like(level.phi)

    def move(self, velocity: FloatArray, scale: float) -> None:
        """Move with a velocity (3, *padded) [m/s] for a step; `scale` is dt / cell [s/m]."""
        kernels.move_markers(self.places, velocity, self.level.grid.shape, np.float32(scale))

    def correct(self) -> int:
        """Let escaped markers rebuild the level; return how many there are."""
        escaped = np.flatnonzero(self._own_levels() < -self.radii)
        if len(escaped):
            phi = self.level.phi
            np.copyto(self._plus, phi)
            np.copyto(self._minus, phi)
            kernels.correct_level(
                escaped, self.places, self.signs, self.radii, self.level.grid.shape, self._plus, self._minus, phi
            )
        return len(escaped)

    def forget(self, bounds: Float64Array | None = None) -> None:
        """Drop markers on the wrong side within `bounds` (2, 3) [m]: liquid was put there or taken away."""
        there = np.arange(len(self.places))
        if bounds is not None:
            grid = self.level.grid
            low, high = (np.asarray(bounds, np.float64) - grid.origin) / grid.cell
            for axis in range(3):
                along = self.places[there, axis]
                there = there[(along > low[axis] - 1.0) & (along < high[axis] + 1.0)]
        self._drop(there[self._own_levels(there) < 0.0])

    def take_lost(self, count: int) -> FloatArray:
        """Remove markers of liquid that have escaped into the air, those farthest from the liquid first.

        Returns:
            Their places, at most `count` of them, shape (K, 3).
        """
        levels = self._own_levels()
        alone = np.flatnonzero((levels < -SMALLEST) & (self.signs < 0))
        taken = alone[np.argsort(levels[alone], kind="stable")[:count]]
        places = self.places[taken]
        self._drop(taken)
        return places

    def add_liquid(self, places: NDArray[Any]) -> None:
        """Add markers of liquid, shape (K, 3)."""
        self.places = np.concatenate([self.places, places.astype(np.float32)])
        self.signs = np.concatenate([self.signs, np.full(len(places), -1, np.int8)])
        self.radii = np.concatenate([self.radii, np.full(len(places), SMALLEST, np.float32)])

    def fit_radii(self) -> None:
        """Let markers touch the surface, as far as they may."""
        np.clip(self._own_levels(), SMALLEST, LARGEST, out=self.radii)

    def reseed(self) -> None:
        """Drop markers that are far from the surface or too many, and fill cells beside it that have too few."""
        shape = np.array(self.level.grid.shape)
        self._drop(np.flatnonzero(self._own_levels() >= DEPTH))
        self._thin_out()
        counts = np.bincount(self._cells(), minlength=int(shape.prod()))
        phi = self.level.grid.cells(self.level.phi).reshape(-1)
        lacking = np.where(np.abs(phi) < DEPTH, np.maximum(self.per_cell - counts, 0), 0)
        # a few less are left alone: to fill up every cell in every round would crowd the slow ones
        lacking[lacking < self.per_cell // 2] = 0
        homes = np.repeat(np.arange(len(phi)), lacking)
        rng = np.random.default_rng((self.seed, self._rounds))
        corner = np.stack(np.unravel_index(homes, shape.tolist()), axis=1)
        places = (corner + rng.uniform(1e-3, 1 - 1e-3, (len(homes), 3))).astype(np.float32)
        found = self.level.at(places)
        self.places = np.concatenate([self.places, places])
        self.signs = np.concatenate([self.signs, np.where(found < 0, -1, 1).astype(np.int8)])
        self.radii = np.concatenate([self.radii, np.clip(np.abs(found), SMALLEST, LARGEST)])
        self._sort()
        self._rounds += 1

    def _thin_out(self) -> None:
        """Drop markers of crowded cells, but for those that have escaped or are closest to the surface."""
        cell, most = self._cells(), CROWDED * self.per_cell
        crowd = np.flatnonzero((np.bincount(cell) > most)[cell])
        order = crowd[np.lexsort((self._own_levels(crowd), cell[crowd]))]
        ranked = cell[order]
        self._drop(order[np.arange(len(order)) - np.searchsorted(ranked, ranked) >= most])

    def _sort(self) -> None:
        """Put markers in the order of their cells, so that neighbours lie together in memory."""
        cell = self._cells()
        starts = np.concatenate([[0], np.cumsum(np.bincount(cell))])
        order = np.empty(len(cell), np.int64)
        kernels.sort_by_cell(cell, starts, order)
        self._keep(order)

    def _own_levels(self, which: NDArray[np.int64] | None = None) -> FloatArray:
        """How deep markers are on their own side [cells]: all of them, shape (N,), or those that are named."""
        places, signs = (self.places, self.signs) if which is None else (self.places[which], self.signs[which])
        found = self.level.at(places)
        found *= signs
        return found

    def _cells(self) -> NDArray[np.int64]:
        """Number of the cell of every marker, shape (N,)."""
        _, ny, nz = self.level.grid.shape
        at = self.places.astype(np.int64)
        number: NDArray[np.int64] = (at[:, 0] * ny + at[:, 1]) * nz + at[:, 2]
        return number

    def _drop(self, which: NDArray[np.int64]) -> None:
        if len(which):
            is_kept = np.ones(len(self.places), np.bool_)
            is_kept[which] = False
            self._keep(np.flatnonzero(is_kept))

    def _keep(self, which: NDArray[np.int64]) -> None:
        # `take` copies rows, where an index in brackets goes number by number
        self.places = self.places.take(which, axis=0)
        self.signs, self.radii = self.signs.take(which), self.radii.take(which)

    def memory(self) -> dict[str, NDArray[Any]]:
        """Arrays that continue exactly."""
        return {
            "places": self.places.copy(), "signs": self.signs.copy(), "radii": self.radii.copy(),
            "rounds": np.array(self._rounds),
        }  # fmt: skip

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.places, self.signs, self.radii = (memory[name].copy() for name in ("places", "signs", "radii"))
        self._rounds = int(memory["rounds"])
