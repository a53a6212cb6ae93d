"""`mane warm` and the line about kernels that are compiled."""

import io
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from mane.cli import main, warm
from mane.cli.warm import MARK
from mane.simd import notice

README = Path(__file__).parents[3] / "README.md"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def no_exit(monkeypatch):
    monkeypatch.setattr(notice.atexit, "register", lambda _: None)


def test_a_terminal_is_told_once_and_counted_at_the_end(monkeypatch, no_exit):
    monkeypatch.setattr(sys, "stderr", Terminal())
    told = notice.Notice()
    for _ in range(3):
        told.begin()
        told.end()
    told.close()
    first, last = sys.stderr.getvalue().splitlines()
    assert first.startswith("mane: compiling kernels for this CPU")
    assert last == "mane: 3 kernels compiled in 0 s; later runs find them on disk"


@pytest.mark.parametrize(
    ("seconds", "said"), [(1.0, ""), (48.2, "mane: 1 kernel compiled in 48 s; later runs find them on disk\n")]
)
def test_a_log_has_one_line_where_it_was_worth_a_wait(monkeypatch, no_exit, capsys, seconds, said):
    told = notice.Notice()
    told.begin()
    told.end()
    told.seconds = seconds
    told.close()
    assert capsys.readouterr().err == said


def test_kernels_that_python_calls_are_counted(monkeypatch, no_exit):
    from mane.simd.jit import is_compiler_off, njit

    if is_compiler_off():
        pytest.skip("about the compiler")
    names = {"__name__": "mane.made_up"}
    exec("def square(x):\n    return x * x\ndef kernel(x):\n    return square(x) + square(1.0)\n", names)
    names["square"] = njit(names["square"])
    kernel, before = njit(names["kernel"]), notice.NOTICE.count
    assert kernel(2.0) == 5.0
    assert notice.NOTICE.count == before + 1
    kernel(3.0)
    assert notice.NOTICE.count == before + 1


def test_jobs_are_run_and_their_kernels_summed(monkeypatch, capsys):
    monkeypatch.setattr(warm, "REPORT", "")
    jobs = {
        "a": f"print('words'); print({MARK!r}, 2); print('more')",
        "b": f"print({MARK!r}, 3)",
        "c": f"print({MARK!r}, 0)",
    }
    monkeypatch.setattr(warm, "JOBS", jobs)
    assert main(["warm", "--workers", "2"]) == 0
    assert capsys.readouterr().out.startswith("5 kernels compiled in ")


def test_a_job_that_fails_is_named(monkeypatch, capsys):
    monkeypatch.setattr(warm, "JOBS", {"pictures": "raise ValueError('no room')"})
    assert main(["warm"]) == 2
    assert capsys.readouterr().err == "mane: error: pictures: ValueError: no room\n"
    assert main(["warm", "--workers", "0"]) == 2


def test_a_helper_ends_when_the_process_that_it_helps_is_gone(monkeypatch, tmp_path, capsys):
    mark = tmp_path / "was here"
    job = f"import time; time.sleep(60); open({str(mark)!r}, 'w').write('')"
    monkeypatch.setattr(warm, "JOBS", {"a": job})
    parents = iter([7, 7, 1])
    monkeypatch.setattr(warm.os, "getppid", lambda: next(parents))
    assert main(["warm", "--workers", "1", "--beside", "7"]) == 0
    assert capsys.readouterr().out.startswith("0 kernels compiled in ")
    assert not mark.exists()


@pytest.mark.stress
def test_nothing_is_left_to_compile_for_the_lines_of_the_readme(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert main(["warm"]) == 0
    assert int(capsys.readouterr().out.split()[0]) > 30
    lines = README.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0].replace("100_000", "2000")
    code = textwrap.dedent(lines) + "from mane.simd.notice import NOTICE\nprint(NOTICE.count)\n"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "0"
    assert main(["warm"]) == 0
    assert capsys.readouterr().out.startswith("0 kernels compiled in ")
