"""`estimate_dataset`: how many sequences, frames, bytes and hours a spec will take, from a measured bit of it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from mane.dataset.cluster import TaskDied, open_cluster
from mane.dataset.sequences import PlannedSequence, plan_sequences
from mane.dataset.simulate import store_sequence
from mane.dataset.spec import Spec
from mane.dataset.store import SEQUENCES, DatasetStore
from mane.geometry.threads import using_threads

SAMPLED = 8  # sequences that are tried, spread over the spec
SHORT, LONG = 4, 40  # frames of the two tries of each; their difference is what a frame takes
STARTING_SECONDS = 6.0  # of Dask and of a worker that loads its kernels


@dataclass(frozen=True)
class Estimate:
    """What a spec will take.

    Attributes:
        sequences: of each split.
        frames: that are stored in all.
        megabytes: on disk.
        seconds_each: that a sequence takes on one worker, preparing it included.
        setup_seconds: of that, for preparing.
        hours: of the whole with so many workers, each with a core of its own.
        workers: of `hours`.
    """

    sequences: dict[str, int]
    frames: int
    megabytes: float
    seconds_each: float
    setup_seconds: float
    hours: float
    workers: int


def estimate_dataset(
    spec: Spec, workers: int, progress: Callable[[str], None] | None = None, *, threads: int = 1
) -> Estimate:
    """Simulate a few frames of a few sequences for real, on so many workers at once, and scale up."""
    planned = plan_sequences(spec)
    count = min(SAMPLED, len(planned))
    chosen = [planned[(2 * i + 1) * len(planned) // (2 * count)] for i in range(count)]
    measured: list[Measured] = []
    with open_cluster(0 if workers == 1 else workers, threads) as cluster:
        for number, found in cluster.run(measure_sequence, [(spec, sequence, threads) for sequence in chosen]):
            if isinstance(found, TaskDied):
                raise OSError(f"sequence {chosen[number].index} could not be measured: {found}")
            measured.append(found)
            if progress is not None:
                progress(f"measured sequence {chosen[number].index}, {len(measured)} of {len(chosen)}")
    frame_seconds, setup_seconds, frame_bytes = (sum(column) / count for column in zip(*measured, strict=True))
    length, stored = _length(spec), -(-_length(spec) // spec.store.every)
    seconds = setup_seconds + length * frame_seconds
    splits: dict[str, int] = {}
    for sequence in planned:
        splits[sequence.split] = splits.get(sequence.split, 0) + 1
    return Estimate(
        sequences=splits,
        frames=len(planned) * stored,
        megabytes=len(planned) * length * frame_bytes / 1e6,
        seconds_each=seconds,
        setup_seconds=setup_seconds,
        hours=(STARTING_SECONDS + len(planned) / workers * seconds) / 3600,
        workers=workers,
    )


class Measured(NamedTuple):
    """What was measured of a sequence: seconds of a frame, seconds before the first one, bytes of a frame."""

    frame_seconds: float
    setup_seconds: float
    frame_bytes: float


def measure_sequence(spec: Spec, sequence: PlannedSequence, threads: int) -> Measured:
    """Simulate the first frames of a sequence twice, as a worker of so many threads does."""
    short, long = min(SHORT, _length(spec)), min(LONG, _length(spec))
    with using_threads(threads):
        _timed(spec, sequence, short)  # compiles, and grows the hair that all sequences with it share
        fast, _ = _timed(spec, sequence, short)
        slow, size = _timed(spec, sequence, long)
    each = max(slow - fast, 0.0) / max(long - short, 1)
    return Measured(each, max(fast - short * each, 0.0), size / long)


def _length(spec: Spec) -> int:
    return spec.frames or spec.scene.frames.count


def _timed(spec: Spec, sequence: PlannedSequence, frames: int) -> tuple[float, int]:
    """Seconds and bytes of the first frames of a sequence."""
    short = replace(spec, frames=frames)
    with tempfile.TemporaryDirectory() as folder:
        store = DatasetStore.make(Path(folder) / "try.zarr", short)
        started = time.perf_counter()
        store_sequence(store, short, sequence)
        return time.perf_counter() - started, folder_size(store.path / SEQUENCES)


def folder_size(folder: Path) -> int:
    """Bytes of all files below a folder."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # a run that is at work gives files other names
                total += os.path.getsize(Path(parent) / name)
    return total
