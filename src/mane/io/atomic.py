"""Files appear whole or not at all: written under a temporary name in the same folder, then renamed."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

REMEDIES = {
    errno.ENOSPC: "free some space or choose another folder",
    errno.EDQUOT: "free some space or choose another folder",
    errno.EFBIG: "free some space or choose another folder",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.EROFS: "choose a folder that you may write to",
    errno.ENAMETOOLONG: "choose a shorter name",
}


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the name `path` only when the block ends without an error.

    Until then an older file of that name stays as it was, and after an error it still is. OSError, in one line that
    names file, fault and remedy, when the file cannot be written.
    """
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def atomic_path(path: str | os.PathLike[str], *, sync_name: bool = True) -> Iterator[Path]:
    """Give a temporary name beside `path`, of the same suffix, to a writer that insists on opening files itself.

    What the writer leaves there takes the name `path` when the block ends without an error, and is removed otherwise.
    Without `sync_name`, a power cut soon after that may leave an older file of that name in place of the new one.
    """
    check_writable(path)
    target = Path(os.path.realpath(path))  # through a link to the file that it names, so that the link survives
    temporary = partial_path(target)
    try:
        yield temporary
        os.replace(temporary, target)
        if sync_name:
            sync_folder(target.parent)
    except OSError as error:
        raise explained(error, path) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def partial_path(path: Path) -> Path:
    """Return a new name beside `path` for a file that is not complete yet, of the same suffix."""
    return path.with_name(f".{secrets.token_hex(6)}.partial{path.suffix}")


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError, naming fault and remedy, where a file of this name surely cannot be written; touches nothing."""
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise IsADirectoryError(f"{os.fspath(path)}: is a folder; give the name of a file to write")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{os.fspath(path)}: its folder does not exist; make it first")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise PermissionError(f"{os.fspath(path)}: is there already and may not be written to; choose another name")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{os.fspath(path)}: its folder may not be written to; choose another one")


def explained(error: OSError, path: str | os.PathLike[str]) -> OSError:
    """Return an error of the same class that says in one line which file could not be written, why and what to do."""
    if error.errno is None:  # already one of ours
        return error
    reason = (error.strerror or str(error)).lower()
    remedy = REMEDIES.get(error.errno, "check the path and try again")
    told = type(error)(f"{os.fspath(path)}: cannot be written ({reason}); {remedy}")
    told.errno = error.errno
    return told


def sync_folder(folder: Path) -> None:
    """Make new names in a folder survive a power cut, where the system lets a folder be synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
