"""Fewer, wider strands where a strand is much thinner than a pixel: stochastic simplification (Cook et al. 2007).

Three hundred hairs of a twentieth of a pixel and a hundred of three twentieths cover the same and look the same, and
the latter take a third of the time. Which strands stay follows from their numbers, so that a movie keeps the same ones.
"""

from __future__ import annotations

import numpy as np

from mane.groom.groom import Groom
from mane.render.strand_numbers import strand_numbers, uniform
from mane.render.strands import strand_widths
from mane.render.view import View

LEAST_SHARE = 0.05  # of the strands, however thin they are: fewer no longer cover a head evenly
LEAST_STRANDS = 2_000  # a groom that would be left with fewer is drawn whole
STREAM = 4  # of the numbers that decide who stays; 1 to 3 are those of the looks


def simplified(
    groom: Groom, view: View, finest: float, *, pixel: float = 1.0, width: float | None = None
) -> tuple[Groom, float]:
    """Return the strands to draw in place of a groom's, and how many times wider they must be.

    Args:
        groom: the strands.
        view: who looks at them.
        finest: width that a typical strand should have at least [pixels]; 0 keeps all strands.
        pixel: columns and rows of the view that make one pixel of the picture.
        width: diameter of every strand [m]; None takes the groom's.
    """
    if not 0 <= finest < np.inf:
        raise ValueError(f"finest: must be at least 0 pixels and finite, got {finest}")
    share = _share(groom, view, finest * pixel, width) if finest and groom.strand_count else 1.0
    if share >= 1.0:
        return groom, 1.0
    kept = np.flatnonzero(uniform(strand_numbers(groom), STREAM) < share)
    if len(kept) < LEAST_STRANDS:
        return groom, 1.0
    return groom.take(kept), groom.strand_count / len(kept)


def _share(groom: Groom, view: View, finest: float, width: float | None) -> float:
    """Share of the strands with which a typical one is `finest` columns of the view wide."""
    middle = np.median(groom.points, axis=0, keepdims=True).astype(np.float32)
    nearness = float(view.project(middle)[0, 2])
    seen = float(np.median(strand_widths(groom, width))) * float(view.focal) * nearness
    return float(np.clip(seen / finest, LEAST_SHARE, 1.0)) if seen > 0 else 1.0
