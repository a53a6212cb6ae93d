"""`mane bench pipeline`: milliseconds per frame of a whole scene, by stage; memory; the wait before the first frame.

The scene is curly hair through a head shake, with the body to collide with. The promised frames per second are without
writing. With it, files are written beside the next frames; whole frames of a real run say what that costs.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mane.io.atomic import atomic_write
from mane.measure.bench.pipeline_memory import add_memory
from mane.measure.bench.pipeline_start import add_start
from mane.measure.figures import Figures
from mane.scene.build import build
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
from mane.scene.loop import run_scene
from mane.scene.sinks import UsdSink
from mane.skin.base import Skin
from mane.skin.finish.passes import FinishingPass
from mane.stage.clock import StageClock

Progress = Callable[[str], None]

WARM_FRAMES = 4  # compile, fill buffers, and get the hair moving
FRAMES = 48
WRITTEN_FRAMES = 12
TARGET_USD = 1.5  # times a plain NumPy file of the same points
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


def stage_seconds(scene: Scene, frame_count: int) -> dict[str, float]:
    """Median seconds of each stage over frames of any scene in motion, nothing written; of whole frames as `total`."""
    clock = StageClock()
    assembly = build(scene, clock)
    source, make_hair = assembly.source, assembly.hair_stage
    source.reset()
    rows: list[dict[str, float]] = []
    for _ in range(WARM_FRAMES + frame_count):
        clock.end_frame()
        started = time.perf_counter()
        with clock.stage(source.label):
            frame = source.step()
        points = make_hair(frame)
        source.receive(make_hair.skin.guide_load())
        rows.append({"total": time.perf_counter() - started, **clock.frame})
    if not np.isfinite(points).all():
        raise ValueError("pipeline: the last frame is not finite, so its time means nothing")
    measured = rows[WARM_FRAMES:]
    names = dict.fromkeys(name for row in measured for name in row)
    return {name: float(np.median([row.get(name, 0.0) for row in measured])) for name in names}


def _add_size(figures: Figures, size: Size, frame_count: int) -> None:
    seconds = stage_seconds(scene_of(size), frame_count)
    whole = seconds.pop("total")
    figures.add(size.case, "frames per second without writing", 1 / whole, "1/s", target=size.target, better="higher")
    figures.add(size.case, "whole frame without writing", 1e3 * whole, "ms")
    for name, spent in seconds.items():
        figures.add(size.case, name, 1e3 * spent, "ms")
        figures.add(size.case, f"share of {name}", 100 * spent / whole, "%")
    _add_writing(figures, size, min(frame_count, WRITTEN_FRAMES))


def _add_writing(figures: Figures, size: Size, frame_count: int) -> None:
    """A real run with USD and cache: whole frames, what writing takes beside them, and plain files of the same size."""
    with tempfile.TemporaryDirectory() as folder:
        frames = FramesTable(end=WARM_FRAMES + frame_count)
        output = OutputTable(usd="hair.usda", cache="a.cache")
        scene = replace(scene_of(size), frames=frames, output=output, folder=Path(folder))
        told: list[float] = []
        summary = run_scene(scene, progress=lambda progress: told.append(time.perf_counter()))
        whole = (time.perf_counter() - told[WARM_FRAMES - 1]) / frame_count
        plain = plain_seconds(Path(folder), size.strands * size.vertices)
    usd = summary.beside[UsdSink.label] / frames.count
    figures.add(size.case, "whole frame with writing", 1e3 * whole, "ms")
    figures.add(size.case, "plain NumPy file of the same points", 1e3 * plain, "ms")
    for name, spent in summary.beside.items():
        figures.add(size.case, f"{name}, beside the frames", 1e3 * spent / frames.count, "ms")
    ratio = usd / plain
    figures.add(size.case, "write USD / plain NumPy file", ratio, "1", reference=1.0, source="plain", target=TARGET_USD)


def plain_seconds(folder: Path, point_count: int) -> float:
    """Median seconds to write points as a plain file that is on disk before it takes its name."""
    points = np.random.default_rng(0).random((point_count, 3), np.float32)
    spent = []
    for index in range(WRITTEN_FRAMES):
        started = time.perf_counter()
        with atomic_write(folder / f"plain.{index}.npy") as file:
            np.save(file, points)
        spent.append(time.perf_counter() - started)
    return float(np.median(spent))


def _add_growth(figures: Figures, counts: tuple[int, ...], frame_count: int, say: Progress) -> None:
    """How the time of skin and finish grows with the strands: 1 is in proportion."""
    spent = []
    for strands in counts:
        say(f"pipeline: growth, {strands:,} strands")
        size = Size(128 if strands > 1_000 else 16, strands, 16)
        seconds = stage_seconds(scene_of(size), max(frame_count // 2, 2))
        dense = seconds[Skin.label] + seconds[FinishingPass.label]
        figures.add(f"{strands:,} x 16", "skin and finish per million points", 1e3 * dense / (strands * 16e-6), "ms")
        spent.append(dense)
    slope = float(np.polyfit(np.log(counts), np.log(spent), 1)[0])
    figures.add(f"{counts[0]:,} to {counts[-1]:,} strands", "exponent of growth", slope, "1")
