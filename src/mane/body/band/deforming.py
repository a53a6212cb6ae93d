"""`DeformingField`: the distance field of an animated mesh at one time after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mane.body.band.narrow_band import NarrowBand
from mane.body.closed import ClosedMesh
from mane.body.sdf import SignedDistanceField, default_cell_size

if TYPE_CHECKING:
    from mane.body.animated import AnimatedMesh

# Cells of the field that is right far from the surface too are larger by this.
COARSER = 4


class DeformingField:
    """What hair asks of an animated mesh: a field that is filled anew when another time is asked for.

    Args:
        animation: the mesh.
        resolution: nodes along the longest side of the mesh in its rest pose, as of `build_sdf`; cells keep their size.
    """

    def __init__(self, animation: AnimatedMesh, resolution: int = 128) -> None:
        self._animation = animation
        self._closed = ClosedMesh.of(animation.mesh)
        cell = default_cell_size(animation.mesh.bounds, resolution)
        self._near = _AtTime(NarrowBand(self._closed, cell), animation)
        self._far = _AtTime(NarrowBand(self._closed, COARSER * cell, everywhere=True), animation)

    @property
    def cell_size(self) -> float:
        """Edge of a cell [m]."""
        return self._near.band.cell_size

    @property
    def nbytes(self) -> int:
        """Bytes of the fields and of what it takes to fill them."""
        return self._near.band.nbytes + self._far.band.nbytes

    def at(self, time: float) -> SignedDistanceField:
        """Return the field at `time` [s]: exact near the surface, far outside no more than the distance.

        Asking for the same time again costs nothing; asking for another one overwrites what was returned.
        """
        return self._near.at(time)

    def far_at(self, time: float) -> SignedDistanceField:
        """Return a field of larger cells that is right far from the surface too, see `at`."""
        return self._far.at(time)


class _AtTime:
    """A field and the time that it was filled for."""

    def __init__(self, band: NarrowBand, animation: AnimatedMesh) -> None:
        self.band = band
        self._animation = animation
        self._latest: tuple[float, SignedDistanceField] | None = None

    def at(self, time: float) -> SignedDistanceField:
        if self._latest is None or self._latest[0] != time:
            if not np.isfinite(time):
                raise ValueError(f"time: must be finite, got {time}")
            # Nobody shall take it for that of the time before, should filling it fail.
            self._latest = None
            self._latest = (time, self.band.fill(self._animation.points(time)))
        return self._latest[1]
