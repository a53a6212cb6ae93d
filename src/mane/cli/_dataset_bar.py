"""A bar for work that is counted: on a terminal a bar with the time left, else a line now and then."""

from __future__ import annotations

import sys
import time
from typing import Any

from mane.cli._measuring import progress_line
from mane.cli._run_bar import LOG_SECONDS, clock_text


class CountBar:
    """Shows how many of something are done, on standard error, in a `with` block."""

    def __init__(self, text: str, unit: str, *, quiet: bool = False) -> None:
        self._text, self._unit, self._quiet = text, unit, quiet
        self._bar: Any = None
        self._task: Any = None
        self._told = self._began = time.monotonic()
        self._first: int | None = None

    def __enter__(self) -> CountBar:
        return self

    def tell(self, done: int, count: int, notes: str = "") -> None:
        """Show that so many are done."""
        if self._quiet:
            return
        now = time.monotonic()
        if self._first is None:
            self._first = done - 1
        rate = (done - self._first) / max(now - self._began, 1e-9)
        left = clock_text((count - done) / rate)
        numbers = f"{done} of {count} {self._unit}, {left} left{notes and ', '}{notes}"
        if sys.stderr.isatty():
            self._show(done, count, numbers)
        elif now - self._told > LOG_SECONDS:
            progress_line(f"{self._text}: {numbers}")
            self._told = now

    def _show(self, done: int, count: int, numbers: str) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            columns = (TextColumn("{task.description}", markup=False), BarColumn())
            self._bar = Progress(
                *columns,
                TextColumn("{task.fields[numbers]}", markup=False),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(self._text, total=count, numbers="")
            self._bar.start()
        self._bar.update(self._task, completed=done, numbers=numbers)

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()
