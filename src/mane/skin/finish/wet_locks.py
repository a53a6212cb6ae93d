"""`WetLocks`: wet hair clings together in locks, for any skin (lee2018 3.2.2)."""

from __future__ import annotations

import numpy as np

from mane.geometry.checks import FloatArray
from mane.geometry.limits import Count, Fraction, check_arguments
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.locks import lock_centres
from mane.skin._kernels_lengths import keep_lengths
from mane.skin.finish.passes import FinishingPass
from mane.skin.guide_values import GuideValues
from mane.strand.frame import GuideFrame


class WetLocks(FinishingPass):
    """Draws hairs to the middle one of their lock, as far as they are wet and above water; lengths are kept.

    Args:
        groom: the dense hair at rest.
        guides: that are wet or not, `frame.wet`.
        hairs: in a lock.
        strength: how close soaked tips come to their lock, 0 to 1.
        start: part of the length from which on they do, 0 to 1.
    """

    name = "wet_locks"
    needs = ("groom", "guides")
    examples = ({}, {"hairs": 8, "strength": 0.5})
    is_per_hair = False
    STRENGTH, START = 0.9, 0.1

    def __init__(
        self, groom: Groom, guides: Guides, *, hairs: Count = 24, strength: Fraction = STRENGTH, start: Fraction = START
    ) -> None:
        check_arguments(WetLocks, locals())
        self.strength, self.start = strength, start
        self._centres = lock_centres(groom.roots, hairs)
        self._values = GuideValues(groom, guides)

    def __call__(self, points: FloatArray, frame: GuideFrame) -> FloatArray:
        """Draw `points (S, V, 3)` [m] together, in place, and return them."""
        if frame.wet is None or not frame.wet.level.any():
            return points
        vertices = points.shape[1]
        along = np.clip((np.linspace(0.0, 1.0, vertices) - self.start) / max(1.0 - self.start, 1e-6), 0.0, 1.0)
        pull = self._values(frame.wet.level, vertices) * (self.strength * along * along * (3.0 - 2.0 * along))
        rows = np.flatnonzero(pull.any(axis=1))
        hairs = points[rows]
        lengths = np.linalg.norm(np.diff(hairs.astype(np.float64), axis=1), axis=2).astype(np.float32)
        hairs += pull[rows, :, None].astype(np.float32) * (points[self._centres[rows]] - hairs)
        keep_lengths(lengths, hairs)
        points[rows] = hairs
        return points
