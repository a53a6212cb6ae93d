"""`WetHair`: water in a coat: taken up, spread along and across hairs, held and dripped, all of it accounted for.

It lives on the points of the strands, so that it moves with them and needs no transport (lee2018 3.4). What is taken up
leaves the water that the hair is in; what drips falls as drops, which come back to the water where they meet it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.fluid.grid import Float64Array
from mane.fluid.surface import FreeSurface
from mane.fluid.water import GRAVITY
from mane.geometry.checks import FloatArray, IntArray
from mane.geometry.limits import Fraction, NotNegative, Positive, check_limits


@dataclass(frozen=True)
class WettingParams:
    """How a coat takes water up and gives it back.

    Attributes:
        uptake: water that hair holds when it is soaked, over its own volume.
        soaking: time within which hair under water takes up most of what it lacks [s].
        reach: of water beside hair that is not in it, which it soaks up like a sponge [m].
        along: how fast water spreads along a hair [m^2/s].
        across: rate at which hairs of one tetrahedron come to hold alike [1/s].
        held: part of `uptake` that does not drip.
        dripping: time within which most of the rest drips [s].
        drop: radius of a drop [m].
    """

    uptake: Positive = 2.0
    soaking: Positive = 0.1
    reach: Positive = 0.02
    along: NotNegative = 1e-4
    across: NotNegative = 2.0
    held: Fraction = 0.5
    dripping: Positive = 1.0
    drop: Positive = 0.002

    def __post_init__(self) -> None:
        check_limits(self)


class WetHair:
    """Water on the points of strands; dry at first.

    Args:
        volumes: of the hair that belongs to each point, with all hairs that a strand stands for [m^3], shape (P,).
        offsets: first point of each strand, shape (S + 1,).
        tets: tetrahedron, or another region, of each point, shape (P,), which shares water among its hairs.
        params: how it is taken up and given back.

    Attributes:
        water: on each point [m^3], shape (P,).
        taken: up by each point in the last step [m^3], shape (P,).
        submerged: points that are under water, shape (P,).
        pending: on the tip of each strand, not yet a drop [m^3], shape (S,).
        drops: positions, velocities and volumes of drops that fall [m, m/s, m^3], shape (D, 7).
        spilled: volume of drops that fell elsewhere [m^3].
    """

    def __init__(
        self, volumes: Float64Array, offsets: IntArray, tets: NDArray[Any], params: WettingParams | None = None
    ) -> None:
        self.params = params or WettingParams()
        self.capacity: Float64Array = np.maximum(self.params.uptake * volumes, 1e-30)
        self.offsets, self._tets = np.asarray(offsets, np.int64), tets.astype(np.int64)
        self.water: Float64Array = np.zeros(len(volumes))
        self.taken: Float64Array = np.zeros(len(volumes))
        self.submerged: NDArray[np.bool_] = np.zeros(len(volumes), np.bool_)
        self.pending: Float64Array = np.zeros(len(offsets) - 1)
        self.drops: Float64Array = np.zeros((0, 7))
        self.spilled = 0.0
        self._joined = np.ones(len(volumes) - 1, np.bool_)
        self._joined[self.offsets[1:-1] - 1] = False

    @property
    def saturation(self) -> Float64Array:
        """Water on every point over what it holds at most, 0 to 1, shape (P,)."""
        return np.asarray(self.water / self.capacity)

    @property
    def carried(self) -> Float64Array:
        """Water that every point carries [m^3], shape (P,): what it holds, and what hangs on the tips."""
        carried = self.water.copy()
        carried[self.offsets[1:] - 1] += self.pending
        return carried

    @property
    def absorbed(self) -> float:
        """Water in the coat and on its tips [m^3]."""
        return float(self.water.sum() + self.pending.sum())

    @property
    def dripped(self) -> float:
        """Water that falls or fell elsewhere [m^3]."""
        return float(self.drops[:, 6].sum()) + self.spilled

    def level(self, time: float, rest: FloatArray) -> FloatArray:
        """Level of the styles (lee2018 3.3): under water the dry one, which floats; else by what is held, 0 to 2."""
        found: FloatArray = np.where(self.submerged, 0.0, 2.0 * self.saturation).astype(np.float32)
        return found

    def step(
        self,
        points: NDArray[np.floating[Any]],
        surface: FreeSurface,
        dt: float,
        *,
        velocity: Float64Array | None = None,
        floor: float = -math.inf,
    ) -> None:
        """Go on by `dt` [s].

        Args:
            points: of the strands [m], shape (P, 3).
            surface: of the water that they are in.
            dt: [s].
            velocity: of the points [m/s], shape (P, 3), which drops leave with; none by default.
            floor: height [m] below which drops are spilled.
        """
        places = points.reshape(-1, 3).astype(np.float64)
        depth = surface.at(places)
        low, high = surface.grid.bounds
        depth[~np.logical_and(places > low, places < high).all(axis=1)] = math.inf
        self._soak(depth, surface, dt)
        self._spread_along(places, dt)
        self._spread_across(dt)
        self._drip(places, np.zeros_like(places) if velocity is None else velocity, dt)
        self._fall(surface, dt, floor)

    def _soak(self, distance: Float64Array, surface: FreeSurface, dt: float) -> None:
        self.submerged[...] = distance < 0.0
        wet = np.clip(1.0 - distance / self.params.reach, 0.0, 1.0)
        taken = (self.capacity - self.water) * -np.expm1(-dt * wet / self.params.soaking)
        # no more than there is: what the water would own less than nothing of stays with it
        total = float(taken.sum())
        most = max(surface.account["owned"], 0.0)
        if total > most:
            taken *= most / total
            total = most
        self.water += taken
        self.taken[...] = taken
        surface.credit(-total)

    def _spread_along(self, places: Float64Array, dt: float) -> None:
        """Exchange between neighbours on a strand; at most a quarter of their difference, which cannot ring."""
        size = np.linalg.norm(np.diff(places, axis=0), axis=1)
        part = np.minimum(self.params.along * dt / np.maximum(size, 1e-9) ** 2, 0.25) * self._joined
        flux = part * np.minimum(self.capacity[1:], self.capacity[:-1]) * -np.diff(self.saturation)
        self.water[:-1] -= flux
        self.water[1:] += flux

    def _spread_across(self, dt: float) -> None:
        count = int(self._tets.max()) + 1
        room = np.bincount(self._tets, self.capacity, count)
        mean = np.bincount(self._tets, self.water, count) / np.maximum(room, 1e-30)
        self.water += -math.expm1(-self.params.across * dt) * (mean[self._tets] * self.capacity - self.water)

    def _drip(self, places: Float64Array, velocity: Float64Array, dt: float) -> None:
        """Let what is not held run to the tips, and fall where it is a drop."""
        over = np.maximum(self.water - self.params.held * self.capacity, 0.0) * ~self.submerged
        given = over * -math.expm1(-dt / self.params.dripping)
        self.water -= given
        self.pending += np.add.reduceat(given, self.offsets[:-1])
        size = 4.0 / 3.0 * math.pi * self.params.drop**3
        falling = np.flatnonzero(self.pending >= size)
        tips = self.offsets[falling + 1] - 1
        fresh = np.concatenate([places[tips], velocity[tips], self.pending[falling, None]], axis=1)
        self.pending[falling] = 0.0
        self.drops = np.concatenate([self.drops, fresh])

    def _fall(self, surface: FreeSurface, dt: float, floor: float) -> None:
        drops = self.drops
        drops[:, 3:6] += dt * np.asarray(GRAVITY)
        drops[:, :3] += dt * drops[:, 3:6]
        if not len(drops):
            return
        low, high = surface.grid.bounds
        inside = np.logical_and(drops[:, :3] > low, drops[:, :3] < high).all(axis=1)
        is_back = inside & (surface.at(drops[:, :3]) < 0.0)
        is_spilled = ~is_back & ((drops[:, 1] < max(floor, float(low[1]))) | (drops[:, 1] < low[1]))
        surface.credit(float(drops[is_back, 6].sum()))
        self.spilled += float(drops[is_spilled, 6].sum())
        self.drops = drops[~(is_back | is_spilled)]

    def memory(self) -> dict[str, NDArray[Any]]:
        """Arrays that continue exactly."""
        return {
            "water": self.water.copy(), "submerged": self.submerged.copy(), "pending": self.pending.copy(),
            "drops": self.drops.copy(), "spilled": np.array(self.spilled),
        }  # fmt: skip

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.water, self.submerged, self.pending, self.drops = (
            memory[name].copy() for name in ("water", "submerged", "pending", "drops")
        )
        self.spilled = float(memory["spilled"])
