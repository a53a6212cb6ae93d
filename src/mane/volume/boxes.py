"""`ShapeBoxes`: a chain of boxes around every single hair, whose springs hold its shape (lee2018 3.2.2, fig. 9).

```
    t3 -- t2     A hair has 1 to 4 boxes along its length, each cut into five tetrahedra, so that the diagonals of the
   /|    /|      faces between two boxes agree. The first layer of nodes rides on the skin at the root. Every vertex of
  t0 -- t1|      the hair is embedded in the tetrahedron that it lies in at rest.
  | b3 -| b2
  |/    |/
  b0 -- b1
```
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import IntArray
from mane.stage.protocol import Memory
from mane.strand.model import StrandModel
from mane.strand.roots import RootPose
from mane.volume import _kernels_boxes as kernels
from mane.volume.lattice import Float64Array
from mane.volume.springs import MOST_ITERATIONS, BlockPattern, altitudes, lumped_masses

# The five tetrahedra of a box: nodes of its lower layer are 0 to 3, of its upper one 4 to 7; every other box mirrored.
EVEN = ((0, 2, 5, 7), (1, 0, 2, 5), (3, 0, 2, 7), (4, 0, 5, 7), (6, 2, 5, 7))
ODD = ((1, 3, 4, 6), (0, 1, 3, 4), (2, 1, 3, 6), (5, 1, 4, 6), (7, 3, 4, 6))
# Springs of boxes are a thousand times as stiff as what moves a box as a whole: a loose solution loses momentum.
TOLERANCE = 1e-10
MARGIN = 0.02  # beyond the hair, over its length


@dataclass(frozen=True)
class BoxParams:
    """What the boxes of a hair are like.

    Attributes:
        most: boxes of a long hair (lee2018 3.2.2: 4).
        length: of the shortest piece that is worth a box [m]: hair shorter than twice that has one (lee2018: really
            short hairs get one, regular to long ones four).
        thickness: of boxes around a straight hair, over its length.
        edge_stiffness: [N per unit strain] (lee2018 4: 0.414).
        altitude_stiffness: [N per unit strain] (lee2018 4: 0.0414).
        damping: 1 is critical for every spring, as printed.
    """

    most: int = 4
    length: float = 0.01
    thickness: float = 0.1
    edge_stiffness: float = 0.414
    altitude_stiffness: float = 0.0414
    damping: float = 1.0


class ShapeBoxes:
    """Boxes of all strands of a model; those with as many boxes are one group.

    Args:
        model: the strands.
        params: of the boxes.
        scale: factor on the stiffness of each strand's springs, shape (G,).
        stiffness: of the zero-length spring between each vertex and its place in the boxes [N/m], shape (G, V).
        damping: of these springs [kg/s], shape (G, V).

    Boxes weigh as much as their hair, for their inertia; gravity pulls at the hair alone.
    """

    def __init__(
        self,
        model: StrandModel,
        params: BoxParams,
        scale: Float64Array,
        stiffness: Float64Array,
        damping: Float64Array,
    ) -> None:
        count = np.clip((model.strand_length / params.length).astype(np.int64), 1, params.most)
        self._shape = model.rest_points.shape
        self._node_count = 4 * (int(count.max()) + 1)
        self.groups = [
            BoxGroup(np.flatnonzero(count == boxes), int(boxes), model, params, scale, stiffness, damping)
            for boxes in np.unique(count)
        ]

    def start(self, strands: NDArray[np.bool_], points: Float64Array, velocity: Float64Array, roots: RootPose) -> None:
        """Put the boxes of the mask (G,) around hair as it is: `points` [m], `velocity` [m/s], both (G, V, 3)."""
        for group in self.groups:
            group.start(strands, points, velocity, roots)

    def step(
        self, active: NDArray[np.bool_], points: Float64Array, velocity: Float64Array, roots: RootPose, dt: float
    ) -> None:
        """Go on by `dt` [s], pulled by hair at `points` that moves with `velocity`, with roots as at the end."""
        for group in self.groups:
            group.step(active, points, velocity, roots, dt)

    def places(self, strands: NDArray[np.bool_] | None = None) -> Float64Array:
        """Where the boxes have the vertices of hairs [m], shape (G, V, 3); zero for those not of a mask (G,)."""
        out = np.zeros(self._shape)
        for group in self.groups:
            mine = group.chosen(strands)
            out[group.rows[mine]] = group.places(mine)
        return out

    def taken(self, rows: IntArray) -> ShapeBoxes:
        """Return those of some of the strands, around them as at rest."""
        other, place = copy(self), np.full(self._shape[0], -1)
        place[rows] = np.arange(len(rows))
        other._shape = (len(rows), *self._shape[1:])
        groups = [(group, np.flatnonzero(place[group.rows] >= 0)) for group in self.groups]
        other.groups = [group.taken(mine, place[group.rows[mine]]) for group, mine in groups if len(mine)]
        return other

    def memory(self) -> Memory:
        """Nodes and velocities of each strand, zero behind the last node, shape (G, n, 3)."""
        x, v = np.zeros((2, self._shape[0], self._node_count, 3))
        for group in self.groups:
            x[group.rows, : group.x.shape[1]], v[group.rows, : group.x.shape[1]] = group.x, group.v
        return {"boxes.x": x, "boxes.v": v}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        for group in self.groups:
            nodes = group.x.shape[1]
            group.x[...], group.v[...] = (memory[f"boxes.{name}"][group.rows, :nodes] for name in ("x", "v"))


class BoxGroup:
    """Boxes of the strands that have the same number of them; see `ShapeBoxes`.

    Attributes:
        rows: the strands, shape (H,).
        rest: nodes at rest [m], shape (H, n, 3).
        x: nodes now [m], shape (H, n, 3).
        v: their velocity [m/s], likewise.
    """

    def __init__(
        self,
        rows: IntArray,
        boxes: int,
        model: StrandModel,
        params: BoxParams,
        scale: Float64Array,
        stiffness: Float64Array,
        damping: Float64Array,
    ) -> None:
        hair = model.rest_points[rows]
        self.rows, self._damping = rows, params.damping
        self.rest, local = box_nodes(hair, boxes, params.thickness)
        self._tets = _tetrahedra(boxes)
        pattern = BlockPattern.of(self.rest.shape[1], self._tets)
        self._is_free = np.arange(self.rest.shape[1]) >= 4
        self._pattern = (pattern.starts, pattern.columns, pattern.diagonal)
        self._topology = (self._is_free, pattern.edges, pattern.edge_slots, self._tets, pattern.tet_slots)
        edge = self.rest[:, pattern.edges[:, 1]] - self.rest[:, pattern.edges[:, 0]]
        self._edge_rest = np.linalg.norm(edge, axis=2)
        self._altitude_rest = np.stack([altitudes(one, self._tets) for one in self.rest])
        self._edge_stiffness = np.repeat(params.edge_stiffness * scale[rows, None], len(pattern.edges), axis=1)
        self._altitude_stiffness = np.repeat(params.altitude_stiffness * scale[rows, None], len(self._tets), axis=1)
        corners = self.rest[:, self._tets]
        volumes = np.linalg.det(corners[:, :, 1:] - corners[:, :, :1]) / 6
        density = model.mass[rows].sum(axis=1) / volumes.sum(axis=1)
        nodes = self.rest.shape[1]
        self._masses = np.stack(
            [lumped_masses(self._tets, *one, nodes) for one in zip(volumes, density.tolist(), strict=True)]
        )
        tet_of, weights = _embedded(hair, self.rest, self._tets, local)
        self._attached: tuple[NDArray[Any], ...] = (tet_of, weights, stiffness[rows], damping[rows])
        # The vertex whose displacement a layer takes when boxes are put around hair that has moved.
        layer = local[:, :, None] - np.arange(boxes + 1)
        self._vertex_of_node = np.repeat(np.abs(layer).argmin(axis=1), 4, axis=1)
        self._hair_rest, self._root_rest = hair, hair[:, 0].copy()
        self.x, self.v = self.rest.copy(), np.zeros_like(self.rest)

    def taken(self, mine: IntArray, rows: IntArray) -> BoxGroup:
        """Return that of its hairs `mine` (A,), which are strands `rows` (A,) from now on."""
        other = copy(self)
        for name in _PER_HAIR:
            setattr(other, name, getattr(self, name)[mine])
        other._attached = tuple(one[mine] for one in self._attached)
        other.rows = rows
        return other

    def chosen(self, strands: NDArray[np.bool_] | None) -> IntArray:
        """Which hairs of the group are in a mask (G,) of all strands, shape (A,)."""
        return np.arange(len(self.rows)) if strands is None else np.flatnonzero(strands[self.rows])

    def _carried(self, points: Float64Array, mine: IntArray, roots: RootPose) -> Float64Array:
        """Points (H, n, 3) at rest of hairs `mine` as the skin at their roots carries them [m], shape (A, n, 3)."""
        rows = self.rows[mine]
        turn, place = roots.rotations[rows], roots.positions[rows]
        return place[:, None] + quaternion.rotate(turn[:, None], points[mine] - self._root_rest[mine, None])

    def start(self, strands: NDArray[np.bool_], points: Float64Array, velocity: Float64Array, roots: RootPose) -> None:
        """Put boxes around hair as it is; see `ShapeBoxes.start`."""
        mine = self.chosen(strands)
        if len(mine) == 0:
            return
        rows, node = self.rows[mine], self._vertex_of_node[mine, :, None]
        moved = points[rows] - self._carried(self._hair_rest, mine, roots)
        self.x[mine] = self._carried(self.rest, mine, roots) + np.take_along_axis(moved, node, 1)
        self.v[mine] = np.take_along_axis(velocity[rows], node, 1)

    def step(
        self, active: NDArray[np.bool_], points: Float64Array, velocity: Float64Array, roots: RootPose, dt: float
    ) -> None:
        """Go on by `dt` [s]; see `ShapeBoxes.step`."""
        mine = self.chosen(active)
        if len(mine) == 0:
            return
        rows = self.rows[mine]
        kernels.step_boxes(
            mine,
            self._carried(self.rest, mine, roots),
            self._pattern,
            self._topology,
            self._masses,
            self._edge_stiffness,
            self._edge_rest,
            self._altitude_stiffness,
            self._altitude_rest,
            self._damping,
            points[rows],
            velocity[rows],
            self._attached,
            dt,
            TOLERANCE,
            MOST_ITERATIONS,
            self.x,
            self.v,
        )

    def places(self, mine: IntArray) -> Float64Array:
        """Where the boxes have the vertices of hairs `mine` [m], shape (A, V, 3)."""
        tet_of, weights = self._attached[:2]
        corners = self.x[mine[:, None, None], self._tets[tet_of[mine]]]
        found: Float64Array = np.einsum("hva,hvad->hvd", weights[mine], corners)
        return found


_PER_HAIR = (
    "rest",
    "x",
    "v",
    "_masses",
    "_edge_rest",
    "_edge_stiffness",
    "_altitude_rest",
    "_altitude_stiffness",
    "_vertex_of_node",
    "_hair_rest",
    "_root_rest",
)


def box_nodes(hair: Float64Array, boxes: int, thickness: float) -> tuple[Float64Array, Float64Array]:
    """Nodes of boxes around hairs (H, V, 3) at rest, (H, n, 3), and how many boxes up each vertex lies, (H, V).

    The axis of a box is that along which the hair varies most, from root to tip; it is as wide as the hair needs.
    """
    middle = hair.mean(axis=1, keepdims=True)
    axes = np.linalg.svd(hair - middle, full_matrices=False)[2]
    chord = hair[:, -1] - hair[:, 0]
    axes[np.einsum("hd,hd->h", chord, axes[:, 0]) < 0, 0] *= -1
    axes[np.linalg.det(axes) < 0, 2] *= -1
    local = np.einsum("hkd,hvd->hvk", axes, hair - middle)
    length = np.linalg.norm(np.diff(hair, axis=1), axis=2).sum(axis=1)
    low, high = local.min(axis=1), local.max(axis=1)
    spare = np.maximum(MARGIN * length[:, None], 0.5 * (thickness * length[:, None] - (high - low)))
    spare[:, 0] = MARGIN * length
    low, high = low - spare, high + spare
    up = np.linspace(0.0, 1.0, boxes + 1)
    corner = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    share = np.concatenate(
        [np.repeat(up, 4)[:, None], np.tile(corner, (boxes + 1, 1))], axis=1
    )  # of each node along the three axes
    place = low[:, None] + share * (high - low)[:, None]
    nodes = middle + np.einsum("hnk,hkd->hnd", place, axes)
    return nodes, boxes * (local[:, :, 0] - low[:, None, 0]) / (high - low)[:, None, 0]


def _tetrahedra(boxes: int) -> NDArray[np.int32]:
    """Five tetrahedra of positive volume for each box, shape (5 B, 4)."""
    tets = np.array([[4 * box + corner for corner in one] for box in range(boxes) for one in (EVEN, ODD)[box % 2]])
    layer, around = np.divmod(np.arange(4 * (boxes + 1)), 4)
    place = np.stack([layer, np.isin(around, (1, 2)), around >= 2], axis=1).astype(np.float64)
    flipped = np.linalg.det(place[tets[:, 1:]] - place[tets[:, :1]]) < 0
    tets[flipped] = tets[flipped][:, [0, 1, 3, 2]]
    return tets.astype(np.int32)


def _embedded(
    hair: Float64Array, nodes: Float64Array, tets: NDArray[np.int32], local: Float64Array
) -> tuple[IntArray, Float64Array]:
    """Tetrahedron of each vertex (H, V) and its barycentric weights there (H, V, 4)."""
    box = np.minimum(local.astype(np.int64), len(tets) // 5 - 1)
    candidate = 5 * box[..., None] + np.arange(5)
    row = np.arange(len(hair))[:, None, None, None]
    corners = nodes[row, tets[candidate]]
    edges = (corners[..., 1:, :] - corners[..., :1, :]).swapaxes(-1, -2)
    inner = np.linalg.solve(edges, (hair[:, :, None] - corners[..., 0, :])[..., None])[..., 0]
    weights = np.concatenate([1 - inner.sum(axis=-1, keepdims=True), inner], axis=-1)
    best = weights.min(axis=-1).argmax(axis=-1)[..., None]
    tet_of = np.take_along_axis(candidate, best, 2)[..., 0]
    return tet_of, np.ascontiguousarray(np.take_along_axis(weights, best[..., None], 2)[:, :, 0])
