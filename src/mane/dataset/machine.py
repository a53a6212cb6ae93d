"""What the workers of one machine share: a lock, so that only one of them compiles what all of them need."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from mane.body.cache import cache_directory

_state = {"is_warm": False}


@contextmanager
def compiling_alone() -> Iterator[Callable[[], None]]:
    """Hold other workers of this machine back until the function that is given is called, or the block ends.

    Only the first block of a process does so: kernels are compiled in it, kept on disk, and read from there by the
    others. Where there is no place for a lock, everybody compiles.
    """
    held: list[IO[Any]] = []
    if not _state["is_warm"]:
        lock = _taken_lock()
        if lock is not None:
            held.append(lock)

    def release() -> None:
        _state["is_warm"] = True
        while held:
            held.pop().close()

    try:
        yield release
    finally:
        release()


def _taken_lock() -> IO[Any] | None:
    folder = cache_directory()
    if folder is None or sys.platform == "win32":
        return None
    import fcntl

    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / "compiling.lock", "a")  # noqa: SIM115 - closed by `release`
        fcntl.flock(file, fcntl.LOCK_EX)
        return file
    return None
