"""The table of strand formats: suffix -> how to read it, how to write it, and what it leaves unsaid."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mane.io import alembic, ct2hair, data, hair, npy, npz, ply, tfx
from mane.io.raw import RawGroom

USD_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
MESH_SUFFIXES = (".obj", ".ply", ".stl", ".gltf", ".glb")

# Yuksel's own models, the one case where a file's name tells its unit.
YUKSEL_MODELS = ("wcurly", "wstraight", "wwavy", "wwavythin")
YUKSEL_UNIT = "0.1in"


@dataclass(frozen=True)
class StrandFormat:
    """How one kind of strand file is read and written.

    Attributes:
        title: what people call it.
        parse: bytes -> RawGroom.
        write: (file, groom, *, unit, up) -> None, or None where mane only reads the format.
        unit: unit of length assumed where a file states none.
        up: up axis assumed where a file states none.
        reason: why that unit and axis.
        carries: attributes that the format has room for; None for all of them.
    """

    title: str
    parse: Callable[..., RawGroom]
    write: Callable[..., None] | None = None
    unit: str = "m"
    up: str = "y"
    reason: str = "the format states neither"
    carries: tuple[str, ...] | None = ()


STRAND_FORMATS: dict[str, StrandFormat] = {
    ".hair": StrandFormat("Yuksel's .hair", hair.parse, hair.write, carries=hair.CARRIES),
    ".data": StrandFormat("USC's .data", data.parse, data.write, reason="such files are in metres with Y up"),
    ".npz": StrandFormat("mane's .npz", npz.parse, npz.write, carries=None),
    ".tfx": StrandFormat("TressFX .tfx", tfx.parse),
    ".bin": StrandFormat("CT2Hair's .bin", ct2hair.parse, unit="mm", reason="such scans are some 200 units wide"),
    ".ply": StrandFormat("strand .ply", ply.parse),
    ".npy": StrandFormat(".npy array", npy.parse),
    alembic.SUFFIX: StrandFormat(
        "Alembic, by way of Blender", alembic.parse, alembic.write, reason="as Blender does", carries=alembic.CARRIES
    ),
}

READABLE = (*STRAND_FORMATS, *USD_SUFFIXES)
MOVING = (*USD_SUFFIXES[:3], alembic.SUFFIX)  # files that can be written with motion
WRITABLE = (*(suffix for suffix, entry in STRAND_FORMATS.items() if entry.write), *USD_SUFFIXES[:3])


def suffix_of(path: str | os.PathLike[str], known: tuple[str, ...], what: str) -> str:
    """Return the suffix of a path in lower case, or raise ValueError listing those that are known."""
    suffix = Path(path).suffix.lower()
    if suffix not in known and os.path.isdir(path):
        raise IsADirectoryError(f"{os.fspath(path)}: is a folder; give the name of a file")
    if suffix not in known:
        raise ValueError(
            f"{os.fspath(path)}: {f'{suffix!r} is no suffix' if suffix else 'has no suffix'} of a file that mane can "
            f"{what}; choose from {', '.join(known)}"
        )
    return suffix


@dataclass(frozen=True)
class Frame:
    """Unit and up axis of a file, and how they are known, in words."""

    unit: str
    up: str
    source: str
    is_assumed: bool


def frame_of(path: str | os.PathLike[str], raw: RawGroom, unit: str | None = None, up: str | None = None) -> Frame:
    """Decide in which units and axes a strand file is: as told, else as stated in it, else as assumed for its kind."""
    entry = STRAND_FORMATS[Path(path).suffix.lower()]
    assumed_unit, reason = entry.unit, entry.reason
    if entry.parse is hair.parse and Path(path).stem.lower() in YUKSEL_MODELS:
        assumed_unit, reason = YUKSEL_UNIT, "Yuksel's models of this name are in tenths of an inch"
    source, is_assumed = f"assumed, {reason}", True
    if raw.unit and raw.up:
        source, is_assumed = "stated in the file", False
    if unit and up:
        source, is_assumed = "as told", False
    elif unit or up:
        source = f"{'unit' if unit else 'up axis'} as told, the other {source}"
    return Frame(unit or raw.unit or assumed_unit, up or raw.up or entry.up, source, is_assumed)
