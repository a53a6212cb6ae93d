"""Fibres as a porous medium: how much flow a pressure drives through them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import require_positive

# Above this part of the volume the fit of Jackson and James leaves its data and soon turns negative.
DENSEST = 0.25
# Below this it leaves them too, and fibres are each alone at the second; between them it fades in the logarithm.
THINNEST, ALONE = 1e-3, 1e-4
SHIFT = 0.931  # of the logarithm in the fit


def permeability(solid_part: float, radius: float) -> float:
    """Permeability K [m^2] of fibres that lie in all directions; Darcy: u = K / mu * pressure gradient.

    Jackson and James (1986): K / r^2 = 3 / (20 phi) (-ln phi - 0.931), from phi of 1e-3 to 0.25.

    Args:
        solid_part: phi, part of the volume that the fibres take.
        radius: of the fibres [m].
    """
    require_positive("radius", radius)
    if not 0.0 < solid_part <= DENSEST:
        raise ValueError(f"solid_part: must be above 0 and at most {DENSEST}, got {solid_part}")
    return radius**2 * 3.0 / (20.0 * solid_part) * (-math.log(solid_part) - SHIFT)


def drag_per_length(solid_part: NDArray[Any], viscosity: float) -> NDArray[np.float64]:
    """Resistance of every fibre among others, per length and speed [kg/(m s)], a mean over its directions.

    Jackson and James again: fibres of length 1 / (pi r^2) per volume and solid part share what Darcy has them do
    together, so that one of them has mu pi r^2 / (K phi) = 20 pi mu / (3 (-ln phi - 0.931)), whatever its radius.
    Nothing where fibres are so far apart that the fit says nothing of them.
    """
    dense = np.log(np.clip(solid_part, ALONE, DENSEST))
    counts = np.clip((dense - math.log(ALONE)) / math.log(THINNEST / ALONE), 0.0, 1.0)
    resistance: NDArray[np.float64] = counts * (20.0 / 3.0 * math.pi * viscosity) / (-dense - SHIFT)
    return resistance
