"""Principal components of many long vectors, and how they are kept in a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
COLUMNS_AT_ONCE = 16_384
NOTHING = 1e-12  # of the largest eigenvalue
WHOLE = np.iinfo(np.int16).max


@dataclass(frozen=True, eq=False)
class Basis:
    """A basis in 16 bit: half the memory, and reconstruction takes as long as reading it does.

    Attributes:
        numbers: in units of `scale`, shape (D, d), int16.
        scale: of each column, shape (d,), float64.
    """

    numbers: NDArray[np.int16]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, columns: NDArray[np.float64] | Float32) -> Basis:
        """Round columns (D, d) to 65,535 steps each."""
        scale = np.maximum(np.abs(columns).max(axis=0), 1e-30).astype(np.float64) / WHOLE
        return cls(np.rint(columns / scale).astype(np.int16), scale)

    @property
    def _parts(self) -> list[slice]:
        starts = range(0, len(self.numbers), COLUMNS_AT_ONCE)
        return [slice(start, start + COLUMNS_AT_ONCE) for start in starts]

    @cached_property
    def _gram(self) -> NDArray[np.float64]:
        """Products of the columns with each other, (d, d)."""
        gram = np.zeros((len(self.scale), len(self.scale)))
        for part in self._parts:
            own = self.numbers[part].astype(np.float32)
            gram += own.T @ own
        return np.asarray(gram * np.outer(self.scale, self.scale))

    def project(self, vectors: Float32) -> NDArray[np.float64]:
        """Coefficients (T, d) whose vectors come closest to given ones (T, D)."""
        right = np.zeros((len(vectors), len(self.scale)))
        for part in self._parts:
            right += vectors[:, part] @ self.numbers[part].astype(np.float32)
        return np.asarray(np.linalg.solve(self._gram, (right * self.scale).T).T)

    def reconstruct(self, coefficients: NDArray[np.float64]) -> Float32:
        """Vectors (T, D) of coefficients (T, d)."""
        scaled = (coefficients * self.scale).astype(np.float32)
        out = np.empty((len(scaled), len(self.numbers)), np.float32)
        for part in self._parts:
            out[:, part] = scaled @ self.numbers[part].T.astype(np.float32)
        return out


def principal_components(rows: Float32, count: int) -> tuple[Float32, NDArray[np.float64]]:
    """Directions of the largest sums of squares of rows (F, D), not centred: (D, d) orthonormal, and all of the sums.

    By the products of rows with each other, since vectors are longer than there are frames. `d` is less than `count`
    where rows have a lower rank.
    """
    products = np.zeros((len(rows), len(rows)))
    for start in range(0, rows.shape[1], COLUMNS_AT_ONCE):
        part = rows[:, start : start + COLUMNS_AT_ONCE].astype(np.float64)
        products += part @ part.T
    values, vectors = np.linalg.eigh(products)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = int((values > NOTHING * max(values[0], 1e-300)).sum())
    kept = min(count, rank)
    combine = (vectors[:, :kept] / np.sqrt(values[:kept])).astype(np.float32)
    return np.ascontiguousarray(rows.T @ combine), np.maximum(values, 0.0)
