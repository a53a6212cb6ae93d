"""Cuts in an animation: moments at which a whole character is elsewhere from one sample to the next."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mane.body.motion_keys import MAX_SPEED
from mane.geometry.checks import FloatArray

# So many of the points must jump: a hand that is thrown may be as fast, but not the body with it.
NEARLY_ALL = 0.9


def is_cut(velocities: Callable[[int], FloatArray], interval: int, count: int) -> bool:
    """Whether nearly all points jump within an interval between two samples.

    They do where they are faster than any head moves, unless the interval before or after has about the same velocity:
    that is a character in steady flight. An interval that stands alone tells nothing.

    Args:
        velocities: velocity of all points within an interval [m/s], shape (N, 3).
        interval: which one is asked about.
        count: number of intervals.
    """
    here = velocities(interval)
    if not _nearly_all_fast(here):
        return False
    beside = [one for one in (interval - 1, interval + 1) if 0 <= one < count]
    return bool(beside) and all(_nearly_all_fast(here - velocities(one)) for one in beside)


def _nearly_all_fast(velocity: FloatArray) -> bool:
    square = np.einsum("ni,ni->n", velocity, velocity)
    return bool((square > MAX_SPEED**2).mean() >= NEARLY_ALL)
