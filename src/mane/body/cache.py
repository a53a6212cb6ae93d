"""A cache on disk for arrays that take seconds to make, found again by the content they were made from.

The cache may be deleted at any time, be read-only or be damaged: the caller then simply computes again. It lives in
the user's cache directory, or where the environment variable MANE_CACHE points; MANE_CACHE="" turns it off.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ENVIRONMENT = "MANE_CACHE"
# Raise it when the meaning of stored arrays changes: all older entries are then ignored.
FORMAT = 1
FORMAT_FIELD = "mane_cache_format"
_NAME = re.compile(r"[A-Za-z0-9_-]+")


def cache_directory() -> Path | None:
    """Return where entries are kept, whether or not it exists yet, or None when the cache is turned off."""
    chosen = os.environ.get(ENVIRONMENT)
    if chosen is not None:
        return Path(chosen).expanduser() if chosen else None
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("mane", appauthor=False))


def content_key(*parts: NDArray[Any] | str | float | bytes | None) -> str:
    """Return a hexadecimal key for arrays (values, shape and dtype), numbers and words; any change gives another."""
    digest = hashlib.blake2b(digest_size=20)
    for part in parts:
        if isinstance(part, np.ndarray):
            header, body = f"array {part.dtype.str} {part.shape}", np.ascontiguousarray(part).tobytes()
        elif isinstance(part, bytes):
            header, body = "bytes", part
        else:
            header, body = type(part).__name__, repr(part).encode()
        # Lengths in front keep ("ab", "c") apart from ("a", "bc").
        digest.update(f"{header} {len(body)}\n".encode())
        digest.update(body)
    return digest.hexdigest()


def load_arrays(kind: str, key: str) -> dict[str, NDArray[Any]] | None:
    """Return the arrays stored under `kind` and `key`, or None when there are none that can be read whole."""
    path = _entry(kind, key)
    if path is None:
        return None
    try:
        # Opened here, because np.load leaves the file open when it is no archive.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    # What is raised depends on where a file is damaged, and there is no end of it; all of it means "not there".
    except Exception:
        return None
    version = arrays.pop(FORMAT_FIELD, None)
    if version is None or version.shape != () or int(version) != FORMAT:
        return None
    return arrays


def store_arrays(kind: str, key: str, arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Store arrays under `kind` and `key`, all or nothing; return whether they were, since a full disk is no error."""
    path = _entry(kind, key)
    for name, array in arrays.items():
        if name == FORMAT_FIELD or np.asarray(array).dtype.hasobject:
            raise ValueError(f"arrays: must be plain numbers under a name other than {FORMAT_FIELD!r}, got {name!r}")
    if path is None:
        return False
    saved: dict[str, Any] = {FORMAT_FIELD: np.int64(FORMAT), **arrays}
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The final name appears only once the file is complete, so a reader or a second writer never sees half of one.
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            temporary = file.name
            np.savez(file, **saved)
        os.replace(temporary, path)
        return True
    except OSError:
        return False
    finally:
        # After a success the name is gone already.
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _entry(kind: str, key: str) -> Path | None:
    for name, value in (("kind", kind), ("key", key)):
        if not _NAME.fullmatch(value):
            raise ValueError(f"{name}: must be letters, digits, '-' and '_' only, got {value!r}")
    directory = cache_directory()
    return None if directory is None else directory / f"{kind}-{key}.npz"
