"""`ReturnedForce`: the one way back in a frame: what a skin found out about every hair pushes the guides next time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import as_array, require_finite
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Force, GuideLoad, Load, StrandView


class ReturnedForce(Force):
    """A load on the guides that stays the same during a frame: what a skin returned after the frame before.

    Every simulation has one. Until something is received, and after a teleport or a reset, it adds nothing.
    """

    name = "returned"

    def prepare(self, model: StrandModel) -> None:
        """Get ready for guides of this model."""
        self._own = (model.own_count, model.vertex_count)
        self._load: tuple[Float64Array, Float64Array] | None = None

    def receive(self, load: GuideLoad | None) -> None:
        """Take what acts from the next step on in place of what was received before; None for nothing."""
        if load is None:
            self._load = None
            return
        force = as_array("returned force", load.force, (*self._own, 3), np.float64)
        given = np.zeros((*self._own, 6)) if load.resistance is None else load.resistance
        resistance = as_array("returned resistance", given, (*self._own, 6), np.float64)
        require_finite("returned force", force)
        require_finite("returned resistance", resistance)
        self._load = (force.copy(), resistance.copy())

    def add(self, strands: StrandView, load: Load) -> None:
        """Add what was received to the guides that are there; inserted ones feel nothing of it."""
        if self._load is None:
            return
        own = self._own[0]
        is_there = strands.active[:own, None, None]
        load.force[:own] += np.where(is_there, self._load[0], 0.0)
        load.resistance[:own] += np.where(is_there, self._load[1], 0.0)

    def memory(self) -> dict[str, NDArray[Any]]:
        """What was received last."""
        return {} if self._load is None else {"force": self._load[0].copy(), "resistance": self._load[1].copy()}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self._load = None
        if "force" in memory:
            self.receive(GuideLoad(memory["force"], memory["resistance"]))

    def forget(self, strands: NDArray[np.bool_]) -> None:
        """Strands of the mask (G,) were carried elsewhere, where nothing pushed them yet."""
        if self._load is not None:
            for array in self._load:
                array[strands[: self._own[0]]] = 0.0

    def regroup(self, strands: NDArray[np.bool_]) -> None:
        """Inserted guides feel nothing of it, whether they come or go."""

    def reset(self) -> None:
        """The guides are back at rest."""
        self._load = None
