"""`Water`: a liquid with a free surface in a box, under gravity, with what comes in and goes out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.fluid.flow import Drive, Exchange, Flow, FlowReport
from mane.fluid.grid import FloatArray, Grid
from mane.fluid.level_set import Shape
from mane.fluid.sources import Drain, Jet
from mane.fluid.surface import FreeSurface, SurfaceParams
from mane.fluid.walls import Moving
from mane.geometry.checks import require_finite, require_positive

GRAVITY = (0.0, -9.81, 0.0)
WATER_DENSITY = 998.0  # [kg/m^3], 20 degrees Celsius
WATER_VISCOSITY = 1.0e-3  # [Pa s], likewise
# Bytes of a cell in all arrays of a `FreeSurface` and in what a pressure with air has more; of a marker.
SURFACE_BYTES, MARKER_BYTES = 45, 17
SURFACE_SETTINGS = tuple(SurfaceParams.__dataclass_fields__)


class Water:
    """Water in a box; none at first, see `fill`.

    Args:
        grid: of the cells.
        gravity: [m/s^2].
        jets: that bring water in.
        drains: that take it away.
        settings: fields of `FlowParams` and `SurfaceParams`; walls slip, and a substep moves by at most two cells.

    Attributes:
        flow: velocities and pressure.
        surface: where the water is, and the account of its volume.
        lost: volume that the level set has lost or won in truth, over what there should be; after the last step.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        gravity: Sequence[float] = GRAVITY,
        jets: Sequence[Jet] = (),
        drains: Sequence[Drain] = (),
        **settings: Any,
    ) -> None:
        self.gravity = np.asarray(gravity, np.float64)
        require_finite("gravity", self.gravity)
        own = {name: settings.pop(name) for name in SURFACE_SETTINGS if name in settings}
        given = {
            "density": WATER_DENSITY, "viscosity": WATER_VISCOSITY, "wall": "slip", "largest_step": 2.0,
            "fastest": 100.0, **settings,
        }  # fmt: skip
        self.surface = FreeSurface(grid, gravity=self.gravity.tolist(), **own)
        self.flow = Flow(grid, surface=self.surface, **given)
        self.grid, self.jets, self.drains = grid, tuple(jets), tuple(drains)
        self._drives: list[Drive] = [self._pull_down]

    @property
    def bytes(self) -> int:
        """Memory that it takes now [bytes], markers included."""
        return (
            self.grid.bytes
            + SURFACE_BYTES * math.prod(self.grid.padded)
            + MARKER_BYTES * len(self.surface.markers.places)
        )

    @property
    def time(self) -> float:
        """That has passed [s]."""
        return self.flow.time

    @property
    def volume(self) -> float:
        """Of the water, drops included [m^3]."""
        return self.surface.volume + self.surface.spray.volume

    @property
    def lost(self) -> float:
        """Part of the volume that there should be and is not."""
        owned = self.surface.account["owned"]
        return self.surface.missing / owned if owned > 0.0 else 0.0

    @property
    def is_idle(self) -> bool:
        """Whether there is no water, and none comes in now."""
        surface = self.surface
        has_any = bool((self.grid.cells(surface.level.phi) < 0.0).any()) or len(surface.spray.points) > 0
        return not has_any and not self._open_jets()

    def drain_below(self, cells: float) -> None:
        """Let all water go where it fills less than so many cells."""
        if not self.is_idle and self.volume < cells * self.grid.cell**3:
            self.surface.remove(lambda points: np.full(points.shape[:-1], -self.grid.cell), self.grid.bounds)
            self.surface.spray.clear()
            self.surface.credit(-self.surface.account["owned"])

    def wait(self, dt: float) -> None:
        """Let time [s] go by while there is no water."""
        self.flow.velocity.fill(0.0)
        self.flow.time += dt

    def fill(self, shape: Shape, solids: Sequence[Moving] = ()) -> float:
        """Add water of a shape, given by its signed distance [m], but for what solids take; return its volume [m^3]."""
        self.flow.walls.update(solids, 1.0)
        self.flow.walls.forget()
        self.surface.see(self.flow.walls)
        return self.surface.add(shape)

    def step(
        self,
        dt: float,
        solids: Sequence[Moving] = (),
        *,
        drives: Sequence[Drive] = (),
        exchange: Exchange | None = None,
    ) -> FlowReport:
        """Go on by `dt` [s], with solids where they are at its end; raise FlowDiverged for velocities out of bounds."""
        require_positive("dt", dt)
        return self.flow.step(dt, solids, drives=[*self._drives, *drives], exchange=exchange, feeds=[self._feed])

    def _feed(self) -> None:
        """Let water in and out at the start of a substep."""
        for jet in self._open_jets():
            jet.fill(self.surface)
        for drain in self.drains:
            drain.empty(self.surface)

    def _pull_down(self, velocity: FloatArray, dt: float) -> None:
        for axis in range(3):
            if self.gravity[axis]:
                self.grid.faces(velocity[axis], axis)[...] += np.float32(dt * self.gravity[axis])
        for jet in self._open_jets():
            jet.drive(self.grid, velocity)

    def _open_jets(self) -> list[Jet]:
        return [jet for jet in self.jets if jet.is_open(self.time)]

    def memory(self) -> dict[str, NDArray[Any]]:
        """Arrays that continue exactly."""
        return self.flow.memory()

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.flow.restore(memory)
