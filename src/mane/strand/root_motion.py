"""`RootMotion`: how the roots of guides move: on a rigid head, or on a body whose skin deforms.

Roots on a skin that deforms are bound to it where they were groomed. They go wherever their triangle goes, at every
time that anybody asks for, and turn with the skin around them (`RootBinding`); the body's pose then carries both.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.body.animated import AnimatedMesh
from mane.body.cuts import NEARLY_ALL
from mane.body.mesh import Mesh
from mane.body.motion import Pose
from mane.body.motion_keys import MAX_SPEED, MAX_SPIN
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.groom.binding import RootBinding, bind_roots
from mane.groom.groom import Groom
from mane.strand.model import Float64Array, StrandModel
from mane.strand.roots import RootPose


@dataclass(frozen=True, eq=False)
class RootMoment:
    """Roots at the end of a frame.

    Attributes:
        head: where the head is.
        time: [s].
        roots: where they are.
    """

    head: Pose
    time: float
    roots: RootPose


class RootMotion(ABC):
    """Carries roots. All methods are functions of their arguments alone, so that a run can be resumed anywhere."""

    @abstractmethod
    def at(self, head: Pose, time: float) -> RootPose:
        """Roots at `time` [s] on a head at `head`."""

    @abstractmethod
    def jumps(self, before: RootMoment, after: RootMoment, dt: float) -> bool:
        """Whether nobody moves that fast in `dt` [s]: hair is carried along instead of being whipped across the gap."""

    @abstractmethod
    def path(self, before: RootMoment, after: RootMoment, steady: Float64Array) -> tuple[float, float]:
        """How far roots turn [rad] and move [m] within a frame, at most, as far as substeps must follow it.

        Args:
            before: the start of the frame.
            after: its end.
            steady: how far roots would move in it with the velocity of the frame before [m], shape (G, 3).
        """

    @property
    def is_rigid(self) -> bool:
        """Whether all roots move as one."""
        return True


class RigidRoots(RootMotion):
    """Roots on a rigid head.

    Args:
        rest_roots: in the head's rest pose [m], shape (G, 3).
    """

    def __init__(self, rest_roots: Float64Array) -> None:
        self._rest = rest_roots

    def at(self, head: Pose, time: float) -> RootPose:
        """Roots carried by the head, at any time."""
        return RootPose.carried(self._rest, head)

    def jumps(self, before: RootMoment, after: RootMoment, dt: float) -> bool:
        """Whether a root or the head is faster than 20 m/s or 50 rad/s."""
        way = np.linalg.norm(after.roots.positions - before.roots.positions, axis=1).max()
        return bool(way > MAX_SPEED * dt or _turn(before.head, after.head) > _most(dt))

    def path(self, before: RootMoment, after: RootMoment, steady: Float64Array) -> tuple[float, float]:
        """How far the head turns and moves."""
        way = float(np.linalg.norm(after.head.position - before.head.position))
        return _turn(before.head, after.head), way


class BoundRoots(RootMotion):
    """Roots on a body whose skin deforms.

    Args:
        model: the guides at rest, slots included.
        active: which of them are guides, shape (G,): their roots must be near the skin.
        body: the skin, an animated mesh in whose rest pose the guides were groomed.
    """

    def __init__(self, model: StrandModel, active: NDArray[np.bool_], body: Solid) -> None:
        assert body.animation is not None
        strands = Groom.from_uniform(model.rest_points.astype(np.float32))
        self._active = active
        self._body, self._animation = body, body.animation
        self.binding = bind_roots(strands, skin_of(body), active=active | model.is_slot)

    def on(self, body: Solid) -> BoundRoots:
        """Return the same on another animation of the same mesh."""
        other = object.__new__(BoundRoots)
        assert body.animation is not None
        other._active, other.binding = self._active, self.binding
        other._body, other._animation = body, body.animation
        return other

    @property
    def is_rigid(self) -> bool:
        """Whether all roots move as one: they do not."""
        return False

    def at(self, head: Pose, time: float) -> RootPose:
        """Roots on the skin as it is at `time` [s], carried by head and body."""
        return on_skin(self.binding, self._animation, time, body_pose(self._body, head, time))

    def jumps(self, before: RootMoment, after: RootMoment, dt: float) -> bool:
        """Whether the body's pose jumps, or nearly all of its skin does."""
        start, end = (body_pose(self._body, one.head, one.time) for one in (before, after))
        motion = self._body.motion
        if motion is not None and motion.teleported(before.time, after.time):
            return True
        here = before.roots.positions[self._active]
        way = np.linalg.norm(end.apply(start.inverse_apply(here)) - here, axis=1).max()
        if way > MAX_SPEED * dt or _turn(start, end) > _most(dt) or self._animation.has_cut(before.time, after.time):
            return True
        turned = quaternion.angle_between(before.roots.rotations[self._active], after.roots.rotations[self._active])
        return bool((turned > _most(dt)).mean() >= NEARLY_ALL)

    def path(self, before: RootMoment, after: RootMoment, steady: Float64Array) -> tuple[float, float]:
        """How far a root turns, and moves from where it would be with the velocity of the frame before.

        A steady motion needs no substeps: hair that comes along feels nothing of it.
        """
        mine = self._active
        turned = quaternion.angle_between(before.roots.rotations[mine], after.roots.rotations[mine])
        way = np.linalg.norm((after.roots.positions - before.roots.positions - steady)[mine], axis=1)
        return float(turned.max(initial=0.0)), float(way.max(initial=0.0))


def skin_of(body: Solid) -> Mesh:
    """What hair grows on, of a body that deforms: its triangles in the rest pose, on all points of its animation."""
    assert body.animation is not None
    return body.animation.skin


def body_pose(body: Solid, head: Pose, time: float) -> Pose:
    """Pose of a body that rides on a head at `head`; its own motion is relative to the head."""
    return head if body.motion is None else head.compose(body.motion.pose(time))


def on_skin(binding: RootBinding, animation: AnimatedMesh, time: float, pose: Pose) -> RootPose:
    """Roots bound to an animated mesh as it is at `time` [s], carried by `pose`."""
    positions, rotations = binding.precise_transforms(animation.precise_points(time))
    if pose.rotation[3] == 1.0 and not pose.position.any():
        return RootPose(positions, rotations)
    return RootPose(pose.apply(positions), quaternion.multiply(pose.rotation, rotations))


def _turn(before: Pose, after: Pose) -> float:
    return float(quaternion.angle_between(before.rotation, after.rotation))


def _most(dt: float) -> float:
    """Largest turn in that time [rad] that is no jump."""
    return min(MAX_SPIN * dt, math.pi)
