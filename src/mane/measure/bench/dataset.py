"""`mane bench dataset`: what it costs to keep sequences, to spread them over workers, and to simulate every strand."""

from __future__ import annotations

import json
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
from mane.geometry.threads import using_threads
from mane.measure.bench import every_strand
from mane.measure.figures import Figures
from mane.measure.timing import best_seconds
from mane.scene.config import GroomTable, GuidesTable, Scene

Progress = Callable[[str], None]

GUIDES, VERTICES, FRAMES = 200, 25, 96  # four seconds of film
SEQUENCES = 24
BARE = 9  # of them, those that are simulated without a store
WINDOW, WINDOWS = 16, 200
OVERHEAD_TARGET, SPEEDUP_TARGET = 5.0, 1.8


def run(*, quick: bool = False, progress: Progress | None = None) -> Figures:
    """Measure the store, the runner and the full simulation; compiling is not counted."""
    tell = progress or (lambda text: None)
    figures = Figures("dataset")
    with tempfile.TemporaryDirectory() as folder:
        _measure_runner(figures, Path(folder), tell, quick)
    figures.rows += every_strand.run(quick=quick, progress=progress).rows
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
    count, frames, guides = (3, 4, 8) if quick else (SEQUENCES, FRAMES, GUIDES)
    spec = _spec(count, frames, guides)
    case = f"{count} sequences of {frames} frames, {guides} guides x {VERTICES}"
    tell("dataset: one sequence without a store")
    bare = [_bare_seconds(spec)]
    seconds = {}
    for workers in (1,) if quick else (1, 2):
        tell(f"dataset: {workers} workers")
        path = folder / f"{workers}.zarr"
        run_dataset(spec, path, workers=workers)
        seconds[workers] = _seconds_each(path, workers)
        figures.add(case, f"sequences per hour, {workers} workers", 3600 / seconds[workers], "1", better="higher")
        figures.add(case, f"memory of a worker, {workers} workers", _peak_megabytes(path), "MB")
        if workers == 1:
            bare.append(_bare_seconds(spec))  # before and after, since machines get faster and slower
    alone = (bare[0] + bare[1]) / 2
    overhead = 100 * (seconds[1] - alone) / alone
    figures.add(case, "building, simulating and nothing else", 1e3 * alone, "ms")
    target = None if quick else OVERHEAD_TARGET
    figures.add(case, "overhead of Dask and Zarr on a sequence", overhead, "%", target=target)
    if not quick:
        ratio = seconds[1] / seconds[2]
        figures.add(case, "two workers over one", ratio, "1", target=SPEEDUP_TARGET, better="higher")
    _measure_store(figures, folder / "1.zarr", folder, quick)


def _bare_seconds(spec: Spec) -> float:
    """Seconds of building and simulating a sequence on one thread, with its hair there already and nothing stored."""
    found = []
    with using_threads(1):
        for sequence in plan_sequences(spec)[:BARE]:
            scene = sequence.scene(spec)
            assemble(scene)
            started = time.perf_counter()
            source = assemble(scene).source
            source.reset()
            for _ in range(scene.frames.count - 1):
                source.step()
            found.append(time.perf_counter() - started)
    return sum(found[1:]) / len(found[1:])  # the first one loads kernels


def _log(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "log.jsonl").read_text().splitlines()]


def _peak_megabytes(path: Path) -> float:
    return float(max(line["peak_megabytes"] for line in _log(path)))


def _seconds_each(path: Path, workers: int) -> float:
    """Seconds from one finished sequence to the next, Dask and disk included, once every worker has its kernels."""
    made = sorted(one.stat().st_mtime for one in (path / "sequences").iterdir() if one.is_dir())
    steady = made[workers - 1 :]
    return (steady[-1] - steady[0]) / max(1, len(steady) - 1)


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
            figures.add(case, f"write, {name}", size / best_seconds(write, 3) / 1e6, "MB/s", better="higher")
            figures.add(case, f"read, {name}", size / best_seconds(read, 3) / 1e6, "MB/s", better="higher")
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
