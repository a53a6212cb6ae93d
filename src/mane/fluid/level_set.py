"""`LevelSet`: where a liquid is: a signed distance on cells, carried with the flow and made a distance again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.fluid import _kernels_level_set as kernels
from mane.fluid.grid import Float64Array, FloatArray, Grid
from mane.simd.f32x16 import WIDTH

BAND = float(kernels.BAND)
PASSES = 9  # of the distance: how many cells lie between the surface and a corner of the band, along the axes
REACH = 3  # [rows] that the surface may move within a step, and the band with it
EVERYWHERE: FloatArray = np.zeros((0, 0, 0), np.float32)  # room where no solid takes any

# Signed distance [m] of places (..., 3) [m] to the surface, negative in the liquid.
Shape = Callable[[Float64Array], NDArray[Any]]


class LevelSet:
    """A surface on a grid; all air at first.

    Attributes:
        phi: signed distance to the surface [cells], negative in the liquid, of the padded shape; plus or minus `BAND`
            where the surface is farther.
        near: chunks of sixteen cells of a row that the surface is near to, or will be after a step, 0 or 1.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.phi: FloatArray = np.full(grid.padded, BAND, np.float32)
        self._spare, self._begun = np.full_like(self.phi, BAND), np.full_like(self.phi, BAND)
        nx, ny, length = grid.padded
        self.near = np.zeros((nx, ny, length // WIDTH), np.int8)
        self._partial = np.zeros(grid.shape[0])

    def add(self, shape: Shape, bounds: Float64Array | None = None, room: FloatArray = EVERYWHERE) -> float:
        """Add liquid of a shape, given by its signed distance [m], within `bounds` (2, 3) [m] of all of it.

        Returns:
            The volume that was added [m^3]; `room` is as of `volume`.
        """
        window, given = self._sampled(shape, bounds)
        return self._replaced(window, np.minimum(self.grid.cells(self.phi)[window], given), room)

    def remove(self, shape: Shape, bounds: Float64Array | None = None, room: FloatArray = EVERYWHERE) -> float:
        """Take away what is in a shape, likewise."""
        window, given = self._sampled(shape, bounds)
        return -self._replaced(window, np.maximum(self.grid.cells(self.phi)[window], -given), room)

    def _replaced(self, window: tuple[slice, ...], then: FloatArray, room: FloatArray) -> float:
        """Put a level in a window of cells; return the volume that has come to it [m^3]."""
        cells = self.grid.cells(self.phi)[window]
        more = np.clip(0.5 - then, 0.0, 1.0) - np.clip(0.5 - cells, 0.0, 1.0)
        if len(room):
            more *= room[window]
        cells[...] = then
        self.refresh()
        return float(more.sum(dtype=np.float64)) * self.grid.cell**3

    def _sampled(self, shape: Shape, bounds: Float64Array | None) -> tuple[tuple[slice, ...], FloatArray]:
        """Window of cells that a shape may reach, and the distance of each to it [cells]."""
        grid, counts = self.grid, np.array(self.grid.shape)
        low, high = np.zeros(3, np.int64), counts
        if bounds is not None:
            placed = (np.asarray(bounds, np.float64) - grid.origin) / grid.cell
            low = np.clip(np.floor(placed[0] - BAND).astype(np.int64), 0, counts)
            high = np.clip(np.ceil(placed[1] + BAND).astype(np.int64), low, counts)
        axes = [o + grid.cell * (np.arange(a, b) + 0.5) for o, a, b in zip(grid.origin, low, high, strict=True)]
        centers = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        found = np.asarray(shape(centers), np.float64) / grid.cell
        if not np.isfinite(found).all():
            raise ValueError("water: the distance to its surface must be finite everywhere, and is not")
        window = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        return window, np.clip(found, -BAND, BAND).astype(np.float32)

    def refresh(self) -> None:
        """Find out which chunks the surface is near to."""
        kernels.find_near(self.phi, self.grid.shape, self.near)
        self.near[1:-1, 1:-1] = _widened(self.near[1:-1, 1:-1].view(np.bool_))

    def carry(self, velocity: FloatArray, scale: float) -> None:
        """Move the surface with a velocity (3, *padded) [m/s] for a step; `scale` is dt / cell [s/m]."""
        kernels.carry_level(self.phi, velocity, self.grid.shape, np.float32(scale), self.near, self._spare)
        self.phi, self._spare = self._spare, self.phi

    def redistance(self) -> None:
        """Make `phi` the distance to its own zero again, out to the band."""
        shape = self.grid.shape
        kernels.begin_distance(self.phi, shape, self.near, self._begun)
        self._spare[...] = self._begun
        np.copyto(self.phi, self._begun)
        for _ in range(PASSES):
            kernels.spread_distance(self._begun, self.phi, shape, self.near, self._spare)
            self.phi, self._spare = self._spare, self.phi
        self.refresh()

    def volume(self, room: FloatArray = EVERYWHERE) -> float:
        """Volume of the liquid [m^3]; `room` is the part of each cell that solids leave free, of the grid's shape."""
        kernels.sum_parts(self.phi, self.grid.shape, room, self._partial)
        return float(self._partial.sum()) * self.grid.cell**3

    def at(self, places: FloatArray) -> FloatArray:
        """Distance at places [cells from the lowest corner of the box], (N, 3), shape (N,); beyond the box its edge's.

        The rows around the box that `phi` is padded with hold nothing: what reads them takes every floor for air.
        """
        found = np.empty(len(places), np.float32)
        kernels.read_levels(self.phi, self.grid.shape, places, found)
        return found

    def restore(self, phi: FloatArray) -> None:
        """Go back to a level."""
        self.phi[...] = phi
        self._spare[...] = phi
        self.refresh()


def _widened(near: NDArray[np.bool_]) -> NDArray[np.int8]:
    """What is within REACH rows along x and y, or in the next chunk along z."""
    for axis, steps in ((0, REACH), (1, REACH), (2, 1)):
        wide = near.copy()
        rows, source = np.moveaxis(wide, axis, 0), np.moveaxis(near, axis, 0)
        for step in range(1, min(steps, len(rows) - 1) + 1):
            rows[step:] |= source[:-step]
            rows[:-step] |= source[step:]
        near = wide
    return near.astype(np.int8)
