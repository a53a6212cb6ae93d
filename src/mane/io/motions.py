"""`read_motion`: a motion out of a file of any format."""

from __future__ import annotations

import os
from pathlib import Path

from mane.body import motion_files
from mane.body.motion_keys import MAX_SPEED, MAX_SPIN, KeyframedMotion
from mane.io.formats import USD_SUFFIXES

MOTION_FILES = (*motion_files.READABLE, *USD_SUFFIXES)


def read_motion(
    path: str | os.PathLike[str],
    *,
    fps: float | None = None,
    prim: str | None = None,
    max_speed: float = MAX_SPEED,
    max_spin: float = MAX_SPIN,
) -> KeyframedMotion:
    """Read a motion from a file of keyframes (.json, .csv, .npz) or a recording (.bvh, .usd, .usda, .usdc, .usdz).

    Args:
        path: the file; docs/motions.md describes them.
        fps: frames per second of keys that give a `frame` where the file itself does not say.
        prim: of a USD file, the prim or joint that moves; by default its head.
        max_speed: neighbours that would need more are a teleport [m/s]; `math.inf` trusts the file's flags alone.
        max_spin: the same for turning [rad/s].

    Raises:
        ValueError: the file is no motion; names the file, the line or key, the fault and the remedy.
        OSError: the file cannot be opened.
    """
    if Path(path).suffix.lower() in USD_SUFFIXES:
        from mane.io.usd.read_motion import read_usd_motion

        return read_usd_motion(path, prim=prim, max_speed=max_speed, max_spin=max_spin)
    if prim is not None:
        raise ValueError(f"prim: is for USD files, got {os.fspath(path)}")
    return motion_files.read_motion(Path(path), fps=fps, max_speed=max_speed, max_spin=max_spin)
