"""How long a substep may be (docs/decisions/0013): a shaken head at more and more substeps per frame."""

from __future__ import annotations

import numpy as np

from mane.body.motion_presets import make_motion
from mane.groom import styles
from mane.groom.select import select_guides
from mane.measure.figures import Figures
from mane.scene.simulation import Simulation
from mane.strand.model import Float64Array
from mane.strand.solver import MAX_SUBSTEP

FRAME_RATE = 24.0
FRAMES = 36
GUIDES = 24
STYLES = ("curly", "straight")  # each is the name of its material too
SUBSTEPS = (5, 6, 7, 8, 11, 21)
CONVERGED = 84  # half a millisecond each
# What the substeps that a simulation chooses promise: medians of tips within so much [mm], and this part of the motion.
TIP_TARGET, MOTION_TARGET = 10.0, 90.0
CHOSEN = round(1 / (FRAME_RATE * MAX_SUBSTEP))


def shaken_heads(figures: Figures, models: list[str], *, quick: bool) -> None:
    """Tips of guides on a bust that shakes its head, against substeps of half a millisecond."""
    for style in STYLES[:1] if quick else STYLES:
        for model in models:
            reference = _tips(style, model, 21 if quick else CONVERGED)
            for substeps in (6, 8) if quick else SUBSTEPS:
                tips = _tips(style, model, substeps)
                apart = np.linalg.norm(tips - reference, axis=2)
                case = f"{style} head shaken, {model}, substeps of {1e3 / FRAME_RATE / substeps:.1f} ms"
                near, lively = (TIP_TARGET, MOTION_TARGET) if substeps == CHOSEN else (None, None)
                gap, motion = 1e3 * float(np.median(apart)), 100 * _motion(tips) / _motion(reference)
                figures.add(case, "median distance of tips from the finest", gap, "mm", target=near)
                figures.add(case, "motion of tips, of the finest", motion, "%", target=lively, better="higher")


def _tips(style: str, model: str, substeps: int) -> Float64Array:
    """Tips of the guides in every frame [m], shape (F, G, 3)."""
    groom = styles.make(style, strands=400, vertices=16, seed=1)
    simulation = Simulation(
        select_guides(groom, GUIDES, seed=1),
        model,
        material=style,
        body=styles.body(style),
        head=make_motion("shake"),
        frame_rate=FRAME_RATE,
        substeps=substeps,
    )
    return np.array([simulation.step().points[:, -1] for _ in range(FRAMES)], np.float64)


def _motion(tips: Float64Array) -> float:
    """Root mean square of what tips move by from frame to frame [m]."""
    return float(np.sqrt((np.diff(tips, axis=0) ** 2).sum(axis=2).mean()))
