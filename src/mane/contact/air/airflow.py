"""`Airflow`: the air around the hair as a fluid, which moves it and which it slows down (chang2002 7.3).

The air is a box of cells around the guides (`mane.fluid`) that follows them in whole cells. Wind comes in through its
sides, solids are walls, and hair is a porous medium: a vertex with a resistance D against the air feels D (u - v), and
so do the `hairs` that it stands for; the air loses what they gain, at the same places with the same weights.

Both sides are implicit. The air is solved first, with the hair at the velocity that it had: with beta of at least D,

    (M + dt beta) u = M u* + dt beta v - (what the last step owed) - dt grad p,

then the hair with that air, D (u - v_new), in its own implicit step. What hair took from the air in truth differs from
beta (u - v) by what it gave way; that is owed, and the next step pays it within the same solve. For one face and one
vertex of any masses and any drag the roots of this recursion are 1, which is momentum kept, and one between 0 and 1
(docs/decisions/0025): it neither blows up nor rings, be the hair free or held at its root, which solvers that eliminate
the hair by its mass alone cannot say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.contact.air.drag import AIR_DENSITY, AIR_VISCOSITY, Drag
from mane.contact.air.fields import AnyField, PlacedField
from mane.contact.air.porous import HairSamples, fibre_volumes
from mane.contact.air.wind import AnyWind, Wind, as_wind
from mane.fluid import _kernels_sample as kernels
from mane.fluid.flow import Drive, Exchange, Flow, FlowDiverged, FlowReport
from mane.fluid.grid import Grid, Side
from mane.fluid.porous import drag_per_length
from mane.geometry.checks import require_choice, require_positive
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Force, Load, StrandView
from mane.strand.stepping import SolverDiverged
from mane.strand.variation import Varying

HAIRS = 100_000  # of a human head
GRANULARITY = 8  # cells; the box has a multiple of it along every axis, which halves well
FEWEST = 16  # cells along an axis
FIBRES = ("jackson_james", "alone")


class Airflow(Force):
    """Air drag in a wind that feels the hair.

    Args:
        wind: what comes in through the sides of the box: a vector [m/s], a `Wind`, a function; None is still air.
        fields: further winds, and fans and vortices in the box (`mane.contact.air.fields`).
        cell: edge of a cell [m].
        margin: of air around the guides at rest [m].
        hairs: that all guides together stand for.
        scale: factor on the drag of a single hair, any `Varying`.
        triangles: whether hair is felt between guides too, on the triangles that neighbours span.
        fibres: "jackson_james" gives hair that is dense at least the drag of a porous medium of fibres, by the part of
            the volume that all `hairs` take (Jackson and James 1986); "alone" leaves it that of a cylinder by itself.
        density: of the air [kg/m^3].
        viscosity: of the air [Pa s].
        wall: how solids hold the air: "slip", "no_slip" or "sticky".
        confinement: of vorticity, 0 for none.
        guides: whose painted maps `scale` may name.

    Attributes:
        flow: the air; there once it is prepared.
        last: how its last step went.
    """

    name = "airflow"
    label = "air"
    needs = ("guides",)
    is_mutual = True

    def __init__(
        self,
        wind: AnyWind = None,
        *,
        fields: Sequence[AnyField] = (),
        cell: float = 0.02,
        margin: float = 0.15,
        hairs: float = HAIRS,
        scale: Varying = 1.0,
        triangles: bool = True,
        fibres: str = "jackson_james",
        density: float = AIR_DENSITY,
        viscosity: float = AIR_VISCOSITY,
        wall: str = "no_slip",
        confinement: float = 0.0,
        guides: Guides | Groom | None = None,
    ) -> None:
        for name, value in (("cell", cell), ("margin", margin), ("hairs", hairs)):
            require_positive(name, value)
        require_choice("fibres", fibres, FIBRES)
        given = as_wind(wind)
        self.winds: list[Wind] = [*([] if given is None else [given])]
        self.winds += [field for field in fields if not isinstance(field, PlacedField)]
        self.placed = [field for field in fields if isinstance(field, PlacedField)]
        self.cell, self.margin, self.hairs, self.triangles = cell, margin, hairs, triangles
        self.fibres, self.viscosity = fibres, viscosity
        self._settings: dict[str, Any] = {
            "density": density, "viscosity": viscosity, "wall": wall, "confinement": confinement
        }  # fmt: skip
        self._air: Float64Array = np.zeros((0, 0, 3))
        self.drag = Drag(self._felt_wind, scale=scale, density=density, viscosity=viscosity, guides=guides)
        self.flow: Flow
        self.last: FlowReport | None = None

    def _felt_wind(self, points: Float64Array, time: float) -> Float64Array:
        return self._air.reshape(-1, 3)

    def prepare(self, model: StrandModel) -> None:
        """Lay a box of air around the guides."""
        self.drag.prepare(model)
        own = ~model.is_slot
        self.flow = self._make_flow(model)
        self.samples = HairSamples(model, has_triangles=self.triangles)
        self.hairs_each = self.hairs / max(1, int(own.sum()))
        shape = (model.strand_count, model.vertex_count)
        self._air = np.zeros((*shape, 3))
        self._owed = np.zeros((*shape, 3))
        self._own = Load.empty(*shape)
        self._volumes = self.hairs_each * fibre_volumes(model)
        self._lengths = (fibre_volumes(model) / (np.pi * model.radius.reshape(-1) ** 2)).reshape(shape)
        self._least, self._solid = np.zeros(shape), self.flow.grid.zeros()
        self._drag, self._push = (np.zeros_like(self.flow.velocity) for _ in range(2))
        self._rest_origin = self.flow.grid.origin.copy()
        self.reset()

    def _make_flow(self, model: StrandModel) -> Flow:
        """The air around the guides at rest."""
        own = ~model.is_slot
        rest = model.rest_points[own].reshape(-1, 3)
        low, high = rest.min(axis=0) - self.margin, rest.max(axis=0) + self.margin
        counts = np.maximum(FEWEST, GRANULARITY * np.ceil((high - low) / (GRANULARITY * self.cell)).astype(np.int64))
        self._offset = 0.5 * (low + high - counts * self.cell) - model.rest_points[own, 0].mean(axis=0)
        grid = Grid(counts.tolist(), self.cell, self._offset + model.rest_points[own, 0].mean(axis=0), Side("open"))
        return Flow(grid, **self._settings)

    def reset(self) -> None:
        """Begin with air that moves as the wind does, once it is known."""
        self.flow.restore({**{name: np.zeros_like(array) for name, array in self.flow.memory().items()},
                           "origin": self._rest_origin})  # fmt: skip
        self._air[...], self._owed[...] = 0.0, 0.0
        self._has_begun = False
        self._drives: list[Drive] | None = None

    @property
    def owed(self) -> Float64Array:
        """What hair has taken from the air and the air does not know of yet [N s], shape (G, V, 3)."""
        return self._owed

    @property
    def resistance(self) -> Float64Array:
        """Of one hair at every vertex, in the air as it felt it last [kg/s], shape (G, V, 6)."""
        return self._own.resistance

    @property
    def solid_part(self) -> Float64Array:
        """Part of the volume of every cell that hair took in the last step, of the grid's shape."""
        return self.flow.grid.cells(self._solid).astype(np.float64) / self.cell**3

    @property
    def felt(self) -> Float64Array:
        """Velocity of the air as every vertex feels it [m/s], shape (G, V, 3)."""
        return self._air

    # -- one substep ---------------------------------------------------------------------------------------------------

    def add(self, strands: StrandView, load: Load) -> None:
        """Take the air one step on and let it act on the hair."""
        self._blow(strands)
        self._follow(strands)
        weights = self.samples.weights(strands.points, strands.active)
        places = (self.samples.places(strands.points) - self.flow.grid.origin) / self.cell
        self._find_least(places, weights, strands.active)
        resistance = self._update_resistance(strands)
        beta = self.hairs_each * 0.5 * resistance[..., :3].sum(axis=2).reshape(-1)  # at least the largest eigenvalue
        velocity = strands.velocity.reshape(-1, 3)
        pushes = beta[:, None] * velocity - self._owed.reshape(-1, 3) / strands.dt - self._pushed_back()
        shared = self.samples.shared_out(np.column_stack([beta, pushes]), weights)
        self._drag.fill(0.0)
        self._push.fill(0.0)
        shape = np.array(self.flow.grid.shape)
        kernels.scatter(places, shared[:, 0].copy(), shared[:, 1:].copy(), shape, self._drag, self._push)
        self._given = places, weights, beta, pushes
        try:
            self.last = self._advance(strands, Exchange(self._drag, self._push))
        except FlowDiverged as error:
            raise SolverDiverged(str(error)) from None
        inside = np.logical_and(places > 0, places < shape).all(axis=1)
        self._inside = self.samples.felt(
            np.broadcast_to(np.asarray(inside, np.float64).reshape(-1, 1), (len(places), 3)), weights
        )[:, :1]
        air = np.empty((len(places), 3))
        kernels.gather(self.flow.velocity, shape, places, air)
        self._air.reshape(-1, 3)[...] = self.samples.felt(air, weights)
        self._beta, self._before = beta, velocity.copy()
        self._update_resistance(strands)
        load.force[...] += self._own.force
        load.resistance[...] += self._own.resistance

    def _advance(self, strands: StrandView, exchange: Exchange) -> FlowReport:
        """Take the fluid one step on."""
        return self.flow.step(strands.dt, strands.solids, drives=self._made_drives(), exchange=exchange)

    def _pushed_back(self) -> Float64Array | float:
        """What hair feels of the fluid besides drag, all of it, which the fluid loses [N], shape (P, 3)."""
        return 0.0

    def settle(self, strands: StrandView) -> None:
        """See how far the hair gave way: what it took from the air less what the air knows of is owed."""
        air, velocity = self._air, strands.velocity
        taken = self.hairs_each * symmetric_times(self._own.resistance, air - velocity).reshape(-1, 3)
        known = self._beta[:, None] * (air.reshape(-1, 3) - self._before)
        self._owed.reshape(-1, 3)[...] = strands.dt * self._inside * (taken - known)

    def _update_resistance(self, strands: StrandView) -> Float64Array:
        """Resistance of every vertex of one hair in the air as it is felt [kg/s], (G, V, 6); also fills `_own`."""
        self._own.clear()
        self.drag.add(strands, self._own)
        if self.fibres != "alone":
            mean = self._own.resistance[..., :3].sum(axis=2) / 3.0
            more = np.divide(self._least, mean, out=np.ones_like(mean), where=mean > 0.0)
            np.maximum(more, 1.0, out=more)
            self._own.resistance[...] *= more[..., None]
            self._own.force[...] *= more[..., None]
        return self._own.resistance

    def _find_least(
        self, places: Float64Array, weights: tuple[Float64Array, Float64Array], active: NDArray[np.bool_]
    ) -> None:
        """Find the least resistance of every vertex [kg/s], (G, V): that of a fibre among as many as there are."""
        if self.fibres == "alone":
            return
        volumes = self._volumes * np.repeat(active, self._least.shape[1])
        shared = self.samples.shared_out(volumes[:, None], weights)[:, 0].copy()
        shape = np.array(self.flow.grid.shape)
        self._solid.fill(0.0)
        kernels.add_to_cells(places, shared, shape, self._solid)
        part = np.empty(len(places))
        kernels.read_cells(self._solid, shape, places, part)
        felt = self.samples.felt(np.repeat(part[:, None], 3, axis=1) / self.cell**3, weights)[:, 0]
        self._least[...] = self._lengths * drag_per_length(felt, self.viscosity).reshape(self._least.shape)

    def _blow(self, strands: StrandView) -> None:
        """Give the sides the velocity of the wind, and all air in the beginning."""
        grid = self.flow.grid
        low, high = grid.bounds
        middle = 0.5 * (low + high)
        centres = np.repeat(middle[None], 6, axis=0)
        for side in range(6):
            centres[side, side // 2] = (low, high)[side % 2][side // 2]
        now = np.zeros((7, 3))
        for wind in self.winds:
            now += wind.velocity(np.concatenate([centres, middle[None]]), strands.time)
        grid.side_velocity[...] = now[:6]
        if not self._has_begun:
            self.flow.fill(now[6].tolist())
            self._has_begun = True

    def _follow(self, strands: StrandView) -> None:
        """Move the box with the roots, by whole cells."""
        grid = self.flow.grid
        roots = strands.roots_after.positions[~strands.model.is_slot].mean(axis=0)
        cells = np.round((self._offset + roots - grid.origin) / self.cell).astype(np.int64)
        if (np.abs(cells) > 1).any():  # not for every breath
            self.flow.shift(cells)
            self._drives = None

    def _made_drives(self) -> list[Drive]:
        if self._drives is None:
            self._drives = [field.drive(self.flow.grid) for field in self.placed]
        return self._drives

    # -- what a stage answers ------------------------------------------------------------------------------------------

    def report(self) -> dict[str, float]:
        """Fastest air [m/s] and iterations of its pressure."""
        if self.last is None:
            return {}
        return {"air_speed": self.last.speed, "air_iterations": float(self.last.iterations)}

    def memory(self) -> dict[str, NDArray[Any]]:
        """The air, what the hair felt of it last, and what it owes."""
        arrays = {f"flow.{name}": array for name, array in self.flow.memory().items()}
        return {**arrays, "air": self._air.copy(), "owed": self._owed.copy(), "has_begun": np.array(self._has_begun)}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.flow.restore(
            {name.removeprefix("flow."): array for name, array in memory.items() if name.startswith("flow.")}
        )
        self._air[...], self._owed[...] = memory["air"], memory["owed"]
        self._has_begun, self._drives = bool(memory["has_begun"]), None

    def forget(self, strands: NDArray[np.bool_]) -> None:
        """Strands of the mask were carried elsewhere: the air owes them nothing."""
        self._owed[strands] = 0.0


def symmetric_times(symmetric: Float64Array, vectors: Float64Array) -> Float64Array:
    """Symmetric matrices (..., 6), in the order of `ports.SYMMETRIC`, times vectors (..., 3)."""
    xx, yy, zz, xy, xz, yz = np.moveaxis(symmetric, -1, 0)
    x, y, z = np.moveaxis(vectors, -1, 0)
    return np.stack([xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z], axis=-1)
