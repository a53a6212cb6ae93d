"""Machine code for kernels alone: the same results, whoever calls a function first, in this process or from disk."""

import itertools
import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core import caching, codegen, compiler, config, cpu, dispatcher, environment, lowering, targetconfig

from mane.simd import numba_libraries
from mane.simd.jit import njit, prange

compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="about the compiler")
known = pytest.mark.skipif(
    not numba_libraries.is_known(numba.version_info.short), reason="a version of Numba that goes its own way"
)
NEEDED = (
    (compiler.CompilerBase, "_compile_core"), (codegen.CPUCodeLibrary, "finalize"),
    (codegen.CPUCodeLibrary, "_optimize_final_module"), (codegen.CPUCodeLibrary, "_finalize_final_module"),
    (codegen.CPUCodeLibrary, "_get_module_for_linking"), (codegen.CPUCodeLibrary, "serialize_using_object_code"),
    (codegen.CPUCodeLibrary, "_unserialize"), (codegen.JITCodeLibrary, "get_pointer_to_function"),
    (codegen.JITCPUCodegen, "set_env"), (codegen.JitEngine, "is_symbol_defined"), (cpu.CPUContext, "get_executable"),
    (lowering.BaseLower, "create_cpython_wrapper"), (dispatcher.Dispatcher, "add_overload"),
    (dispatcher.Dispatcher, "compile"), (caching.CompileResultCacheImpl, "rebuild"),
    (environment, "lookup_environment"), (targetconfig.TargetConfig, "values"),
)  # fmt: skip


@pytest.mark.parametrize(("owner", "name"), NEEDED, ids=str)
def test_names_are_where_they_were(owner, name):
    assert hasattr(owner, name), f"Numba {numba.__version__} has no {owner.__name__}.{name}"


def test_versions_that_nobody_tested_go_their_own_way():
    versions = ((0, 61), (0, 62), (0, 68), (0, 69), (1, 65))
    assert [numba_libraries.is_known(one) for one in versions] == [False, True, True, False, False]


def made(text, *decorated, **names):
    """Functions of `text`, as if they stood in a file of this package."""
    space = {"__name__": "mane.made_up", "prange": prange, "np": np, **names}
    exec(text, space)
    for name, decorator in decorated:
        space[name] = decorator(space[name])
    return [space[name] for name, _ in decorated]


def libraries_of(function):
    return [one.library for one in function.overloads.values()]


SQUARES = """
def square(x):
    return x * x
def squares(rows):
    for i in prange(len(rows)):
        rows[i] = square(rows[i])
"""


@known
@compiled
def test_a_function_that_only_kernels_call_has_no_machine_code_until_python_calls_it():
    square, squares = made(SQUARES, ("square", njit), ("squares", njit(parallel=True)))
    rows = np.arange(5.0)
    squares(rows)
    assert [numba_libraries.is_linkable_only(one) for one in libraries_of(square)] == [True]
    assert [numba_libraries.is_linkable_only(one) for one in libraries_of(squares)] == [False]
    assert square(3.0) == 9.0
    assert [numba_libraries.is_linkable_only(one) for one in libraries_of(square)] == [False]
    squares(rows)
    np.testing.assert_array_equal(rows, np.arange(5.0) ** 4)


@known
@compiled
def test_functions_of_others_are_compiled_as_numba_does():
    square, squares = made(SQUARES, ("square", numba.njit), ("squares", numba.njit(parallel=True)), __name__="another")
    squares(np.arange(5.0))
    assert not any(numba_libraries.is_linkable_only(one) for one in libraries_of(square))


ERRORS = """
def check(x):
    if x == 1.0:
        raise ValueError("one")
    if x > 1.0:
        raise ValueError("more", x)
    return x
def kernel(x):
    return check(x) + 1.0
"""


@compiled
def test_what_a_called_function_raises_arrives():
    """Its constants are found by names in the machine code of the kernel."""
    _, kernel = made(ERRORS, ("check", njit), ("kernel", njit))
    assert kernel(0.5) == 1.5
    with pytest.raises(ValueError, match="one"):
        kernel(1.0)
    with pytest.raises(ValueError, match="more") as caught:
        kernel(7.0)
    assert caught.value.args == ("more", 7.0)


FROM_DISK = """
import sys
from mane.geometry._kernels_quaternion import quat_between
from mane.simd import numba_libraries
from mane.simd.jit import njit
def call(*both):
    return quat_between(*both)
call.__module__ = "mane.made_up"
given = {"kernel": njit(call), "python": quat_between}[sys.argv[1]]
print(given(1.0, 2.0, 3.0, 0.5, -1.0, 2.0))
print([numba_libraries.is_linkable_only(one.library) for one in quat_between.overloads.values()])
print(sum(quat_between.stats.cache_hits.values()))
"""


@known
@compiled
def test_a_function_on_disk_serves_kernels_and_python(tmp_path):
    """Kernel, kernel from disk, Python (compiled anew), and Python and a kernel from disk."""
    seen = []
    for who in ("kernel", "kernel", "python", "python", "kernel"):
        run = subprocess.run(
            [sys.executable, "-c", FROM_DISK, who],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        seen.append(run.stdout.splitlines())
    results, states, hits = zip(*seen, strict=True)
    assert len(set(results)) == 1
    assert states == ("[True]", "[True]", "[False]", "[False]", "[False]")
    assert hits == ("0", "1", "0", "1", "1")


def test_settings_are_equal_when_numba_says_so():
    kinds = [
        {}, {"fastmath": True}, {"fastmath": False}, {"nrt": True}, {"nrt": False}, {"nrt": False, "boundscheck": True}
    ]  # fmt: skip
    flags = []
    for kind in kinds:
        one = compiler.Flags()
        for name, value in kind.items():
            setattr(one, name, value)
        flags.append(one)
    for a, b in itertools.product(flags, repeat=2):
        assert (a == b) == (a.values() == b.values())
        assert hash(a) == hash(b) == hash(tuple(sorted(a.values())))
    assert flags[0] != "settings"
