"""A plain rod, the simplest thing to draw through hair."""

from __future__ import annotations

from mane.body.props.base import Prop, check_sizes
from mane.body.shapes import Capsule


def make_rod(*, length: float = 0.30, radius: float = 0.004, resolution: int = 24) -> Prop:
    """Make a rod with round ends: along X, its middle at the origin.

    Args:
        length: from end to end [m].
        radius: of the rod [m].
        resolution: segments around it.
    """
    check_sizes("rod", length=length, radius=radius)
    if length <= 2 * radius:
        raise ValueError(f"rod.length: must exceed its thickness of {2 * radius:g} m, got {length:g}")
    reach = 0.5 * length - radius
    shape = Capsule((-reach, 0.0, 0.0), (reach, 0.0, 0.0), radius)
    return Prop("rod", shape.mesh(resolution), shape)
