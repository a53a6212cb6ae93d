"""Marks of kernels that are being compiled: waited for while their process lives, and never longer."""

import os
import platform
import subprocess
import sys
import threading
import time

import pytest

from mane.simd import claims, helper
from mane.simd.claims import await_or_claim, release

HOLDS = "import sys; from pathlib import Path; from mane.simd import claims; claims._claim(Path(sys.argv[1])); "


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "room" / "kernel.claim"


@pytest.fixture
def another(mark):
    """Another process that has claimed a kernel and lives until its input is closed."""
    words = [sys.executable, "-c", HOLDS + "print(1, flush=True); sys.stdin.read()", str(mark)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def never():
    raise AssertionError("there is nothing to load")


def test_a_kernel_that_nobody_is_at_is_ours(mark):
    assert await_or_claim(mark, never) is None
    assert mark.read_text() == f"{platform.node()} {os.getpid()}"
    assert await_or_claim(mark, never) is None  # after a kernel that could not be compiled
    release(mark)
    assert not mark.exists()


def test_one_that_another_process_compiles_is_waited_for(mark, another):
    began = time.monotonic()
    timer = threading.Timer(0.3, release, [mark])
    timer.start()
    assert await_or_claim(mark, lambda: "kernel") == "kernel"
    assert time.monotonic() - began > 0.25
    assert claims.waits[-1] > 0.2
    timer.join()


def test_one_of_a_process_that_was_killed_is_ours(mark, another):
    another.kill()
    another.wait()
    assert await_or_claim(mark, lambda: None) is None


def test_neither_old_marks_nor_those_of_other_machines_are_waited_for(mark, another, monkeypatch):
    monkeypatch.setattr(claims, "PATIENCE", 0.2)
    assert await_or_claim(mark, lambda: None) is None
    mark.write_text(f"elsewhere {another.pid}")
    assert not claims._is_held(mark)
    mark.write_bytes(b"\xff\xfe")
    assert not claims._is_held(mark)


def test_a_mark_that_cannot_be_written_stops_nobody(tmp_path):
    (tmp_path / "file").write_text("")
    assert await_or_claim(tmp_path / "file" / "kernel.claim", never) is None


@pytest.fixture
def started(monkeypatch):
    """Commands that would have been started, on two cores."""
    words = []
    monkeypatch.setattr(helper.subprocess, "Popen", lambda given, **_: words.append(given))
    monkeypatch.setattr(helper.atexit, "register", lambda *_: None)
    monkeypatch.setattr(helper, "cores", lambda: 2)
    return words


def test_the_first_process_of_a_version_starts_one_helper(started, tmp_path, monkeypatch):
    helper.start_once(tmp_path / "warmed")
    assert started == []  # tests have none, see conftest.py
    monkeypatch.setenv("MANE_WARM", "1")
    for _ in range(2):
        helper.start_once(tmp_path / "warmed")
    assert [words[1:] for words in started] == [["-m", "mane", "warm", "--workers", "1", "--beside", str(os.getpid())]]


def test_there_is_none_on_a_single_core_or_where_nothing_can_be_kept(started, tmp_path, monkeypatch):
    monkeypatch.setenv("MANE_WARM", "1")
    (tmp_path / "file").write_text("")
    helper.start_once(tmp_path / "file" / "warmed")
    monkeypatch.setattr(helper, "cores", lambda: 1)
    helper.start_once(tmp_path / "warmed")
    assert started == []


def test_a_helper_ends_with_all_that_it_has_started():
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); input()'])"
    reading, writing = os.pipe()  # nobody writes, so that `input` waits
    process = subprocess.Popen(
        [sys.executable, "-c", child], stdin=reading, stdout=subprocess.PIPE, start_new_session=True
    )
    with process.stdout as said:
        said.readline()  # the child of the child is there
        helper.stop(process)
        assert said.read() == b""  # which ends only when both are gone
    os.close(reading)
    os.close(writing)
