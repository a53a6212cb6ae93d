"""`Bundles`: hairs that share their guides, and which place of a guide goes with which vertex of theirs.

What a kernel reads of the guides is then prepared once per bundle and frame, instead of once per hair:

```
   hair    0-----1-----2-----3        parameter[bundle, guide, 2] = 2.4: vertex 2 of these hairs follows the place 0.4
   guide   0----1----2---'-3----4     of the way from vertex 2 to vertex 3 of that guide
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.arclength import arc_lengths
from mane.geometry.checks import IntArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin import _kernels_bundles as kernels
from mane.skin.binding import GuideBinding

# Hairs of one bundle differ in length by less than this factor, so that a vertex stands for about the same arc length.
LENGTH_RANGE = 1.25


@dataclass(frozen=True, eq=False)
class Bundles:
    """S hairs of V vertices in M bundles, each with K guides.

    Attributes:
        of_hair: bundle of each hair, shape (S,), int32.
        guide: slots of the guides of each bundle, shape (M, K), int32.
        parameter: place on each guide that goes with each vertex, as its vertex number and the fraction of the way to
            the next, shape (M, K, V), float32; rises along a hair from 0 at its root, never beyond the guide's tip.
    """

    of_hair: NDArray[np.int32]
    guide: NDArray[np.int32]
    parameter: NDArray[np.float32]

    @property
    def bundle_count(self) -> int:
        """Number of bundles, M."""
        return len(self.guide)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.of_hair.nbytes + self.guide.nbytes + self.parameter.nbytes

    def by_bundle(self) -> tuple[IntArray, IntArray]:
        """Hairs in the order of their bundles (S,), and where each bundle starts in it (M + 1,)."""
        order = np.argsort(self.of_hair, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.of_hair, minlength=self.bundle_count))])
        return order, starts


def make_bundles(
    groom: Groom, guides: Guides, binding: GuideBinding, transport: NDArray[np.float32] | None = None
) -> Bundles:
    """Sort the hairs of a groom with one vertex count into bundles, and find their places on the guides.

    Args:
        groom: the hairs.
        guides: what they are bound to.
        binding: how.
        transport: a turn from the root of each guide to that of each hair, matrices (S, K, 9). Where it is given,
            places are those closest to the hair as it would stand on its guide's root; else, to the hair where it is.
    """
    turn = np.empty((0, 0, 9), np.float32) if transport is None else transport
    of_hair, guide = _sorted_out(groom, binding)
    points = groom.as_uniform()
    parameter = np.empty((len(guide), binding.guides_per_hair, points.shape[1]), np.float32)
    bundles = Bundles(of_hair, guide, parameter)
    order, starts = bundles.by_bundle()
    arcs = _arcs(groom), _arcs(guides.strands)
    kernels.fill_parameters(points, arcs[0], guides.rest, arcs[1], order, starts, guide, turn, parameter)
    return bundles


def _sorted_out(groom: Groom, binding: GuideBinding) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Bundle of each hair (S,) and guides of each bundle (M, K)."""
    sets, of_hair = _unique_rows(binding.guides)
    length = np.maximum(groom.lengths.astype(np.float64), np.finfo(np.float32).tiny)
    shortest = np.full(len(sets), np.inf)
    np.minimum.at(shortest, of_hair, length)
    size = np.floor(np.log(length / shortest[of_hair]) / np.log(LENGTH_RANGE)).astype(np.int64)
    kinds, bundle = _unique_rows(np.stack([of_hair, size], axis=1))
    return bundle.astype(np.int32), np.ascontiguousarray(sets[kinds[:, 0]])


def _unique_rows(rows: NDArray[Any]) -> tuple[NDArray[Any], IntArray]:
    """Different rows of whole numbers (S, K), not negative, in their order, and which of them each row is (S,)."""
    base = int(rows.max()) + 1
    if base ** rows.shape[1] >= 2**63:
        unique, number = np.unique(rows, axis=0, return_inverse=True)
        return unique, number.reshape(-1)
    key = np.zeros(len(rows), np.int64)  # rows as one number each sort in a tenth of the time
    for column in rows.T:
        key = key * base + column
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return rows[first], number


def _arcs(strands: Groom) -> NDArray[np.float64]:
    return arc_lengths(strands.points, strands.offsets).reshape(strands.strand_count, -1)
