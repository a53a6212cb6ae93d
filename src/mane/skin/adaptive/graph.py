"""`GuideGraph`: which guides may carry a hair together in a frame (chai2017 4.1 to 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mane.body._kernels_solid import SolidList
from mane.body.cells import solid_cells
from mane.body.packed import PackedSolid, shape_arrays, solid_list
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray, IntArray
from mane.skin.adaptive import _kernels_graph as kernels
from mane.skin.adaptive.params import AdaptiveParams
from mane.skin.base import require_poses
from mane.skin.solids import SkinSolids
from mane.strand.frame import GuideFrame

# What a way between two guides that lie on a solid may lead into it [m], and of its thinnest part.
GRAZE, GRAZE_OF_FEATURE = 2e-4, 0.3
# Where nothing was learned: how fast guides move against each other at most, over their distance at rest [1/s], and how
# much farther apart they get, squared.
USUAL_RATE, USUAL_SPREAD = 20.0, 6.0
MOST_BETWEEN = 8
SMALLEST = 1e-8  # [m^2] of the squared distance of two strands: guides in one place


@dataclass(frozen=True, eq=False)
class MotionScale:
    """What the motion of P pairs of guides is measured by.

    Attributes:
        pairs: guides, the lower slot first, rising, shape (P, 2), int64.
        position: A of chai2017 eq. 2, the mean of |p_i - p_j|^2 over training [m^2], shape (P,).
        velocity: B, the mean of |v_i - v_j|^2 [m^2/s^2], shape (P,).
        usual: what d of eq. 2 reaches where nothing disturbs the hair, its 99th percentile, shape (P,).
        sigma: of eq. 2, that `usual` holds for; None for a guess that holds for any.
    """

    pairs: IntArray
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    usual: NDArray[np.float64]
    sigma: float | None = None

    @classmethod
    def at_rest(cls, rest: FloatArray, pairs: IntArray) -> MotionScale:
        """Make a guess from the guides at rest (G, U, 3), where nothing was learned."""
        way = rest[pairs[:, 0]].astype(np.float64) - rest[pairs[:, 1]]
        position = np.maximum(np.einsum("pvc,pvc->p", way, way), SMALLEST)
        return cls(pairs, position, USUAL_RATE**2 * position, np.full(len(pairs), USUAL_SPREAD))

    def of(self, pairs: IntArray, capacity: int) -> MotionScale:
        """Take some of the pairs (Q, 2) of `capacity` guides.

        Raises:
            ValueError: one of them is not there.
        """
        known, wanted = self.pairs @ [capacity, 1], pairs @ [capacity, 1]
        rows = np.searchsorted(known, wanted)
        absent = np.append(known, -1)[rows] != wanted
        if absent.any():
            first, second = pairs[absent.argmax()]
            raise ValueError(f"model: does not tell how guides {first} and {second} move; learn it again")
        return replace(self, **{name: getattr(self, name)[rows] for name in ("pairs", "position", "velocity", "usual")})


def every_pair(capacity: int) -> IntArray:
    """All pairs of so many guides, (P, 2), the lower slot first."""
    return np.stack(np.triu_indices(capacity, 1), axis=1)


def shared_pairs(slots: NDArray[np.int32], counts: NDArray[np.int32], capacity: int) -> IntArray:
    """Pairs of guides that are eligible for one hair, (P, 2), of `slots (S, M)` with `counts (S,)` of them each."""
    has_pair = np.zeros((capacity, capacity), np.bool_)
    for a in range(slots.shape[1]):
        for b in range(a + 1, slots.shape[1]):
            rows = counts > b
            has_pair[slots[rows, a], slots[rows, b]] = True
    return np.argwhere(np.triu(has_pair | has_pair.T, 1))


class GuideGraph:
    """Edges between guides, made anew in every frame.

    Args:
        scale: what motion is measured by; other pairs are not connected.
        capacity: number of guide slots.
        solids: what must not be between two guides, all those of a frame in their order.
        checked: numbers of those that count.
        params: which checks there are, and their limits.
        spacing: of the vertices of guides [m].

    Attributes:
        solids: as given.
        checked: as given; none where nothing asks for solids, neither that check nor hairs that lean.
        edges: bits, shape (G, W), uint64; see `_kernels_graph`.
        difference: d of chai2017 eq. 2 for every pair in the last frame, shape (P,).
        between: places of every segment that are asked for solids.
        clearance: how far the vertices of guides are from the solids in the last frame at least [m], shape (Z, G, U).
        cells: around the solids that are checked.
    """

    def __init__(
        self,
        scale: MotionScale,
        capacity: int,
        solids: Sequence[Solid],
        checked: Sequence[int],
        params: AdaptiveParams,
        spacing: float = 0.0,
    ) -> None:
        self._params, self._capacity = params, capacity
        self.solids = tuple(solids)
        leans = params.lean and not params.paper
        self.checked = list(checked) if params.use_solids or leans else []
        own = [solids[number] for number in self.checked]
        self._solids = SkinSolids(own) if own else None
        self.cells = solid_cells([PackedSolid.of(solid) for solid in own])
        thinnest = min((PackedSolid.of(solid).feature for solid in own), default=np.inf)
        # Places of every segment that are asked: with one, a thin solid would pass between vertices.
        self.between = 1 if params.paper else int(np.clip(np.ceil(spacing / (2 * thinnest)), 1, MOST_BETWEEN))
        self._graze = np.float32(min(GRAZE, GRAZE_OF_FEATURE * thinnest))
        # Kernels take a table of some solid, at no pose, for none.
        self._nothing = solid_list([shape_arrays(Sphere((0.0, 0.0, 0.0), 1.0))]), np.zeros((0, 12), np.float32)
        self.scale = scale
        self._inv_a = (1 / np.maximum(scale.position, SMALLEST)).astype(np.float32)
        self._inv_b = (params.sigma / np.maximum(scale.velocity, SMALLEST)).astype(np.float32)
        if scale.sigma not in (None, params.sigma) and params.use_motion and not params.paper:
            raise ValueError(
                f"sigma: must be {scale.sigma:g}, which the model learned how far d of eq. 2 goes with, got "
                f"{params.sigma:g}; `mane learn adaptive --set sigma={params.sigma:g}` learns it with that"
            )
        limit = params.delta * (np.ones(len(scale.pairs)) if params.paper else scale.usual)
        self._limit = (limit if params.use_motion else np.full(len(limit), np.inf)).astype(np.float32)
        self.edges = np.zeros((capacity, (capacity + 63) // 64), np.uint64)
        self.difference = np.zeros(len(scale.pairs), np.float32)
        self.clearance: FloatArray = np.zeros((0, 0, 0), np.float32)

    def update(self, frame: GuideFrame, velocity: FloatArray, present: FloatArray) -> None:
        """Connect the guides of a frame.

        Args:
            frame: guides in the world, beside the solids.
            velocity: of the guides as seen from the head [m/s], (G, U, 3).
            present: how far each guide is there, (G,).
        """
        solids, poses = self.solids_at(frame)
        points = np.ascontiguousarray(frame.points, np.float32)
        clearance: FloatArray = np.empty((len(poses), *points.shape[:2]), np.float32)
        least = np.empty(clearance.shape[:2], np.float32)
        kernels.fill_clearance(solids, self.cells, poses, points, clearance, least)
        spacing = np.sqrt((np.diff(points, axis=1) ** 2).sum(axis=2).max(axis=1))
        parting = poses if self._params.use_solids else poses[:0]  # others are there for hairs that lean
        is_connected = np.zeros(len(self.difference), np.bool_)
        tip = np.inf if self._params.tip_distance is None else self._params.tip_distance
        kernels.connect_pairs(
            *(solids, self.cells, parting, points, velocity, clearance, least, spacing, present, self.scale.pairs),
            *(self._inv_a, self._inv_b, self._limit, np.float32(tip), self.between, self._graze),
            *(self.difference, is_connected),
        )
        kernels.fill_edges(self.scale.pairs, is_connected, present, self.edges)
        self.clearance = clearance

    def solids_at(self, frame: GuideFrame) -> tuple[SolidList, FloatArray]:
        """Solids that are checked and their poses at a frame, for kernels; none at no pose."""
        if self._solids is None:
            return self._nothing
        require_poses(len(self.solids), frame.solid_poses)
        poses = tuple(frame.solid_poses[number] for number in self.checked)
        return self._solids.at(replace(frame, solid_poses=poses))

    def cliques(self) -> NDArray[np.uint64]:
        """The clique of every guide in the last frame (chai2017 algorithm 1, lines 1 to 15), as bits (G, W)."""
        similarity = np.full((self._capacity, self._capacity), np.inf, np.float32)
        i, j = self.scale.pairs.T
        similarity[i, j] = similarity[j, i] = self.difference
        order = np.argsort(similarity, axis=1, kind="stable")
        cliques = np.zeros_like(self.edges)
        kernels.fill_cliques(order, self.edges, cliques)
        return cliques

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays; solids apart, which have their own."""
        held = (self.scale.pairs, self.scale.position, self.scale.velocity, self.scale.usual, self.edges)
        return sum(array.nbytes for array in held) + 4 * self.difference.nbytes
