"""`FreeSurface`: the surface of a liquid for a `Flow`: a particle level set, and an account of its volume.

The air above is nothing but a pressure of zero. The surface is carried before velocities are, pressure is solved for in
the liquid alone, with the surface where it is between two cells (ghost fluid), and the velocities of the liquid are
continued into the air around it, which is what carries the surface in the next step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.fluid import _kernels_level_set as kernels
from mane.fluid import _kernels_sample as sampling
from mane.fluid.grid import OPEN, Float64Array, FloatArray, Grid
from mane.fluid.level_set import BAND, EVERYWHERE, LevelSet, Shape
from mane.fluid.markers import Markers
from mane.fluid.spray import MOST_BACK, Around, Spray, rank_in_cell
from mane.fluid.walls import Walls
from mane.geometry.checks import require_positive

SLOW = 0.003  # part of the volume that may be missing before drops are made: that little is made up for everywhere
PUDDLE = 0.6  # of a cell's volume that drops in it need to be water again
LEAST_PART = np.float32(0.01)  # of the way from a cell to the surface: nearer ones would spoil the matrix
SHALLOW = np.float32(1.5)  # [cells] under the surface within which what is carried may have come from the air
LAYERS = 6  # of faces in the air that velocities are continued to
WITHIN_SOLIDS = 3.0  # [cells] below a wall that the level is continued to
LARGEST_EXPANSION = 0.1  # of the volume at most that is made up for within a substep
DEPTHS = (0.125, 0.375, 0.625, 0.875)  # of the way that a substep goes, where what leaves through a side is looked for


@dataclass(frozen=True)
class SurfaceParams:
    """Settings of a free surface.

    Attributes:
        tension: of the surface [N/m]; 0.072 for water, 0 for none.
        markers: particles in every cell beside the surface; 0 for a plain level set, 64 in Enright's paper.
        reseeding: steps after which markers are dropped and added.
        regain: substeps within which volume that the level set has lost or won is made up for; 0 for never, and for
            no drops.
        seed: of the markers.
    """

    tension: float = 0.0
    markers: int = 16
    reseeding: int = 10
    regain: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        require_positive("reseeding", self.reseeding)
        for name in ("tension", "markers", "regain"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}: must be at least zero, got {getattr(self, name)}")
        if 0.0 < self.regain < 1.0:
            raise ValueError(f"regain: must be 0 or at least 1 substep, got {self.regain}")


class FreeSurface:
    """The surface of the liquid on a grid; no liquid at first.

    Args:
        grid: of the flow.
        gravity: [m/s^2], by which drops fall.
        settings: fields of `SurfaceParams`.

    Attributes:
        level: where the liquid is.
        markers: beside the surface.
        spray: drops and films that are too small for the level.
        account: volumes [m^3]: "owned" is what there should be, "added" by sources, "removed" by drains and
            absorption, "left" through open sides; "regained" is what the flow was told to make up for, losses less
            gains: how much of the water is where the method has put it, not where it flowed.
        room: part of every cell that solids leave, of the grid's shape; empty where there are none.
        escaped: markers that have rebuilt the level in the last step.
    """

    def __init__(self, grid: Grid, *, gravity: Sequence[float] = (0.0, 0.0, 0.0), **settings: Any) -> None:
        self.grid, self.params = grid, SurfaceParams(**settings)
        self.spray = Spray(grid, np.asarray(gravity, np.float64))
        self.level = LevelSet(grid)
        self.markers = Markers(self.level, self.params.markers, self.params.seed)
        self.account = dict.fromkeys(("owned", "added", "removed", "left", "regained"), 0.0)
        self.escaped = 0
        self.is_wet = np.zeros((3, *grid.padded), np.bool_)
        self.to_air: FloatArray = np.ones((3, *grid.padded), np.float32)
        self._steps = 0
        self._drift = 0.0  # part of the volume that substeps have been winning lately, negative
        self.room: FloatArray = EVERYWHERE
        self._is_shut = np.zeros(grid.shape, np.bool_)  # cells without an open face, which no pressure moves
        self._around = Around()
        self._returned: tuple[NDArray[np.int64], Float64Array] = (np.zeros((0, 3), np.int64), np.zeros(0))
        self._behind = np.zeros((0, 3), np.int64)  # cells behind walls, and where the liquid before them is
        self._before = np.zeros((0, 3), np.float32)
        self._reach: FloatArray = np.zeros(0, np.float32)
        self._inner = np.zeros(0, np.int64)  # faces just within solids, flat; where they are [cells], and normals there
        self._inner_places: Float64Array = np.zeros((0, 3))
        self._inner_normals: Float64Array = np.zeros((0, 3))

    # -- liquid that comes and goes ------------------------------------------------------------------------------------

    @property
    def volume(self) -> float:
        """Of the liquid as the level has it, without drops [m^3]."""
        return self.level.volume(self.room)

    @property
    def missing(self) -> float:
        """Volume that there should be and is neither in the level nor in drops [m^3]."""
        return self.account["owned"] - self.spray.volume - self.volume

    def add(self, shape: Shape, bounds: Float64Array | None = None) -> float:
        """Fill a shape, given by its signed distance [m], within `bounds` (2, 3); return what was added [m^3]."""
        return self._changed(self.level.add, shape, bounds, "added")

    def remove(self, shape: Shape, bounds: Float64Array | None = None) -> float:
        """Empty a shape, likewise; return what was removed [m^3]."""
        return self._changed(self.level.remove, shape, bounds, "removed")

    def _changed(self, change: Any, shape: Shape, bounds: Float64Array | None, name: str) -> float:
        amount = max(0.0, float(change(shape, bounds, self.room)))
        self.markers.forget(bounds)
        self.account[name] += amount
        self.account["owned"] += amount if name == "added" else -amount
        return amount

    def credit(self, volume: float) -> None:
        """Add to what there should be [m^3], which the flow makes up for; negative where hair has taken it."""
        self.account["added" if volume > 0 else "removed"] += abs(volume)
        self.account["owned"] += volume

    # -- what a flow asks for ------------------------------------------------------------------------------------------

    def see(self, walls: Walls) -> None:
        """Take over where solids are: what they leave free, and the cells behind them."""
        if not walls.has_solids:
            self.room, self._around = EVERYWHERE, Around()
            self._is_shut.fill(False)
            self._behind, self._inner = self._behind[:0], self._inner[:0]
            return
        distance, normal = walls.in_cells()
        self._around = Around(distance, normal)
        self.room = walls.room_in_cells()
        self._is_shut = walls.shut_cells()
        self._behind = np.argwhere((distance < 0.0) & (distance > -WITHIN_SOLIDS))
        at = tuple(self._behind.T)
        self._reach = 1.0 - distance[at]
        self._before = (self._behind + 0.5 + self._reach[:, None] * normal[at]).astype(np.float32)
        self._inner = walls.covered[walls.middle.reshape(-1)[walls.covered] > -WITHIN_SOLIDS]
        axis, *rows = np.unravel_index(self._inner, walls.middle.shape)
        corner = np.stack(rows, axis=1) - (1, 1, 0)
        self._inner_places = corner.astype(np.float64) + np.where(np.arange(3) == axis[:, None], 0.0, 0.5)
        self._inner_normals = normal[tuple(np.minimum(corner, np.array(self.grid.shape) - 1).T)].astype(np.float64)

    def carry(self, velocity: FloatArray, scale: float) -> None:
        """Move the surface; `scale` is dt / cell [s/m]."""
        if self._steps % self.params.reseeding == 0 and self.params.markers:
            self.markers.reseed()
        self._steps += 1
        has_markers = len(self.markers.places) > 0
        self.level.carry(velocity, scale)
        if has_markers:
            self.markers.move(velocity, scale)
            self.escaped = self.markers.correct()
        self._continue_behind_walls()
        self.level.redistance()
        if has_markers:
            self.markers.correct()
            self.markers.fit_radii()
            self._shed(velocity)
        self._count_left(self.spray.move(scale * self.grid.cell, self._around))
        self._rejoin(velocity)
        self.level.refresh()

    def _shed(self, velocity: FloatArray) -> None:
        """Make drops of markers of liquid that are in the air, as long as volume is missing."""
        fast = self.missing - SLOW * self.account["owned"]
        amount = fast / self.grid.cell**3 * self.params.markers
        if amount < 1.0 or not self.params.regain:
            return
        places = self.markers.take_lost(int(amount)).astype(np.float64)
        found = np.empty((len(places), 3))
        sampling.gather(velocity, np.array(self.grid.shape), places, found)
        self.spray.add(places, found, 1.0 / self.params.markers)

    def _rejoin(self, velocity: FloatArray) -> None:
        """Give drops back to the liquid that they are in, and make liquid of those that fill a cell among them."""
        spray, phi = self.spray, self.grid.cells(self.level.phi)
        self._returned = self._returned[0][:0], self._returned[1][:0]
        if not len(spray):
            return
        cells = spray.cells
        at = tuple(cells.T)
        number = np.ravel_multi_index(at, self.grid.shape)
        before, is_liquid = rank_in_cell(number, spray.volumes), phi[at] < 0.0
        # What is shut in stays a drop: its cell has no place in the equation of the pressure, which makes room for it.
        room = np.where(self._is_shut[at], 0.0, self.room[at] if len(self.room) else 1.0)
        back = is_liquid & (before < MOST_BACK * room)
        full = np.bincount(number, spray.volumes)[number] >= PUDDLE
        again = ~is_liquid & full & (before < PUDDLE) & (room > 0.0)
        self._returned = cells[back], spray.volumes[back]
        homes, owner = np.unique(number[again], return_inverse=True)
        sums = [np.bincount(owner, along, len(homes)) for along in spray.velocities[again].T]
        means = np.stack(sums, axis=1) / np.maximum(np.bincount(owner, minlength=len(homes)), 1)[:, None]
        for home, mean in zip(np.stack(np.unravel_index(homes, self.grid.shape), axis=1), means, strict=True):
            phi[tuple(home)] = 0.5 - PUDDLE
            for axis in range(3):
                for step in (0, 1):
                    self.grid.faces(velocity[axis], axis)[tuple(home + step * (np.arange(3) == axis))] = mean[axis]
        self.markers.add_liquid(spray.places[back | again])
        spray.take(back | again)

    def returned(self, dt: float) -> tuple[NDArray[np.int64], Float64Array]:
        """Cells that drops came back to in this substep, (N, 3), and the divergence that makes room for each [1/s]."""
        return self._returned[0], self._returned[1] / dt

    def _continue_behind_walls(self) -> None:
        """Keep the level behind walls within what a distance may differ by from where the liquid is before them."""
        if not len(self._behind):
            return
        before = self.level.at(self._before)
        at = self._behind[:, 0] + 1, self._behind[:, 1] + 1, self._behind[:, 2]
        found = np.clip(self.level.phi[at], before - self._reach, before + self._reach)
        self.level.phi[at] = np.clip(found, -BAND, BAND)

    @property
    def is_liquid(self) -> NDArray[np.uint8]:
        """Cells of liquid, of the padded shape."""
        liquid: NDArray[np.uint8] = (self.level.phi < 0.0).view(np.uint8)
        return liquid

    def meet_air(self) -> None:
        """Find the faces of the liquid, and how near the air is behind each: `to_air`, one over the way, or 1."""
        kernels.open_to_air(
            self.level.phi, self.grid.shape, self.level.near, LEAST_PART, self.to_air, self.is_wet
        )  # fmt: skip

    def spare(self, axis: int, ranges: FloatArray) -> None:
        """Let `_kernels_advect.correct` leave faces across an axis as they are where they are at the surface.

        `ranges` are (2, size). What is in the air there is a guess, and a correction by a guess makes waves as short
        as a cell that nothing calms: the surface would boil.
        """
        low = ranges[0].reshape(self.grid.padded)
        kernels.mark_shallow_faces(
            self.level.phi, self.grid.shape, axis, self.level.near, SHALLOW, np.float32(np.inf), low
        )

    def pull(self, velocity: FloatArray, walls: Walls, density: float, dt: float) -> None:
        """Add what surface tension does in a step."""
        if self.params.tension:
            strength = self.params.tension * dt / (density * self.grid.cell**2)
            kernels.add_tension(
                self.level.phi, self.grid.shape, np.float32(strength), LEAST_PART, walls.open_part, velocity
            )

    def longest_step(self, density: float) -> float:
        """Beyond which the shortest capillary waves would grow [s] (Brackbill, Kothe and Zemach 1992)."""
        if not self.params.tension:
            return float("inf")
        return float(np.sqrt(density * self.grid.cell**3 / (4.0 * np.pi * self.params.tension)))

    def expansion(self, dt: float) -> float:
        """Divergence of the liquid that brings its volume to what it should be [1/s] (Kim and others 2007).

        A controller with a proportional and an integral part, critically damped, counted in substeps of dt [s], since
        that is what volume changes by. The integral part is for what substeps win as long as water is poured, which is
        air that it has swallowed; what they lose is drops, and no part of a trend.
        """
        volume = self.volume
        if not (self.params.regain and volume > 0.0):
            return 0.0
        gain = 1.0 / self.params.regain
        error = (self.account["owned"] - self.spray.volume - volume) / volume
        drift = min(self._drift + 0.25 * gain**2 * error, 0.0)
        part = float(np.clip(gain * error + drift, -LARGEST_EXPANSION, LARGEST_EXPANSION))
        if abs(part) < LARGEST_EXPANSION:  # else it would go on to sum up what cannot be had
            self._drift = drift
        self.account["regained"] += part * volume
        return part / dt

    def extend(self, velocity: FloatArray, walls: Walls, *, holds: bool) -> None:
        """Continue velocities of the liquid into the air and, where walls do not hold it, into solids."""
        unknown, flat = ~(self.is_wet & (walls.open_part > 0.0)).reshape(-1), velocity.reshape(-1)
        if holds and len(walls.covered):
            unknown[walls.covered] = False
            flat[walls.covered] = walls.velocity.reshape(-1)[walls.covered]
        np.copyto(flat, 0.0, where=unknown)
        then = unknown.copy()
        rows = self.grid.padded[2], self.grid.padded[1] * self.grid.padded[2]
        for _ in range(LAYERS):
            kernels.extend_layer(
                flat, unknown.view(np.int8), self.grid.shape, rows, self.level.near, then.view(np.int8)
            )
            np.copyto(unknown, then)
        if not holds:
            self._hold_back(velocity, walls)

    def _hold_back(self, velocity: FloatArray, walls: Walls) -> None:
        """Take from velocities that were continued into solids what would carry the surface through their walls."""
        if not len(self._inner):
            return
        shape, places, normals = np.array(self.grid.shape), self._inner_places, self._inner_normals
        moved, wall = np.empty((len(places), 3)), np.empty((len(places), 3))
        sampling.gather(velocity, shape, places, moved)
        sampling.gather(walls.velocity, shape, places, wall)
        through = ((moved - wall) * normals).sum(axis=1)
        axis = self._inner // (velocity.size // 3)
        velocity.reshape(-1)[self._inner] -= (through * normals[np.arange(len(axis)), axis]).astype(np.float32)

    def count_sides(self, velocity: FloatArray, walls: Walls, dt: float) -> None:
        """Account for what leaves or comes in through open sides in a step.

        What leaves is what lies within the way that the flow at a side goes; beyond a side there is what is at it.
        """
        grid = self.grid
        wet = np.clip(0.5 - grid.cells(self.level.phi), 0.0, 1.0)
        for side, kind in enumerate(grid.kinds):
            if kind != OPEN:
                continue
            axis, is_high = side // 2, side % 2
            at = -1 if is_high else 0
            moved, part = (
                np.moveaxis(grid.faces(faces[axis], axis), axis, 0)[at] for faces in (velocity, walls.open_part)
            )
            outwards = moved.astype(np.float64) * (dt / grid.cell) * (1.0 if is_high else -1.0)
            rows = np.moveaxis(wet, axis, 0)
            out = float((outwards * part * _swept(rows[::-1] if is_high else rows, outwards)).sum()) * grid.cell**3
            self._count_left(out)

    def _count_left(self, volume: float) -> None:
        self.account["left"] += volume
        self.account["owned"] -= volume

    # -- what continues a run ------------------------------------------------------------------------------------------

    def at(self, points: Float64Array) -> Float64Array:
        """Signed distance to the surface [m] of points (Q, 3) [m], as far as the band; negative in the liquid."""
        places = ((points - self.grid.origin) / self.grid.cell).astype(np.float32)
        return self.grid.cell * self.level.at(places).astype(np.float64)

    def memory(self) -> dict[str, NDArray[Any]]:
        """Arrays that continue exactly."""
        return {
            "phi": self.level.phi.copy(),
            "account": np.array(list(self.account.values())),
            "steps": np.array(self._steps),
            "drift": np.array(self._drift),
            **{f"markers.{name}": array for name, array in self.markers.memory().items()},
            **{f"spray.{name}": array for name, array in self.spray.memory().items()},
        }

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.level.restore(memory["phi"])
        self.account = dict(zip(self.account, memory["account"].tolist(), strict=True))
        self._steps, self._drift = int(memory["steps"]), float(memory["drift"])
        self.markers.restore({name[8:]: array for name, array in memory.items() if name.startswith("markers.")})
        self.spray.restore({name[6:]: array for name, array in memory.items() if name.startswith("spray.")})


def _swept(rows: NDArray[Any], outwards: Float64Array) -> Float64Array:
    """Mean of what rows of cells (N, ...) from a side inwards hold within the way that leaves through it [cells]."""
    total = np.zeros(outwards.shape)
    for part in DEPTHS:
        depth = np.clip(part * outwards - 0.5, 0.0, len(rows) - 1.0)
        row = np.minimum(depth.astype(np.int64), max(len(rows) - 2, 0))
        low, high = (np.take_along_axis(rows, np.minimum(row + step, len(rows) - 1)[None], 0)[0] for step in (0, 1))
        total += low + (depth - row) * (high - low)
    return total / len(DEPTHS)
