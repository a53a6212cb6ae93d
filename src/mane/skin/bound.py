"""`BoundSkin`: a skin whose hairs hang on a few guides each, and what other tools want to know of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin import _kernels_fade as kernels
from mane.skin.base import Skin
from mane.skin.binding import Binding, GuidesPerHair, bind_guides
from mane.skin.bundles import Bundles, make_bundles
from mane.skin.inserted import Following, Regrouped, follow, regroup
from mane.strand.frame import GuideFrame

# Below this share of its guides, a hair is handed over to the head, little by little until the last guide is gone.
LEAST_PRESENCE = 0.05


class BoundSkin(Skin):
    """A skin with a `GuideBinding`.

    Args:
        groom: the dense hair at rest, all strands with the same vertex count.
        guides: what carries it, at rest; empty slots carry nothing.
        binding: `triangle`, `single`, `nearest` or `clump`; see `bind_guides`.
        count: guides per hair of `nearest`.

    Attributes:
        binding: guides and weights of every hair.
        bundles: hairs that share guides and places on them.
    """

    def __init__(
        self, groom: Groom, guides: Guides, *, binding: Binding = "triangle", count: GuidesPerHair = 3
    ) -> None:
        super().__init__(groom, guides)
        self.binding = bind_guides(groom, guides, binding, count)
        self.bundles = self._bundled()
        self._following: Following | None = None

    def _bundled(self) -> Bundles:
        return make_bundles(self.groom, self.guides, self.binding)

    def _present_weights(
        self, frame: GuideFrame, weight: FloatArray, guide: NDArray[np.int32]
    ) -> tuple[FloatArray, FloatArray]:
        """Weights (S, K) of the guides that are there, and how far each hair hangs on them, 0 to 1, (S,) or (0,).

        Args:
            frame: says which guides are there.
            weight: of each hair (S, K).
            guide: slots of each bundle (M, K).
        """
        present = np.where(frame.active, frame.weight, 0).astype(np.float32)
        if (present[self.guides.active] == 1).all():
            return weight, np.empty(0, np.float32)
        self._may_shorten = True
        faded, share = np.empty_like(weight), np.empty(len(weight), np.float32)
        kernels.fade_weights(weight, self.bundles.of_hair, guide, present, np.float32(LEAST_PRESENCE), faded, share)
        return faded, share

    def _regrouped(self, frame: GuideFrame, weight: FloatArray) -> Regrouped | None:
        """Hairs that follow guides inserted during the run; `weight` (S, K or more) as `_present_weights` has them."""
        inserted = frame.inserted
        if inserted is None or not (inserted.weight > 0).any():
            return None
        following = follow(inserted, self.bundles, self.guides.rest, self.groom, self._following)
        self._following = following
        if not len(following.hairs):
            return None
        return regroup(frame, following, weight[:, : self.binding.guides_per_hair])

    def _hand_to_head(self, frame: GuideFrame, share: FloatArray, out: FloatArray) -> None:
        """Take hairs that hang on their guides by a `share` below 1 towards where the head alone carries them."""
        self._hand_over(lambda rows: frame.head.apply(self.groom.as_uniform()[rows]), share, out)

    def _hand_over(self, carried: Callable[[IntArray], FloatArray], share: FloatArray, out: FloatArray) -> None:
        """Take hairs that hang on their guides by a `share` below 1 towards where they are without any, (H, V, 3)."""
        if not len(share):
            return
        rows = np.flatnonzero(share < 1)
        if len(rows):
            alone = carried(rows)
            out[rows] = alone + share[rows, None, None] * (out[rows] - alone)

    def _carried_plainly(self, frame: GuideFrame, rows: IntArray) -> FloatArray:
        """Hairs moved by the weighted sum of their guides' displacements (hsu2024 eq. 9), in plain NumPy."""
        rest = self.groom.as_uniform()[rows].astype(np.float64)
        weights = self.binding.weights[rows].astype(np.float64)
        present = np.where(frame.active, frame.weight, 0).astype(np.float64)
        weights = weights * present[self.binding.guides[rows]]
        total = weights.sum(axis=1)
        out = (1 - np.minimum(total, 1))[:, None, None] * frame.head.apply(rest)
        scale = np.minimum(total, 1) / np.maximum(total, np.finfo(np.float64).tiny)
        for k in range(self.binding.guides_per_hair):
            guide, place = self.binding.guides[rows, k], self.bundles.parameter[self.bundles.of_hair[rows], k]
            turn = quaternion.normalize(frame.root_rotations[guide].astype(np.float64))[:, None]
            now, before = (_at_places(points[guide], place) for points in (frame.points, self.guides.rest))
            out += (scale * weights[:, k])[:, None, None] * (now + quaternion.rotate(turn, rest - before))
        result: FloatArray = out.astype(np.float32)
        return result

    @property
    def closest_guides(self) -> NDArray[np.int32]:
        """Slots of the (up to) three guides that count most for each hair, shape (S, 3)."""
        return self.binding.strongest()[0]

    @property
    def guide_weights(self) -> NDArray[np.float32]:
        """Weights of `closest_guides`, falling, with a sum of 1, shape (S, 3)."""
        return self.binding.strongest()[1]


def _at_places(points: FloatArray, place: FloatArray) -> NDArray[np.float64]:
    """Strands (H, U, 3) at places (H, V) along them, in vertices."""
    before = np.minimum(place.astype(np.int64), points.shape[1] - 2)
    share = (place - before)[..., None]
    first, second = (np.take_along_axis(points, (before + i)[..., None], axis=1).astype(np.float64) for i in (0, 1))
    between: NDArray[np.float64] = first + share * (second - first)
    return between


def unreal_attributes(skin: BoundSkin) -> dict[str, NDArray[Any]]:
    """Return the binding as strand attributes, named and shaped as the USD writer hands them to Unreal.

    `groom.with_strand(**unreal_attributes(skin))` is ready to be written.
    """
    guides, weights = skin.binding.strongest()
    return {"closest_guides": guides, "guide_weights": weights}
