"""Where guides are looked at closely for a solid: how densely, how far off, and what is known of it already."""

from __future__ import annotations

import numpy as np

from mane.body.solid import Solid
from mane.contact.solids._kernels import SLACK
from mane.strand.model import Float64Array, StrandModel

# More points than this on one segment mean that the hair is cut too coarsely for what it touches.
MAX_INNER = 63


def inner_places(feature: float, segment_length: float, thickness: float) -> int:
    """How many points between the ends of a segment must be tested beside its vertices.

    Args:
        feature: radius of the thinnest part of the solid [m].
        segment_length: [m].
        thickness: of the layer around the solid [m].
    """
    feature += thickness
    if not np.isfinite(feature):
        return 0
    # A part of radius r is at least 1.7 r wide at every place that is r / 2 or less off the nearest tested point.
    return int(min(max(np.ceil(segment_length / feature) - 1, 0), MAX_INNER))


def safe_margin(model: StrandModel, thickness: float) -> float:
    """Distance between a solid and the paths of a strand beyond which they cannot touch [m]."""
    return thickness + 2 * SLACK * float(model.rest_length.max())


def not_measured(strand_count: int, vertex_count: int) -> Float64Array:
    """Scratch for what was last measured of each vertex (G, V, 4); minus infinity asks for a measurement."""
    measured = np.zeros((strand_count, vertex_count, 4))
    measured[..., 0] = -np.inf
    return measured


class Clearances:
    """What was last measured of each vertex, by solid: scratch that parts may share, and that changes no result."""

    def __init__(self) -> None:
        self._tables: dict[int, tuple[Solid, Float64Array]] = {}

    def of(self, solid: Solid, model: StrandModel) -> Float64Array:
        """Return the table of a solid, (G, V, 4)."""
        shape = (model.strand_count, model.vertex_count)
        known, table = self._tables.get(id(solid), (None, None))
        if known is not solid or table is None or table.shape[:2] != shape:
            table = not_measured(*shape)
            self._tables[id(solid)] = (solid, table)
        return table
