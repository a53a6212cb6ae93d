"""`Drag`: what the air does to hair, moving or still; in still air it is most of hair's damping.

A hair is a thin cylinder: 80 um in a wind of 1 m/s has a Reynolds number Re of 5. Per length and speed, with mu the
viscosity of the air, nu = mu / rho, r the radius and L the length of the strand, the resistance is

    across:  the larger of 4 pi mu / (ln(L/r) + 1/2)  and  (mu / 2) Re Cd(Re),
             Cd = 1.18 + 6.8 / Re^0.89 + 1.96 / Re^0.5 - 0.0004 Re / (1 + 3.64e-7 Re^2),
             Re of the speed across the hair alone: flow along a cylinder does not change the drag across it;
    along:   the larger of 2 pi mu / (ln(L/r) - 1/2)  and  4 pi mu / ln(4 nu L / (U r^2)),
             U the speed along the hair.

The first of each pair is creeping flow past a slender body (Cox 1970), where the ends matter; the second is flow with
inertia, where they do not: Sucker and Brauer's fit of cylinder experiments (1975; Re from 1e-4 to 2e5), and the laminar
layer along a thin cylinder (Glauert and Lighthill 1955, leading order). Every hair is alone in its wind: neighbours
shield each other, which `HairShelter` and `scale` account for.

The coefficients are taken at the start of a step and the velocity they act on at its end, so a step of any size in a
wind of any speed ends between the hair's velocity and the wind's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.contact.air import _kernels_drag as kernels
from mane.contact.air.shelter import Shelter
from mane.contact.air.wind import AnyWind, as_wind
from mane.geometry.checks import require_positive
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.simd.layout import to_blocks
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Force, Load, StrandView
from mane.strand.variation import Layout, Varying, resolve

AIR_DENSITY = 1.204  # [kg/m^3], 20 degrees Celsius at sea level
AIR_VISCOSITY = 1.82e-5  # [Pa s], likewise

LEAST_SLENDERNESS = 10.0  # L / r; below it is no thin cylinder any more, and the logarithms lose their sense
CALM = 1e-9  # [m/s]; a wind slower than this has no direction


class Drag(Force):
    """Air drag in a wind.

    Args:
        wind: velocity of the air: a vector [m/s], a `Wind`, a function of (points, time), or None for still air.
        scale: factor on the drag, any `Varying`; below 1 for hair in a lock, which shields itself.
        shelters: what keeps wind away, such as `SolidShelter()` and `HairShelter()`. Still air is everywhere.
        shelter_interval: shelter is looked at again after this time [s].
        density: of the air [kg/m^3].
        viscosity: of the air [Pa s].
        guides: whose painted maps `scale` may name.
    """

    name = "drag"
    version = 2
    label = "air"
    needs = ("guides",)
    is_mutual = False

    def __init__(
        self,
        wind: AnyWind = None,
        *,
        scale: Varying = 1.0,
        shelters: Sequence[Shelter] = (),
        shelter_interval: float = 0.04,
        density: float = AIR_DENSITY,
        viscosity: float = AIR_VISCOSITY,
        guides: Guides | Groom | None = None,
    ) -> None:
        require_positive("density", density)
        require_positive("viscosity", viscosity)
        require_positive("shelter_interval", shelter_interval)
        self.wind = as_wind(wind)
        self.shelters = tuple(shelters)
        self.shelter_interval = shelter_interval
        self.density = density
        self.viscosity = viscosity
        self._scale_given = scale
        self._guides = guides
        self._scale: Float64Array = np.empty((0, 0))
        self._rows: Float64Array = np.empty(0)
        self._known: tuple[bytes, float, float] | None = None
        self._air: Float64Array = np.empty((0, 0, 3))
        self._passing: Float64Array = np.empty((0, 0))
        self._next_update = -np.inf

    def prepare(self, model: StrandModel) -> None:
        """Lay the scale out over the strands."""
        layout = Layout.of_model(model, self._guides)
        self._scale = resolve("drag.scale", self._scale_given, layout, at_least=0)
        self._known = None
        self._air = np.zeros((model.strand_count, model.vertex_count, 3))
        self._passing = np.ones((model.strand_count, model.vertex_count))
        self._next_update = -np.inf
        # Copies, since a shelter learns of its guides and may be given to another simulation as well.
        self._prepared = [copy(shelter) for shelter in self.shelters]
        for shelter in self._prepared:
            shelter.prepare(model)

    def add(self, strands: StrandView, load: Load) -> None:
        """Add drag and resistance of the air at the end of the step."""
        if self.wind is not None:
            points = strands.points.reshape(-1, 3)
            self._air.reshape(-1, 3)[...] = self.wind.velocity(points, strands.time)
            if self.shelters:
                self._look_upwind(strands)
                self._air *= self._passing[..., None]
        now = (strands.active.tobytes(), self.density, self.viscosity)
        if now != self._known:
            self._rows, self._known = self._constants(strands.model, strands.active), now
        is_windy = self.wind is not None
        kernels.add_drag(strands.points, strands.velocity, self._air, is_windy, self._rows, load.force, load.resistance)

    def _constants(self, model: StrandModel, active: NDArray[np.bool_]) -> Float64Array:
        """What the kernel needs of every vertex, in its rows; strands that are not active (G,) feel nothing."""
        slenderness = np.log(np.maximum(model.strand_length[:, None] / model.radius, LEAST_SLENDERNESS))
        unit = self.viscosity * self._scale * active[:, None]
        reynolds = 2 * model.radius * self.density / self.viscosity  # of 1 m/s
        has_next = np.arange(model.vertex_count) < model.vertex_count - 1
        rows: dict[int, NDArray[Any]] = {}
        rows[kernels.HAS_NEXT] = np.broadcast_to(has_next, unit.shape)
        rows[kernels.REYNOLDS] = reynolds**2
        rows[kernels.SLOW_ACROSS] = 4 * np.pi * unit / (slenderness + 0.5)
        rows[kernels.FAST_ACROSS] = 0.5 * unit
        rows[kernels.SLOW_ALONG] = 2 * np.pi * unit / (slenderness - 0.5)
        rows[kernels.FAST_ALONG] = 4 * np.pi * unit
        rows[kernels.LAYER] = slenderness + np.log(8 / reynolds)
        return to_blocks(np.stack([rows[k].reshape(-1) for k in range(kernels.ROWS)], axis=1)).reshape(-1)

    def _look_upwind(self, strands: StrandView) -> None:
        if strands.time < self._next_update:
            return
        air = self._air.reshape(-1, 3)
        speed = np.linalg.norm(air, axis=1, keepdims=True)
        upwind = np.divide(-air, speed, out=np.zeros_like(air), where=speed > CALM)
        self._passing.fill(1.0)
        for shelter in self._prepared:
            self._passing *= shelter.passing(strands, upwind).reshape(self._passing.shape)
        self._next_update = strands.time + self.shelter_interval

    def memory(self) -> dict[str, NDArray[Any]]:
        """What shelter there was when it was last looked at, and when to look again."""
        return {"passing": self._passing.copy(), "next_update": np.array(self._next_update)}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self._passing[...] = memory["passing"]
        self._next_update = float(memory["next_update"])

    def forget(self, strands: NDArray[np.bool_]) -> None:
        """Look upwind again at once: the hair is elsewhere."""
        self._next_update = -np.inf
