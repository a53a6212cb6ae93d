"""`GuideRows`: guides at the places that go with the vertices of hairs (chai2017 6.1).

A particle of a hair goes with the particle of a guide at the same distance from the root, or with its tip where the
guide is shorter. With as many vertices on strands of other lengths these are places between vertices: one row for
every guide and every ratio of lengths, in steps of a few percent, so that hairs share rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin._kernels_linear import fill_tables

LENGTH_STEP = 1.04  # lengths that differ by less count as one


@dataclass(frozen=True, eq=False)
class GuideRows:
    """R rows for hairs of V vertices.

    Attributes:
        guide: slot of each row, shape (R, 1), int32.
        parameter: place on it of each vertex of a hair, as its vertex number and the fraction of the way to the next,
            shape (R, 1, V), float32.
    """

    guide: NDArray[np.int32]
    parameter: NDArray[np.float32]

    @classmethod
    def of(cls, groom: Groom, guides: Guides, slots: NDArray[np.int32]) -> tuple[GuideRows, NDArray[np.int32]]:
        """Return the rows of hairs with eligible guides `slots (S, M)`, and which row is that of each, (S, M)."""
        vertices, own = int(groom.vertex_counts[0]), guides.vertex_count
        tiny = np.finfo(np.float32).tiny
        hair_length = np.maximum(groom.lengths.astype(np.float64), tiny)[:, None]
        guide_length = np.maximum(guides.strands.lengths.astype(np.float64), tiny)[slots]
        step = np.rint(np.log(hair_length / guide_length) / np.log(LENGTH_STEP)).astype(np.int64)
        kinds, row = np.unique(np.stack([slots.reshape(-1), step.reshape(-1)], axis=1), axis=0, return_inverse=True)
        share = LENGTH_STEP ** kinds[:, 1, None] * np.linspace(0.0, own - 1.0, vertices)
        parameter = np.minimum(share, own - 1.0)[:, None].astype(np.float32)
        rows = cls(np.ascontiguousarray(kinds[:, :1], np.int32), np.ascontiguousarray(parameter))
        return rows, row.reshape(slots.shape).astype(np.int32)

    def table(self) -> FloatArray:
        """Room for what `fill` writes, shape (R, 3, V)."""
        return np.empty((len(self.guide), 3, self.parameter.shape[2]), np.float32)

    def fill(self, of_guides: FloatArray, table: FloatArray) -> None:
        """Fill a table with what guides have at their vertices, `of_guides (G, U, 3)`."""
        fill_tables(of_guides, self.guide, self.parameter, table[:, None])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.guide.nbytes + self.parameter.nbytes
