"""Where strands come to rest: cantilever, helix and torsion, each model beside the exact answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import hypot, pi, sqrt
from typing import Any

import numpy as np

from mane.geometry import quaternion
from mane.measure.figures import Figures
from mane.measure.plot import Axis, Curve
from mane.measure.strands import references as exact
from mane.measure.strands.setup import (
    BENDING,
    FADES,
    HAIR,
    TWISTING,
    length_of,
    model_colour,
    settle,
    still_roots,
    straight_points,
)
from mane.strand.model import Float64Array
from mane.strand.solver import StrandSolver, make_solver

NUMBERS = (0.1, 1.0, 10.0, 100.0, 1000.0)
PROMISED_UP_TO = 100.0  # beyond it the bend at the clamp is shorter than a segment of 25
CANTILEVER_TARGETS = {
    "cosserat": {25: 0.015, 50: 0.005},
    "chain": {25: 0.015, 50: 0.005},
    "spring": {25: 0.05},
}
STEP_SIZES = (0.001, 0.005, 0.01, 0.05)  # [s]
MOVING = 1e-4  # lengths per second: a strand that moves faster than this is not at rest, and its shape means nothing
STEP_SPREAD = 1e-6  # of the equilibrium over step sizes: what "at rest" leaves open

# Three curls of a lock of hair: 3 turns, as high as 0.44 of its length, long enough to sag by a quarter.
HELIX_TURNS, HELIX_SLOPE, HELIX_NUMBER = 3.0, 0.9, 100.0
# The vertices of the rest shape lie on the curve and the segments are its chords, shorter than its arcs by
# (turn per segment)^2 / 24: 0.6 percent at 50 segments. The shape can be no better than that.
HELIX_TARGETS = {50: 0.02, 100: 0.005}
TORSION_TARGET = 0.01


def cantilever(figures: Figures, models: list[str], *, quick: bool) -> dict[str, Any]:
    """Height over width of hairs clamped horizontally, against the planar elastica; returns the plots."""
    references = np.array([np.divide(*exact.elastica(number)) for number in NUMBERS])
    shapes, errors = [Curve("elastica", NUMBERS, references, markers=False)], []
    for model in models:
        found = {}
        colour = model_colour(model)
        for segments, fade in zip((25, 50) if quick else (25, 50, 100), FADES, strict=False):
            found[segments] = cantilever_ratios(model, segments)
            off = np.abs(found[segments] / references - 1)
            _add_cantilever(figures, model, segments, found[segments], references)
            errors.append(Curve(f"{model}, {segments} segments", NUMBERS, off, colour=colour, fade=fade))
            if segments == 25:
                shapes.append(Curve(f"{model}, 25 segments", NUMBERS, found[segments], line=False, colour=colour))
        _add_convergence(figures, model, found, references)
    number_axis = Axis("G = rho A g L^3 / (E I)", log=True)
    return {
        "cantilever": ("Hair clamped horizontally", number_axis, Axis("height / width", log=True), shapes),
        "cantilever_error": (
            "Hair clamped horizontally, error of height / width", number_axis, Axis("relative error", log=True), errors,
        ),
    }  # fmt: skip


def cantilever_ratios(
    model: str, segments: int, *, dt: float = 0.01, numbers: Sequence[float] = NUMBERS, **settings: Any
) -> Float64Array:
    """Height over width of the equilibrium for each gravito-bending number; NaN where a strand did not come to rest."""
    hair = HAIR.model(straight_points([length_of(number) for number in numbers], segments))
    state, _ = settle(make_solver(model, hair, sag_free=False, **settings), dt=dt)
    way = state.points[:, -1] - state.points[:, 0]
    speed = np.abs(state.velocity).max(axis=(1, 2)) / hair.strand_length
    return np.where(speed < MOVING, -way[:, 1] / way[:, 0], np.nan)


def _add_cantilever(figures: Figures, model: str, segments: int, found: Float64Array, references: Float64Array) -> None:
    for number, value, reference in zip(NUMBERS, found, references, strict=True):
        case = f"cantilever, {model}, {segments} segments, G = {number:g}"
        figures.add(case, "height / width", value, "1", reference=float(reference), source="elastica")
        promised = CANTILEVER_TARGETS.get(model, {}).get(segments) if number <= PROMISED_UP_TO else None
        figures.add(case, "relative error", abs(value / reference - 1), "1", target=promised)


def _add_convergence(figures: Figures, model: str, found: dict[int, Float64Array], references: Float64Array) -> None:
    promised = np.array(NUMBERS) <= PROMISED_UP_TO
    worst = {n: float(np.abs(values / references - 1)[promised].max()) for n, values in found.items()}
    sizes = sorted(worst)
    for coarse, fine in pairwise(sizes):
        case = f"cantilever, {model}, {coarse} to {fine} segments, G up to {PROMISED_UP_TO:g}"
        figures.add(case, "largest error, finer / coarser", worst[fine] / worst[coarse], "1", target=0.7)


def step_independence(figures: Figures, models: list[str]) -> None:
    """The same equilibrium at any step: stiffness is a property of the hair, not of the time step."""
    for model in models:
        ratios = np.array([cantilever_ratios(model, 25, dt=dt, numbers=(10.0,))[0] for dt in STEP_SIZES])
        case = (
            f"cantilever, {model}, 25 segments, G = 10, steps of {1e3 * STEP_SIZES[0]:g} to {1e3 * STEP_SIZES[-1]:g} ms"
        )
        spread = float(np.ptp(ratios) / ratios.mean())
        figures.add(case, "spread of height / width", spread, "1", target=STEP_SPREAD)


# -- helix -----------------------------------------------------------------------------------------------------------


def helix(figures: Figures, models: list[str], *, quick: bool) -> dict[str, Any]:
    """A hanging helix under its own weight, against Kirchhoff's rod; the chain against one that cannot twist."""
    curves = []
    for model in models:
        for segments, fade in zip((50,) if quick else (50, 100), FADES, strict=False):
            solver, height, distance, reference = helix_figures(model, segments)
            case = f"helix of {HELIX_TURNS:g} turns, {model}, {segments} segments, G = {HELIX_NUMBER:g}"
            source = "Kirchhoff rod" if solver.has_twist else "Kirchhoff rod without twist"
            target = HELIX_TARGETS.get(segments)
            figures.add(case, "height / length", height, "1", reference=reference, source=source)
            figures.add(case, "relative error of the height", abs(height / reference - 1), "1", target=target)
            figures.add(case, "largest distance / length", distance.max(), "1", target=target)
            curves.append(
                Curve(
                    f"{model}, {segments} segments", np.linspace(0, 1, segments + 1), distance, markers=False,
                    colour=model_colour(model), fade=fade,
                )
            )  # fmt: skip
    plot = (
        "Hanging helix, distance to Kirchhoff's rod",
        Axis("arc length / length"),
        Axis("distance / length"),
        curves,
    )
    return {"helix": plot}


def helix_figures(model: str, segments: int) -> tuple[StrandSolver, float, Float64Array, float]:
    """Solver, height, distance of each vertex to the reference and the reference's height, over the length."""
    turn = 2 * pi * HELIX_TURNS
    curvature, torsion = HELIX_SLOPE * turn, sqrt(1 - HELIX_SLOPE**2) * turn
    assert abs(hypot(curvature, torsion) - turn) < 1e-9
    arc, length = np.linspace(0.0, 1.0, segments + 1), length_of(HELIX_NUMBER)
    points = length * exact.helix_points(curvature, torsion, arc)[None]
    solver = make_solver(model, HAIR.model(points), sag_free=False)
    ratio = TWISTING / BENDING if solver.has_twist else float("inf")
    reference = exact.kirchhoff_helix(curvature, torsion, HELIX_NUMBER, ratio)
    shape = settle(solver)[0].points[0] / length
    distance = np.linalg.norm(shape - reference.at(arc), axis=1)
    return solver, float(-shape[-1, 1]), distance, float(-reference.points[-1, 1])


# -- torsion ---------------------------------------------------------------------------------------------------------


def torsion(figures: Figures, models: list[str], *, quick: bool) -> None:
    """Twisting stiffness of the models that twist, by a force and by the energy of a twist."""
    for model in models:
        for segments in (25,) if quick else (25, 50):
            _add_quarter_circle(figures, model, segments)
    if "cosserat" in models:
        _add_twisted(figures, "cosserat", 25 if quick else 50)


def _add_quarter_circle(figures: Figures, model: str, segments: int) -> None:
    """A small force across the plane of an arc bends and twists it; 38 percent of its way is twist."""
    radius = 0.02
    angle = np.linspace(0.0, pi / 2, segments + 1)
    points = radius * np.stack([np.sin(angle), np.cos(angle) - 1, np.zeros_like(angle)], axis=1)[None]
    solver = make_solver(model, HAIR.model(points, gravity=(0, 0, 0)), sag_free=False)
    if not solver.has_twist:
        return
    force = np.zeros_like(points)
    force[0, -1, 2] = 1e-3 * BENDING / radius**2
    way = settle(solver, force=force)[0].points[0, -1, 2]
    reference = exact.quarter_circle_deflection(force[0, -1, 2], radius, BENDING, TWISTING)
    case = f"quarter circle pushed out of its plane, {model}, {segments} segments"
    figures.add(case, "deflection of the tip", 1e6 * way, "um", reference=1e6 * reference, source="Castigliano")
    target = TORSION_TARGET if model == "cosserat" else None
    figures.add(case, "relative error", abs(way / reference - 1), "1", target=target)


def _add_twisted(figures: Figures, model: str, segments: int) -> None:
    """A straight strand twisted by a quarter turn stores G J phi^2 / (2 L)."""
    length, twist = 0.1, 0.5 * pi
    hair = HAIR.model(straight_points([length], segments), gravity=(0, 0, 0))
    solver = make_solver(model, hair, sag_free=False)
    state = solver.rest_state(still_roots(hair))
    # Steady twist: each segment is turned by what it would be in its middle, so half a segment at the tip has none.
    angles = twist * (np.arange(segments) + 0.5) / segments
    state.orientations[0] = quaternion.multiply(
        state.orientations[0], quaternion.exp(np.outer(angles, [0.0, 0.0, 1.0]))
    )
    value = float(solver.energy(state)[0])
    reference = TWISTING * twist**2 / (2 * length) * (1 - 0.5 / segments)
    case = f"twisted strand, {model}, {segments} segments"
    figures.add(case, "energy", 1e9 * value, "nJ", reference=1e9 * reference, source="G J phi^2 / (2 L)")
    figures.add(case, "relative error", abs(value / reference - 1), "1", target=TORSION_TARGET)


def frequency_of(signal: Float64Array, dt: float) -> float:
    """Frequency [Hz] of a swing about zero, from the times of its zero crossings; NaN where it does not swing."""
    crossing = np.flatnonzero(signal[:-1] * signal[1:] < 0)
    if len(crossing) < 2:
        return float("nan")
    before, after = signal[crossing], signal[crossing + 1]
    times = dt * (crossing + before / (before - after))
    return float((len(times) - 1) / (2 * (times[-1] - times[0])))
