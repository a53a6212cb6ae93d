"""`mane bench io`: how fast grooms and animations go to disk, grooms come back, and the memory that it takes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mane.groom.groom import Groom
from mane.measure.figures import Figures

STRANDS, VERTICES = 100_000, 16
SUFFIXES = (".hair", ".data", ".npz", ".usdc", ".usda")
FRAMES = 100
TARGET_FRAMES = 3.0
ANIMATED_STRANDS, ANIMATED_VERTICES, ANIMATED_FRAMES = 150_000, 25, 11
TARGET_RATIO = 1.5  # of the time of a plain write
# Frames of a long and a short animation that are compared, the strands of both, and the ratio that is growth.
LONG, SHORT, COMPARED, LONG_STRANDS = 400, 10, 21, 100
TARGET_GROWTH = 1.1
MEGABYTE = 1e6

Progress = Callable[[str], None]


def run(*, quick: bool = False, progress: Progress | None = None) -> Figures:
    """Write and read one groom in every format that mane writes, each beside a plain NumPy array of as many bytes.

    Files are in the folder for temporary files, reading is from the page cache, and the best of several runs counts.
    Ours are on the disk when the call returns, so NumPy's file is synced too before the clock stops.
    """
    tell = progress or (lambda text: None)
    strands, frames, runs = (2_000, 10, 2) if quick else (STRANDS, FRAMES, 5)
    figures = Figures("io")
    groom = sample_groom(strands)
    with tempfile.TemporaryDirectory(prefix="mane-bench-") as folder:
        for suffix in SUFFIXES:
            tell(f"io: {suffix}")
            _measure_format(figures, Path(folder), groom, suffix, 1 if suffix == ".usda" else runs)
        tell("io: frames of animation")
        _measure_frames(figures, Path(folder), 2_000 if quick else ANIMATED_STRANDS, 3 if quick else ANIMATED_FRAMES)
        _measure_growth(figures, Path(folder), 40 if quick else LONG, 5 if quick else COMPARED)
    tell(f"io: memory of {frames} frames of animation")
    peaks = _peaks_in_child(strands, frames)
    if peaks is not None:
        case = f"{frames} USD frames, {strands:,} x {VERTICES}"
        figures.add(case, "peak memory, setting up", peaks[0], "frames of points")
        # A frame of the quick run is smaller than what any write needs, so that no promise can be read off it.
        target = None if quick else TARGET_FRAMES
        figures.add(case, "peak memory, writing", peaks[1], "frames of points", target=target)
    return figures


def sample_groom(strands: int, vertices: int = VERTICES, seed: int = 0) -> Groom:
    """Return strands on a unit ball, each a random walk outwards, with a width per strand."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=(strands, 1, 3)).astype(np.float32)
    direction /= np.linalg.norm(direction, axis=2, keepdims=True)
    steps = np.float32(0.01) * (direction + rng.normal(scale=0.2, size=(strands, vertices, 3)).astype(np.float32))
    return Groom.from_uniform(
        direction + np.cumsum(steps, axis=1), strand={"width": rng.uniform(5e-5, 1e-4, strands).astype(np.float32)}
    )


def _measure_format(figures: Figures, folder: Path, groom: Groom, suffix: str, runs: int) -> None:
    import warnings

    from mane.io.grooms import read_groom, write_groom
    from mane.io.notices import LossNotice

    path, plain = folder / f"groom{suffix}", folder / "plain.npy"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LossNotice)
        writing = _best(lambda: write_groom(path, groom), runs)
    reading = _best(lambda: read_groom(path), runs)
    size = path.stat().st_size
    content = np.zeros(size, np.uint8)
    saving, loading = _best(lambda: _save(plain, content), runs), _best(lambda: np.load(plain), runs)
    case = f"{suffix}, {groom.strand_count:,} x {VERTICES}, {size / MEGABYTE:.1f} MB"
    for metric, ours, numpys, source in (
        ("write", writing, saving, "np.save and fsync, same bytes"),
        ("read", reading, loading, "np.load, same bytes"),
    ):
        reference = size / MEGABYTE / numpys
        figures.add(case, metric, size / MEGABYTE / ours, "MB/s", reference=reference, source=source, better="higher")
    path.unlink()


def _best(action: Callable[[], Any], runs: int) -> float:
    """Shortest time of several runs [s]."""
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return min(times)


def _save(path: Path, content: np.ndarray[Any, Any]) -> None:
    with open(path, "wb") as file:
        np.save(file, content)
        file.flush()
        os.fsync(file.fileno())


# -- animations --------------------------------------------------------------------------------------------------------


def _measure_frames(figures: Figures, folder: Path, strands: int, frames: int) -> None:
    """Write an animated USD stage, each frame beside a plain file of the same points; medians without the first frame.

    Both are on the disk and under their name when the clock stops. The first frame, at which the writer finds out how
    OpenUSD lays its files out, is a row of its own.
    """
    from mane.io.usd import UsdSequenceWriter

    groom = sample_groom(strands, ANIMATED_VERTICES)
    ours, plain = [], []
    with UsdSequenceWriter.new(folder / "animation.usda", groom) as writer:
        for frame in range(1, frames + 1):
            points = groom.points + np.float32(1e-3 * frame)
            plain.append(_best(partial(write_plain, folder / "plain.bin", points), 1))
            ours.append(_best(partial(writer.write, frame, points), 1))
            (writer.folder / f"frame.{frame:04d}.usdc").unlink()  # there may be less room than for all of them
    ours_median, plain_median = np.median(ours[1:]), np.median(plain[1:])
    ratio = np.median(np.divide(ours[1:], plain[1:]))  # of neighbours in time, since disks have moods
    case = f"animated USD, {strands:,} x {ANIMATED_VERTICES}, {groom.points.nbytes / MEGABYTE:.1f} MB"
    source = "NumPy array, fsync and rename, same bytes"
    figures.add(case, "write a frame", 1e3 * ours_median, "ms", reference=1e3 * plain_median, source=source)
    # A small frame is nearly all overhead, so that no promise can be read off it.
    target = TARGET_RATIO if strands == ANIMATED_STRANDS else None
    figures.add(case, "write a frame, to plain", ratio, "1", target=target)
    figures.add(case, "write the first frame, to plain", ours[0] / plain_median, "1")


def write_plain(path: Path, points: np.ndarray[Any, Any]) -> None:
    """Write the bytes of an array as plainly as they can be safe on the disk under their name."""
    with open(path.with_suffix(".partial"), "wb") as file:
        file.write(points.data.cast("B"))
        file.flush()
        os.fsync(file.fileno())
    os.replace(path.with_suffix(".partial"), path)


def _measure_growth(figures: Figures, folder: Path, long: int, compared: int) -> None:
    """Write frames of a long animation and of a short one in turn, and compare medians of the processor's time.

    Of two kinds: whole frames, and times that no template can express, so that the stage lists all of them. Waiting
    for the disk is left out: for files this small it is nearly all of a frame, and differs by more than they do.
    """
    from mane.io.usd import UsdSequenceWriter

    groom = sample_groom(LONG_STRANDS)
    for kind, step, target in (("regular", 1.0, TARGET_GROWTH), ("irregular", 1.25, None)):
        writers = [UsdSequenceWriter.new(folder / f"{kind}{name}.usda", groom) for name in ("long", "short")]
        for writer, before in zip(writers, (long, SHORT), strict=True):
            for frame in range(before):
                writer.write(step * frame, groom.points)
        seconds: list[list[float]] = [[], []]
        for _ in range(compared):
            for writer, taken in zip(writers, seconds, strict=True):
                started = time.process_time()
                writer.write(writer.times[-1] + step, groom.points)
                taken.append(time.process_time() - started)
        growth = np.median(seconds[0]) / np.median(seconds[1])
        case = f"animated USD, {kind} times, {LONG_STRANDS} x {VERTICES}"
        promised = target if long == LONG else None  # a few frames of the quick run promise nothing
        figures.add(case, f"work of frame {long}, to frame {SHORT}", growth, "1", target=promised)


# -- memory ------------------------------------------------------------------------------------------------------------


def _peaks_in_child(strands: int, frames: int) -> tuple[float, float] | None:
    """Run `frame_peaks` in a fresh process, where nothing else has left memory behind; None where it cannot be told."""
    if not os.path.exists("/proc/self/clear_refs"):
        return None
    code = f"from mane.measure.bench.io import frame_peaks; print(*frame_peaks({strands}, {frames}))"
    # Arrays go back to the system as soon as they are freed, so that the peak is of memory in use, not of free memory
    # that the allocator keeps for later.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    setting_up, writing = map(float, done.stdout.split())
    return setting_up, writing


def frame_peaks(strands: int, frames: int) -> tuple[float, float]:
    """Peaks of resident memory while an animation is written, in sizes of one frame's points: set-up, then frames.

    Both are above what the process had when only the groom was there, so that whatever the writer keeps counts, and so
    does the frame that the caller holds while it is written. A small animation goes first, so that the code of the
    libraries is in memory already. Linux only: the kernel keeps the peak and lets us reset it.
    """
    from mane.io.usd import UsdSequenceWriter

    groom = sample_groom(strands)
    with tempfile.TemporaryDirectory(prefix="mane-bench-") as folder:
        small = sample_groom(10)
        with UsdSequenceWriter.new(Path(folder, "small.usda"), small) as writer:
            writer.write(0.0, small.points)
        _settle()
        before = _memory("VmRSS")
        with UsdSequenceWriter.new(Path(folder, "large.usda"), groom) as writer:
            setting_up = _memory("VmHWM")
            _settle()
            for frame in range(frames):
                writer.write(float(frame), groom.points + np.float32(1e-3 * frame))
            writing = _memory("VmHWM")
    return (setting_up - before) / groom.points.nbytes, (writing - before) / groom.points.nbytes


def _settle() -> None:
    """Let OpenUSD finish freeing in the background, give free memory back to the system, and forget the peak so far."""
    import ctypes

    time.sleep(0.2)
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def _memory(field: str) -> int:
    """A figure of this process from the kernel [bytes]: VmRSS, memory in use now; VmHWM, its peak."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status: has no {field}")
