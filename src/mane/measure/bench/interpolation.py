"""How close animation at 24 samples per second comes to the motion that was sampled, and how hard it kicks roots."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.body.animated import AnimatedMesh
from mane.body.creature import make_creature
from mane.body.interpolation import INTERPOLATIONS
from mane.measure.figures import Figures

SAMPLE_RATE, SUBSTEPS = 24.0, 8
SECONDS = 1.5
# Some points of the skin; and whole frames that are left out at both ends, where a motion is held.
EVERY, ENDS = 23, 2


def measure_interpolation(figures: Figures, motion: str, cell_size: float = 0.012) -> None:
    """Add error and acceleration of every interpolation, at the substeps of a frame of film, beside the true ones."""
    creature = make_creature(cell_size)
    fine = creature.animated(motion, duration=SECONDS, frame_rate=SAMPLE_RATE * SUBSTEPS)
    asked = np.arange(ENDS * SUBSTEPS, len(fine.times) - ENDS * SUBSTEPS)
    true = np.stack([fine.sample(int(number))[::EVERY].astype(np.float64) for number in asked])
    frames = np.stack([fine.sample(number) for number in range(0, len(fine.times), SUBSTEPS)])
    case = f"{motion}, {SAMPLE_RATE:g} samples per second"
    figures.add(case, "acceleration of the skin as it was", acceleration(true), "m/s2")
    for name in INTERPOLATIONS:
        coarse = AnimatedMesh(creature.mesh, fine.times[::SUBSTEPS], frames, interpolation=name)
        points = np.stack([coarse.precise_points(float(fine.times[number]))[::EVERY] for number in asked])
        error = 1e3 * float(np.linalg.norm(points - true, axis=2).mean())
        figures.add(case, f"error between samples, {name}", error, "mm")
        figures.add(case, f"acceleration of the skin, {name}", acceleration(points), "m/s2")


def acceleration(points: NDArray[np.float64]) -> float:
    """Root mean square of the acceleration over substeps [m/s^2], of points (F, N, 3)."""
    second = np.diff(points, 2, axis=0) * (SAMPLE_RATE * SUBSTEPS) ** 2
    return float(np.sqrt((second**2).sum(axis=2).mean()))
