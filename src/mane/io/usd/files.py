"""Layers on disk: whole or not at all, with paths to other layers that survive a move of the folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.io.atomic import atomic_path, check_writable
from mane.io.usd.diagnostics import writing

SUFFIXES = (".usd", ".usda", ".usdc")


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return where to write a USD file, or raise OSError or ValueError where that surely cannot work."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{target}: must end in one of {', '.join(SUFFIXES)} to be written as USD")
    check_writable(target)
    return target


def export_layer(layer: Any, path: Path) -> None:
    """Write a layer to a file, complete and on the disk before it takes its name; OSError where that fails."""
    with atomic_path(path) as temporary, writing(path):
        if not layer.Export(str(temporary)):
            raise OSError(f"{path}: cannot be written; check the path and the space left on the disk")
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())


def asset_path(target: Path, folder: Path) -> str:
    """Path to a file as a layer in `folder` should store it: relative where possible, with forward slashes."""
    try:
        relative = os.path.relpath(target, folder)
    except ValueError:  # another drive
        return target.resolve().as_posix()
    posix = Path(relative).as_posix()
    return posix if posix.startswith("../") else f"./{posix}"


def vectors(array: NDArray[np.float32]) -> Any:
    """Return an (N, 3) float32 array as OpenUSD's own; one copy."""
    from pxr import Vt

    return Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(array, np.float32))


def extent_of(points: NDArray[np.float32], widest: float) -> NDArray[np.float32]:
    """Lowest and highest corner of the finite points (N, 3) with room for the width of the hair, shape (2, 3)."""
    pad = np.float32(0.5 * widest)
    if not np.isfinite(points).all():  # of curves that were left out of the groom
        points = points[np.isfinite(points).all(axis=1)]
    columns = [points[:, axis] for axis in range(3)]  # much quicker than along axis 0 of rows of three
    return np.array([[one.min() - pad for one in columns], [one.max() + pad for one in columns]], np.float32)
