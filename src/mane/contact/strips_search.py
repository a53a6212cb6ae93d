"""Which parts of the hair could touch before the next search, and which do, in buffers that only ever grow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.contact import _kernels_strips as kernels
from mane.contact import _kernels_strips_contact as contact_kernels
from mane.geometry.checks import IntArray
from mane.strand.model import Float64Array

FIRST_ROOM = 64
MAX_CELLS = 1 << 16


class Candidates:
    """Pairs that could touch, one row per strand or strip; see `find_segments` and `find_faces`."""

    def __init__(self, rows: int) -> None:
        self.count = np.zeros(rows, np.int64)
        self._allocate(FIRST_ROOM)

    def _allocate(self, room: int) -> None:
        shape = (len(self.count), room)
        self.found = np.zeros((*shape, 2), np.int64)
        self.side = np.zeros(shape, np.int8)
        self.limit = np.zeros(shape)

    def grown(self) -> bool:
        """Make room if the last search found more than there was; then it has to be made again."""
        most = int(self.count.max(initial=0))
        if most <= self.found.shape[1]:
            return False
        self._allocate(2 * most)
        return True

    @property
    def listed(self) -> tuple[IntArray, IntArray]:
        """How many each row has, and which."""
        return self.count, self.found

    @property
    def memo(self) -> tuple[NDArray[np.int8], Float64Array]:
        """What each one knows: which side it is on, and which gap it should have."""
        return self.side, self.limit


class Contacts:
    """Pairs that touch, one row per strand or strip, sorted by key within it."""

    def __init__(self, rows: int) -> None:
        self.count = np.zeros(rows, np.int64)
        self._allocate(FIRST_ROOM // 4)

    def _allocate(self, room: int) -> None:
        shape = (len(self.count), room)
        self.keys = np.zeros(shape, np.int64)
        self.sides = np.zeros(shape, np.int8)
        self.touched = np.zeros((*shape, 4), np.int64)
        self.records = np.zeros((*shape, contact_kernels.RECORD))

    def grown(self) -> bool:
        """Make room if the last look found more contacts than there was; then it has to be made again."""
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
        gaps = self.records[..., contact_kernels.GAP]
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


class Grid:
    """Cells of equal size around points, with buffers that only grow."""

    def __init__(self, room: int) -> None:
        self.low = np.zeros(3)
        self.inv_cell = 1.0
        self.dims = np.ones(3, np.int64)
        self.starts = np.zeros(2, np.int64)
        self.order = np.zeros(room, np.int64)
        self._cell = np.zeros(room, np.int64)

    def sort(self, centres: Float64Array, enabled: NDArray[np.bool_], cell: float) -> int:
        """Sort `centres` (K, 3) into cells of at least that size [m]; returns how many are in."""
        used = centres[enabled]
        if len(used) == 0:
            return 0
        self.low = used.min(axis=0)
        extent = used.max(axis=0) - self.low
        self.dims = (extent / cell).astype(np.int64) + 1
        while self.dims.prod() > MAX_CELLS:
            cell *= 2
            self.dims = (extent / cell).astype(np.int64) + 1
        self.inv_cell = 1.0 / cell
        cells = int(self.dims.prod())
        if len(self.starts) < cells + 1:
            self.starts = np.zeros(2 * cells + 1, np.int64)
        return int(
            kernels.sort_into_cells(
                centres, enabled, self.low, self.inv_cell, self.dims, self._cell, self.starts, self.order
            )
        )

    @property
    def layout(self) -> tuple[Float64Array, float, IntArray, IntArray, IntArray]:
        """Corner, cells per metre, cells along each axis, where each cell starts, and what is in it."""
        return self.low, self.inv_cell, self.dims, self.starts, self.order
