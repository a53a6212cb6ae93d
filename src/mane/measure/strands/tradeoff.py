"""Direct solve or position-based iterations: stretch and bending error of a Cosserat rod against what they cost."""

from __future__ import annotations

import time
from math import sqrt
from typing import Any

import numpy as np

from mane.measure.figures import Figures
from mane.measure.plot import Axis, Curve
from mane.measure.strands.references import elastica
from mane.measure.strands.setup import HAIR, length_of, still_roots, straight_points, swing
from mane.strand.model import Float64Array
from mane.strand.ports import Load
from mane.strand.solver import StrandSolver, make_solver

SEGMENTS, STEP = 25, 0.0025  # [s]
NUMBER = 10.0  # G of the cantilever
STRANDS = 64  # timed together, whole blocks of lanes
ITERATIONS, QUICK_ITERATIONS = (1, 4, 16, 64, 256, 1024), (4, 16, 64)
SECONDS = 2.0  # how long a cantilever is given to come to rest, ten of its own periods


def sweep_tradeoff(figures: Figures, *, quick: bool) -> dict[str, Any]:
    """Measure one direct solve and more and more iterations of `xpbd`; returns the two plots."""
    settings: dict[str, dict[str, Any]] = {"cosserat, direct": {"model": "cosserat"}}
    for count in QUICK_ITERATIONS if quick else ITERATIONS:
        settings[f"xpbd, {count} iteration{'s' if count > 1 else ''}"] = {"model": "xpbd", "iterations": count}
    found = {}
    for name, chosen in settings.items():
        found[name] = cost, stretch, error = _cost(chosen), _stretch(chosen), _cantilever_error(chosen)
        case = f"{name}, steps of {1e3 * STEP:g} ms"
        figures.add(case, "time per step and strand", 1e6 * cost, "us")
        figures.add(case, "largest stretch in a swing", stretch, "1")
        figures.add(case, f"cantilever, error of height / width, G = {NUMBER:g}", error, "1")
    cost_axis = Axis("time per step and strand of 25 segments [us]", log=True)
    return {
        f"tradeoff_{what}": (title, cost_axis, Axis("relative error", log=True), _curves(found, column))
        for what, title, column in (
            ("stretch", "Cosserat rod: largest stretch in a swing against cost", 1),
            ("bending", "Cosserat rod: error of the cantilever against cost", 2),
        )
    }


def _curves(found: dict[str, tuple[float, float, float]], column: int) -> list[Curve]:
    direct, *others = found.values()
    rows = np.array(others)
    return [
        Curve("direct", [1e6 * direct[0]], [direct[column]], colour=2),
        Curve("position-based, more and more iterations", 1e6 * rows[:, 0], rows[:, column], colour=1),
    ]


def _cost(settings: dict[str, Any]) -> float:
    """Time per step and strand [s], the best of several."""
    solver, load = _solver(settings, np.full(STRANDS, 0.2))
    roots = still_roots(solver.model)
    state = solver.rest_state(roots)
    best = np.inf
    for _ in range(6):
        start = time.perf_counter()
        solver.step(state, state, roots, load, dt=STEP)
        best = min(best, time.perf_counter() - start)
    return best / STRANDS


def _stretch(settings: dict[str, Any]) -> float:
    solver, _ = _solver(settings, np.array([0.2]), direction=(sqrt(0.5), -sqrt(0.5), 0.0))
    run = swing(solver, solver.rest_state(still_roots(solver.model)), dt=STEP, steps=round(0.5 / STEP))
    return run.stretch


def _cantilever_error(settings: dict[str, Any]) -> float:
    """Relative error of height over width after a fixed time in thick air: iterations may never do."""
    length = length_of(NUMBER)
    solver, load = _solver(settings, np.array([length]))
    load.resistance[..., :3] = 2 * sqrt(9.81 / length) * solver.model.mass[..., None]
    roots = still_roots(solver.model)
    state = solver.rest_state(roots)
    for _ in range(round(SECONDS / STEP)):
        solver.step(state, state, roots, load, dt=STEP)
    way = state.points[0, -1] - state.points[0, 0]
    return float(abs(-way[1] / way[0] / np.divide(*elastica(NUMBER)) - 1))


def _solver(
    settings: dict[str, Any], lengths: Float64Array, direction: tuple[float, float, float] = (1.0, 0.0, 0.0)
) -> tuple[StrandSolver, Load]:
    model = HAIR.model(straight_points(lengths, SEGMENTS, direction))
    others = {name: value for name, value in settings.items() if name != "model"}
    solver = make_solver(settings["model"], model, sag_free=False, **others)
    return solver, Load.empty(len(lengths), SEGMENTS + 1)
