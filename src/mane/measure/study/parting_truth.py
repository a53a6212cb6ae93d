"""The full simulation of a scene in a file: simulated once, for as many methods and measurements as are wanted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from mane.geometry.checks import FloatArray

FILE, KEY = "truth.npy", "truth.json"


def kept_truth(
    folder: Path, key: str, shape: tuple[int, ...], simulate: Callable[[], Iterator[FloatArray]]
) -> FloatArray:
    """Hairs of every frame [m], `shape` (F, S, V, 3), as they lie on disk.

    A file of the same `key` is read. Otherwise `simulate` is asked for one frame after the other; a run that is stopped
    leaves no file that could be taken for a whole one.

    Args:
        folder: of the file, which is made.
        key: all that the frames follow from, as text.
        shape: of the frames.
        simulate: begins the simulation and yields its frames (S, V, 3).
    """
    file, said = folder / FILE, folder / KEY
    if not (file.is_file() and said.is_file() and said.read_text(encoding="utf-8") == json.dumps(key)):
        folder.mkdir(parents=True, exist_ok=True)
        said.unlink(missing_ok=True)
        with file.open("wb") as out:
            header = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(out, header)
            for points in simulate():
                out.write(np.ascontiguousarray(points, "<f4").tobytes())
        said.write_text(json.dumps(key), encoding="utf-8")
    kept: FloatArray = np.load(file, mmap_mode="r", allow_pickle=False)
    return kept
