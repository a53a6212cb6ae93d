"""Set-up for all tests."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest
from hypothesis import settings

from same_bytes import same_bytes

# The first example of a property may compile a kernel; how long that takes says nothing about right or wrong.
# `make test` draws the same examples every time, so that a change is judged by itself; `make stress` goes on exploring.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("exploring", deadline=None)


# Parallel workers keep all cores busy by themselves: no test starts `mane warm` beside it.
os.environ["MANE_WARM"] = "0"


def pytest_configure(config):
    settings.load_profile("exploring" if config.getoption("markexpr") == "stress" else "repeatable")


@pytest.fixture(autouse=True, scope="session")
def private_cache(tmp_path_factory):
    """Keep the tests' disk cache apart from the user's; shared by parallel workers, so that the bust is made once."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    os.environ["MANE_CACHE"] = str(folder / "mane-cache")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with real hair files of other tools; tests that need it are skipped where it is missing."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("MANE_TEST_DATA", beside))
    if not folder.is_dir():
        pytest.skip("no real hair files here; set MANE_TEST_DATA to their folder")
    return folder


def pytest_runtest_setup(item):
    """Start every test with one thread: two workers share two cores, and threads waiting for each other cost most.

    Tests about threads use `on_threads`.
    """
    numba.set_num_threads(1)


@pytest.fixture
def on_threads() -> Callable[[Callable[[], Any]], Any]:
    """Call a function on one thread and on two, check that both results are the same bytes, and return that of one.

    The function makes whatever it changes anew. Its kernels need work for two: several blocks of lanes, rows or tasks.
    """
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip(f"needs two threads, NUMBA_NUM_THREADS is {numba.config.NUMBA_NUM_THREADS}")

    def run(function: Callable[[], Any]) -> Any:
        one, two = (_called_on(count, function) for count in (1, 2))
        same_bytes(one, two)
        return one

    return run


def _called_on(count: int, function: Callable[[], Any]) -> Any:
    before = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        result = function()
        assert numba.get_num_threads() == count, "the function has set the number of threads itself"
    finally:
        numba.set_num_threads(before)
    return result
