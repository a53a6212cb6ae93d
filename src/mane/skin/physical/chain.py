"""`ChainSolve`: hairs whose segments feel those beyond them, for `sweeps` above 1, "converged", and warm starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import IntArray, as_array
from mane.simd.align import empty_aligned
from mane.simd.f32x32 import QUARTER
from mane.skin.physical import _kernels_newton, _kernels_sweeps
from mane.skin.physical._kernels_rows import LANES
from mane.skin.physical.blocks import HairBlocks
from mane.skin.physical.forces import InheritedForces
from mane.skin.physical.params import PhysicalParams
from mane.skin.physical.rest import HairRest, joint_stiffness
from mane.strand.model import Float64Array

BLOCKS_PER_TASK = 16


class ChainSolve:
    """Rebuilds hairs from targets and forces, sixteen side by side.

    Args:
        lanes: of the hairs; two of its quarters are a block of the kernels.
        rest: of the hairs.
        params: settings of the skin.
    """

    def __init__(self, lanes: HairBlocks, rest: HairRest, params: PhysicalParams) -> None:
        self._params = params
        quarters = lanes.quarters()  # no hair twice, but in one block: targets are read where points are written
        pairs = np.minimum(np.arange(len(quarters) + len(quarters) % 2), len(quarters) - 1)
        self._hair = lanes.hair.reshape(-1, QUARTER)[quarters[pairs]].reshape(-1, LANES)
        self._bundle = lanes.bundle.reshape(-1)[quarters[pairs]].reshape(-1, 2)
        self._rows = self._packed(rest)
        # Orientations of the last call, as seen from the roots.
        is_kept = params.warm_start == "previous"
        self._turned = np.empty((len(self._hair), 4 * rest.length.shape[1] * LANES) if is_kept else (0, 0))
        self._has_turned = False

    def _packed(self, rest: HairRest) -> Float64Array:
        """Return the rest of the hairs as rows of lanes; see `_kernels_rows`."""
        stiffness = joint_stiffness(rest.bend, rest.length)
        segments = np.concatenate([rest.length[..., None], stiffness[..., None], rest.first, rest.again], axis=2)
        strain = rest.strain[:, None] / (1 - self._params.alpha)
        records = np.concatenate([strain, segments.reshape(len(segments), -1)], axis=1)
        # In double precision: hair that barely stands falls for less than the rounding of float32.
        rows = empty_aligned((len(self._hair), records.shape[1] * LANES))
        rows.reshape(len(rows), -1, LANES)[:] = records[self._hair].swapaxes(1, 2)
        return rows

    def rest_of(self, hairs: IntArray) -> tuple[Float64Array, ...]:
        """Lengths (H, N), k_bt / W (H, N), rest rotations of the first and of later sweeps (H, N, 4), strain (H,)."""
        place = np.empty(self._hair.max() + 1, np.int64)
        place[self._hair.reshape(-1)] = np.arange(self._hair.size)
        block, lane = np.divmod(place[hairs], LANES)
        records = self._rows.reshape(len(self._rows), -1, LANES)[block, :, lane]
        segments = records[:, 1:].reshape(len(hairs), -1, 10)
        parts = (segments[..., 0], segments[..., 1], segments[..., 2:6], segments[..., 6:10], records[:, 0])
        return tuple(np.ascontiguousarray(part) for part in parts)

    def solve(self, inherited: InheritedForces, points: NDArray[np.float32]) -> None:
        """Replace the targets in `points (S, V, 3)` [m] by the hairs that feel `inherited`."""
        params, shared = self._params, inherited.by_bundle
        pull = params.alpha * params.drift
        given = (
            self._rows,
            self._hair,
            shared.of_bundle[self._bundle],
            shared.guide,
            shared.weight,
            shared.force,
            1 - params.alpha,
            shared.rotations,
            pull,
            pull if params.overshoots else 0.0,
            1 / params.drift if params.stretch_by_blend else 0.0,
            BLOCKS_PER_TASK,
        )
        out = points.reshape(len(points), -1)
        if isinstance(params.sweeps, str):
            _kernels_newton.converge_hairs(*given, out)
            return
        more = params.sweeps - (0 if self._has_turned else 1)
        _kernels_sweeps.sweep_repeatedly(*given, more, self._has_turned, self._turned, out)
        self._has_turned = len(self._turned) > 0

    def memory(self) -> dict[str, NDArray[Any]]:
        """Orientations of the last call, where the next one starts from them."""
        return {"turned": self._turned.copy()} if self._has_turned else {}

    @property
    def memory_bytes(self) -> int:
        """Bytes of `memory`."""
        return self._turned.nbytes

    def reset(self) -> None:
        """Start from the unbent segments again."""
        self._has_turned = False

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self._has_turned = "turned" in memory
        if self._has_turned:
            self._turned[...] = as_array("physical skin memory", memory["turned"], self._turned.shape, np.float64)

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return sum(array.nbytes for array in (self._hair, self._bundle, self._rows, self._turned))
