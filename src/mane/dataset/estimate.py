"""`estimate_dataset`: how many sequences, frames, bytes and hours a spec will take, from a measured bit of it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mane.dataset.sequences import PlannedSequence, plan_sequences
from mane.dataset.simulate import store_sequence
from mane.dataset.spec import Spec
from mane.dataset.store import SEQUENCES, DatasetStore
from mane.geometry.threads import using_threads

SAMPLED = 3  # sequences that are tried, spread over the spec
SHORT, LONG = 4, 20  # frames of the two tries of each; their difference is what a frame takes
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
    """Simulate a few frames of a few sequences for real, as a worker of so many threads would, and scale up."""
    with using_threads(threads):
        return _estimate(spec, workers, progress)


def _estimate(spec: Spec, workers: int, progress: Callable[[str], None] | None) -> Estimate:
    planned = plan_sequences(spec)
    chosen = [planned[(2 * i + 1) * len(planned) // (2 * SAMPLED)] for i in range(min(SAMPLED, len(planned)))]
    frame_seconds, setup_seconds, frame_bytes = [], [], []
    _timed(spec, chosen[0], SHORT)  # compiles, and grows the hair that all sequences with it share
    for number, sequence in enumerate(chosen):
        if progress is not None:
            progress(f"measuring sequence {sequence.index}, {number + 1} of {len(chosen)}")
        short, long = min(SHORT, _length(spec)), min(LONG, _length(spec))
        _timed(spec, sequence, short)
        fast, _ = _timed(spec, sequence, short)
        slow, size = _timed(spec, sequence, long)
        each = max(slow - fast, 0.0) / max(long - short, 1)
        frame_seconds.append(each)
        setup_seconds.append(max(fast - short * each, 0.0))
        frame_bytes.append(size / long)
    length, stored = _length(spec), -(-_length(spec) // spec.store.every)
    setup = sum(setup_seconds) / len(chosen)
    seconds = setup + length * sum(frame_seconds) / len(chosen)
    total_bytes = len(planned) * length * sum(frame_bytes) / len(chosen)
    splits: dict[str, int] = {}
    for sequence in planned:
        splits[sequence.split] = splits.get(sequence.split, 0) + 1
    rounds = len(planned) / workers
    return Estimate(
        sequences=splits,
        frames=len(planned) * stored,
        megabytes=total_bytes / 1e6,
        seconds_each=seconds,
        setup_seconds=setup,
        hours=(STARTING_SECONDS + rounds * seconds) / 3600,
        workers=workers,
    )


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
