"""`NearSets`: the naive variant (chai2017 7.2, eq. 11), without training: nearest guides, weights at run time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray, IntArray
from mane.geometry.index import PointIndex
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.adaptive import _kernels_blend as blending
from mane.skin.adaptive import _kernels_choose as choosing
from mane.skin.adaptive import _kernels_printed as printed
from mane.skin.adaptive.blend import Blend, BlendTables, masked_weights
from mane.skin.adaptive.graph import GuideGraph, MotionScale, every_pair, shared_pairs
from mane.skin.adaptive.params import AdaptiveParams
from mane.skin.binding import by_group, canonical_order

# Guides around a root among which the nearest strands are looked for, over the number that is wanted.
CANDIDATES = 3
ROWS_AT_ONCE = 2048


class NearSets:
    """Sets that are cliques of the nearest guides of a hair.

    Args:
        groom: the hairs at rest.
        guides: what carries them.
        params: how many guides are eligible, and how sets are chosen.

    Attributes:
        slots: eligible guides of each hair, nearest first, shape (S, M), int32.
        counts: how many of them there are, shape (S,), int32.
    """

    nothing = 0  # what `chosen` is for a hair without guides

    def __init__(self, groom: Groom, guides: Guides, params: AdaptiveParams) -> None:
        self._params = params
        self.slots, self.counts, distance = nearest_strands(groom, guides, params.eligible)
        self._affinity = (1 / np.maximum(distance, blending.CLOSEST)).astype(np.float32)
        self._whole = ((1 << self.counts) - 1).astype(np.int32)

    def motion_scale(self, guides: Guides) -> MotionScale:
        """What the motion of guides is measured by; cliques as printed are those of all guides."""
        of_hairs = self.slots, self.counts, guides.capacity
        pairs = every_pair(guides.capacity) if self._params.paper else shared_pairs(*of_hairs)
        return MotionScale.at_rest(guides.rest, pairs)

    def first(self) -> NDArray[np.int32]:
        """What is chosen where nothing disturbs the hair, (S,)."""
        return self._whole.copy()

    def members(self, chosen: NDArray[np.int32]) -> NDArray[np.int32]:
        """Masks of the sets that are chosen (S,)."""
        return chosen

    def choose(
        self, graph: GuideGraph, tables: BlendTables, present: FloatArray, before: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Masks of this frame, after those of the frame `before` (S,)."""
        chosen = before.copy()
        if self._params.paper:
            of_hairs = (tables.positions, tables.tangents, tables.rows, present)
            printed.choose_printed_near(self.slots, self.counts, graph.cliques(), *of_hairs, chosen)
        else:
            choosing.choose_near(
                self.slots, self.counts, self._affinity, graph.edges, float(self._params.hysteresis), chosen
            )
        return chosen

    def weights(self, tables: BlendTables, hairs: IntArray, chosen: NDArray[np.int32]) -> NDArray[np.float64]:
        """Weights of the guides of some hairs along them, of sum 1 where they have any, (H, M, V)."""
        rest, guides = tables.rest[hairs].astype(np.float64), tables.guide_rest[tables.rows[hairs]]
        inverse = 1 / np.maximum(np.linalg.norm(guides - rest[:, None], axis=2), blending.CLOSEST)
        return masked_weights(inverse, chosen[hairs])

    def blend(self, tables: BlendTables, blend: Blend, out: FloatArray) -> None:
        """Fill `out (S, 3 V)` with the hairs of a frame."""
        blending.blend_near(
            *(tables.positions, tables.rows, blend.present),
            *(blend.before, blend.now, blend.rotation, blend.translation, blend.decay),
            *(blend.offset, blend.is_fading, out),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.slots.nbytes + self.counts.nbytes + self._affinity.nbytes + self._whole.nbytes


def nearest_strands(
    groom: Groom, guides: Guides, count: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """The guides nearest to each hair, by the mean distance of vertices at the same share of the length.

    Returns:
        Their slots (S, M), nearest first, the last one repeated where there are fewer; how many there are (S,); their
        distances [m] (S, M).
    """
    places = min(count, guides.count)
    slots = np.empty((groom.strand_count, places), np.int32)
    counts = np.empty(groom.strand_count, np.int32)
    distance = np.empty((groom.strand_count, places))
    points = groom.as_uniform()
    along = np.linspace(0, guides.vertex_count - 1, points.shape[1])
    before = np.minimum(along.astype(np.int64), guides.vertex_count - 2)
    share = (along - before)[:, None].astype(np.float32)
    shapes = guides.rest[:, before] * (1 - share) + guides.rest[:, before + 1] * share
    for hairs, eligible in by_group(groom, guides, canonical_order(guides)):
        index = PointIndex(guides.roots[eligible])
        for start in range(0, len(hairs), ROWS_AT_ONCE):
            rows = hairs[start : start + ROWS_AT_ONCE]
            candidates = eligible[index.nearest(groom.roots[rows], CANDIDATES * places)[1]]
            found, order = _ranked(points[rows], shapes, candidates, min(places, len(eligible)))
            width = found.shape[1]
            counts[rows] = width
            slots[rows] = np.pad(found, ((0, 0), (0, places - width)), mode="edge")
            distance[rows] = np.pad(order, ((0, 0), (0, places - width)), mode="edge")
    return slots, counts, distance


def _ranked(
    points: FloatArray, shapes: FloatArray, candidates: IntArray, count: int
) -> tuple[IntArray, NDArray[np.float64]]:
    """The `count` nearest of the candidates (H, C) of each hair `points (H, V, 3)`, and their distances."""
    way = np.linalg.norm(shapes[candidates] - points[:, None], axis=3).mean(axis=2, dtype=np.float64)
    order = np.argsort(way, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(way, order, axis=1)
