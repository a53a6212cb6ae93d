"""The first run on a machine: other cores compile what it will need while it compiles what it needs now.

Most of a first run is compiling, one kernel after the other, with all cores but one idle. So the first process that
compiles a kernel of this version starts `mane warm` beside itself, which ends with it at the latest. Once per version
and user; `MANE_WARM=0` in the environment turns it off, as tests do, which keep all cores busy by themselves.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

from mane.simd.kernel_cache import PACKAGE

VARIABLE = "MANE_WARM"


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def start_once(mark: Path) -> subprocess.Popen[bytes] | None:
    """Start `mane warm` on all cores but one, if nobody has made `mark` before; return the process or None."""
    is_wanted = os.environ.get(VARIABLE, "1") != "0" and multiprocessing.parent_process() is None
    if cores() < 2 or not is_wanted or not sys.executable:
        return None
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch(exist_ok=False)
        words = [
            sys.executable,
            "-m",
            PACKAGE.name,
            "warm",
            "--workers",
            str(cores() - 1),
            "--beside",
            str(os.getpid()),
        ]
        process = subprocess.Popen(
            words, env={**os.environ, VARIABLE: "0"}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:  # the mark is there, or nothing can be written
        return None
    atexit.register(stop, process)
    return process


def stop(process: subprocess.Popen[bytes]) -> None:
    """End it with all that it has started; what it has compiled is kept."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()
