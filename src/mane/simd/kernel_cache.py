"""What a compiled kernel is made of: kernels are kept on disk by Numba, and forgotten when they should be new.

Numba looks at the file of a kernel alone. A kernel calls kernels and bakes in constants of other files, and would go on
with what these were when it was compiled, even to the point of writing past the end of an array. Here the stamp of a
kernel covers its file and, through the imports of `_kernels*.py` files, all that can end up in its machine code; this
folder counts as one whole, since every kernel is compiled through it, but for files that only keep and count kernels.

Nothing here knows Numba: `numba_kept` hands the stamps to it.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

ROOM = Path(__file__).resolve().parent.name
PACKAGE = Path(__file__).resolve().parents[1]
KERNELS = "_kernels"
# Files of this folder that have no part in machine code: they keep kernels, count them and see to when they are made.
APART = {"claims.py", "helper.py", "kernel_cache.py", "kernel_folder.py", "notice.py", "numba_kept.py"}
IMPORT = re.compile(
    rf"^(?:from\s+({PACKAGE.name}[\w.]*)\s+import\s+(\([^)]*\)|[^\n#]*)|import\s+({PACKAGE.name}[\w.]*))", re.M
)


@cache
def stamp_of(file: Path, package: Path = PACKAGE) -> str:
    """A digest of a file of kernels and of all files of the package that it may have taken code or constants from."""
    digest = hashlib.sha256()
    for name, path in sorted((_name(path, package), path) for path in ingredients(file, package)):
        digest.update("/".join(name).encode() + b"\0" + _content(path))
    return digest.hexdigest()


# Most files are part of many kernels.
_content = cache(Path.read_bytes)


@cache
def _name(path: Path, package: Path) -> tuple[str, ...]:
    return path.relative_to(package).parts


def ingredients(file: Path, package: Path = PACKAGE) -> set[Path]:
    """Files that the kernels of a file may be made of, itself and all of this folder included."""
    found, waiting = {file, *_whole_room(package)}, [file]
    while waiting:
        path = waiting.pop()
        if path != file and not path.name.startswith(KERNELS):
            continue  # kernels take constants from it, and nothing of what it imports itself
        new = _imported(path, package) - found
        found |= new
        waiting += new
    return found


@cache
def _whole_room(package: Path) -> frozenset[Path]:
    return frozenset(path for path in (package / ROOM).glob("*.py") if path.name not in APART)


@cache
def _imported(file: Path, package: Path) -> frozenset[Path]:
    """Files of the package that a file imports by name."""
    found: list[Path] = []
    for module, names, plain in IMPORT.findall(_content(file).decode()):
        base = package.joinpath(*(module or plain).split(".")[1:])
        inner = [base / name for name in re.findall(r"\w+", names)]
        found += [path for path in (one.with_suffix(".py") for one in (base, *inner)) if path.is_file()]
    return frozenset(found)


def forget() -> None:
    """Read files again when they are asked for: they may have changed."""
    for known in (stamp_of, _content, _name, _whole_room, _imported):
        known.cache_clear()
