"""Which parts of the hair could touch before the next search, in buffers that only ever grow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.contact import _kernels_strips as geometry
from mane.contact import _kernels_strips_search as kernels
from mane.contact.strips_params import StripParams
from mane.geometry.checks import IntArray
from mane.geometry.threads import most_threads
from mane.strand.model import Float64Array, StrandModel

FIRST_ROOM = 64
MAX_CELLS = 1 << 16
VERTEX_CELL = 3.5  # size of a cell that vertices are sorted into, in reaches
SEGMENT_CELL = 1.5  # size of a cell that segments are sorted into, in the longest of their halves


class Candidates:
    """Pairs that could touch, one row per strand or strip; see `find_segments` and `find_faces`."""

    def __init__(self, rows: int) -> None:
        self.count = np.zeros(rows, np.int64)
        self._allocate(FIRST_ROOM)

    def _allocate(self, room: int) -> None:
        shape = (len(self.count), room)
        self.found = np.zeros((*shape, 2), np.int64)
        self.side, self.before = np.zeros((2, *shape), np.int8)
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


class Search:
    """Lists segments that could meet segments, and vertices that could meet triangles of strips.

    Attributes:
        segments: a row per strand.
        faces: a row per strip.
        firsts: where the candidates of each triangle begin in its row, shape (P, 2 N + 1).
        who: scratch, a row per thread.
        along_segment, along_vertex: unit vectors along the hair, shapes (G, N, 3) and (G V, 3).
    """

    def __init__(self, model: StrandModel, params: StripParams) -> None:
        strands, vertices = model.strand_count, model.vertex_count
        self._params = params
        self._segment_grid, self._vertex_grid = Grid(strands * (vertices - 1)), Grid(strands * vertices)
        self.along_segment = np.zeros((strands, vertices - 1, 3))
        self.along_vertex = np.zeros((strands * vertices, 3))
        self._sorted = np.zeros((strands * vertices, 6))
        self._bars, self._sorted_bars = np.zeros((2, strands * (vertices - 1), 7))
        threads = most_threads()
        room = strands * vertices + kernels.LANES  # some places more than there are, for what fails last
        self.who = np.zeros((threads, room), np.int64)
        self._columns = np.zeros((threads, kernels.COLUMNS * room))
        self.segments = Candidates(strands)
        self.lay_strips(0, vertices - 1)

    def lay_strips(self, pair_count: int, segment_count: int) -> None:
        """Make room for strips."""
        self.faces = Candidates(pair_count)
        self.firsts = np.zeros((pair_count, 2 * segment_count + 1), np.int64)

    def see_directions(self, points: Float64Array) -> None:
        """Work out where the hair runs."""
        geometry.find_directions(points, self.along_segment, self.along_vertex)

    def find(self, points: Float64Array, takes_part: NDArray[np.bool_], pairs: IntArray, widest: Float64Array) -> None:
        """List everything that could touch before the next search.

        Args:
            points: of all strands [m], shape (G, V, 3).
            takes_part: strands that may touch anything, shape (G,).
            pairs: of strands that have a strip between them, shape (P, 2).
            widest: triangles wider than this [m] are broken or not there, shape (P, 2 N).
        """
        self.see_directions(points)
        reach = self._params.zone + self._params.margin
        self._find_segments(points, takes_part, reach)
        if len(pairs):
            self._find_faces(points, takes_part, pairs, widest, reach)

    def _find_segments(self, points: Float64Array, takes_part: NDArray[np.bool_], reach: float) -> None:
        longest = kernels.find_bars(points, self.along_segment, self._bars)
        grid, rows = self._segment_grid, self.segments
        enabled = np.repeat(takes_part, points.shape[1] - 1)
        count = grid.sort(np.ascontiguousarray(self._bars[:, :3]), enabled, SEGMENT_CELL * max(longest, reach))
        np.take(self._bars, grid.order[:count], axis=0, out=self._sorted_bars[:count])
        bars = (self._bars, self._sorted_bars, longest)
        while True:
            kernels.find_segments(
                points, takes_part, *bars, *grid.layout, reach, self.who, self._columns, rows.count, rows.found
            )
            if not rows.grown():
                return

    def _find_faces(
        self,
        points: Float64Array,
        takes_part: NDArray[np.bool_],
        pairs: IntArray,
        widest: Float64Array,
        reach: float,
    ) -> None:
        flat, grid, rows = points.reshape(-1, 3), self._vertex_grid, self.faces
        count = grid.sort(flat, np.repeat(takes_part, points.shape[1]), VERTEX_CELL * reach)
        self._sorted[:count, :3], self._sorted[:count, 3:] = (
            flat[grid.order[:count]],
            self.along_vertex[grid.order[:count]],
        )
        around = (*grid.layout, self._sorted, (reach, self._params.margin), self.who, self._columns)
        while True:
            kernels.find_faces(points, self.along_segment, pairs, widest, *around, rows.count, rows.found, self.firsts)
            if not rows.grown():
                return
