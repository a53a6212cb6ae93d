"""How strands move on their own: frequency, convergence with the step, energy and free fall."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np

from mane.measure.figures import Figures
from mane.measure.plot import Axis, Curve
from mane.measure.strands import references as exact
from mane.measure.strands.setup import (
    BENDING,
    FADES,
    GRAVITY,
    HAIR,
    LINE_DENSITY,
    Run,
    free_model,
    model_colour,
    stepped,
    still_roots,
    straight_points,
    swing,
)
from mane.measure.strands.static import CANTILEVER_TARGETS, frequency_of
from mane.strand.model import Float64Array
from mane.strand.solver import make_solver

BEAM_STEPS = 200  # per period: implicit Euler lowers a frequency by (omega dt)^2 / 3, here 3e-4
SUBSTEPS = (1, 2, 4, 8)
FRAME = 0.01  # [s]
# Steps are of first order, halving the step halves the error: of an implicit stage over a share of the step, or of all
# of it (docs/decisions/0008). The coarsest steps here are not small yet, so the order between the finest ones counts.
STATED_ORDER, ORDER_TARGET = 1.0, 0.75
ENERGY_TARGET = 1e-9  # of m g L: rounding
# A step weighs stretching against inertia, E A / l against m / dt^2: 3e6 to 1 for these segments and steps. Rounding of
# 1e-16 becomes 3e-10 of a segment's length each step, and a hundred steps add up to at most 3e-8.
FALL_ROUNDING = 3e-8
KICKED, KICKED_RADIUS, KICK = 32, 0.008, 3.0  # strands, [m], [m/s]
KEEP_WHEN_KICKED = ("chain",)


def frequency(figures: Figures, models: list[str], *, quick: bool) -> None:
    """Small oscillation of a clamped strand without gravity, against the first mode of a beam."""
    length = 0.1
    reference = exact.clamped_beam_frequency(BENDING, LINE_DENSITY, length)
    dt = 1 / (BEAM_STEPS * reference)
    for model in models:
        for segments in (25,) if quick else (25, 50):
            hair = HAIR.model(straight_points([length], segments), gravity=(0, 0, 0))
            solver = make_solver(model, hair, sag_free=False)
            state = solver.rest_state(still_roots(hair))
            mode = exact.beam_mode(np.linspace(0.0, 1.0, segments + 1))
            state.velocity[0, :, 1] = 1e-3 * length * 2 * np.pi * reference * mode
            solver.adopt(state, np.ones(1, np.bool_))
            run = swing(solver, state, dt=dt, steps=2 * BEAM_STEPS)
            value = frequency_of(run.tips[1:, 0, 1], dt)
            case = f"small oscillation, {model}, {segments} segments"
            figures.add(case, "frequency", value, "Hz", reference=reference, source="beam theory")
            target = CANTILEVER_TARGETS.get(model, {}).get(segments)
            figures.add(case, "relative error", abs(value / reference - 1), "1", target=target)


def convergence(figures: Figures, models: list[str]) -> dict[str, Any]:
    """The same swing at any step: tips of an undamped hair let go, with more and more substeps."""
    plots = {}
    for model in models:
        runs = {substeps: released_swing(model, substeps, duration=0.5) for substeps in SUBSTEPS}
        tips = {substeps: run.tips[::substeps, 0] for substeps, run in runs.items()}
        gaps = [_distance(tips[a], tips[b]) for a, b in pairwise(SUBSTEPS)]
        case = f"swing of 20 cm, {model}, frames of {1e3 * FRAME:g} ms"
        for (coarse, fine), gap in zip(pairwise(SUBSTEPS), gaps, strict=True):
            figures.add(case, f"mean distance of tips, {coarse} to {fine} substeps", 1e3 * gap, "mm")
        order = float(np.log2(gaps[-2] / gaps[-1]))
        figures.add(
            case, "order of convergence", order, "1", reference=STATED_ORDER, source="implicit steps",
            target=ORDER_TARGET, better="higher",
        )  # fmt: skip
        curves = [
            Curve(f"substeps: {substeps}", runs[1].times, 1e2 * tip[:, 1], markers=False)
            for substeps, tip in tips.items()
        ]
        plots[f"swing_{model}"] = (
            f"Undamped hair of 20 cm let go, {model}", Axis("time [s]"), Axis("height of the tip [cm]"), curves,
        )  # fmt: skip
    return plots


def energy(figures: Figures, models: list[str], *, quick: bool) -> dict[str, Any]:
    """Energy of an undamped swing, which must never grow, over steps from coarse to fine."""
    curves = []
    for model in models:
        for substeps, fade in zip((1, 4) if quick else (1, 4, 16), FADES, strict=False):
            run = released_swing(model, substeps, duration=1.0 if quick else 2.0)
            scale = LINE_DENSITY * 0.2 * GRAVITY * 0.2  # m g L
            level = (run.energy[:, 0] - run.energy[0, 0]) / scale
            case = f"swing of 20 cm, {model}, steps of {1e3 * FRAME / substeps:g} ms"
            figures.add(case, "largest energy over the first / (m g L)", level.max(), "1", target=ENERGY_TARGET)
            rise = float(np.maximum(level - np.minimum.accumulate(level), 0).max())
            figures.add(case, "largest rise of energy / (m g L)", rise, "1", target=ENERGY_TARGET)
            figures.add(case, "energy lost in the first 0.5 s / (m g L)", -level[round(0.5 * substeps / FRAME)], "1")
            label, colour = f"{model}, {1e3 * FRAME / substeps:g} ms", model_colour(model)
            curves.append(Curve(label, run.times, level, markers=False, colour=colour, fade=fade))
    plot = ("Energy of an undamped swing", Axis("time [s]"), Axis("(energy - first) / (m g L)"), curves)
    return {"energy": plot}


def released_swing(model: str, substeps: int, *, duration: float) -> Run:
    """A straight, undamped hair of 20 cm and 25 segments, clamped 45 degrees above straight down and let go."""
    hair = HAIR.model(straight_points([0.2], 25, direction=(sqrt(0.5), -sqrt(0.5), 0.0)))
    solver = make_solver(model, hair, sag_free=False)
    dt = FRAME / substeps
    return swing(solver, solver.rest_state(still_roots(hair)), dt=dt, steps=round(duration / dt))


def kicked_curls(figures: Figures, models: list[str]) -> None:
    """Energy of undamped curls kicked to all sides, tips the most; it rises in models that promise nothing here."""
    arc = np.linspace(0.0, 1.0, 26)
    turns = np.linspace(1.0, 4.0, KICKED)[:, None]
    angle = 2 * np.pi * turns * arc
    down = np.broadcast_to(-0.12 * arc, angle.shape)
    points = np.stack([KICKED_RADIUS * (np.cos(angle) - 1), down, KICKED_RADIUS * np.sin(angle)], axis=-1)
    hair = HAIR.model(points)
    kick = np.random.default_rng(1).standard_normal((KICKED, 3))
    kick /= np.linalg.norm(kick, axis=1, keepdims=True)
    scale = hair.mass.sum(axis=1) * GRAVITY * hair.strand_length
    for model in models:
        for dt in (0.5 * FRAME, FRAME):
            solver = make_solver(model, hair, sag_free=False)
            state = solver.rest_state(still_roots(hair))
            state.velocity[...] = KICK * arc[:, None] * kick[:, None]
            solver.adopt(state, np.ones(KICKED, np.bool_))
            run = swing(solver, state, dt=dt, steps=round(0.5 / dt))
            level = (run.energy - run.energy[0]) / scale
            rise = np.maximum(level - np.minimum.accumulate(level, axis=0), 0)
            case = f"{KICKED} curls of 1 to 4 turns kicked by {KICK:g} m/s, {model}, steps of {1e3 * dt:g} ms"
            target = ENERGY_TARGET if model in KEEP_WHEN_KICKED else None
            figures.add(case, "largest rise of energy / (m g L)", float(rise.max()), "1", target=target)
            figures.add(case, "largest energy over the first / (m g L)", float(level.max()), "1", target=target)


def free_fall(figures: Figures, models: list[str]) -> None:
    """A strand that nothing holds, curved and thrown, falls as a stone does and keeps its shape."""
    angle = np.linspace(0.0, 2.0, 26)
    points = 0.1 * np.stack([np.cos(angle), np.sin(angle), 0.3 * angle], axis=1)[None]
    throw, steps = np.array([1.0, 2.0, -0.5]), 100
    for model in models:
        hair = free_model(points)
        solver = make_solver(model, hair, sag_free=False)
        state = solver.rest_state(still_roots(hair))
        state.velocity[...] = throw
        solver.adopt(state, np.ones(1, np.bool_))
        *_, last = stepped(solver, state, dt=FRAME, steps=steps)
        time = FRAME * steps
        speed = last.velocity[0] - throw
        case = f"free fall for 1 s, {model}, steps of {1e3 * FRAME:g} ms"
        fallen = float(-speed[:, 1].mean())
        figures.add(case, "speed gained", fallen, "m/s", reference=GRAVITY * time, source="g t")
        off = float(np.abs(speed - [0.0, -GRAVITY * time, 0.0]).max()) / (GRAVITY * time)
        figures.add(case, "relative error of the speed, largest", off, "1", target=FALL_ROUNDING)
        drop = float((last.points[0] - points[0] - throw * time)[:, 1].mean())
        wanted = 0.5 * GRAVITY * time**2
        figures.add(case, "drop", -drop, "m", reference=wanted, source="g t^2 / 2")
        # Implicit Euler takes each step with the speed at its end, and so falls by dt / t too far; others by less.
        figures.add(case, "relative error of the drop", abs(-drop / wanted - 1), "1", target=1 / steps + FALL_ROUNDING)
        bent = last.points[0] - last.points[0].mean(axis=0) - (points[0] - points[0].mean(axis=0))
        size = float(np.abs(bent).max()) / float(hair.strand_length[0])
        figures.add(case, "change of shape / length", size, "1", target=FALL_ROUNDING)


def _distance(a: Float64Array, b: Float64Array) -> float:
    """Mean distance of two paths (T, 3) [m]."""
    return float(np.linalg.norm(a - b, axis=1).mean())
