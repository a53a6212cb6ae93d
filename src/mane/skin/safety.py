"""`HairSafety`: every hair of every frame checked for its length; `HairSpacing`: hairs whose points lie in one place.

A method of skinning may meet hairs that it was not made for: a hair a thousand times as long as its guides, guides that
were thrown. What comes of that is for the method to say, but never a hair across the picture: a hair that is not
finite, or whose length is outside `Skin.length_range`, is made again by what cannot fail, and counted.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray
from mane.groom.groom import Groom
from mane.groom.soundness import SHORT_SHARE
from mane.groom.spacing import HAIR_FLOOR, spaced, strands_with_short_segments
from mane.skin import _kernels_lengths as kernels

NO_HAIR = np.zeros(0, np.int64)
# Of the coordinates: what rounding points to float32 may add to a measured segment.
ROUNDING = 2.0**-22


class HairSafety:
    """What the lengths of a groom with one vertex count may be.

    A hair is known by its norm, the root of the summed squares of its segment lengths. If no segment is longer or
    shorter than it may be, neither is the norm. A hair whose norm is `a` times that at rest is at most `a` times as
    long if its segments are alike; of one with segments of many sizes, small ones may be stretched by more.

    Args:
        groom: the hairs at rest.

    Attributes:
        norms: of the hairs as last measured [m], shape (S,), float32.
        rest: the same at rest.
        fallback_hairs: those that had to be made again in the last frame, shape (H,).
    """

    def __init__(self, groom: Groom) -> None:
        self._groom = groom
        self._vertices = int(groom.vertex_counts[0])
        self.rest, self.norms = (np.empty(groom.strand_count, np.float32) for _ in range(2))
        kernels.fill_norms(groom.as_uniform().reshape(-1), self._vertices, self.rest)
        self.fallback_hairs = NO_HAIR
        self._low, self._high = self.rest, self.rest

    def expect(self, low: NDArray[np.float64] | float, high: NDArray[np.float64] | float) -> None:
        """Take lengths between `low` and `high` times those at rest for right; numbers, or (S,)."""
        self._low, self._high = (low * self.rest).astype(np.float32), (high * self.rest).astype(np.float32)

    def failing(self, points: FloatArray | None, reach: float, *, may_shorten: bool = False) -> IntArray:
        """Hairs (H,) whose lengths are not as expected.

        Args:
            points: (S, V, 3) [m], or None where `norms` are known.
            reach: size of the coordinates [m], for what rounding does.
            may_shorten: hairs may have any length below the longest, as where guides fade.
        """
        low = np.zeros_like(self._high) if may_shorten else self._low
        if points is not None:
            kernels.fill_norms(points.reshape(-1), self._vertices, self.norms)
        slack = np.float32(ROUNDING * reach * math.sqrt(self._vertices))
        self.fallback_hairs = NO_HAIR
        if kernels.count_outside(self.norms, low, self._high, slack):
            self.fallback_hairs = np.flatnonzero(
                ~((self.norms >= low - slack) & (self.norms <= self._high + slack)) | ~np.isfinite(self.norms)
            )
        return self.fallback_hairs

    def keep_lengths(self, rows: IntArray, points: FloatArray) -> None:
        """Give hairs `rows`, `points` (H, V, 3), their lengths at rest, in place; directions stay."""
        edge = np.diff(self._groom.as_uniform()[rows].astype(np.float64), axis=1)
        kernels.keep_lengths(np.linalg.norm(edge, axis=2).astype(np.float32), points)
        self.norms[rows] = self.rest[rows]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.norms.nbytes + self.rest.nbytes + self._low.nbytes + self._high.nbytes


NO_DIRECTION = 1e-12  # [m] of a segment
STUB = 3e-4  # [m] of a hair: what rounding and the end of an iteration leave, a micrometre, is one percent of less


class HairSpacing:
    """Room for the hairs of a groom whose segments are too short to have a direction, and exact lengths for stubs.

    Args:
        groom: the hairs at rest, all with the same vertex count.

    Attributes:
        groom: the same, with a direction for every segment; itself where all have one.
    """

    def __init__(self, groom: Groom) -> None:
        points = groom.as_uniform()
        is_stub = groom.lengths < STUB
        self._rows = np.union1d(strands_with_short_segments(points, SHORT_SHARE, HAIR_FLOOR), np.flatnonzero(is_stub))
        self.groom, self._offset = groom, np.zeros((0, points.shape[1], 3))
        if len(self._rows):
            moved = points.copy()
            moved[self._rows] = spaced(points[self._rows])
            own = points[self._rows].astype(np.float64)
            self._offset = own - moved[self._rows]
            self._lengths = np.linalg.norm(np.diff(own, axis=1), axis=2)
            self.groom = groom.with_points(moved)

    def take_back(self, rotations: NDArray[np.float64], points: FloatArray) -> None:
        """Take from all hairs, in place, the room that they got, and give them and stubs the lengths that they have.

        Roots have turned by `rotations`, (4,) or (S, 4).
        """
        if len(self._rows):
            turn = rotations if rotations.ndim == 1 else rotations[self._rows, None]
            hair = points[self._rows] + quaternion.rotate(turn, self._offset)
            # Hair that has turned against its root would be longer or shorter by the room that it had.
            edges = np.diff(hair, axis=1)
            norms = np.linalg.norm(edges, axis=2)
            edges *= np.divide(self._lengths, norms, out=np.ones_like(norms), where=norms > NO_DIRECTION)[..., None]
            points[self._rows, 1:] = hair[:, :1] + np.cumsum(edges, axis=1)
