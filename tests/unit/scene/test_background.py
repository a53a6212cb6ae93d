"""`BackgroundWriter`: jobs in their order, beside the simulation, few at a time, and none lost."""

import threading
import time

import pytest

from mane.scene.background import DEPTH, WAITING, BackgroundWriter
from mane.stage.clock import StageClock

PATIENCE = 20.0  # [s]


def test_jobs_are_done_in_order_in_a_thread_of_their_own():
    done, clock = [], StageClock()
    with BackgroundWriter(clock) as writer:
        for number in range(20):
            writer.submit("write", lambda number=number: done.append((number, threading.current_thread().name)))
    assert [number for number, _ in done] == list(range(20))
    assert {name for _, name in done} == {"mane writer"}
    assert clock.beside["write"] > 0


def test_the_simulation_goes_on_meanwhile_and_waits_only_where_the_queue_is_full():
    go_on, submitted, clock = threading.Event(), [], StageClock()

    def submit_all():
        with BackgroundWriter(clock) as writer:
            for number in range(DEPTH + 3):
                writer.submit("write", lambda: go_on.wait(PATIENCE))
                submitted.append(number)

    thread = threading.Thread(target=submit_all)
    thread.start()
    end = time.monotonic() + PATIENCE
    while len(submitted) < DEPTH + 1 and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(0.05)
    assert len(submitted) == DEPTH + 1  # one is being done, the others wait, and the next would be too many
    go_on.set()
    thread.join(PATIENCE)
    assert len(submitted) == DEPTH + 3
    assert clock.frame[WAITING] > 0.04


def test_what_a_job_raises_comes_out_and_nothing_is_done_after_it():
    done = []

    def fail():
        raise OSError("no space")

    def write_two_frames():
        with BackgroundWriter(StageClock()) as writer:
            writer.submit("write", lambda: done.append("frame 1"))
            writer.submit("write", fail)
            writer.submit("write cache", lambda: done.append("cache 2"))
            writer.flush()

    with pytest.raises(OSError, match="no space"):
        write_two_frames()
    assert done == ["frame 1"]  # a cache must not have a frame that another sink lacks


def test_an_error_of_the_last_job_is_not_lost():
    def fail():
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"), BackgroundWriter(StageClock()) as writer:
        writer.submit("write", fail)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_after_an_error_of_the_simulation_what_was_submitted_is_still_done(error):
    done = []

    def stop_after_three():
        with BackgroundWriter(StageClock()) as writer:
            for number in range(3):
                writer.submit("write", lambda number=number: (time.sleep(0.02), done.append(number)))
            raise error

    with pytest.raises(error):
        stop_after_three()
    assert done == [0, 1, 2]


def test_without_jobs_there_is_no_thread():
    before = threading.active_count()
    with BackgroundWriter(StageClock()) as writer:
        assert threading.active_count() == before
        writer.flush()
