"""`mane bench mutual`: what it costs that guides hold together and collide with each other.

A head of straight hair shakes twice a second, by 20 degrees to either side. Times are medians over the frames of a
second, the whole frame with the strand solver; compiling is not counted. Strips look for what could touch once per
frame and for what does at every second substep; links and strips act at every one. Where the number of guides grows,
the thickness shrinks with the distance between their roots, as the cluster that each stands for does. Segments stay as
long as they are and lie closer, so that each meets more of the others: contacts grow faster than guides, by a power of
about 1.5, and what matters is that time grows with contacts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numba
import numpy as np

from mane.body.motion import Pose
from mane.contact.links import StaticLinks
from mane.contact.strips import TriangleStrips
from mane.contact.volume_grid import VolumeGrid
from mane.groom import styles
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.measure.figures import Figures
from mane.scene.simulation import Simulation
from mane.strand.ports import Part

SEGMENTS = 15
PAPER_GUIDES = 200
PAPER_MS = 1000.0
PAPER = "chang2002 section 7, Pentium III 800 MHz"
TARGET_MS = 10.0
TARGET_GROWTH = 1.2  # exponent; 1 is linear
COUNTS = (100, 200, 400, 800)
GRID_COUNTS = (500, 1000, 2000)
THICKNESS = 0.002  # [m] for 200 guides on a head
RETOUCH = 0.007  # [s]: every second substep of 5 ms
FRAMES = 24
FRAME_RATE = 24.0
SWING = math.radians(20)
SWINGS_PER_SECOND = 2.0


def run(*, quick: bool = False, progress: Callable[[str], None] | None = None) -> Figures:
    """Time links and strips at the paper's size, and how the time grows with the number of guides."""
    figures = Figures("mutual")
    counts = (50, 100) if quick else COUNTS
    frames = 6 if quick else FRAMES
    groom = styles.make("straight", strands=4 * max(counts), vertices=SEGMENTS + 1, seed=1)
    own, contacts = {}, {}
    for count in counts:
        guides = select_guides(groom, count, seed=1)
        if progress:
            progress(f"mutual: {count} guides")
        measured = {name: _measure(guides, parts, frames) for name, parts in _cases(count).items()}
        times = {name: one[0] for name, one in measured.items()}
        own[count] = times["links and strips"] - times["alone"]
        contacts[count] = measured["links and strips"][1]
        _report(figures, count, times, own[count])
        figures.add(f"{count} guides x {SEGMENTS} segments", "contacts at once", contacts[count], "1")
        if count == PAPER_GUIDES:
            _report_one_core(figures, guides, frames)
    case = f"links and strips, {min(counts)} to {max(counts)} guides"
    linear = {"reference": 1.0, "source": "linear"}
    growth = growth_exponent(list(own), list(own.values()))
    figures.add(case, "exponent of growth with guides", growth, "1", **linear, target=TARGET_GROWTH)
    growth = growth_exponent(list(contacts.values()), list(own.values()))
    figures.add(case, "exponent of growth with contacts", growth, "1", **linear, target=TARGET_GROWTH)
    growth = growth_exponent(list(contacts), list(contacts.values()))
    figures.add(case, "exponent of growth of contacts with guides", growth, "1")
    _bench_grid(figures, GRID_COUNTS[:1] if quick else GRID_COUNTS, frames, progress)
    return figures


def _report_one_core(figures: Figures, guides: Guides, frames: int) -> None:
    """Processor time on one thread, which other programs on the same machine change little."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        for name, parts in _cases(PAPER_GUIDES).items():
            value, _ = _measure(guides, parts, frames, clock=time.thread_time)
            figures.add(
                f"{PAPER_GUIDES} guides x {SEGMENTS} segments, {name}", "processor time on one core", value, "ms"
            )
    finally:
        numba.set_num_threads(threads)


def _bench_grid(figures: Figures, counts: Sequence[int], frames: int, progress: Callable[[str], None] | None) -> None:
    """Time the volume grid, and how it grows; the cells shrink with the distance between the guides."""
    groom = styles.make("straight", strands=max(counts), vertices=SEGMENTS + 1, seed=1)
    own = {}
    for count in counts:
        if progress:
            progress(f"mutual: {count} guides with the grid")
        guides = select_guides(groom, count, seed=1)
        alone, with_grid = (_measure(guides, parts, frames)[0] for parts in _grid_cases())
        own[count] = with_grid - alone
        case = f"{count} guides x {SEGMENTS} segments"
        figures.add(f"{case}, grid", "time per frame", with_grid, "ms")
        figures.add(case, "time per frame that the grid adds", own[count], "ms")
    if len(counts) > 1:
        growth = growth_exponent(list(own), list(own.values()))
        case = f"grid, {min(counts)} to {max(counts)} guides"
        figures.add(
            case, "exponent of growth with guides", growth, "1", reference=1.0, source="linear", target=TARGET_GROWTH
        )


def _grid_cases() -> tuple[list[Part], list[Part]]:
    return [], [VolumeGrid()]


def growth_exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Slope of the straight line through log(cost) over log(size); 1 is linear growth."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(costs, 1e-9)), 1)[0])


def _cases(count: int) -> dict[str, list[Part]]:
    thickness = THICKNESS * math.sqrt(PAPER_GUIDES / count)

    def strips() -> TriangleStrips:
        return TriangleStrips(thickness=thickness, neighbours="horizontal", refresh=1 / FRAME_RATE, retouch=RETOUCH)

    return {"alone": [], "links": [StaticLinks()], "strips": [strips()], "links and strips": [StaticLinks(), strips()]}


def _measure(
    guides: Guides, parts: list[Part], frames: int, *, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, float]:
    """Median time of a frame [ms] and median of its contacts; the first one, which makes strips, is left out."""
    simulation = Simulation(guides, forces=parts, frame_rate=FRAME_RATE)
    times, contacts = [], []
    for number in range(frames + 1):
        angle = SWING * math.sin(2 * math.pi * SWINGS_PER_SECOND * number / FRAME_RATE)
        pose = Pose(np.zeros(3), np.array([0.0, math.sin(angle / 2), 0.0, math.cos(angle / 2)]))
        started = clock()
        frame = simulation.step(pose)
        times.append(1e3 * (clock() - started))
        contacts.append(simulation.report.parts.get("hair contacts", 0.0))
        assert np.isfinite(frame.points).all()
    return float(np.median(times[1:])), float(np.median(contacts[1:]))


def _report(figures: Figures, count: int, times: dict[str, float], own: float) -> None:
    is_paper = count == PAPER_GUIDES
    for name, value in times.items():
        rest = {}
        if is_paper and name == "links and strips":
            rest = {"reference": PAPER_MS, "source": PAPER, "target": TARGET_MS}
        figures.add(f"{count} guides x {SEGMENTS} segments, {name}", "time per frame", value, "ms", **rest)
    figures.add(f"{count} guides x {SEGMENTS} segments", "time per frame that links and strips add", own, "ms")
