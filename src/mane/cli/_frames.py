"""Progress over many frames: a bar for people who watch, a line now and then for those who read a log."""

from __future__ import annotations

import sys
import time
from typing import Any

from mane.cli._measuring import progress_line

PATIENCE_SECONDS = 1.0  # before anything is shown to people
LOG_SECONDS = 15.0  # between lines of a log


class FrameProgress:
    """Tells how many of `count` frames are done, on standard error, in a `with` block; quick work is silent."""

    def __init__(self, text: str, count: int) -> None:
        self._text, self._count, self._done = text, count, 0
        self._bar: Any = None
        self._task: Any = None
        self._started = self._told = time.monotonic()

    def __enter__(self) -> FrameProgress:
        return self

    def advance(self) -> None:
        """Say that one more frame is done."""
        self._done += 1
        if self._count == 1:
            return
        now = time.monotonic()
        if sys.stderr.isatty():
            if self._bar is None and now - self._started > PATIENCE_SECONDS:
                self._show_bar()
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done)
        elif now - self._told > LOG_SECONDS:
            progress_line(f"{self._text}: frame {self._done} of {self._count}")
            self._told = now

    def _show_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self._text, total=self._count)
        self._bar.start()

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()
