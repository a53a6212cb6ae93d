"""`HairSafety`: every hair of every frame checked for its length, and those that fail carried in a plain way instead.

A method of skinning may meet hairs that it was not made for: a hair a thousand times as long as its guides, guides that
were thrown. What comes of that is for the method to say, but never a hair across the picture: a hair that is not
finite, or whose length is outside `Skin.length_range`, is made again by what cannot fail, and counted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray
from mane.groom.groom import Groom
from mane.groom.soundness import soundness_of
from mane.groom.spacing import spaced
from mane.skin import _kernels_lengths as kernels


class HairSafety:
    """What is known of the lengths of a groom with one vertex count.

    Args:
        groom: the hairs at rest.

    Attributes:
        groom: the same with segments that have a direction, for methods to work with; itself where all have one.
        lengths: of the hairs as last measured [m], shape (S,), float32.
        rest: the same at rest.
        fallen: hairs that had to be made again in the last frame, shape (H,).
    """

    def __init__(self, groom: Groom) -> None:
        self._rows, self._offset = np.zeros(0, np.int64), np.zeros((0, 0, 3))
        sound = soundness_of(groom)
        uneven = sound.is_uneven | (groom.lengths == 0)
        self.groom = groom
        if uneven.any():
            self._rows = np.flatnonzero(uneven)
            points = groom.as_uniform().copy()
            points[self._rows] = spaced(points[self._rows])
            self._offset = groom.as_uniform()[self._rows].astype(np.float64) - points[self._rows]
            self.groom = groom.with_points(points)
        self.rest = self.groom.lengths
        self.lengths = np.empty_like(self.rest)
        self.fallen = np.zeros(0, np.int64)
        self._range = (self.rest, self.rest)

    def expect(self, low: NDArray[np.float64] | float, high: NDArray[np.float64] | float) -> None:
        """Take lengths between `low` and `high` times those at rest for right; numbers, or (S,)."""
        self._range = ((low * self.rest).astype(np.float32), (high * self.rest).astype(np.float32))

    def failing(self, points: FloatArray | None, *, may_shorten: bool = False) -> IntArray:
        """Hairs (H,) whose lengths are not as expected; `points` (S, V, 3), or None where `lengths` are known.

        With `may_shorten`, as where guides fade, hairs may have any length below the longest.
        """
        low, high = self._range
        if may_shorten:
            low = np.zeros_like(high)
        if points is not None:
            kernels.fill_lengths(points, self.lengths)
        self.fallen = np.zeros(0, np.int64)
        if kernels.count_outside(self.lengths, low, high):
            self.fallen = np.flatnonzero(~((self.lengths >= low) & (self.lengths <= high)))
        return self.fallen

    def keep_lengths(self, rows: IntArray, points: FloatArray) -> None:
        """Give hairs `rows`, `points` (H, V, 3), their lengths at rest, in place; directions stay."""
        edge = np.diff(self.groom.as_uniform()[rows].astype(np.float64), axis=1)
        kernels.keep_lengths(np.linalg.norm(edge, axis=2).astype(np.float32), points)
        self.lengths[rows] = self.rest[rows]

    def own_spacing(self, rotations: FloatArray, points: FloatArray) -> None:
        """Take from hairs the room that `groom` gave them; roots have turned by `rotations`, (4,) or (S, 4)."""
        if len(self._rows):
            turn = rotations if rotations.ndim == 1 else rotations[self._rows, None]
            points[self._rows] += quaternion.rotate(turn, self._offset).astype(np.float32)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.lengths.nbytes + self._range[0].nbytes + self._range[1].nbytes + self._offset.nbytes
