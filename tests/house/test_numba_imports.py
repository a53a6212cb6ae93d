"""Numba's internals are used in four files; kernels are compiled through `simd`."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mane

SOURCE = Path(mane.__file__).parent
INTERNALS = {
    SOURCE / "simd" / name for name in ("numba_internals.py", "numba_kept.py", "numba_libraries.py", "numba_quick.py")
}
JIT = SOURCE / "simd" / "jit.py"
FILES = sorted(SOURCE.rglob("*.py"))
# What any file may use of Numba: its threads.
PUBLIC = {"get_num_threads", "set_num_threads", "config"}


def uses_of_numba(path):
    """Names of Numba and llvmlite that a file imports, or reads off `numba`, with their lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module.split(".")[0] in ("numba", "llvmlite"):
                yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.Import):
            names = (alias.name for alias in node.names)
            yield from ((name, node.lineno) for name in names if name.startswith(("numba.", "llvmlite")))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "numba":
            yield f"numba.{node.attr}", node.lineno


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_numba_is_used_through_simd(path):
    """A kernel that is compiled past `simd.jit` takes options over from its callers, and is kept when it is stale."""
    if path in {*INTERNALS, JIT}:
        return
    for name, line in uses_of_numba(path):
        assert name in {f"numba.{one}" for one in PUBLIC}, (
            f"{path}:{line}: {name}: njit and prange come from mane.simd.jit, internals from mane.simd.numba_internals"
        )


def test_the_compiler_is_wrapped_with_documented_names_alone():
    assert {name for name, _ in uses_of_numba(JIT)} == {"numba.get_thread_id", "numba.prange", "numba.njit"}


def test_the_check_finds_what_it_looks_for(tmp_path):
    file = tmp_path / "_kernels.py"
    file.write_text(
        "import numba\nfrom numba import njit\nimport numba.core.config\nnumba.jit\nfrom llvmlite import ir\n"
    )
    assert sorted(uses_of_numba(file)) == [
        ("llvmlite.ir", 5),
        ("numba.core.config", 3),
        ("numba.jit", 4),
        ("numba.njit", 2),
    ]


def test_importing_mane_hooks_into_nothing():
    code = "import sys; before = list(sys.meta_path); import mane; sys.exit(sys.meta_path != before)"
    subprocess.run([sys.executable, "-c", code], check=True)
