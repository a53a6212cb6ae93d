"""`mane bench render`: seconds per picture, how they grow with the hair, memory, and a path tracer beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.groom import styles
from mane.groom.groom import Groom
from mane.measure.figures import Figures
from mane.measure.timing import best_seconds
from mane.render.camera import Camera
from mane.render.lights import AmbientLight, Light, three_point
from mane.render.looks import LOOKS
from mane.render.renderer import render

STYLE = "straight"
DIRECTION = (0.45, 0.08, 1.0)
SIZE = (1280, 720)
STRANDS, SEGMENTS = 50_000, 50
FIT_STRANDS = (6_250, 12_500, 25_000, 50_000)
THREADS = 2
TARGET_SECONDS = 2.0
TARGET_RATIO = 10.0  # of Mitsuba's time to ours
# A picture of `mane demo`.
DEMO_STRANDS, DEMO_VERTICES, DEMO_SIZE, DEMO_FINEST = 100_000, 16, (960, 540), 0.2
DEMO_SECONDS = 1.5
PAPER_SECONDS = 20.0  # with hair interpolation and collision detection, on a Pentium 4 of 2 GHz
MEMORY_STRANDS, MEMORY_VERTICES = 150_000, 25
TARGET_GIGABYTES = 2.0
PATHS = 16  # per pixel, direct light only
LEAST_COVER = 0.05  # a picture with less hair than this is wrong, and its time is worth nothing

# Run in a process of their own: how much memory a picture takes at most, and what a new user waits for once.
MEMORY_CODE = """
import resource, sys
from mane.measure.bench.render import bench_picture, bench_scene
groom, body, camera = bench_scene(int(sys.argv[1]), int(sys.argv[2]))
bench_picture(groom, body, camera)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
FIRST_CODE = """
import time
start = time.perf_counter()
from mane.measure.bench.render import bench_picture, bench_scene
bench_picture(*bench_scene(500, 8), size=(64, 64))
print(time.perf_counter() - start)
"""
BYTES_PER_MAXRSS = 1 if sys.platform == "darwin" else 1024

Progress = Callable[[str], None]


def run(*, quick: bool = False, progress: Progress | None = None) -> Figures:
    """Render a bust with more and more hair; compiling is measured apart, and the best of several runs counts."""
    tell = progress or (lambda text: None)
    figures = Figures("render")
    scale = 10 if quick else 1
    tell("render: compiling from an empty cache")
    with tempfile.TemporaryDirectory(prefix="mane-bench-") as folder:
        figures.add("first picture of all", "time, compiling", _elsewhere(FIRST_CODE, NUMBA_CACHE_DIR=folder), "s")
    _measure_growth(figures, scale, 1 if quick else 3, tell)
    _measure_demo(figures, scale, 1 if quick else 3, tell)
    tell("render: memory")
    strands = MEMORY_STRANDS // scale
    peak = _elsewhere(MEMORY_CODE, str(strands), str(MEMORY_VERTICES)) * BYTES_PER_MAXRSS
    figures.add(
        f"{strands:,} strands x {MEMORY_VERTICES} points", "peak memory of the process", peak / 1e9, "GB",
        target=TARGET_GIGABYTES,
    )  # fmt: skip
    return figures


def bench_scene(strands: int, vertices: int) -> tuple[Groom, Mesh, Camera]:
    """A bust with straight hair, filling the picture from the front."""
    groom, body = styles.make(STYLE, strands=strands, vertices=vertices, seed=0), styles.body(STYLE)
    content = np.concatenate([body.points, groom.points[::7]])
    return groom, body, Camera.framing(content, DIRECTION, aspect=SIZE[0] / SIZE[1])


def bench_picture(
    groom: Groom, body: Mesh, camera: Camera, size: tuple[int, int] = SIZE, tone: str = "filmic"
) -> NDArray[Any]:
    """One picture, 2 x 2 samples per pixel, with one light that hair and bust throw shadows in, and the sky."""
    return render(
        groom, body, camera=camera, lights=bench_lights(camera), size=size, tone=tone, background=None,
        threads=min(THREADS, numba.get_num_threads()),
    )  # fmt: skip


def bench_lights(camera: Camera) -> tuple[Light | AmbientLight, ...]:
    """The key light and the sky of the studio."""
    key, _, _, sky = three_point(camera)
    return key, sky


def _measure_growth(figures: Figures, scale: int, repeats: int, tell: Progress) -> None:
    """Time pictures with more and more strands and fit a straight line to the seconds."""
    counts = np.array(FIT_STRANDS) // scale
    seconds = []
    for strands in counts:
        tell(f"render: {strands:,} strands")
        groom, body, camera = bench_scene(int(strands), SEGMENTS + 1)
        valid = _is_valid(bench_picture(groom, body, camera, tone="linear"))
        seconds.append(best_seconds(lambda s=(groom, body, camera): bench_picture(*s), repeats))  # type: ignore[misc]
        if not valid:
            seconds[-1] = float("nan")
    case = f"{counts[-1]:,} strands x {SEGMENTS} segments, {SIZE[0]} x {SIZE[1]}, 4 samples, 1 light and sky, 2 threads"
    figures.add(
        case, "time per picture", seconds[-1], "s", reference=PAPER_SECONDS, source="chang2002 7, with interpolation",
        target=TARGET_SECONDS,
    )  # fmt: skip
    slope, start = np.polyfit(counts, seconds, 1)
    worst = float(np.abs(np.polyval([slope, start], counts) - seconds).max())
    span = f"{counts[0]:,} to {counts[-1]:,} strands"
    figures.add(span, "time per 10,000 strands (straight line)", 1e4 * slope, "s")
    figures.add(span, "time without any strand (straight line)", start, "s")
    figures.add(span, "largest distance from the line", worst, "s")
    _measure_mitsuba(figures, case, (groom, body, camera), seconds[-1], tell)


def _measure_demo(figures: Figures, scale: int, repeats: int, tell: Progress) -> None:
    """Time a picture as `mane demo` draws it: curls, three lights and the sky."""
    strands = DEMO_STRANDS // scale
    tell(f"render: a picture of mane demo, {strands:,} strands")
    groom = styles.make("curly", strands=strands, vertices=DEMO_VERTICES, seed=1, length=0.18)
    body = styles.body("curly")
    content = np.concatenate([body.points, groom.points[::7]])
    camera = Camera.framing(content, DIRECTION, aspect=DEMO_SIZE[0] / DEMO_SIZE[1])

    def draw() -> NDArray[Any]:
        return render(groom, body, camera=camera, size=DEMO_SIZE, finest=DEMO_FINEST)

    draw()
    figures.add(
        f"{strands:,} curls x {DEMO_VERTICES} points, {DEMO_SIZE[0]} x {DEMO_SIZE[1]}, as in mane demo",
        "time per picture", best_seconds(draw, repeats), "s", target=DEMO_SECONDS,
    )  # fmt: skip


def _measure_mitsuba(
    figures: Figures, case: str, scene: tuple[Groom, Mesh, Camera], ours: float, tell: Progress
) -> None:
    """The same scene by Mitsuba 3, where it is installed."""
    if find_spec("mitsuba") is None:
        return
    from mane.render.mitsuba import trace
    from mane.render.mitsuba_scene import MitsubaScene
    from mane.render.solids import Surfaces

    tell("render: the same by Mitsuba 3")
    groom, body, camera = scene
    traced = MitsubaScene(
        groom, Surfaces.of_bodies(body), camera, bench_lights(camera), LOOKS["brown"], SIZE, PATHS, max_depth=2
    )
    seconds = best_seconds(lambda: trace(traced), 1)
    figures.add(
        case, "Mitsuba's time over ours", seconds / ours, "1", better="higher", reference=1.0, target=TARGET_RATIO,
        source=f"Mitsuba 3, direct light, {PATHS} paths per pixel: {seconds:.1f} s",
    )  # fmt: skip


def _is_valid(picture: NDArray[Any]) -> bool:
    return bool(np.isfinite(picture).all() and picture[:, :, 3].mean() > LEAST_COVER)


def _elsewhere(code: str, *arguments: str, **environment: Any) -> float:
    """Run code in a fresh process and return the number that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout)
