"""The simulation's own process: a slow browser never slows it, and a slow step never freezes the page."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from mane.salon.board import Board
from mane.salon.programs import Program
from mane.scene.config import Scene

IDLE = 0.02  # [s] between looks at the pipe while time stands still
MOST_WAITING = 512  # events: more than a hand makes while a head is bound
# Of these only the newest counts: where a thing is held, and where a slider is.
REPLACED = ("move", "turn", "slide", "grab", "blow", "pour")
Event = tuple[str, Mapping[str, Any]]
END: Event = ("!end", {})  # ends a studio that cannot be terminated


def serve(program: Any, folder: Path | None, second: str, pipe: Connection, threads: int | None = None) -> None:
    """Run a studio until the pipe closes: events come in, topics with messages go out."""
    if threads is not None:
        import numba

        numba.set_num_threads(threads)
    from mane.salon.studio import Studio

    def emit(topic: str, message: bytes) -> None:
        pipe.send_bytes(topic.encode() + b"\0" + message)

    try:
        try:
            studio = Studio(program, emit, folder, second)
        except (ValueError, OSError, MemoryError) as error:
            emit("!error", " ".join(str(error).split()).encode())
            return
        try:
            _run(studio, pipe)
        finally:
            studio.close()
    except (EOFError, OSError):
        return  # the server is gone
    finally:
        pipe.close()


def serve_alone(*arguments: Any) -> None:
    """`serve` in a process of its own."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends this process
    serve(*arguments)


def _run(studio: Any, pipe: Connection) -> None:
    due = time.perf_counter()
    while True:
        studio.tend()
        wait = max(due - time.perf_counter(), 0.0) if studio.is_playing else IDLE
        if pipe.poll(wait):
            event = pipe.recv()
            if event == END:
                return
            studio.apply(*event)
            if pipe.poll(0) or not studio.is_playing:
                continue
        now = time.perf_counter()
        if not studio.is_playing:
            due = now
            continue
        if now < due:
            continue
        studio.step()
        # Late steps are not caught up with: time then goes slower than real time.
        due = max(due + studio.dt / studio.speed, time.perf_counter())


@contextmanager
def patient_threads() -> Iterator[None]:
    """Let threads of processes that start here sleep while they wait for work, unless the user says otherwise.

    By default they spin, which takes from a browser on the same cores the time that it draws with.
    """
    name = "OMP_WAIT_POLICY"
    if name in os.environ:
        yield
        return
    os.environ[name] = "PASSIVE"
    try:
        yield
    finally:
        del os.environ[name]


class Worker:
    """A studio in a process of its own, with its messages on a board.

    Args:
        program: what is shown, or the scene that is simulated.
        folder: where files are saved; None for nowhere.
        second: skin of the right half of a split view, or "none".
        on_message: called, in a thread of the worker's, when there is something new on the board.
        threads: of the kernels; None for all cores.

    Attributes:
        board: the newest message of every topic.
        error: why the studio could not be made, or None.
    """

    def __init__(
        self,
        program: Program | Scene,
        folder: Path | None = None,
        second: str = "none",
        *,
        on_message: Callable[[], None] | None = None,
        threads: int | None = None,
    ) -> None:
        self._pipe, other = multiprocessing.Pipe()
        self._start(other, (program, folder, second, other, threads))
        self.board = Board()
        self.error: str | None = None
        self.on_message = on_message
        self._events: list[Event] = []
        self._ready = threading.Condition()
        self._closed = self._is_over = False
        self._receiver, sender = (threading.Thread(target=one, daemon=True) for one in (self._receive, self._send))
        self._receiver.start()
        sender.start()

    def _start(self, other: Connection, arguments: tuple[Any, ...]) -> None:
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=serve_alone, args=arguments, daemon=True, name="mane salon")
        with patient_threads():
            process.start()
        other.close()
        self._studio: Any = process

    def _end(self) -> None:
        self._studio.terminate()
        self._studio.join(5.0)

    @property
    def is_alive(self) -> bool:
        """Whether the simulation is there."""
        return not self._is_over and bool(self._studio.is_alive())

    def send(self, name: str, values: Mapping[str, Any]) -> None:
        """Hand an event to the studio; never waits. Of positions only the newest is kept."""
        with self._ready:
            same = _key(name, values)
            if name in REPLACED:
                self._events = [event for event in self._events if _key(*event) != same]
            if len(self._events) < MOST_WAITING:
                self._events.append((name, values))
            self._ready.notify()

    def _send(self) -> None:
        closed = False
        while not closed:
            with self._ready:
                while not self._events and not self._closed:
                    self._ready.wait()
                events, self._events, closed = self._events, [], self._closed
            try:
                for event in events:
                    self._pipe.send(event)
            except (OSError, ValueError):
                return

    def _receive(self) -> None:
        while True:
            try:
                data = self._pipe.recv_bytes()
            except (EOFError, OSError):
                break
            topic, _, message = data.partition(b"\0")
            if topic == b"!error":
                self.error = message.decode()
                break
            self.board.put(topic.decode(), message)
            if self.on_message is not None:
                self.on_message()
        self._is_over = True  # said here: a process that was killed is alive for a moment after its pipe has closed
        if self.on_message is not None:
            self.on_message()

    def close(self) -> None:
        """End the studio."""
        with self._ready:
            self._closed, self._events = True, [END]
            self._ready.notify()
        self._end()
        # The studio's end is closed by now, which ends the receiver. Below its feet the pipe must not go: another file
        # might get its number.
        self._receiver.join(5.0)
        self._pipe.close()


class ThreadWorker(Worker):
    """A studio in a thread, for a simulation that a script made and that only its own process has."""

    def _start(self, other: Connection, arguments: tuple[Any, ...]) -> None:
        self._studio = threading.Thread(target=serve, args=arguments, daemon=True, name="mane salon")
        self._studio.start()

    def _end(self) -> None:
        self._studio.join(5.0)


def _key(name: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Events of one key replace each other."""
    return (name, values.get("number"), values.get("name"), values.get("is_held"))
