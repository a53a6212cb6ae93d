"""The lines of docs/datasets.md that feed PyTorch and JAX run as they stand, in the environment of `make learn`."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from mane.dataset.run import run_dataset
from mane.dataset.spec import read_spec

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("MANE_LEARN", ROOT / ".venv-learn")) / "bin" / "python"
SPEC = """\
frames = 12

[scene.groom]
style = "ball"
strands = 12
vertices = 5

[scene.guides]
count = 4

[[motions]]
motion = "random"
count = 6
"""
# What the page ends with, looked at: windows as they were asked for, and a loss that learning has made smaller.
CHECKS = """
assert batch["points"].shape[1:] == (3, 4, 5, 3), batch["points"].shape
assert batch["head"].shape[1:] == (3, 7)
print(float(loss))
"""


def block_with(words):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8"), re.S)
    (found,) = (block for block in blocks if words in block)
    assert "windows(16" in found
    return found.replace("windows(16", "windows(3").replace("batch=32", "batch=4")


@pytest.mark.stress
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_the_lines_of_the_page_learn(tmp_path, library):
    if not PYTHON.is_file() or subprocess.run([PYTHON, "-c", f"import {library}"], capture_output=True).returncode:
        pytest.skip(f"{library} is not there; `make learn` installs it")
    (tmp_path / "spec.toml").write_text(SPEC)
    run_dataset(read_spec(tmp_path / "spec.toml"), tmp_path / "curls.zarr", workers=0)
    losses = {}
    for epochs in (1, 60):
        code = block_with(f"import {library}\n").replace("batch=4", f"batch=4, epochs={epochs}") + CHECKS
        made = subprocess.run(
            [PYTHON, "-c", code],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "JAX_PLATFORMS": "cpu"},
            capture_output=True,
            text=True,
        )
        assert made.returncode == 0, made.stderr
        losses[epochs] = float(made.stdout)
    assert 0 <= losses[60] < 0.5 * losses[1]
