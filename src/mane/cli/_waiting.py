"""Progress for people who wait: nothing for the first second, nothing where nobody is looking."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE_SECONDS = 1.0


@contextmanager
def busy(text: str) -> Iterator[None]:
    """Show `text` and a clock on standard error while the block runs, if it takes long and that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    shown: list[Any] = []
    timer = threading.Timer(PATIENCE_SECONDS, lambda: shown.append(_start(text)))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for progress in shown:
            progress.stop()


@contextmanager
def counted(text: str, total: int) -> Iterator[Callable[[int, str], None]]:
    """Show a bar on standard error, if that is a terminal; tell what is yielded how much is done, and what goes on."""
    if not sys.stderr.isatty():
        yield lambda done, now: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(text, total=total)
        yield lambda done, now: progress.update(task, completed=done, description=f"{text}: {now}" if now else text)


def _start(text: str) -> Any:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    progress.add_task(text, total=None)
    progress.start()
    return progress
