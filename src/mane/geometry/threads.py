"""How many threads kernels may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def most_threads() -> int:
    """How many threads kernels may use at most, for scratch that each of them has a part of."""
    import numba

    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def current_threads() -> int:
    """How many threads kernels use now."""
    import numba

    return int(numba.get_num_threads())


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Run kernels on so many threads within the block, as far as there are; a few strands are quickest on one."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(min(count, most_threads()))
    try:
        yield
    finally:
        numba.set_num_threads(before)
