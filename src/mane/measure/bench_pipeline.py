"""`mane bench pipeline`: milliseconds per frame of a whole scene, by stage, and the time to the first frame.

Nothing is written. The scene is the one of `mane demo`: curly hair through a head shake, with the body to collide with.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mane.measure.figures import Figures
from mane.scene.build import build
from mane.scene.clock import StageClock
from mane.scene.config import FramesTable, GroomTable, GuidesTable, HeadTable, Scene, SkinTable, StrandTable

Progress = Callable[[str], None]

WARM_FRAMES = 4  # compile, fill buffers, and get the hair moving
FRAMES = 48
STAGES = ("guides", "contact", "air", "skin", "finish")
GROWTH_STRANDS = (25_000, 50_000, 100_000, 200_000)


@dataclass(frozen=True)
class Size:
    """How much hair, and the frames per second that are promised on two cores."""

    guides: int
    strands: int
    vertices: int
    target: float | None = None

    @property
    def case(self) -> str:
        """How the table calls it."""
        return f"{self.guides} guides, {self.strands:,} x {self.vertices}"


SIZES = (Size(128, 100_000, 16, 30.0), Size(400, 150_000, 25, 12.0))
QUICK = Size(16, 1_000, 16)

# Run in a process of its own: what a user waits for until the first frame of a head is there.
FIRST_CODE = """
import time
started = time.perf_counter()
from mane.measure.bench_pipeline import QUICK, SIZES, first_frame
first_frame(QUICK if {quick} else SIZES[0])
print(time.perf_counter() - started)
"""


def run(*, quick: bool = False, progress: Progress | None = None) -> Figures:
    """Time whole frames; compiling is counted only in the time to the first frame."""
    say = progress or (lambda text: None)
    figures = Figures("pipeline")
    for size in (QUICK,) if quick else SIZES:
        say(f"pipeline: {size.case}")
        _add_size(figures, size, 4 if quick else FRAMES)
    _add_growth(figures, (500, 1_000) if quick else GROWTH_STRANDS, 4 if quick else FRAMES, say)
    _add_first_frame(figures, quick, say)
    return figures


def scene_of(size: Size) -> Scene:
    """Curly hair of a size on a head that shakes."""
    return Scene(
        groom=GroomTable(style="curly", strands=size.strands, vertices=size.vertices),
        seed=1,
        frames=FramesTable(end=FRAMES),
        guides=GuidesTable(count=size.guides),
        head=HeadTable(motion="shake"),
        strand=StrandTable(material="curly"),
        skin=SkinTable("physical"),
    )


def stage_seconds(size: Size, frame_count: int) -> dict[str, float]:
    """Median seconds of each stage over frames of a head in motion, and of whole frames as `total`."""
    clock = StageClock()
    assembly = build(scene_of(size), clock)
    clock.watch_parts(assembly.simulation)
    dresser = assembly.dresser
    rows: list[dict[str, float]] = []
    for _ in range(WARM_FRAMES + frame_count):
        clock.end_frame()
        started = time.perf_counter()
        with clock.stage("guides"):
            frame = assembly.simulation.step()
        points = dresser(frame)
        rows.append({"total": time.perf_counter() - started, **clock.frame})
    if not np.isfinite(points).all():
        raise ValueError(f"{size.case}: the last frame is not finite, so its time means nothing")
    measured = rows[WARM_FRAMES:]
    return {name: float(np.median([row.get(name, 0.0) for row in measured])) for name in ("total", *STAGES)}


def _add_size(figures: Figures, size: Size, frame_count: int) -> None:
    seconds = stage_seconds(size, frame_count)
    figures.add(size.case, "frames per second", 1 / seconds["total"], "1/s", target=size.target, better="higher")
    figures.add(size.case, "whole frame", 1e3 * seconds["total"], "ms")
    for name in STAGES:
        figures.add(size.case, name, 1e3 * seconds[name], "ms")
        figures.add(size.case, f"share of {name}", 100 * seconds[name] / seconds["total"], "%")


def _add_growth(figures: Figures, counts: tuple[int, ...], frame_count: int, say: Progress) -> None:
    """How the time of skin and finish grows with the strands: 1 is in proportion."""
    spent = []
    for strands in counts:
        say(f"pipeline: growth, {strands:,} strands")
        seconds = stage_seconds(Size(128 if strands > 1_000 else 16, strands, 16), max(frame_count // 2, 2))
        dense = seconds["skin"] + seconds["finish"]
        figures.add(f"{strands:,} x 16", "skin and finish per million points", 1e3 * dense / (strands * 16e-6), "ms")
        spent.append(dense)
    slope = float(np.polyfit(np.log(counts), np.log(spent), 1)[0])
    figures.add(f"{counts[0]:,} to {counts[-1]:,} strands", "exponent of growth", slope, "1")


def first_frame(size: Size) -> None:
    """Everything up to the first frame in motion, as a run does it."""
    assembly = build(scene_of(size))
    assembly.dresser(assembly.simulation.step())


def _add_first_frame(figures: Figures, quick: bool, say: Progress) -> None:
    """Time to the first frame in processes of their own: with nothing compiled or kept, and again."""
    with tempfile.TemporaryDirectory() as folder:
        caches = {"NUMBA_CACHE_DIR": str(Path(folder, "numba")), "MANE_CACHE": str(Path(folder, "mane"))}
        for case in ("empty caches", "warm caches"):
            say(f"pipeline: first frame, {case}")
            command = [sys.executable, "-c", FIRST_CODE.format(quick=quick)]
            done = subprocess.run(command, env={**os.environ, **caches}, check=True, capture_output=True, text=True)
            figures.add(
                f"{(QUICK if quick else SIZES[0]).case}, {case}", "time to first frame", float(done.stdout), "s"
            )
