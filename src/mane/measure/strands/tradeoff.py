"""Direct solve or position-based iterations: stretch and bending error of a Cosserat rod against what they cost."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from mane.measure.figures import Figures
from mane.measure.plot import Axis, Curve
from mane.measure.strands.references import elastica
from mane.measure.strands.setup import HAIR, length_of, stepped, still_roots, straight_points, swing
from mane.strand.model import Float64Array
from mane.strand.ports import Load
from mane.strand.solver import StrandSolver, make_solver

SEGMENTS = 25
STEPS = (0.0025, 0.001)  # [s] the first is drawn; the second is that of hsu2024 5
LENGTH = 0.2  # [m]
NUMBER = 10.0  # G of the cantilever
STRANDS = 64  # timed together, whole blocks of lanes
ITERATIONS, QUICK_ITERATIONS = (1, 4, 16, 50, 64, 256, 1024), (4, 16, 64)
SECONDS = 2.0  # how long a cantilever is given to come to rest, ten of its own periods
SWING = 0.5  # [s]
STANDING = 0.5  # [s] that a groom is watched which should stand
CURL, PITCH = 0.008, 0.03  # [m] of that groom

Settings = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """What one solver came to: time per step and strand [s], and how far off it is."""

    cost: float
    stretch: float
    bending: float
    standing: float
    unconverged: float


def sweep_tradeoff(figures: Figures, *, quick: bool) -> dict[str, Any]:
    """Measure one direct solve and more and more iterations of `xpbd`; returns the two plots."""
    counts = QUICK_ITERATIONS if quick else ITERATIONS
    settings: dict[str, Settings] = {"cosserat, direct": {"model": "cosserat"}}
    for count in counts:
        settings[f"xpbd, {count} iteration{'s' if count > 1 else ''}"] = {"model": "xpbd", "iterations": count}
    drawn: dict[str, Found] = {}
    for step in STEPS[:1] if quick else STEPS:
        found = {name: _measure(chosen, step) for name, chosen in settings.items()}
        for name, one in found.items():
            _add(figures, f"{name}, steps of {1e3 * step:g} ms", one)
        drawn = drawn or found
    cost_axis = Axis("time per step and strand of 25 segments [us]", log=True)
    return {
        f"tradeoff_{what}": (title, cost_axis, Axis("relative error", log=True), _curves(drawn, what))
        for what, title in (
            ("stretch", "Cosserat rod: largest stretch in a swing against cost"),
            ("bending", "Cosserat rod: error of the cantilever against cost"),
        )
    }


def _measure(settings: Settings, step: float) -> Found:
    goal, _ = _swing({"model": "cosserat", "theta": 1.0}, step)
    tips, stretch = _swing(settings, step)
    unconverged = float(np.linalg.norm(tips - goal, axis=-1).max() / LENGTH)
    return Found(
        _cost(settings, step), stretch, _cantilever_error(settings, step), _standing(settings, step), unconverged
    )


def _add(figures: Figures, case: str, found: Found) -> None:
    figures.add(case, "time per step and strand", 1e6 * found.cost, "us")
    figures.add(case, "largest stretch in a swing", found.stretch, "1")
    figures.add(case, f"cantilever, error of height / width, G = {NUMBER:g}", found.bending, "1")
    figures.add(case, f"sag-free curl, how far it moves in {STANDING:g} s over its length", found.standing, "1")
    figures.add(case, "tip in a swing, off implicit steps solved to the end, over its length", found.unconverged, "1")


def _curves(found: dict[str, Found], what: str) -> list[Curve]:
    cost = [1e6 * one.cost for one in found.values()]
    error = [getattr(one, what) for one in found.values()]
    return [
        Curve("direct", cost[:1], error[:1], colour=2),
        Curve("position-based, more and more iterations", cost[1:], error[1:], colour=1),
    ]


def _cost(settings: Settings, step: float) -> float:
    """Time per step and strand [s], the best of several."""
    solver, load = _solver(settings, straight_points(np.full(STRANDS, LENGTH), SEGMENTS))
    roots = still_roots(solver.model)
    state = solver.rest_state(roots)
    best = np.inf
    for _ in range(6):
        start = time.perf_counter()
        solver.step(state, state, roots, load, dt=step)
        best = min(best, time.perf_counter() - start)
    return best / STRANDS


def _swing(settings: Settings, step: float) -> tuple[Float64Array, float]:
    """Tips of a hair that falls from 45 degrees [m], (T, 1, 3), and its largest stretch."""
    solver, _ = _solver(settings, straight_points([LENGTH], SEGMENTS, (sqrt(0.5), -sqrt(0.5), 0.0)))
    run = swing(solver, solver.rest_state(still_roots(solver.model)), dt=step, steps=round(SWING / step))
    return run.tips, run.stretch


def _cantilever_error(settings: Settings, step: float) -> float:
    """Relative error of height over width after a fixed time in thick air: iterations may never do."""
    length = length_of(NUMBER)
    solver, load = _solver(settings, straight_points([length], SEGMENTS))
    load.resistance[..., :3] = 2 * sqrt(9.81 / length) * solver.model.mass[..., None]
    roots = still_roots(solver.model)
    state = solver.rest_state(roots)
    for _ in range(round(SECONDS / step)):
        solver.step(state, state, roots, load, dt=step)
    way = state.points[0, -1] - state.points[0, 0]
    return float(abs(-way[1] / way[0] / np.divide(*elastica(NUMBER)) - 1))


def _standing(settings: Settings, step: float) -> float:
    """How far a curl moves whose rest shape is solved for, so that it should not, over its length."""
    down = np.linspace(0.0, LENGTH, SEGMENTS + 1)
    angle = 2 * np.pi * down / PITCH
    curl = np.stack([CURL * np.cos(angle), -down, CURL * np.sin(angle)], axis=1)[None]
    solver, _ = _solver(settings, curl, sag_free=True)
    moved = 0.0
    for now in stepped(solver, solver.rest_state(still_roots(solver.model)), dt=step, steps=round(STANDING / step)):
        moved = max(moved, float(np.linalg.norm(now.points - curl, axis=2).max()))
    return moved / float(solver.model.strand_length[0])


def _solver(settings: Settings, points: Float64Array, *, sag_free: bool = False) -> tuple[StrandSolver, Load]:
    model = HAIR.model(points)
    others = {name: value for name, value in settings.items() if name != "model"}
    solver = make_solver(settings["model"], model, sag_free=sag_free, **others)
    return solver, Load.empty(*points.shape[:2])
