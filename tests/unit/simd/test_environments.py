"""The tests of operations once more: for CPUs without AVX-512, and with the compiler off."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

FILES = [f"test_{name}.py" for name in ("operations", "f64x4", "f64x8", "f32x16", "f32x32", "layout", "rows")]
ENVIRONMENTS = {
    # The same as `make narrow`.
    "no AVX-512": {
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma,+bmi,+bmi2,+popcnt,+sse4.2",
    },
    "no compiler": {"NUMBA_DISABLE_JIT": "1"},
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_operations_are_the_same_elsewhere(name, tmp_path):
    if name == "no AVX-512" and platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip(f"such CPUs are x86, this is {platform.machine()}")
    environment = {**os.environ, **ENVIRONMENTS[name], "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *FILES]
    done = subprocess.run(command, cwd=Path(__file__).parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_code_for_other_cpus_has_no_wide_registers(tmp_path):
    """Otherwise the tests above would be those of this CPU."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip(f"such CPUs are x86, this is {platform.machine()}")
    code = """
import numpy as np
from numba import njit
from mane.simd import f64x8
from mane.simd.memory import store, use_wide_registers

@njit
def double(rows):
    use_wide_registers()
    store(rows, 0, f64x8.load(rows, 0) * 2.0)

double(np.ones(8))
print(any("zmm" in code for code in double.inspect_asm().values()))
"""
    environment = {**os.environ, **ENVIRONMENTS["no AVX-512"], "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
