"""`mane bench skin`: milliseconds per frame to carry a full head, beside a plain kernel, copying, and hsu2024.

The share of the copy bandwidth is the time to copy the groom's points from one array to another over the time of the
skin: no skin can do less than read the hair at rest and write it where it is.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Pose
from mane.geometry import quaternion
from mane.geometry.frames import segment_frames, segment_tangents
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.measure.bench._kernels_skin_plain import copy_points, plain_linear
from mane.measure.bench.sdf import best_seconds
from mane.measure.figures import Figures
from mane.simd.align import empty_aligned
from mane.skin.base import Skin
from mane.skin.linear.skin import LinearSkin
from mane.skin.physical.plain import plain_sweep
from mane.skin.physical.skin import PhysicalSkin
from mane.skin.table import make_skin
from mane.strand.frame import GuideFrame

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Head:
    """One row of hsu2024 table 1: sizes, and the paper's microseconds on an RTX 4090 for either method."""

    name: str
    guides: int
    hairs: int
    vertices: int
    paper: dict[str, float]


HEADS = (
    Head("Josh", 128, 106_686, 16, {"linear": 283, "physical": 346}),
    Head("Alice", 128, 30_307, 64, {"linear": 360, "physical": 425}),
    Head("Hadley", 256, 64_663, 16, {"linear": 163, "physical": 199}),
    Head("Danielle", 256, 46_706, 16, {"linear": 111, "physical": 137}),
)
QUICK = Head("quick", 32, 2_000, 16, {})
METHODS = ("linear", "physical")
THREADS = (1, 2)
# What others need, from their own machines: for scale.
OTHERS = (
    ("hsu2024 5.2: physical, GTX 1080", "time per million points", 1.6),
    ("hsu2024 5.2: neural (Lyu et al. 2022), GTX 1080", "time per million points", 151.0),
    ("Blender 5: children, 2 cores", "400 guides to 100,000 hairs", 114.0),
    ("Blender 5: hair-curve nodes, 2 cores", "400 guides to 100,000 hairs", 358.0),
)
SAME = 1e-4  # [m] two kernels of the same sums, rounded in another order all the way from root to tip
RUNS_PER_TURN = 5
TARGET_BANDWIDTH = 0.6
TARGET_RATIO = 3.0
TARGET_SPEEDUP = {"linear": None, "physical": 4.0}
TARGET_MEGABYTES = 250.0
HELD = Head("held", 128, 100_000, 16, {})

# Run in a process with an empty cache: what a new user waits for once.
FIRST_CODE = """
import sys, time
start = time.perf_counter()
from mane.measure.bench.skin import QUICK, bench_frame, bench_head
from mane.skin.table import make_skin
groom, guides = bench_head(QUICK)
started = time.perf_counter()
make_skin(sys.argv[1], groom, guides)(bench_frame(guides))
print(time.perf_counter() - started)
"""


def run(*, quick: bool = False, progress: Progress | None = None) -> Figures:
    """Time the four heads of hsu2024 table 1 by each method, on one and two threads; compiling is not counted."""
    figures = Figures("skin")
    say = progress or (lambda text: None)
    for head in (QUICK,) if quick else HEADS:
        _measure_head(figures, head, 5 if quick else 60, say)
    for case, metric, value in OTHERS:
        figures.add(case, metric, value, "ms")
    held = QUICK if quick else HELD
    groom, guides = bench_head(held)
    for method in METHODS:
        say(f"skin: bytes and first run, {method}")
        megabytes = make_skin(method, groom, guides).nbytes / 1e6
        case = f"{method}, {held.hairs:,} x {held.vertices}"
        figures.add(case, "bytes held", megabytes, "MB", target=TARGET_MEGABYTES)
        figures.add(method, "first call, nothing compiled", _first_seconds(method), "s")
    return figures


def bench_head(head: Head) -> tuple[Groom, Guides]:
    """Curls of the head's size, and its guides; hairs and guides have the same vertex count, as in the paper."""
    groom = styles.make("curly", strands=head.hairs, vertices=head.vertices, seed=1)
    return groom, select_guides(groom, head.guides, seed=1)


def bench_frame(guides: Guides) -> GuideFrame:
    """Guides on a turned head, each swung its own way, with the cut forces of hair that hangs from them."""
    rng = np.random.default_rng(0)
    pose = Pose(np.array([0.1, 0.2, 0.0]), quaternion.from_axis_angle(np.array([0.2, 1.0, 0.1]), 0.6))
    along = np.linspace(0, 1, guides.vertex_count)[:, None]
    swing = 0.03 * rng.normal(size=(guides.capacity, 1, 3)) * along**2
    points = (pose.apply(guides.rest.astype(np.float64)) + swing).astype(np.float32)
    beyond = np.linspace(1, 0, guides.vertex_count - 1)[:, None]
    weight = 1e-5 * beyond * segment_tangents(points)  # [N], about that of 20 cm of hair
    return GuideFrame(
        points=points,
        velocity=np.zeros_like(points),
        frames=segment_frames(points),
        cut_force=weight.astype(np.float32),
        roots=np.ascontiguousarray(points[:, 0]),
        root_rotations=np.tile(pose.rotation, (guides.capacity, 1)).astype(np.float32),
        active=guides.active,
        weight=guides.weight,
        head=pose,
        solid_poses=(),
        time=0.0,
    )


def _measure_head(figures: Figures, head: Head, repeats: int, say: Progress) -> None:
    say(f"skin: {head.name}, growing {head.hairs:,} x {head.vertices}")
    groom, guides = bench_head(head)
    frame = bench_frame(guides)
    skins = {}
    for method in METHODS:
        say(f"skin: {head.name}, binding, {method}")
        skins[method] = make_skin(method, groom, guides)
    for threads in THREADS:
        if threads > numba.get_num_threads():
            continue
        say(f"skin: {head.name}, {threads} threads")
        with _threads(threads):
            _measure_methods(figures, head, threads, skins, frame, repeats)


def _measure_methods(
    figures: Figures, head: Head, threads: int, skins: dict[str, Skin], frame: GuideFrame, repeats: int
) -> None:
    points = head.hairs * head.vertices
    for method, skin in skins.items():
        _require_sane(method, skin, frame)
    works = {method: lambda skin=skin: skin(frame) for method, skin in skins.items()}
    seconds = _best_in_turns({"copy": _copying(3 * points), **works}, repeats)
    size = f"{head.guides} / {head.hairs:,} x {head.vertices}, {threads} {'thread' if threads == 1 else 'threads'}"
    figures.add(f"copy, {size}", "bandwidth", 24e-9 * points / seconds["copy"], "GB/s", better="higher")
    is_target = threads == THREADS[-1] and head is not QUICK
    for method, skin in skins.items():
        case = f"{method}, {size}"
        paper = head.paper.get(method)
        source = "hsu2024 table 1, RTX 4090" if paper else None
        figures.add(
            case, "time", 1e3 * seconds[method], "ms", reference=None if paper is None else 1e-3 * paper, source=source
        )
        figures.add(case, "time per million points", 1e9 * seconds[method] / points, "ms")
        figures.add(case, "bytes held per vertex", skin.nbytes / points, "B")
        target = TARGET_BANDWIDTH if is_target and method == "linear" else None
        share = seconds["copy"] / seconds[method]
        figures.add(case, "share of copy bandwidth", share, "1", target=target, better="higher")
        plain = plain_seconds(skin, frame, repeats)
        if plain is not None:
            figures.add(case, "time of the plain kernel", 1e3 * plain, "ms")
            target = TARGET_SPEEDUP[method] if is_target else None
            figures.add(case, "times faster than plain", plain / seconds[method], "1", target=target, better="higher")
    reference = head.paper["physical"] / head.paper["linear"] if head.paper else None
    target = TARGET_RATIO if is_target else None
    ratio = seconds["physical"] / seconds["linear"]
    figures.add(size, "physical / linear", ratio, "1", reference=reference, target=target)


def plain_seconds(skin: Skin, frame: GuideFrame, repeats: int) -> float | None:
    """Time of a kernel that does the same sums one strand per iteration [s]; None where there is none."""
    if isinstance(skin, PhysicalSkin):
        work = plain_sweep(skin, frame)
    elif isinstance(skin, LinearSkin):
        work = _plain_linear(skin, frame)
    else:
        return None
    np.testing.assert_allclose(work(), skin(frame), atol=SAME)
    return best_seconds(work, max(repeats // 4, 1))


def _plain_linear(skin: LinearSkin, frame: GuideFrame) -> Callable[[], NDArray[np.float32]]:
    rest = skin.groom.as_uniform()
    turn = frame.head.matrix[:3, :3]
    shift = (frame.points - skin.guides.rest @ turn.T).astype(np.float32)
    out = np.empty_like(rest)
    own, bundles = skin.binding, skin.bundles

    def work() -> NDArray[np.float32]:
        plain_linear(
            rest,
            shift,
            turn.reshape(9).astype(np.float32),
            bundles.of_hair,
            bundles.guide,
            bundles.parameter,
            own.weights,
            out,
        )
        return out

    return work


def _require_sane(method: str, skin: Skin, frame: GuideFrame) -> None:
    """Refuse to time a skin whose hairs are not where hair can be; compiles it as well."""
    points = skin(frame)
    if not np.isfinite(points).all() or np.abs(points).max() > 10:
        raise ArithmeticError(f"skin {method!r}: its hairs left the head, so that its time means nothing")


def _copying(numbers: int) -> Callable[[], None]:
    source, target = empty_aligned((numbers,), np.float32), empty_aligned((numbers,), np.float32)
    source[:] = 1
    copy_points(source, target)
    return lambda: copy_points(source, target)


def _best_in_turns(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the shortest run of each [s]; they take turns, so that what else a machine does slows all down alike."""
    best = dict.fromkeys(works, np.inf)
    for _ in range(-(-repeats // RUNS_PER_TURN)):
        for name, work in works.items():
            best[name] = min(best[name], best_seconds(work, RUNS_PER_TURN))
    return best


def _first_seconds(method: str) -> float:
    with tempfile.TemporaryDirectory(prefix="mane-bench-") as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", FIRST_CODE, method]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        yield
    finally:
        numba.set_num_threads(before)
