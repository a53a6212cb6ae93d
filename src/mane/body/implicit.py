"""`Sculpture`: a solid modelled in code from blended shapes, as an implicit function that is negative inside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body import _kernels_implicit as kernels
from mane.geometry.checks import as_array, require_choice

OPERATIONS = {"add": kernels.ADD, "cut": kernels.CUT, "keep": kernels.KEEP}

Vector = tuple[float, float, float]
UPRIGHT = np.eye(3)
RAY_SAMPLES = 401
BUMP_REACH = 5.0  # radii beyond which a bell is nothing: exp(-25) = 1e-11
NOWHERE: Vector = (0.0, 0.0, 0.0)


class Sculpture:
    """Shapes combined in the order given; call it with points to get a value close to the distance [m].

    Each shape is added to the solid, cut from it, or keeps only what it covers, with an edge rounded over the width
    `blend` [m]. `mirrored` shapes appear on both sides of x = 0. Shapes with `part=True` build a separate solid, which
    `merge` then combines with the rest, so that its own cuts leave the rest alone.

    Args:
        fold: width [m] over which the mirror plane is rounded, so that mirrored shapes meet without a crease.
    """

    def __init__(self, *, fold: float = 0.003) -> None:
        self.fold = fold
        self._rows: list[NDArray[np.float64]] = []

    def ellipsoid(
        self, centre: Vector, radii: Vector, operation: str = "add", *, blend: float = 0.0,
        axes: ArrayLike = UPRIGHT, mirrored: bool = False, part: bool = False,
    ) -> None:  # fmt: skip
        """Place an ellipsoid whose own axes are the rows of `axes`, unit vectors across each other, shape (3, 3)."""
        row = _row(kernels.ELLIPSOID, operation, blend, mirrored, part, centre, radii)
        low, high = min(radii), max(radii)
        # Off its axes an ellipsoid's value falls short of the distance, at most by this factor (Kantorovich).
        row[kernels.REACH], row[kernels.STRETCH] = high, (low * low + high * high) / (2.0 * low * high)
        row[kernels.TURN :] = as_array("axes", axes, (3, 3), np.float64).reshape(-1)
        self._rows.append(row)

    def tube(
        self, points: Sequence[Vector], radii: Sequence[float], operation: str = "add", *, blend: float = 0.0,
        mirrored: bool = False, part: bool = False,
    ) -> None:  # fmt: skip
        """Place balls at `points`, each joined to the next by a cone."""
        for k in range(len(points) - 1):
            size = (radii[k], radii[k + 1], 0.0)
            row = _row(kernels.CONE, operation, blend, mirrored, part, points[k], size)
            row[kernels.TURN : kernels.TURN + 3] = np.subtract(points[k + 1], points[k])
            row[kernels.GOES_ON] = k < len(points) - 2
            length = float(np.linalg.norm(np.subtract(points[k + 1], points[k])))
            row[kernels.REACH], row[kernels.STRETCH] = max(radii[k], length + radii[k + 1]), 1.0
            self._rows.append(row)

    def plane(
        self, point: Vector, normal: Vector, operation: str = "keep", *, blend: float = 0.0,
        mirrored: bool = False, part: bool = False,
    ) -> None:  # fmt: skip
        """Place a half space through `point`, solid on the side away from `normal`."""
        row = _row(kernels.PLANE, operation, blend, mirrored, part, point, NOWHERE)
        row[kernels.TURN : kernels.TURN + 3] = np.asarray(normal) / np.linalg.norm(normal)
        row[kernels.REACH] = np.inf
        self._rows.append(row)

    def bump(
        self, centre: Vector, radii: Vector, height: float, *, axes: ArrayLike = UPRIGHT,
        mirrored: bool = False, part: bool = False,
    ) -> None:  # fmt: skip
        """Lift the surface by `height` [m] (lower it, if negative) under a bell of the given radii along `axes`."""
        row = _row(kernels.BUMP, "add", height, mirrored, part, centre, radii)
        row[kernels.REACH] = BUMP_REACH * max(radii)
        row[kernels.TURN :] = as_array("axes", axes, (3, 3), np.float64).reshape(-1)
        self._rows.append(row)

    def merge(self, operation: str = "add", *, blend: float = 0.0) -> None:
        """Combine the part with the rest, and begin a new part."""
        self._rows.append(_row(kernels.MERGE, operation, blend, False, False, NOWHERE, NOWHERE))

    @property
    def table(self) -> NDArray[np.float64]:
        """All shapes as numbers, one row each: the whole content of the sculpture."""
        return np.stack(self._rows)

    def __call__(self, points: ArrayLike) -> NDArray[np.float64]:
        """Values [m] at points [m] of shape (P, 3): negative inside, close to the distance near the surface."""
        positions = np.ascontiguousarray(points, np.float64)
        values = np.empty(len(positions))
        kernels.evaluate(positions, self.table, self.fold, values)
        return values

    def first_hits(self, starts: ArrayLike, direction: Vector, reach: float = 0.2) -> NDArray[np.float64]:
        """The first points of the surface from `starts` (K, 3) along a unit vector, shape (K, 3), within `reach` [m].

        Sampled every half millimetre for the default reach, so that thinner shapes may be missed; the crossing itself
        is interpolated.
        """
        origins = as_array("starts", starts, ("K", 3), np.float64)
        steps = np.linspace(0.0, reach, RAY_SAMPLES)
        along = steps[:, None] * np.asarray(direction, np.float64)
        values = self((origins[:, None] + along).reshape(-1, 3)).reshape(len(origins), RAY_SAMPLES)
        first = (values < 0).argmax(axis=1)
        if not (first > 0).all():
            missed = int((first == 0).argmax())
            raise ValueError(f"starts: each must see the surface within {reach} m, got {origins[missed].tolist()}")
        rows = np.arange(len(origins))
        before, after = values[rows, first - 1], values[rows, first]
        distance = steps[first - 1] + before / (before - after) * (steps[first] - steps[first - 1])
        return np.asarray(origins + distance[:, None] * np.asarray(direction, np.float64))


def _row(
    kind: int, operation: str, blend: float, mirrored: bool, part: bool, centre: ArrayLike, size: ArrayLike
) -> NDArray[np.float64]:
    require_choice("operation", operation, tuple(OPERATIONS))
    row = np.zeros(kernels.COLUMNS)
    row[: kernels.GOES_ON] = kind, OPERATIONS[operation], blend, mirrored, part
    row[kernels.CENTRE : kernels.SIZE] = as_array("centre", centre, (3,), np.float64)
    row[kernels.SIZE : kernels.TURN] = as_array("size", size, (3,), np.float64)
    return row
