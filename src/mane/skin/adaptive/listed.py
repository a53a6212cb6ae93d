"""`ListedSets`: eligible sets and weights that were learned (chai2017 sections 4.3 and 6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray, IntArray
from mane.groom.guides import Guides
from mane.skin.adaptive import _kernels_blend as blending
from mane.skin.adaptive import _kernels_choose as choosing
from mane.skin.adaptive import _kernels_printed as printed
from mane.skin.adaptive.blend import Blend, BlendTables, masked_weights
from mane.skin.adaptive.graph import GuideGraph, MotionScale, shared_pairs
from mane.skin.adaptive.model import LOG_UNIT, AdaptiveModel
from mane.skin.adaptive.params import AdaptiveParams


class ListedSets:
    """The sets of a model.

    Args:
        model: what was learned.
        params: how sets are chosen.

    Attributes:
        slots: eligible guides of each hair, shape (S, M), int32.
        counts: how many of them there are, shape (S,), int32.
    """

    nothing = choosing.NO_SET  # what `chosen` is for a hair without guides

    def __init__(self, model: AdaptiveModel, params: AdaptiveParams) -> None:
        self._model, self._params = model, params
        self.slots, self.counts = model.slots, model.counts
        size = np.bitwise_count(model.masks).astype(np.int64)
        self._first_coefficient = np.concatenate([[0], np.cumsum(size)])[model.first]
        self._log_hysteresis = round(np.log(params.hysteresis) / LOG_UNIT)
        self._least = np.float32(-np.inf if model.has_negative_weights or params.paper else 0.0)
        of_sets = (model.first, self._first_coefficient, model.masks, model.coefficients)
        self._sets = (*of_sets, np.float32(model.scale), self._least)

    def motion_scale(self, guides: Guides) -> MotionScale:
        """What the motion of guides is measured by; cliques as printed are those of all guides.

        Raises:
            ValueError: the model does not know of all pairs that are asked for.
        """
        scale, capacity = self._model.motion_scale, guides.capacity
        if not self._params.paper:
            return scale.of(shared_pairs(self.slots, self.counts, capacity), capacity)
        if len(scale.pairs) < capacity * (capacity - 1) // 2:
            raise ValueError(
                "paper: cliques as printed need a model that compares all guides; `mane learn adaptive --paper`, or "
                "`--set all_pairs=true`, learns one"
            )
        return scale

    def first(self) -> NDArray[np.int32]:
        """What is chosen where nothing disturbs the hair, (S,)."""
        return np.zeros(len(self.slots), np.int32)

    def members(self, chosen: NDArray[np.int32]) -> NDArray[np.int32]:
        """Masks of the sets that are chosen (S,)."""
        masks = self._model.masks[self._model.first[:-1] + np.maximum(chosen, 0)].astype(np.int32)
        return np.where(chosen < 0, 0, masks)

    def choose(
        self, graph: GuideGraph, tables: BlendTables, present: FloatArray, before: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Numbers of the sets of this frame, after those of the frame `before` (S,)."""
        model, chosen = self._model, before.copy()
        if self._params.paper:
            of_hairs = (tables.positions, tables.tangents, tables.rows, present)
            printed.choose_printed_listed(self.slots, self.counts, graph.cliques(), *self._sets, *of_hairs, chosen)
        else:
            choosing.choose_listed(
                *(self.slots, self.counts, model.first, model.masks, model.log_error),
                *(graph.edges, self._log_hysteresis, chosen),
            )
        return chosen

    def weights(self, tables: BlendTables, hairs: IntArray, chosen: NDArray[np.int32]) -> NDArray[np.float64]:
        """Weights of the guides of some hairs along them, of sum 1 where they have any, (H, M, V)."""
        model, vertices = self._model, tables.rest.shape[2]
        masks = self.members(chosen)[hairs]
        powers = np.linspace(0, 1, vertices) ** np.arange(model.degree + 1)[:, None]
        found = np.zeros((len(hairs), self.slots.shape[1], vertices))
        for row, (hair, mask) in enumerate(zip(hairs, masks, strict=True)):
            members = np.flatnonzero(mask >> np.arange(self.slots.shape[1]) & 1)
            first = model.first[hair]
            start = self._first_coefficient[hair] + int(
                np.bitwise_count(model.masks[first : first + chosen[hair]]).sum()
            )
            own = model.scale * model.coefficients[start : start + len(members)].astype(np.float64)
            found[row, members] = np.maximum(own @ powers, self._least)
        return masked_weights(found, masks)

    def blend(self, tables: BlendTables, blend: Blend, out: FloatArray) -> None:
        """Fill `out (S, 3 V)` with the hairs of a frame."""
        blending.blend_listed(
            *(tables.positions, tables.rows, *self._sets, blend.present),
            *(blend.before, blend.now, blend.rotation, blend.translation, blend.decay),
            *(blend.offset, blend.is_fading, out),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self._model.nbytes + self._first_coefficient.nbytes
