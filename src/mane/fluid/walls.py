"""`Walls`: what solids do to a grid: which part of every face they leave open, and how they move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Pose
from mane.body.packed import PackedSolid, fill_pose_pair
from mane.body.solid import Solid
from mane.fluid import _kernels_walls as kernels
from mane.fluid._kernels_viscosity import MIXED, PLAIN, SKIPPED
from mane.fluid.grid import FIXED, OPEN, FloatArray, Grid, any_in_chunks

FAR = 8.0  # [cells] that corners count as being away from solids which are farther
MARGIN = 3  # [cells] around the bounds of a solid within which distances are asked for
# A face that is open by less than this is closed: what a moving solid squeezes out of a pocket would shoot through it.
NARROWEST = 0.1
HALF_DIAGONAL = 0.5 * 3.0**0.5  # [cells]
DEPTH_SAMPLES = 17  # along each axis, to see how deep one can be in a solid; with those in the middle of its bounds
NEAR = 2.0  # [cells] from a surface that deforms within which its own velocity matters


class Moving(Protocol):
    """A solid during a step; `mane.strand.ports.MovingSolid` is one."""

    @property
    def solid(self) -> Solid:
        """Its geometry."""

    @property
    def before(self) -> Pose:
        """From its frame to the world at the start of the step."""

    @property
    def after(self) -> Pose:
        """The same at the end."""

    @property
    def times(self) -> tuple[float, float]:
        """Start and end of the step [s]."""


class Walls:
    """Open parts of faces and velocities of walls on a grid.

    Attributes:
        open_part: of every face, 0 to 1, shape (3, *padded).
        beside_solids: the part of every face that solids leave, as if sides of the box were open, shape (3, *padded).
        middle: distance of the middle of every face to the nearest solid [cells], negative inside, shape (3, *padded).
        velocity: of what covers a face, along its axis [m/s], shape (3, *padded).
        far: what `middle` would be of one axis without solids, shape (*padded,).
        has_solids: whether there are any.
        covered: flat indices of faces that lie within solids.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        shape = (3, *grid.padded)
        self.open_part: FloatArray = np.zeros(shape, np.float32)
        self.beside_solids: FloatArray = np.ones(shape, np.float32)
        self.middle: FloatArray = np.full(shape, FAR, np.float32)
        self.velocity: FloatArray = np.zeros(shape, np.float32)
        self.far: FloatArray = np.full(grid.padded, FAR, np.float32)
        self.has_solids = False
        self.covered: NDArray[np.int64] = np.zeros(0, np.int64)
        self._free: dict[tuple[int, bool], NDArray[np.bool_]] = {}
        self._chunks: dict[tuple[int, bool], NDArray[np.uint8]] = {}
        corners = tuple(count + 1 for count in grid.shape)
        self._distances = np.full(corners, FAR, np.float32)
        self._owners = np.full(corners, -1, np.int64)
        self._known: bytes | None = None
        self._depths: dict[int, float] = {}  # of the deepest place in a solid [m]
        self._packed: dict[int, PackedSolid] = {}  # by the number of the solid, which it keeps alive
        for axis in range(3):
            grid.faces(self.open_part[axis], axis)[...] = 1.0
        self._close_sides()

    def update(self, solids: Sequence[Moving], dt: float) -> bool:
        """Take over where solids are at the end of a step of `dt` [s]; return whether anything has changed."""
        poses = np.zeros((max(1, len(solids)), 24))
        for solid, pair in zip(solids, poses, strict=False):
            fill_pose_pair(solid.before, solid.after, pair)
        deforming = any(self._pack(moving).is_deforming for moving in solids)
        key = poses.tobytes() + str([id(moving.solid) for moving in solids]).encode() + str(dt).encode()
        if key == self._known and not deforming:
            return False
        self._known = key
        if not solids and not self.has_solids:
            return False
        self.has_solids = bool(solids)
        grid = self.grid
        self._distances.fill(FAR)
        self._owners.fill(-1)
        for number, moving in enumerate(solids):
            packed = self._pack(moving)
            first, last = self._corner_range(moving)
            if (first < last).all():
                kernels.fill_distances(
                    packed.arrays_at(moving.times[1]), poses[number], number, self._padding(packed), grid.origin,
                    grid.cell, first, last, self._distances, self._owners,
                )  # fmt: skip
        kernels.open_faces(self._distances, np.array(grid.shape), self.open_part, self.middle)
        self.open_part[self.open_part < NARROWEST] = 0.0
        np.copyto(self.beside_solids, self.open_part)
        self.velocity.fill(0.0)
        kernels.wall_velocities(
            self.open_part, self._owners, poses, grid.origin, grid.cell, dt, np.array(grid.shape), self.velocity
        )
        for number, moving in enumerate(solids):
            if self._pack(moving).is_deforming:
                self._add_deformation(number, moving)
        self._close_sides()
        self.covered = np.flatnonzero((self.middle < 0.0) & (self.open_part == 0.0))
        self._free.clear()
        self._chunks.clear()
        return True

    def free_faces(self, axis: int, *, holds: bool) -> NDArray[np.bool_]:
        """Faces across an axis that viscosity may change, shape (*padded,).

        Those on closed sides and those behind walls are not, nor those whose middle is, where walls hold the fluid.
        """
        known = self._free.get((axis, holds))
        if known is not None:
            return known
        grid = self.grid
        free = np.zeros(grid.padded, np.bool_)
        grid.faces(free, axis)[...] = True
        free &= self.open_part[axis] > 0.0
        if holds:
            free &= self.middle[axis] >= 0.0
        rows = np.moveaxis(grid.faces(free, axis), axis, 0)
        for side, at in ((2 * axis, 0), (2 * axis + 1, -1)):
            if grid.kinds[side] != OPEN:
                rows[at] = False
        self._free[axis, holds] = free
        return free

    def face_chunks(self, axis: int, *, holds: bool) -> NDArray[np.uint8]:
        """Kinds of chunks of sixteen faces across an axis, as `_kernels_viscosity` has them, (*padded) / 16."""
        known = self._chunks.get((axis, holds))
        if known is not None:
            return known
        free, beside = self.free_faces(axis, holds=holds), np.zeros(self.grid.padded, np.bool_)
        if holds and self.has_solids:
            behind = self.middle[axis] < 0.0
            for other in range(3):
                rows, source = np.moveaxis(beside, other, 0), np.moveaxis(behind, other, 0)
                rows[1:] |= source[:-1]
                rows[:-1] |= source[1:]
        for side, kind in enumerate(self.grid.kinds):
            if kind == FIXED and side // 2 != axis:
                faces = self.grid.faces(beside, axis)
                np.moveaxis(faces, side // 2, 0)[-1 if side % 2 else 0] = True
        has_some, is_mixed = any_in_chunks(free), any_in_chunks(free & beside)
        chunks: NDArray[np.uint8] = np.where(is_mixed, MIXED, np.where(has_some, PLAIN, SKIPPED)).astype(np.uint8)
        self._chunks[axis, holds] = chunks
        return chunks

    def in_cells(self) -> tuple[FloatArray, FloatArray]:
        """Distance of the middle of every cell to the nearest solid [cells], and the way away from it (..., 3)."""
        d = self._distances
        low, high = d[:-1], d[1:]
        sums = [0.5 * (low + high), high - low]
        for axis in (1, 2):
            before, behind = ([np.moveaxis(a, axis, 0)[part] for a in sums] for part in (slice(-1), slice(1, None)))
            means = [np.moveaxis(0.5 * (a + b), 0, axis) for a, b in zip(before, behind, strict=True)]
            sums = [*means, np.moveaxis(behind[0] - before[0], 0, axis)]
        normal = np.stack(sums[1:], axis=-1)
        normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-6)
        return sums[0], normal

    def room_in_cells(self) -> FloatArray:
        """Part of every cell that solids leave free, of the grid's shape.

        Where all corners of a cell are outside it is free, however far they are: the field of a body that deforms goes
        no farther than a few millimetres, which may be less than half of a cell.
        """
        least = most = self._distances
        for axis in range(3):
            least, most = (
                np.moveaxis(better(np.moveaxis(own, axis, 0)[:-1], np.moveaxis(own, axis, 0)[1:]), 0, axis)
                for better, own in ((np.minimum, least), (np.maximum, most))
            )
        room: FloatArray = np.clip(0.5 + self.in_cells()[0], 0.0, 1.0).astype(np.float32)
        room[least >= 0.0] = 1.0
        room[most <= 0.0] = 0.0
        return room

    def shut_cells(self) -> NDArray[np.bool_]:
        """Cells without an open face, of the grid's shape."""
        shut = np.ones(self.grid.shape, np.bool_)
        for axis in range(3):
            closed = self.grid.faces(self.open_part[axis], axis) == 0.0
            rows, along = np.moveaxis(shut, axis, 0), np.moveaxis(closed, axis, 0)
            rows &= along[:-1] & along[1:]
        return shut

    def forget(self) -> None:
        """Look at solids again at the next update, wherever they are: the box has moved."""
        self._known = None

    def _pack(self, moving: Moving) -> PackedSolid:
        """A solid for kernels, packed once."""
        number = id(moving.solid)
        if number not in self._packed:
            self._packed[number] = PackedSolid.of(moving.solid)
        return self._packed[number]

    def _padding(self, packed: PackedSolid) -> float:
        """How much thicker a solid counts than it is [m].

        Something flat that is thinner than a cell passes between the corners of cells, and the fluid through it. A face
        that it parts two cells at has all corners within half the diagonal of a cell of its middle, and is closed where
        it is as thick as that on either side. A wire lets the fluid around, and is left as it is.
        """
        if packed.is_deforming:
            return 0.0
        low, high = packed.solid.placed(Pose.identity(), 0.0).surface.bounds.astype(np.float64)
        size = high - low
        if not np.isfinite(size).all() or np.sort(size)[1] <= self.grid.cell:
            return 0.0
        depth = self._depths.get(id(packed.solid))
        if depth is None:
            steps = [np.linspace(a, b, DEPTH_SAMPLES) for a, b in zip(low, high, strict=True)]
            places = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, 3).astype(np.float32)
            depth = self._depths[id(packed.solid)] = max(0.0, -float(packed.solid.distance(places).min()))
        return max(0.0, HALF_DIAGONAL * self.grid.cell - depth)

    def _corner_range(self, moving: Moving) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First and last corner of cells, along each axis, that may be near a solid."""
        grid = self.grid
        low, high = moving.solid.placed(moving.after, moving.times[1]).surface.bounds.astype(np.float64)
        corners = np.stack(np.meshgrid(*zip(low, high, strict=True), indexing="ij"), axis=-1).reshape(-1, 3)
        if not np.isfinite(corners).all():
            return np.zeros(3, np.int64), np.array(grid.shape) + 1
        placed = (moving.after.apply(corners) - grid.origin) / grid.cell
        first = np.floor(placed.min(axis=0)).astype(np.int64) - MARGIN
        last = np.ceil(placed.max(axis=0)).astype(np.int64) + MARGIN + 1
        return np.clip(first, 0, np.array(grid.shape) + 1), np.clip(last, 0, np.array(grid.shape) + 1)

    def _add_deformation(self, number: int, moving: Moving) -> None:
        """Add how the surface moves within its own frame."""
        grid, surface = self.grid, moving.solid.placed(moving.after, moving.times[1])
        for axis in range(3):
            covered = grid.faces(self.open_part[axis], axis) < 1.0
            near = np.abs(grid.faces(self.middle[axis], axis)) < NEAR
            counts = covered.shape
            mine = self._owners[: counts[0], : counts[1], : counts[2]] == number
            places = np.argwhere(covered & near & mine)
            if not len(places):
                continue
            shift = np.array([0.0 if own == axis else 0.5 for own in range(3)])
            points = (grid.origin + grid.cell * (places + shift)).astype(np.float32)
            own = surface.velocity(points)[:, axis]
            self.velocity[axis][places[:, 0] + 1, places[:, 1] + 1, places[:, 2]] += own

    def _close_sides(self) -> None:
        """Let the sides of the box that are not open count as walls with their own velocity, where no solid is."""
        for side, kind in enumerate(self.grid.kinds):
            if kind != OPEN:
                axis, at = side // 2, -1 if side % 2 else 0
                index: list[slice | int] = [slice(None)] * 3
                index[axis] = at
                self.grid.faces(self.open_part[axis], axis)[tuple(index)] = 0.0
                is_free = self.grid.faces(self.beside_solids[axis], axis)[tuple(index)] == 1.0
                walls = self.grid.faces(self.velocity[axis], axis)[tuple(index)]
                walls[is_free] = self.grid.side_velocity[side, axis]
