"""`run_dataset`: every sequence of a spec, on a cluster, each of them once."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mane.dataset.cluster import Cluster, TaskDied, check_choice, open_cluster
from mane.dataset.sequences import PlannedSequence, plan_sequences
from mane.dataset.simulate import DONE, FAILED, assemble, facts, simulate_sequence, stage_versions
from mane.dataset.spec import Spec
from mane.dataset.store import DatasetStore
from mane.scene.build import Assembly

PROBES = 8  # sequences that are tried before a spec is said to be one that cannot be built


@dataclass(frozen=True)
class DatasetProgress:
    """How far a run is.

    Attributes:
        done: sequences that are there, failures and those of earlier runs included.
        failed: of them, those that could not be simulated.
        count: sequences in all.
        rate: sequences per second of this run.
        workers: that are at work.
        dashboard: address of Dask's page, or "".
    """

    done: int
    failed: int
    count: int
    rate: float
    workers: int
    dashboard: str


@dataclass
class DatasetSummary:
    """What a run did.

    Attributes:
        path: of the dataset.
        count: sequences of the spec.
        made: simulated by this run.
        kept: that were there already.
        failures: number and reason of every sequence that could not be simulated, those of earlier runs included.
        frames: stored by this run.
        seconds: of the whole run.
        busy: seconds that workers spent on sequences, added up.
    """

    path: Path
    count: int
    made: int = 0
    kept: int = 0
    failures: dict[int, str] = field(default_factory=dict)
    frames: int = 0
    seconds: float = 0.0
    busy: float = 0.0


ProgressCallback = Callable[[DatasetProgress], None]


def run_dataset(
    spec: Spec,
    path: str | os.PathLike[str],
    *,
    workers: int | None = None,
    threads: int = 1,
    scheduler: str | None = None,
    retry_failed: bool = False,
    share: float = 1.0,
    progress: ProgressCallback | None = None,
) -> DatasetSummary:
    """Simulate all sequences of a spec that are not there yet.

    Args:
        spec: from `read_spec`.
        path: of the dataset, a folder; a shared one where the workers are on other machines.
        workers: on this machine; 0 simulates in this process, None takes one per core.
        threads: that each of them simulates with, as far as it has them.
        scheduler: address of a Dask cluster in place of workers of this machine.
        retry_failed: simulate those again that failed in an earlier run.
        share: of the sequences, spread over the spec; a later call goes on with the others.
        progress: is told after every sequence.

    Raises:
        SceneError: the spec or its scene cannot be run.
        ValueError: something else is at `path`, or another run is at work on it.
        OSError: the dataset cannot be written, or the cluster is gone; what is finished stays, the same call goes on.
    """
    started = time.perf_counter()
    check_choice(workers, scheduler)
    planned = plan_sequences(spec)
    if not 0 < share <= 1:
        raise ValueError(f"share: must be above 0 and at most 1, got {share}")
    if not Path(path).exists():
        _built(spec, planned)  # a spec that cannot be built is said here, and leaves nothing in the way
    store = DatasetStore.make(Path(path), spec)
    with _only_run(store):
        store.remove_unfinished()
        summary, pending, stages = _pending(store, _spread(planned, share), retry_failed)
        if pending:
            stages = stage_versions(_built(spec, pending), spec) | stages
            with open_cluster(workers, threads, scheduler) as cluster:
                _run_all(store, [(one, stages, threads) for one in pending], cluster, summary, progress)
    summary.seconds = time.perf_counter() - started
    return summary


def _built(spec: Spec, planned: list[PlannedSequence]) -> Assembly:
    """Build the first sequence that can be built of some that are spread over all; where none can, its error.

    So a fault of the spec is said before anything is begun, and one of a few sequences stops nobody.
    """
    tried: list[PlannedSequence] = []
    for position in range(min(PROBES, len(planned))):
        tried.append(planned[position * len(planned) // min(PROBES, len(planned))])
    first: Exception | None = None
    for sequence in tried:
        try:
            return assemble(sequence.scene(spec))
        except (ValueError, OSError, MemoryError) as error:
            first = first or error
    assert first is not None
    raise first


def _spread(planned: list[PlannedSequence], share: float) -> list[PlannedSequence]:
    """A share of the sequences, at least one, evenly over all."""
    count = max(1, round(share * len(planned)))
    return [planned[(2 * i + 1) * len(planned) // (2 * count)] for i in range(count)]


def _pending(
    store: DatasetStore, planned: list[PlannedSequence], retry_failed: bool
) -> tuple[DatasetSummary, list[PlannedSequence], dict[str, int]]:
    """What is there, what is still to be simulated, and the versions of the methods that made what is there."""
    summary, pending = DatasetSummary(store.path, len(planned)), []
    stages: dict[str, int] = {}
    for sequence in planned:
        if not store.has(sequence.index):
            pending.append(sequence)
            continue
        known = store.attributes(sequence.index)
        if known["status"] == FAILED and retry_failed:
            store.forget(sequence.index)
            pending.append(sequence)
            continue
        summary.kept += 1
        stages |= known.get("stages", {})
        if known["status"] == FAILED:
            summary.failures[sequence.index] = known["reason"]
    return summary, pending, stages


def _run_all(
    store: DatasetStore,
    tasks: list[tuple[PlannedSequence, dict[str, int], int]],
    cluster: Cluster,
    summary: DatasetSummary,
    progress: ProgressCallback | None,
) -> None:
    began = time.perf_counter()
    path = str(store.path.resolve())
    outcomes = cluster.run(simulate_sequence, [(path, *task) for task in tasks])
    for finished, (number, outcome) in enumerate(outcomes, start=1):
        sequence = tasks[number][0]
        if isinstance(outcome, TaskDied):
            store.write_failure(sequence.index, {**facts(sequence), "status": FAILED, "reason": str(outcome)})
            outcome = {"index": sequence.index, "status": FAILED, "reason": str(outcome), "frames": 0, "seconds": 0.0}
        store.add_to_log(outcome)
        summary.made += outcome["status"] == DONE
        summary.frames += outcome["frames"]
        summary.busy += outcome["seconds"]
        if outcome["status"] == FAILED:
            summary.failures[sequence.index] = outcome["reason"]
        if progress is not None:
            rate = finished / max(time.perf_counter() - began, 1e-9)
            done, failed = summary.kept + finished, len(summary.failures)
            progress(DatasetProgress(done, failed, summary.count, rate, cluster.workers, cluster.dashboard))


@contextmanager
def _only_run(store: DatasetStore) -> Iterator[None]:
    """Refuse a second run on the same dataset, where the file system has locks; a killed run holds none."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with open(store.path / "run.lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{store.path}: another run is at work on it; wait for it, or stop it first") from None
        except OSError:  # a file system without locks
            pass
        yield
