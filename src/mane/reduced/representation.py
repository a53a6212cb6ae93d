"""What of a frame of hair is learned: its positions, as printed, or the directions of its segments.

Positions that are blended and cut to a few components stretch and kink strands. Directions are integrated from root to
tip with the lengths that the strands have, so that lengths are exact.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from mane.reduced import _kernels_frames as kernels
from mane.reduced.canonical import CENTIMETRES

Frames = NDArray[np.float32]


class Representation(Protocol):
    """Turns hair in canonical space into vectors and back."""

    name: ClassVar[str]

    def encode(self, points: Frames, rest: Frames) -> Frames:
        """Vectors (T, D) of hair (T, G, V, 3) [m] of a style whose rest is (G, V, 3)."""
        ...

    def decode(self, vectors: Frames, rest: Frames, roots: Frames | None = None) -> Frames:
        """Undo it: hair (T, G, V, 3) [m]; `roots (T, G, 3)` in canonical space, by default those of rest."""
        ...

    def metric(self, vertices: int) -> NDArray[np.float64]:
        """Weight of each of the P vertices or segments of a strand in principal components, shape (P,)."""
        ...


class Positions:
    """Positions in centimetres (guan2012 section 3). Rest is not used: the mean of training takes its place."""

    name: ClassVar[str] = "positions"

    def encode(self, points: Frames, rest: Frames) -> Frames:
        """Coordinates one after the other [cm]."""
        return np.ascontiguousarray(points.reshape(len(points), -1) * np.float32(CENTIMETRES), np.float32)

    def decode(self, vectors: Frames, rest: Frames, roots: Frames | None = None) -> Frames:
        """Coordinates as they are; neither roots nor lengths are kept."""
        return (vectors / np.float32(CENTIMETRES)).reshape(len(vectors), *rest.shape)

    def metric(self, vertices: int) -> NDArray[np.float64]:
        """All vertices alike."""
        return np.ones(vertices)


class Directions:
    """Unit directions of segments less those at rest: zero is the groom itself, to the last hair."""

    name: ClassVar[str] = "directions"

    def encode(self, points: Frames, rest: Frames) -> Frames:
        """Differences of unit directions."""
        unit = directions(points)
        unit -= directions(rest)
        return unit.reshape(len(points), -1)

    def decode(self, vectors: Frames, rest: Frames, roots: Frames | None = None) -> Frames:
        """Strands that are put together from root to tip with the lengths of rest."""
        unit = directions(rest)
        given = rest[None, :, 0] if roots is None else roots
        points = np.empty((len(vectors), *rest.shape), np.float32)
        kernels.lay_strands(
            _contiguous(vectors).reshape(-1, *unit.shape), unit, lengths(rest), _contiguous(given), points
        )
        return points

    def metric(self, vertices: int) -> NDArray[np.float64]:
        """By the vertices that each segment carries: one at the root moves all of the strand."""
        return np.sqrt(np.arange(vertices - 1, 0, -1) / (vertices - 1))


REPRESENTATIONS: dict[str, Any] = {"positions": Positions, "directions": Directions}


def directions(points: Frames) -> Frames:
    """Unit directions of the segments of hair (..., V, 3), shape (..., V - 1, 3)."""
    unit = np.empty((*points.shape[:-2], points.shape[-2] - 1, 3), np.float32)
    kernels.fill_directions(_contiguous(points).reshape(-1, *points.shape[-2:]), unit.reshape(-1, *unit.shape[-2:]))
    return unit


def lengths(points: Frames) -> Frames:
    """Lengths of the segments of hair (..., V, 3) [m], shape (..., V - 1)."""
    return np.asarray(np.linalg.norm(np.diff(points, axis=-2), axis=-1), np.float32)


def _contiguous(values: NDArray[Any]) -> Frames:
    return np.ascontiguousarray(values, np.float32)
