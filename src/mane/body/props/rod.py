"""A plain rod, the simplest thing to draw through hair."""

from __future__ import annotations

from mane.body.props.base import Prop, Resolution
from mane.body.shapes import Capsule
from mane.geometry.limits import Positive, check_arguments


def make_rod(*, length: Positive = 0.30, radius: Positive = 0.004, resolution: Resolution = 24) -> Prop:
    """Make a rod with round ends: along X, its middle at the origin.

    Args:
        length: from end to end [m], more than the rod is thick.
        radius: of the rod [m].
        resolution: segments around it.
    """
    check_arguments(make_rod, locals(), "rod.")
    if length <= 2 * radius:
        raise ValueError(f"rod.length: must exceed its thickness of {2 * radius:g} m, got {length:g}")
    reach = 0.5 * length - radius
    shape = Capsule((-reach, 0.0, 0.0), (reach, 0.0, 0.0), radius)
    return Prop("rod", shape.mesh(resolution), shape)
