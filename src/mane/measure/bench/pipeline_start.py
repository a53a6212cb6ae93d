"""How long a new user waits: for the lines of README.md by stage, and from typing `mane demo` to its first frames.

With nothing compiled or kept, and again.
"""

from __future__ import annotations

import json
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
TARGETS: dict[str | int, float] = {"lines": 5.0, 1: 6.0}  # [s] with warm caches
COMPILING = 20.0  # [s] of the lines with empty caches, waiting for kernels of the process beside included
# The lines of README.md, and what each of them takes.
LINES = """
import json, sys, time
times, began = {}, time.perf_counter()
def lap(name):
    global began
    times[name], began = time.perf_counter() - began, time.perf_counter()
import mane
lap("import")
groom = mane.styles.make("curly", strands=int(sys.argv[1]), seed=1)
lap("grow")
guides = mane.select_guides(groom, min(128, groom.strand_count), seed=1)
lap("choose guides")
body, head, cohesion = mane.styles.body("curly"), mane.make_motion("shake"), mane.forces.Attraction(rate=1.0)
sim = mane.Simulation(guides, "cosserat", body=body, head=head, forces=[cohesion])
lap("simulation")
skin = mane.skin("physical", groom, sim)
lap("bind")
points = skin(sim.step())
lap("first frame")
from mane.simd import claims
from mane.simd.notice import NOTICE
times["of it compiling"] = NOTICE.seconds + sum(claims.waits)
print(json.dumps(times))
"""


def add_start(figures: Figures, quick: bool, say: Callable[[str], None]) -> None:
    """Time `mane demo` in processes of its own, stopped after their second frame; `quick` compiles nothing."""
    sizes = ["--strands", "1000", "--frames", "3"] if quick else []
    with tempfile.TemporaryDirectory() as folder:
        of_lines, of_demo = ({} if quick else _caches(Path(folder, name)) for name in ("lines", "demo"))
        for case in ("the user's caches",) if quick else ("empty caches", "warm caches"):
            _add_lines(figures, case, 1_000 if quick else 100_000, of_lines, say)
            say(f"pipeline: mane demo, {case}")
            out = Path(folder, case)
            seconds = demo_seconds([*sizes, "-o", str(out)], out / "demo.cache", of_demo)
            for number, metric in FRAMES.items():
                target = TARGETS.get(number) if case == "warm caches" else None
                figures.add(f"mane demo, {case}", metric, seconds[number], "s", target=target)


def _caches(folder: Path) -> dict[str, str]:
    """Caches of its own for whoever starts with nothing, as the environment names them; Python's bytecode is one."""
    return {
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "MANE_CACHE": str(folder / "mane"),
        "PYTHONPYCACHEPREFIX": str(folder / "python"),
        "PYTHONDONTWRITEBYTECODE": "",
    }


def _add_lines(
    figures: Figures, case: str, strands: int, environment: dict[str, str], say: Callable[[str], None]
) -> None:
    """Time the lines of README.md, by stage, in a process of their own."""
    say(f"pipeline: the lines of README.md, {case}")
    done = subprocess.run(
        [sys.executable, "-c", LINES, str(strands)],
        env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    times: dict[str, float] = json.loads(done.stdout)
    compiling = times.pop("of it compiling")
    name = f"README's lines, {strands:,} strands, {case}"
    for stage, seconds in times.items():
        figures.add(name, stage, seconds, "s")
    target = TARGETS["lines"] if case == "warm caches" else None
    figures.add(name, "time to the first frame", sum(times.values()), "s", target=target)
    figures.add(name, "of it compiling", compiling, "s", target=COMPILING if case == "empty caches" else None)


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
