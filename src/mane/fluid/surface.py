"""`FreeSurface`: the surface of a liquid for a `Flow`: a particle level set, and an account of its volume.

The air above is nothing but a pressure of zero. The surface is carried before velocities are, pressure is solved for in
the liquid alone, with the surface where it is between two cells (ghost fluid), and the velocities of the liquid are
continued into the air around it, which is what carries the surface in the next step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.fluid import _kernels_level_set as kernels
from mane.fluid import _kernels_sample as sampling
from mane.fluid.grid import OPEN, Float64Array, FloatArray, Grid
from mane.fluid.level_set import BAND, LevelSet, Shape
from mane.fluid.markers import Markers
from mane.fluid.walls import Walls
from mane.geometry.checks import require_positive

LEAST_PART = np.float32(0.01)  # of the way from a cell to the surface: nearer ones would spoil the matrix
LAYERS = 6  # of faces in the air that velocities are continued to
WITHIN_SOLIDS = 3.0  # [cells] below a wall that the level is continued to
FASTEST_EXPANSION = 2.0  # [1/s] at most by which lost volume is made up for


@dataclass(frozen=True)
class SurfaceParams:
    """Settings of a free surface.

    Attributes:
        tension: of the surface [N/m]; 0.072 for water, 0 for none.
        markers: particles in every cell beside the surface; 0 for a plain level set, 64 in Enright's paper.
        reseeding: steps after which markers are dropped and added.
        regain: time within which volume that the level set has lost or won is made up for [s]; 0 for never.
        seed: of the markers.
    """

    tension: float = 0.0
    markers: int = 16
    reseeding: int = 10
    regain: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        require_positive("reseeding", self.reseeding)
        for name in ("tension", "markers", "regain"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}: must be at least zero, got {getattr(self, name)}")


class FreeSurface:
    """The surface of the liquid on a grid; no liquid at first.

    Args:
        grid: of the flow.
        settings: fields of `SurfaceParams`.

    Attributes:
        level: where the liquid is.
        markers: beside the surface.
        account: volumes [m^3]: "owned" is what there should be, "added" by sources, "removed" by drains and
            absorption, "left" through open sides.
        escaped: markers that have rebuilt the level in the last step.
    """

    def __init__(self, grid: Grid, **settings: Any) -> None:
        self.grid, self.params = grid, SurfaceParams(**settings)
        self.level = LevelSet(grid)
        self.markers = Markers(self.level, self.params.markers, self.params.seed)
        self.account = dict.fromkeys(("owned", "added", "removed", "left"), 0.0)
        self.escaped = 0
        self.is_wet = np.zeros((3, *grid.padded), np.bool_)
        self.to_air: FloatArray = np.ones((3, *grid.padded), np.float32)
        self._steps = 0
        self._room: FloatArray | None = None
        self._behind = np.zeros((0, 3), np.int64)  # cells behind walls, and where the liquid before them is
        self._before = np.zeros((0, 3), np.float32)
        self._reach: FloatArray = np.zeros(0, np.float32)

    # -- liquid that comes and goes ------------------------------------------------------------------------------------

    @property
    def volume(self) -> float:
        """Of the liquid as the level has it [m^3]."""
        return self.level.volume(self._room)

    def add(self, shape: Shape, bounds: Float64Array | None = None) -> float:
        """Fill a shape, given by its signed distance [m], within `bounds` (2, 3); return what was added [m^3]."""
        return self._changed(self.level.add, shape, bounds, "added")

    def remove(self, shape: Shape, bounds: Float64Array | None = None) -> float:
        """Empty a shape, likewise; return what was removed [m^3]."""
        return self._changed(self.level.remove, shape, bounds, "removed")

    def _changed(self, change: Any, shape: Shape, bounds: Float64Array | None, name: str) -> float:
        before = self.volume
        change(shape, bounds)
        self.markers.forget(bounds)
        amount = abs(self.volume - before)
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
            self._room = None
            self._behind = self._behind[:0]
            return
        distance, normal = walls.in_cells()
        self._room = np.clip(0.5 + distance, 0.0, 1.0).astype(np.float32)
        self._behind = np.argwhere((distance < 0.0) & (distance > -WITHIN_SOLIDS))
        at = tuple(self._behind.T)
        self._reach = 1.0 - distance[at]
        self._before = (self._behind + 0.5 + self._reach[:, None] * normal[at]).astype(np.float32)

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
        self.level.refresh()

    def _continue_behind_walls(self) -> None:
        """Keep the level behind walls within what a distance may differ by from where the liquid is before them."""
        if not len(self._behind):
            return
        before = np.empty(len(self._before))
        sampling.read_cells(self.level.phi, np.array(self.grid.shape), self._before, before)
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
        self.to_air.fill(1.0)
        kernels.open_to_air(self.level.phi, self.grid.shape, LEAST_PART, self.to_air, self.is_wet)

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

    def expansion(self) -> float:
        """Divergence of the liquid that brings its volume to what it should be [1/s] (Kim and others 2007)."""
        volume = self.volume
        if not (self.params.regain and volume > 0.0):
            return 0.0
        rate = (self.account["owned"] / volume - 1.0) / self.params.regain
        return float(np.clip(rate, -FASTEST_EXPANSION, FASTEST_EXPANSION))

    def extend(self, velocity: FloatArray, walls: Walls, *, holds: bool) -> None:
        """Continue velocities of the liquid into the air and, where walls do not hold it, into solids."""
        known = (self.is_wet & (walls.open_part > 0.0)).astype(np.int8)
        if holds and len(walls.covered):
            known.reshape(-1)[walls.covered] = 1
            velocity.reshape(-1)[walls.covered] = walls.velocity.reshape(-1)[walls.covered]
        velocity *= known
        then = known.copy()
        for _ in range(LAYERS):
            kernels.extend_layer(velocity, known, self.grid.shape, self.level.near, then)
            known, then = then, known

    def count_sides(self, velocity: FloatArray, dt: float) -> None:
        """Account for what leaves or comes in through open sides in a step."""
        grid = self.grid
        wet = np.clip(0.5 - grid.cells(self.level.phi), 0.0, 1.0)
        for side, kind in enumerate(grid.kinds):
            if kind != OPEN:
                continue
            axis, at = side // 2, -1 if side % 2 else 0
            flow = np.moveaxis(grid.faces(velocity[axis], axis), axis, 0)[at].astype(np.float64)
            out = float((flow * np.moveaxis(wet, axis, 0)[at]).sum()) * (1.0 if side % 2 else -1.0)
            out *= grid.cell**2 * dt
            self.account["left"] += out
            self.account["owned"] -= out

    # -- what continues a run ------------------------------------------------------------------------------------------

    def at(self, points: Float64Array) -> Float64Array:
        """Signed distance to the surface [m] of points (Q, 3) [m], as far as the band; negative in the liquid."""
        found = np.empty(len(points))
        sampling.read_cells(
            self.level.phi, np.array(self.grid.shape), (points - self.grid.origin) / self.grid.cell, found
        )
        return self.grid.cell * found

    def memory(self) -> dict[str, NDArray[Any]]:
        """Arrays that continue exactly."""
        return {
            "phi": self.level.phi.copy(),
            "account": np.array(list(self.account.values())),
            "steps": np.array(self._steps),
            **{f"markers.{name}": array for name, array in self.markers.memory().items()},
        }

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.level.restore(memory["phi"])
        self.account = dict(zip(self.account, memory["account"].tolist(), strict=True))
        self._steps = int(memory["steps"])
        self.markers.restore({name[8:]: array for name, array in memory.items() if name.startswith("markers.")})
