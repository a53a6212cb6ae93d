"""`Grid`: a box of cubic cells, how its arrays lie in memory, and what happens at its six sides.

Pressure is known in the middle of a cell and each component of velocity in the middle of the faces across it (a MAC
grid): `u[i, j, k]` belongs to the face between cells i - 1 and i, likewise `v` and `w`. All arrays have the same shape,
two cells more along x and y for what lies outside and rows along z that end on a line of the cache, so that one index
serves for all of them: cell (i, j, k) is `array[i + 1, j + 1, k]`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import as_array, require_choice, require_finite, require_positive
from mane.geometry.memory import GIGABYTE, free_memory
from mane.simd.align import zeros_aligned
from mane.simd.f32x16 import WIDTH

FloatArray = NDArray[np.float32]
Float64Array = NDArray[np.float64]

SIDES = ("x-", "x+", "y-", "y+", "z-", "z+")
# What a side is: a wall without friction, a wall or an inflow with a velocity of its own, or nothing.
SLIP, FIXED, OPEN = 0, 1, 2
SIDE_KINDS = {"slip": SLIP, "fixed": FIXED, "open": OPEN}
# Bytes of a cell in all arrays of a `Flow`, its multigrid included; `tests/unit/fluid` counts them.
CELL_BYTES = 249


@dataclass(frozen=True)
class Side:
    """One side of the box.

    Attributes:
        kind: "slip", a wall without friction; "fixed", a wall or an inflow where the fluid has `velocity`; "open",
            where the pressure is zero and what comes in has `velocity`.
        velocity: of the wall or of what comes in [m/s].
    """

    kind: str = "slip"
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        require_choice("side", self.kind, list(SIDE_KINDS))
        require_finite("side velocity", np.asarray(self.velocity, np.float64))


class Grid:
    """A box of cells.

    Args:
        shape: cells along x, y and z; 1 along z for flow in a plane.
        cell: edge of a cell [m].
        origin: lowest corner of the box [m].
        sides: what happens at x-, x+, y-, y+, z-, z+, or the same everywhere; slip walls by default.

    Attributes:
        shape: as given.
        cell: as given.
        origin: as given, shape (3,).
        padded: shape of all arrays.
        kinds: of the sides, int64, shape (6,).
        side_velocity: [m/s], shape (6, 3), float32; may be changed between steps.
    """

    def __init__(
        self,
        shape: Sequence[int],
        cell: float,
        origin: ArrayLike = (0.0, 0.0, 0.0),
        sides: Sequence[Side] | Side = Side(),  # noqa: B008 - frozen
    ) -> None:
        self.shape = (int(shape[0]), int(shape[1]), int(shape[2]))
        if len(shape) != 3 or min(self.shape) < 1:
            raise ValueError(f"shape: must be three numbers of cells, each at least 1, got {tuple(shape)}")
        require_positive("cell", cell)
        self.cell = float(cell)
        self.origin: Float64Array = as_array("origin", origin, (3,), np.float64)
        require_finite("origin", self.origin)
        nx, ny, nz = self.shape
        self.padded = (nx + 2, ny + 2, WIDTH * math.ceil((nz + 1) / WIDTH))
        self.require_room()
        given = [sides] * 6 if isinstance(sides, Side) else list(sides)
        if len(given) != 6:
            raise ValueError(f"sides: must be one or six, in the order {', '.join(SIDES)}, got {len(given)}")
        self.kinds = np.array([SIDE_KINDS[side.kind] for side in given], np.int64)
        self.side_velocity = np.array([side.velocity for side in given], np.float32)

    @property
    def cell_count(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Memory that a flow on this grid takes [bytes]."""
        return CELL_BYTES * math.prod(self.padded)

    def require_room(self) -> None:
        """Raise ValueError where a flow on this grid cannot fit into memory."""
        free = free_memory()
        if free is not None and self.bytes > free:
            raise ValueError(
                f"shape: {' x '.join(map(str, self.shape))} cells of {self.cell:g} m take some "
                f"{self.bytes / GIGABYTE:,.1f} GB of memory and {free / GIGABYTE:,.1f} GB are free; use larger cells"
            )

    @property
    def bounds(self) -> Float64Array:
        """Lowest and highest corner of the box [m], shape (2, 3)."""
        return np.stack([self.origin, self.origin + self.cell * np.array(self.shape)])

    def zeros(self) -> FloatArray:
        """Return an array of zeros for one number per cell or face."""
        return zeros_aligned(self.padded, np.float32)

    def cells(self, array: NDArray[Any]) -> NDArray[Any]:
        """Part of an array that belongs to cells of the box, a view of shape `shape`."""
        return array[1:-1, 1:-1, : self.shape[2]]

    def faces(self, array: NDArray[Any], axis: int) -> NDArray[Any]:
        """Part of an array that belongs to faces across `axis`, a view with one more along it."""
        nx, ny, nz = (count + (own == axis) for own, count in enumerate(self.shape))
        return array[1 : nx + 1, 1 : ny + 1, :nz]

    def cell_centers(self) -> Float64Array:
        """Middle of every cell [m], shape (*shape, 3)."""
        return self._lattice(self.shape, (0.5, 0.5, 0.5))

    def face_centers(self, axis: int) -> Float64Array:
        """Middle of every face across an axis [m], in the order of `faces`."""
        shape = [count + (own == axis) for own, count in enumerate(self.shape)]
        return self._lattice(shape, [0.0 if own == axis else 0.5 for own in range(3)])

    def _lattice(self, shape: Sequence[int], offset: Sequence[float]) -> Float64Array:
        axes = [
            low + self.cell * (np.arange(count) + shift)
            for low, count, shift in zip(self.origin, shape, offset, strict=True)
        ]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


def any_in_chunks(marks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether any of sixteen numbers in a row is marked, of every chunk; shape (..., length / 16)."""
    halves = marks.view(np.uint64).reshape(*marks.shape[:-1], -1, WIDTH // 8)
    found: NDArray[np.bool_] = (halves[..., 0] | halves[..., 1]) != 0
    return found
