"""`TieLocation`: where a style needs a tie."""

from __future__ import annotations

from dataclasses import dataclass

from mane.geometry.checks import FloatArray


@dataclass(frozen=True, eq=False)
class TieLocation:
    """A tie as a style knows it; `mane.contact.ties.ties` makes one of it that holds.

    Attributes:
        point: its centre in the rest pose [m], shape (3,).
        radius: of the hair within it [m].
        at_head: whether it sits at the head, held by the taut hair around it, or swings with the hair.
    """

    point: FloatArray
    radius: float
    at_head: bool
