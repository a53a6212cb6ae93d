"""`VolumeGrid`: hair as a whole, on a coarse grid: neighbours drag each other along, and none is pressed too dense.

The auxiliary grid of hsu2024 section 3. In each step the mass and the momentum of all vertices are spread over the
nodes of a grid that moves with the head, and what the nodes have in common comes back to the vertices:

- friction: velocities approach those of the grid at a rate. Each vertex also carries an affine matrix that says how the
  velocity changes around it (APIC: Jiang et al. 2015), so that a turn of the whole is not taken for friction;
- pressure: where hair is denser than the groom was in the same place of the same strand, the nodes are pushed apart as
  by a gas, which a vertex of mass m and density rho feels as an energy of m c^2 (1 - rho_rest / rho) per change of
  volume. rho_rest is the density of the groom or its median, whichever is higher, and a little more; rho is that at the
  end of the step, as hair moves now, so that it is stopped before it is too dense and not thrown back afterwards.

All forces add up to nothing. Their moment is what the affine matrices take up: angular momentum is kept by vertices and
matrices together. The share of the velocity that friction takes in a step is 1 - exp(-friction dt), never more than
the grid can answer for, and pressure is limited to what waves may do to one cell in a step, so no setting is too stiff.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.contact.grid import _kernels as kernels
from mane.geometry import quaternion
from mane.geometry.checks import as_array
from mane.geometry.index import PointIndex
from mane.geometry.limits import NotNegative, Positive, check_arguments
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Force, Load, StrandView

# Cell size, in multiples of the usual distance between neighbouring strands; never less than a segment, or hair could
# slip between the vertices of its neighbour.
CELLS_PER_SPACING = 1.5
# Most nodes along an axis. Hair that is further from the middle of all hair takes no part.
LARGEST_AXIS = 128
# Fastest pressure wave, in cells per step.
FASTEST_WAVE = 0.4
ROOM_AHEAD = 1.5  # nodes allocated over those needed, so that hair that spreads does not ask for more at every step


class VolumeGrid(Force):
    """Friction and pressure of a head of hair.

    The grid follows the root of the first strand: the groom at rest feels nothing, wherever the head goes. On skin that
    deforms the other roots shift on the grid, and densities with them.

    Limitations: hair counts where its vertices are, with a cell as resolution. Strands that pass each other within a
    cell do not notice; that is the matter of strips and links. The forces are not the gradient of an energy: without
    any friction, the roughness of the grid shakes hair that is pressed together.

    Args:
        friction: rate at which hair takes on the velocity of the hair around it [1/s]; 0 for none.
        pressure_speed: speed of sound c of hair that is pressed together [m/s]; 0 for none. A heap of height H is
            pressed by a share of some g H / c^2 under its own weight.
        looseness: how much denser than at rest hair may be before it is pushed, as a share. Hair that moves through the
            grid without changing looks more than a tenth denser for it in less than a hundredth of its vertices.
        cell: size of a cell [m]; None for 1.5 times the usual distance between strands, at least a segment.
        strands: guides that take part, mask of shape (G,); None for all. `guides.strands.strand["group_id"] == 2`
            is one hair group; groups that shall not feel each other have a grid each.
    """

    name = "grid"

    def __init__(
        self,
        *,
        friction: NotNegative = 5.0,
        pressure_speed: NotNegative = 3.0,
        looseness: NotNegative = 0.1,
        cell: Positive | None = None,
        strands: ArrayLike | None = None,
    ) -> None:
        check_arguments(VolumeGrid, locals())
        self.friction = float(friction)
        self.pressure_speed = float(pressure_speed)
        self.looseness = float(looseness)
        self._cell_given = cell
        self._strands_given = strands

    def prepare(self, model: StrandModel) -> None:
        """Choose the size of the cells; what is allocated here is used in every step."""
        count, vertices = model.mass.shape
        own = model.own_count
        given = np.ones(own, np.bool_) if self._strands_given is None else self._strands_given
        self._model = model
        chosen = as_array("strands", given, (own,), np.bool_)
        self._chosen: NDArray[np.bool_] = chosen[model.parents[:, 0]] & chosen[model.parents[:, 1]]
        self.cell = usual_cell(model) if self._cell_given is None else float(self._cell_given)
        size = count * vertices
        self._mass = model.mass.reshape(-1)
        self._affine = np.zeros((size, 9))
        self._cells = np.zeros((count, vertices, 3))
        self._low, self._high = np.zeros((2, 3))
        self._slab, self._order = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self._starts = np.zeros(LARGEST_AXIS // kernels.SLAB + 2, np.int64)
        self._density, self._coming = np.zeros((2, size))
        self._rest_density = np.zeros(size)
        self._takes_part = np.zeros(count, np.bool_)
        self._rest_active: NDArray[np.bool_] | None = None
        self._first, self._size = np.zeros((2, 3), np.int64)
        self._nodes, self._push, self._marks = np.zeros(0), np.zeros(0), np.zeros((3, 0))

    @property
    def density(self) -> Float64Array:
        """Hair per volume at each vertex at the start of the last step [kg/m^3], shape (G, V); 0 where none is."""
        result: Float64Array = self._density.reshape(self._model.mass.shape).copy()
        return result

    @property
    def rest_density(self) -> Float64Array:
        """Density from which on hair is pushed apart [kg/m^3], shape (G, V)."""
        return self._rest_density.reshape(self._model.mass.shape).copy()

    @property
    def affine(self) -> Float64Array:
        """Gradient of the velocity around each vertex times cell^2 / 4 [m^2/s], shape (G, V, 3, 3)."""
        return self._affine.reshape(*self._model.mass.shape, 3, 3).copy()

    def add(self, strands: StrandView, load: Load) -> None:
        """Spread the motion of all hair over the grid and add what comes back."""
        if self._rest_active is None or not np.array_equal(self._rest_active, strands.active):
            self._measure_rest(strands.active)
        rotation = quaternion.to_matrix(strands.roots_before.rotations[0])
        self._locate(strands.points, rotation, strands.roots_before.positions[0])
        share = -math.expm1(-self.friction * strands.dt)
        force = load.force.reshape(-1, 3)
        self._exchange(strands.velocity.reshape(-1, 3), rotation, share, strands.dt, force)
        speed = min(self.pressure_speed, FASTEST_WAVE * self.cell / strands.dt)
        if speed > 0 and (self._coming > self._rest_density).any():
            self._press(rotation, speed, strands.dt, force)

    def report(self) -> dict[str, float]:
        """Largest density over that at rest."""
        ratio = np.divide(
            self._density, self._rest_density, where=self._rest_density > 0, out=np.zeros_like(self._density)
        )
        return {"density": float(ratio.max(initial=0.0))}

    def memory(self) -> dict[str, NDArray[Any]]:
        """The affine matrices."""
        return {"affine": self._affine.copy()}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self._affine[...] = memory["affine"]

    def forget(self, strands: NDArray[np.bool_]) -> None:
        """Strands of the mask (G,) were carried elsewhere: what turned around them is not there."""
        self._affine.reshape(len(strands), -1)[strands] = 0.0

    def _measure_rest(self, active: NDArray[np.bool_]) -> None:
        """Find the densities of the groom with these guides."""
        self._rest_active = active.copy()
        np.logical_and(self._chosen, active, out=self._takes_part)
        rotation, home = np.eye(3), self._model.rest_points[0, 0]
        self._locate(self._model.rest_points, rotation, home)
        still = np.zeros((2, len(self._mass), 3))
        self._exchange(still[0], rotation, 0.0, 1.0, still[1])
        found = self._density[self._density > 0]
        usual = float(np.median(found)) if len(found) else 0.0
        np.maximum(self._density, usual, out=self._rest_density)
        self._rest_density *= 1 + self.looseness

    def _locate(self, points: Float64Array, rotation: Float64Array, pivot: Float64Array) -> None:
        """Lay the box around the hair and sort the vertices in it."""
        home = self._model.rest_points[0, 0]
        bounds = (self._low, self._high)
        kernels.to_cells(points, self._takes_part, rotation, pivot, home, 1 / self.cell, self._cells, *bounds)
        if self._takes_part.any():
            low, high = np.floor(self._low - 0.5), np.floor(self._high + 2.5)
            if (high - low > LARGEST_AXIS).any():
                middle = np.floor(self._cells[self._takes_part].mean(axis=(0, 1)))
                low = np.maximum(low, middle - LARGEST_AXIS // 2)
                high = np.minimum(high, low + LARGEST_AXIS)
            self._first[...], self._size[...] = low, high - low
        kernels.sort_by_slab(
            self._cells, self._takes_part, self._first, self._size, self._slab, self._starts, self._order
        )
        self._node_count = int(self._size.prod())
        if 4 * self._node_count > len(self._nodes):
            room = int(ROOM_AHEAD * self._node_count)
            self._nodes, self._push, self._marks = np.zeros(4 * room), np.zeros(4 * room), np.zeros((3, room))
        self._nodes[: 4 * self._node_count] = 0.0

    def _exchange(
        self, velocity: Float64Array, rotation: Float64Array, share: float, dt: float, force: Float64Array
    ) -> None:
        """Bring mass and momentum to the nodes, and densities and a share of the common motion back."""
        self._density.fill(0.0)
        self._coming.fill(0.0)
        placed = (self._cells.reshape(-1, 3), self._first, self._size, self._mass, velocity)
        kernels.scatter_motion(self._order, self._starts, *placed, self._affine, rotation, self.cell, self._nodes)
        kernels.velocities(self._node_count, self._nodes)
        grid = (rotation, self.cell, self._nodes, share, dt)
        outputs = (self._density, self._coming, self._affine, force)
        kernels.gather_motion(self._order, int(self._starts[-1]), *placed, *grid, *outputs)

    def _press(self, rotation: Float64Array, speed: float, dt: float, force: Float64Array) -> None:
        """Push apart what is to be denser than at rest, with pressure waves of this speed [m/s]."""
        placed = (self._cells.reshape(-1, 3), self._first, self._size, self._mass)
        self._push[: 4 * self._node_count] = 0.0
        kernels.scatter_push(self._order, self._starts, *placed, self._coming, self._rest_density, speed, self._push)
        kernels.push_changes(self._node_count, dt / self.cell, self._nodes, self._push)
        kernels.spread_marks(self._size, self._push, self._marks)
        grid = (rotation, self.cell, self._push, self._marks, self.friction > 0, dt)
        kernels.gather_push(self._order, int(self._starts[-1]), *placed, *grid, self._affine, force)


def usual_cell(model: StrandModel) -> float:
    """Return a cell size for guides [m], from the distances between their middles and the length of their segments."""
    segment = float(model.rest_length.mean())
    if model.own_count == 1:
        return segment
    middles = model.rest_points[: model.own_count, model.vertex_count // 2]
    distance, _ = PointIndex(middles).nearest(middles, 2)
    apart = distance[:, 1][distance[:, 1] > 0]  # an empty slot repeats a strand
    spacing = float(np.median(apart)) if len(apart) else 0.0
    return max(CELLS_PER_SPACING * spacing, segment)
