"""A number for every strand, from which everything random about it follows, in any order and in every frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.groom.groom import Groom


def strand_numbers(groom: Groom) -> NDArray[np.uint64]:
    """A number per strand that follows it through any reordering, shape (S,)."""
    if "id" in groom.strand:
        words = groom.strand["id"].astype(np.uint32)[:, None]
    else:
        place = groom.strand.get("root_uv", groom.roots)
        words = (np.ascontiguousarray(place, np.float32) + np.float32(0.0)).view(np.uint32)  # -0 becomes 0
    numbers = np.zeros(groom.strand_count, np.uint64)
    for column in words.T:
        numbers = _mix(numbers ^ column.astype(np.uint64))
    return numbers


def uniform(numbers: NDArray[np.uint64], stream: int) -> NDArray[np.float64]:
    """Evenly spread numbers between 0 and 1, both excluded, shape (S,); each stream is independent."""
    mixed = _mix(numbers ^ _mix(np.full(1, stream, np.uint64)))
    return ((mixed >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits of 64-bit numbers (the finaliser of SplitMix64, Steele et al. 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
