"""`WetGuides`: guides that soak up the water they are in, carry it, and let it drip (lee2018 3.3, 3.4).

Water that hair holds is heavy and inert: it enters the implicit solve as m/dt on the diagonal and m (v/dt + g) as a
force, which is what a mass that moves with the vertex adds. Under water it weighs nothing. What is soaked up brings the
momentum that it had; what drips leaves with the velocity of the hair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.contact.air.porous import fibre_volumes
from mane.contact.air.waterflow import Waterflow
from mane.fluid.wet_hair import WetHair, WettingParams
from mane.geometry.checks import require_positive
from mane.strand.frame import GuideWetness
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Force, Load, Part, StrandView

REGION = 0.02  # [m] edge of the cubes at rest whose hairs share water


class WetGuides(Force):
    """GuideWetness of guides.

    Args:
        flow: the water that they are in, which acts before.
        params: how water is taken up and given back.
        region: edge of the cubes at rest whose hairs share water [m].

    Attributes:
        hair: the water on every vertex of all hairs that the guides stand for.
    """

    name = "wet_guides"
    label = "water"

    def __init__(self, flow: Waterflow, params: WettingParams | None = None, *, region: float = REGION) -> None:
        require_positive("region", region)
        self.flow, self.params, self.region = flow, params or WettingParams(), region
        self.hair: WetHair
        self._mass: Float64Array = np.zeros((0, 0))

    def prepare(self, model: StrandModel) -> None:
        """Take in how much hair there is at every vertex."""
        shape = (model.strand_count, model.vertex_count)
        volumes = self.flow.hairs_each * fibre_volumes(model).reshape(shape)
        volumes[model.is_slot] = 0.0  # guides that come and go take the hairs of others
        cells = np.floor(model.rest_points.reshape(-1, 3) / self.region).astype(np.int64)
        regions = np.unique(cells, axis=0, return_inverse=True)[1].reshape(-1)
        offsets = np.arange(shape[0] + 1, dtype=np.int64) * shape[1]
        self.hair = WetHair(volumes.reshape(-1), offsets, regions, self.params)
        self.flow.wet = self.hair
        self._dry = self.hair.memory()
        self._mass = np.zeros(shape)

    def reset(self) -> None:
        """Be dry."""
        self.hair.restore(self._dry)

    @property
    def mass(self) -> Float64Array:
        """Of the water that one hair carries at every vertex [kg], shape (G, V)."""
        return self._mass

    def add(self, strands: StrandView, load: Load) -> None:
        """Soak, spread and drip for a step, and let what is held weigh on the hair."""
        water, hair, dt = self.flow.water, self.hair, strands.dt
        velocity = strands.velocity.reshape(-1, 3)
        hair.step(strands.points, water.surface, dt, velocity=velocity)
        per_hair = water.flow.params.density / self.flow.hairs_each
        self._mass[...] = per_hair * hair.carried.reshape(self._mass.shape)
        taken = per_hair * hair.taken.reshape(self._mass.shape)
        weight = (self._mass * (1.0 - self.flow.immersion))[..., None] * water.gravity
        load.force[...] += weight + (self._mass / dt)[..., None] * strands.velocity
        load.force[...] += (taken / dt)[..., None] * (self.flow.felt - strands.velocity)
        load.resistance[..., :3] += (self._mass / dt)[..., None]

    def wetness(self) -> GuideWetness:
        """Return how wet the guides are."""
        held = self.hair.saturation.reshape(self._mass.shape)
        return GuideWetness(held.astype(np.float32), self.flow.immersion.astype(np.float32))

    def go_on(self, before: Part) -> None:
        """Stay as wet."""
        if isinstance(before, WetGuides) and before.hair.water.shape == self.hair.water.shape:
            self.restore(before.memory())

    def report(self) -> dict[str, float]:
        """Water in the hair and that fell from it [litres], and the mean of how soaked it is."""
        return {
            "water_held": 1e3 * self.hair.absorbed,
            "water_dripped": 1e3 * self.hair.dripped,
            "wetness": float(self.hair.saturation.mean()),
        }

    def memory(self) -> dict[str, NDArray[Any]]:
        """Water on every vertex, and drops."""
        return self.hair.memory()

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.hair.restore(memory)
