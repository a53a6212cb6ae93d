"""`HasSets`: a skin whose hairs hang on sets of guides of their own, as others see it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom


@runtime_checkable
class HasSets(Protocol):
    """What a skin needs that lets hairs feel the guides of the sets of another one.

    Attributes:
        groom: the hairs.
    """

    groom: Groom

    @property
    def guide_rows(self) -> Any:
        """Guide of each of R rows, `guide (R, 1)`, and places on it that go with vertices, `parameter (R, 1, V)`."""

    def blend_rows(self, values: FloatArray) -> FloatArray:
        """What hairs have of `values (R, 3, V)` of the rows, by the sets of the last frame, (S, V, 3)."""
        ...
