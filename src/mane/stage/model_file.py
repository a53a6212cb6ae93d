"""`ModelFile`: what was learned, in one file, whatever kind of model it is.

A model is a ZIP archive of plain NumPy arrays and a header in JSON (kind, version, facts): NumPy's own .npz, which any
program can read and which holds no code. Its checksums tell a file that was cut or damaged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mane.geometry.archives import DAMAGED_ARCHIVE

FORMAT = "mane model"
HEADER = "header"


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model as a file holds it.

    Attributes:
        kind: what it is a model of, e.g. "adaptive".
        version: of the kind.
        facts: what is worth knowing about it, plain values: sizes, errors, where it came from.
        arrays: by name.
    """

    kind: str
    version: int
    facts: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def write(self, file: BinaryIO) -> None:
        """Write it to a file that is open for writing."""
        header = {"format": FORMAT, "kind": self.kind, "version": self.version, "facts": self.facts}
        text = json.dumps(header, allow_nan=False).encode()
        arrays: dict[str, Any] = {HEADER: np.frombuffer(text, np.uint8), **self.arrays}
        np.savez(file, **arrays)

    @classmethod
    def read(cls, path: str | os.PathLike[str], kind: str, version: int) -> ModelFile:
        """Read a model of a kind.

        Raises:
            ValueError: it is no model, of another kind or version, cut or damaged.
            OSError: it is not there.
        """
        found = cls.read_any(path)
        if found.kind != kind:
            raise ValueError(f"{path}: must be a model of kind {kind!r}, got {found.kind!r}")
        if found.version != version:
            raise ValueError(
                f"{path}: is a model of version {found.version}, and this mane reads {version}; learn it again"
            )
        return found

    @classmethod
    def read_any(cls, path: str | os.PathLike[str]) -> ModelFile:
        """Read a model of any kind; errors as of `read`."""
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                if HEADER not in archive.files:
                    raise ValueError("it has no header")
                header = json.loads(archive[HEADER].tobytes())
                if not isinstance(header, dict) or header.get("format") != FORMAT:
                    raise ValueError("it has no header")
                arrays = {name: archive[name] for name in archive.files if name != HEADER}
                return cls(header["kind"], int(header["version"]), header["facts"], arrays)
        except (ValueError, KeyError, TypeError, AttributeError, *DAMAGED_ARCHIVE) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ValueError(
                f"{path}: is no model of mane, or was cut or damaged ({reason}); learn it again with `mane learn`"
            ) from None
