"""Set-up for all tests."""

import os
from pathlib import Path

import numba
import pytest
from hypothesis import settings

# The first example of a property may compile a kernel; how long that takes says nothing about right or wrong.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")


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

    Tests about threads set their number themselves.
    """
    numba.set_num_threads(1)
