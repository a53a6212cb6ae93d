"""`mane bench water`: a frame of water poured over a ball of hair into a pool, stage by stage."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from mane.body.motion import Pose
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.fluid.flow import Exchange
from mane.fluid.grid import Grid
from mane.fluid.porous import permeability
from mane.fluid.sources import Jet
from mane.fluid.water import WATER_VISCOSITY, Water
from mane.geometry.threads import most_threads, using_threads
from mane.measure.figures import Figures

TARGETS = {64: 1.0, 128: 6.0}  # [s] for a frame on two threads, with hair
FRAME, STEPS = 1.0 / 24.0, 4  # [s], and steps that hair takes in it
WARM_FRAMES, FRAMES = 4, 3
# What is timed: object of a `Water`, method, and what it is called.
STAGES = (
    ("surface", "carry", "surface and markers carried"),
    ("flow", "_carry", "velocities carried"),
    ("flow", "_act", "gravity, viscosity, tension"),
    ("flow", "_project", "pressure, velocities continued"),
)


def run(*, quick: bool = False, progress: Callable[[str], None] | None = None) -> Figures:
    """Time frames at two sizes, on one thread and on all."""
    figures, tell = Figures("water"), progress or (lambda text: None)
    spent: dict[int, tuple[float, int]] = {}
    sizes = (16, 32) if quick else (64, 128)
    for size in sizes:
        for threads in sorted({1, most_threads()}):
            tell(f"water: {size}^3 on {threads} threads")
            with using_threads(threads):
                spent[size] = _add_frames(figures, size, threads)
    (first, few), (second, many) = (spent[size] for size in sizes)
    growth = second / first / (many / few)
    figures.add(f"water, {sizes[0]}^3 to {sizes[1]}^3", "growth of a frame over that of wet cells", growth, "1")
    return figures


def poured(size: int) -> tuple[Water, list[Any], Exchange]:
    """A jet onto a ball with hair around it that stands in a pool, in a box of 1 m."""
    grid = Grid((size, size, size), 1.0 / size)
    water = Water(grid, jets=[Jet((0.5, 0.9, 0.5), (0.0, -2.0, 0.0), 0.08)], tension=0.072)
    still, sphere = Pose.identity(), Solid(Sphere((0.5, 0.45, 0.5), 0.15))
    ball = [SimpleNamespace(solid=sphere, before=still, after=still, times=(0.0, FRAME / STEPS))]
    water.fill(lambda points: points[..., 1] - 0.35, ball)
    drag = np.zeros((3, *grid.padded), np.float32)
    resistance = WATER_VISCOSITY / permeability(0.01, 40e-6) * grid.cell**3
    for axis in range(3):
        away = np.linalg.norm(grid.face_centers(axis) - (0.5, 0.45, 0.5), axis=-1)
        grid.faces(drag[axis], axis)[(away > 0.15) & (away < 0.22)] = resistance
    return water, ball, Exchange(drag, np.zeros_like(drag))


def _add_frames(figures: Figures, size: int, threads: int) -> tuple[float, int]:
    """Add the rows of one size; return seconds per frame and wet cells."""
    water, ball, exchange = poured(size)
    spent = {name: _timed(getattr(water, part), method) for part, method, name in STAGES}
    substeps = iterations = 0
    for frame in range(WARM_FRAMES + FRAMES):
        if frame == WARM_FRAMES:
            start = time.perf_counter()
            for seconds in spent.values():
                seconds.clear()
        for _ in range(STEPS):
            report = water.step(FRAME / STEPS, ball, exchange=exchange)
            if frame >= WARM_FRAMES:
                substeps, iterations = substeps + report.substeps, max(iterations, report.iterations)
    whole = (time.perf_counter() - start) / FRAMES
    case, wet = f"water, {size}^3, {threads} threads", int((water.grid.cells(water.surface.level.phi) < 0).sum())
    goal: dict[str, Any] = {"target": TARGETS[size]} if threads == 2 and size in TARGETS else {}
    figures.add(case, "frame of 1/24 s with hair", whole, "s", **goal)
    for name, seconds in spent.items():
        figures.add(case, name, sum(seconds) / FRAMES, "s")
    figures.add(case, "substeps in a frame", substeps / FRAMES, "1")
    figures.add(case, "most iterations of the pressure", iterations, "1")
    figures.add(case, "wet cells", wet, "1")
    figures.add(case, "markers", len(water.surface.markers.places), "1")
    figures.add(case, "volume lost", 100 * abs(water.lost), "%")
    figures.add(case, "memory, as estimated", 1e-9 * water.bytes, "GB")
    return whole, wet


def _timed(part: Any, method: str) -> list[float]:
    """Let a method note its seconds in the list that is returned."""
    seconds: list[float] = []
    own = getattr(part, method)

    def wrapped(*args: Any, **rest: Any) -> Any:
        start = time.perf_counter()
        result = own(*args, **rest)
        seconds.append(time.perf_counter() - start)
        return result

    setattr(part, method, wrapped)
    return seconds
