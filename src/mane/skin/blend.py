"""`BlendedSkin`: the mean of two skins, such as the half blend of hsu2024 fig. 4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray
from mane.skin.base import Skin
from mane.stage import memory as checkpoints
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame


class BlendedSkin(Skin):
    """Positions of two skins of the same groom and guides, mixed vertex by vertex.

    With `linear` and a `physical` without drift correction it is what hsu2024 fig. 4 warns of: halfway between a zigzag
    and a drifted strand there is still half a zigzag.

    Args:
        first: one skin.
        second: the other.
        share: how much of the second, 0 to 1.
    """

    name = "blended"

    def __init__(self, first: Skin, second: Skin, share: float = 0.5) -> None:
        if first.groom is not second.groom or first.guides is not second.guides:
            raise ValueError("second: must be bound to the same groom and guides as the first, got others")
        if not 0 <= share <= 1:
            raise ValueError(f"share: must be between 0 and 1, got {share}")
        super().__init__(first.groom, first.guides)
        self.first, self.second = first, second
        self.share = np.float32(share)

    def _fill(self, frame: GuideFrame, out: FloatArray) -> None:
        other = self.second(frame)
        self.first(frame, out)
        out += self.share * (other - out)

    def memory(self) -> Memory:
        """What both skins remember."""
        return checkpoints.save((self.first, self.second)) if self.remembers else {}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        if self.remembers:
            checkpoints.load((self.first, self.second), memory)

    def reset(self) -> None:
        """Begin anew with both."""
        self.first.reset()
        self.second.reset()

    @property
    def remembers(self) -> bool:
        """Whether either skin does."""
        return self.first.remembers or self.second.remembers

    @property
    def nbytes(self) -> int:
        """Bytes that both skins and the buffer hold."""
        return self.first.nbytes + self.second.nbytes + self._points.nbytes
