"""`StrandPool`: strands that are simulated at the moment, of many that may be; the others cost nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import IntArray
from mane.stage import memory as checkpoints
from mane.stage.protocol import Memory
from mane.strand.model import Float64Array
from mane.strand.ports import NO_STRANDS, Constraint, Force, Part
from mane.strand.roots import RootPose
from mane.strand.solver import StrandSolver
from mane.strand.state import StrandState
from mane.strand.stepping import StepPath, Stepper

ROUNDING = 1e-9  # of substeps
STATE, PARTS = "strand.", "parts."
MakeParts = Callable[[IntArray], tuple[Sequence[Force], Sequence[Constraint]]]


class StrandPool:
    """A stepper of the strands that are in the pool, made anew when these change.

    A strand is stepped as it would be among all others, to the last bit: the solver's numbers are those of all strands,
    and what acts on one has to act on each by itself (`Part.is_mutual` is false). What such parts remember are arrays
    whose first axis is the strand and in which zero is nothing, so that a strand that stays takes its rows along.

    Args:
        solver: of all strands that may be in the pool, G.
        make_parts: forces and constraints for some of the strands, (A,) sorted numbers.

    Attributes:
        rows: the strands in the pool, sorted, shape (A,).
    """

    def __init__(self, solver: StrandSolver, make_parts: MakeParts) -> None:
        self._every, self._make_parts = solver, make_parts
        self.clear()

    def clear(self) -> None:
        """Take all strands out."""
        self.rows = NO_STRANDS
        self._state: StrandState | None = None
        self._stepper: Stepper | None = None

    @property
    def state(self) -> StrandState:
        """Where the strands of the pool are, in the order of `rows`."""
        assert self._state is not None
        return self._state

    @property
    def forces(self) -> tuple[Force, ...]:
        """What acts on the strands of the pool."""
        return () if self._stepper is None else self._stepper.forces

    def change(
        self, stay: IntArray, enter: IntArray, points: Float64Array, velocity: Float64Array, roots: RootPose
    ) -> None:
        """Go on with the strands `stay` of the pool, sorted, and with others that begin now.

        Args:
            stay: strands that are in the pool already, shape (S,).
            enter: those that begin, sorted, shape (B,).
            points: where these are [m], shape (B, V, 3).
            velocity: how they move [m/s], shape (B, V, 3).
            roots: of all strands now.
        """
        if len(enter) == 0 and np.array_equal(stay, self.rows):
            return
        rows = np.sort(np.concatenate([stay, enter]))
        if len(rows) == 0:
            self.clear()
            return
        kept, gone = np.searchsorted(self.rows, stay), np.searchsorted(rows, stay)
        old_state, old_parts = self._state, self._parts
        remembered = [part.memory() for part in old_parts]
        self._begin(rows, RootPose(roots.positions[rows], roots.rotations[rows]))
        if old_state is not None:
            self.state.put(gone, old_state.taken(kept))
            for part, memory in zip(self._parts, remembered, strict=True):
                part.restore({name: _moved(array, kept, gone, len(rows)) for name, array in memory.items()})
        if len(enter):
            begins = np.isin(rows, enter)
            self.state.points[begins], self.state.velocity[begins] = points, velocity
            self._solver.adopt(self.state, begins)

    def step(self, path: StepPath, *, time: float, dt: float) -> None:
        """Go on to `time` by `dt` [s]; `path` has the roots of all strands."""
        if self._stepper is None:
            return

        def roots(fraction: float) -> RootPose:
            every = path.roots(fraction)
            return RootPose(every.positions[self.rows], every.rotations[self.rows])

        count = max(1, math.ceil(dt / self._solver.max_substep - ROUNDING))
        own = StepPath(roots, path.solids)
        self._stepper.step(self.state, self.state, own, time=time, dt=dt, substeps=count)

    @property
    def _parts(self) -> tuple[Part, ...]:
        return () if self._stepper is None else (*self._stepper.forces, *self._stepper.constraints)

    @property
    def _solver(self) -> StrandSolver:
        assert self._stepper is not None
        return self._stepper.solver

    def _begin(self, rows: IntArray, roots: RootPose) -> None:
        """Make a stepper of strands, at rest on their roots."""
        solver = self._every.taken(rows)
        self.rows, self._state = rows, solver.rest_state(roots)
        self._stepper = Stepper(solver, *self._make_parts(rows))

    def memory(self) -> Memory:
        """Which strands are in the pool, their state, and what parts remember."""
        if self._stepper is None:
            return {"rows": self.rows.copy()}
        state = {STATE + name: array.copy() for name, array in self.state.arrays().items()}
        parts = {PARTS + name: array for name, array in checkpoints.save((self._solver, *self._parts)).items()}
        return {"rows": self.rows.copy(), **state, **parts}

    def restore(self, memory: Mapping[str, NDArray[Any]], roots: RootPose) -> None:
        """Go back to what `memory` returned; `roots` are those of all strands."""
        self.clear()
        rows = memory["rows"].copy()
        if len(rows) == 0:
            return
        self._begin(rows, RootPose(roots.positions[rows], roots.rotations[rows]))
        self._state = StrandState.from_arrays(within(memory, STATE))
        checkpoints.load((self._solver, *self._parts), within(memory, PARTS))


def within(memory: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in memory.items() if name.startswith(prefix)}


def _moved(array: NDArray[Any], old: IntArray, new: IntArray, count: int) -> NDArray[Any]:
    """Rows `old` of an array as rows `new` of one with `count` of them, zero elsewhere."""
    moved = np.zeros((count, *array.shape[1:]), array.dtype)
    moved[new] = array[old]
    return moved
