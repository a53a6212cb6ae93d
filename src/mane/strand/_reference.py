"""What the plain references of all strand models share."""

from __future__ import annotations

import numpy as np

from mane.strand._kernels_stage import CALM, PUSHED, RESISTED
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.ports import Load


def stage_theta(model: StrandModel, theta: float, spin: Float64Array, load: Load, *, dt: float, strand: int) -> float:
    """Part of the step that the stage of one strand takes; `theta` of a calm one."""
    pushed = np.linalg.norm(load.force[strand], axis=1) / model.mass[strand]
    if model.root_kind[strand] != RootKind.FREE:
        pushed[0] = 0.0
    turn = dt**2 * (spin[strand] ** 2).sum(axis=1)
    resisted = _resisted(model, load, dt, strand)
    violence = max(resisted / RESISTED, pushed.max() / PUSHED, turn.max() / CALM**2)
    return float(theta + (1 - theta) * min(violence, 1.0))


def is_resisted(model: StrandModel, load: Load, *, dt: float, strand: int) -> bool:
    """Whether a step of one strand is all stage because something resists it."""
    return _resisted(model, load, dt, strand) > RESISTED


def _resisted(model: StrandModel, load: Load, dt: float, strand: int) -> float:
    """What resists one vertex most, as a multiple of mass / dt."""
    resisted = dt * load.resistance[strand, :, :3].sum(axis=1) / model.mass[strand]
    if model.root_kind[strand] != RootKind.FREE:
        resisted[0] = 0.0
    return float(resisted.max())
