"""What a compiled kernel is made of: kernels are kept on disk by Numba, and forgotten when they should be new.

Numba looks at the file of a kernel alone. A kernel calls kernels and bakes in constants of other files, and would go on
with what these were when it was compiled, even to the point of writing past the end of an array. Here the stamp of a
kernel covers its file and, through the imports of `_kernels*.py` files, all that can end up in its machine code; this
folder counts as one whole, since every kernel is compiled through it.

Nothing here knows Numba: `numba_internals` hands the stamps to it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOM = Path(__file__).resolve().parent.name
PACKAGE = Path(__file__).resolve().parents[1]
KERNELS = "_kernels"
IMPORT = re.compile(
    rf"^(?:from\s+({PACKAGE.name}[\w.]*)\s+import\s+(\([^)]*\)|[^\n#]*)|import\s+({PACKAGE.name}[\w.]*))", re.M
)


@cache
def stamp_of(file: Path, package: Path = PACKAGE) -> str:
    """A digest of a file of kernels and of all files of the package that it may have taken code or constants from."""
    digest = hashlib.sha256()
    for path in sorted(ingredients(file, package)):
        digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def ingredients(file: Path, package: Path = PACKAGE) -> set[Path]:
    """Files that the kernels of a file may be made of, itself and all of this folder included."""
    found, waiting = {file, *(package / ROOM).glob("*.py")}, [file]
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
