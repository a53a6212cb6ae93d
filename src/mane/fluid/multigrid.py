"""`PressureSolver`: conjugate gradients for the pressure, preconditioned by one V-cycle of geometric multigrid.

Coarse cells are twice as large along every axis that has an even number of cells left. A cycle relaxes by red-black
Gauss-Seidel, in the reverse order on the way up, and hands residuals down and corrections up by matrices that are the
transpose of each other, so that the preconditioner is symmetric, as conjugate gradients need it.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.fluid import _kernels_levels as level_kernels
from mane.fluid import _kernels_pressure as kernels
from mane.fluid.grid import FloatArray, Grid
from mane.geometry.threads import using_threads
from mane.simd.align import zeros_aligned
from mane.simd.f32x16 import WIDTH

SMALLEST = 4  # cells along an axis that is not halved any more
COARSEST_SWEEPS = 8
FEW = 50_000  # cells of a level that one thread is done with before others would have begun
MOST_ITERATIONS = 200
NO_AIR: FloatArray = np.zeros((0, 0, 0), np.float32)


@dataclass(frozen=True)
class SolveReport:
    """How a linear solve went.

    Attributes:
        iterations: of conjugate gradients.
        residual: that is left, over that at the start; Euclidean norms.
    """

    iterations: int
    residual: float


def few_threads(shape: tuple[int, int, int]) -> AbstractContextManager[None]:
    """Run kernels on one thread within the block where there are few cells."""
    return using_threads(1) if math.prod(shape) <= FEW else nullcontext()


class Level:
    """One matrix with its arrays, flat as kernels read them.

    Args:
        shape: cells along x, y and z.
        inside: coefficient of a face within the fluid.
    """

    def __init__(self, shape: tuple[int, int, int], inside: float) -> None:
        self.shape = shape
        nx, ny, nz = shape
        self.padded = (nx + 2, ny + 2, WIDTH * -(-(nz + 1) // WIDTH))
        self.inside = np.float32(inside)
        self.cx, self.cy, self.cz = (zeros_aligned(self.padded, np.float32) for _ in range(3))
        self.diagonal, self.inverse, self.x, self.b = (zeros_aligned(self.padded, np.float32) for _ in range(4))
        self.kinds = np.zeros((nx + 2, ny + 2, self.padded[2] // WIDTH), np.uint8)
        row = self.padded[2]
        self.lengths = (nx, ny, row, (ny + 2) * row)
        self.faces = tuple(array.reshape(-1) for array in (self.cx, self.cy, self.cz))
        self.flat_kinds = self.kinds.reshape(-1)
        self.chunks, self.starts = np.zeros(0, np.int64), np.zeros(nx + 1, np.int64)
        self.flat_inverse, self.flat_x, self.flat_b = (a.reshape(-1) for a in (self.inverse, self.x, self.b))
        self.flat_diagonal = self.diagonal.reshape(-1)

    def describe(self, to_air: FloatArray) -> None:
        """Find the diagonal and the kinds of chunks, once the coefficients are there."""
        level_kernels.describe_cells(
            self.cx, self.cy, self.cz, to_air, self.inside, self.shape[2], self.diagonal, self.inverse, self.kinds
        )
        filled = np.flatnonzero(self.flat_kinds)
        in_plane = self.kinds.shape[1] * self.kinds.shape[2]
        planes = filled // in_plane
        odd = (planes + filled % in_plane // self.kinds.shape[2]) & 1
        within = self.flat_kinds[filled] == kernels.INSIDE
        self.chunks = WIDTH * filled + kernels.ODD * odd + kernels.WITHIN * within
        self.starts = np.searchsorted(planes, np.arange(1, self.shape[0] + 2))

    def relax(self, colour: int) -> None:
        """Half a sweep of red-black Gauss-Seidel."""
        kernels.relax(
            self.flat_x, self.flat_b, *self.faces, self.flat_inverse, self.chunks, self.starts, kernels.CHECKER,
            self.inside, colour, *self.lengths[2:],
        )  # fmt: skip

    def relax_from_zero(self, colour: int) -> None:
        """The same from a pressure of zero."""
        kernels.relax_from_zero(
            self.flat_x, self.flat_b, self.flat_inverse, self.chunks, self.starts, kernels.CHECKER, colour
        )


class Multigrid:
    """One V-cycle on the matrix of a level, from a pressure of zero; `levels[0]` is the finest."""

    def __init__(self, finest: Level) -> None:
        self.levels = [finest]
        self.factors: list[NDArray[np.int64]] = []
        while True:
            fine = self.levels[-1]
            factors = np.array([1 + (n % 2 == 0 and n >= 2 * SMALLEST) for n in fine.shape], np.int64)
            if (factors == 1).all():
                break
            shape = tuple((np.array(fine.shape) // factors).tolist())
            # area over distance of a coarse cell within the fluid, the same along all axes unless one is not halved
            inside = 2.0 * float(fine.inside) if (factors == 2).all() else -1.0
            self.factors.append(factors)
            self.levels.append(Level(shape, inside))

    def describe(self, to_air: FloatArray = NO_AIR) -> None:
        """Make all matrices, once the coefficients of the finest are there."""
        self.levels[0].describe(to_air)
        inside = 1.0  # coefficient of a face within the fluid; a mean of the axes where one of them is not halved
        for fine, coarse, factors in zip(self.levels, self.levels[1:], self.factors, strict=False):
            for axis, (c, out) in enumerate(((fine.cx, coarse.cx), (fine.cy, coarse.cy), (fine.cz, coarse.cz))):
                level_kernels.coarsen_faces(c, fine.inverse, axis, tuple(factors.tolist()), *coarse.shape, out)
            if len(to_air):
                finer, to_air = to_air, zeros_aligned(coarse.padded, np.float32)
                half = np.float32(0.5 / inside)
                level_kernels.coarsen_air(finer, tuple(factors.tolist()), half, *coarse.shape, to_air)
                inside *= float(factors.prod()) ** (1.0 / 3.0)
            coarse.describe(to_air)

    def cycle(self, number: int = 0) -> None:
        """Fill `x` of a level with a rough solution for its `b`."""
        level = self.levels[number]
        level.relax_from_zero(0)
        level.relax(1)
        if number + 1 == len(self.levels):
            for _ in range(COARSEST_SWEEPS):
                level.relax(0)
                level.relax(1)
            for _ in range(COARSEST_SWEEPS):
                level.relax(1)
                level.relax(0)
            level.relax(1)
            level.relax(0)
            return
        coarse, factors = self.levels[number + 1], tuple(self.factors[number].tolist())
        steps = coarse.lengths[2:]
        kernels.restrict(
            level.flat_x, level.flat_b, *level.faces, level.flat_diagonal, level.flat_kinds, level.inside,
            *level.lengths, factors, coarse.flat_b, *steps,
        )  # fmt: skip
        with few_threads(coarse.shape):
            self.cycle(number + 1)
        kernels.prolong(level.flat_x, level.flat_kinds, *level.lengths, factors, coarse.flat_x, *steps)
        level.relax(1)
        level.relax(0)


class PressureSolver:
    """Solves for a pressure on a grid whose faces are open to some extent.

    Args:
        grid: of the cells.

    Attributes:
        pressure: solution of the last solve, and where the next one starts; of the grid's padded shape.
        tolerance: of the residual, relative to the right-hand side.
    """

    def __init__(self, grid: Grid, *, tolerance: float = 1e-5) -> None:
        self.grid, self.tolerance = grid, tolerance
        self.level = Level(grid.shape, 1.0)
        self.multigrid = Multigrid(self.level)
        self.pressure = grid.zeros()
        self._d, self._r, self._p, self._y = (grid.zeros() for _ in range(4))
        self._partial = np.zeros(grid.shape[0])
        self._parent = np.zeros(1 + grid.cell_count, np.int64)
        self._sums, self._counts = np.zeros(len(self._parent)), np.zeros(len(self._parent), np.int64)
        self._to_air = NO_AIR
        self._is_closed = False

    @property
    def is_fluid(self) -> NDArray[np.bool_]:
        """Cells with an open face, of the grid's shape."""
        fluid: NDArray[np.bool_] = self.grid.cells(self.level.inverse) > 0
        return fluid

    def open_faces(
        self,
        cx: FloatArray,
        cy: FloatArray,
        cz: FloatArray,
        *,
        is_liquid: NDArray[np.uint8] | None = None,
        are_walls_new: bool = True,
    ) -> None:
        """Take over how far faces are open, 0 to 1; those of closed sides must be 0.

        With `is_liquid`, of the padded shape, pressure is solved for in those cells alone and zero in the others, the
        air; faces between the two are open to one over the part of the way that is liquid (Gibou and others 2002). With
        `are_walls_new` false only faces are closed that were closed before, and no others.
        """
        own = self.level.cx, self.level.cy, self.level.cz
        for array, given in zip(own, (cx, cy, cz), strict=True):
            array[...] = given
        if is_liquid is not None:
            if not len(self._to_air):
                self._to_air = self.grid.zeros()
            level_kernels.part_from_air(is_liquid, self.grid.shape, *own, self._to_air)
        self.multigrid.describe(self._to_air)
        if is_liquid is not None:
            self.pressure[self.level.inverse == 0.0] = 0.0
        if not are_walls_new:
            return
        level_kernels.find_components(*own, self._to_air, *self.grid.shape, self._parent)
        inner = self._parent[1:].reshape(self.grid.shape)
        self._is_closed = bool((inner[self.is_fluid] > 0).any())

    def solve(self, b: FloatArray) -> SolveReport:
        """Solve for `b`; where a component of cells reaches no open side, for `b` less its mean over it.

        What `pressure` lacks is solved for and added to it, so that a good guess loses no digits. A guess that is worse
        than nothing is dropped.
        """
        with few_threads(self.grid.shape):
            return self._solve(b)

    def _solve(self, b: FloatArray) -> SolveReport:
        level = self.level
        lists = level.chunks, level.starts
        x, d, r, p, y = (array.reshape(-1) for array in (self.pressure, self._d, self._r, self._p, self._y))
        self._balance(b)
        size = np.sqrt(self._dot(b.reshape(-1), b.reshape(-1)))
        self._apply(x, y)
        np.subtract(b.reshape(-1), y, out=r)
        if not self._dot(r, r) < size**2:
            x[:] = 0.0
            r[:] = b.reshape(-1)
        self._balance(self._r)
        left = np.sqrt(self._dot(r, r))
        d[:] = 0.0
        iterations, product = 0, 0.0
        while left > self.tolerance * size and iterations < MOST_ITERATIONS:
            level.flat_b[:] = r
            self.multigrid.cycle()
            self._balance(level.x)  # or the constant that is free there grows until its rounding drowns the rest
            before, product = product, self._dot(r, level.flat_x)
            if iterations == 0:
                p[:] = level.flat_x
            else:
                kernels.turn(p, level.flat_x, np.float32(product / before), *lists)
            curvature = self._apply(p, y)
            if not curvature > 0.0:
                break  # nothing left but rounding
            kernels.advance(d, r, p, y, np.float32(product / curvature), *lists, self._partial)
            left = np.sqrt(self._partial.sum())
            iterations += 1
        x += d
        self._balance(self.pressure)
        return SolveReport(iterations, float(left / size) if size else 0.0)

    def _balance(self, values: FloatArray) -> None:
        """Take the mean of closed components away."""
        if self._is_closed:
            level_kernels.balance_components(
                self._parent, self.level.inverse, *self.grid.shape, self._sums, self._counts, values
            )

    def _dot(self, a: Any, b: Any) -> float:
        kernels.dot(a, b, self.level.chunks, self.level.starts, self._partial)
        return float(self._partial.sum())

    def _apply(self, x: Any, y: Any) -> float:
        """Fill `y` with the matrix times `x`; return the sum of x y."""
        level = self.level
        kernels.apply_matrix(
            x, *level.faces, level.flat_diagonal, level.chunks, level.starts, level.inside, *level.lengths[2:], y,
            self._partial,
        )  # fmt: skip
        return float(self._partial.sum())
