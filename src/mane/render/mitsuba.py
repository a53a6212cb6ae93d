"""`renderer="mitsuba"`: the same scene, path-traced by Mitsuba 3 (the extra `mane[mitsuba]`).

Mitsuba runs in a process of its own: its global settings stay its own, it can be interrupted, and if it crashes that is
an error and not the end of this program.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from mane.geometry.checks import FloatArray
from mane.render.extras import require_extra
from mane.render.mitsuba_scene import MitsubaScene

VARIANT = "scalar_rgb"  # needs no LLVM and no GPU

_SCRIPT = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
import numpy, mitsuba
mitsuba.set_variant(sys.argv[2])
mitsuba.set_log_level(mitsuba.LogLevel.Error)
image = mitsuba.render(mitsuba.load_file(sys.argv[3]), seed=int(sys.argv[4]))
numpy.save(sys.argv[5], numpy.array(image, numpy.float32), allow_pickle=False)
"""


def trace(scene: MitsubaScene, *, seed: int = 0) -> FloatArray:
    """Render a scene with Mitsuba 3 and return what mane's own renderer would hand to `develop`.

    Args:
        scene: what to show.
        seed: of the random paths; the same seed gives the same picture.

    Returns:
        Linear light multiplied by the coverage, and the coverage, shape (H, W, 4).
    """
    require_extra("mitsuba", "mitsuba")
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed: must lie between 0 and 2**32 - 1, got {seed}")
    with tempfile.TemporaryDirectory(prefix="mane-mitsuba-") as folder:
        picture = Path(folder) / "picture.npy"
        path = scene.write(folder)
        command = [sys.executable, "-c", _SCRIPT, json.dumps(sys.path), VARIANT, str(path), str(seed), str(picture)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != 0:
            raise ValueError(f"mitsuba: {_why(done)}")
        light = np.load(picture, allow_pickle=False)
    # A path that met a hair exactly along its axis may come back as no number.
    return np.ascontiguousarray(np.nan_to_num(light, nan=0.0, posinf=0.0, neginf=0.0))


def _why(done: subprocess.CompletedProcess[bytes]) -> str:
    """What went wrong, in one line."""
    if done.returncode < 0:
        return f"it crashed ({signal.Signals(-done.returncode).name}); try another seed, and tell its authors"
    said = [line.strip() for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    return said[-1] if said else f"it ended with code {done.returncode}"
