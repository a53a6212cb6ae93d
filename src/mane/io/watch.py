"""Files that must stay as they are while they are read frame by frame."""

from __future__ import annotations

import os
from collections.abc import Iterable

# Device and inode say which file it is, size and time of change whether it is as it was.
Status = tuple[int, int, int, int]


class WatchedFiles:
    """Remembers files and notices when one of them is written over.

    Large files are mapped into memory: bytes that change under it become points that nobody made. A file that is
    replaced by another of the same name, as most exporters do it, stays readable to who has opened it.
    """

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        found = {os.fspath(path): _status(path) for path in paths}
        self._known = {path: status for path, status in found.items() if status is not None}

    def check(self) -> None:
        """Raise ValueError, in one line, where a file has been written over."""
        for path, known in self._known.items():
            now = _status(path)
            if now is not None and now[:2] == known[:2] and now != known:
                raise ValueError(f"{path}: was written over while it was being read; begin anew with the new file")


def _status(path: str | os.PathLike[str]) -> Status | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
