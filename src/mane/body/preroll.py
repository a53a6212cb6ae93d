"""An animation from the rest pose to where a shot begins (lee2018 3.1, last paragraph).

Hair is groomed in the rest pose and the shot begins in another. `with_preroll` puts an in-between animation before the
shot, through which hair can be simulated from one to the other:

```
   rest pose, moved and turned about      in-between: the body tilts as a whole and      the shot, entered with
   gravity to where the shot begins       every triangle turns and stretches steadily    the velocity that it has
   |---------------------------------------------------------------------------------|----------->
   time - seconds                                                                    time
```

Points on straight lines would shrink what turns, a limb that is raised by a right angle to two thirds of its length.
Here triangles are turned and stretched each for itself, and the mesh is what fits them best (gradient-domain
interpolation: Xu, Zhang, Wang and Bao 2005, "Poisson shape interpolation"); both ends are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.animated import AnimatedMesh, PointSamples
from mane.body.motion import Motion, Pose, Twist, smooth_start
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray

Float64Array = NDArray[np.float64]

AUTO_SECONDS = 1.0
# A shot that begins within this part of the body's diagonal of its rest pose, moved and turned as a whole, needs none.
SAME_POSE = 0.01
# How much the straight lines count beside the triangles: they decide where parts that hang on nothing are.
STRAIGHT = 1e-7
# With more points than this, solving for all of them takes longer than a pre-roll is worth: straight lines.
MANY_POINTS = 300_000
# What points do to gain the velocity of the shot leads them back a little: so far in turn [rad], and in way, as a part
# of the diagonal.
BACK_TURN, BACK_WAY = 0.3, 0.05
# Lowest value of `_entry`.
BACK = 0.19
# Corner of a triangle after each: the edges go round.
NEXT = [1, 2, 0]
# Samples within which a velocity is gained, at least.
FEWEST_SAMPLES = 3


def needs_preroll(animation: AnimatedMesh, time: float) -> bool:
    """Whether the mesh at `time` [s] is another one than the rest pose, moved and turned as a whole."""
    rest, goal = animation.mesh.points.astype(np.float64), animation.precise_points(time)
    rotation, start, end = rigid_fit(rest, goal)
    apart = quaternion.rotate(rotation, rest - start) + end - goal
    return bool(np.linalg.norm(apart, axis=1).max() > SAME_POSE * _diagonal(rest))


def with_preroll(body: Solid, time: float, seconds: float, interval: float, up: ArrayLike) -> Solid:
    """Return an animated body that comes from its rest pose to where it is at `time` [s], and goes on from there.

    Args:
        body: an animated mesh.
        time: when the shot begins.
        seconds: how long it takes, above 0; `time - seconds` is when it begins, at rest.
        interval: between two samples of what comes before `time` [s], at most.
        up: against gravity, in the body's own frame; zeros where there is none. The body begins moved and turned
            about this axis as it is at `time`, since that changes nothing for the hair.
    """
    animation = body.animation
    assert animation is not None
    count = max(1, math.ceil(seconds / interval - 1e-9))
    between = InBetween.to(animation, time, seconds, seconds / count, up)
    later = np.flatnonzero(animation.times > time)
    before = time - seconds * (1 - np.arange(count) / count)
    times = np.concatenate([before, [time], animation.times[later]])
    samples = _Joined(between, animation, time, before, later)
    motion = None if body.motion is None else HeldMotion(body.motion, time)
    kept: dict[str, Any] = {"skin_faces": animation.skin_faces, "interpolation": animation.interpolation}
    return Solid.animated(animation.mesh, times, samples, motion, **kept)


@dataclass(frozen=True, eq=False)
class _Joined(PointSamples):
    """Samples of the in-between, of the moment at which the shot begins, and of the shot.

    From that moment on velocities are those of the shot, so that it is the same between samples too.
    """

    between: InBetween
    animation: AnimatedMesh
    time: float
    before: Float64Array
    later: IntArray

    def __len__(self) -> int:
        return len(self.before) + 1 + len(self.later)

    def __getitem__(self, sample: int, /) -> ArrayLike:
        number = sample - len(self.before)
        if number < 0:
            return self.between.points(float(self.before[sample]))
        return self.animation.points(self.time) if number == 0 else self.animation.sample(int(self.later[number - 1]))

    def velocity(self, sample: int) -> Float64Array | None:
        """Velocity at a sample of the shot [m/s], shape (N, 3); None before it."""
        number = sample - len(self.before)
        if number < 0:
            return None
        if number == 0:
            return self.animation.velocities(self.time).astype(np.float64)
        return self.animation.velocity_at_sample(int(self.later[number - 1]))


@dataclass(frozen=True, eq=False)
class HeldMotion:
    """A motion that has not begun before `start` [s]."""

    motion: Motion
    start: float

    @property
    def teleports(self) -> tuple[float, ...]:
        """Times [s] at which the pose jumps."""
        return tuple(time for time in self.motion.teleports if time > self.start)

    def teleported(self, start: float, end: float) -> bool:
        """Whether the pose jumps after `start` and not after `end` [s]."""
        return end > self.start and self.motion.teleported(max(start, self.start), end)

    def pose(self, time: float) -> Pose:
        """Where it is at `time` [s]."""
        return self.motion.pose(max(time, self.start))

    def velocity(self, time: float) -> Twist:
        """How it moves at `time` [s]."""
        return self.motion.velocity(time) if time >= self.start else Twist.zero()


@dataclass(frozen=True, eq=False)
class InBetween:
    """The mesh on its way from the rest pose, which is smooth in time; made by `to`.

    Attributes:
        start: points at rest, turned about the up axis, from the centre [m], shape (N, 3).
        morph: from there to the goal, tilted back, shape (N, 3).
        tilt: turns the latter to the goal, quaternion (4,).
        centre: of the mesh at the goal [m], shape (3,).
        time: at which the goal is reached [s].
        seconds: how long it takes.
        entry: how the shot moves when it begins.
    """

    start: Float64Array
    morph: Morph
    tilt: Float64Array
    centre: Float64Array
    time: float
    seconds: float
    entry: EntryVelocity

    @classmethod
    def to(cls, animation: AnimatedMesh, time: float, seconds: float, step: float, up: ArrayLike) -> InBetween:
        """Make one to where an animation is at `time` [s], sampled every `step` [s]; see `with_preroll`."""
        rest, goal = animation.mesh.points.astype(np.float64), animation.precise_points(time)
        rotation, middle, centre = rigid_fit(rest, goal)
        turn = twist_about(rotation, np.asarray(up, np.float64))
        tilt = quaternion.multiply(rotation, quaternion.conjugate(turn))
        start = quaternion.rotate(turn, rest - middle)
        seen = quaternion.rotate(quaternion.conjugate(tilt), goal - centre)
        entry = EntryVelocity.of(goal - centre, animation.velocities(time), tilt, (FEWEST_SAMPLES * step, seconds))
        return cls(start, Morph(start, seen, animation.mesh.faces), tilt, centre, time, seconds, entry)

    def points(self, time: float) -> Float64Array:
        """Points at `time` [s], before the goal is reached [m], shape (N, 3)."""
        left = self.time - time
        share = smooth_start(self.seconds - left, self.seconds)[0]
        local = self.morph.at(share) + _entry(left, self.entry.window) * self.entry.local
        turned = quaternion.slerp(quaternion.identity(dtype=np.float64), self.tilt, share)
        wound = quaternion.exp(_entry(left, self.entry.spin_window) * self.entry.spin)
        run_up = smooth_start(self.seconds - left, self.seconds)[2] - 0.5 * self.seconds
        place = self.centre + run_up * self.entry.linear
        return quaternion.rotate(quaternion.multiply(wound, turned), local) + place


@dataclass(frozen=True, eq=False)
class EntryVelocity:
    """Velocity of a mesh, taken apart into that of a rigid body and the rest.

    Attributes:
        linear: of the centre [m/s], shape (3,).
        spin: angular velocity [rad/s], shape (3,).
        local: what is left [m/s], tilted back, shape (N, 3).
        spin_window: time in which the spin is gained [s].
        window: time in which the rest is gained [s].
    """

    linear: Float64Array
    spin: Float64Array
    local: Float64Array
    spin_window: float
    window: float

    @classmethod
    def of(
        cls, seen: Float64Array, velocity: FloatArray, tilt: Float64Array, windows: tuple[float, float]
    ) -> EntryVelocity:
        """Take apart the `velocity` (N, 3) of points `seen` from their centre (N, 3); windows are within two limits."""
        linear = velocity.mean(axis=0, dtype=np.float64)
        left = velocity - linear
        inertia = np.eye(3) * (seen * seen).sum() - np.einsum("ni,nj->ij", seen, seen)
        spin = np.linalg.lstsq(inertia, np.cross(seen, left).sum(axis=0), rcond=1e-9)[0]
        left = left - np.cross(spin, seen)
        fastest = max(float(np.linalg.norm(left, axis=1).max()), 1e-9)
        spin_window = np.clip(BACK_TURN / (BACK * max(float(np.linalg.norm(spin)), 1e-9)), *windows)
        window = np.clip(BACK_WAY * _diagonal(seen) / (BACK * fastest), *windows)
        local = quaternion.rotate(quaternion.conjugate(tilt), left)
        return cls(linear, spin, local, float(spin_window), float(window))


def _entry(left: float, window: float) -> float:
    """A way [s] that ends at 0 with slope 1 when no time is left, and is 0 before the window; twice differentiable."""
    u = 1 - left / window
    return window * u**3 * (u * (7 - 3 * u) - 4) if u > 0 else 0.0


class Morph:
    """Shapes between two of the same mesh, in which triangles turn and stretch steadily.

    Args:
        start: points (N, 3).
        goal: points (N, 3).
        faces: triangles (T, 3).
    """

    def __init__(self, start: Float64Array, goal: Float64Array, faces: NDArray[np.int32]) -> None:
        self._start, self._goal, self._faces = start, goal, faces
        self._is_still = bool(np.array_equal(start, goal))
        self._bends = not self._is_still and len(start) <= MANY_POINTS

    def at(self, share: float) -> Float64Array:
        """Points at `share` of the way, 0 to 1, shape (N, 3)."""
        straight = self._start + share * (self._goal - self._start)
        if not self._bends or share <= 0.0 or share >= 1.0:
            return straight
        turn, stretch = self._gradients
        now = quaternion.to_matrix(quaternion.exp(share * turn)) @ (np.eye(3) + share * (stretch - np.eye(3)))
        ends, solve = self._system
        edges = np.einsum("tij,tej->tei", now, self._start[self._faces[:, NEXT]] - self._start[self._faces])
        solved: Float64Array = solve(ends @ edges.reshape(-1, 3) + STRAIGHT * straight)
        return solved

    @cached_property
    def _gradients(self) -> tuple[Float64Array, Float64Array]:
        """Rotation vectors (T, 3) and stretches (T, 3, 3) of all triangles, by polar decomposition."""
        before, after = (_corner_frames(points[self._faces]) for points in (self._start, self._goal))
        gradient = after @ np.linalg.pinv(before, rcond=1e-9)
        left, size, right = np.linalg.svd(gradient)
        flip = np.sign(np.linalg.det(left @ right))
        left[:, :, 2] *= flip[:, None]
        size[:, 2] *= flip
        rotation = left @ right
        stretch = np.swapaxes(right, 1, 2) @ (size[:, :, None] * right)
        return quaternion.log(quaternion.from_matrix(rotation)), stretch

    @cached_property
    def _system(self) -> tuple[Any, Any]:
        """Which edges (3 T, all of all triangles) end and begin at each point, and what solves for the points."""
        from scipy.sparse import coo_matrix, identity
        from scipy.sparse.linalg import splu

        count, edges = len(self._start), np.arange(self._faces.size)
        places = np.concatenate([self._faces[:, NEXT].reshape(-1), self._faces.reshape(-1)])
        signs = np.repeat([1.0, -1.0], len(edges))
        ends = coo_matrix((signs, (places, np.tile(edges, 2))), (count, len(edges))).tocsr()
        matrix = (ends @ ends.T + STRAIGHT * identity(count)).tocsc()
        symmetric = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        return ends, splu(matrix, **symmetric).solve


def _corner_frames(corners: Float64Array) -> Float64Array:
    """Two edges of each triangle and a unit normal, as columns, shape (T, 3, 3)."""
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normal = np.cross(first, second)
    size = np.linalg.norm(normal, axis=1, keepdims=True)
    unit = np.divide(normal, size, out=np.zeros_like(normal), where=size > 0)
    return np.stack([first, second, unit], axis=2)


def rigid_fit(start: Float64Array, goal: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Rotation (4,) that takes points (N, 3) to others about their centres, by least squares; both centres (3,)."""
    here, there = start.mean(axis=0), goal.mean(axis=0)
    left, _, right = np.linalg.svd(np.einsum("ni,nj->ij", goal - there, start - here))
    left[:, 2] *= np.sign(np.linalg.det(left @ right))
    return quaternion.from_matrix(left @ right), here, there


def twist_about(rotation: Float64Array, axis: Float64Array) -> Float64Array:
    """The part of a rotation (4,) that turns about `axis` (3,), taken first; all of it where the axis has no length."""
    length = np.linalg.norm(axis)
    if not length > 0:
        return rotation
    along = axis / length
    return quaternion.normalize(np.append((rotation[:3] @ along) * along, rotation[3]))


def _diagonal(points: Float64Array) -> float:
    return float(np.linalg.norm(np.ptp(points, axis=0)))
