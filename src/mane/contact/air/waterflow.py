"""`Waterflow`: guides in water that moves them and that they slow down (lee2018 3.4, fig. 4).

The exchange is that of the air (`Airflow`): both sides implicit, the hair kinematic within the step of the water and
what that misses paid in the next. Only what is under water takes part. Water carries what it is displaced by, so that
hair is lifted by the weight of as much water and the water is pushed down by the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.contact.air.airflow import HAIRS, Airflow, symmetric_times
from mane.contact.air.porous import fibre_volumes
from mane.fluid import _kernels_sample as kernels
from mane.fluid.drop_mesh import NO_DROPS, water_mesh
from mane.fluid.flow import Exchange, Flow, FlowReport
from mane.fluid.grid import FloatArray
from mane.fluid.water import Water
from mane.fluid.wet_hair import WetHair
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Load, StrandView
from mane.strand.variation import Varying


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

    Attributes:
        water: as given.
        immersion: part of every vertex that is under water, shape (G, V).
        wet: water that the hair holds, where it holds any; `WetGuides` says which.
        impulse: that all hair got in the last step [N s], shape (3,).
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
    ) -> None:
        params = water.flow.params
        super().__init__(
            cell=water.grid.cell, hairs=hairs, scale=scale, triangles=triangles, fibres=fibres, density=params.density,
            viscosity=params.viscosity, guides=guides,
        )  # fmt: skip
        self.water, self.feels_hair = water, feels_hair
        self._start = water.memory()
        self.wet: WetHair | None = None
        self.impulse: Float64Array = np.zeros(3)
        self.immersion: Float64Array = np.zeros((0, 0))
        self._lift: Float64Array = np.zeros((0, 3))

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
        self._air[...], self._owed[...] = 0.0, 0.0

    def add(self, strands: StrandView, load: Load) -> None:
        """Take the water one step on and let it act on the hair that is in it."""
        cell, grid = self.water.grid.cell, self.water.grid
        flat = strands.points.reshape(-1, 3).astype(np.float64)
        depth = -self.water.surface.at(flat) / cell
        low, high = grid.bounds
        inside = np.logical_and(flat > low, flat < high).all(axis=1)
        active = np.repeat(strands.active, strands.model.vertex_count)
        self.immersion.reshape(-1)[...] = np.clip(0.5 + depth, 0.0, 1.0) * inside * active
        self._lift[...] = -(self.immersion.reshape(-1) * self._displaced)[:, None] * self.water.gravity
        super().add(strands, load)
        load.force.reshape(-1, 3)[...] += self._lift

    def _update_resistance(self, strands: StrandView) -> Float64Array:
        super()._update_resistance(strands)
        self._own.resistance[...] *= self.immersion[..., None]
        self._own.force[...] *= self.immersion[..., None]
        return self._own.resistance

    def _pushed_back(self) -> Float64Array:
        return self.hairs_each * self._lift

    def _advance(self, strands: StrandView, exchange: Exchange) -> FlowReport:
        self._got = np.zeros_like(self._lift)
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
        """Return the surface of the water, closed at the sides of its box, and drops that fly or fall from hair."""
        return water_mesh(self.water.surface, self.dripped())

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
        return {**arrays, "air": self._air.copy(), "owed": self._owed.copy()}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        super().restore({**memory, "has_begun": np.array(True)})
