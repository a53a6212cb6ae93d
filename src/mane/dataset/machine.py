"""What the workers of one machine share: its memory, and a lock, so that only one compiles what all of them need."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

_state = {"is_warm": False}


def peak_megabytes() -> float:
    """Most memory that this process has used so far [MB]; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0.0
    import resource

    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


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
    """Wait for the lock of this machine and user, in its own temporary folder: a home may be shared by a cluster."""
    if sys.platform == "win32":
        return None
    import fcntl

    with suppress(OSError):
        descriptor = os.open(lock_file(), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        file = os.fdopen(descriptor, "a")
        fcntl.flock(file, fcntl.LOCK_EX)
        return file
    return None


def lock_file() -> Path:
    """Path of the lock: one per user, since nobody else can write it."""
    return Path(tempfile.gettempdir()) / f"mane-{os.getuid()}-compiling.lock"
