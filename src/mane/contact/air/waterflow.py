"""`Waterflow`: guides in water that moves them and that they slow down (lee2018 3.4, fig. 4).

The exchange is that of the air (`Airflow`): both sides implicit, the hair kinematic within the step of the water and
what that misses paid in the next. Only what is under water takes part. Water carries what it is displaced by, so that
hair is lifted by the weight of as much water and the water is pushed down by the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.body.motion import Pose
from mane.contact.air.airflow import HAIRS, Airflow, symmetric_times
from mane.contact.air.porous import fibre_volumes
from mane.fluid import _kernels_sample as kernels
from mane.fluid.drop_mesh import NO_DROPS, water_mesh
from mane.fluid.flow import Exchange, Flow, FlowReport
from mane.fluid.grid import FloatArray, Grid
from mane.fluid.water import Water
from mane.fluid.wet_hair import WetHair
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Load, Part, StrandView
from mane.strand.variation import Varying

ROUNDING = 1e-6  # of the interval


class Waterflow(Airflow):
    """Drag and buoyancy in water that feels the hair.

    Args:
        water: that the hair is in; stepped with the guides from now on.
        hairs: that all guides together stand for.
        scale: factor on the drag of a single hair, any `Varying`.
        triangles: whether hair is felt between guides too, on the triangles that neighbours span.
        fibres: as in `Airflow`.
        guides: whose painted maps `scale` may name.
        feels_hair: whether the water feels the hair; False for water first and hair after (lee2018 3.3).
        interval: least length of a step of the water [s]. Hair in shorter steps feels it as it was after its last one,
            and the water is told the sum; 0 for the steps of the hair.

    Attributes:
        water: as given.
        immersion: part of every vertex that is under water, shape (G, V).
        wet: water that the hair holds, where it holds any; `WetGuides` says which.
        impulse: that all hair got in the last step [N s], shape (3,).
        is_in_frames: whether frames get the surface, which takes time; off where somebody asks for it now and then.
    """

    name = "waterflow"
    label = "water"

    def __init__(
        self,
        water: Water,
        *,
        hairs: float = HAIRS,
        scale: Varying = 1.0,
        triangles: bool = True,
        fibres: str = "jackson_james",
        guides: Guides | Groom | None = None,
        feels_hair: bool = True,
        interval: float = 0.0,
    ) -> None:
        if not 0.0 <= interval < math.inf:
            raise ValueError(f"interval: must be a time of at least 0 s, got {interval}")
        params = water.flow.params
        super().__init__(
            cell=water.grid.cell, hairs=hairs, scale=scale, triangles=triangles, fibres=fibres, density=params.density,
            viscosity=params.viscosity, guides=guides,
        )  # fmt: skip
        self.water, self.feels_hair, self.interval = water, feels_hair, interval
        self.is_in_frames = True
        self._start = water.memory()
        self.wet: WetHair | None = None
        self.impulse: Float64Array = np.zeros(3)
        self.immersion: Float64Array = np.zeros((0, 0))
        self._lift: Float64Array = np.zeros((0, 3))
        self._waited = 0.0  # [s] since the water's last step
        self._starts: list[tuple[Pose, float]] = []  # of the solids at the start of that time

    @property
    def lift(self) -> Float64Array:
        """Buoyancy of one hair at every vertex [N], shape (P, 3)."""
        return self._lift

    def _make_flow(self, model: StrandModel) -> Flow:
        self.immersion = np.zeros((model.strand_count, model.vertex_count))
        self._displaced = self.water.flow.params.density * fibre_volumes(model)  # [kg] of water, of one hair
        self._lift = np.zeros((len(self._displaced), 3))
        return self.water.flow

    def reset(self) -> None:
        """Begin with the water as it was given."""
        self.water.restore(self._start)
        self._waited, self._starts = 0.0, []
        self._let_go()
        self._owed[...] = 0.0

    def _let_go(self) -> None:
        """No hair is in the water."""
        self._own.clear()
        for array in (self._air, self.immersion, self._lift):
            array.fill(0.0)

    def add(self, strands: StrandView, load: Load) -> None:
        """Take the water one step on, when it is due, and let it act on the hair that is in it."""
        self._got = np.zeros_like(self._lift)
        due = self._due(strands)
        if due is not None and self.water.is_idle:
            self.water.wait(due.dt)
            self._let_go()
        elif due is not None:
            self._step(due, load)
        else:
            load.force[...] += self._own.force
            load.resistance[...] += self._own.resistance
        load.force.reshape(-1, 3)[...] += self._lift

    def _due(self, strands: StrandView) -> StrandView | None:
        """What the water sees of the time since its last step; None while its next one is not due."""
        if not self._starts:
            self._starts = [(moving.before, moving.times[0]) for moving in strands.solids]
        self._waited += strands.dt
        if self._waited < (1.0 - ROUNDING) * self.interval:
            return None
        waited, starts, self._waited, self._starts = self._waited, self._starts, 0.0, []
        if waited == strands.dt:
            return strands
        solids = tuple(
            replace(moving, before=before, times=(time, moving.times[1]))
            for moving, (before, time) in zip(strands.solids, starts, strict=True)
        )
        return replace(strands, dt=waited, solids=solids)

    def _step(self, strands: StrandView, load: Load) -> None:
        cell, grid = self.water.grid.cell, self.water.grid
        flat = strands.points.reshape(-1, 3).astype(np.float64)
        depth = -self.water.surface.at(flat) / cell
        low, high = grid.bounds
        inside = np.logical_and(flat > low, flat < high).all(axis=1)
        active = np.repeat(strands.active, strands.model.vertex_count)
        self.immersion.reshape(-1)[...] = np.clip(0.5 + depth, 0.0, 1.0) * inside * active
        self._lift[...] = -(self.immersion.reshape(-1) * self._displaced)[:, None] * self.water.gravity
        super().add(strands, load)

    def _update_resistance(self, strands: StrandView) -> Float64Array:
        super()._update_resistance(strands)
        self._own.resistance[...] *= self.immersion[..., None]
        self._own.force[...] *= self.immersion[..., None]
        return self._own.resistance

    def _pushed_back(self) -> Float64Array:
        return self.hairs_each * self._lift

    def _advance(self, strands: StrandView, exchange: Exchange) -> FlowReport:
        if not self.feels_hair:
            return self.water.step(strands.dt, strands.solids)
        seen = Exchange(exchange.drag, exchange.push, self._count_got)
        return self.water.step(strands.dt, strands.solids, exchange=seen)

    def _count_got(self, velocity: FloatArray, took_part: FloatArray, dt: float) -> None:
        """Add what every vertex has given the water in a substep: its faces feel push - drag u where they are wet."""
        places, weights, beta, pushes = self._given
        shape = np.array(self.water.grid.shape)
        part, moved = np.empty((len(places), 3)), np.empty((len(places), 3))
        kernels.gather(took_part, shape, places, part)
        kernels.gather(took_part * velocity, shape, places, moved)
        part, moved = self.samples.felt(part, weights), self.samples.felt(moved, weights)
        self._got += dt * (part * pushes - beta[:, None] * moved)

    def dripped(self) -> Float64Array:
        """Places and volumes of drops that fall from the hair [m, m^3], shape (D, 4)."""
        return NO_DROPS if self.wet is None else self.wet.drops[:, [0, 1, 2, 6]]

    def settle(self, strands: StrandView) -> None:
        """What hair took from the water, all told, and the water has not given yet is owed."""
        taken = symmetric_times(self._own.resistance, self._air - strands.velocity).reshape(-1, 3) + self._lift
        given = strands.dt * self.hairs_each * taken
        self.impulse = given.sum(axis=0)
        if self.feels_hair:
            self._owed.reshape(-1, 3)[...] += given + self._got

    def _blow(self, strands: StrandView) -> None:
        """No wind comes in."""

    def _follow(self, strands: StrandView) -> None:
        """Water stays where it is."""

    def surface(self) -> Mesh | None:
        """Return what `mesh` does, where frames get it."""
        return self.mesh() if self.is_in_frames else None

    def mesh(self) -> Mesh | None:
        """Return the surface of the water, closed at the sides of its box, and drops that fly or fall from hair."""
        return water_mesh(self.water.surface, self.dripped())

    def go_on(self, before: Part) -> None:
        """Take over the water of a box of the same cells."""
        if isinstance(before, Waterflow) and _same_cells(before.water.grid, self.water.grid):
            self.restore(before.memory())

    def report(self) -> dict[str, float]:
        """Fastest water [m/s], iterations of its pressure, and the part of its volume that is lost."""
        if self.last is None:
            return {}
        return {
            "water_speed": self.last.speed,
            "water_iterations": float(self.last.iterations),
            "water_lost": self.water.lost,
        }

    def memory(self) -> dict[str, NDArray[Any]]:
        """The water, what the hair felt of it last, and what it owes."""
        arrays = {f"flow.{name}": array for name, array in self.flow.memory().items()}
        arrays |= {"air": self._air.copy(), "owed": self._owed.copy()}
        if not self.interval:
            return arrays
        starts = [[*pose.position, *pose.rotation, time] for pose, time in self._starts]
        between = {"waited": np.array(self._waited), "starts": np.array(starts).reshape(-1, 8)}
        return {**arrays, **between, **{name: array.copy() for name, array in self._held().items()}}

    def _held(self) -> dict[str, Float64Array]:
        """What acts on the hair until the water's next step."""
        own = self._own
        return {"force": own.force, "resistance": own.resistance, "lift": self._lift, "immersion": self.immersion}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        super().restore({**memory, "has_begun": np.array(True)})
        self._waited, self._starts = 0.0, []
        if "waited" not in memory:
            return
        self._waited = float(memory["waited"])
        self._starts = [(Pose(row[:3], row[3:7]), float(row[7])) for row in memory["starts"]]
        for name, array in self._held().items():
            array[...] = memory[name]


def _same_cells(one: Grid, other: Grid) -> bool:
    return one.shape == other.shape and one.cell == other.cell and bool((one.origin == other.origin).all())
