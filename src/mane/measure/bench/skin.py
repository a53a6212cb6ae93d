"""`mane bench skin`: milliseconds per frame to carry a full head, beside a plain kernel, copying, and hsu2024.

The share of the copy bandwidth is the time to copy the groom's points from one array to another over the time of the
skin: no skin can do less than read the hair at rest and write it where it is.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

from mane.geometry.threads import using_threads
from mane.measure.bench._kernels_skin_plain import copy_points, plain_linear
from mane.measure.figures import Figures
from mane.measure.heads import HEADS, Head, bench_frame, bench_head
from mane.measure.timing import best_seconds
from mane.simd.align import empty_aligned
from mane.skin.base import Skin
from mane.skin.linear.skin import LinearSkin
from mane.skin.physical.plain import plain_sweep
from mane.skin.physical.skin import PhysicalSkin
from mane.skin.table import make_skin
from mane.strand.frame import GuideFrame

Progress = Callable[[str], None]


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
TARGET_CHECK = {"linear": None, "physical": 10.0}  # [%]
UNCHECKED = ", not checked"
HELD = Head("held", 128, 100_000, 16, {})

# Run in a process with an empty cache: what a new user waits for once.
FIRST_CODE = """
import sys, time
start = time.perf_counter()
from mane.measure.bench.skin import QUICK
from mane.measure.heads import bench_frame, bench_head
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
        with using_threads(threads):
            _measure_methods(figures, head, threads, skins, frame, repeats)


def _measure_methods(
    figures: Figures, head: Head, threads: int, skins: dict[str, Skin], frame: GuideFrame, repeats: int
) -> None:
    points = head.hairs * head.vertices
    for method, skin in skins.items():
        _require_sane(method, skin, frame)
    works = {method: lambda skin=skin: skin(frame) for method, skin in skins.items()}
    unchecked = {f"{method}{UNCHECKED}": lambda skin=skin: _unchecked(skin, frame) for method, skin in skins.items()}
    seconds = _best_in_turns({"copy": _copying(3 * points), **works, **unchecked}, repeats)
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
        cost = 100 * (seconds[method] / seconds[f"{method}{UNCHECKED}"] - 1)
        target = None if head is QUICK else TARGET_CHECK[method]
        figures.add(case, "cost of checking every hair", cost, "%", target=target)
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
    _unchecked(skin, frame)
    points = skin(frame)
    if not np.isfinite(points).all() or np.abs(points).max() > 10:
        raise ArithmeticError(f"skin {method!r}: its hairs left the head, so that its time means nothing")


def _unchecked(skin: Skin, frame: GuideFrame) -> None:
    skin.is_checked = False
    skin(frame)
    skin.is_checked = True


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
