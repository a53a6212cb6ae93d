"""`GuideForces`: the internal forces of guides, in weights of a guide, at the places of a hair's segments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mane.strand.frame import GuideFrame
from mane.strand.model import STANDARD_GRAVITY, Float64Array, StrandModel


@dataclass(frozen=True, eq=False)
class GuideForces:
    """Turns cut forces into what hairs of another length, weight and vertex count would feel in their guide's place.

    The cut force of a strand is mostly the weight of what lies beyond, so it is measured in weights of the whole
    strand, and a hair takes it at the same share of its length.

    Attributes:
        model: of the guides, G of M segments.
        gravity: [m/s^2] that makes a weight of a mass; also where there is none, for the scale of all forces.
        weight: of each guide [N], shape (G,).
        places: interpolates from a guide's segments to a hair's, shape (N, M).
    """

    model: StrandModel
    gravity: float
    weight: Float64Array
    places: Float64Array

    @classmethod
    def of(cls, model: StrandModel, segments: int) -> GuideForces:
        """Make one for hairs of so many segments."""
        gravity = float(np.linalg.norm(model.gravity)) or float(np.linalg.norm(STANDARD_GRAVITY))
        count = model.segment_count
        middle, wanted = (np.arange(count) + 0.5) / count, (np.arange(segments) + 0.5) / segments
        places = np.stack([np.interp(wanted, middle, unit) for unit in np.eye(count)], axis=1)
        return cls(model, gravity, model.mass.sum(axis=1) * gravity, places)

    def of_frame(self, frame: GuideFrame) -> Float64Array:
        """Forces at one frame, in weights, shape (G, N, 3)."""
        return self._in_weights(frame.cut_force.astype(np.float64))

    def at_rest(self) -> Float64Array:
        """Forces of guides that stand still and carry their own weight: that of everything beyond a segment."""
        beyond = np.cumsum(self.model.mass[:, :0:-1], axis=1)[:, ::-1]
        return self._in_weights(beyond[..., None] * self.model.gravity)

    def _in_weights(self, cut_force: Float64Array) -> Float64Array:
        scaled = cut_force / self.weight[:, None, None]
        return np.einsum("ij,gjc->gic", self.places, scaled)
