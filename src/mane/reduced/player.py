"""`HairPlayer`: coefficients from frame to frame, and guides from coefficients.

The stages of guan2012 table 2: `synthesize` predicts coefficients (eq. 10), `reconstruct` lays strands out of them and
out of solids. `LearnedSource` gives both what they need of the world.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Pose
from mane.body.packed import PackedSolid, packed_poses, solid_list
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.geometry.frames import segment_frames
from mane.reduced import _kernels as kernels
from mane.reduced.dynamics import CoreTensor
from mane.reduced.lifting import distances, laid, lifted
from mane.reduced.model import HairModel
from mane.reduced.sliders import regions_of

Frames = NDArray[np.float32]
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BlockedBasis:
    """The basis with sixteen strands side by side, those of a region together.

    Attributes:
        numbers: flat, (B, N, K, 48), int16; K is d, filled up with zeros to a multiple of four.
        strand_of: guide of each lane, -1 for none, shape (B, 16).
        region_of: of each block, shape (B,).
        width: K.
    """

    numbers: NDArray[np.int16]
    strand_of: NDArray[np.int64]
    region_of: NDArray[np.int64]
    width: int

    @classmethod
    def of(cls, model: HairModel, region: NDArray[np.int64]) -> BlockedBasis:
        """Lay the basis of directions out for guides of regions (G,)."""
        lanes = kernels.LANES
        strand_of, owners = blocked_strands(region)
        segments, size = model.vertex_count - 1, model.coefficient_count
        width = -(-size // kernels.GROUP) * kernels.GROUP
        whole = model.basis.numbers.reshape(model.guide_count, segments, 3, size)
        out = np.zeros((len(strand_of), segments, width, 3, lanes), np.int16)
        for b, strands in enumerate(strand_of):
            own = whole[np.maximum(strands, 0)]  # (16, N, 3, d)
            out[b, :, :size] = own.transpose(1, 3, 2, 0)
        return cls(out.reshape(-1), strand_of, owners, width)


def blocked_strands(region: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Guides of each block of lanes, -1 for none, (B, 16), those of a region (G,) together; the region of each (B,)."""
    lanes, rows, owners = kernels.LANES, [], []
    for one in np.unique(region):
        strands = np.flatnonzero(region == one)
        blocks = -(-len(strands) // lanes)
        padded = np.full(blocks * lanes, -1, np.int64)
        padded[: len(strands)] = strands
        rows.append(padded.reshape(blocks, lanes))
        owners.append(np.full(blocks, one, np.int64))
    return np.concatenate(rows), np.concatenate(owners)


class SolidSet:
    """Solids as the kernel reads them: the body apart, the others behind each other.

    Args:
        body: what hair grows on, if it is touched.
        others: solids besides.
    """

    def __init__(self, body: Solid | None, others: Sequence[Solid]) -> None:
        self.has_body = body is not None
        self._body = None if body is None else PackedSolid.of(body)
        self._others = [PackedSolid.of(solid) for solid in others]
        self._nothing = PackedSolid.of(Solid(Sphere((0.0, 0.0, 0.0), 1e-3)))
        self._list = None if any(one.is_deforming for one in self._others) else self._listed(0.0)

    def _listed(self, time: float) -> Any:
        if not self._others:
            empty = solid_list([self._nothing.arrays])
            return empty._replace(nodes=empty.nodes[:0])
        return solid_list([one.arrays_at(time) for one in self._others])

    def arguments(self, poses: Sequence[Pose], time: float) -> tuple[Any, ...]:
        """Body, its blocks, whether there is one, the others, and all poses; `poses` has the body's first, if any."""
        body = self._nothing if self._body is None else self._body
        listed = self._list if self._list is not None else self._listed(time)
        own = poses if self.has_body else (Pose.identity(), *poses)
        return body.arrays_at(time), body.blocks_at(time), self.has_body, listed, packed_poses(own)


class HairPlayer:
    """A model at work.

    Args:
        model: whose representation is "directions"; `PositionPlayer` plays one of positions.
        body: what guides are kept out of; in its rest pose it tells how deep the groom lies already.
        thickness: how far above a solid hair lies [m].

    Attributes:
        past: coefficients of the last frames, oldest first, shape (R, order, d).
        region: of each guide, shape (G,).
        length: of each guide as sliders have it [m], shape (G,).
    """

    def __init__(self, model: HairModel, body: Solid | None = None, thickness: float = 0.0) -> None:
        self.model, self._thickness = model, thickness
        self._groomed_on = None if body is None else body.at_rest().placed(body.rest_pose, 0.0)
        self._values: dict[str, Any] | None = None
        self.region = np.zeros(0, np.int64)
        self.past = np.zeros((1, model.dynamics.order, model.coefficient_count))

    def set_sliders(self, values: Mapping[str, Any]) -> bool:
        """Take values of all sliders, numbers or maps (G,); returns whether anything changed."""
        if self._values is not None and all(np.array_equal(values[name], self._values[name]) for name in values):
            return False
        self._values = dict(values)
        settings, region = regions_of(self.model, values)
        if not np.array_equal(region, self.region):
            self.past = self._past_of(region, len(settings))
            self.region = region
            self._basis = self._blocked(region)
        names = [factor.name for factor in self.model.factors]
        weights = self.model.weights({name: settings[:, k] for k, name in enumerate(names)})
        self._weights = np.broadcast_to(weights, (len(settings), weights.shape[-1]))
        operators = [self.model.dynamics.operator(row) for row in self._weights]
        self.operators = operators
        self._control = np.stack([one.control for one in operators])
        self._history = np.stack([one.history for one in operators])
        self._set_rest(values)
        return True

    @cached_property
    def _deepest(self) -> Frames:
        """Distance of each vertex from the body in the style that has it deepest, at most the thickness [m], (G, V)."""
        assert self._groomed_on is not None
        deepest: Frames = distances(self._groomed_on, self.model.rest).min(axis=0)
        return np.minimum(deepest, np.float32(self._thickness))

    def _past_of(self, region: NDArray[np.int64], count: int) -> Array:
        """Last coefficients of new regions (G,): for each the mean over its guides of those that they followed."""
        guides = np.zeros((count, len(self.past)))
        np.add.at(guides, (region, self.region if self.region.size else np.zeros_like(region)), 1.0)
        return np.asarray(np.einsum("nr,rkd->nkd", guides / guides.sum(axis=1, keepdims=True), self.past))

    def _blocked(self, region: NDArray[np.int64]) -> BlockedBasis:
        return BlockedBasis.of(self.model, region)

    def _side_by_side(self, rows: Frames) -> Frames:
        """Rows of the segments of every guide (G, N, k) as blocks of lanes have them, (B, N, k * 16)."""
        own = rows[np.maximum(self._basis.strand_of, 0)].transpose(0, 2, 3, 1)
        return np.ascontiguousarray(own.reshape(*own.shape[:2], -1), np.float32)

    def _set_segments(self, unit: Frames, length: Frames) -> None:
        """Directions (G, N, 3) and lengths (G, N) [m] that the basis adds to."""
        self._rest, self._lengths = self._side_by_side(unit), self._side_by_side(length[..., None])

    def _set_rest(self, values: Mapping[str, Any]) -> None:
        unit, length = self.model.rest_at(values)
        self.length = length.sum(axis=1)
        roots = self.model.groomed[0][:, 0]
        if self._groomed_on is not None:
            unit = lifted(self._groomed_on, roots, unit, length, self._deepest)
        self.rest = laid(roots, unit, length)
        self._set_segments(unit, length)
        frames = segment_frames(self.rest)
        joints = frames.copy()
        joints[:, 1:] = quaternion.multiply(quaternion.conjugate(frames[:, :-1]), frames[:, 1:])
        self._joints = self._side_by_side(joints)
        self._levels = np.full(self.rest.shape[:2], self._thickness, np.float32)
        if self._groomed_on is not None:
            # No vertex is pushed farther out than it lies at rest, or hair would move before the head does.
            self._levels = np.minimum(self._levels, distances(self._groomed_on, self.rest))

    def begin(self, frame: Array, head: Array) -> None:
        """Take hair that has come to rest on a head (7,), seen from a canonical frame (7,): zero is rest."""
        self.past[:] = 0.0

    def settle(self, controls: Array) -> None:
        """Take hair that has come to rest under controls (U,) that stay as they are: a head that is tilted, a wind."""
        if not controls.any():
            return
        for own, operator in zip(self.past, self.operators, strict=True):
            own[:] = operator.settled(controls)

    def show_bust_alone(self, controls: Array) -> None:
        """Take hair of the newest frame that follows from the bust alone (t = 1, 2 of guan2012 section 5).

        For a model of the tensor.
        """
        dynamics, count = self.model.dynamics, self.model.space.body_count
        assert isinstance(dynamics, CoreTensor)
        self.remember(np.stack([dynamics.start(weights, count) @ controls[:count] for weights in self._weights]))

    def synthesize(self, controls: Array) -> Array:
        """Predict the coefficients of the next frame (R, d), and remember them."""
        out = np.empty((len(self.past), self.past.shape[2]))
        kernels.synthesize(self._control, self._history, controls, self.past, out)
        self.remember(out)
        return out

    def remember(self, coefficients: Array) -> None:
        """Take coefficients (R, d) as those of the newest frame."""
        self.past[:, :-1] = self.past[:, 1:]
        self.past[:, -1] = coefficients

    def reconstruct(
        self,
        frame: Pose,
        roots: Frames,
        root_rotations: Frames,
        solids: tuple[Any, ...],
        masses: Frames,
        gravity: Frames,
        previous: tuple[Frames, Frames] | None,
        inv_dt: float,
        coefficients: Array | None = None,
    ) -> tuple[Frames, Frames, Frames, Frames]:
        """Points, velocity, orientations and cut forces of coefficients (R, d), the newest without; see the kernel."""
        guides, vertices = self.rest.shape[:2]
        points = np.empty((guides, vertices, 3), np.float32)
        velocity, cut_force = np.empty_like(points), np.empty((guides, vertices - 1, 3), np.float32)
        orientations = np.empty((guides, vertices - 1, 4), np.float32)
        y = np.zeros((len(self.past), self._basis.width), np.float32)
        if self._basis.width:
            newest = self.past[:, -1] if coefficients is None else coefficients
            y[:, : self.past.shape[2]] = newest * self.model.basis.scale
        before = (points, points) if previous is None else previous
        body, blocks, has_body, others, poses = solids
        kernels.reconstruct(
            *(self._basis.numbers, self._rest, self._lengths, self._basis.strand_of, self._basis.region_of, y),
            *(frame.matrix[:3, :3].astype(np.float32).ravel(), roots, root_rotations, self._joints),
            *(body, blocks, has_body, others, poses, np.float32(self._thickness), self._levels, masses, gravity),
            *(*before, np.float32(0.0 if previous is None else inv_dt)),
            *(points, velocity, orientations, cut_force),
        )
        return points, velocity, orientations, cut_force
