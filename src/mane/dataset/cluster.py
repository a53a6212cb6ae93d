"""Where sequences are simulated: in this process, on workers of this machine, or on any Dask cluster."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

T = TypeVar("T")
CONNECT_SECONDS = 20.0  # for a scheduler to answer
START_SECONDS = 300.0  # for the first worker of this machine to start
KEEP_SECONDS = 2.0  # between looks whether all of them are there
MOST_LOST = 20  # workers that may die while they start before it is said that none can be started
ALLOWED_DEATHS = 1  # of workers on a task before it is put aside, and again when it is run by itself at the end
# Threads of a worker's libraries; each worker has its own cores.
THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Dask lets glibc give memory back at once (a trim threshold of 64 KB). A simulation asks for the same arrays in every
# frame: 100,000 page faults per sequence, a sixth of its time. These keep memory, in one pool for all threads.
MALLOC_VARIABLES = {
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_ARENA_MAX": "1",
}


class ClusterLost(OSError):
    """The scheduler of a cluster went away; what was finished is kept."""


class TaskDied(Exception):
    """A task took its worker with it, again and again."""


class Cluster:
    """Runs tasks. `open_cluster` makes one.

    Attributes:
        size: how many workers there are to be.
        workers: how many there are now.
        dashboard: address of the page that shows what they do, or "".
    """

    size = workers = 1
    dashboard = ""

    def run(
        self, function: Callable[..., T], arguments: Iterable[tuple[Any, ...]]
    ) -> Iterator[tuple[int, T | TaskDied]]:
        """Call a function for each of the arguments and yield number and result as they come, in any order."""
        for number, given in enumerate(arguments):
            yield number, function(*given)


class DaskCluster(Cluster):
    """Workers of a Dask cluster.

    Args:
        client: connected to it.
        size: how many workers there are to be.
    """

    def __init__(self, client: Any, size: int) -> None:
        self._client, self.size = client, max(1, size)
        self.dashboard = _dashboard(client)

    @property
    def workers(self) -> int:  # type: ignore[override]
        """How many there are now."""
        return len(self._client.scheduler_info(n_workers=-1)["workers"])

    def run(
        self, function: Callable[..., T], arguments: Iterable[tuple[Any, ...]]
    ) -> Iterator[tuple[int, T | TaskDied]]:
        """Call a function for each of the arguments on the workers; a task whose worker dies is run again.

        One that has taken several workers with it, or was near when they died, is put aside and run again by itself
        when all others are done. If that fails too, it is given up.
        """
        waiting = list(arguments)
        aside: list[int] = []
        for number, result in self._completed(function, dict(enumerate(waiting))):
            if isinstance(result, TaskDied):
                aside.append(number)
            else:
                yield number, result
        for number in aside:
            yield from self._completed(function, {number: waiting[number]})

    def _completed(
        self, function: Callable[..., T], arguments: Mapping[int, tuple[Any, ...]]
    ) -> Iterator[tuple[int, T | TaskDied]]:
        """Hand tasks out by number and yield their results as they come."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker, as_completed
        from distributed.comm.core import CommClosedError

        run = secrets.token_hex(8)
        numbers = {
            self._client.submit(function, *given, pure=False, retries=0, key=f"sequence-{run}-{number}"): number
            for number, given in arguments.items()
        }
        for future in as_completed(list(numbers)):
            number = numbers.pop(future)
            result: T | TaskDied
            try:
                result = future.result()
            except KilledWorker:
                result = TaskDied("its worker died, again and again: out of memory?")
            except (CancelledError, CommClosedError, TimeoutError) as error:
                raise ClusterLost(
                    "the cluster's scheduler is gone; the same command goes on where it stopped"
                ) from error
            future.release()
            yield number, result
        if numbers:
            raise ClusterLost("the cluster's scheduler is gone; the same command goes on where it stopped")


def check_choice(workers: int | None, scheduler: str | None) -> None:
    """Raise ValueError where both workers of this machine and a cluster are asked for."""
    if scheduler is not None and workers is not None:
        raise ValueError(f"--workers {workers}: must be left out with --scheduler, which has its own")


@contextmanager
def open_cluster(workers: int | None = None, threads: int = 1, scheduler: str | None = None) -> Iterator[Cluster]:
    """Connect to a Dask scheduler, or start workers on this machine.

    Args:
        workers: on this machine; 0 for none, so that everything runs in this process; None for one per core.
        threads: of each worker on this machine.
        scheduler: address of a cluster, such as tcp://host:8786, in place of workers of this machine.

    Raises:
        ValueError: both workers and a scheduler are given.
        OSError: there is no such cluster.
        ModuleNotFoundError: Dask is not installed.
    """
    check_choice(workers, scheduler)
    if scheduler is None and workers == 0:
        yield Cluster()
        return
    _require_dask()
    import dask
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.ERROR)
    settings = {
        "distributed.scheduler.allowed-failures": ALLOWED_DEATHS,
        "distributed.nanny.pre-spawn-environ": MALLOC_VARIABLES,
        "distributed.worker.profile.enabled": False,  # a sample of every thread every 10 ms
    }
    with dask.config.set(settings):
        if scheduler is not None:
            try:
                client = Client(scheduler, timeout=CONNECT_SECONDS)
            except (OSError, ValueError) as error:
                raise OSError(f"--scheduler {scheduler}: cannot be reached ({_first_line(error)})") from None
            with client:
                yield DaskCluster(client, len(client.scheduler_info(n_workers=-1)["workers"]))
            return
        count = workers or max(1, core_count() // threads)
        with _local_workers(count, threads) as client:
            yield DaskCluster(client, count)


# -- workers of this machine -----------------------------------------------------------------------------------------


@contextmanager
def _local_workers(count: int, threads: int) -> Iterator[Any]:
    """Start workers, and others in the place of those that are gone, until the block ends; yields a client of them.

    Dask itself replaces a worker that dies at work. One that dies while it starts would end the whole run, or be
    missing in the rest of it.
    """
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            env=dict.fromkeys(THREAD_VARIABLES, str(threads)),
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
        _kept_at(cluster, count) as lost,
    ):
        _wait_for_one(client, lost)
        yield client


def _wait_for_one(client: Any, lost: list[str]) -> None:
    """Wait for the first worker; OSError where none comes, or all that were tried have died."""
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends and len(lost) < MOST_LOST:
        with suppress(TimeoutError):
            client.wait_for_workers(1, timeout=KEEP_SECONDS)
            return
    why = f"{len(lost)} died while they started" if lost else f"none was there within {START_SECONDS:.0f} s"
    raise OSError(f"no worker could be started, {why}; --workers 0 (workers=0) does without")


@contextmanager
def _kept_at(cluster: Any, count: int) -> Iterator[list[str]]:
    """Look every now and then whether there are so many workers, in a thread of its own; yields the names of the lost.

    A list that grows as workers that did not start, or went away, are replaced.
    """
    ended = threading.Event()
    lost: list[str] = []

    def keep() -> None:
        while True:
            cluster.loop.add_callback(_replace_lost, cluster, count, lost)
            if ended.wait(KEEP_SECONDS):
                return

    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # says at length that a worker did not start
    keeper = threading.Thread(target=keep, name="mane workers", daemon=True)
    keeper.start()
    try:
        yield lost
    finally:
        ended.set()
        keeper.join()


def _replace_lost(cluster: Any, count: int, lost: list[str]) -> None:
    """Forget workers that did not start or are gone, and ask for as many as are missing; runs in the cluster's loop."""
    from distributed.core import Status

    for name, worker in list(cluster.workers.items()):
        if worker.status in (Status.failed, Status.closed):
            del cluster.workers[name]  # `scale` starts another one in its place
            lost.append(str(name))
    cluster.scale(count)


def _require_dask() -> None:
    try:
        import distributed  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "dask.distributed is not installed; `pip install mane[dataset]` installs it, --workers 0 does without"
        ) from None


def _dashboard(client: Any) -> str:
    try:
        import bokeh  # noqa: F401
    except ModuleNotFoundError:
        return ""
    return str(client.dashboard_link or "")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def core_count() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
