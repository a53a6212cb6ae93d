"""`mane bench contact`: what contact with the head costs in a step of guides, beside all the rest of that step.

Straight guides of a bust on a head that turns to either side by 45 degrees once a second, in frames of 10 ms, on one
thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from mane.body.bust import make_bust
from mane.body.motion_presets import make_motion
from mane.contact.solids.contact import SolidContact
from mane.geometry.threads import using_threads
from mane.groom import styles
from mane.groom.select import select_guides
from mane.measure.figures import Figures
from mane.scene.simulation import Simulation
from mane.stage.clock import StageClock
from mane.strand.solver import SOLVERS

GUIDES, SEGMENTS, GROOM_STRANDS = 400, 25, 4_000
FRAME_RATE, WARM_FRAMES, FRAMES = 100.0, 20, 100
TARGET_SHARE = 0.5  # of a step; more and contact would dominate it

Progress = Callable[[str], None]


def run(*, quick: bool = False, progress: Progress | None = None) -> Figures:
    """Step guides on a turning head and print where the time goes; compiling is not counted."""
    tell = progress or (lambda text: None)
    figures = Figures("contact")
    count, frames = (64, 10) if quick else (GUIDES, FRAMES)
    for model in SOLVERS:
        tell(f"contact: {count} x {SEGMENTS}, {model}")
        with using_threads(1):
            _measure(figures, model, count, frames)
    return figures


def _measure(figures: Figures, model: str, count: int, frames: int) -> None:
    sim = _turning_head(model, count)
    for _ in range(WARM_FRAMES):
        sim.step()
    sim.clock = clock = StageClock()
    contacts, substeps, start = 0.0, 0, time.perf_counter()
    for _ in range(frames):
        sim.step()
        contacts += sim.report.parts["contacts"] / frames
        substeps += sim.report.substeps
    total, contact = time.perf_counter() - start, clock.frame[SolidContact.label]
    case = f"{count} x {SEGMENTS} on the bust, {model}, {substeps / frames:g} substeps"
    figures.add(case, "time per frame", 1e3 * total / frames, "ms")
    figures.add(case, "contacts", contacts, "1")
    figures.add(case, "contacts found, settled and mended", 1e3 * contact / frames, "ms")
    figures.add(case, "per vertex and substep", 1e9 * contact / substeps / (count * (SEGMENTS + 1)), "ns")
    figures.add(case, "share of contact", contact / total, "1", target=TARGET_SHARE)


def _turning_head(model: str, count: int) -> Simulation:
    groom = styles.make("straight", strands=GROOM_STRANDS, vertices=SEGMENTS + 1, seed=1)
    head = make_motion("turn")
    return Simulation(
        select_guides(groom, count, method="farthest", seed=1),
        model,
        body=make_bust().mesh,
        head=head,
        frame_rate=FRAME_RATE,
    )
