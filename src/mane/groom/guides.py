"""`Guides`: the few strands that are simulated, and where they came from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import FloatArray, IntArray, as_array, as_floats
from mane.groom.groom import Groom
from mane.groom.resample import resample
from mane.groom.spacing import evened

# Vertices of a guide where neither the caller nor the groom (because its strands differ) says how many.
DEFAULT_VERTICES = 16
LEAST_VERTICES = 3  # that can bend

NOT_FROM_GROOM = -1


@dataclass(frozen=True, eq=False, repr=False)
class Guides:
    """Guide strands in a fixed number of slots, some of which may be empty.

    A solver allocates for all slots once; a guide that is inserted or removed during a run only changes `active` and
    `weight`. Make one with `select_guides`, `Guides.from_groom` or `Guides.chosen`.

    Attributes:
        strands: the rest strands with their attributes, one per slot, all with the same vertex count.
        source: the strand of the groom that each guide is, shape (C,), int64; -1 where it is none of them.
        active: whether the slot holds a guide, shape (C,), bool.
        weight: how far the guide has faded in, 0 to 1, shape (C,), float32; 0 in an empty slot.
    """

    strands: Groom
    source: IntArray
    active: NDArray[np.bool_]
    weight: FloatArray

    def __post_init__(self) -> None:
        if not self.strands.is_uniform:
            counts = self.strands.vertex_counts
            raise ValueError(
                f"guides.strands: must have one vertex count for all strands, got {int(counts.min())} to "
                f"{int(counts.max())}; Guides.from_groom resamples them"
            )
        slots = (self.capacity,)
        object.__setattr__(self, "source", as_array("guides.source", self.source, slots, np.int64))
        object.__setattr__(self, "active", as_array("guides.active", self.active, slots, np.bool_))
        object.__setattr__(self, "weight", as_floats("guides.weight", self.weight, slots))
        self._check_slots()

    def __repr__(self) -> str:
        slots = "" if self.count == self.capacity else f" in {self.capacity:,} slots"
        return f"Guides({self.count:,} guides of {self.vertex_count} vertices{slots})"

    def _check_slots(self) -> None:
        if not self.active.any():
            raise ValueError(f"guides.active: must hold at least one guide, got {self.capacity} empty slots")
        lost = self.source < NOT_FROM_GROOM
        if lost.any():
            first = int(lost.argmax())
            raise ValueError(f"guides.source: must be a strand or -1, got {self.source[first]} in slot {first}")
        wrong = (self.weight < 0) | (self.weight > 1) | (~self.active & (self.weight != 0))
        if wrong.any():
            first = int(wrong.argmax())
            wanted = "between 0 and 1" if self.active[first] else "0 in an empty slot"
            raise ValueError(f"guides.weight: must be {wanted}, got {self.weight[first]} in slot {first}")

    @classmethod
    def from_groom(cls, groom: Groom, vertices: int | None = None) -> Guides:
        """Take every strand of `groom` as a guide of its own, as when an artist made the guides in another tool.

        Args:
            groom: the guide strands.
            vertices: vertex count of the guides; None keeps the strands as they are when they all have the same count,
                of 3 or more, and cuts them to 16 otherwise.

        Strands with points in nearly the same place are cut evenly, since what is between them has no direction.
        """
        strands = _cut(groom, _vertex_count(groom, vertices))
        count = strands.strand_count
        return cls(strands, np.full(count, NOT_FROM_GROOM), np.ones(count, np.bool_), np.ones(count, np.float32))

    @classmethod
    def chosen(cls, groom: Groom, strands: ArrayLike, vertices: int | None = None) -> Guides:
        """Take the given strands of `groom`, by index or mask, as guides that know where they came from."""
        index = np.asarray(strands)
        if index.dtype == np.bool_:
            index = np.flatnonzero(index)
        if not len(index):
            raise ValueError(
                "guides: must be at least one strand, got none; mane.select_guides(groom, 128) chooses some"
            )
        picked = _cut(groom.take(strands), _vertex_count(groom, vertices))
        return cls(picked, index, np.ones(len(index), np.bool_), np.ones(len(index), np.float32))

    @property
    def count(self) -> int:
        """Number of guides, empty slots apart."""
        return int(self.active.sum())

    @property
    def capacity(self) -> int:
        """Number of slots."""
        return self.strands.strand_count

    @property
    def vertex_count(self) -> int:
        """Number of vertices of every guide."""
        return int(self.strands.vertex_counts[0])

    @property
    def rest(self) -> FloatArray:
        """Rest positions of all slots [m], shape (C, V, 3); those of an empty slot are finite and mean nothing."""
        return self.strands.as_uniform()

    @property
    def roots(self) -> FloatArray:
        """Root of every slot [m], shape (C, 3)."""
        return self.strands.roots

    def with_capacity(self, capacity: int) -> Guides:
        """Return the same guides with empty slots added behind them, `capacity` in all."""
        extra = capacity - self.capacity
        if extra < 0:
            raise ValueError(f"capacity: must be at least {self.capacity} (= slots there are), got {capacity}")
        # An empty slot repeats the first one, so that a kernel that runs over all slots meets ordinary numbers.
        rows = np.concatenate([np.arange(self.capacity), np.zeros(extra, np.int64)])
        return Guides(
            self.strands.take(rows),
            np.concatenate([self.source, np.full(extra, NOT_FROM_GROOM)]),
            np.concatenate([self.active, np.zeros(extra, np.bool_)]),
            np.concatenate([self.weight, np.zeros(extra, np.float32)]),
        )

    def without_empty_slots(self) -> Guides:
        """Return the guides alone, with a slot for each and none to spare."""
        if self.active.all():
            return self
        kept = self.active
        return Guides(self.strands.take(kept), self.source[kept], self.active[kept], self.weight[kept])


def _vertex_count(groom: Groom, wanted: int | None) -> int:
    if wanted is not None:
        return wanted
    own = int(groom.vertex_counts[0]) if groom.is_uniform else 0
    return own if own >= LEAST_VERTICES else DEFAULT_VERTICES


def _cut(groom: Groom, vertices: int) -> Groom:
    if groom.is_uniform and groom.vertex_counts[0] == vertices:
        return evened(groom)
    return evened(resample(groom, vertices=vertices).groom)
