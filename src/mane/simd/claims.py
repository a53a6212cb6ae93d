"""A kernel that another process of this machine is compiling is waited for, not compiled twice.

A mark beside the kept kernels says who is at it. Marks are a matter of time saved, never of right or wrong: one that
cannot be written, is too old or belongs to a process that is gone counts as none.
"""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Kernel = TypeVar("Kernel")
waits: list[float] = []  # for kernels of other processes, by this one [s]

PATIENCE = 60.0  # no kernel takes that long [s]
INTERVAL = 0.05  # between two looks [s]


def await_or_claim(mark: Path, load: Callable[[], Kernel | None]) -> Kernel | None:
    """Return what another process has compiled meanwhile, or None once it is ours to compile (see `release`)."""
    while not _claim(mark):
        began = time.perf_counter()
        while _is_held(mark):
            time.sleep(INTERVAL)
        waits.append(time.perf_counter() - began)
        kernel = load()
        if kernel is not None:
            return kernel
    return None


def release(mark: Path) -> None:
    """Say that the kernel is there; others look for it on disk."""
    with contextlib.suppress(OSError):
        mark.unlink()


def _owner() -> str:
    return f"{platform.node()} {os.getpid()}"


def _claim(mark: Path) -> bool:
    """Whether nobody else is at it; this process is from now on."""
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        with mark.open("x", encoding="utf-8") as file:
            file.write(_owner())
    except FileExistsError:
        if _is_held(mark):
            return False
        release(mark)  # of a process that was killed; should two find that at once, both compile
    except OSError:
        pass
    return True


def _is_held(mark: Path) -> bool:
    """Whether a mark is of another process of this machine that lives and has not been at it for too long."""
    try:
        host, _, number = mark.read_text(encoding="utf-8").rpartition(" ")
        is_old = time.time() - mark.stat().st_mtime > PATIENCE
    except (OSError, UnicodeDecodeError):
        return False
    if not number:
        return not is_old  # written at this moment
    return host == platform.node() and not is_old and number != str(os.getpid()) and _lives(number)


def _lives(number: str) -> bool:
    try:
        os.kill(int(number), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except OSError:
        return True
    return True
