"""`KeptFrames`: the frames of a long scene, each kept on disk: a run that was stopped goes on after the last."""

from __future__ import annotations

import json
import time as clock
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mane.geometry.archives import DAMAGED_ARCHIVE
from mane.io.atomic import atomic_write
from mane.measure.reproduce.reproduce import ProgressCallback

STATE, KEY, NUMBER = "state.npz", "key", "frames"


class Remembering(Protocol):
    """What continues exactly from its arrays."""

    def memory(self) -> dict[str, NDArray[Any]]:
        """Arrays that continue exactly."""

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""


class Rows:
    """Numbers that are gathered frame by frame, by name; a list each."""

    def __init__(self, *names: str) -> None:
        self.of: dict[str, list[float]] = {name: [] for name in names}

    def memory(self) -> dict[str, NDArray[Any]]:
        """All numbers."""
        return {name: np.array(values, np.float64) for name, values in self.of.items()}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.of = {name: memory[name].tolist() for name in self.of}


class KeptFrames:
    """Counts the frames of a scene, tells how long it will take, and keeps what is needed to go on.

    Args:
        folder: for the state; made where it is not there.
        key: what must be alike for a run to go on, sizes and the like.
        count: frames of the whole scene.
        parts: what remembers, by name.
        tell: as of a scene.
        title: of the frames, for `tell`.
    """

    def __init__(
        self,
        folder: Path,
        key: Mapping[str, Any],
        count: int,
        parts: Mapping[str, Remembering],
        tell: ProgressCallback,
        title: str,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file, self._key, self._count = folder / STATE, json.dumps(key, sort_keys=True), count
        self._parts, self._tell, self._title = parts, tell, title
        self.done = self._found()

    def _found(self) -> int:
        """Restore what an earlier run left; the number of its frames, 0 where there was none like this."""
        if not self._file.is_file():
            return 0
        try:
            with np.load(self._file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except (*DAMAGED_ARCHIVE, ValueError, OSError):
            return 0  # begun anew, as if it were not there
        if str(arrays.get(KEY)) != self._key:
            return 0
        for name, part in self._parts.items():
            part.restore({key[len(name) + 1 :]: array for key, array in arrays.items() if key.startswith(f"{name}/")})
        return int(arrays[NUMBER])

    def __iter__(self) -> Iterator[int]:
        """Numbers of the frames that are left, from 0 on; each is kept when the next is asked for."""
        first, began = self.done, clock.monotonic()
        for number in range(first, self._count):
            each = (clock.monotonic() - began) / max(number - first, 1)
            left = f", {each:.2g} s each, {each * (self._count - number) / 60:.1f} min left" if number > first else ""
            self._tell(f"{self._title}, frame {number + 1} of {self._count}{left}", number / self._count)
            yield number
            self.done = number + 1
            self._keep()

    def _keep(self) -> None:
        arrays = {f"{name}/{key}": array for name, part in self._parts.items() for key, array in part.memory().items()}
        with atomic_write(self._file) as file:
            np.savez(file, allow_pickle=False, **{KEY: np.array(self._key), NUMBER: np.array(self.done), **arrays})
