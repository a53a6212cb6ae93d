"""Which parts of the hair touch, and what they do to each other, in buffers that only ever grow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.contact.compliance import Compliance
from mane.contact.strips import _kernels_contact as kernels
from mane.contact.strips import _kernels_push as push_kernels
from mane.geometry.checks import IntArray
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.ports import Load

FIRST_ROOM = 16


class Contacts:
    """Pairs that touch, one row per strand or strip, sorted by key within it."""

    def __init__(self, rows: int) -> None:
        self.count = np.zeros(rows, np.int64)
        self._allocate(FIRST_ROOM)

    def _allocate(self, room: int) -> None:
        shape = (len(self.count), room)
        self.keys = np.zeros(shape, np.int64)
        self.sides = np.zeros(shape, np.int8)
        self.touched = np.zeros((*shape, 4), np.int64)
        self.records = np.zeros((*shape, kernels.RECORD))

    def grown(self) -> bool:
        """Make room if the last narrow phase found more contacts than there was; then it has to be made again."""
        most = int(self.count.max(initial=0))
        if most <= self.keys.shape[1]:
            return False
        self._allocate(2 * most)
        return True

    @property
    def buffers(self) -> tuple[NDArray[Any], ...]:
        """Count, keys, sides, touched vertices, records."""
        return self.count, self.keys, self.sides, self.touched, self.records

    def flat(self) -> tuple[IntArray, IntArray, NDArray[np.int8], Float64Array]:
        """Where each row starts (R + 1,), and keys, sides and gaps of all contacts in order; copies."""
        filled = np.arange(self.keys.shape[1]) < self.count[:, None]
        starts = np.concatenate([[0], np.cumsum(self.count)])
        gaps = self.records[..., kernels.GAP]
        return starts, self.keys[filled], self.sides[filled], np.maximum(gaps[filled], 0.0)

    def fill(self, starts: IntArray, keys: IntArray, sides: NDArray[np.int8]) -> None:
        """Take over keys and sides as `flat` returned them."""
        self.count[...] = np.diff(starts)
        self.grown()
        filled = np.arange(self.keys.shape[1]) < self.count[:, None]
        self.keys[filled], self.sides[filled] = keys, sides

    def going_on(self) -> tuple[IntArray, Float64Array]:
        """Touched vertices (K, 4) and records (K, RECORD) of all contacts in order; copies."""
        filled = np.arange(self.keys.shape[1]) < self.count[:, None]
        return self.touched[filled], self.records[filled]

    def go_on(self, touched: IntArray, records: Float64Array) -> None:
        """Take over what `going_on` returned, after `fill`."""
        filled = np.arange(self.keys.shape[1]) < self.count[:, None]
        self.touched[filled], self.records[filled] = touched, records


class Pushes:
    """Repulsion and friction of contacts; `laws` as in `push_apart`."""

    def __init__(self, model: StrandModel, laws: tuple[float, float, float, float]) -> None:
        self._laws = laws
        self._compliance = Compliance(model)
        self._inv_mass = 1.0 / model.mass
        self._inv_mass[model.root_kind != RootKind.FREE, 0] = 0.0
        self._busy, self._give = np.zeros((2, *model.mass.shape))
        self._dt = 0.0

    def add(self, kinds: tuple[Contacts, ...], velocity: Float64Array, dt: float, goes_on: bool, load: Load) -> None:
        """Push apart what touches; contacts of an earlier substep `go on`: their gaps have changed since."""
        if not goes_on or dt != self._dt:
            self._weigh(kinds, dt)
        flat, force = velocity.reshape(-1, 3), load.force.reshape(-1, 3)
        for one in kinds:
            push_kernels.push_apart(one.count, one.touched, one.records, flat, self._laws, dt, goes_on, force)

    def forget(self) -> None:
        """Contacts are others than at the last call."""
        self._dt = 0.0

    def _weigh(self, kinds: tuple[Contacts, ...], dt: float) -> None:
        """Work out what each contact has to move beside all others."""
        busy = self._busy.reshape(-1)
        busy.fill(0.0)
        for one in kinds:
            push_kernels.load_strands(one.count, one.touched, one.records, busy)
        push_kernels.give_way(self._compliance.of(dt), self._busy, self._give)
        for one in kinds:
            push_kernels.weigh_contacts(
                one.count, one.touched, self._inv_mass.reshape(-1), self._give.reshape(-1), one.records
            )
        self._dt = dt
