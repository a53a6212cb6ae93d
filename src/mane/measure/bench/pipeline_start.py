"""How long a new user waits: from typing `mane demo` to its first frames, with nothing compiled or kept, and again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from mane.measure.figures import Figures

PATIENCE_SECONDS = 900.0
POLL_SECONDS = 0.02
# The first frame shows the hair as groomed; the second is the first one that is simulated.
FRAMES = {1: "time to the first frame", 2: "time to the first frame in motion"}


def add_start(figures: Figures, quick: bool, say: Callable[[str], None]) -> None:
    """Time `mane demo` in processes of its own, stopped after their second frame; `quick` compiles nothing."""
    sizes = ["--strands", "1000", "--frames", "3"] if quick else []
    with tempfile.TemporaryDirectory() as folder:
        empty = {"NUMBA_CACHE_DIR": str(Path(folder, "numba")), "MANE_CACHE": str(Path(folder, "mane"))}
        for case in ("the user's caches",) if quick else ("empty caches", "warm caches"):
            say(f"pipeline: mane demo, {case}")
            out = Path(folder, case)
            seconds = demo_seconds([*sizes, "-o", str(out)], out / "demo.cache", {} if quick else empty)
            for number, metric in FRAMES.items():
                figures.add(f"mane demo, {case}", metric, seconds[number], "s")


def demo_seconds(options: list[str], cache: Path, environment: dict[str, str]) -> dict[int, float]:
    """Seconds from the start of `mane demo` until each frame of `FRAMES` is in its cache, the last thing written."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "mane.cli", "demo", *options],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # so that what it starts can be stopped with it
    )
    try:
        return {number: _wait_for(cache / f"frame.{number:04d}.npz", process, started) for number in FRAMES}
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _wait_for(file: Path, process: subprocess.Popen[bytes], started: float) -> float:
    while not file.is_file():
        if process.poll() is not None and not file.is_file():
            said = process.communicate()[1].decode(errors="replace").strip().splitlines() or ["nothing"]
            raise RuntimeError(f"mane demo: ended before {file.name} was there; it said {said[-1]!r}")
        if time.perf_counter() - started > PATIENCE_SECONDS:
            raise RuntimeError(f"mane demo: {file.name} was not there after {PATIENCE_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)
    return time.perf_counter() - started
