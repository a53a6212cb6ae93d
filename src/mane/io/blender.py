"""Blender in a process of its own: what it can open and mane cannot becomes USD, and the other way round.

Blender's Python module wants another NumPy than mane, so that the two cannot share an environment: `$MANE_BLENDER`
names either a Blender, or a Python that has `bpy`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from mane.io import _blender_script as script

VARIABLE = "MANE_BLENDER"
PATIENCE_SECONDS = 3600.0  # a long animation takes minutes; one that takes an hour hangs
REMEDY = (
    f"needs Blender: set {VARIABLE} to a Blender, or to a Python 3.11 of its own with `pip install bpy` (its NumPy is "
    "older than mane's)"
)


def is_there() -> bool:
    """Whether a Blender can be found."""
    return _command() is not None


def convert(source: Path, target: Path, *, rate: float = 24.0, kind: str = "curves") -> None:
    """Have Blender open a file (.abc, USD) and write it as another; ValueError says what was wrong.

    Args:
        source: file to open.
        target: file to write.
        rate: frames per second, by which Blender places the seconds of an Alembic file.
        kind: what the file must hold, "curves" or "meshes".
    """
    command = _command()
    if command is None:
        raise ValueError(REMEDY)
    arguments = [*command, "--", str(source.absolute()), str(target.absolute()), repr(float(rate)), kind]
    try:
        run = subprocess.run(arguments, capture_output=True, timeout=PATIENCE_SECONDS, env=_environment(), check=False)
    except subprocess.TimeoutExpired:
        raise ValueError(f"kept Blender busy for {PATIENCE_SECONDS / 60:.0f} minutes; try fewer frames") from None
    except OSError as error:
        raise ValueError(f"{command[0]} cannot be run ({(error.strerror or str(error)).lower()}); {REMEDY}") from None
    said = (run.stdout + run.stderr).decode(errors="replace").splitlines()
    fault = next((line.partition(script.FAULT)[2] for line in said if script.FAULT in line), None)
    if fault is not None:
        raise ValueError(fault)
    if run.returncode != 0 or not target.exists():
        last = next((line for line in reversed(said) if line.strip()), "it said nothing")
        raise ValueError(f"made {command[0]} fail ({last.strip()})")


def _command() -> list[str] | None:
    """What to run before the arguments of the script; None where there is no Blender."""
    found = os.environ.get(VARIABLE) or (sys.executable if find_spec("bpy") else shutil.which("blender"))
    if found is None:
        return None
    if Path(found).name.startswith("python"):
        return [found, script.__file__]
    return [found, "--background", "--factory-startup", "--python-exit-code", "1", "--python", script.__file__]


def _environment() -> dict[str, str]:
    """Ours without what would lead Blender's Python to our packages."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
