"""Hairs of the physical skin turned out of solids (hsu2024 4.2).

The sweep over all hairs knows no solids. Those whose points are found inside one are swept once more, segment by
segment: solved, tested, and solved again with the torque of eq. 18 where the end of the segment is inside; with several
sweeps, in each of them.
"""

from __future__ import annotations

import numpy as np

from mane.body._kernels_solid import SolidList
from mane.geometry.checks import FloatArray
from mane.skin.physical import _kernels_contact as kernels
from mane.skin.physical import _kernels_contact_sweeps as kernels_sweeps
from mane.skin.physical.params import CONVERGED, PhysicalParams
from mane.strand.model import Float64Array


def leave_solids(
    solids: tuple[SolidList, FloatArray],
    rest: tuple[Float64Array, ...],
    force: Float64Array,
    root: Float64Array,
    params: PhysicalParams,
    targets: FloatArray,
) -> FloatArray:
    """Sweep hairs with the penetration torque; returns their points (H, V, 3) [m].

    Args:
        solids: as of `SkinSolids.at`.
        rest: of the hairs, as of `HairBlocks.unpack`.
        force: on the hairs, in weights, shape (H, N, 3).
        root: how the skin has turned at each root, shape (H, 4).
        params: settings of the skin.
        targets: of the drift correction [m], shape (H, V, 3).
    """
    points = targets.copy()
    pull = np.float32(params.alpha * params.drift)
    length, first, bend, strain = (array.astype(np.float32) for array in rest)
    kernels.sweep_out_of_solids(
        *solids,
        length,
        first,
        bend,
        strain,
        ((1 - params.alpha) * force).astype(np.float32),
        root.astype(np.float32),
        pull,
        np.float32(params.drift_gain_used),
        pull if params.overshoots else np.float32(0.0),
        np.float32(1 / params.drift if params.stretch_by_blend else 0.0),
        np.float32(params.penetration),
        points,
    )
    return points


# Sweeps of a converged hair that reaches into a solid: contacts come and go, so that not all hairs come to rest.
MOST_SWEEPS = 60


def leave_solids_repeatedly(
    solids: tuple[SolidList, FloatArray],
    rest: tuple[Float64Array, ...],
    force: Float64Array,
    root: Float64Array,
    params: PhysicalParams,
    targets: FloatArray,
) -> FloatArray:
    """The same with further sweeps; `rest` as of `ChainSolve.rest_of`."""
    points = targets.copy()
    pull = params.alpha * params.drift
    kernels_sweeps.sweep_repeatedly_out_of_solids(
        *solids,
        *rest,
        (1 - params.alpha) * force,
        root,
        pull,
        pull if params.overshoots else 0.0,
        1 / params.drift if params.stretch_by_blend else 0.0,
        params.penetration,
        MOST_SWEEPS if params.sweeps == CONVERGED else int(params.sweeps),
        points,
    )
    return points
