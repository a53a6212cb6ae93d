"""Broad phase: parts of the hair that could touch before the next one, in buffers that only ever grow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.contact.strips import _kernels_broad_phase as kernels
from mane.contact.strips import _kernels_table as table
from mane.contact.strips.params import StripParams
from mane.geometry.checks import IntArray
from mane.geometry.threads import most_threads
from mane.simd.f32x16 import WIDTH
from mane.strand.model import Float64Array, StrandModel

FIRST_ROOM = 64
MAX_CELLS = 1 << 16
VERTEX_CELL = 6.0  # size of a cell that vertices are sorted into, in reaches
SEGMENT_CELL = 3.0  # size of a cell that segments are sorted into, in the longest of their halves


class Candidates:
    """Pairs that could touch, one row per strand or strip; see `find_segments` and `find_faces`."""

    def __init__(self, rows: int) -> None:
        self.count = np.zeros(rows, np.int64)
        self._allocate(FIRST_ROOM)

    def _allocate(self, room: int) -> None:
        shape = (len(self.count), room)
        self.own, self.other = np.zeros((2, *shape), np.int32)
        self.side, self.before = np.zeros((2, *shape), np.int8)
        self.limit = np.zeros(shape)

    def grown(self) -> bool:
        """Make room if the last broad phase found more than there was; then it has to be made again."""
        most = int(self.count.max(initial=0))
        if most <= self.own.shape[1] - WIDTH:  # lanes read on behind the last
            return False
        self._allocate(2 * most + WIDTH)
        return True

    @property
    def listed(self) -> tuple[NDArray[Any], ...]:
        """How many each row has, which they are, and what is known of them: side, side before, gap it should have."""
        return self.count, self.own, self.other, self.side, self.before, self.limit


class Grid:
    """Cells of equal size around vertices or segments, with buffers that are made once."""

    def __init__(self, room: int) -> None:
        self.rows = np.zeros((room, kernels.ROW), np.float32)
        self._sorted = np.zeros_like(self.rows)
        self._low = np.zeros(3)
        self._dims = np.ones(3, np.int64)
        self._starts = np.zeros(MAX_CELLS + 1, np.int64)
        self._place = np.zeros(room, np.int64)
        self._order = np.zeros(room + WIDTH, np.int32)
        self._columns = np.zeros(kernels.COLUMNS * (room + WIDTH), np.float32)

    def sort(self, cell: float) -> tuple[Any, ...]:
        """Sort `rows` into cells of at least that size [m]; returns what `gather` calls a grid."""
        cells, sorted_by_cell = (self._low, self._dims, self._starts), (self._order, self._columns, self._sorted)
        inv_cell = kernels.sort_into_cells(self.rows, cell, *cells, self._place, *sorted_by_cell)
        return self._low, inv_cell, self._dims, self._starts, *sorted_by_cell


class BroadPhase:
    """Lists segments that could meet segments, and vertices that could meet triangles of strips.

    Attributes:
        segments: a row per strand.
        faces: a row per strip.
        table: the hair as lanes read it: columns, rows, unit vectors along segments and at vertices; see
            `_kernels_table`.
    """

    def __init__(self, model: StrandModel, params: StripParams) -> None:
        strands, vertices = model.strand_count, model.vertex_count
        self._params = params
        self._segment_grid, self._vertex_grid = Grid(strands * vertices), Grid(strands * vertices)
        room = strands * vertices + 2 * WIDTH
        self.table = (
            np.zeros(table.COLUMNS * room),
            np.zeros(table.ROW * room, np.float32),
            np.zeros((strands, vertices - 1, 3)),
            np.zeros((strands * vertices, 3)),
        )
        threads = most_threads()
        padded = -(-(vertices - 1) // WIDTH) * WIDTH
        self._near = np.zeros((threads, kernels.ROW * room), np.float32)
        self._numbers, self._hits = np.zeros((2, threads, room), np.int32)
        self._planes = np.zeros((threads, 2 * padded * table.PLANE), np.float32)
        self._exact = np.zeros((threads, 2 * padded * table.EXACT))
        self._kept = np.zeros((threads, room), np.int32)
        self.segments = Candidates(strands)
        self.lay_strips(0)

    def lay_strips(self, pair_count: int) -> None:
        """Make room for strips."""
        self.faces = Candidates(pair_count)

    @property
    def scratch(self) -> tuple[NDArray[np.int32], NDArray[np.float32], Float64Array]:
        """For each thread a list as long as any row of candidates, planes of triangles, and their exact columns."""
        longest = max(self.segments.own.shape[1], self.faces.own.shape[1])
        if self._kept.shape[1] < longest:
            self._kept = np.zeros((len(self._kept), longest), np.int32)
        return self._kept, self._planes, self._exact

    def find(self, points: Float64Array, takes_part: NDArray[np.bool_], pairs: IntArray, widest: Float64Array) -> None:
        """List all candidate pairs until the next broad phase.

        Args:
            points: of all strands [m], shape (G, V, 3).
            takes_part: strands that may touch anything, shape (G,).
            pairs: of strands that have a strip between them, shape (P, 2).
            widest: triangles wider than this [m] are broken or not there, shape (P, 2 N).
        """
        columns, _, along_segment, along_vertex = self.table
        slack = table.SLACK * table.lay_out_points(points, columns, along_segment, along_vertex)
        reach = self._params.zone + self._params.margin + slack
        self._find_segments(points, takes_part, reach)
        if len(pairs):
            self._find_faces(points, takes_part, pairs, widest, reach, self._params.margin + slack)

    def _find_segments(self, points: Float64Array, takes_part: NDArray[np.bool_], reach: float) -> None:
        grid, rows = self._segment_grid, self.segments
        longest = kernels.list_segments(points, self.table[2], takes_part, grid.rows)
        cells = grid.sort(SEGMENT_CELL * max(longest, reach))
        around = (grid.rows, longest, cells, reach, self._near, self._numbers, self._hits)
        while True:
            kernels.find_segments(points, takes_part, *around, rows.count, rows.own, rows.other)
            if not rows.grown():
                return

    def _find_faces(
        self,
        points: Float64Array,
        takes_part: NDArray[np.bool_],
        pairs: IntArray,
        widest: Float64Array,
        reach: float,
        beside: float,
    ) -> None:
        grid, rows = self._vertex_grid, self.faces
        columns, _, along_segment, along_vertex = self.table
        kernels.list_vertices(points, along_vertex, takes_part, grid.rows)
        around = (grid.sort(VERTEX_CELL * reach), (reach, beside), self._near, self._numbers, self._hits)
        buffers = (*around, self._planes, self._exact)
        while True:
            kernels.find_faces(
                points, columns, along_segment, pairs, widest, *buffers, rows.count, rows.own, rows.other
            )
            if not rows.grown():
                return
