"""`PackedStyles`: shapes that a coat blends to, in eight bytes per point (lee2018 3.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray
from mane.volume._kernels_embed import HALF
from mane.volume.embedding import POINTS_PER_BLOCK, Embedding
from mane.volume.mesh import TetMesh


class PackedStyles:
    """Where styles have the points of a coat, within tetrahedra: 16 bits per coordinate and the tetrahedron's number.

    A coordinate is within half a unit of what it was, the reach of a point from the middle of its tetrahedron over
    65,535: 0.5 um in a mesh of 4 cm. Segments have their lengths from the groom, so that this changes no length.

    Args:
        mesh: that holds them.
        count: of the styles, K.
        points: of the coat, P.

    Attributes:
        places: shape (K, P, 3), uint16.
        tets: of the points, shape (K, P).
        middles: of the tetrahedra [m], shape (T, 3).
        units: of the places, for each style [m], shape (K,).
    """

    def __init__(self, mesh: TetMesh, count: int, points: int) -> None:
        self.places = np.empty((count, points, 3), np.uint16)
        self.tets: NDArray[np.unsignedinteger] = np.empty((count, points), mesh.tet_kind)
        self.middles: FloatArray = mesh.nodes[mesh.tets].mean(axis=1).astype(np.float32)
        self.units = np.zeros(count, np.float32)

    def put(self, style: int, embedding: Embedding) -> None:
        """Take over one of the styles."""
        blocks = [slice(at, at + POINTS_PER_BLOCK) for at in range(0, len(embedding.rest), POINTS_PER_BLOCK)]
        reach = max(float(np.abs(self._seen(embedding, block)).max()) for block in blocks)
        unit = self.units[style] = np.float32(max(reach, 1e-9) / HALF)
        for block in blocks:
            self.places[style, block] = np.rint(self._seen(embedding, block) / unit + HALF).clip(0, 2**16 - 1)
        self.tets[style] = embedding.tets

    def points(self, style: int) -> FloatArray:
        """Points of a style at rest [m], shape (P, 3)."""
        found: FloatArray = self.middles[self.tets[style]] + self.units[style] * (self.places[style] - HALF)
        return found

    def _seen(self, embedding: Embedding, block: slice) -> FloatArray:
        seen: FloatArray = embedding.rest[block] - self.middles[embedding.tets[block]]
        return seen

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What the kernel reads, in its order."""
        return self.places, self.tets, self.middles, self.units

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(one.nbytes for one in self.arrays)
