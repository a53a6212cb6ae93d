"""Alembic `.abc`, read and written through Blender by way of USD.

Alembic states neither units nor axes; Blender takes its files to be in metres with Y up, and so does mane.
"""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import BinaryIO

from mane.groom.groom import Groom
from mane.io import _blender_script as script
from mane.io import blender
from mane.io.atomic import atomic_path
from mane.io.buffers import Buffer, map_buffer
from mane.io.raw import RawGroom

SUFFIX = ".abc"
MAGICS = (b"Ogawa", b"\x89HDF")
CARRIES = ("width",)


def parse(buffer: Buffer) -> RawGroom:
    """Read the strands of the first moment from the bytes of an Alembic file; ValueError says why not."""
    if not bytes(buffer[:5]).startswith(MAGICS):
        raise ValueError(f"header: must begin with Ogawa, got {bytes(buffer[:5])!r}")
    from mane.io.usd import read_usd_groom

    with TemporaryDirectory(prefix="mane-") as folder:
        file = Path(folder, f"hair{SUFFIX}")
        file.write_bytes(bytes(buffer))
        stage = file.with_suffix(".usdc")
        blender.convert(file, stage)
        groom = read_usd_groom(stage).groom
    return RawGroom(groom.points, groom.offsets, groom.strand, groom.vertex, groom.group_names)


def write(file: BinaryIO, groom: Groom, *, unit: str, up: str) -> None:
    """Write strands, which are in the units and axes of the file already, to an open file."""
    from mane.io.usd import write_usd_groom

    with TemporaryDirectory(prefix="mane-") as folder:
        stage, made = Path(folder, "hair.usdc"), Path(folder, f"hair{SUFFIX}")
        kept = {name: groom.vertex[name] for name in CARRIES if name in groom.vertex}
        widths = {name: groom.strand[name] for name in CARRIES if name in groom.strand}
        write_usd_groom(stage, Groom(groom.points, groom.offsets, widths, kept))
        blender.convert(stage, made)
        file.write(made.read_bytes())


@contextmanager
def opened_as_usd(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a USD stage with all frames of an Alembic file while the block runs."""
    with TemporaryDirectory(prefix="mane-") as folder:
        stage = Path(folder, "hair.usdc")
        _naming(path, Path(path), stage)
        yield stage


class ScratchFolder:
    """A folder that is there as long as somebody holds this.

    Attributes:
        path: of the folder.
    """

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="mane-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def meshes_as_usd(path: str | os.PathLike[str], *, rate: float) -> tuple[ScratchFolder, Path]:
    """Return a folder and in it a USD stage of the meshes of an Alembic file, for as long as the folder is held.

    `rate` is how many frames per second the stage has.
    """
    head = bytes(map_buffer(path)[:5])
    if not head.startswith(MAGICS):
        raise ValueError(f"{os.fspath(path)}: is no Alembic file, it begins with {head!r}; export it again")
    folder = ScratchFolder()
    stage = folder.path / "body.usdc"
    _naming(path, Path(path), stage, rate, "meshes")
    return folder, stage


def has_no_curves(error: ValueError) -> bool:
    """Whether Blender read a file and found no curves in it."""
    return str(error).endswith(script.KINDS["curves"][1])


def write_from_usd(path: str | os.PathLike[str], stage: Path, *, rate: float) -> None:
    """Write all frames of a USD stage to an Alembic file, which appears whole or not at all."""
    with atomic_path(path) as partial:
        _naming(path, stage, partial, rate)


def _naming(path: str | os.PathLike[str], source: Path, target: Path, rate: float = 24.0, kind: str = "curves") -> None:
    try:
        blender.convert(source, target, rate=rate, kind=kind)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None
