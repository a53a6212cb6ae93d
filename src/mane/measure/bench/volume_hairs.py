"""Rows of `mane bench volume`: hairs that are simulated one by one, by how many of a carpet are (lee2018 fig. 7)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mane.body.motion import Pose
from mane.body.shapes import Box
from mane.body.solid import Solid
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.select import select_guides
from mane.measure.figures import Figures
from mane.scene.simulation import Simulation
from mane.skin.table import make_skin
from mane.volume.individual_skin import IndividualSkin

STRANDS, VERTICES = 2_145, 53  # lee2018 table 1, the carpet; at most 150 active at a time
COVERED = (0.0, 0.02, 0.07, 0.25, 1.0)  # parts of the carpet that a plate lies on
RATE = 24.0
SPEEDUP = 5.0  # lee2018 table 1: 50 and 10 s


def add_rows(figures: Figures, quick: bool, tell: Callable[[str], None]) -> None:
    """Time frames of a carpet with a plate on ever more of it."""
    strands, vertices = (300, 12) if quick else (STRANDS, VERTICES)
    groom = styles.make("carpet", strands=strands, vertices=vertices, seed=1)
    spent = {}
    for part in COVERED:
        tell(f"volume: hairs one by one, a plate on {100 * part:g} % of a carpet")
        active, spent[part] = _timed(groom, part, 4 if quick else 9)
        case = f"carpet of {strands:,} hairs, {vertices} vertices, {active:,} simulated"
        figures.add(case, "frame", 1e3 * spent[part], "ms")
    target = None if quick else SPEEDUP
    figures.add(
        f"carpet of {strands:,} hairs, 7 % simulated",
        "time of all simulated, over its own",
        spent[1.0] / spent[0.07],
        "1",
        target=target,
        better="higher",
        reference=SPEEDUP,
        source="lee2018 table 1",
    )


def _timed(groom: Groom, part: float, frames: int) -> tuple[int, float]:
    """How many hairs are simulated below a plate on a part of the carpet, and the median seconds of a frame."""
    mat = styles.body("carpet")
    low, high = groom.points.min(axis=0).astype(np.float64), groom.points.max(axis=0).astype(np.float64)
    half, middle = 0.5 * (high - low), 0.5 * (low + high)
    half[0] = max(half[0] * part, 1e-3)
    above = high[1] + half[1] - (0.002 if part > 0 else -1.0)
    plate = Solid(Box((float(low[0] + half[0]), float(above), float(middle[2])), tuple((1.02 * half).tolist())))
    guides = select_guides(groom, min(8, groom.strand_count // 4), seed=1)
    simulation = Simulation(guides, frame_rate=RATE, body=mat, solids=[plate])
    skin = make_skin("individual", groom, simulation, spacing=float(high[0] - low[0]) / 2)
    assert isinstance(skin, IndividualSkin)
    seconds = []
    for number in range(frames + 2):
        start = time.perf_counter()
        still = (Pose.identity(),) * len(simulation.solids)
        skin(replace(simulation.rest, time=number / RATE, is_rest_pose=False, solid_poses=still))
        seconds.append(time.perf_counter() - start)
    return skin.individual.active_count, float(np.median(seconds[2:]))
