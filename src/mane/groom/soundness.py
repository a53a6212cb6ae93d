"""Strands that are valid and yet unfit to guide others: cut with points in one place, folded, or left-over stubs.

None of this is damage: grooms of every tool hold some, and hair that is only carried may be so. A guide, however, is
bent by forces that follow from the directions of its segments, and 0.1 um of float32 have no direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray, IntArray
from mane.groom import _kernels_soundness as kernels
from mane.groom.groom import Groom

Mask = NDArray[np.bool_]

# A segment below this share of its strand's mean one says nothing of where the strand goes.
SHORT_SHARE = 1e-3
# A strand this much shorter than the median one is more likely a leftover than a hair.
STUB_SHARE = 0.01
# Of the turn from one segment to the next: beyond 165 degrees hair is folded, not curled.
FOLD_COSINE = -0.966

# What may be wrong, by a word for programs; mildest first.
FAULTS = {
    "doubled": "have points in the same place as the one before",
    "short": f"have segments shorter than {SHORT_SHARE:g} of their mean",
    "folded": "are folded back on themselves",
    "stub": f"are shorter than {STUB_SHARE:.0%} of the median strand",
}


@dataclass(frozen=True, eq=False)
class Soundness:
    """Which strands have which fault, each of shape (S,); names as in `FAULTS`."""

    doubled: Mask
    short: Mask
    folded: Mask
    stub: Mask

    def found(self) -> dict[str, Mask]:
        """Faults that any strand has."""
        masks = {name: getattr(self, name) for name in FAULTS}
        return {name: mask for name, mask in masks.items() if mask.any()}

    @property
    def is_uneven(self) -> Mask:
        """Strands with points in the same place, or nearly so."""
        uneven: Mask = self.doubled | self.short
        return uneven

    def ranks(self) -> NDArray[np.int8]:
        """How unfit each strand is to guide others: 0 sound, 1 uneven, 2 folded, 3 a stub, shape (S,)."""
        return np.select([self.stub, self.folded, self.is_uneven], [3, 2, 1], 0).astype(np.int8)


def soundness(points: FloatArray, offsets: IntArray) -> Soundness:
    """Look for faults in strands `points[offsets[s]:offsets[s + 1]]`, shapes (P, 3) and (S + 1,), of any unit.

    Points may be anything, NaN too; strands without length or with a point that is not finite are no stubs, for worse
    is wrong with them.
    """
    count = len(offsets) - 1
    length, cosine = np.empty(count), np.empty(count)
    doubled, short = np.empty(count, np.int64), np.empty(count, np.int64)
    kernels.measure_strands(points, offsets, SHORT_SHARE, length, doubled, short, cosine)
    with np.errstate(invalid="ignore"):
        has_length = np.isfinite(length) & (length > 0)
        median = np.median(length[has_length]) if has_length.any() else 0.0
        stub = has_length & (length < STUB_SHARE * median)
        return Soundness((doubled > 0) & has_length, (short > 0) & has_length, cosine < FOLD_COSINE, stub)


def soundness_of(groom: Groom) -> Soundness:
    """Look for faults in a groom."""
    return soundness(groom.points, groom.offsets)
