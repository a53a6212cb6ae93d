"""`mane bench every_strand`: the full simulation, every hair a strand, with the volume grid and friction."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mane.dataset.machine import peak_megabytes
from mane.dataset.simulate import assemble, forget_hair
from mane.measure.figures import Figures
from mane.scene.config import FramesTable, GroomTable, GuidesTable, HeadTable, InteractionTable, Scene

Progress = Callable[[str], None]

VERTICES = 25
STRANDS = (1_000, 10_000, 80_000)
GUIDES = 400
SALON = 150_000
RATE = 100.0  # steps of 10 ms, as in chai2017
WARM_STEPS, LIVELY_STEPS, STEPS = 3, 12, 6  # before it is timed, where the head shakes, and timed
LEAST_SECONDS = 0.5  # that steps are timed for
STRAND_TARGET = 1.3
CALM_TARGET, LIVELY_TARGET = 3.0, 7.0  # [s] per step of 150,000 strands
# chai2017: 15 to 60 s per frame for 60,000 to 150,000 strands.
PAPER = {"reference": 60.0, "source": "chai2017, 150,000 strands"}


def run(*, quick: bool = False, progress: Progress | None = None) -> Figures:
    """Measure steps of 10 ms of whole heads; compiling is not counted."""
    tell = progress or (lambda text: None)
    figures = Figures("every_strand")
    sizes = (60, 120) if quick else STRANDS
    guides = min(GUIDES, sizes[0] // 2)
    of_guide = _step_seconds(sizes[0], "still", tell, guides=guides) / guides
    calm = {count: _step_seconds(count, "still", tell) for count in sizes}
    for count, seconds in calm.items():
        case = f"every strand of {count:,} x {VERTICES} with the volume grid, 10 ms step, calm"
        figures.add(case, "strands x steps per second", count / seconds, "1/s", better="higher")
    exponent = float(np.polyfit(np.log(list(calm)), np.log(list(calm.values())), 1)[0])
    figures.add("every strand", "time grows with strands to the power", exponent, "1")
    target = None if quick else STRAND_TARGET
    for count, seconds in calm.items():
        case = f"every strand of {count:,}"
        limit = target if count == sizes[-1] else None
        figures.add(
            case, f"cost of a strand over that of {guides} guides", seconds / count / of_guide, "1", target=limit
        )
    if not quick:
        _measure_salon(figures, tell)
    return figures


def _measure_salon(figures: Figures, tell: Progress) -> None:
    forget_hair()
    for motion, word, wanted in (("still", "calm", CALM_TARGET), ("shake", "lively", LIVELY_TARGET)):
        seconds = _step_seconds(SALON, motion, tell)
        case = f"every strand of {SALON:,} x {VERTICES}, {word}"
        paper: dict[str, Any] = PAPER
        figures.add(case, "one step of 10 ms", seconds, "s", target=wanted, **paper)
    figures.add(f"every strand of {SALON:,} x {VERTICES}", "memory", peak_megabytes() / 1e3, "GB")


def _step_seconds(count: int, motion: str, tell: Progress, guides: int | None = None) -> float:
    """Seconds of a step of 10 ms once the hair moves."""
    tell(f"every_strand: {guides or 'every strand'} of {count:,}, {motion}")
    scene = Scene(
        groom=GroomTable(style="straight", strands=count, vertices=VERTICES),
        guides=GuidesTable(count="all" if guides is None else guides, method="farthest"),
        frames=FramesTable(rate=RATE),
        head=HeadTable(motion=motion),
        interactions=(InteractionTable("grid"),),
    )
    source = assemble(scene).source  # which keeps the hair for the other motions of the same head
    for _ in range(WARM_STEPS if motion == "still" else LIVELY_STEPS):
        source.step()
    started, steps = time.perf_counter(), 0
    while steps < STEPS or time.perf_counter() - started < LEAST_SECONDS:
        source.step()
        steps += 1
    return (time.perf_counter() - started) / steps
