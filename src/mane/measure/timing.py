"""How long a call takes."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_seconds(work: Callable[[], object], repeats: int, *, warm_up: bool = False) -> float:
    """Return the shortest of `repeats` runs [s]; `warm_up` runs it once before, to compile and allocate."""
    seconds = []
    if warm_up:
        work()
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
