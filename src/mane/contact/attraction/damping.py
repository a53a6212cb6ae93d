"""`RootDamping`: hair that calms down quickly, because the artist says so."""

from __future__ import annotations

import numpy as np

from mane.contact.attraction import _kernels as kernels
from mane.geometry import quaternion
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Force, Load, StrandView
from mane.strand.variation import Layout, Varying, require_range, resolve


class RootDamping(Force):
    """Damps whatever is not rigid motion with the root: the artist's knob for hair that calms down quickly.

    Physical damping comes from the material and the air; this one is felt by slow and fast motion alike.

    Args:
        rate: of decay [1/s], any `Varying`: left to it alone, 37 percent of the velocity relative to the root's motion
            are left after 1 / rate seconds.
        guides: whose painted maps `rate` may name.
    """

    name = "root_damping"
    examples = ({"rate": 10.0},)
    needs = ("guides",)
    is_mutual = False

    def __init__(self, rate: Varying, *, guides: Guides | Groom | None = None) -> None:
        require_range("rate", rate, at_least=0)
        self._rate_given = rate
        self._guides = guides
        self._rate: Float64Array = np.empty((0, 0))
        self._carried: Float64Array = np.empty((0, 0, 3))

    def prepare(self, model: StrandModel) -> None:
        """Lay the rate out over the strands."""
        layout = Layout.of_model(model, self._guides)
        self._rate = resolve("root damping rate", self._rate_given, layout, at_least=0)
        self._carried = np.empty(model.rest_points.shape)

    def add(self, strands: StrandView, load: Load) -> None:
        """Add a resistance against motion relative to the root's."""
        before, after = strands.roots_before, strands.roots_after
        rotation = quaternion.multiply(after.rotations, quaternion.conjugate(before.rotations))
        kernels.carry(strands.points, before.positions, rotation, after.positions, self._carried)
        kernels.add_drift(
            strands.points, self._carried, strands.model.mass, self._rate, strands.dt, load.force, load.resistance
        )
