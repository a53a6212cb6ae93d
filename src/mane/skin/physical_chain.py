"""`ChainSolve`: hairs whose segments feel those beyond them, for `sweeps` above 1, "converged", and warm starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.skin import _kernels_physical_chain as kernels
from mane.skin.physical_forces import Felt
from mane.skin.physical_params import PhysicalParams
from mane.skin.physical_rest import HairRest, joint_stiffness

ROWS_AT_ONCE = 8192  # hairs per piece, for which forces and targets are held in double precision


class ChainSolve:
    """Rebuilds hairs from targets and forces.

    Args:
        rest: of the hairs.
        params: settings of the skin.
    """

    def __init__(self, rest: HairRest, params: PhysicalParams) -> None:
        self._rest = rest
        self._params = params
        self._stiffness = joint_stiffness(rest.bend, rest.length)
        # Frames of the last call, as seen from the roots.
        self._turned = np.empty(rest.first.shape if params.warm_start == "previous" else (0, 0, 4))
        self._has_turned = False

    def solve(self, felt: Felt, points: NDArray[np.float32]) -> None:
        """Replace the targets in `points (S, V, 3)` [m] by the hairs that feel `felt`."""
        params, rest = self._params, self._rest
        is_warm, is_kept = self._has_turned, params.warm_start == "previous"
        pull = params.alpha * params.drift
        more = -1 if isinstance(params.sweeps, str) else params.sweeps - (0 if is_warm else 1)
        for start in range(0, len(points), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            force, root = felt.of_hairs(rows)
            frames = self._turned[rows] if is_kept else np.empty(rest.first[rows].shape)
            out = np.empty(points[rows].shape)
            kernels.solve_hairs(
                rest.first[rows],
                rest.again[rows],
                rest.length[rows],
                rest.bend[rows],
                self._stiffness[rows],
                rest.strain[rows] / (1 - params.alpha),
                (1 - params.alpha) * force,
                points[rows].astype(np.float64),
                root,
                pull,
                pull if params.overshoots else 0.0,
                1 / params.drift if params.stretch_by_blend else 0.0,
                more,
                is_warm,
                is_kept,
                frames,
                out,
            )
            points[rows] = out
        self._has_turned = is_kept

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        rest = self._rest
        held = (rest.first, rest.again, rest.length, rest.bend, rest.strain, self._stiffness)
        return sum(array.nbytes for array in held) + self._turned.nbytes
