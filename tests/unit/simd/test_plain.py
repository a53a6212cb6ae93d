"""With the compiler off kernels are plain Python, with the results of compiled ones but for rounding."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import config

CASES_FILE = Path(__file__).parent / "plain_cases.py"


@pytest.fixture(scope="module")
def uncompiled(tmp_path_factory):
    """Results of every case, from a process with the compiler off."""
    out = tmp_path_factory.mktemp("plain") / "cases.npz"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, CASES_FILE, out], env=environment, check=True)
    return np.load(out)


sys.path.insert(0, str(CASES_FILE.parent))
from plain_cases import CASES  # noqa: E402


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="compares with compiled kernels")
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_compiled_kernels(name, uncompiled):
    compiled = CASES[name]()
    assert np.isfinite(compiled).all()
    # Points in float32, some 1 m from the origin; guides feel the rounding of stiff rods, 1e-6 of 5 mm a step.
    np.testing.assert_allclose(uncompiled[name], compiled, rtol=1e-5, atol=2e-6)
