"""Moved points of a groom as points of the prims they came from: the same curves, vertices, basis and space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray, IntArray
from mane.io.usd.curve_basis import control_points
from mane.io.usd.files import extent_of
from mane.io.usd.source import CurvesPrim, UsdSource, rows_of
from mane.io.usd.stage import Matrix, apply_matrix, matrix_rate, open_stage, time_code, world_from_local


@dataclass(frozen=True, eq=False)
class PrimFrame:
    """What one prim is given at one time, in its own space: points and velocities (N, 3), extent (2, 3), float32."""

    path: str
    points: FloatArray
    velocities: FloatArray | None
    extent: FloatArray


class PrimWriter:
    """Takes points of a groom to the prims of its source, at any time.

    Control points are carried by displacement: new = authored + (inverse of the curve's basis)(how far the hair's own
    points moved). That is the curve through every moved point and, where nothing moved, the authored one bit for bit.
    """

    def __init__(self, source: UsdSource) -> None:
        self.source = source
        # Transforms that change over time have to be asked for at each frame.
        self._stage: Any = None
        if any(prim.is_moving for prim in source.prims):
            self._stage = open_stage(source.path, trusted=True)  # it was read before

    def frames(self, time: float | None, points: FloatArray, velocities: FloatArray | None) -> Iterator[PrimFrame]:
        """Give each prim its share of the groom's points [m] and velocities [m/s], both (P, 3), world."""
        for prim in self.source.prims:
            rows = rows_of(self.source.strand_offsets, prim.strands)
            matrix, rate = self._matrices(prim, time)
            moved = points[rows]
            authored = authored_points(prim, moved, matrix)
            own = None if velocities is None else authored_velocities(prim, velocities[rows], matrix, moved, rate)
            yield PrimFrame(prim.path, authored, own, extent_of(authored, prim.widest))

    def _matrices(self, prim: CurvesPrim, time: float | None) -> tuple[Matrix, Matrix | None]:
        """Where a prim is at a time and how fast that changes [1/s]."""
        if not prim.is_moving or time is None:
            return prim.world_from_local if prim.unbound is None else prim.unbound, None
        handle = self._stage.GetPrimAtPath(prim.path)
        units = self.source.units
        matrix = world_from_local(handle, units, time_code(time))
        if not abs(np.linalg.det(matrix[:3, :3])) > 0:
            raise ValueError(
                f"{self.source.path}: {prim.path} is flattened by its transform at time {time:g}, which cannot be "
                "undone; give it a scale above zero"
            )
        return matrix, matrix_rate(handle, units, time)


def authored_points(prim: CurvesPrim, moved: FloatArray, matrix: Matrix) -> FloatArray:
    """All vertices of a prim (N, 3) in its own space, with the curves in use passing through `moved` (P, 3), world."""
    is_whole = len(prim.curves) == len(prim.layout.counts)
    is_still = np.array_equal(matrix, prim.world_from_local)
    if prim.is_plain and is_still and is_whole:
        return moved
    inverse: Matrix = np.linalg.inv(matrix).astype(np.float64)
    result = prim.points.copy()
    if prim.unbound is not None and not is_whole:  # curves not in use stay where they were bound
        result[:] = apply_matrix(inverse @ prim.world_from_local, prim.points)
    for first, last in prim.chunks():
        part = moved[prim.offsets[first] : prim.offsets[last]]
        rows = prim.rows(first, last)
        if prim.is_plain and is_still:
            result[rows] = part
            continue
        before = prim.on_hair(prim.points, first, last)
        world = apply_matrix(prim.world_from_local, before)
        shift = part - world.astype(np.float32).astype(np.float64)
        if is_still:
            local_shift = apply_matrix(inverse, shift, is_vector=True)
        else:
            # The rounding of the first reading is given back, as it is where nothing moves.
            local_shift = apply_matrix(inverse, world + shift) - before
        result[rows] = prim.points[rows] + _control(prim, first, last, local_shift)
    return result


def authored_velocities(
    prim: CurvesPrim, velocities: FloatArray, matrix: Matrix, moved: FloatArray, rate: Matrix | None
) -> FloatArray:
    """Velocities of all vertices of a prim (N, 3), its own space and units per second; zero for curves not in use.

    `velocities` and `moved` (P, 3) are those of the hair, world; `rate` says how fast `matrix` changes [1/s].
    """
    result = np.zeros((prim.layout.vertex_count, 3), np.float32)
    inverse: Matrix = np.linalg.inv(matrix).astype(np.float64)
    for first, last in prim.chunks():
        part = slice(prim.offsets[first], prim.offsets[last])
        own = velocities[part].astype(np.float64)
        if rate is not None:  # what the prim's own motion contributes is not repeated in its velocities
            own -= apply_matrix(rate @ inverse, moved[part])
        result[prim.rows(first, last)] = _control(prim, first, last, apply_matrix(inverse, own, is_vector=True))
    return result


def _control(prim: CurvesPrim, first: int, last: int, on_hair: NDArray[np.float64]) -> NDArray[np.float64]:
    offsets: IntArray = prim.offsets[first : last + 1] - prim.offsets[first]
    return control_points(prim.layout.shape, on_hair, offsets)
