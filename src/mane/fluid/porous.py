"""Fibres as a porous medium: how much flow a pressure drives through them."""

from __future__ import annotations

import math

from mane.geometry.checks import require_positive

# Above this part of the volume the fit of Jackson and James leaves its data and soon turns negative.
DENSEST = 0.25


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
    return radius**2 * 3.0 / (20.0 * solid_part) * (-math.log(solid_part) - 0.931)
