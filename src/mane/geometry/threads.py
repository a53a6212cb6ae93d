"""How many threads kernels may use."""

from __future__ import annotations


def most_threads() -> int:
    """How many threads kernels may use at most, for scratch that each of them has a part of."""
    import numba

    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
