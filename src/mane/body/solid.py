"""`Solid`: anything that hair touches, at any time: a shape, a mesh or an animated mesh, with a motion or without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from mane.body.animated import AnimatedMesh, PointSamples
from mane.body.mesh import Mesh
from mane.body.motion import Motion, Pose, Twist
from mane.body.sdf import SignedDistanceField, build_sdf
from mane.body.shapes import Shape
from mane.geometry.checks import FloatArray, as_floats


class Surface(Protocol):
    """The surface of a solid in its own frame at one time; `MeshAtTime` is one."""

    @property
    def bounds(self) -> FloatArray:
        """Lowest and highest corner [m], shape (2, 3)."""

    def distance(self, points: FloatArray) -> FloatArray:
        """Signed distance [m], shape (P,), negative inside; `points` [m], shape (P, 3)."""

    def distance_and_gradient(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Signed distance [m], shape (P,), and its gradient, shape (P, 3)."""

    def velocity(self, points: FloatArray) -> FloatArray:
        """Velocity [m/s] of the nearest place of the surface within that frame, shape (P, 3)."""


@dataclass(frozen=True, eq=False)
class _RigidSurface:
    """A shape or a distance field, which stand still in their own frame."""

    geometry: Shape | SignedDistanceField

    @property
    def bounds(self) -> FloatArray:
        return self.geometry.bounds

    def distance(self, points: FloatArray) -> FloatArray:
        return self.geometry.distance(points) if isinstance(self.geometry, Shape) else self.geometry.sample(points)

    def distance_and_gradient(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        if isinstance(self.geometry, Shape):
            return self.geometry.distance_and_gradient(points)
        return self.geometry.sample_with_gradient(points)

    def velocity(self, points: FloatArray) -> FloatArray:
        return np.zeros_like(points)


class Solid:
    """Something that hair touches and that nothing moves but its own motion.

    Args:
        geometry: a shape (exact distance) or a mesh (through its distance field).
        motion: anything with `pose(time)` and `velocity(time)`; None stays where it is.
        field: the mesh's distance field, if it should not be `build_sdf(mesh)`.

    Attributes:
        shape: the shape, or None.
        mesh: the mesh, or None for a shape.
        field: the mesh's distance field, or None.
        animation: the animated mesh, or None.
        motion: as given.

    Kernels ask a solid point by point through its arrays, see `packed.PackedSolid`.
    """

    def __init__(
        self, geometry: Shape | Mesh, motion: Motion | None = None, *, field: SignedDistanceField | None = None
    ) -> None:
        if not isinstance(geometry, Shape | Mesh):
            raise ValueError(f"geometry: must be a Shape or a Mesh, got {type(geometry).__name__}")
        if field is not None and not isinstance(geometry, Mesh):
            raise ValueError(f"field: must be left out for a shape, which is exact, got one for {geometry}")
        self.motion = motion
        self.shape = geometry if isinstance(geometry, Shape) else None
        self.mesh = geometry if isinstance(geometry, Mesh) else None
        self.field = build_sdf(geometry) if isinstance(geometry, Mesh) and field is None else field
        self.animation: AnimatedMesh | None = None

    @classmethod
    def animated(
        cls,
        mesh: Mesh,
        times: ArrayLike,
        frames: ArrayLike | PointSamples,
        motion: Motion | None = None,
        *,
        skin_faces: ArrayLike | None = None,
        interpolation: str = "cubic",
    ) -> Solid:
        """Make a solid from a mesh whose points move: `times (F,)` [s], `frames (F, N, 3)` [m]; see `AnimatedMesh`.

        A motion, if given, carries the whole animation along.
        """
        solid = cls.__new__(cls)
        solid.motion, solid.shape, solid.field = motion, None, None
        solid.animation = AnimatedMesh(mesh, times, frames, skin_faces=skin_faces, interpolation=interpolation)
        solid.mesh = solid.animation.mesh
        return solid

    @property
    def skin(self) -> Mesh | None:
        """What hair grows on, at rest: `mesh`, or some of its triangles on the same points; None for a shape."""
        return self.mesh if self.animation is None else self.animation.skin

    def at(self, time: float) -> PosedSolid:
        """Return the solid as it is at `time` [s]."""
        if not np.isfinite(time):
            raise ValueError(f"time: must be finite, got {time}")
        pose = Pose.identity() if self.motion is None else self.motion.pose(time)
        twist = Twist.zero() if self.motion is None else self.motion.velocity(time)
        return PosedSolid(self, float(time), pose, twist)

    def placed(self, pose: Pose, time: float) -> PosedSolid:
        """Return the solid at a pose that somebody else gives it, as a head does to a body, with its surface at `time`.

        How that pose changes is not known: velocities are those of the surface relative to it.
        """
        return PosedSolid(self, float(time), pose, Twist.zero())

    def distance(self, points: ArrayLike, time: float = 0.0) -> FloatArray:
        """Signed distance [m], shape (P,), negative inside; `points` [m], shape (P, 3), world frame."""
        return self.at(time).distance(points)

    def at_rest(self) -> Solid:
        """Return the body as hair was groomed on it: an animated mesh in its rest pose, anything else as it is."""
        if self.animation is None:
            return self
        return Solid.animated(self.animation.mesh, [0.0], self.animation.mesh.points[None])

    @property
    def rest_pose(self) -> Pose:
        """Pose of a body relative to the head that hair was groomed on."""
        return Pose.identity() if self.motion is None or self.animation is not None else self.motion.pose(0.0)

    def rest_distance(self, points: ArrayLike) -> FloatArray:
        """Signed distance [m], shape (P,), of `points` [m] (P, 3) to a body as hair was groomed on it."""
        return self.at_rest().placed(self.rest_pose, 0.0).distance(points)

    def distance_and_gradient(self, points: ArrayLike, time: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Signed distance [m], shape (P,), and its gradient in the world frame, shape (P, 3); points outwards.

        Of unit length for shapes and animated meshes; for a mesh it is that of its distance field.
        """
        return self.at(time).distance_and_gradient(points)

    def velocity(self, points: ArrayLike, time: float = 0.0) -> FloatArray:
        """Velocity of the solid [m/s] at `points` [m], both (P, 3), world frame: anywhere, as if it filled all space.

        For an animated mesh it is that of the closest point of its surface.
        """
        return self.at(time).velocity(points)


@dataclass(frozen=True, eq=False)
class PosedSolid:
    """A solid at one time.

    Attributes:
        solid: whose it is.
        time: [s].
        pose: from the solid's frame to the world.
        twist: how the pose changes; an animated mesh moves within it as well.
    """

    solid: Solid
    time: float
    pose: Pose
    twist: Twist

    @property
    def surface(self) -> Surface:
        """The surface in the solid's own frame."""
        if self.solid.animation is not None:
            return self.solid.animation.at(self.time)
        geometry = self.solid.field if self.solid.shape is None else self.solid.shape
        assert geometry is not None
        return _RigidSurface(geometry)

    def _local(self, points: ArrayLike) -> FloatArray:
        local: FloatArray = self.pose.inverse_apply(as_floats("points", points, ("P", 3)))
        return local

    def _turned(self, vectors: FloatArray) -> FloatArray:
        """Carry directions (P, 3) from the solid's frame to the world."""
        return (vectors @ self.pose.matrix[:3, :3].T).astype(np.float32)

    def distance(self, points: ArrayLike) -> FloatArray:
        """Signed distance [m], shape (P,); see `Solid.distance`."""
        return self.surface.distance(self._local(points))

    def distance_and_gradient(self, points: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Signed distance [m], shape (P,), and its gradient, shape (P, 3); see `Solid.distance_and_gradient`."""
        distance, gradient = self.surface.distance_and_gradient(self._local(points))
        return distance, self._turned(gradient)

    def velocity(self, points: ArrayLike) -> FloatArray:
        """Velocity [m/s], shape (P, 3); see `Solid.velocity`."""
        checked = as_floats("points", points, ("P", 3))
        rigid: FloatArray = self.twist.velocity(checked)
        if self.solid.animation is None:
            return rigid
        return rigid + self._turned(self.surface.velocity(self._local(checked)))

    def mesh(self, resolution: int = 32) -> Mesh:
        """Return triangles for drawing, in the world frame; `resolution` matters to shapes only."""
        if self.solid.animation is not None:
            local = self.solid.animation.at(self.time).mesh
        elif self.solid.shape is not None:
            local = self.solid.shape.mesh(resolution)
        else:
            assert self.solid.mesh is not None
            local = self.solid.mesh
        return local.transformed(self.pose.matrix)
