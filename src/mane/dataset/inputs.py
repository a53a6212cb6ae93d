"""The files that a spec reads, and what tells that their contents have changed: data of two kinds is never mixed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from mane.dataset.sequences import list_sequences
from mane.dataset.spec import Spec
from mane.scene.config import Scene
from mane.scene.files import names_file, scene_files

USD_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
BLOCK = 1 << 20  # bytes that are read at a time

Digests = dict[str, str]


class InputsChanged(ValueError):
    """What a dataset is made from is another one than when it was begun; nothing may be added to it."""


def spec_digests(spec: Spec) -> Digests:
    """SHA-256 of every file that some sequence of a spec reads, by its path from the scene's folder.

    Files that are not there are left out; the sequences that name them are recorded as failed when they are run.
    """
    return digests_of(_scenes(spec))


def _scenes(spec: Spec) -> Iterator[Scene]:
    """One scene for each choice of files."""
    seen: set[str] = set()
    for sequence in list_sequences(spec):
        chosen = {key: value for key, value in sequence.settings.items() if names_file(key, value)}
        if repr(chosen) not in seen:
            seen.add(repr(chosen))
            yield sequence.scene(spec)


def digests_of(scenes: Iterable[Scene]) -> Digests:
    """SHA-256 of every file that scenes of one folder read, USD files with all layers and assets below them."""
    found: Digests = {}
    for scene in scenes:
        for file in scene_files(scene).values():
            for part in _with_dependencies(file):
                name = os.path.relpath(part.resolve(), scene.folder.resolve())
                if name not in found and part.is_file():
                    found[name] = digest(part)
    return found


def require_unchanged(store: Path, known: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raise InputsChanged where a file has other contents than those that the dataset at `store` was begun with."""
    for name, found in now.items():
        if known.get(name, found) != found:
            raise InputsChanged(
                f"{store}: was begun with other contents of {name}, which has changed since; bring the file back, or "
                "choose another name with -o"
            )


# What was read before, by path, size and time of the last change.
_DIGESTS: dict[tuple[str, int, int], str] = {}
_PARTS: dict[tuple[str, int, int], list[Path]] = {}


def stamp(file: Path) -> tuple[str, int, int]:
    """Path, size and time of the last change of a file; zeros where there is none."""
    try:
        found = file.stat()
    except OSError:
        return (str(file), 0, 0)
    return (str(file), found.st_size, found.st_mtime_ns)


def digest(file: Path) -> str:
    """SHA-256 of the contents of a file; one that did not change since it was read is not read again."""
    key = stamp(file)
    if key not in _DIGESTS:
        made = hashlib.sha256()
        with open(file, "rb") as opened:
            while block := opened.read(BLOCK):
                made.update(block)
        _DIGESTS[key] = made.hexdigest()
    return _DIGESTS[key]


def _with_dependencies(file: Path) -> list[Path]:
    """A file and, for USD, every layer and asset that it refers to."""
    if file.suffix.lower() not in USD_SUFFIXES or not file.is_file():
        return [file]
    key = stamp(file)
    if key not in _PARTS:
        from mane.io.usd.dependencies import dependencies

        _PARTS[key] = [file, *dependencies(file)]
    return _PARTS[key]
