"""`NarrowBand`: the distance field of a closed mesh whose points move, filled again in a few milliseconds.

Near the surface, where hair touches it, the distance at the nodes is exact; farther inside it is handed on from there.
The cells keep their size and lie at whole multiples of it, whatever the mesh does; the grid follows its bounding box.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mane.body._kernels_normals import fill_face_normals
from mane.body.band import _kernels_coarse as coarse_kernels
from mane.body.band import _kernels_crossings as crossing_kernels
from mane.body.band import _kernels_near as near_kernels
from mane.body.band import _kernels_triangles as triangles
from mane.body.band._kernels_coarse import MARGIN, Coarse
from mane.body.band._kernels_crossings import Crossings
from mane.body.closed import ClosedMesh
from mane.body.sdf import MAX_NODES, SignedDistanceField
from mane.geometry.checks import FloatArray, require_positive

# Distances at nodes are exact up to here [cells]: no corner of a cell that the surface cuts is farther from it than
# the cell's diagonal.
REACH = 1.75
# Free cells around the mesh; all that lies within reach of it is then in the grid.
PADDING_CELLS = 3
# Planes of the grid that one task fills: few enough to stay in the cache, even because of the coarser nodes.
SLAB = 4
# Sweeps go through 16 coarser nodes side by side.
MIN_NODES = 2 * coarse_kernels.WIDTH + 1
NEAR_STEPS = np.arange(near_kernels.WIDTH, dtype=np.float32)
COARSE_STEPS = np.arange(coarse_kernels.WIDTH, dtype=np.float32)


class _Slabs(NamedTuple):
    """Which triangles reach into each slab of planes, and the room for their crossings with the lines of the grid."""

    start: NDArray[np.int64]  # (S + 1,)
    members: NDArray[np.int32]
    room: NDArray[np.int64]  # (S + 1,)
    order: NDArray[np.int64]  # (S,): in which they are done


class NarrowBand:
    """A distance field that is filled again and again for one mesh.

    At nodes less than `REACH` cells from the surface the distance is exact. Farther inside it is that to a point of the
    surface which is closest or nearly so (off by up to a third of a cell), at odd nodes the mean of such. Farther
    outside it is `REACH` cells, or like inside where it is asked for everywhere. The sign is exact at every node:
    inside is where the winding number of the closed mesh is above zero. Parts of the mesh within other parts do not
    count; where two meet, the surface may be off by up to a cell. Features thinner than a cell are lost, as in any
    field.

    Args:
        closed: the triangles.
        cell_size: edge of a cell [m].
        everywhere: whether distances are to be right also far outside.
    """

    def __init__(self, closed: ClosedMesh, cell_size: float, *, everywhere: bool = False) -> None:
        require_positive("cell_size", cell_size)
        self.closed = closed
        # Rounded now, so that the nodes are where float32 kernels will look for them.
        self.cell_size = float(np.float32(cell_size))
        self.everywhere = everywhere
        count = len(closed.faces)
        self._normals = np.empty((count, 3), np.float32)
        self._extents = np.empty((closed.point_count, 3), np.float32)
        self._corners = np.empty((count, 3, 3), np.float32)
        self._boxes = np.empty((count, 6), np.int32)
        self._frames = np.empty(count * triangles.ROW, np.float32)
        self._is_buried = np.zeros(count, np.bool_)
        self._used = np.unique(closed.faces)
        self._kept: dict[str, NDArray[Any]] = {}

    def fill(self, mesh_points: FloatArray) -> SignedDistanceField:
        """Return the field of the mesh with its points (N, 3) [m] where they are; the next one reuses its arrays."""
        points = self.closed.points(mesh_points)
        first, nodes = self._grid(points)
        self._place(points, first, nodes)
        slabs = self._slabs(int(nodes[0]))
        crossings = self._cross(nodes, slabs)
        values = self._room("values", nodes, np.float32)
        self._fill(nodes, slabs, crossings, values)
        return _trusted_field(values, (first * self.cell_size).astype(np.float32), self.cell_size)

    def _grid(self, points: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First node [cells] and counts of nodes, which are odd."""
        bounds = np.empty((2, 3), np.float32)
        triangles.find_bounds(points, self._used, bounds)
        low, high = bounds.astype(np.float64) / self.cell_size
        first = np.floor(low) - PADDING_CELLS
        nodes = np.ceil(high) + PADDING_CELLS - first + 1
        nodes = np.maximum(nodes + (nodes + 1) % 2, MIN_NODES)
        if not np.prod(nodes) <= MAX_NODES:
            size = " x ".join(f"{value:.3g}" for value in bounds[1] - bounds[0])
            raise ValueError(
                f"mesh: must stay small enough for {MAX_NODES:.3g} nodes, got one that grew to {size} m with cells of "
                f"{self.cell_size:.3g} m"
            )
        return first.astype(np.int64), nodes.astype(np.int64)

    def _place(self, points: FloatArray, first: NDArray[np.int64], nodes: NDArray[np.int64]) -> None:
        """Put the triangles into the grid."""
        closed = self.closed
        fill_face_normals(points, closed.faces, self._normals)
        triangles.find_extents(
            self._normals, closed.vertex_start, closed.vertex_corners, np.float32(REACH), self._extents
        )
        triangles.place_triangles(
            points,
            closed.faces,
            self._normals,
            self._extents,
            1.0 / self.cell_size,
            first.astype(np.float64),
            nodes.astype(np.int32),
            self._corners,
            self._boxes,
            self._frames,
        )

    def _room(self, name: str, shape: NDArray[np.int64] | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array of this shape, in memory that is kept; what it holds is anything."""
        size = int(np.prod(shape))
        if name not in self._kept or self._kept[name].size < size:
            # Somewhat more, since a mesh that grows does so frame by frame.
            self._kept[name] = np.empty(size + size // 8, dtype)
        return self._kept[name][:size].reshape(shape)

    def _slabs(self, planes: int) -> _Slabs:
        count = -(-planes // SLAB)
        start, room = np.empty((2, count + 1), np.int64)
        triangles.count_in_slabs(self._corners, self._boxes, SLAB, start, room)
        members = self._room("members", (int(start[-1]),), np.int32)
        triangles.sort_into_slabs(self._boxes, SLAB, start, members)
        return _Slabs(start, members, room, _scattered(count))

    def _cross(self, nodes: NDArray[np.int64], slabs: _Slabs) -> Crossings:
        """Find where lines cross the surface, and which triangles are buried."""
        lines, count = (int(nodes[0]), int(nodes[1])), int(slabs.room[-1])
        crossings = Crossings(
            first=self._room("first", lines, np.int64),
            size=self._room("size", lines, np.int64),
            node=self._room("node", (count,), np.int32),
            winding=self._room("winding", (count,), np.int32),
        )
        extremes = np.empty((len(slabs.order), 2), np.int64)
        scratch = self._room("scratch", (3, count), np.int32)
        crossing_kernels.fill_crossings(self._corners, *slabs, SLAB, scratch, crossings, extremes)
        if extremes[:, 0].min() < 0 or extremes[:, 1].max() > 1:
            crossing_kernels.find_buried(self._corners, self._frames, crossings, self._is_buried)
        else:
            self._is_buried[:] = False
        return crossings

    def _fill(self, nodes: NDArray[np.int64], slabs: _Slabs, crossings: Crossings, values: FloatArray) -> None:
        coarse = self._coarse(nodes)
        owners = self._room("owners", (*coarse.is_sought.shape[:2], int(nodes[2])), np.float32)
        reach, cell = np.float32(REACH), np.float32(self.cell_size)
        near_kernels.fill_near(
            self._corners,
            self._boxes,
            self._frames,
            self._is_buried,
            slabs.start,
            slabs.members,
            slabs.order,
            SLAB,
            crossings,
            reach,
            cell,
            self.everywhere,
            NEAR_STEPS,
            values,
            owners,
            coarse,
        )
        coarse_kernels.sweep(COARSE_STEPS, coarse)
        coarse_kernels.fill_distances(COARSE_STEPS, coarse)
        coarse_kernels.fill_far(coarse, crossings, reach, cell, self.everywhere, values)

    def _coarse(self, nodes: NDArray[np.int64]) -> Coarse:
        x, y, z = (int(count) for count in (nodes + 1) // 2)
        size = x * y * z + 2 * MARGIN
        chunks_y, chunks_z = (-(-count // coarse_kernels.WIDTH) for count in (y, z))
        return Coarse(
            by_z=self._with_margins("by_z", size),
            by_y=self._with_margins("by_y", size),
            is_sought=self._room("is_sought", (x, y, z), np.uint8),
            is_used=self._room("is_used", (x, y), np.uint8),
            chunks_z=self._room("chunks_z", (x, y, chunks_z), np.uint8),
            chunks_y=self._room("chunks_y", (x, z, chunks_y), np.uint8),
            distance=self._room("distance", (x, y, z), np.float32),
        )

    def _with_margins(self, name: str, size: int) -> FloatArray:
        array: FloatArray = self._room(name, (3, size), np.float32)
        array[:, :MARGIN] = array[:, -MARGIN:] = coarse_kernels.NOWHERE
        return array

    @property
    def nbytes(self) -> int:
        """Bytes of everything that is kept from one filling to the next."""
        own = (self._normals, self._extents, self._corners, self._boxes, self._frames, self._is_buried)
        return sum(array.nbytes for array in (*own, *self._kept.values()))


def _scattered(count: int) -> NDArray[np.int64]:
    """Order the numbers up to `count` so that any part of the list has some from everywhere: by their bits reversed."""
    bits = max(count - 1, 1).bit_length()
    numbers = np.arange(count)
    reversed_bits = sum(((numbers >> bit) & 1) << (bits - 1 - bit) for bit in range(bits))
    return np.argsort(reversed_bits, kind="stable").astype(np.int64)


def _trusted_field(values: FloatArray, origin: FloatArray, cell_size: float) -> SignedDistanceField:
    """Return a field without a look at its values, which takes as long as filling them."""
    field = object.__new__(SignedDistanceField)
    for name, value in (("values", values), ("origin", origin), ("cell_size", cell_size)):
        object.__setattr__(field, name, value)
    return field
