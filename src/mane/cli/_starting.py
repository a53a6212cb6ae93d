"""What makes a command start sooner."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """Do not look for garbage while the block runs, as importing and reading go on.

    They make some 170,000 objects that stay until the end; Python looks through all of them again and again.
    """
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()
