"""`mane bench mutual`: what it costs that guides hold together and collide with each other.

A head of straight hair shakes twice a second, by 20 degrees to either side. Times are medians over the frames of a
second, the whole frame with the strand solver; compiling is not counted. All settings are those by default. At the
paper's size a "sparing" row follows: strips whose broad phase runs once per frame and whose narrow phase runs at every
second substep, where by default it does at every one. Links and strips act at every substep either way.

The number of guides grows in two ways. On one scalp they lie ever closer, and the thickness shrinks with the distance
between their roots, as the cluster that each stands for does; segments stay as long as they are, so that each meets
more of the others: contacts grow by a power of about 1.4, and time with the contacts. In a field of hair that grows,
and is shaken sideways, there is simply more of the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numba
import numpy as np

from mane.body.motion import Pose
from mane.contact.grid.volume_grid import VolumeGrid
from mane.contact.links.links import StaticLinks
from mane.contact.strips.strips import TriangleStrips
from mane.groom import styles
from mane.groom.groom import Groom
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
FIELD_SIDES = (14, 20, 28, 40)  # several times as far as its hair leans: at the edges there are fewer to meet
FIELD_SPACING, FIELD_LENGTH, FIELD_LEAN = 0.016, 0.2, 0.2  # [m], as on a head of 200 guides, and 0.2 across for 1 down
FIELD_SHIFT = 0.04  # [m] to either side
THICKNESS = 0.002  # [m] for 200 guides on a head
FRAMES = 24
FRAME_RATE = 24.0
SPARING = {"broad_phase_interval": 1 / FRAME_RATE, "narrow_phase_interval": 0.007}  # [s]: every second substep of 5 ms
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
            sparing, _ = _measure(guides, [StaticLinks(), _strips(count, **SPARING)], frames)
            case = f"{count} guides x {SEGMENTS} segments, links and sparing strips"
            figures.add(case, "time per frame", sparing, "ms")
    case = f"links and strips, {min(counts)} to {max(counts)} guides on one scalp"
    linear = {"reference": 1.0, "source": "linear"}
    growth = growth_exponent(list(own), list(own.values()))
    figures.add(case, "exponent of growth with guides", growth, "1", **linear, target=TARGET_GROWTH)
    growth = growth_exponent(list(contacts.values()), list(own.values()))
    figures.add(case, "exponent of growth with contacts", growth, "1", **linear, target=TARGET_GROWTH)
    growth = growth_exponent(list(contacts), list(contacts.values()))
    figures.add(case, "exponent of growth of contacts with guides", growth, "1")
    _bench_field(figures, (7, 10) if quick else FIELD_SIDES, frames, progress)
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


def _bench_field(figures: Figures, sides: Sequence[int], frames: int, progress: Callable[[str], None] | None) -> None:
    """Time how links and strips grow with guides that lie equally close: those of a growing field of hair."""
    own, contacts = {}, {}
    for side in sides:
        if progress:
            progress(f"mutual: {side * side} guides of a field")
        guides, cases = make_field(side), _cases(PAPER_GUIDES)
        alone, _ = _measure(guides, cases["alone"], frames, motion=_shifted)
        with_both, contacts[side * side] = _measure(guides, cases["links and strips"], frames, motion=_shifted)
        own[side * side] = with_both - alone
    growth = growth_exponent(list(own), list(own.values()))
    case = f"links and strips, {min(own)} to {max(own)} guides of a field"
    linear = {"reference": 1.0, "source": "linear", "target": TARGET_GROWTH}
    figures.add(case, "exponent of growth with guides", growth, "1", **linear)
    growth = growth_exponent(list(contacts), list(contacts.values()))
    figures.add(case, "exponent of growth of contacts with guides", growth, "1")


def make_field(side: int) -> Guides:
    """Hair that hangs from a square lattice, each strand leaning its own way by up to `FIELD_LEAN`."""
    place = FIELD_SPACING * np.arange(side)
    roots = np.stack(np.meshgrid(place, [0.0], place, indexing="ij"), axis=-1).reshape(-1, 3)
    way = np.random.default_rng(1).uniform(-FIELD_LEAN, FIELD_LEAN, roots.shape)
    way[:, 1] = -1.0
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    points = roots[:, None] + way[:, None] * np.linspace(0.0, FIELD_LENGTH, SEGMENTS + 1)[:, None]
    return Guides.from_groom(Groom.from_uniform(points.astype(np.float32)))


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
    return {
        "alone": [],
        "links": [StaticLinks()],
        "strips": [_strips(count)],
        "links and strips": [StaticLinks(), _strips(count)],
    }


def _strips(count: int, **settings: float) -> TriangleStrips:
    thickness = THICKNESS * math.sqrt(PAPER_GUIDES / count)
    return TriangleStrips(thickness=thickness, neighbours="horizontal", **settings)


def _turned(swing: float) -> Pose:
    """A head that is turned to the side by a share of the swing."""
    angle = SWING * swing
    return Pose(np.zeros(3), np.array([0.0, math.sin(angle / 2), 0.0, math.cos(angle / 2)]))


def _shifted(swing: float) -> Pose:
    """A field that is shifted sideways, everywhere alike."""
    return Pose(np.array([FIELD_SHIFT * swing, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))


def _measure(
    guides: Guides,
    parts: list[Part],
    frames: int,
    *,
    motion: Callable[[float], Pose] = _turned,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    """Median time of a frame [ms] and median of its contacts; the first one, which makes strips, is left out."""
    simulation = Simulation(guides, forces=parts, frame_rate=FRAME_RATE)
    times, contacts = [], []
    for number in range(frames + 1):
        pose = motion(math.sin(2 * math.pi * SWINGS_PER_SECOND * number / FRAME_RATE))
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
