"""Where the nodes of a mesh are at a frame: stepped along with the body, or read from what was stepped before."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.animated import AnimatedMesh
from mane.body.motion import Pose
from mane.body.motion_keys import MAX_SPEED
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame
from mane.volume.kdsm import Kdsm, MeshState
from mane.volume.lattice import Float64Array
from mane.volume.mesh import TetMesh

LONGEST_GAP = 0.5  # [s] a frame that comes so much later begins anew
NO_TIME = -math.inf
ROUNDING = 1e-9  # [s] of times that are the same


class BodyPoints(ABC):
    """What the driver of a mesh sees of the body."""

    @abstractmethod
    def at(self, pose: Pose, time: float) -> Float64Array:
        """The driver's points when the body is at `pose`, at `time` [s]."""

    @abstractmethod
    def pose(self, frame: GuideFrame) -> Pose:
        """Pose of the body at a frame."""

    def jumps(self, before: Pose, start: float, after: Pose, end: float) -> bool:
        """Whether nobody moves so fast: the mesh begins anew."""
        return bool(np.linalg.norm(after.position - before.position) > MAX_SPEED * (end - start))


class HeadPoints(BodyPoints):
    """A head that moves rigidly: rows of its rotation matrix above its position, shape (4, 3)."""

    def at(self, pose: Pose, time: float) -> Float64Array:
        """The pose itself."""
        return np.vstack([pose.matrix[:3, :3], pose.position])

    def pose(self, frame: GuideFrame) -> Pose:
        """Pose of the head."""
        return frame.head


class SkinPoints(BodyPoints):
    """A skin that deforms: its vertices in the world.

    Args:
        animation: of the skin, carried by the first of `frame.solid_poses`.
    """

    def __init__(self, animation: AnimatedMesh) -> None:
        self._animation = animation

    def at(self, pose: Pose, time: float) -> Float64Array:
        """Vertices [m], shape (V, 3)."""
        points: Float64Array = pose.apply(self._animation.precise_points(time))
        return points

    def pose(self, frame: GuideFrame) -> Pose:
        """Pose that carries the animation."""
        if not frame.solid_poses:
            raise ValueError("frame.solid_poses: must begin with that of the body that the hair grows on, got none")
        return frame.solid_poses[0]

    def jumps(self, before: Pose, start: float, after: Pose, end: float) -> bool:
        """Whether the pose jumps or the animation is cut."""
        return super().jumps(before, start, after, end) or self._animation.has_cut(start, end)


class MeshMotion(ABC):
    """Gives the nodes of a mesh at one frame after the other.

    Attributes:
        mesh: at rest.
        remembers: whether a frame depends on those before it.
    """

    mesh: TetMesh
    remembers: bool = False

    @abstractmethod
    def nodes(self, frame: GuideFrame) -> Float64Array:
        """Nodes at a frame [m], world, shape (N, 3)."""

    def memory(self) -> Memory:
        """What must be saved to continue exactly."""
        return {}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:  # noqa: B027 - most remember nothing
        """Go back to what `memory` returned."""

    def reset(self) -> None:  # noqa: B027 - likewise
        """Begin anew."""


class SteppedMesh(MeshMotion):
    """Steps a mesh from frame to frame.

    Args:
        kdsm: the mesh and its springs.
        body: what drives it.
        step: longest step [s].
    """

    remembers = True

    def __init__(self, kdsm: Kdsm, body: BodyPoints, step: float) -> None:
        self.mesh, self.kdsm, self._body, self._step = kdsm.mesh, kdsm, body, step
        self.reset()

    def reset(self) -> None:
        """Forget the frames before."""
        self._time, self._pose = NO_TIME, Pose.identity()
        self._state = MeshState(self.mesh.nodes, np.zeros_like(self.mesh.nodes))

    def nodes(self, frame: GuideFrame) -> Float64Array:
        """Step to the time of a frame; at the first one, and after a jump, the mesh is at rest on the body."""
        pose, gap = self._body.pose(frame), frame.time - self._time
        if abs(gap) < ROUNDING:
            return self._state.nodes
        if not 0 < gap <= LONGEST_GAP or self._body.jumps(self._pose, self._time, pose, frame.time):
            self._state = self.kdsm.settled(self._body.at(pose, frame.time))
        else:
            count = max(1, math.ceil(gap / self._step - ROUNDING))
            for number in range(1, count + 1):
                part = number / count
                between = self._pose.toward(pose, part) if part < 1 else pose
                points = self._body.at(between, self._time + part * gap)
                self._state = self.kdsm.step(self._state, points, gap / count)
        self._time, self._pose = frame.time, pose
        return self._state.nodes

    def memory(self) -> Memory:
        """Nodes, velocities, time and pose."""
        return {
            "nodes": self._state.nodes.copy(),
            "velocity": self._state.velocity.copy(),
            "time": np.array(self._time),
            "pose": np.concatenate([self._pose.position, self._pose.rotation]),
        }

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self._state = MeshState(memory["nodes"].copy(), memory["velocity"].copy())
        self._time = float(memory["time"])
        self._pose = Pose(memory["pose"][:3], memory["pose"][3:])


class PlayedMesh(MeshMotion):
    """Nodes that were stepped before, joined by Catmull-Rom curves: frames in any order.

    Args:
        mesh: at rest.
        times: of the samples [s], shape (F,), rising.
        samples: nodes at these times [m], shape (F, N, 3).
    """

    def __init__(self, mesh: TetMesh, times: Float64Array, samples: NDArray[np.floating]) -> None:
        self.mesh, self.times, self.samples = mesh, times, samples

    def nodes(self, frame: GuideFrame) -> Float64Array:
        """Nodes at the time of a frame; held before the first sample and after the last."""
        return self.at(frame.time)

    def at(self, time: float) -> Float64Array:
        """Nodes at `time` [s], shape (N, 3)."""
        last = len(self.times) - 1
        position = float(np.interp(time, self.times, np.arange(last + 1)))
        first = int(position)
        t = position - first
        if t < 1e-6 or first == last:
            return np.asarray(self.samples[first], np.float64)
        p0, p1, p2, p3 = (np.asarray(self.samples[min(max(first + k, 0), last)], np.float64) for k in (-1, 0, 1, 2))
        return p1 + 0.5 * t * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)))
