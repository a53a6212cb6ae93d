"""Kernels on disk: what is changed of Numba's cache, for functions of this package alone.

They are kept by content in one folder of the user (`kernel_folder`), under a stamp of all that they are made of
(`kernel_cache`); a damaged file or a full disk costs time and no run; machines that share a folder do not mix kernels
up. Nothing here takes part in machine code.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import contextlib
import hashlib
import itertools
import platform
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy
from numba.core import caching, config

from mane.simd import claims
from mane.simd.kernel_cache import PACKAGE, stamp_of
from mane.simd.kernel_folder import KernelFolder, folder_for
from mane.simd.numba_libraries import _Scope

# Settings that have no part in machine code.
HARMLESS = {"CACHE_DIR", "CACHE_LOCATOR_CLASSES", "NUMBA_NUM_THREADS", "NUMBA_DEFAULT_NUM_THREADS", "THREADING_LAYER"}


def surroundings() -> str:
    """All that machine code depends on but the source, the types of arguments and the CPU, which Numba looks at itself.

    Settings are among it (bounds that are checked, a library of vector functions that is there or not), all of them
    but `HARMLESS` ones: a kernel must not be taken for one of another kind.
    """
    settings = {name: repr(value) for name, value in vars(config).items() if name.isupper() and name not in HARMLESS}
    plain = {name: value for name, value in settings.items() if " at 0x" not in value}
    python = (*sys.version_info[:3], sys.implementation.cache_tag, platform.machine(), sys.platform)
    versions = (numba.__version__, llvmlite.__version__, numpy.__version__, *python)
    return repr((versions, sorted(plain.items())))


class _Kept(caching.UserWideCacheLocator):
    """Where kernels of this package are kept, and of no others: by content, see `kernel_folder`."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno
        self._stamp = stamp_of(_resolved(py_file))
        self._cache_path = str(kept_kernels().of(_source(_resolved(py_file)), self._stamp))

    def get_source_stamp(self) -> str:
        return self._stamp

    def ensure_cache_path(self) -> None:
        Path(self._cache_path).mkdir(parents=True, exist_ok=True)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        file = _resolved(py_file)
        return cls(py_func, py_file) if file.is_relative_to(PACKAGE) and file.is_file() else None


@cache
def _resolved(file: str) -> Path:
    return Path(file).resolve()


@cache
def _source(file: Path) -> str:
    """A readable name of a file of kernels."""
    return ".".join(file.relative_to(PACKAGE).with_suffix("").parts)


@cache
def kept_kernels() -> KernelFolder:
    """The folder that this process keeps kernels in."""
    return folder_for(str(config.CACHE_DIR), surroundings())  # type: ignore[attr-defined]


def _mark(kernels: Any) -> Path:
    return Path(f"{kernels._cache_file._index_path}.claim")


def keep_by_content() -> None:
    """Let Numba keep kernels of this package where `kernel_folder` says, and look at everything that they are made of.

    A folder that cannot be written or has been damaged costs time, and no run. A kernel that Python calls is compiled
    by one process at a time; what is compiled on behalf of it goes unclaimed.
    """
    caching.CacheImpl._locator_classes.insert(0, _Kept)
    load, save = caching.Cache.load_overload, caching.Cache.save_overload

    def loaded(kernels: Any, sig: Any, context: Any) -> Any:
        if not isinstance(kernels._impl.locator, _Kept):
            return load(kernels, sig, context)
        try:
            kernel = load(kernels, sig, context)
        # A file cut off by a full disk or a power cut: what is raised depends on where, and there is no end of it.
        except Exception:
            with contextlib.suppress(OSError):
                kernels.flush()
            return None
        if kernel is not None:
            kept_kernels().use(kernels.cache_path)
        return kernel

    def loaded_or_claimed(kernels: Any, sig: Any, context: Any) -> Any:
        kernel = loaded(kernels, sig, context)
        if kernel is None and _Scope.depth == 0 and isinstance(kernels._impl.locator, _Kept):
            kernel = claims.await_or_claim(_mark(kernels), lambda: loaded(kernels, sig, context))
        return kernel

    def saved(kernels: Any, sig: Any, kernel: Any) -> None:
        if not isinstance(kernels._impl.locator, _Kept):
            save(kernels, sig, kernel)
            return
        try:
            save(kernels, sig, kernel)
            kept_kernels().prune()
        except OSError as error:
            kept_kernels().tell(error)
        finally:
            claims.release(_mark(kernels))

    setattr(caching.Cache, "load_overload", loaded_or_claimed)  # noqa: B010 - methods of Numba's own
    setattr(caching.Cache, "save_overload", saved)  # noqa: B010


def forget_unreadable_kernels() -> None:
    """Let an index on disk that names types which are no longer there count as empty, as one of another Numba does.

    Numba reads the types of all kept kernels before it compares stamps. Types that moved with a new version of this
    package would make every kernel fail that was compiled with the old one.
    """
    load_index = caching.IndexDataCacheFile._load_index

    def loaded(file: Any) -> Any:
        try:
            return load_index(file)
        except (ImportError, AttributeError):
            return {}

    setattr(caching.IndexDataCacheFile, "_load_index", loaded)  # noqa: B010 - a method of Numba's own


def keep_kernels_apart() -> None:
    """Name the file of a kept kernel after what it was compiled for: CPU, types of the arguments, code.

    Numba numbers the files of a function's kernels and looks the next number up in an index. Machines of a cluster that
    share the folder may find the same number at the same time, and one would then run code that was made for the CPU of
    the other. Names that say what is in a file cannot clash.
    """
    save = caching.IndexDataCacheFile.save

    def saved(file: Any, key: Any, data: Any) -> None:
        if not isinstance(file._source_stamp, str):  # not ours, see `_Kept`: Numba's own stamps are no words
            save(file, key, data)
            return
        overloads = file._load_index()
        if key not in overloads:
            overloads[key] = _telling_name(file._data_name_pattern, key, set(overloads.values()))
            file._save_index(overloads)
        file._save_data(overloads[key], data)

    setattr(caching.IndexDataCacheFile, "save", saved)  # noqa: B010 - a method of Numba's own


def _telling_name(pattern: str, key: Any, taken: set[str]) -> str:
    """A name that follows from the key of a kernel, and is not among those that others of its function have."""
    # Functions among the types show their address, which another process has elsewhere; such keys may look alike.
    told = re.sub(r"0x[0-9a-f]+", "", repr(key))
    for count in itertools.count():
        name = pattern.replace("{number:d}", hashlib.sha256(f"{count} {told}".encode()).hexdigest()[:16])
        if name not in taken:
            return name
    raise AssertionError


keep_by_content()
keep_kernels_apart()
forget_unreadable_kernels()
