"""`CachedSource`: guide frames that were simulated before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Pose
from mane.scene.cache import Cache
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame
from mane.strand.source import GuideSource


class CachedSource(GuideSource):
    """Reads frames of a cache, one after the other.

    Args:
        cache: where they are.
        numbers: of the frames, in the order in which they are read.
        made: a source as the one that made them; it knows the guides, the solids and what skins need, and is not
            stepped.
    """

    name = "cache"
    label = "read cache"

    def __init__(self, cache: Cache, numbers: Sequence[int], made: GuideSource) -> None:
        self.guides, self.head, self.solids, self.has_body = made.guides, made.head, made.solids, made.has_body
        self._cache, self._numbers, self._made = cache, list(numbers), made
        self._next = 0

    def reset(self, head_pose: Pose | None = None, *, time: float = 0.0) -> GuideFrame:
        """Read the first frame; where the head is and when is what the frame says."""
        self._next = 0
        return self.step()

    def step(self) -> GuideFrame:
        """Read the next frame; ValueError says what is wrong with its file."""
        if self._next >= len(self._numbers):
            raise ValueError(f"{self._cache.path}: has no frame after {self._numbers[-1]}")
        self._next += 1
        return self._cache.read_frame(self._numbers[self._next - 1])

    def memory(self) -> Memory:
        """Which frame comes next."""
        return {"next": np.array(self._next)}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self._next = int(memory["next"])

    @property
    def rest(self) -> GuideFrame:
        """The guides at rest, as the source that made the frames has them."""
        return self._made.rest

    @property
    def touched(self) -> range:
        """Numbers of the solids that hair touches."""
        return self._made.touched

    @property
    def may_change_lengths(self) -> bool:
        """Whether the guides may get other lengths than at rest."""
        return self._made.may_change_lengths

    def provide(self, need: str) -> Any:
        """Return what the source that made the frames would provide."""
        return self._made.provide(need)
