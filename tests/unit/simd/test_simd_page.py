"""The examples of the room and of its page run as they are printed."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import mane.simd

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "simd.md"
TEXTS = {"page": PAGE.read_text(encoding="utf-8"), "room": mane.simd.__doc__}


@pytest.mark.parametrize("name", TEXTS)
def test_examples_run(name, tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", TEXTS[name], re.S)
    file = tmp_path / "example.py"
    file.write_text(example, encoding="utf-8")
    subprocess.run([sys.executable, file], check=True)


def test_the_range_of_numba_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (numba,) = (one for one in project["dependencies"] if one.startswith("numba"))
    low, high = re.fullmatch(r"numba>=0\.(\d+),<0\.(\d+)", numba).groups()
    assert f"Numba 0.{low} to 0.{int(high) - 1} are supported" in TEXTS["page"]
    ends = re.search(r"NUMBA_ENDS := 0\.(\d+)\.\d+ 0\.(\d+)\.\d+", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert ends.groups() == (low, str(int(high) - 1))
