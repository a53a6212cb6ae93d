"""Bytes of a file, and arrays cut from them only after checking that the bytes are there."""

from __future__ import annotations

import os
import stat
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

Buffer: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]


def read_buffer(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Return the bytes of a file, writable, so that arrays cut from them are; OSError or ValueError in one line."""
    name = os.fspath(path)
    try:
        size = _checked_size(path, name)
        with open(path, "rb") as file:
            buffer = np.empty(size, np.uint8)
            read = file.readinto(buffer.data)
        return buffer[:read]
    except OSError as error:
        raise _explained(error, name) from None


def map_buffer(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Return the bytes of a file without reading them before they are needed; errors as of `read_buffer`."""
    name = os.fspath(path)
    try:
        _checked_size(path, name)
        return np.memmap(path, np.uint8, "r")
    except OSError as error:
        raise _explained(error, name) from None


def _checked_size(path: str | os.PathLike[str], name: str) -> int:
    status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(f"{name}: is a folder; give the name of a file")
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{name}: is no plain file (a pipe or a device); save it to a file first")
    if status.st_size == 0:
        raise ValueError(f"{name}: is empty; export it again")
    return status.st_size


def _explained(error: OSError, name: str) -> OSError:
    if error.errno is None:  # already one of ours
        return error
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(f"{name}: does not exist; check the path")
    reason = (error.strerror or str(error)).lower()
    return type(error)(f"{name}: cannot be read ({reason}); check the path and its permissions")


def take(what: str, buffer: Buffer, dtype: DTypeLike, count: int, offset: int) -> NDArray[Any]:
    """Return `count` elements from byte `offset` on, as a view; ValueError if the bytes are not there."""
    needed = offset + count * np.dtype(dtype).itemsize
    if count < 0 or needed > len(buffer):
        raise ValueError(
            f"{what}: the header promises {count:,} elements up to byte {needed:,}, the file ends at byte "
            f"{len(buffer):,}; it is cut short or its header is damaged, so copy or export it again"
        )
    return np.frombuffer(buffer, dtype, count, offset)


def offsets_of(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each strand begins and the last one ends, from the number of points of each, shape (S + 1,)."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets
