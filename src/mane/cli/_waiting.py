"""Progress for people who wait: nothing for the first second, nothing where nobody is looking."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
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
