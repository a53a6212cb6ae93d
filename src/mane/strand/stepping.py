"""`Stepper`: one step of guides, divided into equal substeps, with everything that acts on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import IntArray
from mane.stage.clock import NO_CLOCK, StageClock
from mane.strand.ports import NO_STRANDS, Constraint, Force, Load, MovingSolid, StrandView
from mane.strand.roots import RootPose
from mane.strand.solver import StrandSolver
from mane.strand.state import StrandState

# How often the strands of which forces ask for it are stepped again within one substep. Contacts that fight need three
# attempts at times; what is still wrong then is little.
ATTEMPTS = 4
# With fewer strands than this, stepping all of them again is faster than taking some out.
MANY = 150


class SolverDiverged(ArithmeticError):
    """A run has left the finite numbers."""


@dataclass(frozen=True)
class StepReport:
    """Numbers about one step that a caller can act on.

    Attributes:
        stretch: largest |length / rest length - 1| of a segment at the end.
        penetration: deepest vertex inside a solid at the end [m], 0 without solids.
        substeps: how many the step was divided into.
        iterations: linear solves per substep.
        parts: what forces and constraints said, by name.
    """

    stretch: float
    penetration: float
    substeps: int
    iterations: int = 1
    parts: dict[str, float] = field(default_factory=dict)


class Surroundings(NamedTuple):
    """What is around the guides during one substep: the last fields of `StrandView`, in its order."""

    roots_before: RootPose
    roots_after: RootPose
    solids: tuple[MovingSolid, ...]
    time: float
    dt: float


@dataclass(frozen=True, eq=False)
class StepPath:
    """How everything around the guides moves during a step, as functions of the fraction of it that has passed."""

    roots: Callable[[float], RootPose]
    solids: Callable[[float, float], tuple[MovingSolid, ...]] = lambda start, end: ()


class Stepper:
    """Steps a solver with its forces and constraints; owns the order in which they act.

    Args:
        solver: of the guides.
        forces: act within the solve, in this order.
        constraints: act after each solve, in this order.
        active: slots that hold a guide, shape (G,); the array is read at every step.

    Attributes:
        clock: counts what each part takes for its label.
    """

    clock: StageClock = NO_CLOCK

    def __init__(
        self,
        solver: StrandSolver,
        forces: Sequence[Force] = (),
        constraints: Sequence[Constraint] = (),
        active: NDArray[np.bool_] | None = None,
    ) -> None:
        self.solver = solver
        self.forces = tuple(forces)
        self.constraints = tuple(constraints)
        model = solver.model
        self.active = np.ones(model.strand_count, np.bool_) if active is None else active
        self._may_park = model.is_slot
        self._used, self._again = _Subset(solver), _Subset(solver)
        self._load = Load.empty(model.strand_count, model.vertex_count)
        parts = (*self.forces, *self.constraints)
        if len(set(map(id, parts))) < len(parts):
            raise ValueError("forces: must be different parts, got one of them twice; make one for each")
        for part in parts:
            part.require_free("forces")
        for part in parts:
            part.prepare(model)
        for part in parts:  # none before all are ready: those of a simulation that could not be made are free
            part.join(self)

    def step(
        self, state: StrandState, out: StrandState, path: StepPath, *, time: float, dt: float, substeps: int
    ) -> StepReport:
        """Go from `state` at `time - dt` to `out` at `time` [s]; `state` is left alone unless `out` is the same."""
        if not (np.isfinite(dt) and dt > 0):
            raise ValueError(f"dt: must be a finite number of seconds above zero, got {dt}")
        if substeps < 1:
            raise ValueError(f"substeps: must be at least 1, got {substeps}")
        h = dt / substeps
        found: dict[str, float] = {}
        source, before = state, path.roots(0.0)
        for number in range(substeps):
            start, end = number / substeps, (number + 1) / substeps
            after = path.roots(end)
            surroundings = Surroundings(before, after, path.solids(start, end), time - dt + end * dt, h)
            self._substep(source, out, surroundings, found)
            source, before = out, after
        self._require_finite(out, time)
        self._measure(self._view(out, surroundings), found)
        stretch = float(np.abs(self.solver.stretch(out)[self.active]).max(initial=0.0))
        return StepReport(stretch, found.pop("penetration", 0.0), substeps, parts=found)

    def _measure(self, seen: StrandView, found: dict[str, float]) -> None:
        """Let all parts look at the end of the step; of numbers with the same name the largest counts."""
        for part in (*self.forces, *self.constraints):
            with self.clock.stage(part.label):
                for name, value in part.measure(seen).items():
                    found[name] = max(found.get(name, 0.0), value)

    def _view(self, state: StrandState, surroundings: Surroundings) -> StrandView:
        return StrandView(
            self.solver.model, state.points, state.velocity, state.orientations, self.active, *surroundings
        )

    def _substep(
        self, source: StrandState, out: StrandState, surroundings: Surroundings, found: dict[str, float]
    ) -> None:
        h, after, clock = surroundings.dt, surroundings.roots_after, self.clock
        self._load.clear()
        seen = self._view(source, surroundings)
        for force in self.forces:
            with clock.stage(force.label):
                force.add(seen, self._load)
        kept = source.copy() if any(force.may_amend() for force in self.forces) else None
        self._solve(source, out, after, h)
        seen = self._view(out, surroundings)
        if kept is not None:
            self._amend(kept, out, after, h, seen)
        for force in self.forces:
            with clock.stage(force.label):
                force.settle(seen)
        for constraint in self.constraints:
            with clock.stage(constraint.label):
                moved = constraint.project(seen, out.points, out.velocity)
            if moved.any():
                self.solver.adopt(out, moved)
        for part in (*self.forces, *self.constraints):
            for name, value in part.report().items():
                found[name] = max(found.get(name, 0.0), value)

    def _solve(self, source: StrandState, out: StrandState, roots: RootPose, h: float) -> None:
        """Step all strands but those that are parked, which stay as they are."""
        is_parked = self._may_park & ~self.active
        if not is_parked.any():
            self.solver.step(source, out, roots, self._load, dt=h)
            return
        if out is not source:
            out.assign(source)
        self._used.step(np.flatnonzero(~is_parked), source, out, roots, self._load, h)

    def _amend(self, kept: StrandState, out: StrandState, roots: RootPose, h: float, seen: StrandView) -> None:
        """Let forces look at where they led, and step the strands that they ask for from `kept` once more."""
        for attempt in range(ATTEMPTS):
            asked = []
            for force in self.forces:
                with self.clock.stage(force.label):
                    asked.append(force.amend(seen, self._load, attempt))
            rows = np.unique(np.concatenate(asked))
            if not len(rows):
                return
            if self._again.has(rows) or len(self.active) >= MANY:
                self._again.step(rows, kept, out, roots, self._load, h)
            else:
                self._solve(kept, out, roots, h)

    def _require_finite(self, state: StrandState, time: float) -> None:
        if np.isfinite(state.points).all() and np.isfinite(state.velocity).all():
            return
        finite = np.isfinite(state.points) & np.isfinite(state.velocity)
        rows = np.flatnonzero(~finite.all(axis=(1, 2)))
        raise SolverDiverged(
            f"strand {rows[0]} left the finite numbers at {time:.4f} s ({len(rows)} of {len(finite)} "
            "strands); use more substeps or look for a force that is not finite"
        )


class _Subset:
    """Steps some of the strands; the solver of the last ones that were asked for is kept."""

    def __init__(self, solver: StrandSolver) -> None:
        self._all = solver
        self._rows, self._solver = NO_STRANDS, solver

    def has(self, rows: IntArray) -> bool:
        """Whether there is a solver of these already."""
        return np.array_equal(rows, self._rows)

    def step(
        self, rows: IntArray, source: StrandState, out: StrandState, roots: RootPose, load: Load, h: float
    ) -> None:
        """Take the strands `rows` of `out` one step of `h` [s] from `source`."""
        if not self.has(rows):
            self._rows, self._solver = rows, self._all.taken(rows)
        few = source.taken(rows)
        where = RootPose(roots.positions[rows], roots.rotations[rows])
        self._solver.step(few, few, where, load.taken(rows), dt=h)
        out.put(rows, few)
