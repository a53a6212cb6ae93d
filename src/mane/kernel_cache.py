"""Compiled kernels are kept on disk by Numba; this makes it forget them when anything that they are made of changes.

Numba looks at the file of a kernel alone. A kernel calls kernels and bakes in constants of other files, and would go on
with what these were when it was compiled, even to the point of writing past the end of an array. Here the stamp of a
kernel covers its file and, through the imports of `_kernels*.py` files, all that can end up in its machine code.

Importing this module is enough: `mane/__init__.py` does so before the first file of kernels is loaded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import caching

PACKAGE = Path(__file__).resolve().parent
KERNELS = "_kernels"
IMPORT = re.compile(r"^(?:from\s+(mane[\w.]*)\s+import\s+(\([^)]*\)|[^\n#]*)|import\s+(mane[\w.]*))", re.M)


@cache
def stamp_of(file: Path, package: Path = PACKAGE) -> str:
    """A digest of a file of kernels and of all files of the package that it may have taken code or constants from."""
    digest = hashlib.sha256()
    for path in sorted(_ingredients(file, package)):
        digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _ingredients(file: Path, package: Path) -> set[Path]:
    found, waiting = {file}, [file]
    while waiting:
        path = waiting.pop()
        if path != file and not path.name.startswith(KERNELS):
            continue  # kernels take constants from it, and nothing of what it imports itself
        new = set(_imported(path, package)) - found
        found |= new
        waiting += new
    return found


def _imported(file: Path, package: Path) -> Iterator[Path]:
    """Files of the package that a file imports by name."""
    for module, names, plain in IMPORT.findall(file.read_text(encoding="utf-8")):
        base = package.joinpath(*(module or plain).split(".")[1:])
        inner = [base / name for name in re.findall(r"\w+", names)]
        yield from (path for path in (one.with_suffix(".py") for one in (base, *inner)) if path.is_file())


class _OfMane:
    """Mixed into Numba's own places to keep kernels: for files of this package only, with the wider stamp."""

    _py_file: str

    def get_source_stamp(self) -> str:
        return stamp_of(Path(self._py_file).resolve())

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        if not Path(py_file).resolve().is_relative_to(PACKAGE):
            return None
        return super().from_function(py_func, py_file)  # type: ignore[misc]


class _UserProvided(_OfMane, caching.UserProvidedCacheLocator):
    """The folder that $NUMBA_CACHE_DIR names."""


class _InTree(_OfMane, caching.InTreeCacheLocator):
    """Beside the source."""


class _UserWide(_OfMane, caching.UserWideCacheLocator):
    """The user's cache folder, where the source cannot be written beside."""


caching.CacheImpl._locator_classes[:0] = [_UserProvided, _InTree, _UserWide]
