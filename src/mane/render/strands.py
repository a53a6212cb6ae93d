"""`SmoothStrands`: a groom made ready for a picture, with as many points as it can show and a width for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray, IntArray, require_positive
from mane.groom.groom import Groom
from mane.render import _kernels_strands as kernels
from mane.render.view import View

HAIR_WIDTH = 8e-5  # diameter of a human hair [m], where the groom gives none
FULL_HEAD = 100_000  # strands; a groom with fewer gets wider lines, so that it still reads as hair
WIDEST_DEFAULT = 1e-3  # [m]
LIKELY_LENGTHS = (1e-3, 3.0)  # of the longest strand [m]; hair beyond is drawn as if it were a model of ...
USUAL_LENGTH = 0.3  # ... hair of this length [m]: a picture needs no units
SOME_STRANDS = 256  # that tell the length of the longest
TIP_WIDTH = 0.35  # width at the tip as a share of the strand's, where the groom gives one width per strand
TAPER_START = 0.55  # share of the length from which a strand gets thinner

BEND_TOLERANCE = 0.2  # [pixels] between the curve and the straight pieces drawn for it
LONGEST_PIECE = 16.0  # [pixels]; light and shadow are linear along a piece
MOST_PIECES = 64  # of one segment
MOST_POINTS = 12_000_000  # of all strands; bounds the memory of a picture


@dataclass(frozen=True, eq=False)
class SmoothStrands:
    """Strands as polylines that look smooth in one view.

    Attributes:
        points: positions [m], shape (N, 3).
        offsets: strand `s` owns points `offsets[s]:offsets[s + 1]`; shape (S + 1,).
        width: diameter [m], shape (N,).
        starts: number of each of the groom's points among `points`, shape (P,).
        pieces: how many pieces the segment after each of the groom's points became, shape (P,).
    """

    points: FloatArray
    offsets: IntArray
    width: FloatArray
    starts: IntArray
    pieces: NDArray[np.int32]
    _source_offsets: IntArray

    @classmethod
    def of_groom(
        cls,
        groom: Groom,
        view: View,
        *,
        pixel: float = 1.0,
        width: float | None = None,
        wider: float = 1.0,
        most: int = MOST_POINTS,
    ) -> SmoothStrands:
        """Smooth a groom for a view.

        Args:
            groom: the strands.
            view: who looks at them.
            pixel: columns and rows of the view that make one pixel of the picture.
            width: diameter of every strand at the root [m]; None takes the groom's, see `strand_widths`.
            wider: how many strands each one stands for; it is so many times wider.
            most: points to stay below; segments are cut less finely where there would be more.
        """
        screen = view.project(groom.points)
        pieces = np.empty(groom.point_count, np.int32)
        coarser = np.float32(1.0)
        while True:
            kernels.count_pieces(
                groom.points, screen, groom.offsets, np.float32(view.focal / pixel),
                np.float32(coarser * BEND_TOLERANCE), np.float32(coarser * LONGEST_PIECE), MOST_PIECES, pieces,
            )  # fmt: skip
            total = int(pieces.sum(dtype=np.int64))
            if total <= most or total == groom.point_count:
                break
            coarser *= np.float32(1.5)
        starts = np.cumsum(pieces, dtype=np.int64) - pieces
        points = np.empty((total, 3), np.float32)
        kernels.fill_smooth(groom.points, groom.offsets, starts, pieces, points)
        offsets = np.append(starts[groom.offsets[:-1]], total)
        strands = cls(points, offsets, np.empty(0, np.float32), starts, pieces, groom.offsets)
        widths = strands.spread(strand_widths(groom, width, wider)[:, None])[:, 0]
        if "width" not in groom.vertex or width is not None:
            kernels.taper(points, offsets, np.float32(TIP_WIDTH), np.float32(TAPER_START), widths)
        object.__setattr__(strands, "width", widths)
        return strands

    @property
    def strand_count(self) -> int:
        """Number of strands."""
        return len(self.offsets) - 1

    @property
    def point_count(self) -> int:
        """Number of points over all strands."""
        return len(self.points)

    def spread(self, values: NDArray[Any]) -> FloatArray:
        """Carry values of the groom's points (P, C) to these points, linear in between, shape (N, C)."""
        out = np.empty((len(self.points), values.shape[1]), np.float32)
        kernels.spread(values.astype(np.float32, copy=False), self._source_offsets, self.starts, self.pieces, out)
        return out

    def sources(self, chosen: NDArray[np.bool_]) -> IntArray:
        """Numbers of the groom's points whose values `gather` takes for the chosen (N,) of these points."""
        taken = np.logical_or.reduceat(chosen, self.starts) if len(chosen) else np.zeros(0, np.bool_)
        taken[1:] |= taken[:-1]
        return np.flatnonzero(taken)

    def gather(self, chosen: IntArray, values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Positions, unit tangents from root to tip, and values of the groom's points (P, 3), at chosen points.

        Args:
            chosen: numbers of the points, shape (M,).
            values: of the groom's points, shape (P, 3); linear in between.

        Returns:
            Three arrays of shape (M, 3).
        """
        points, tangents, spread = (np.empty((len(chosen), 3), np.float32) for _ in range(3))
        kernels.gather(self.points, self.offsets, self.starts, self.pieces, values, chosen, points, tangents, spread)
        return points, tangents, spread


def strand_widths(groom: Groom, width: float | None = None, wider: float = 1.0) -> FloatArray:
    """Diameter at each point of a groom [m], shape (P,).

    The groom's own, or a human hair's; wider where there are fewer strands than on a full head, so that a thinned-out
    groom keeps something of its body. A `width` that is asked for is taken as it is. Where each strand stands for
    several of a fuller groom, it is `wider` so many times.
    """
    if width is not None:
        require_positive("hair_width", width)
        return np.full(groom.point_count, wider * width, np.float32)
    size = _unlikely_size(groom)
    own = groom.per_vertex("width", HAIR_WIDTH * size)
    boosted = own * np.float32(np.sqrt(max(1.0, FULL_HEAD / (wider * groom.strand_count))))
    return np.asarray(np.maximum(np.minimum(boosted, WIDEST_DEFAULT * size), own) * wider, np.float32)


def _unlikely_size(groom: Groom) -> float:
    """How many times larger than hair strands are that cannot be hair by their length; 1 for those that can."""
    some = groom if groom.strand_count <= SOME_STRANDS else groom.take(_some_strands(groom.strand_count))
    longest = float(some.lengths.max())
    return 1.0 if longest == 0.0 or LIKELY_LENGTHS[0] <= longest <= LIKELY_LENGTHS[1] else longest / USUAL_LENGTH


def _some_strands(count: int) -> IntArray:
    return np.linspace(0, count - 1, SOME_STRANDS).astype(np.int64)
