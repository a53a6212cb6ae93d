"""Compiled kernels on disk: a change in anything that they are made of makes them anew."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mane
from mane.kernel_cache import stamp_of

INNER = """
import numba

STEP = {step}

@numba.njit(cache=True, inline="always")
def add(x):
    return x + STEP
"""
OUTER = """
import numba

from mane.{room}._kernels_inner import (
    add,
)

@numba.njit(cache=True)
def twice(x):
    return add(add(x))
"""


@pytest.fixture
def package(tmp_path):
    """A package called mane with the real table of names and two rooms of its own."""
    root = tmp_path / "mane"
    for room in ("one", "two"):
        (root / room).mkdir(parents=True)
        (root / room / "__init__.py").write_text("")
    for file in ("__init__.py", "kernel_cache.py"):
        (root / file).write_text((Path(mane.__file__).parent / file).read_text())
    (root / "one" / "_kernels_inner.py").write_text(INNER.format(step=1))
    (root / "two" / "_kernels_outer.py").write_text(OUTER.format(room="one"))
    return root


def run(package):
    """Return twice(0) and how many of its compiled forms came from disk, in a process of its own."""
    code = "from mane.two._kernels_outer import twice; print(twice(0), sum(twice.stats.cache_hits.values()))"
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


def test_kernels_are_kept_and_made_anew_when_another_file_changes(package):
    assert run(package) == [2, 0]
    assert run(package) == [2, 1]
    (package / "one" / "_kernels_inner.py").write_text(INNER.format(step=3))
    assert run(package) == [6, 0]


def stamps(package):
    stamp_of.cache_clear()
    return {
        name: stamp_of(package / room / f"_kernels_{name}.py", package)
        for room, name in (("one", "inner"), ("two", "outer"))
    }


def test_a_change_reaches_those_who_import_it_and_no_others(package):
    before = stamps(package)
    (package / "two" / "_kernels_outer.py").write_text(OUTER.format(room="one") + "# more\n")
    after = stamps(package)
    assert after["inner"] == before["inner"]
    assert after["outer"] != before["outer"]


def test_constants_of_plain_files_count(package):
    file = package / "one" / "_kernels_inner.py"
    file.write_text("from mane.one import sizes\n" + file.read_text())
    (package / "one" / "sizes.py").write_text("LANES = 8\n")
    before = stamps(package)
    (package / "one" / "sizes.py").write_text("LANES = 4\n")
    after = stamps(package)
    assert after["inner"] != before["inner"]
    assert after["outer"] != before["outer"]


def test_importing_mane_does_not_load_numba():
    code = "import sys, mane; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
