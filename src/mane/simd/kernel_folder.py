"""Where compiled kernels are kept: one folder per user, found again by content, whichever environment asks.

A kernel's folder is named after all that its machine code follows from: versions and settings of the compiler
(`surroundings`), and the stamp of the sources that it is made of (`kernel_cache.stamp_of`). An environment that is made
anew, a reinstalled mane or another checkout of the same files finds what is there; other sources have other folders, so
that nothing is ever overwritten by something else. What has not been used for long is deleted.

    $NUMBA_CACHE_DIR/mane-kernels/...     if that is set
    ~/.cache/mane/kernels/...             the user's cache folder, which has another name on other systems
    /tmp/mane-kernels-USER/...            where that cannot be written

Nothing here knows Numba, and nothing here takes part in machine code: `numba_kept` hands the places to it.
"""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

NAME = "mane-kernels"
DAY = 86_400.0  # [s]
UNUSED = 60 * DAY  # folders that were not used for so long are deleted
FRESH = DAY / 24  # between two looks for such folders, and none is deleted that was used within it
NOWHERE = Path(os.devnull, NAME)  # no folder: nothing is found there, and nothing can be written
ROOM = 600_000_000  # all kernels together [bytes]; those of one version take a tenth


def places(chosen: str) -> Iterator[Path]:
    """Folders to keep kernels in, the first one that can be written counts; `chosen` is $NUMBA_CACHE_DIR or empty."""
    if chosen:
        yield Path(chosen, NAME)
    else:
        from platformdirs import user_cache_dir

        with contextlib.suppress(RuntimeError):  # no home
            yield Path(user_cache_dir("mane", appauthor=False), "kernels")
    yield Path(tempfile.gettempdir(), f"{NAME}-{_user()}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a number without a name, as in containers
        return str(os.getuid()) if hasattr(os, "getuid") else "user"


class KernelFolder:
    """The folder of one process: kernels of all sources, made with one compiler in one set of settings."""

    def __init__(self, candidates: Sequence[Path], surroundings: str) -> None:
        self.surroundings = hashlib.sha256(surroundings.encode()).hexdigest()[:16]
        self.root = self._first_of(candidates) / self.surroundings
        self._used: set[str] = set()
        self._is_told = False

    def of(self, source: str, stamp: str) -> Path:
        """Where kernels of a source file are kept, whether or not it exists; `source` is a readable name."""
        return self.root / f"{source}-{stamp[:16]}"

    def use(self, folder: str) -> None:
        """Remember that kernels were read from a folder: those that nobody reads are deleted some day."""
        if folder not in self._used:
            self._used.add(folder)
            with contextlib.suppress(OSError):
                if time.time() - os.stat(folder).st_mtime > DAY:
                    os.utime(folder)

    def tell(self, error: OSError) -> None:
        """Say once that kernels cannot be kept; they are compiled all the same."""
        if not self._is_told and self.root.parent != NOWHERE:
            self._is_told = True
            _say(f"compiled kernels cannot be kept in {self.root}: {error.strerror or error}; set NUMBA_CACHE_DIR")

    def prune(self) -> None:
        """Delete what was not used for long, and the oldest of what is too much; looks once in a while only."""
        looked = self.root.parent / "looked"
        with contextlib.suppress(OSError):
            if looked.exists() and time.time() - looked.stat().st_mtime < FRESH:
                return
            looked.touch()
            delete_unused(self.root.parent)

    def _first_of(self, candidates: Sequence[Path]) -> Path:
        for number, place in enumerate(candidates):
            try:
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
                check_owner(place)
                if not (place / self.surroundings).is_dir() or os.access(place, os.W_OK):
                    tempfile.TemporaryFile(dir=place).close()
                return place  # or filled by somebody else and good to read only, as in a container
            except OSError as error:
                instead = (
                    f"{candidates[number + 1]} is taken" if number + 1 < len(candidates) else "set NUMBA_CACHE_DIR"
                )
                _say(f"compiled kernels cannot be kept in {place}: {error.strerror}; {instead}")
        return NOWHERE


def check_owner(place: Path) -> None:
    """Refuse a folder under a well-known name, in a place that all users write, that another user has made."""
    if hasattr(os, "getuid") and place.parent == Path(tempfile.gettempdir()) and place.stat().st_uid != os.getuid():
        raise PermissionError(0, "it belongs to another user")


def delete_unused(place: Path, room: int = ROOM, now: float | None = None) -> int:
    """Delete folders of kernels below `place/*/` that are old or, oldest first, too many; return how many."""
    now = time.time() if now is None else now
    folders = sorted((folder.stat().st_mtime, folder) for folder in place.glob("*/*-*") if folder.is_dir())
    sizes = {folder: sum(file.stat().st_size for file in folder.iterdir()) for _, folder in folders}
    total, deleted = sum(sizes.values()), 0
    for used, folder in folders:
        if now - used > UNUSED or (total > room and now - used > FRESH):
            # A process that is about to read from it compiles instead, and one that writes makes it anew.
            shutil.rmtree(folder, ignore_errors=True)
            total, deleted = total - sizes[folder], deleted + 1
    return deleted


@cache
def folder_for(chosen: str, surroundings: str) -> KernelFolder:
    """The folder of this process."""
    return KernelFolder(list(places(chosen)), surroundings)


def _say(line: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"mane: {line}\n")
