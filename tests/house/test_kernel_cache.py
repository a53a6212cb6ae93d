"""Compiled kernels on disk: a change in anything that they are made of makes them anew."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import mane
from mane.simd import kernel_cache
from mane.simd.kernel_cache import KERNELS, PACKAGE, ingredients, stamp_of

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


def make_package(root):
    """A package called mane with the real table of names, the real `simd` and two rooms of its own."""
    for room in ("one", "two"):
        (root / room).mkdir(parents=True)
        (root / room / "__init__.py").write_text("")
    real = Path(mane.__file__).parent
    (root / "__init__.py").write_text((real / "__init__.py").read_text())
    shutil.copytree(real / "simd", root / "simd", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "one" / "_kernels_inner.py").write_text(INNER.format(step=1))
    (root / "two" / "_kernels_outer.py").write_text(OUTER.format(room="one"))
    return root


@pytest.fixture
def package(tmp_path):
    return make_package(tmp_path / "mane")


RUN = "from mane.two._kernels_outer import twice; print(twice(0), sum(twice.stats.cache_hits.values()))"


def start(package, kernels, **settings):
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(kernels), **settings}
    return subprocess.Popen(
        [sys.executable, "-c", RUN], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def end(process):
    """Return twice(0), how many of its compiled forms came from disk, and what was said."""
    said, errors = process.communicate()
    assert process.returncode == 0, errors
    return [int(word) for word in said.split()], errors


def run(package, kernels, **settings):
    """Return twice(0) and how many of its compiled forms came from disk, in a process of its own."""
    return end(start(package, kernels, **settings))[0]


def test_kernels_are_shared_by_content_and_made_anew_when_another_file_changes(package, tmp_path):
    """A second environment has the same files in another place, and begins at the same time."""
    other, kernels = make_package(tmp_path / "elsewhere" / "mane"), tmp_path / "kernels"
    both = [start(one, kernels) for one in (package, other)]
    assert [end(one)[0][0] for one in both] == [2, 2]
    assert run(other, kernels) == [2, 1]
    (package / "one" / "_kernels_inner.py").write_text(INNER.format(step=3))
    assert run(package, kernels) == [6, 0]
    assert run(package, kernels) == [6, 1]
    assert run(other, kernels) == [2, 1]  # is not pushed out by the new one
    assert run(other, kernels, NUMBA_BOUNDSCHECK="1") == [2, 0]  # machine code of another kind
    for file in (kernels / "mane-kernels").rglob("*.nbc"):
        file.write_bytes(file.read_bytes()[:100])  # a disk that was full
    assert run(other, kernels) == [2, 0]
    assert run(other, kernels) == [2, 1]


def test_a_folder_that_cannot_be_written_costs_a_line_and_no_run(package, tmp_path):
    (tmp_path / "file").write_text("no folder")
    settings = {"TMPDIR": str(tmp_path)}
    given, said = end(start(package, tmp_path / "file", **settings))
    assert given == [2, 0]
    (line,) = said.splitlines()
    assert line.startswith(f"mane: compiled kernels cannot be kept in {tmp_path / 'file'}")
    assert "is taken" in line
    assert run(package, tmp_path / "file", **settings) == [2, 1]


def stamps(package):
    kernel_cache.forget()
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


@pytest.mark.parametrize("name", sorted(kernel_cache.APART))
def test_but_not_of_what_only_keeps_them(package, name):
    before = stamps(package)
    (package / "simd" / name).write_text("# other code\n")
    assert stamps(package) == before


def bound_in(tree):
    """Names that a file binds by itself, with the names that each is made of."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
            yield from ((one.id, used) for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def from_package(tree):
    """Names that a file imports of the package, with their modules."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE.name:
            yield from ((one.asname or one.name, one.name, node.module) for one in node.names)


@pytest.mark.parametrize(
    "file", sorted(PACKAGE.rglob(f"{KERNELS}*.py")), ids=lambda file: str(file.relative_to(PACKAGE))
)
def test_what_kernels_take_from_other_files_is_covered_by_their_stamp(file):
    """A constant that a plain file takes over from a third one would change without the kernels knowing."""
    covered = ingredients(file)
    for _, name, module in from_package(ast.parse(file.read_text(encoding="utf-8"))):
        base = PACKAGE.joinpath(*module.split(".")[1:])
        found = [path for path in (base.with_suffix(".py"), (base / name).with_suffix(".py")) if path in covered]
        assert found, f"{file.name}: {module}.{name} is in no file that its stamp covers"
        if found[0].name.startswith(KERNELS) or found[0].parent.name == "simd" or found[0].stem == name:
            continue
        tree = ast.parse(found[0].read_text(encoding="utf-8"))
        made, foreign = dict(bound_in(tree)), {own for own, _, module in from_package(tree)}
        assert name in made, f"{found[0].name} has {name} from another file: import it from there"
        reached, waiting = set(), {name}
        while waiting:
            reached |= waiting
            waiting = {one for known in waiting for one in made.get(known, ())} - reached
        assert not reached & foreign, f"{name} of {found[0].name} is made of {reached & foreign}"


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
