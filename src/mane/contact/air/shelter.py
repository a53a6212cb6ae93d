"""Shelter: how much of the wind arrives at the hair, behind solids and within the hair itself.

One-way, as chang2002 section 7.3 has it: head and torso stop the wind, and it goes through hair with some attenuation.
The air does not feel the hair; it only looks upwind from each vertex.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mane.body.packed import PackedSolid
from mane.body.solid import PosedSolid
from mane.contact.air import _kernels_wind as kernels
from mane.geometry.checks import require_positive
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import StrandView

FIRST_STEP = 0.002  # [m] off the vertex; the root itself lies on the skin
MARCH_STEPS = 24  # within the reach; a solid thinner than reach / 24 may be missed
STRIDE = 4  # the lee of solids is looked at from every fourth vertex
MOST_CELLS = 48  # along an axis of the hair's grid, whatever the size of the hair


class Shelter(ABC):
    """Something that keeps wind away."""

    def prepare(self, model: StrandModel) -> None:  # noqa: B027 - most need nothing
        """Get ready for guides of this model."""

    @abstractmethod
    def passing(self, strands: StrandView, upwind: Float64Array) -> Float64Array:
        """Share of the wind that arrives at each vertex, 0 to 1, shape (P,), P = G V.

        Args:
            strands: the guides and the solids around them.
            upwind: direction that the wind comes from at each vertex, unit vectors, shape (P, 3); zero without wind.
        """


@dataclass(frozen=True)
class SolidShelter(Shelter):
    """Lee of the simulation's solids.

    The way upwind from each vertex is followed through the solids' distance. Its shade is full where it meets a solid
    and fades where it passes one at an angle, and with the distance, because a wake closes again.

    Attributes:
        reach: how far behind a solid the wind has recovered [m]; 0.4 m is some two heads.
        spread: tangent of the angle over which the edge of the shade fades.
        strength: share of the wind that is missing right behind a solid.
    """

    reach: float = 0.4
    spread: float = 0.25
    strength: float = 0.9

    def __post_init__(self) -> None:
        require_positive("reach", self.reach)
        require_positive("spread", self.spread)
        _require_share("strength", self.strength)

    def passing(self, strands: StrandView, upwind: Float64Array) -> Float64Array:
        """Share of the wind that arrives at each vertex, shape (P,)."""
        shape = strands.points.shape[:2]
        looked_at = _every_few(shape[1])
        points = strands.points[:, looked_at].reshape(-1, 3)
        towards = upwind.reshape(strands.points.shape)[:, looked_at].reshape(-1, 3)
        windy = np.flatnonzero(towards.any(axis=1))
        shade = np.zeros(len(points))
        for moving in strands.solids:
            solid = PackedSolid.of(moving.solid).sampled_at(moving.after, strands.time, is_far=True)
            shade[windy] = np.maximum(shade[windy], self._shade(solid, points[windy], towards[windy]))
        smooth = (shade * shade * (3.0 - 2.0 * shade)).reshape(shape[0], -1)
        return 1.0 - self.strength * _between(smooth, looked_at, shape[1]).reshape(-1)

    def _shade(self, solid: PosedSolid, points: Float64Array, upwind: Float64Array) -> Float64Array:
        """Shade of one solid at each point, 0 to 1, shape (P,)."""
        shade = np.zeros(len(points))
        travelled = np.full(len(points), min(FIRST_STEP, 0.5 * self.reach))
        on_the_way = np.arange(len(points))
        while len(on_the_way):
            way = travelled[on_the_way]
            place = points[on_the_way] + way[:, None] * upwind[on_the_way]
            distance = solid.distance(place).astype(np.float64)
            closed = 1.0 - np.clip(distance / (self.spread * way), 0.0, 1.0)
            shade[on_the_way] = np.maximum(shade[on_the_way], closed * (1.0 - way / self.reach))
            travelled[on_the_way] += np.maximum(distance, self.reach / MARCH_STEPS)
            # Whatever lies farther away gives less shade than there is already, or is out of reach.
            ahead = self.reach - way
            near = distance - ahead < self.spread * self.reach
            better = 1.0 - travelled[on_the_way] / self.reach > shade[on_the_way]
            on_the_way = on_the_way[near & better]
        return shade


@dataclass
class HairShelter(Shelter):
    """Wind that loses itself in the hair: exp(-integral of the hair's density over `depth`) along the way upwind.

    The density is the length of hair per volume around the guides, relative to its mean in the groom, so that it does
    not matter how many guides stand for the hair. Momentum lost to drag alone would have U' = -(Cd a / 2) U, with a the
    frontal area per volume: the same law, with a depth of 3 mm in a head of 100,000 hairs of 20 cm. But then the air
    pushes the coat as a whole and finds ways around it; the default lets the wind reach as far as it visibly does.

    Attributes:
        depth: way through hair of the groom's mean density after which 37 percent of the wind are left [m].
        cell: of the grid that the density is estimated on [m].
    """

    depth: float = 0.03
    cell: float = 0.02
    _groom_density: float = field(default=math.nan, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_positive("depth", self.depth)
        require_positive("cell", self.cell)

    def prepare(self, model: StrandModel) -> None:
        """Measure the density of the groom."""
        _, cell, grid = self._grid(model, model.rest_points.reshape(-1, 3), ~model.is_slot)
        # The mean over the hair, not over the air between it.
        self._groom_density = float((grid**2).sum() / grid.sum()) / cell**3

    def passing(self, strands: StrandView, upwind: Float64Array) -> Float64Array:
        """Share of the wind that arrives at each vertex, shape (P,)."""
        points = strands.points.reshape(-1, 3)
        origin, cell, grid = self._grid(strands.model, points, strands.active)
        depths = np.empty(len(points))
        kernels.sum_upwind(points, upwind, origin, cell, grid / (cell**3 * self._groom_density), depths)
        return np.exp(-depths / self.depth)

    def _grid(
        self, model: StrandModel, points: Float64Array, active: NDArray[np.bool_]
    ) -> tuple[Float64Array, float, Float64Array]:
        """Origin [m], cell [m] and hair length per node [m] of a grid around the points."""
        lengths = np.zeros((model.strand_count, model.vertex_count))
        lengths[:, :-1] += 0.5 * model.rest_length
        lengths[:, 1:] += 0.5 * model.rest_length
        lengths[~active] = 0.0
        low, high = points.min(axis=0), points.max(axis=0)
        cell = max(self.cell, float((high - low).max()) / MOST_CELLS)
        shape = [math.floor(extent / cell) + 3 for extent in high - low]
        grid = np.zeros(shape)
        origin = low - 0.5 * cell
        kernels.spread_lengths(points, lengths.reshape(-1), origin, cell, grid)
        return origin, cell, grid


def _every_few(vertex_count: int) -> NDArray[np.int64]:
    """Every `STRIDE`-th vertex and the last."""
    return np.append(np.arange(0, vertex_count - 1, STRIDE), vertex_count - 1)


def _between(values: Float64Array, known: NDArray[np.int64], vertex_count: int) -> Float64Array:
    """Values (G, K) at the vertices `known` (K,), in between on straight lines, shape (G, vertex_count)."""
    place = np.interp(np.arange(vertex_count), known, np.arange(len(known)))
    before = np.minimum(place.astype(np.int64), len(known) - 2)
    fraction = place - before
    return (1.0 - fraction) * values[:, before] + fraction * values[:, before + 1]


def _require_share(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name}: must be between 0 and 1, got {value}")
