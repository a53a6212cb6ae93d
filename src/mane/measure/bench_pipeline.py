"""`mane bench pipeline`: milliseconds per frame of a whole scene, by stage; memory; the wait before the first frame.

The scene is curly hair through a head shake, with the body to collide with. The promised frames per second are without
writing, whose time stands beside them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mane.geometry.checks import FloatArray
from mane.measure.bench_pipeline_memory import add_memory
from mane.measure.bench_pipeline_start import add_start
from mane.measure.figures import Figures
from mane.scene.build import Assembly, build
from mane.scene.clock import StageClock
from mane.scene.config import (
    FramesTable,
    GroomTable,
    GuidesTable,
    HeadTable,
    OutputTable,
    Scene,
    SkinTable,
    StrandTable,
)
from mane.scene.outputs import make_sinks, open_or_make
from mane.strand.frame import GuideFrame

Progress = Callable[[str], None]

WARM_FRAMES = 4  # compile, fill buffers, and get the hair moving
FRAMES = 48
WRITTEN_FRAMES = 6
STAGES = ("guides", "contact", "air", "skin", "finish")
WRITING = ("write USD", "write cache")
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


def run(*, quick: bool = False, progress: Progress | None = None) -> Figures:
    """Time whole frames; compiling is counted only in the time to the first frame."""
    say = progress or (lambda text: None)
    figures = Figures("pipeline")
    for size in (QUICK,) if quick else SIZES:
        say(f"pipeline: {size.case}")
        _add_size(figures, size, 4 if quick else FRAMES)
    _add_growth(figures, (500, 1_000) if quick else GROWTH_STRANDS, 4 if quick else FRAMES, say)
    add_memory(figures, QUICK if quick else SIZES[-1], say, **({"frames": 2} if quick else {}))
    add_start(figures, quick, say)
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


def stage_seconds(size: Size, frame_count: int, *, writes: bool = False) -> dict[str, float]:
    """Median seconds of each stage over frames of a head in motion, and of whole frames without writing as `total`."""
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
    medians = {name: float(np.median([row.get(name, 0.0) for row in measured])) for name in ("total", *STAGES)}
    return medians | (_writing_seconds(assembly, frame, points) if writes else {})


def _writing_seconds(assembly: Assembly, frame: GuideFrame, points: FloatArray) -> dict[str, float]:
    """Median seconds to write a frame, by sink."""
    with tempfile.TemporaryDirectory() as folder:
        placed = replace(assembly, scene=replace(assembly.scene, folder=Path(folder)), clock=StageClock())
        output = OutputTable(usd="hair.usda")
        sinks = make_sinks(placed, output, open_or_make(Path(folder, "a.cache"), placed, False), range(WRITTEN_FRAMES))
        spent: dict[str, list[float]] = {sink.name: [] for sink in sinks}
        for sink in sinks:
            sink.open(resume=False)
        for index in range(WRITTEN_FRAMES):
            for sink in sinks:
                started = time.perf_counter()
                sink.write(index, frame, points)
                spent[sink.name].append(time.perf_counter() - started)
    return {name: float(np.median(seconds)) for name, seconds in spent.items()}


def _add_size(figures: Figures, size: Size, frame_count: int) -> None:
    seconds = stage_seconds(size, frame_count, writes=True)
    rate = 1 / seconds["total"]
    figures.add(size.case, "frames per second without writing", rate, "1/s", target=size.target, better="higher")
    figures.add(size.case, "whole frame without writing", 1e3 * seconds["total"], "ms")
    whole = seconds["total"] + sum(seconds[name] for name in WRITING)
    figures.add(size.case, "whole frame with writing", 1e3 * whole, "ms")
    for name in (*STAGES, *WRITING):
        figures.add(size.case, name, 1e3 * seconds[name], "ms")
        figures.add(size.case, f"share of {name}", 100 * seconds[name] / whole, "%")


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
