"""Compiled kernels are kept on disk by Numba; this makes them what they were, and forgets them when they should be new.

Numba looks at the file of a kernel alone. A kernel calls kernels and bakes in constants of other files, and would go on
with what these were when it was compiled, even to the point of writing past the end of an array. Here the stamp of a
kernel covers its file and, through the imports of `_kernels*.py` files, all that can end up in its machine code.

A kernel has copies of the kernels that it calls, where they are not inlined. In the process that compiles it, the
linker takes the first copy that it met instead, that of another kernel or of the function by itself, which may be
optimised and thus rounded differently; from disk the kernel comes with its own. So that the first run gives the bytes
of all later ones, copies are made private to their kernel.

A function that does not say whether it may be computed with fastmath takes that over from whichever kernel happened to
call it first. Functions of mane that do not say so are strict, whoever calls them.

Importing this module is enough: `mane/__init__.py` does so before the first file of kernels is loaded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm
from numba.core import caching, codegen, dispatcher

# Options that Numba would take over from the first caller, with the values that they have without one.
INHERITED = {"fastmath": False, "forceinline": False, "error_model": "python", "_nrt": True}
MANGLED_MANE = "_ZN4mane"  # how names of functions of this package begin in machine code
PACKAGE = Path(__file__).resolve().parent
KERNELS = "_kernels"
IMPORT = re.compile(r"^(?:from\s+(mane[\w.]*)\s+import\s+(\([^)]*\)|[^\n#]*)|import\s+(mane[\w.]*))", re.M)


@cache
def stamp_of(file: Path, package: Path = PACKAGE) -> str:
    """A digest of a file of kernels and of all files of the package that it may have taken code or constants from."""
    digest = hashlib.sha256(Path(__file__).read_bytes())  # how kernels are linked is part of what they are
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


def _with_private_copies(finalize: Callable[[Any], None]) -> Callable[[Any], None]:
    """Let a library of kernels of mane keep its copies of what it calls to itself when it is handed to the linker."""

    def finalized(library: Any) -> None:
        module = library._final_module
        names = [function.name for function in module.functions if not function.is_declaration]
        if any(name.startswith(MANGLED_MANE) for name in names):
            # What other libraries are compiled with stays as Numba has it: one copy of each function for all.
            if library._shared_module is None:
                library._shared_module = _relinked(module.clone(), names, llvm.Linkage.external, "linkonce_odr")
            _relinked(module, names, llvm.Linkage.linkonce_odr, "internal")
        finalize(library)

    return finalized


def _relinked(module: Any, names: list[str], before: Any, after: str) -> Any:
    for name in names:
        function = module.get_function(name)
        if function.linkage == before:
            function.linkage = after
    return module


setattr(  # noqa: B010 - a method of Numba's own
    codegen.CPUCodeLibrary,
    "_finalize_final_module",
    _with_private_copies(codegen.CPUCodeLibrary._finalize_final_module),
)


def _with_own_options(init: Callable[..., None]) -> Callable[..., None]:
    """Let functions of mane have the options that they were given, and none of their callers'."""

    def initialised(self: Any, py_func: Any, locals: Any = None, targetoptions: Any = None, **others: Any) -> None:
        if str(py_func.__module__).startswith("mane."):
            targetoptions = {**INHERITED, **(targetoptions or {})}
        init(self, py_func, locals, targetoptions, **others)

    return initialised


setattr(dispatcher.Dispatcher, "__init__", _with_own_options(dispatcher.Dispatcher.__init__))  # noqa: B010
