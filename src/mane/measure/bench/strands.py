"""`mane bench strands`: milliseconds per frame of every strand model, beside pyPBD on the same guides in the same run.

Straight guides of a bust on a head that turns to either side by 45 degrees once a second, in frames of 10 ms, without
solids or air: what all can do. A time counts only at settings that move the hair right: each model, and the peer, is
given the fewest substeps with which 95 of 100 tips are within 2 cm of where a converged run has them after 1 s: its own
for ours, that of cosserat for the peer. The distance of half of them, of all, and of their mean height is printed
beside, and how far the models are apart.
Where the peer is never that close, its cheapest run is printed with its distances, and marked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from mane.body.motion import Pose
from mane.body.motion_presets import make_motion
from mane.contact.grid.volume_grid import VolumeGrid
from mane.geometry.threads import most_threads, using_threads
from mane.groom import styles
from mane.groom.select import select_guides
from mane.measure.bench.peer_pypbd import EXTRA, METHODS, PeerJob, is_installed, run_peer
from mane.measure.figures import Figures
from mane.measure.strands.setup import BENDING, HAIR, TWISTING
from mane.scene.simulation import Simulation
from mane.strand.model import Float64Array, StrandModel
from mane.strand.roots import RootPose
from mane.strand.solver import SOLVERS, make_solver
from mane.strand.stepping import StepPath, Stepper

SIZES = ((400, 25), (128, 15))  # guides, segments
QUICK_SIZES = ((32, 12),)
FRAME, DURATION = 0.01, 1.0  # [s]
SUBSTEPS = (1, 2, 3, 4, 6, 8, 12, 16)
PEER_SUBSTEPS = {"direct": (1, 4, 8, 12), "gauss-seidel": (1,)}  # one second of its sweeps takes most of a minute
CONVERGED = 64  # substeps
CLOSE_PERCENT, CLOSE = 95, 0.02  # so many of 100 tips must be this near to where the converged run has them [m]
TARGET_MILLISECONDS = 5.0
TARGET_SPEEDUP = 5.0  # of cosserat against pyPBD's direct solver
TARGET_STRETCH = {"cosserat": 0.001, "chain": 0.001}
PEER_ITERATIONS = {"direct": 1, "gauss-seidel": 5}
PAPER = 0.2  # [ms] per step of 1 ms for 128 guides, on a GPU
PAPER_FRAMES = 60
PRINTED = {"k_norm": 0.4, "sag_free": False}  # rods as hsu2024 steps them
FIT_STRANDS, FIT_SEGMENTS = (50, 100, 200, 400), (10, 20, 40, 80)
GROOM_STRANDS = 20_000
RADIUS, DENSITY, YOUNG = 40e-6, 1320.0, 3.9e9

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Settled:
    """What one run at some number of substeps gave.

    Attributes:
        substeps: per frame.
        milliseconds: per frame, the median.
        tips: after the run [m], shape (G, 3).
        stretch: largest |stretch| of all frames.
    """

    substeps: int
    milliseconds: float
    tips: Float64Array
    stretch: float

    def distance(self, wanted: Float64Array, percent: float) -> float:
        """So many percent of the tips are within this distance [m] of where they are `wanted`."""
        return float(np.percentile(np.linalg.norm(self.tips - wanted, axis=1), percent))

    def is_close(self, wanted: Float64Array) -> bool:
        """Whether tips are as near to where they are `wanted` as they must be."""
        return self.distance(wanted, CLOSE_PERCENT) <= CLOSE


def run(*, quick: bool = False, progress: Progress | None = None) -> Figures:
    """Step guides with every model and with the peer; compiling is not counted."""
    tell = progress or (lambda text: None)
    figures = Figures("strands")
    cores = min(2, most_threads())
    for strands, segments in QUICK_SIZES if quick else SIZES:
        _measure_size(figures, strands, segments, cores, tell)
    _measure_paper(figures, cores, tell, 3 if quick else PAPER_FRAMES)
    for model in SOLVERS:
        tell(f"strands: growth of {model}")
        _measure_growth(figures, model, scale=5 if quick else 1)
    return figures


def _measure_size(figures: Figures, strands: int, segments: int, cores: int, tell: Progress) -> None:
    size = f"{strands} x {segments}"
    guides = bench_model(strands, segments)
    ours, converged = {}, {}
    for model in SOLVERS:
        tell(f"strands: {size}, {model}")
        with using_threads(cores):
            converged[model] = simulate(model, guides, CONVERGED)
            ours[model], _ = _fewest_substeps(partial(simulate, model, guides), converged[model].tips)
        _add_model(figures, size, model, guides, ours[model], converged[model].tips, cores)
    wanted = converged["cosserat"].tips
    figures.add(size, "mean tip height after 1 s, cosserat, converged", float(wanted[:, 1].mean()), "m")
    for model, one in converged.items():
        if model != "cosserat":
            _add_distances(figures, f"{size}, {model}, converged, from cosserat's", one, wanted, promised=False)
    _measure_peer(figures, size, guides, wanted, ours["cosserat"], cores, tell)


def _fewest_substeps(
    attempt: Callable[[int], Settled | None], wanted: Float64Array, choices: tuple[int, ...] = SUBSTEPS
) -> tuple[Settled | None, list[Settled]]:
    """The run with the fewest substeps that moves the hair right, if any does, and all runs that were made."""
    runs: list[Settled] = []
    for substeps in choices:
        found = attempt(substeps)
        if found is None:
            continue
        runs.append(found)
        if found.is_close(wanted):
            return found, runs
    return None, runs


def _add_distances(figures: Figures, case: str, found: Settled, wanted: Float64Array, *, promised: bool) -> None:
    """How far tips are from the converged run, one by one and in the mean."""
    for percent in (50, CLOSE_PERCENT, 100):
        target = 1e3 * CLOSE if promised and percent == CLOSE_PERCENT else None
        distance = 1e3 * found.distance(wanted, percent)
        figures.add(case, f"{percent} of 100 tips within", distance, "mm", target=target)
    height = abs(float(found.tips[:, 1].mean() - wanted[:, 1].mean()))
    figures.add(case, "distance of the mean tip height", 1e3 * height, "mm")


def _add_model(
    figures: Figures,
    size: str,
    model: str,
    guides: StrandModel,
    found: Settled | None,
    wanted: Float64Array,
    cores: int,
) -> None:
    if found is None:
        case = f"{size}, {model}, up to {SUBSTEPS[-1]} substeps"
        target = TARGET_MILLISECONDS if size == "400 x 25" else None
        figures.add(case, "time per frame", float("nan"), "ms", target=target)
        return
    case = f"{size}, {model}, {found.substeps} substeps"
    _add_distances(figures, case, found, wanted, promised=True)
    figures.add(case, "largest stretch", found.stretch, "1", target=TARGET_STRETCH.get(model))
    for count in range(1, cores + 1):
        with using_threads(count):
            value = found.milliseconds if count == cores else simulate(model, guides, found.substeps).milliseconds
        target = TARGET_MILLISECONDS if size == "400 x 25" and count == 2 else None
        figures.add(f"{case}, threads: {count}", "time per frame", value, "ms", target=target)


# -- the peer --------------------------------------------------------------------------------------------------------


def _measure_peer(
    figures: Figures,
    size: str,
    guides: StrandModel,
    wanted: Float64Array,
    ours: Settled | None,
    cores: int,
    tell: Progress,
) -> None:
    if not is_installed():
        tell(f"strands: pyPBD is not installed and not compared with; {EXTRA}")
        return
    for method in METHODS:
        tell(f"strands: {size}, pyPBD {method}")
        choices = PEER_SUBSTEPS[method]
        found, runs = _fewest_substeps(partial(_run_peer, method, guides, cores), wanted, choices)
        shown = found or (runs[0] if runs else None)
        if shown is None:
            figures.add(f"{size}, pyPBD {method}, up to {choices[-1]} substeps", "time per frame", float("nan"), "ms")
            continue
        counts = "" if found else ", too far off to count"
        work = f"{shown.substeps} substeps of {PEER_ITERATIONS[method]}, threads: {cores}{counts}"
        case = f"{size}, pyPBD {method}, {work}"
        _add_distances(figures, case, shown, wanted, promised=False)
        figures.add(case, "largest stretch at the end", shown.stretch, "1")
        figures.add(case, "time per frame", shown.milliseconds, "ms")
        if method == "direct" and ours is not None:
            figures.add(
                f"{size}, cosserat{counts.replace('too far', 'pyPBD too far')}", "pyPBD direct's time over ours",
                shown.milliseconds / ours.milliseconds, "1",
                better="higher", target=TARGET_SPEEDUP if size == "400 x 25" else None,
            )  # fmt: skip


def _run_peer(method: str, guides: StrandModel, cores: int, substeps: int) -> Settled | None:
    poses = [head_pose(FRAME * (k + 1) / substeps) for k in range(round(DURATION / FRAME) * substeps)]
    table = np.array([np.concatenate([pose.position, pose.rotation]) for pose in poses])
    shear = YOUNG * TWISTING / (2 * BENDING)  # G J over E I is 2 G / E for a round section
    job = PeerJob(guides.rest_points, table, FRAME / substeps, YOUNG, shear, RADIUS, DENSITY)
    try:
        result = run_peer(job, method=method, iterations=PEER_ITERATIONS[method], thread_count=cores)
    except ArithmeticError:
        return None
    return Settled(substeps, 1e3 * substeps * result.seconds, np.array(result.tips), result.stretch)


# -- our own ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def bench_model(strands: int, segments: int) -> StrandModel:
    """Straight guides all over the scalp, undamped; the groom is their shape without load."""
    groom = styles.make("straight", strands=max(GROOM_STRANDS, strands), vertices=segments + 1, seed=1)
    guides = select_guides(groom, strands, method="farthest", seed=1)
    return HAIR.model(guides)


def head_pose(at: float) -> Pose:
    """Pose of the head that turns, at a time [s]."""
    return _MOTION.pose(at)


_MOTION = make_motion("turn")


def simulate(model: str, guides: StrandModel, substeps: int) -> Settled:
    """Follow the turning head for one second; a time is that of a whole frame, but for moving the head."""
    solver = make_solver(model, guides, sag_free=False)
    stepper, roots = Stepper(solver), guides.rest_points[:, 0]
    state = solver.rest_state(RootPose.carried(roots, head_pose(0.0)))
    warm = state.copy()
    stepper.step(state, warm, _path(roots, 0.0), time=FRAME, dt=FRAME, substeps=1)
    times, stretch = [], 0.0
    for frame in range(round(DURATION / FRAME)):
        path = _path(roots, frame * FRAME, substeps=substeps)
        start = time.perf_counter()
        report = stepper.step(state, state, path, time=(frame + 1) * FRAME, dt=FRAME, substeps=substeps)
        times.append(time.perf_counter() - start)
        stretch = max(stretch, report.stretch)
    return Settled(substeps, 1e3 * float(np.median(times)), state.points[:, -1].copy(), stretch)


def _path(roots: Float64Array, start: float, *, dt: float = FRAME, substeps: int = 1) -> StepPath:
    """Roots at the ends of all substeps, made beforehand: moving the head is not counted, for the peer neither."""
    fractions = [number / substeps for number in range(substeps + 1)]
    poses = {fraction: RootPose.carried(roots, head_pose(start + fraction * dt)) for fraction in fractions}
    return StepPath(lambda fraction: poses[fraction])


def _measure_paper(figures: Figures, cores: int, tell: Progress, frames: int) -> None:
    """Beside hsu2024's figure: time of one step of 1 ms, with all that acts on guides there: body, air and grid."""
    tell("strands: 128 x 15 in steps of 1 ms")
    guides = bench_model(128, 15)
    with using_threads(cores):
        milliseconds = simulate("cosserat", guides, 10).milliseconds / 10
        figures.add(f"128 x 15, cosserat, rods alone, threads: {cores}", "time per step of 1 ms", milliseconds, "ms")
        for model, settings in (("cosserat", {}), ("xpbd", PRINTED)):
            case = f"128 x 15, {model}, with body, air and grid, threads: {cores}"
            figures.add(
                case, "time per step of 1 ms", _coupled_milliseconds(model, settings, frames), "ms", reference=PAPER,
                source="hsu2024, 128 guides, GPU",
            )  # fmt: skip


def _coupled_milliseconds(model: str, settings: dict[str, Any], frames: int) -> float:
    """Median time of a step of 1 ms on a bust that turns its head [ms]; the first frame compiles."""
    groom = styles.make("straight", strands=GROOM_STRANDS, vertices=16, seed=1)
    simulation = Simulation(
        select_guides(groom, 128, method="farthest", seed=1),
        model,
        body=styles.body("straight"),
        head=make_motion("turn"),
        forces=[VolumeGrid()],
        frame_rate=1 / FRAME,
        substeps=10,
        **settings,
    )
    simulation.step()
    times = []
    for _ in range(frames):
        start = time.perf_counter()
        simulation.step()
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times)) / 10


def _measure_growth(figures: Figures, model: str, scale: int) -> None:
    """Fit straight lines to the time of a step over strands and over segments, on one thread."""
    strands = np.array(FIT_STRANDS) // scale
    segments = np.array(FIT_SEGMENTS)
    by_strands = [_step_seconds(model, int(count), 25) for count in strands]
    by_segments = [_step_seconds(model, int(strands[1]), int(count)) for count in segments]
    for what, counts, seconds in (("strands", strands, by_strands), ("segments", segments, by_segments)):
        slope, start = np.polyfit(counts, seconds, 1)
        off = float(np.abs(np.polyval([slope, start], counts) - seconds).max() / seconds[-1])
        case = f"{model}, {counts[0]} to {counts[-1]} {what}, threads: 1"
        figures.add(case, f"time per step and {what[:-1]} (straight line)", 1e6 * slope, "us")
        figures.add(case, "time per step without any (straight line)", 1e6 * start, "us")
        figures.add(case, "largest distance from the line / longest time", off, "1", target=0.1)


def _step_seconds(model: str, strands: int, segments: int, repeats: int = 40) -> float:
    """Time of one step of 2.5 ms in motion [s], the best of many."""
    guides = bench_model(strands, segments)
    solver, roots = make_solver(model, guides, sag_free=False), guides.rest_points[:, 0]
    stepper = Stepper(solver)
    state = solver.rest_state(RootPose.carried(roots, head_pose(0.0)))
    dt, best = FRAME / 4, np.inf
    with using_threads(1):
        for number in range(repeats):
            path = _path(roots, number * dt, dt=dt)
            start = time.perf_counter()
            stepper.step(state, state, path, time=(number + 1) * dt, dt=dt, substeps=1)
            best = min(best, time.perf_counter() - start)
    return best
