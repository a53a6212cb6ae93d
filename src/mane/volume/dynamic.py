"""`DynamicMesh`: a second mesh on weak springs to the first, for motion that that has not (lee2018 3.2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import IntArray
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame
from mane.strand.ports import NO_STRANDS
from mane.volume.kdsm import MeshReport, MeshState
from mane.volume.lattice import Float64Array
from mane.volume.mesh import TetMesh
from mane.volume.motion import LONGEST_GAP, NO_TIME, ROUNDING, MeshMotion
from mane.volume.recovery import recover
from mane.volume.springs import Attachment, SpringMesh, SpringParams, altitudes, lengths, lumped_masses

GRAVITY = 9.81  # [m/s2]


@dataclass(frozen=True)
class DynamicParams:
    """Settings of a mesh that is attached to another.

    Attributes:
        springs: of the mesh itself; they may be weak, since the first mesh supports it.
        attachment: stiffness of the zero-length springs to the first mesh, over that of a node on its edges.
        follow_shape: how far rest lengths follow those of the first mesh, from 0, its shape at rest, to 1, its shape
            now, for all or for every node, shape (N,): at 1 nothing resists what the first mesh does.
        follow_position: share of the first mesh's displacement in a step that is added to positions, 0 to 1.
        follow_velocity: share of the change of its velocity that is added to velocities, 0 to 1.
        gravity: factor on the weight: what gravity does is in the first mesh already.
        drag: rate at which velocities go to those of what flows around it [1/s].
    """

    springs: SpringParams = field(default_factory=SpringParams)
    attachment: float = 0.2
    follow_shape: float | Float64Array = 1.0
    follow_position: float = 0.0
    follow_velocity: float = 0.0
    gravity: float = 0.0
    drag: float = 0.0

    def __post_init__(self) -> None:
        for name in ("follow_shape", "follow_position", "follow_velocity"):
            value = np.asarray(getattr(self, name), np.float64)
            if not (np.isfinite(value).all() and value.min() >= 0 and value.max() <= 1):
                raise ValueError(f"{name}: must be from 0 to 1, got {value.min():g} to {value.max():g}")
        for name in ("attachment", "drag"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ValueError(f"{name}: must be a finite number of at least 0, got {value}")
        if not np.isfinite(self.gravity):
            raise ValueError(f"gravity: must be a finite factor, got {self.gravity}")


class DynamicMesh(MeshMotion):
    """Steps a mesh on springs to another one.

    Args:
        carrier: gives the nodes of the first mesh; one that is stepped with the frames, or played.
        params: of the second.
        mesh: the second at rest, which may be finer; the first by default. It is bound by barycentric weights.
        step: longest step [s].
        flow: velocity of what flows around nodes (N, 3) at a time, (N, 3) [m/s], for `drag`; still air without.

    Attributes:
        report: how the last step went.
    """

    remembers = True

    def __init__(
        self,
        carrier: MeshMotion,
        params: DynamicParams | None = None,
        *,
        mesh: TetMesh | None = None,
        step: float = 1 / 96,
        flow: Any = None,
    ) -> None:
        self.carrier, self.params = carrier, params or DynamicParams()
        self.mesh = carrier.mesh if mesh is None else mesh
        self._step, self._flow = step, flow
        self._bind()
        self.report = MeshReport(1.0, 0, 0, 0)
        self.reset()

    def _bind(self) -> None:
        mesh, first = self.mesh, self.carrier.mesh
        if mesh is first:
            self._tets, self._weights = None, np.zeros((0, 4))
        else:
            found = _carried_by(first, mesh)
            self._tets, self._weights = first.tets[found], first.weights(mesh.nodes, found)
        params, spacing = self.params.springs, mesh.lattice.spacing
        self._masses = lumped_masses(mesh.tets, mesh.volumes, params.density(spacing), mesh.node_count)
        # By mass, so that a node with half the tetrahedra around it has half the spring, and swings alike.
        full = 0.5 * spacing**3 * params.density(spacing)
        stiffness = self.params.attachment * params.node_stiffness(spacing) * self._masses / full
        corner = np.zeros((mesh.node_count, 4))
        corner[:, 0] = 1.0
        own = np.repeat(np.arange(mesh.node_count, dtype=np.int32)[:, None], 4, axis=1)
        attachment = Attachment.of(mesh.node_count, own, corner, stiffness)
        nobody = np.zeros(mesh.node_count, np.bool_)
        self._springs = SpringMesh(mesh.nodes, mesh.tets, mesh.edges, self._masses, nobody, params, attachment)
        self._rest = (self._springs.rest_lengths.copy(), self._springs.rest_altitudes.copy())
        share = np.broadcast_to(np.asarray(self.params.follow_shape, np.float64), (mesh.node_count,))
        self._edge_share = share[mesh.edges].mean(axis=1)
        self._tet_share = share[mesh.tets].mean(axis=1)[:, None]

    def targets(self, carrier_nodes: Float64Array) -> Float64Array:
        """Where the first mesh has the nodes of the second, shape (N, 3)."""
        if self._tets is None:
            return carrier_nodes
        embedded: Float64Array = np.einsum("na,nad->nd", self._weights, carrier_nodes[self._tets])
        return embedded

    def reset(self) -> None:
        """Begin anew, where the first mesh is."""
        self.carrier.reset()
        self._time = NO_TIME
        self._state = MeshState(self.mesh.nodes, np.zeros_like(self.mesh.nodes))
        self._target, self._speed = self.mesh.nodes, np.zeros_like(self.mesh.nodes)

    def nodes(self, frame: GuideFrame) -> Float64Array:
        """Step to the time of a frame."""
        target, gap = self.targets(self.carrier.nodes(frame)), frame.time - self._time
        if abs(gap) < ROUNDING:
            return self._state.nodes
        if not 0 < gap <= LONGEST_GAP:
            self._state = MeshState(target, np.zeros_like(target))
            self._speed = np.zeros_like(target)
        else:
            count = max(1, int(np.ceil(gap / self._step - ROUNDING)))
            goals = [self._target + (target - self._target) * (number / count) for number in range(count + 1)]
            for number in range(1, count + 1):
                time = self._time + gap * number / count
                self._state = self.step(self._state, goals[number - 1], goals[number], gap / count, time)
        self._time, self._target = frame.time, target
        return self._state.nodes

    def step(self, state: MeshState, before: Float64Array, target: Float64Array, dt: float, time: float) -> MeshState:
        """Return the mesh after `dt`, at `time` [s], when the first one took its nodes from `before` to `target`."""
        params, springs = self.params, self._springs
        springs.rest_lengths = _between(self._rest[0], lengths(target, self.mesh.edges), self._edge_share)
        springs.rest_altitudes = _between(self._rest[1], altitudes(target, self.mesh.tets), self._tet_share)
        speed = (target - before) / dt
        x = state.nodes + params.follow_position * dt * speed
        v = state.velocity + params.follow_velocity * (speed - self._speed)
        self._speed = speed
        force = np.zeros_like(x)
        force[:, 1] = -params.gravity * GRAVITY * self._masses
        if params.drag > 0:
            around = np.zeros_like(x) if self._flow is None else np.asarray(self._flow(time, x), np.float64)
            force += (params.drag * self._masses)[:, None] * (around - v)
        moved, after = springs.step(x, v, dt, places=target, force=force)
        ratio = self.mesh.volume_ratios(moved)
        recovered, left = recover(self.mesh, moved)
        if recovered is not moved:
            after = after + (recovered - moved) / dt
        self.report = MeshReport(float(ratio.min()), int((ratio < 0).sum()), left, springs.iterations)
        return MeshState(recovered, after)

    def memory(self) -> Memory:
        """Both meshes."""
        own = {
            "dynamic_nodes": self._state.nodes.copy(),
            "dynamic_velocity": self._state.velocity.copy(),
            "dynamic_time": np.array(self._time),
            "dynamic_target": self._target.copy(),
            "dynamic_speed": self._speed.copy(),
        }
        return {**self.carrier.memory(), **own}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.carrier.restore(memory)
        self._state = MeshState(memory["dynamic_nodes"].copy(), memory["dynamic_velocity"].copy())
        self._time = float(memory["dynamic_time"])
        self._target = memory["dynamic_target"].copy()
        self._speed = memory["dynamic_speed"].copy()


def _carried_by(first: TetMesh, mesh: TetMesh) -> IntArray:
    """Tetrahedron of the first mesh for each node of the other, shape (N,); that of a neighbour beyond its rim."""
    node, patch = _patches_near(first, mesh)
    places = mesh.nodes.astype(np.float32)
    found = first.locate(places)
    if len(node):
        # Any patch that a node hangs together with leads to the copy of its own part of the body.
        own, has_copy = first.locate_copies(places[node], patch)
        found[node[has_copy]] = own[has_copy]
    both = np.concatenate([mesh.edges, mesh.edges[:, ::-1]])
    while (found < 0).any():
        # Beyond the rim a node takes the tetrahedron of a neighbour, which is of its own part of the body.
        near = both[(found[both[:, 0]] < 0) & (found[both[:, 1]] >= 0)]
        if len(near) == 0:
            break
        found[near[:, 0]] = found[near[:, 1]]
    away = np.linalg.norm(mesh.nodes - first.nodes[first.tets[found]].mean(axis=1), axis=1)
    far = (found < 0) | (away > 2 * first.lattice.spacing)
    if far.any():
        raise ValueError(
            f"mesh: must lie within the one that carries it, got {int(far.sum())} of {len(found)} nodes outside"
        )
    return found


def _patches_near(first: TetMesh, mesh: TetMesh) -> tuple[IntArray, IntArray]:
    """Pairs of a node of the second mesh and a patch, as the first one numbers them, that it hangs together with."""
    if len(first.copy_keys) == 0 or len(mesh.patch_of_vertex) != len(first.patch_of_vertex):
        return NO_STRANDS, NO_STRANDS
    used = (mesh.patch_of_vertex >= 0) & (first.patch_of_vertex >= 0)
    both = np.unique(mesh.patch_of_vertex[used] * first.patch_count + first.patch_of_vertex[used])
    own, other = np.divmod(both, first.patch_count)
    start = np.searchsorted(own, np.arange(mesh.patch_count + 1))
    node, patch = mesh.node_pairs.T
    count = (start[1:] - start[:-1])[patch]
    row = np.repeat(np.arange(len(node)), count)
    step = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    return node[row], other[start[patch][row] + step]


def _between(own: Float64Array, other: Float64Array, share: Float64Array) -> Float64Array:
    """Rest lengths between a mesh's own and those of the mesh that carries it, at least a tenth of its own."""
    return np.maximum(own + share * (other - own), 0.1 * own)
