"""A line when kernels are compiled, with their count: nobody waits without a word.

A terminal is told at once, and again at the end; a log has the second line alone, and only where it was worth a wait.
"""

from __future__ import annotations

import atexit
import sys
import time

from mane.simd import helper
from mane.simd.kernel_cache import PACKAGE, stamp_of
from mane.simd.numba_internals import tell_of_kernels
from mane.simd.numba_kept import kept_kernels

LOG_SECONDS = 5.0  # of compiling, from which on a log says so


class Notice:
    """Counts the kernels that this process compiles."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self._since = 0.0

    def begin(self) -> None:
        """A kernel is about to be compiled."""
        if self.count == 0:
            if _is_terminal():
                _say("compiling kernels for this CPU; later runs find them on disk (`mane warm` compiles ahead)")
            atexit.register(self.close)
            version = stamp_of(PACKAGE / "simd" / "jit.py")[:16]  # of this whole folder
            helper.start_once(kept_kernels().root / f"warmed-{version}")
        self._since = time.perf_counter()

    def end(self) -> None:
        """It has been compiled."""
        self.count += 1
        self.seconds += time.perf_counter() - self._since

    def close(self) -> None:
        """Say how many there were."""
        if _is_terminal() or self.seconds >= LOG_SECONDS:
            kernels = "1 kernel" if self.count == 1 else f"{self.count} kernels"
            _say(f"{kernels} compiled in {self.seconds:.0f} s; later runs find them on disk")


def _is_terminal() -> bool:
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


def _say(line: str) -> None:
    if sys.stderr is not None and not sys.stderr.closed:
        sys.stderr.write(f"mane: {line}\n")


NOTICE = Notice()
tell_of_kernels(NOTICE.begin, NOTICE.end)
