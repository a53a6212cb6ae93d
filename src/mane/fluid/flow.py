"""`Flow`: an incompressible fluid on a grid between solids that move; Stam's and Fedkiw's splitting of a step.

One step: velocities are carried along by themselves (MacCormack), viscosity and forces act, what hair or another porous
medium does is taken up implicitly, and pressure makes the flow free of divergence again. Walls are where the distance
fields of the solids have them: a face is open to a part, and what its covered part moves counts in the balance of a
cell (Batty, Bertails and Bridson 2007; Ng, Min and Gibou 2009), so that a slanted wall is no staircase.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.fluid import _kernels_advect as advection
from mane.fluid import _kernels_sample as sampling
from mane.fluid import _kernels_walls as wall_kernels
from mane.fluid.confinement import confine
from mane.fluid.grid import FIXED, OPEN, FloatArray, Grid, any_in_chunks
from mane.fluid.level_set import EVERYWHERE
from mane.fluid.multigrid import PressureSolver
from mane.fluid.surface import FreeSurface
from mane.fluid.viscosity import diffuse
from mane.fluid.walls import Moving, Walls
from mane.geometry.checks import require_choice, require_positive
from mane.simd.f32x16 import WIDTH

WALLS = ("slip", "no_slip", "sticky")
CALM = 1e-4  # of the fastest velocity; what differs by less from the wind does not count as moving
STRONG = 2.0  # nu dt / cell^2 up to which viscosity takes part in steps of second order
LEAST_CALM = 1e-6  # [m/s] likewise
TIGHTEST = np.float32(1e-6)  # a porous medium lets at least so much of the pressure's push through: digits are few
NUMBERS = np.arange(WIDTH, dtype=np.float32)


class FlowDiverged(ArithmeticError):
    """A flow has left the velocities that it may have."""


@dataclass(frozen=True)
class FlowParams:
    """Settings of a flow.

    Attributes:
        density: of the fluid [kg/m^3].
        viscosity: of the fluid, dynamic [Pa s].
        wall: how solids hold the fluid: "slip" not at all along the wall, "no_slip" through viscosity, "sticky" takes
            along the first layer of cells whatever the viscosity.
        confinement: strength of vorticity confinement, 0 for none.
        order: 1 lets viscosity and pressure act at the end of a step, which forgives anything; 2 half of each at its
            start, along the same paths (trapezoidal rule), which is far more exact where flow and walls change slowly;
            not with a porous medium.
        largest_step: how far the fluid may move within a substep [cells].
        fastest: velocity beyond which a flow counts as run away [m/s].
        tolerance: of the pressure solve, relative.
    """

    density: float = 1.204
    viscosity: float = 1.82e-5
    wall: str = "no_slip"
    confinement: float = 0.0
    order: int = 1
    largest_step: float = 3.0
    fastest: float = 300.0
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        require_choice("wall", self.wall, WALLS)
        if self.order not in (1, 2):
            raise ValueError(f"order: must be 1 or 2, got {self.order}")
        for name in ("density", "largest_step", "fastest", "tolerance"):
            require_positive(name, getattr(self, name))
        for name in ("viscosity", "confinement"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name}: must be a finite number, at least zero, got {value}")


@dataclass(frozen=True)
class FlowReport:
    """How a step of a flow went.

    Attributes:
        substeps: that it was divided into.
        iterations: of the pressure solve, the most of all substeps.
        residual: of the pressure solve, the largest.
        speed: largest component of velocity at the end [m/s].
        busy: share of the blocks that were moved.
    """

    substeps: int
    iterations: int
    residual: float
    speed: float
    busy: float


@dataclass(frozen=True, eq=False)
class Exchange:
    """What a porous medium does to a flow: at every face, drag (w - u), with w its own velocity there.

    Attributes:
        drag: [kg/s], shape (3, *padded).
        push: drag times w [N], shape (3, *padded).
        seen: called after every substep of a liquid, which takes part at its own faces alone: with velocities at its
            end, which faces took part (1 or 0), both (3, *padded), and its duration [s].
    """

    drag: FloatArray
    push: FloatArray
    seen: Callable[[FloatArray, FloatArray, float], None] | None = None


# Changes velocities (3, *padded) in place within a substep of dt [s].
Drive = Callable[[FloatArray, float], None]
# Adds liquid to the surface of a flow, or takes it away.
Feed = Callable[[], None]


class Flow:
    """A fluid on a grid; starts at rest.

    Args:
        grid: of the cells.
        surface: of a liquid that fills a part of the box; without one the fluid fills all of it.
        settings: fields of `FlowParams`.

    Attributes:
        surface: as given.
        velocity: [m/s], shape (3, *padded), float32; see `Grid`.
        walls: of the solids as of the last step.
        pressure: [Pa], shape of the grid, of the last substep.
        time: that has passed [s].
        is_audited: whether `audit` is kept, which costs a few passes over the grid.
        audit: what has changed the momentum of the fluid in the last step [N s], each (3,): "carried" by itself,
            "acted" on by viscosity and fields, "drag" of the porous medium, "walls" and sides by pressure.
    """

    def __init__(self, grid: Grid, *, surface: FreeSurface | None = None, **settings: Any) -> None:
        self.grid, self.params, self.surface = grid, FlowParams(**settings), surface
        self.velocity: FloatArray = np.zeros((3, *grid.padded), np.float32)
        self.walls = Walls(grid)
        self._solver = PressureSolver(grid, tolerance=self.params.tolerance)
        self.time, self._last_dt = 0.0, 0.0
        self.is_audited = False
        self.audit: dict[str, NDArray[np.float64]] = {}
        self._next, self._carried = np.zeros((3, *grid.padded), np.float32), grid.zeros()
        self._bends, self._ranges = (np.zeros((count, math.prod(grid.padded)), np.float32) for count in (6, 2))
        self._mobility, self._felt = (np.ones((3, *grid.padded), np.float32) for _ in range(2))
        self._b, self._before = grid.zeros(), grid.zeros()
        self._shape = np.array(grid.shape)
        self._are_faces_new, self._had_drag = True, False
        self._rows = (grid.padded[2], grid.padded[1] * grid.padded[2])
        blocks = [-(-count // advection.BLOCK) for count in grid.padded[:2]]
        self._busy = np.ones((*blocks, grid.padded[2] // WIDTH), np.int8)

    @property
    def face_mass(self) -> float:
        """Mass of the fluid of one face [kg]."""
        return self.params.density * self.grid.cell**3

    @property
    def momentum(self) -> NDArray[np.float64]:
        """Of all open faces, those of the liquid where there is a surface [N s], shape (3,)."""
        return self.face_mass * self._sum_over_faces(self.velocity)

    def _sum_over_faces(self, values: FloatArray) -> NDArray[np.float64]:
        """Sum of what open faces have, (3, *padded), shape (3,)."""
        counts = self.walls.open_part > 0
        if self.surface is not None:
            counts &= self.surface.is_wet
        kept = np.where(counts, values, 0)
        return np.array([self.grid.faces(kept[axis], axis).sum(dtype=np.float64) for axis in range(3)])

    @property
    def pressure(self) -> NDArray[np.float64]:
        """Pressure [Pa], of the grid's shape."""
        if not self._last_dt:
            return np.zeros(self.grid.shape)
        scale = self.params.order * self.params.density * self.grid.cell / self._last_dt
        return scale * self.grid.cells(self._solver.pressure).astype(np.float64)

    def fill(self, velocity: Sequence[float]) -> None:
        """Give the whole fluid one velocity [m/s]."""
        for axis in range(3):
            self.grid.faces(self.velocity[axis], axis)[...] = velocity[axis]

    def at(self, points: NDArray[Any]) -> NDArray[np.float64]:
        """Velocity [m/s] at `points` [m], both (Q, 3); outside of the box that of its edge."""
        out = np.empty((len(points), 3))
        sampling.gather(self.velocity, self._shape, (points - self.grid.origin) / self.grid.cell, out)
        return out

    def shift(self, cells: NDArray[np.int64]) -> None:
        """Move the box by whole cells; the fluid stays where it is, what comes in has the velocity of a side."""
        if self.surface is not None:
            raise ValueError("a box with a free surface stays where it is")
        for axis in range(3):
            values = self.grid.faces(self.velocity[axis], axis)
            values[...] = _shifted(values, cells, float(self.grid.side_velocity[:, axis].mean()))
        pressure = self.grid.cells(self._solver.pressure)
        pressure[...] = _shifted(pressure, cells, 0.0)
        self.grid.origin += self.grid.cell * cells
        self.walls.forget()

    def divergence(self) -> NDArray[np.float64]:
        """What flows out of every cell of fluid over its volume [1/s], walls counted, of the grid's shape."""
        out = self.grid.zeros()
        wall_kernels.flow_out(
            self.velocity,
            self.walls.beside_solids,
            self.walls.velocity,
            self._shape,
            self._solver.level.inverse,
            np.float32(0.0),
            EVERYWHERE,
            out,
        )
        return -self.grid.cells(out).astype(np.float64) / self.grid.cell

    def step(
        self,
        dt: float,
        solids: Sequence[Moving] = (),
        *,
        drives: Sequence[Drive] = (),
        exchange: Exchange | None = None,
        feeds: Sequence[Feed] = (),
    ) -> FlowReport:
        """Go on by `dt` [s], with solids where they are at its end; raise FlowDiverged for velocities out of bounds.

        `feeds` bring liquid in and take it away, at the start of every substep.
        """
        require_positive("dt", dt)
        if exchange is not None and self.params.order != 1:
            raise ValueError("order: must be 1 with a porous medium, whose pressure changes from step to step, got 2")
        have_walls_changed = self.walls.update(solids, dt)
        self._are_faces_new |= have_walls_changed
        count = self._count_substeps(dt)
        if self.surface is not None and have_walls_changed:
            self.surface.see(self.walls)
        self.audit = {name: np.zeros(3) for name in ("carried", "acted", "drag", "walls")}
        iterations, residual, busy = 0, 0.0, 0.0
        for number in range(count):
            if number:
                self._require_bounded()
            if self.surface is not None:
                for feed in feeds:
                    feed()
                self.surface.count_sides(self.velocity, self.walls, dt / count)
                self.surface.carry(self.velocity, dt / count / self.grid.cell)
                self.surface.meet_air()
            with self._counted("carried"):
                busy = max(busy, self._carry(dt / count))
            with self._counted("acted"):
                self._act(dt / count, drives)
            with self._counted("drag"):
                self._exchange(dt / count, exchange)
                solved = self._project(dt / count, exchange)
            iterations, residual = max(iterations, solved[0]), max(residual, solved[1])
        self.time += dt
        return FlowReport(count, iterations, residual, self._require_bounded(), busy)

    def _count_substeps(self, dt: float) -> int:
        longest = self.params.largest_step * self.grid.cell / max(self._require_bounded(), 1e-30)
        if self.surface is not None:
            longest = min(longest, self.surface.longest_step(self.params.density))
        return max(1, math.ceil(dt / longest))

    def _require_bounded(self) -> float:
        speed = self._fastest()
        if speed > self.params.fastest:
            sizes = np.abs(np.nan_to_num(self.velocity, nan=np.inf))
            place = np.array(np.unravel_index(int(sizes.argmax()), sizes.shape)[1:])
            x, y, z = self.grid.origin + self.grid.cell * (place - (1, 1, 0))
            fluid = "air" if self.surface is None else "water"
            raise FlowDiverged(
                f"{fluid}: {speed:.3g} m/s near ({x:.3g}, {y:.3g}, {z:.3g}) m after {self.time:.4g} s, more than "
                f"{self.params.fastest:g} m/s; look for a solid or a field that moves too fast, or raise `fastest`"
            )
        return speed

    def _fastest(self) -> float:
        """Largest component of velocity [m/s]; infinite where one is no number."""
        planes = np.empty(3 * self.grid.padded[0], np.float32)
        sampling.fastest_in_planes(self.velocity.reshape(-1), planes)
        return float(planes.max()) if np.isfinite(planes).all() else math.inf

    # -- parts of a substep --------------------------------------------------------------------------------------------

    def _carry(self, dt: float) -> float:
        """Carry velocities along themselves; return the share of blocks that were moved."""
        self._settle_sides()
        grid, scale = self.grid, np.float32(dt / self.grid.cell)
        busy = self._find_busy()
        moved = self.velocity if self.params.order == 1 else self._half_step(dt)
        velocity, carried = self.velocity.reshape(3, -1), self._carried.reshape(-1)
        advection.find_bends(velocity, grid.shape, self._rows, scale, self._busy, NUMBERS, self._bends)
        for axis in range(3):
            field = moved[axis].reshape(-1)
            advection.trace_back(
                velocity, self._bends, field, axis, grid.shape, self._rows, grid.kinds, grid.side_velocity, scale,
                self._busy, NUMBERS, self._ranges, carried,
            )  # fmt: skip
            self._settle_component(self._carried, axis)
            if self.surface is not None:
                self.surface.spare(axis, self._ranges)
            advection.correct(
                velocity, self._bends, field, axis, grid.shape, self._rows, scale, self._busy, NUMBERS, self._ranges,
                carried, self._next[axis].reshape(-1),
            )  # fmt: skip
        self.velocity, self._next = self._next, self.velocity
        return busy

    def _half_step(self, dt: float) -> FloatArray:
        """Velocities after what viscosity and the last pressure do in the first half of a step."""
        then = self.velocity.copy()
        if self._is_half_viscous(dt):
            diffuse(self.grid, self.walls, then, 0.5 * self._strength(dt), holds=self._holds, is_explicit=True)
        if self._last_dt:
            self._before = self._solver.pressure * np.float32(dt / self._last_dt)
            self._subtract_gradient(self._before, self._mobility, then)
        for axis in range(3):
            self._settle_component(then[axis], axis)
        return then

    def _is_half_viscous(self, dt: float) -> bool:
        """Whether half of the viscosity acts at the start of a step: not where it is so strong that it would ring."""
        return self.params.order == 2 and 0.0 < self._strength(dt) <= STRONG

    def _strength(self, dt: float) -> float:
        """nu dt / cell^2."""
        return self.params.viscosity / self.params.density * dt / self.grid.cell**2

    @property
    def _holds(self) -> bool:
        return self.params.wall != "slip"

    def _find_busy(self) -> float:
        """Find blocks that do not simply move with the wind, and their neighbours; return their share."""
        sides = self.grid.side_velocity[self.grid.kinds != 0]
        if len(sides) and (sides != sides[0]).any():
            self._busy[...] = 1
            return 1.0
        still = sides[0] if len(sides) else np.zeros(3, np.float32)
        tolerance = np.float32(max(LEAST_CALM, CALM * self._fastest()))
        own = np.zeros_like(self._busy)
        advection.mark_busy(self.velocity.reshape(3, -1), self.grid.shape, self._rows, still, tolerance, NUMBERS, own)
        wide = np.pad(own, 1)
        self._busy[...] = 0
        for i, j, k in np.ndindex(3, 3, 3):
            self._busy |= wide[i : i + own.shape[0], j : j + own.shape[1], k : k + own.shape[2]]
        return float(self._busy.mean())

    def _act(self, dt: float, drives: Sequence[Drive]) -> None:
        params = self.params
        self._settle_sides()
        if self.surface is None:
            self._settle_solids()
        if params.viscosity:
            strength = self._strength(dt) * (0.5 if self._is_half_viscous(dt) else 1.0)
            wet = None if self.surface is None else any_in_chunks(self.surface.is_wet)
            diffuse(self.grid, self.walls, self.velocity, strength, holds=self._holds, wet=wet)
        if params.confinement:
            confine(self.grid, self.velocity, params.confinement * dt)
        for drive in drives:
            drive(self.velocity, dt)
        if self.surface is not None:
            self.surface.pull(self.velocity, self.walls, params.density, dt)

    def _exchange(self, dt: float, exchange: Exchange | None) -> None:
        """Let a porous medium act, implicitly; `_project` goes on with how little it lets the pressure move."""
        if exchange is not None:
            if self.surface is not None:
                np.multiply(self.surface.is_wet, self.walls.open_part > 0.0, out=self._felt)
            wall_kernels.take_up(
                *(array.reshape(-1) for array in (exchange.drag, exchange.push, self._felt)),
                np.float32(dt / self.face_mass), TIGHTEST, self._mobility.reshape(-1), self.velocity.reshape(-1),
            )  # fmt: skip
        if self.params.wall == "sticky" and self.walls.has_solids:
            near = self.walls.middle < 1.0
            self.velocity[near] = self.walls.velocity[near]

    def _project(self, dt: float, exchange: Exchange | None) -> tuple[int, float]:
        """Make the flow free of divergence; the pressure moves little what the porous medium holds."""
        self._settle_sides()
        walls, has_drag, surface = self.walls, exchange is not None, self.surface
        if self._are_faces_new or has_drag or self._had_drag or surface is not None:
            if not has_drag:
                self._mobility.fill(1.0)
            is_liquid = None
            if surface is not None:
                self._mobility *= surface.to_air
                is_liquid, self._are_faces_new = surface.is_liquid, True
            faces = np.multiply(walls.open_part, self._mobility, out=self._next)  # which is free until the next step
            self._solver.open_faces(*faces, is_liquid=is_liquid, are_walls_new=self._are_faces_new)
            self._are_faces_new, self._had_drag = False, has_drag
        level = self._solver.level
        more = np.float32(surface.expansion(dt) * self.grid.cell if surface is not None else 0.0)
        room = EVERYWHERE if surface is None else surface.room
        wall_kernels.flow_out(
            self.velocity, walls.beside_solids, walls.velocity, self._shape, level.inverse, more, room, self._b
        )
        if surface is not None:
            cells, rates = surface.returned(dt)
            np.add.at(self.grid.cells(self._b), tuple(cells.T), (rates * self.grid.cell).astype(np.float32))
        report = self._solver.solve(self._b)
        if self.is_audited:
            self._count_walls()
        self._subtract_gradient(self._solver.pressure, self._mobility, self.velocity)
        if self.params.order == 2:
            # What acted before and after the fluid moved: their mean, or the two would take turns for ever.
            self._solver.pressure += self._before
            self._solver.pressure *= np.float32(0.5)
        self._last_dt = dt
        if exchange is not None and exchange.seen is not None and surface is not None:
            exchange.seen(self.velocity, self._felt, dt)
        self._settle_solids()
        return report.iterations, report.residual

    def _subtract_gradient(self, pressure: FloatArray, mobility: FloatArray, velocity: FloatArray) -> None:
        arrays = (array.reshape(-1) for array in (pressure, mobility, self.walls.open_part))
        wall_kernels.subtract_gradient(*arrays, self._rows, velocity.reshape(-1))

    @contextmanager
    def _counted(self, name: str) -> Iterator[None]:
        """Count what the block does to the momentum; what the drag block does is less what walls do within it."""
        if not self.is_audited:
            yield
            return
        before, walls = self.momentum, self.audit["walls"].copy()
        yield
        self.audit[name] += self.momentum - before - (self.audit["walls"] - walls)

    def _count_walls(self) -> None:
        """Count what the pressure, as it is found, does to all open faces as if nothing held them."""
        change = np.zeros_like(self.velocity)
        free = np.ones_like(self.velocity) if self.surface is None else self.surface.to_air
        self._subtract_gradient(self._solver.pressure, free, change)
        self.audit["walls"] += self.face_mass * self._sum_over_faces(change)

    def _settle_solids(self) -> None:
        """Give faces within solids a velocity: that of the solid, or that of the fluid beside it where it may slip."""
        walls = self.walls
        if self.surface is not None:
            self.surface.extend(self.velocity, walls, holds=self._holds)
            self._settle_sides()  # else the surface would be carried through them
            return
        if not walls.has_solids:
            return
        if self.params.wall != "slip":
            covered = walls.covered
            self.velocity.reshape(-1)[covered] = walls.velocity.reshape(-1)[covered]
            return
        known = (walls.open_part > 0.0).astype(np.int8)
        then = known.copy()
        for _ in range(2):
            wall_kernels.extend_into_solids(self.velocity, known, self._shape, self.velocity, then)
            known, then = then, known

    def _settle_sides(self) -> None:
        """Set velocities on the sides of the box and just outside of them."""
        for axis in range(3):
            self._settle_component(self.velocity[axis], axis)

    def _settle_component(self, values: FloatArray, own: int) -> None:
        """Set one component of velocity on the sides of the box and just outside of them."""
        grid = self.grid
        for side, (kind, given) in enumerate(zip(grid.kinds, grid.side_velocity, strict=True)):
            axis, is_high = side // 2, side % 2
            if axis == own and kind != OPEN:
                np.moveaxis(grid.faces(values, axis), axis, 0)[-1 if is_high else 0] = given[axis]
            if axis == 2:
                continue  # `sample` keeps to the faces there are
            rows = np.moveaxis(values, axis, 0)
            if axis == own:
                rows[0] = rows[1]
                continue
            first, ghost = (grid.shape[axis], grid.shape[axis] + 1) if is_high else (1, 0)
            rows[ghost] = 2 * given[own] - rows[first] if kind == FIXED else rows[first]

    # -- what continues a run ------------------------------------------------------------------------------------------

    def memory(self) -> dict[str, NDArray[Any]]:
        """Arrays that continue exactly."""
        surface = {} if self.surface is None else self.surface.memory()
        return {
            **{f"surface.{name}": array for name, array in surface.items()},
            "velocity": self.velocity.copy(),
            "pressure": self._solver.pressure.copy(),
            "time": np.array([self.time, self._last_dt]),
            "origin": self.grid.origin.copy(),
        }

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.velocity[...] = memory["velocity"]
        self._solver.pressure[...] = memory["pressure"]
        self.time, self._last_dt = memory["time"].tolist()
        self.grid.origin[...] = memory["origin"]
        self._are_faces_new = True
        if self.surface is not None:
            self.surface.restore({name[8:]: array for name, array in memory.items() if name.startswith("surface.")})


def _shifted(values: FloatArray, cells: NDArray[np.int64], fill: float) -> FloatArray:
    """What an array (X, Y, Z) holds in a box that lies by some cells farther."""
    out = np.full_like(values, fill)
    target, source = [], []
    for count, step in zip(values.shape, cells.tolist(), strict=True):
        step = max(-count, min(count, step))
        target.append(slice(max(0, -step), count - max(0, step)))
        source.append(slice(max(0, step), count - max(0, -step)))
    out[tuple(target)] = values[tuple(source)]
    return out
