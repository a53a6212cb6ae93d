"""`SetForces`: what hairs feel along the guides of adaptive sets (chai2017), as targets of the sweep.

Hairs of the physical skin inherit loads of the three guides around each root, wherever solids are. On adaptive sets a
hair that hangs on guides beside a tooth feels those:

    f = f_rest + sum_k w_k (f_k - R f_k,rest)

over the guides of its set, R the turn of the skin at their roots. At rest and in rigid motion nothing is added to the
groom. The sweep takes one load for all hairs of a bundle, and a set is a hair's own. But a segment of length l feels
the load f and the pull to its target as one sum (hsu2024 eq. 22 and 23),

    (1 - alpha) l f + alpha D (t_i - t_(i-1) - gain (x - t_(i-1))),

so what the set's guides feel more than those of the bundle, df, is a shift e of the targets:

    e_i = (1 - gain) e_(i-1) + (1 - alpha) / (alpha D) l df
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import FloatArray
from mane.skin.physical.forces import InheritedForces, place_loads
from mane.skin.physical.params import PhysicalParams
from mane.skin.set_values import HasSets
from mane.strand.model import Float64Array


class SetForces:
    """Shifts targets by what the guides of adaptive sets feel.

    Args:
        target: the adaptive skin.
        at_rest: loads of the guides as groomed, in weights, shape (G, M, 3).
        params: settings of the physical skin.
    """

    def __init__(self, target: HasSets, at_rest: Float64Array, params: PhysicalParams) -> None:
        self._target, self._at_rest, self._params = target, at_rest, params
        rest = target.groom.as_uniform().astype(np.float64)
        length = np.linalg.norm(np.diff(rest, axis=1), axis=2)
        pull = params.alpha * params.drift
        self._scale = ((1 - params.alpha) / pull * length)[..., None].astype(np.float32)
        self._keep = np.float32(1 - params.drift_gain_used)

    @classmethod
    def of(cls, target: object, at_rest: Float64Array, params: PhysicalParams) -> SetForces | None:
        """Make one where the target has sets and pulls at all."""
        pulls = params.alpha * params.drift > 0
        return cls(target, at_rest, params) if isinstance(target, HasSets) and pulls else None

    def shift(self, inherited: InheritedForces, targets: FloatArray) -> None:
        """Shift `targets (S, V, 3)` [m], where the adaptive skin has put the hairs of this frame."""
        turned = quaternion.rotate(inherited.rotations[:-1, None], self._at_rest)
        more = inherited.load - turned
        of_sets = self._target.blend_rows(self._of_rows(more))
        own = place_loads(more, inherited.guide, inherited.places)[inherited.of_hair]
        of_bundle = np.einsum("sk,skic->sic", inherited.weight, own)
        step = self._scale * (of_sets[:, 1:] - of_bundle)
        shift = np.zeros_like(targets[:, 0])
        for i in range(step.shape[1]):
            shift = self._keep * shift + step[:, i]
            targets[:, i + 1] += shift

    def _of_rows(self, more: Float64Array) -> NDArray[np.float32]:
        """Loads at the places of every row of the adaptive skin (R, 3, V); that of a segment at its end."""
        rows = self._target.guide_rows
        placed = place_loads(more, rows.guide, rows.parameter)[:, 0]
        table = np.zeros((len(placed), 3, placed.shape[1] + 1), np.float32)
        table[:, :, 1:] = placed.swapaxes(1, 2)
        return table
