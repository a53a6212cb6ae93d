"""`BackgroundWriter`: files are written in a thread of their own, while the next frame is made.

Jobs run one after the other in the order in which they were submitted, so the cache, which comes last in a frame, still
has no frame that another sink lacks. The queue is short: a run that writes more slowly than it simulates waits, and a
kill loses the few frames that the cache does not have yet, which the resumed run makes again.
"""

from __future__ import annotations

import queue
import threading
import time

from mane.scene.sinks import Job
from mane.stage.clock import StageClock

DEPTH = 2  # jobs that may wait while one is done; a frame has one for USD and one for the cache
WAITING = "wait for writing"

_Entry = tuple[str, Job]


class BackgroundWriter:
    """Does jobs beside the simulation, in a `with` block; what was submitted is done when the block ends.

    Args:
        clock: is told in `beside` how long jobs took, and in the frame how long the simulation waited for them.
    """

    def __init__(self, clock: StageClock) -> None:
        self._clock = clock
        self._jobs: queue.Queue[_Entry | None] = queue.Queue(DEPTH)
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def submit(self, label: str, job: Job) -> None:
        """Queue a job whose time counts for `label`; raises what an earlier job raised, after which none is done."""
        self._raise_error()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="mane writer", daemon=True)
            self._thread.start()
        with self._clock.stage(WAITING):
            self._jobs.put((label, job))

    def flush(self) -> None:
        """Wait until all jobs are done; raises what one of them raised."""
        self._jobs.join()
        self._raise_error()

    def __enter__(self) -> BackgroundWriter:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Finish what was submitted, also after an error or Ctrl-C: those frames were made and shall not be lost."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None
        if error is None:
            self._raise_error()

    def _work(self) -> None:
        while True:
            entry = self._jobs.get()
            try:
                if entry is None:
                    return
                if self._error is None:
                    self._do(*entry)
            finally:
                self._jobs.task_done()

    def _do(self, label: str, job: Job) -> None:
        started = time.perf_counter()
        try:
            job()
        except BaseException as error:  # handed to the simulation, which raises it
            self._error = error
        beside = self._clock.beside
        beside[label] = beside.get(label, 0.0) + time.perf_counter() - started

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error
