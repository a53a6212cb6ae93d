"""`StageClock`: where the time of a run goes."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext


class StageClock:
    """Adds up seconds by label, for the current frame and for all.

    Attributes:
        frame: seconds of the current frame by label.
        total: seconds of all frames by label, in the order in which labels were first met.
        setup: seconds before the first frame by label.
        beside: seconds that a writer spent beside the frames by label; part of no frame.
    """

    def __init__(self) -> None:
        self.frame: dict[str, float] = {}
        self.total: dict[str, float] = {}
        self.setup: dict[str, float] = {}
        self.beside: dict[str, float] = {}
        self._inner = 0.0

    def stage(self, label: str) -> AbstractContextManager[None]:
        """Count the time of the block for a label, less what blocks within it took."""
        return _Timed(self, label)

    def end_setup(self) -> None:
        """Say that what was counted so far was preparation."""
        for label, seconds in self.frame.items():
            self.setup[label] = self.setup.get(label, 0.0) + seconds
        self.frame = {}

    def end_frame(self) -> dict[str, float]:
        """Begin the next frame and return the seconds of the one that ended."""
        ended, self.frame = self.frame, {}
        for name, seconds in ended.items():
            self.total[name] = self.total.get(name, 0.0) + seconds
        return ended


class _Timed:
    """One block; a class, since a generator would cost a substep more than some of what it times."""

    __slots__ = ("_before", "_clock", "_label", "_started")

    def __init__(self, clock: StageClock, label: str) -> None:
        self._clock, self._label = clock, label

    def __enter__(self) -> None:
        self._before, self._clock._inner = self._clock._inner, 0.0
        self._started = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        clock = self._clock
        spent = time.perf_counter() - self._started
        clock.frame[self._label] = clock.frame.get(self._label, 0.0) + spent - clock._inner
        clock._inner = self._before + spent


class NoClock(StageClock):
    """Counts nothing: for those who step by themselves."""

    def stage(self, label: str) -> AbstractContextManager[None]:
        """Let the block run."""
        return _NOTHING


_NOTHING = nullcontext()
NO_CLOCK = NoClock()
