"""What is remembered of the contacts of all strands with one solid, from one step to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.contact.solids._kernels_contact import TRAIL_SIZE
from mane.geometry.checks import as_array
from mane.strand.model import Float64Array


@dataclass(eq=False)
class ContactList:
    """Contacts of G strands with one solid, at most C of them each, in the order of their places along the strand.

    Attributes:
        count: how many there are, shape (G,), int64.
        place: where on the strand, shape (G, C), int32; see `_kernels`.
        pressed: normal force, below zero where the contact held hair back [N], shape (G, C).
        trail: what friction remembers, see `_kernels_contact`, shape (G, C, TRAIL_SIZE).
    """

    count: NDArray[np.int64]
    place: NDArray[np.int32]
    pressed: Float64Array
    trail: Float64Array

    @classmethod
    def empty(cls, strand_count: int, capacity: int) -> ContactList:
        """Allocate lists without a contact."""
        shape = (strand_count, capacity)
        return cls(
            np.zeros(strand_count, np.int64),
            np.full(shape, -1, np.int32),
            np.zeros(shape),
            np.zeros((*shape, TRAIL_SIZE)),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of what matters, by name; rows behind the end of a list are blank."""
        unused = np.arange(self.place.shape[1]) >= self.count[:, None]
        return {
            "count": self.count.copy(),
            "place": np.where(unused, np.int32(-1), self.place),
            "pressed": np.where(unused, 0.0, self.pressed),
            "trail": np.where(unused[..., None], 0.0, self.trail),
        }

    def assign(self, where: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `arrays` returned."""
        for name in ("count", "place", "pressed", "trail"):
            mine = getattr(self, name)
            mine[...] = as_array(f"{where}.{name}", arrays[name], mine.shape, mine.dtype)
