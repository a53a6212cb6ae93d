"""A line on a terminal when kernels are compiled, and one with their count at the end: nobody waits without a word."""

from __future__ import annotations

import atexit
import sys
import time

from mane.simd import helper
from mane.simd.kernel_cache import PACKAGE, stamp_of
from mane.simd.numba_internals import tell_of_kernels
from mane.simd.numba_kept import kept_kernels


class Notice:
    """Counts the kernels that this process compiles."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self._since = 0.0

    def begin(self) -> None:
        """A kernel is about to be compiled."""
        if self.count == 0:
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
        _say(f"{self.count} kernels compiled in {self.seconds:.0f} s")


def _say(line: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"mane: {line}\n")


NOTICE = Notice()
tell_of_kernels(NOTICE.begin, NOTICE.end)
