"""How much memory is free, so that what cannot fit is refused before it is begun."""

from __future__ import annotations

import os
from pathlib import Path

GIGABYTE = 1e9


def free_memory() -> int | None:
    """Bytes that can be had without swapping; None where the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def require_room(name: str, count: int, bytes_each: int) -> None:
    """Raise ValueError where `count` things of `bytes_each` cannot fit into memory; `name` says what is counted."""
    free = free_memory()
    if free is None or count * bytes_each <= free:
        return
    needed, there = count * bytes_each / GIGABYTE, free / GIGABYTE
    raise ValueError(
        f"{name}: {count:,} take some {needed:,.0f} GB of memory while they are made, and {there:,.0f} GB are free; "
        f"at most {free // bytes_each:,} fit"
    )
