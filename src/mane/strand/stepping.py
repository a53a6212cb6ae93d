"""`Stepper`: one step of guides, divided into equal substeps, with everything that acts on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mane.stage.clock import NO_CLOCK, StageClock
from mane.strand.ports import NO_STRANDS, Constraint, Force, Load, MovingSolid, StrandView
from mane.strand.roots import RootPose
from mane.strand.solver import StrandSolver
from mane.strand.state import StrandState


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
        self._is_spare, self._has_spare = model.is_spare, bool(model.is_spare.any())
        self._rows, self._busy = np.arange(model.strand_count), solver
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
        self._amended = np.unique(np.concatenate([force.amends for force in self.forces] or [NO_STRANDS]))
        every = len(self._amended) == model.strand_count
        self._again = solver if every or not len(self._amended) else solver.taken(self._amended)

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
        return StrandView(self.solver.model, state.points, state.velocity, state.frames, self.active, *surroundings)

    def _substep(
        self, source: StrandState, out: StrandState, surroundings: Surroundings, found: dict[str, float]
    ) -> None:
        h, after, clock = surroundings.dt, surroundings.roots_after, self.clock
        self._load.clear()
        seen = self._view(source, surroundings)
        for force in self.forces:
            with clock.stage(force.label):
                force.add(seen, self._load)
        kept = source.taken(self._amended) if len(self._amended) else None
        self._solve(source, out, after, h)
        seen = self._view(out, surroundings)
        if kept is not None:
            self._solve_again(kept, out, after, h, seen)
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
        """Step all strands but the spare ones that nobody needs, which stay as they are."""
        if not self._has_spare or not (self._is_spare & ~self.active).any():
            self.solver.step(source, out, roots, self._load, dt=h)
            return
        rows = np.flatnonzero(self.active | ~self._is_spare)
        if not np.array_equal(rows, self._rows):
            self._rows, self._busy = rows, self.solver.taken(rows)
        few = source.taken(rows)
        where = RootPose(roots.positions[rows], roots.rotations[rows])
        self._busy.step(few, few, where, self._load.taken(rows), dt=h)
        if out is not source:
            out.assign(source)
        out.put(rows, few)

    def _solve_again(self, kept: StrandState, out: StrandState, roots: RootPose, h: float, seen: StrandView) -> None:
        """Let forces look at where they led, and step the strands that they ask for from `kept` once more."""
        for force in self.forces:
            force.amend(seen, self._load)
        rows = self._amended
        where = RootPose(roots.positions[rows], roots.rotations[rows])
        self._again.step(kept, kept, where, self._load.taken(rows), dt=h)
        out.put(rows, kept)

    def _require_finite(self, state: StrandState, time: float) -> None:
        if np.isfinite(state.points).all() and np.isfinite(state.velocity).all():
            return
        finite = np.isfinite(state.points) & np.isfinite(state.velocity)
        rows = np.flatnonzero(~finite.all(axis=(1, 2)))
        raise SolverDiverged(
            f"strand {rows[0]} left the finite numbers at {time:.4f} s ({len(rows)} of {len(finite)} "
            "strands); use more substeps or look for a force that is not finite"
        )
