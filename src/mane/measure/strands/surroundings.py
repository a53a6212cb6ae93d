"""Strands and what is around them: Coulomb's friction on an incline, terminal velocity in air."""

from __future__ import annotations

from collections.abc import Sequence
from math import atan, cos, degrees, log, pi, sin

import numpy as np
from scipy.optimize import brentq

from mane.body.motion import Pose
from mane.body.shapes import Plane
from mane.body.solid import Solid
from mane.contact.air.drag import AIR_DENSITY, AIR_VISCOSITY, Drag
from mane.contact.solids.contact import SolidContact
from mane.measure.figures import Figures
from mane.measure.strands.setup import GRAVITY, LINE_DENSITY, free_model, still_roots, straight_points
from mane.strand.model import Float64Array
from mane.strand.ports import Force, MovingSolid
from mane.strand.solver import make_solver
from mane.strand.stepping import StepPath, Stepper

FRICTION = 0.3
ANGLES = (0.8, 0.95, 1.05, 1.5)  # of the incline, in multiples of the angle of friction
LAID = {"across": (0.0, 1.0), "down": (1.0, 0.0)}  # directions on the incline: parts downhill and across it
STILL = 1e-8  # [m/s]: a micrometre in two minutes; springs, which are solved to a tolerance, keep 3e-9
SLIDING_TARGET = 0.01
STEP, LENGTH, SEGMENTS = 0.002, 0.1, 25
TERMINAL_TARGET = 0.01
RADIUS = 40e-6  # [m]


def incline(figures: Figures, models: list[str]) -> None:
    """A free strand on an incline: it sticks below the angle of friction and slides above it as Coulomb says."""
    for model in models:
        for laid in LAID:
            for share in ANGLES:
                _incline(figures, model, laid, share * atan(FRICTION))


def _incline(figures: Figures, model: str, laid: str, angle: float) -> None:
    speeds = sliding_speeds(model, angle, laid=laid)
    case = f"incline of {degrees(angle):.1f} degrees, friction {FRICTION:g}, laid {laid}, {model}"
    reference = GRAVITY * (sin(angle) - FRICTION * cos(angle))
    if reference < 0:
        speed = abs(speeds[-1])
        figures.add(case, "speed after 0.5 s", speed, "m/s", reference=0.0, source="sticks", target=STILL)
        return
    half = len(speeds) // 2
    value = (speeds[-1] - speeds[half]) / (STEP * (len(speeds) - 1 - half))
    figures.add(case, "acceleration", value, "m/s^2", reference=reference, source="g (sin a - mu cos a)")
    figures.add(case, "relative error", abs(value / reference - 1), "1", target=SLIDING_TARGET)


def sliding_speeds(model: str, angle: float, duration: float = 0.5, *, laid: str = "across") -> Float64Array:
    """Mean speed [m/s] down an incline of `angle` [rad] of a strand laid on it, after every step."""
    downhill = np.array([cos(angle), -sin(angle), 0.0])
    floor = Solid(Plane((0.0, 0.0, 0.0), (sin(angle), cos(angle), 0.0)))
    down, across = LAID[laid]
    points = straight_points([LENGTH], SEGMENTS, direction=down * downhill + [0.0, 0.0, across])
    velocity = _run(model, points, [SolidContact(friction=FRICTION)], duration, [floor])
    return np.asarray((velocity @ downhill).mean(axis=(1, 2)))


def terminal_velocity(figures: Figures, models: list[str]) -> None:
    """A straight strand that falls across its own length, until drag carries its weight."""
    reference = falling_speed(LENGTH)
    for model in models:
        points = straight_points([LENGTH], SEGMENTS)
        velocity = _run(model, points, [Drag()], 2.0)
        value = float(-velocity[-1, 0, :, 1].mean())
        case = f"terminal velocity of a hair of 10 cm, {model}"
        figures.add(case, "speed", value, "m/s", reference=reference, source="weight = drag")
        figures.add(case, "relative error", abs(value / reference - 1), "1", target=TERMINAL_TARGET)


def falling_speed(length: float) -> float:
    """Speed [m/s] at which the drag across a thin cylinder, as `air.drag` states it, carries its weight."""

    def missing(speed: float) -> float:
        reynolds = 2 * RADIUS * speed * AIR_DENSITY / AIR_VISCOSITY
        creeping = 4 * pi * AIR_VISCOSITY / (log(length / RADIUS) + 0.5)
        coefficient = (
            1.18 + 6.8 / reynolds**0.89 + 1.96 / reynolds**0.5 - 0.0004 * reynolds / (1 + 3.64e-7 * reynolds**2)
        )
        per_speed = max(creeping, 0.5 * AIR_VISCOSITY * reynolds * coefficient)
        result: float = per_speed * speed - LINE_DENSITY * GRAVITY
        return result

    return float(brentq(missing, 1e-3, 100.0))


def _run(
    model: str, points: Float64Array, forces: Sequence[Force], duration: float, solids: Sequence[Solid] = ()
) -> Float64Array:
    """Velocities [m/s] of a free strand after every step from rest, shape (T, G, V, 3)."""
    hair = free_model(points)
    solver = make_solver(model, hair, sag_free=False)
    stepper, roots = Stepper(solver, forces), still_roots(hair)
    there = tuple(MovingSolid(solid, Pose.identity(), Pose.identity()) for solid in solids)
    path = StepPath(lambda fraction: roots, lambda start, end: there)
    state = solver.rest_state(roots)
    found = [state.velocity.copy()]
    for number in range(round(duration / STEP)):
        stepper.step(state, state, path, time=(number + 1) * STEP, dt=STEP, substeps=1)
        found.append(state.velocity.copy())
    return np.array(found)
