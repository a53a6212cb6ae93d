"""A dry run of OpenUSD on a binary file, in a process of its own.

A damaged crate file can crash OpenUSD or keep it busy for ever: of 100,000 mutated files, five crashed release 26.11
and fourteen did not end within 20 s. In a child process that is a message; in this one it would be the end.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

# A whole second would do for what artists make; a loaded machine and a network drive need more.
PATIENCE_SECONDS = 30.0
BYTES_PER_SECOND = 20e6

# Points are stored as they are, and other data seldom shrinks by more than this: a file that wants more is damaged.
SPARE_MEMORY = 4_000_000_000
MEMORY_PER_BYTE = 16
OUT_OF_MEMORY = 77

# Reads what mane will read: every attribute of every prim, at the earliest time.
_SCRIPT = """
import json, os, sys
sys.path[:] = json.loads(sys.argv[1])
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]), int(sys.argv[3])))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, OSError, ValueError):
    pass
from pxr import Usd
try:
    stage = Usd.Stage.Open(sys.argv[2])
    for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
        for attribute in prim.GetAttributes():
            attribute.Get(Usd.TimeCode.EarliestTime())
            attribute.GetNumTimeSamples()
            attribute.GetAllMetadata()
except MemoryError:
    os._exit(int(sys.argv[4]))
"""

_passed: set[tuple[str, int, int]] = set()


def probe(path: Path) -> None:
    """Raise ValueError when the file crashes OpenUSD, keeps it busy or eats memory; other faults are the reader's.

    A file that passed is remembered by name, size and time of change. Does nothing where Python is embedded in another
    program, which a child process would start a second time.
    """
    if not _can_spawn():
        return
    status = path.stat()
    key = (os.path.realpath(path), status.st_size, status.st_mtime_ns)
    if key in _passed:
        return
    memory = SPARE_MEMORY + MEMORY_PER_BYTE * status.st_size
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        _SCRIPT,
        json.dumps(sys.path),
        str(path),
        str(memory),
        str(OUT_OF_MEMORY),
    ]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE_SECONDS + status.st_size / BYTES_PER_SECOND,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"{path}: OpenUSD does not finish reading it; the file is damaged, export it again") from None
    if done.returncode == OUT_OF_MEMORY:
        raise ValueError(f"{path}: claims to hold more than its size allows; the file is damaged, export it again")
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise ValueError(f"{path}: OpenUSD crashes on it ({name}); the file is damaged, export it again")
    _passed.add(key)


def _can_spawn() -> bool:
    name = os.path.basename(sys.executable or "").lower()
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)
