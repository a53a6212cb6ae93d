"""Compiled kernels on disk: a change in anything that they are made of makes them anew."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import mane
from mane.simd.kernel_cache import stamp_of

INNER = """
from mane.simd.jit import njit

STEP = {step}

@njit(cache=True, inline="always")
def add(x):
    return x + STEP
"""
OUTER = """
from mane.{room}._kernels_inner import (
    add,
)
from mane.simd.jit import njit

@njit(cache=True)
def twice(x):
    return add(add(x))
"""


@pytest.fixture
def package(tmp_path):
    """A package called mane with the real table of names, the real `simd` and two rooms of its own."""
    root = tmp_path / "mane"
    for room in ("one", "two"):
        (root / room).mkdir(parents=True)
        (root / room / "__init__.py").write_text("")
    real = Path(mane.__file__).parent
    (root / "__init__.py").write_text((real / "__init__.py").read_text())
    shutil.copytree(real / "simd", root / "simd", ignore=shutil.ignore_patterns("__pycache__"))
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


def test_every_kernel_is_made_of_the_whole_of_simd(package):
    """Kernels call its functions, and are compiled and linked as it says."""
    before = stamps(package)
    (package / "simd" / "emit.py").write_text("# other code\n")
    after = stamps(package)
    assert all(after[name] != before[name] for name in before)


def test_importing_mane_does_not_load_numba():
    code = "import sys, mane; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


FIRST_RUN = """
import hashlib
import numpy as np
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.body.motion import Pose
from mane.skin.finish import _kernels as kernels
from mane.skin.finish.passes import SolidAdjustment

rng = np.random.default_rng(3)
steps = rng.normal(0, 0.004, (2000, 12, 3))
points = (rng.normal(0, 0.03, (2000, 1, 3)) + np.cumsum(steps, axis=1)).astype(np.float32)
turn = np.array([0.1, 0.2, 0.3, 0.9])
frame = type("Frame", (), {})
frame.solid_poses, frame.time = (Pose(np.array([0.01, 0.02, 0.03]), turn / np.linalg.norm(turn)),), 0.0
out = SolidAdjustment([Solid(Sphere((0, 0, 0), 0.05))])(points, frame)
print(hashlib.sha256(out.tobytes()).hexdigest(), sum(kernels.adjust_hairs.stats.cache_hits.values()))
"""


def test_the_first_run_gives_the_bytes_of_all_later_ones(tmp_path):
    """In the process that compiles a kernel, its calls must not end in copies that were optimised for others."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", FIRST_RUN], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    (first, no_hits), (second, hits) = (run.stdout.split() for run in runs)
    assert (no_hits, hits) == ("0", "1")
    assert first == second


def test_no_kernel_takes_over_options_of_its_first_caller():
    """Compiled for the first time from a kernel with fastmath, a strict function must stay strict."""
    code = """
import numpy as np
from mane.render import _kernels_solids as kernels

screen = np.array([[54.05577, 105.94423, 0.5], [137.94423, 105.94423, 0.5], [137.94423, 22.055773, 0.5],
                   [54.05577, 22.055773, 0.5]], np.float32)
faces = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
owner, nearness = np.zeros((128, 192), np.int32), np.zeros((128, 192), np.float32)
# With fastmath, and the first to call `_edge`.
kernels.surface_at(screen, faces, screen, owner, np.array([64 * 192 + 96]), np.zeros((1, 3), np.float32))
kernels.raster_mesh(screen, faces, True, np.float32(0.0), nearness, owner)
print((owner[30:100, 60:130] < 0).sum(), kernels._edge.targetoptions["fastmath"])
"""
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "False"]  # no point on the edge that two triangles share is missed by both
