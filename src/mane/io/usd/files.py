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
POINTS_PER_ROW = 512


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return where to write a USD file, or raise OSError or ValueError where that surely cannot work."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{target}: must end in one of {', '.join(SUFFIXES)} to be written as USD")
    check_writable(target)
    return target


def export_layer(layer: Any, path: Path, *, sync_name: bool = True) -> None:
    """Write a layer to a file, complete and on the disk before it takes its name; OSError where that fails.

    `sync_name` as of `atomic_path`.
    """
    with atomic_path(path, sync_name=sync_name) as temporary, writing(path):
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
    corners = _corners(points)
    if not np.isfinite(corners).all():  # of curves that were left out of the groom
        corners = _corners(points[np.isfinite(points).all(axis=1)])
    corners[0] -= pad
    corners[1] += pad
    return corners


def _corners(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Lowest and highest corner (2, 3) of points (N, 3); not finite where any point is not."""
    # Rows of many points first: an order quicker than along axis 0 of rows of three, or along strided columns.
    whole = len(points) // POINTS_PER_ROW * POINTS_PER_ROW
    rows, rest = points[:whole].reshape(-1, 3 * POINTS_PER_ROW), points[whole:]
    corners = []
    for reduce in (np.min, np.max):
        parts = [rest] if not len(rows) else [rest, reduce(rows, axis=0).reshape(-1, 3)]
        corners.append(reduce(np.concatenate(parts), axis=0))
    return np.array(corners, np.float32)
