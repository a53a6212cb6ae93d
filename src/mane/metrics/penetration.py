"""How much hair is inside solids: guan2012 section 7's penetration rate and maximal penetration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from mane.geometry.checks import FloatArray
from mane.metrics.curves import Curves, as_curves

# Roots sit on the skin, and a distance field rounds: depths below this, about the width of a hair, are no penetration.
TOUCH = 1e-4  # [m]


class HasDistance(Protocol):
    """Anything that gives a signed distance: a `Solid`, or one at a time of its motion (`solid.at(time)`)."""

    def distance(self, points: ArrayLike, /) -> FloatArray:
        """Signed distance [m], shape (P,), negative inside; `points` [m], shape (P, 3), world frame."""


@dataclass(frozen=True)
class Penetration:
    """Penetration of one frame, or the mean of several.

    Attributes:
        rate: penetrating vertices over all vertices, 0 to 1.
        deepest: depth of the deepest vertex [m]; for several frames the mean of theirs.
    """

    rate: float
    deepest: float

    @classmethod
    def mean(cls, frames: Sequence[Penetration]) -> Penetration:
        """Average over the frames of a sequence; `deepest` becomes the paper's mean of maximal penetration."""
        if not frames:
            raise ValueError("frames: must hold at least one frame, got none")
        return cls(float(np.mean([f.rate for f in frames])), float(np.mean([f.deepest for f in frames])))


def penetration_depth(points: Curves, solids: Sequence[HasDistance]) -> FloatArray:
    """Depth of every vertex in the solid that it is deepest in [m], shape (S, V), float32; 0 outside.

    Args:
        points: strands [m], shape (S, V, 3), world frame.
        solids: `Solid`s as they stand at time 0, or `solid.at(time)`.
    """
    curves = as_curves("points", points)
    depth = np.zeros(curves.shape[:2], np.float32)
    for solid in solids:
        np.maximum(depth, -solid.distance(curves.reshape(-1, 3)).reshape(depth.shape), out=depth)
    return depth


def penetration(points: Curves, solids: Sequence[HasDistance], *, tolerance: float = TOUCH) -> Penetration:
    """Share of vertices that are deeper than `tolerance` [m] inside a solid, and the depth of the deepest of them.

    Args:
        points: strands [m], shape (S, V, 3).
        solids: `Solid`s as they stand at time 0, or `solid.at(time)`.
        tolerance: depth that still counts as touching [m].
    """
    depth = penetration_depth(points, solids)
    inside = depth > tolerance
    return Penetration(float(inside.mean()), float(depth.max()) if inside.any() else 0.0)
