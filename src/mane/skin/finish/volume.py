"""`VolumeKeeping`: hair against hair, as a correction of positions after any skin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Pose
from mane.geometry.checks import FloatArray
from mane.geometry.limits import Count, NotNegative, Range, check_limits
from mane.groom.groom import Groom
from mane.skin.finish import _kernels_volume as kernels
from mane.skin.finish.passes import FinishingPass
from mane.strand.frame import GuideFrame

CROWD = 8  # vertices that a cell has on average, so that one more or less is not a change of density
SMALLEST_CELL = 0.004  # [m]
GROWTH = 1.25  # of the cell from one try to the next
ROOM = 2  # nodes beyond the outermost hair, into which it may be spread
MARGIN = 8  # nodes around those that are too dense, over which hair may be spread


@dataclass(frozen=True)
class VolumeParams:
    """Settings of `VolumeKeeping`.

    Attributes:
        compression: how many times as dense as it was groomed, at the densest place around it, hair may become [1], at
            least 1; above 1 rounding moves nothing.
        cell: of the grid [m]; 0 takes the smallest one with enough hair in a cell.
        sweeps: of the solver.
        sample: hairs that the density is measured by, at most; all of them are moved.
    """

    compression: Annotated[float, Range(least=1)] = 1.05
    cell: NotNegative = 0.0
    sweeps: Count = 24
    sample: Count = 20_000

    def __post_init__(self) -> None:
        check_limits(self)


class Box(NamedTuple):
    """Nodes of a grid in the axes of a head, at a pose of it."""

    lookup: FloatArray  # (4, 3): rows of the rotation from the world to cells, and the origin [cells]
    size: NDArray[np.int64]  # (3,) nodes along each axis


class VolumeKeeping(FinishingPass):
    """Hair is nowhere denser than it was groomed: what was pressed together or through other hair goes apart.

    chai2017 keeps hair from hair by a position-based correction after interpolation, that of its reference [33]. This
    one looks at densities, since between 150,000 hairs with a vertex per centimetre no two vertices meet: the length
    of hair per volume on a grid that moves with the head, against the largest that each hair had around it when
    groomed. The excess is taken away by the least flux that does so (unilateral incompressibility, Narain et al. 2009),
    along which vertices are moved; segments then get their lengths back. Hair at rest, and hair that moves as one with
    its head, keeps its bytes. Points are changed in place.

    Args:
        groom: the hairs at rest, all with the same vertex count.
        settings: fields of `VolumeParams`.

    Limitations: nothing here knows of solids, so put it before `push_out`. It is frictionless, one correction does not
    remove all of the excess, and hair that crosses without becoming dense is let through.
    """

    name = "keep_volume"
    settings = VolumeParams
    needs = ("groom",)
    is_per_hair = False
    examples = ({}, {"cell": 0.02, "compression": 1.0})

    def __init__(self, groom: Groom, **settings: Any) -> None:
        self.params = VolumeParams(**settings)
        rest = groom.as_uniform()
        self._shape = rest.shape
        self._every = max(-(-len(rest) // self.params.sample), 1)
        sampled = np.ascontiguousarray(rest[:: self._every])
        edge = np.linalg.norm(np.diff(sampled.astype(np.float64), axis=1), axis=2)
        self.cell = self.params.cell or _usual_cell(sampled, edge)
        ends = np.pad(edge, ((0, 0), (1, 1)))
        self._mass = (0.5 * (ends[:, :-1] + ends[:, 1:]) / self.cell).astype(np.float32)
        self._limit = np.zeros(self._mass.shape, np.float32)
        self._parts = np.empty((kernels.PARTS, 0, 2), np.float32)
        if sampled.size:
            low, high = self._bounds(sampled, Pose.identity(), 1)
            # No hair is farther from its root than its length: only a body that deforms can ask for a larger box.
            self._most_nodes = high - low + 2 * np.ceil(edge.sum(axis=1).max() / self.cell) + 2
            box = self._box(low, high, Pose.identity())
            nodes, _ = self._scattered(sampled, 1, box)
            kernels.fill_rest_density(sampled, box.lookup, box.size, nodes, self._limit)

    def __call__(self, points: FloatArray, frame: GuideFrame) -> FloatArray:
        """Spread `points (S, V, 3)` [m] of a frame where they are too dense, in place, and return them."""
        if not len(points):
            return points
        if points.shape != self._shape:
            raise ValueError(f"points: must have shape {self._shape} (= the groom), got {points.shape}")
        low, high = self._bounds(points, frame.head, self._every)
        beyond = np.maximum(high - low - self._most_nodes, 0)
        low = low + beyond // 2  # what is outside of the box on either side is let be
        box = self._box(low, np.minimum(high, low + self._most_nodes), frame.head)
        nodes, usual = self._scattered(points, self._every, box)
        excess, low, high = np.empty(len(nodes), np.float32), np.empty(3, np.int64), np.empty(3, np.int64)
        compression = np.float32(self.params.compression)
        if kernels.find_excess(nodes, box.size, compression, np.float32(usual), excess, low, high):
            # The outermost nodes of the box stay as they are: each of those that are solved for has six neighbours.
            low, high = np.maximum(low - MARGIN, 1), np.minimum(high + MARGIN + 1, box.size - 1)
            potential, step = np.empty(len(nodes), np.float32), np.zeros((len(nodes), 3), np.float32)
            kernels.solve_potential(excess, box.size, low, high, self.params.sweeps, potential)
            kernels.fill_steps(potential, nodes, excess, box.size, low, high, step)
            back = (self.cell * frame.head.matrix[:3, :3]).astype(np.float32)
            kernels.move_hairs(box.lookup, back, box.size, low - 1, high, step, points)
        return points

    def density(self, points: FloatArray, head: Pose) -> tuple[FloatArray, FloatArray]:
        """How dense hairs (S, V, 3) [m] are on the nodes that have any, and how dense they were groomed [1], (N,) each.

        In lengths of a cell's edge per cell, those of the sample.
        """
        low, high = self._bounds(points, head, self._every)
        nodes, _ = self._scattered(points, self._every, self._box(low, high, head))
        has_hair = nodes[:, 0] > 0
        return nodes[has_hair, 0], nodes[has_hair, 1] / nodes[has_hair, 0]

    def _lookup(self, head: Pose, origin: FloatArray) -> FloatArray:
        turn = head.matrix[:3, :3].T / self.cell
        return np.vstack([turn, -turn @ head.position - origin]).astype(np.float32)

    def _bounds(self, points: FloatArray, head: Pose, every: int) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest node of a grid in the axes of `head` that holds one in `every` hairs, (3,) each."""
        low, high = np.empty(3, np.float32), np.empty(3, np.float32)
        kernels.find_bounds(points, every, self._lookup(head, np.zeros(3, np.float32)), low, high)
        return np.floor(low) - ROOM, np.floor(high) + ROOM + 1

    def _box(self, low: FloatArray, high: FloatArray, head: Pose) -> Box:
        return Box(self._lookup(head, low), (high - low).astype(np.int64) + 1)

    def _scattered(self, points: FloatArray, every: int, box: Box) -> tuple[FloatArray, float]:
        """Density and density times limit of every node (N, 2), in a buffer that is reused, and the mean limit."""
        count = int(np.prod(box.size))
        if self._parts.shape[1] < count:
            self._parts = np.empty((kernels.PARTS, count, 2), np.float32)
        parts = self._parts[:, :count]
        kernels.scatter_hairs(points, every, box.lookup, box.size, self._mass, self._limit, parts)
        mass, limits = kernels.add_parts(parts)
        return parts[0], limits / mass if mass > 0 else 0.0


def _usual_cell(rest: FloatArray, edge: NDArray[np.float64]) -> float:
    """Edge of the smallest cell [m] that has enough vertices of `rest` (S, V, 3) where it has any."""
    cell = max(float(edge.mean()) if edge.size else 0.0, SMALLEST_CELL)
    places = rest.reshape(-1, 3)
    while len(places) >= CROWD and len(np.unique(np.floor(places / cell), axis=0)) * CROWD > len(places):
        cell *= GROWTH
    return cell
