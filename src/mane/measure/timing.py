"""How long a call takes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


def best_seconds(work: Callable[[], object], repeats: int, budget: float = math.inf, *, warm_up: bool = False) -> float:
    """Return the shortest of `repeats` runs [s], or of as many as begin within `budget` [s] of the first.

    `warm_up` runs it once before, to compile and allocate.
    """
    seconds: list[float] = []
    if warm_up:
        work()
    while (len(seconds) < repeats and sum(seconds) < budget) or not seconds:
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
