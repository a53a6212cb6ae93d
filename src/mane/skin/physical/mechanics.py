"""`HairMechanics`: what the physical skin has to know of what hairs are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mane.groom.groom import Groom
from mane.skin.physical.rest import pieces
from mane.strand.material import Material
from mane.strand.model import Float64Array

ROWS_AT_ONCE = 4096  # hairs whose mechanics are found together, in double precision


@dataclass(frozen=True, eq=False)
class HairMechanics:
    """Stiffness of S hairs, one number per hair: the mean from root to tip.

    Attributes:
        bend: E I over the weight [m^2], shape (S,).
        strain: weight over E A, shape (S,).
    """

    bend: Float64Array
    strain: Float64Array

    @classmethod
    def of(cls, material: Material, groom: Groom, gravity: float) -> HairMechanics:
        """Hairs of a groom with one vertex count, at `gravity` [m/s^2]."""
        if material.is_uniform:  # hairs then differ by their lengths alone
            one = _means(material, groom.take([0]), gravity)
            weight, bend, stretch = (np.full(groom.strand_count, float(value[0])) for value in one)
            weight *= groom.lengths / float(groom.lengths[0])
        else:
            shape = (groom.strand_count, int(groom.vertex_counts[0]))
            parts = [
                _means(material.of_part(rows, shape), groom.take(np.arange(rows.start, rows.stop)), gravity)
                for rows in pieces(groom.strand_count, ROWS_AT_ONCE)
            ]
            weight, bend, stretch = (np.concatenate(column) for column in zip(*parts, strict=True))
        return cls(bend / weight, weight / stretch)


def _means(material: Material, groom: Groom, gravity: float) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Weight [N], E I [N m^2] and E A [N] of each hair, (S,)."""
    model = material.model(groom)
    return model.mass.sum(axis=1) * gravity, model.bend_stiffness.mean(axis=1), model.stretch_stiffness.mean(axis=1)
