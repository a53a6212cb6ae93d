"""`mane bench dataset`: what it costs to keep sequences, to spread them over workers, and to simulate every strand."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.dataset.dataset import SequenceReader, open_dataset
from mane.dataset.estimate import folder_size
from mane.dataset.run import run_dataset
from mane.dataset.sequences import plan_sequences
from mane.dataset.simulate import assemble
from mane.dataset.spec import MotionTable, Spec, StoreTable
from mane.measure.figures import Figures
from mane.scene.build import build
from mane.scene.config import FramesTable, GroomTable, GuidesTable, HeadTable, InteractionTable, Scene

Progress = Callable[[str], None]

GUIDES, VERTICES, FRAMES = 200, 25, 96  # four seconds of film
SEQUENCES = 12
WINDOW, WINDOWS = 16, 200
STRANDS = (1_000, 10_000, 80_000)
SALON = 150_000
FULL_RATE = 100.0  # steps of 10 ms, as in chai2017
WARM_STEPS, STEPS = 3, 6
OVERHEAD_TARGET, SPEEDUP_TARGET, STRAND_TARGET = 5.0, 1.8, 1.3
CALM_TARGET, LIVELY_TARGET = 3.0, 7.0  # [s] per step of 150,000 strands


def run(*, quick: bool = False, progress: Progress | None = None) -> Figures:
    """Measure the store, the runner and the full simulation; compiling is not counted."""
    tell = progress or (lambda text: None)
    figures = Figures("dataset")
    with tempfile.TemporaryDirectory() as folder:
        _measure_runner(figures, Path(folder), tell, quick)
    _measure_full(figures, tell, quick)
    return figures


# -- the runner ------------------------------------------------------------------------------------------------------


def _spec(sequences: int, frames: int, guides: int) -> Spec:
    scene = Scene(
        groom=GroomTable(style="straight", strands=max(1_000, guides), vertices=VERTICES),
        guides=GuidesTable(count=guides, method="farthest"),
    )
    return Spec(
        scene=scene,
        motions=(MotionTable("random", count=sequences),),
        frames=frames,
        store=StoreTable(("points", "velocity", "head")),
    )


def _measure_runner(figures: Figures, folder: Path, tell: Progress, quick: bool) -> None:
    count, frames, guides = (2, 4, 8) if quick else (SEQUENCES, FRAMES, GUIDES)
    spec = _spec(count, frames, guides)
    case = f"{count} sequences of {frames} frames, {guides} guides x {VERTICES}"
    tell("dataset: one sequence without a store")
    bare = _bare_seconds(spec)
    seconds = {}
    for workers in (1,) if quick else (1, 2):
        tell(f"dataset: {workers} workers")
        path = folder / f"{workers}.zarr"
        summary = run_dataset(spec, path, workers=workers)
        times = _log_times(path)
        seconds[workers] = sum(times) / len(times)
        steady = len(times) / (summary.seconds - _starting(path, summary.seconds))
        figures.add(case, f"sequences per hour, {workers} workers", 3600 * steady, "1", better="higher")
        figures.add(case, f"one sequence, {workers} workers", 1e3 * seconds[workers], "ms")
    overhead = 100 * (seconds[1] - bare) / bare
    figures.add(case, "building, simulating and nothing else", 1e3 * bare, "ms")
    target = None if quick else OVERHEAD_TARGET
    figures.add(case, "overhead of Dask and Zarr on a sequence", overhead, "%", target=target)
    if not quick:
        ratio = 2 * seconds[1] / seconds[2]
        figures.add(case, "two workers over one", ratio, "1", target=SPEEDUP_TARGET, better="higher")
    _measure_store(figures, folder / "1.zarr", folder, quick)


def _bare_seconds(spec: Spec) -> float:
    """Seconds of building and simulating one sequence with nothing stored, as a worker that has its hair does."""
    found = []
    for sequence in plan_sequences(spec)[:2]:
        scene = sequence.scene(spec)
        assemble(scene)
        started = time.perf_counter()
        source = assemble(scene).source
        source.reset()
        for _ in range(scene.frames.count - 1):
            source.step()
        found.append(time.perf_counter() - started)
    return found[-1]


def _log_times(path: Path) -> list[float]:
    """Seconds of every sequence but the first of each worker, which loads its kernels."""
    import json

    lines = [json.loads(line) for line in (path / "log.jsonl").read_text().splitlines()]
    times = sorted(line["seconds"] for line in lines)
    return times[: max(1, len(times) - 2)]


def _starting(path: Path, total: float) -> float:
    """Seconds of a run before its first sequence is done, which scale with nothing."""
    files = sorted((path / "sequences").iterdir(), key=lambda one: one.stat().st_mtime)
    spread = files[-1].stat().st_mtime - files[0].stat().st_mtime
    return max(0.0, total - spread * len(files) / max(1, len(files) - 1))


# -- the store -------------------------------------------------------------------------------------------------------


def _measure_store(figures: Figures, path: Path, folder: Path, quick: bool) -> None:
    reader = open_dataset(path)[0]
    points = reader["points"]
    size, case = points.nbytes, f"points of a sequence, {points.nbytes / 1e6:.1f} MB"
    stored = folder_size(path / "sequences" / "000000" / "points")
    figures.add(case, "bytes per frame", stored / len(points), "B", reference=size / len(points), source="plain")
    plain, hdf = folder / "points.npy", folder / "points.h5"
    for name, write, read in (
        ("Zarr", lambda: _write_zarr(folder, points), lambda: reader["points"]),
        ("NumPy file", lambda: _write_npy(plain, points), lambda: np.load(plain)),
        ("HDF5", lambda: _write_hdf(hdf, points), lambda: _read_hdf(hdf)),
    ):
        with suppress(ModuleNotFoundError):
            figures.add(case, f"write, {name}", size / _best(write) / 1e6, "MB/s", better="higher")
            figures.add(case, f"read, {name}", size / _best(read) / 1e6, "MB/s", better="higher")
    _measure_windows(figures, reader, 20 if quick else WINDOWS)


def _measure_windows(figures: Figures, reader: SequenceReader, count: int) -> None:
    length = min(WINDOW, reader.frame_count)
    starts = np.random.default_rng(0).integers(0, reader.frame_count - length + 1, count)
    started = time.perf_counter()
    for start in starts:
        reader.read("points", int(start), int(start) + length)
    rate = count / (time.perf_counter() - started)
    figures.add(f"windows of {length} frames", "random reads", rate, "1/s", better="higher")


def _write_zarr(folder: Path, points: NDArray[Any]) -> None:
    import secrets

    import zarr
    from zarr.codecs import BloscCodec, Crc32cCodec

    group = zarr.create_group(str(folder / f"try-{secrets.token_hex(4)}.zarr"))
    codecs = [BloscCodec(cname="zstd", clevel=1, shuffle="shuffle", typesize=4), Crc32cCodec()]
    chunks = (max(1, (1 << 20) // points[0].nbytes), *points.shape[1:])
    group.create_array("points", shape=points.shape, dtype=points.dtype, chunks=chunks, compressors=codecs)[...] = (
        points
    )


def _write_npy(path: Path, points: NDArray[Any]) -> None:
    with open(path, "wb") as file:
        np.save(file, points)
        os.fsync(file.fileno())


def _write_hdf(path: Path, points: NDArray[Any]) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("points", data=points, compression="gzip", compression_opts=1, shuffle=True)


def _read_hdf(path: Path) -> NDArray[Any]:
    import h5py

    with h5py.File(path, "r") as file:
        return np.asarray(file["points"])


def _best(call: Callable[[], Any], repeats: int = 3) -> float:
    found = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        found.append(time.perf_counter() - started)
    return min(found)


# -- every strand ----------------------------------------------------------------------------------------------------


def _measure_full(figures: Figures, tell: Progress, quick: bool) -> None:
    sizes = (60, 120) if quick else STRANDS
    calm = {count: _step_seconds(count, "still", tell) for count in sizes}
    for count, seconds in calm.items():
        case = f"every strand of {count:,} x {VERTICES} with the volume grid, 10 ms step, calm"
        figures.add(case, "strands x steps per second", count / seconds, "1/s", better="higher")
    exponent = float(np.polyfit(np.log(list(calm)), np.log(list(calm.values())), 1)[0])
    figures.add("every strand", "time grows with strands to the power", exponent, "1")
    guides = _step_seconds(sizes[0], "still", tell, guides=min(400, sizes[0] // 2)) / min(400, sizes[0] // 2)
    ratio = calm[sizes[-1]] / sizes[-1] / guides
    target = None if quick else STRAND_TARGET
    figures.add(f"every strand of {sizes[-1]:,}", "cost of a strand over that of a guide", ratio, "1", target=target)
    if quick:
        return
    for motion, wanted in (("still", CALM_TARGET), ("shake", LIVELY_TARGET)):
        seconds_each = _step_seconds(SALON, motion, tell)
        case = f"every strand of {SALON:,} x {VERTICES}, {'calm' if motion == 'still' else 'lively'}"
        paper = {"reference": 60.0, "source": "chai2017 table 2"}
        figures.add(case, "one step of 10 ms", seconds_each, "s", target=wanted, **paper)


def _step_seconds(count: int, motion: str, tell: Progress, guides: int | None = None) -> float:
    """Seconds of a step of 10 ms once the hair moves."""
    tell(f"dataset: {guides or 'every strand'} of {count:,}, {motion}")
    scene = Scene(
        groom=GroomTable(style="straight", strands=count, vertices=VERTICES),
        guides=GuidesTable(count="all" if guides is None else guides, method="farthest"),
        frames=FramesTable(rate=FULL_RATE),
        head=HeadTable(motion=motion),
        interactions=(InteractionTable("grid"),),
    )
    source = build(scene).source
    for _ in range(WARM_STEPS if motion == "still" else 4 * WARM_STEPS):
        source.step()
    started = time.perf_counter()
    for _ in range(STEPS):
        source.step()
    return (time.perf_counter() - started) / STEPS
