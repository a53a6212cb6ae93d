"""Draws strands over solids: tiles in batches of bounded memory, each sorted by depth and blended front to back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import minimum_filter

from mane.geometry.checks import FloatArray, IntArray
from mane.render import _kernels_raster as kernels

TILE_PIXELS = 16  # side of a tile
HIDING_PIXELS = 10  # side of the blocks of solid pixels that hide what is behind all of them
CHUNKS = 64  # of strands, binned side by side
MOST_ITEMS = 6_000_000  # segments per batch of tiles, counted once per tile: 8 bytes each
GRAZING_SAMPLES = 2.0  # hair this far behind a surface, in samples, still shows: it lies on the skin, not under it


@dataclass(frozen=True, eq=False)
class DrawnStrands:
    """Strands as they appear in a view.

    Attributes:
        points: column, row, nearness and width [samples] of each point, shape (N, 4), see `View.project_strands`.
        color: linear light that each point sends to the eye, shape (N, 3).
        seen: which points belong to a segment that may be seen, shape (N,), see `find_seen`; the others have no colour.
        offsets: strand `s` owns points `offsets[s]:offsets[s + 1]`; shape (S + 1,).
        opacity: share of what lies behind that the hair itself hides, 0 to 1.
    """

    points: FloatArray
    color: FloatArray
    seen: NDArray[np.bool_]
    offsets: IntArray
    opacity: float = 1.0

    @classmethod
    def none(cls) -> DrawnStrands:
        """No strand at all."""
        nobody = np.zeros(0, np.bool_)
        return cls(np.zeros((0, 4), np.float32), np.zeros((0, 3), np.float32), nobody, np.zeros(1, np.int64))

    @property
    def ends(self) -> NDArray[np.uint8]:
        """Marks of the segments that begin or end a strand, by first point, shape (N,)."""
        marks = np.zeros(len(self.points), np.uint8)
        marks[self.offsets[:-1]] |= kernels.ROOT
        marks[self.offsets[1:] - 2] |= kernels.TIP
        return marks


@dataclass(frozen=True, eq=False)
class DrawnSolids:
    """What the solids look like, per sample.

    Attributes:
        nearness: of the nearest surface, 0 where there is none, shape (H, W).
        light: linear light towards the eye, shape (H, W, 3).
        cover: 1 where a solid is seen, else 0, shape (H, W).
    """

    nearness: FloatArray
    light: FloatArray
    cover: FloatArray

    @classmethod
    def none(cls, width: int, height: int) -> DrawnSolids:
        """An empty picture."""
        return cls(
            np.zeros((height, width), np.float32),
            np.zeros((height, width, 3), np.float32),
            np.zeros((height, width), np.float32),
        )


def find_seen(
    points: FloatArray, offsets: IntArray, nearness: FloatArray, *, supersample: int, focal: float
) -> NDArray[np.bool_]:
    """Which points of strands must be shaded, shape (N,): those of segments in the picture that no solid hides.

    Arguments as in `DrawnStrands` and `DrawnSolids`.
    """
    height, width = nearness.shape
    block = HIDING_PIXELS * supersample
    farthest = np.empty((-(-height // block), -(-width // block)), np.float32)
    kernels.farthest_solids(nearness, block, farthest)
    farthest = minimum_filter(farthest, 3, mode="nearest")
    seen = np.empty(len(points), np.bool_)
    kernels.find_seen(points, offsets, width, height, block, farthest, _grazing(focal), seen)
    return seen


def _grazing(focal: float) -> np.float32:
    return np.float32(1.0 + GRAZING_SAMPLES / focal)


@dataclass(frozen=True, eq=False)
class Coverage:
    """What of the hair shows, and what it leaves open.

    Attributes:
        touched: which points belong to a segment that shows, shape (N,); the others need no colour.
        clear: share of each sample that the hair leaves open, shape (H, W).
    """

    touched: NDArray[np.bool_]
    clear: FloatArray


def find_coverage(
    strands: DrawnStrands, nearness: FloatArray, *, supersample: int, focal: float, most_items: int = MOST_ITEMS
) -> tuple[Coverage, Binned]:
    """Find what hair shows behind other hair and the solids; its colours do not matter.

    Most of a full head is hidden by the rest of it, and what is hidden need not be lit. Arguments as in `draw`, where
    what is returned besides saves time.
    """
    binned = Binned.of_strands(strands, nearness.shape, supersample, most_items)
    coverage = Coverage(np.zeros(len(strands.points), np.bool_), np.empty(nearness.shape, np.float32))
    nothing = np.empty((0, 0, 4), np.float32)
    _draw_batches(
        strands, DrawnSolids(nearness, nothing[..., :3], nothing[..., 0]), binned, supersample, focal, coverage, nothing
    )
    return coverage, binned


def draw(
    strands: DrawnStrands,
    solids: DrawnSolids,
    *,
    supersample: int,
    focal: float,
    most_items: int = MOST_ITEMS,
    binned: Binned | None = None,
) -> FloatArray:
    """Draw strands over solids.

    Args:
        strands: the hair.
        solids: what it grows on; its size is that of the picture times `supersample`.
        supersample: samples per pixel along x and along y.
        focal: of the view [samples].
        most_items: bounds the memory of the sort; the picture does not depend on it.
        binned: of the same strands, less of which may be seen now; None finds it.

    Returns:
        Premultiplied linear light and coverage, shape (height, width, 4).
    """
    height, width = solids.nearness.shape
    if binned is None:
        binned = Binned.of_strands(strands, (height, width), supersample, most_items)
    image = np.empty((height // supersample, width // supersample, 4), np.float32)
    unused = Coverage(np.zeros(0, np.bool_), np.empty((0, 0), np.float32))
    _draw_batches(strands, solids, binned, supersample, focal, unused, image)
    return image


@dataclass(eq=False)
class Binned:
    """Segments by the tiles that they touch, batch by batch.

    Attributes:
        seen: which points are of segments that were counted, shape (N,).
        counts: segments of each chunk of strands in each tile, shape (chunks, tiles).
        ranges: first and last tile, which is excluded, of each batch.
        nearest: largest nearness of a point.
        per_nearness: what spreads the nearness of all points over 32 bits.
        items: of the batch, where there is only one and it was filled; else None.
    """

    seen: NDArray[np.bool_]
    counts: NDArray[np.int32]
    ranges: list[tuple[int, int]]
    nearest: float
    per_nearness: float
    items: NDArray[np.uint64] | None = None

    @classmethod
    def of_strands(cls, strands: DrawnStrands, shape: tuple[int, ...], supersample: int, most_items: int) -> Binned:
        """Count the segments in the tiles of a picture of `shape` (H, W) samples."""
        height, width = shape
        tile = TILE_PIXELS * supersample
        counts = np.zeros((CHUNKS, -(-width // tile) * -(-height // tile)), np.int32)
        nearest, farthest = np.empty(CHUNKS, np.float32), np.empty(CHUNKS, np.float32)
        kernels.count_items(
            strands.points, strands.seen, strands.offsets, width, height, tile, counts, nearest, farthest
        )
        ranges = _batches(counts.sum(axis=0, dtype=np.int64), most_items)
        depth = max(float(nearest.max()) - float(farthest.min()), 1e-30)
        return cls(strands.seen, counts, ranges, float(nearest.max()), 4294967295.0 / depth)


def _draw_batches(
    strands: DrawnStrands,
    solids: DrawnSolids,
    binned: Binned,
    supersample: int,
    focal: float,
    coverage: Coverage,
    image: FloatArray,
) -> None:
    """Fill `image`, or `coverage` where that is empty."""
    height, width = solids.nearness.shape
    tile = TILE_PIXELS * supersample
    ends = strands.ends
    for first, end in binned.ranges:
        places, tile_start = _places(binned.counts[:, first:end])
        items = binned.items
        if items is None:
            items = np.empty(tile_start[-1], np.uint64)
            kernels.fill_items(
                strands.points, binned.seen, strands.offsets, width, height, tile, first, end,
                binned.nearest, binned.per_nearness, places, items,
            )  # fmt: skip
        kernels.draw_tiles(
            strands.points, strands.color, strands.seen, np.float32(strands.opacity), ends, items, tile_start,
            _even_order(np.diff(tile_start)), first, tile, supersample, _grazing(focal),
            solids.nearness, solids.light, solids.cover, coverage.touched, coverage.clear, image,
        )  # fmt: skip
        if len(binned.ranges) == 1:
            binned.items = items


def _batches(counts: IntArray, most: int) -> list[tuple[int, int]]:
    """Ranges of tiles with at most `most` items together, or one tile."""
    total = np.concatenate([[0], np.cumsum(counts)])
    first, ranges = 0, []
    while first < len(counts):
        end = max(int(np.searchsorted(total, total[first] + most, side="right")) - 1, first + 1)
        ranges.append((first, end))
        first = end
    return ranges


def _places(counts: NDArray[np.int32]) -> tuple[IntArray, IntArray]:
    """Where each chunk's first item of each tile goes (chunks, tiles), and where each tile starts (tiles + 1,)."""
    by_tile = np.cumsum(counts.T.reshape(-1), dtype=np.int64).reshape(counts.shape[1], counts.shape[0])
    tile_start = np.concatenate([[0], by_tile[:, -1]])
    return np.ascontiguousarray((by_tile - counts.T).T), tile_start


def _even_order(work: IntArray) -> IntArray:
    """An order of tiles in which every stretch holds large and small ones alike, so that threads share evenly."""
    by_size = np.argsort(-work, kind="stable")
    stride = int(np.ceil(np.sqrt(len(work))))
    grid = np.full(stride * stride, -1, np.int64)
    grid[: len(work)] = by_size
    spread = grid.reshape(stride, stride).T.reshape(-1)
    return spread[spread >= 0]
