"""`solid_cells`: cells of space around solids of many primitives, for distances that are asked very often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mane.body import _kernels_cells as kernels
from mane.body._kernels_cells import CellList
from mane.body._kernels_shapes import BOX, CAPSULE, SPHERE, TORUS
from mane.body._kernels_solid_f32 import STEEPEST
from mane.body.packed import PackedSolid
from mane.body.shapes import Shape
from mane.geometry.checks import FloatArray

FEWEST = 4  # primitives that are as quickly asked one by one
MARGIN = 0.02  # [m] of cells around a shape; farther off its box answers
SMALLEST = 0.002  # [m] edge of a cell
MOST_CELLS = 100_000


def solid_cells(solids: Sequence[PackedSolid]) -> CellList:
    """Return cells around those solids that have many primitives, in their order."""
    made = [_cells_of(one.solid.shape) for one in solids]
    boxes = [solid_box(one) for one in solids]
    first_kind = np.concatenate([[0], np.cumsum([_primitive_count(one.solid.shape) for one in solids])])
    cells, starts = [0, *(len(start) - 1 for *_, start, _ in made)], [np.zeros(1, np.int64)]
    candidates: list[NDArray[np.int64]] = []
    for number, (*_, start, own) in enumerate(made):
        starts.append(start[1:] + sum(one.size for one in candidates))
        candidates.append(own + first_kind[number])
    return CellList(
        counts=np.array([counts for counts, *_ in made], np.int64).reshape(-1, 3),
        first_cell=np.cumsum(cells)[:-1].astype(np.int64),
        origin=np.array([origin for _, origin, *_ in made], np.float32).reshape(-1, 3),
        inv_cell=np.array([1 / edge for _, _, edge, *_ in made], np.float32),
        box=np.array(boxes, np.float32).reshape(-1, 6),
        start=np.concatenate(starts).astype(np.int32),
        candidates=np.concatenate([*candidates, np.zeros(1, np.int64)]).astype(np.int32),
        boxes=np.concatenate([primitive_boxes(one.solid.shape) for one in solids] + [np.zeros((0, 6), np.float32)]),
        inv_slope=np.array([1 if one.solid.shape is not None else 1 / STEEPEST for one in solids], np.float32),
    )


Cells = tuple[tuple[int, int, int], FloatArray, float, NDArray[np.int64], NDArray[np.int64]]


def solid_box(packed: PackedSolid) -> FloatArray:
    """Lowest and highest corner of a solid in its own frame [m], (6,); infinite where it has none, or deforms."""
    shape, field = packed.solid.shape, packed.solid.field
    if shape is not None:
        return shape.bounds.reshape(-1).astype(np.float32)
    if field is not None and not packed.is_deforming:
        return field.bounds.reshape(-1).astype(np.float32)
    return np.array([-np.inf] * 3 + [np.inf] * 3, np.float32)


def primitive_boxes(shape: Shape | None) -> FloatArray:
    """Lowest and highest corner of every primitive of a shape [m], (K, 6); infinite for planes."""
    if shape is None:
        return np.zeros((0, 6), np.float32)
    kinds, params = shape.pack()
    p = params.astype(np.float64)
    # Each around its middle, as far as it reaches along each axis.
    middle, reach = p[:, :3].copy(), np.full((len(kinds), 3), np.inf)
    round_, straight, box, ring = (kinds == kind for kind in (SPHERE, CAPSULE, BOX, TORUS))
    reach[round_] = p[round_, 3:4]
    middle[straight] += 0.5 * p[straight, 3:6]
    reach[straight] = np.abs(0.5 * p[straight, 3:6]) + p[straight, 7:8]
    turn = np.abs(p[box, 7:16].reshape(-1, 3, 3))
    reach[box] = np.einsum("kij,kj->ki", turn, p[box, 3:6]) + p[box, 6:7]
    reach[ring] = p[ring, 6:7] + p[ring, 7:8]
    return np.concatenate([middle - reach, middle + reach], axis=1).astype(np.float32)


def world_boxes(boxes: FloatArray, poses: FloatArray) -> FloatArray:
    """Boxes (Z, 6) along the axes of the world around `boxes` (Z, 6) at `poses` (Z, 12) [m]."""
    turn, position = poses[:, :9].reshape(-1, 3, 3), poses[:, 9:]
    everywhere = np.isinf(boxes).any(axis=1, keepdims=True)
    known = np.where(everywhere, 0, boxes).astype(np.float32)
    middle, half = 0.5 * (known[:, 3:] + known[:, :3]), 0.5 * (known[:, 3:] - known[:, :3])
    center = np.einsum("zij,zj->zi", turn, middle) + position
    reach = np.where(everywhere, np.inf, np.einsum("zij,zj->zi", np.abs(turn), half))
    return np.concatenate([center - reach, center + reach], axis=1).astype(np.float32)


def _primitive_count(shape: Shape | None) -> int:
    return 0 if shape is None else len(shape.pack()[0])


def _cells_of(shape: Shape | None) -> Cells:
    """Counts, origin and edge of the cells of a shape, and the candidates of each."""
    nothing = np.zeros(1, np.int64), np.zeros(0, np.int64)
    if shape is None or _primitive_count(shape) <= FEWEST or not np.isfinite(shape.bounds).all():
        return (0, 0, 0), np.zeros(3, np.float32), 1.0, *nothing
    low, high = shape.bounds.astype(np.float64)
    size = high - low + 2 * MARGIN
    edge = max(SMALLEST, float(size.prod() / MOST_CELLS) ** (1 / 3))
    counts = np.ceil(size / edge).astype(int)
    at = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1).reshape(-1, 3)
    origin = low - MARGIN
    centers = (origin + edge * (at + 0.5)).astype(np.float32)
    kinds, params = shape.pack()
    found, is_candidate = np.empty(len(centers), np.int64), np.empty((len(centers), len(kinds)), np.bool_)
    reach = np.float32(0.505 * np.sqrt(3.0) * edge)  # half a diagonal, and rounding
    kernels.count_candidates(kinds, params, centers, reach, found, is_candidate)
    start = np.concatenate([[0], np.cumsum(found)])
    along = (int(counts[0]), int(counts[1]), int(counts[2]))
    return along, origin.astype(np.float32), edge, start, np.nonzero(is_candidate)[1]
