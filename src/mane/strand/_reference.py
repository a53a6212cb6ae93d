"""What the plain references of all strand models share."""

from __future__ import annotations

import numpy as np

from mane.strand._kernels_stage import CALM, PUSHED, RESISTED
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.ports import Load


def stage_theta(model: StrandModel, theta: float, spin: Float64Array, load: Load, *, dt: float, strand: int) -> float:
    """Part of the step that the stage of one strand takes; `theta` of a calm one."""
    resisted = dt * load.resistance[strand, :, :3].sum(axis=1) / model.mass[strand]
    pushed = np.linalg.norm(load.force[strand], axis=1) / model.mass[strand]
    if model.root_kind[strand] != RootKind.FREE:
        resisted[0] = pushed[0] = 0.0
    turn = dt**2 * (spin[strand] ** 2).sum(axis=1)
    violence = max(resisted.max() / RESISTED, pushed.max() / PUSHED, turn.max() / CALM**2)
    return float(theta + (1 - theta) * min(violence, 1.0))
