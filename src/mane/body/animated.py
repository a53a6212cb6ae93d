"""`AnimatedMesh`: a mesh whose points move from frame to frame, and the distance to it at any time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body._boundary import INSIDE, is_bounding
from mane.body.band.deforming import DeformingField
from mane.body.cuts import is_cut
from mane.body.interpolation import INTERPOLATIONS, at_fraction, middle_velocity, velocity_at_fraction
from mane.body.mesh import Mesh
from mane.body.sdf import facing_out
from mane.body.triangle_tree import TriangleTree
from mane.geometry.checks import FloatArray, IntArray, as_array, as_floats, require_choice, require_finite

Float64Array = NDArray[np.float64]

# How far outside a triangle the winding number is taken, as a part of the mesh's largest extent.
OFFSET = 1e-4
# Closer than this to the surface, as a part of the same, the direction to it is lost in rounding.
NO_DIRECTION = 1e-6
# Part of the way between two samples that is still the first of them where the mesh jumps: times are rounded.
SAME_TIME = 1e-6
# Samples of a file that are kept: those of an interval, those around it, by which velocities are known, and those
# around these, by which a cut is noticed.
SAMPLES_KEPT = 6
# Intervals whose curves are kept, and samples whose velocities: a substep may begin in one and end in the next.
CURVES_KEPT, VELOCITIES_KEPT = 2, 3


class PointSamples(Protocol):
    """Points of a moving mesh at one sample after the other, such as a file that is read when it is needed."""

    def __len__(self) -> int:
        """Number of samples, F."""

    def __getitem__(self, sample: int, /) -> ArrayLike:
        """Points at a sample [m], shape (N, 3)."""


@runtime_checkable
class VelocitySamples(Protocol):
    """Samples that know how fast points are."""

    def velocity(self, sample: int) -> Float64Array | None:
        """Velocity at a sample [m/s], shape (N, 3); None where the samples around it say."""


class AnimatedMesh:
    """Samples of a moving mesh, joined by curves in time and held before the first and after the last.

    Where the whole mesh jumps from one sample to the next (`cuts.is_cut`), nothing is in between: after the first of
    the two it is where the second has it.

    The distance is exact, to the triangles themselves; a point is inside where the winding number exceeds one half.
    A triangle whose middle lies inside the solid (parts that overlap) at the last frame before is left out. Across a
    hole that only the winding number closes, the distance changes its sign without being zero: there, unlike in a
    `SignedDistanceField`, it is that to the rim.

    Args:
        mesh: the triangles; all facing inwards is noticed and turned. Its points are the rest pose, in which hair was
            groomed.
        times: of the samples [s], shape (F,), rising.
        frames: positions of the mesh's points at these times [m], shape (F, N, 3), or `PointSamples`.
        skin_faces: numbers of the triangles that hair grows on, shape (K,), where not all do: a body with its clothes.
        interpolation: what joins samples, of `interpolation.INTERPOLATIONS`: "cubic" keeps velocities continuous,
            "linear" goes along straight lines. Samples are met exactly.

    Attributes:
        mesh: triangles that face outwards, in the rest pose.
        times: of the samples [s], shape (F,), float64.
        skin_faces: as given; None for all triangles.
        interpolation: as given.
    """

    def __init__(
        self,
        mesh: Mesh,
        times: ArrayLike,
        frames: ArrayLike | PointSamples,
        *,
        skin_faces: ArrayLike | None = None,
        interpolation: str = "cubic",
    ) -> None:
        require_choice("interpolation", interpolation, list(INTERPOLATIONS))
        self.interpolation = interpolation
        self.times: NDArray[np.float64] = as_array("times", times, ("F",), np.float64)
        require_finite("times", self.times)
        if len(self.times) == 0:
            raise ValueError("times: must hold at least one time, got none")
        falling = np.diff(self.times) <= 0
        if falling.any():
            first = int(falling.argmax())
            raise ValueError(f"times: must rise, got {self.times[first]} s before {self.times[first + 1]} s at {first}")
        self.mesh = mesh
        self.skin_faces = None if skin_faces is None else self._checked_faces(skin_faces)
        self._samples = self._checked(frames)
        self._read: dict[int, FloatArray] = {}
        self._cuts: dict[int, bool] = {}
        self._curves: dict[int, Float64Array] = {}
        self._sample_velocities: dict[int, Float64Array] = {}
        corners = self.sample(0)[mesh.faces]
        if facing_out(corners) is not corners:
            self.mesh = Mesh(mesh.points, mesh.faces[:, ::-1], mesh.uv)
        self._frame_trees: tuple[int, TriangleTree, TriangleTree, NDArray[np.int64]] | None = None
        self._latest: tuple[float, MeshAtTime] | None = None
        self._enter_frame(0)

    def _checked(self, frames: Any) -> PointSamples:
        if isinstance(frames, np.ndarray | list | tuple):
            checked: PointSamples = as_floats("frames", frames, (len(self.times), self.mesh.vertex_count, 3))
            return checked
        if len(frames) != len(self.times):
            raise ValueError(f"frames: must hold {len(self.times)} samples (= times), got {len(frames)}")
        samples: PointSamples = frames
        return samples

    def _checked_faces(self, faces: ArrayLike) -> IntArray:
        checked: IntArray = as_array("skin_faces", faces, ("K",), np.int64)
        if len(checked) == 0 or checked.min() < 0 or checked.max() >= self.mesh.face_count:
            raise ValueError(f"skin_faces: must name some of the {self.mesh.face_count} triangles, got {checked}")
        return checked

    @cached_property
    def skin(self) -> Mesh:
        """What hair grows on, in the rest pose: `mesh`, or some of its triangles on the same points."""
        if self.skin_faces is None:
            return self.mesh
        return Mesh(self.mesh.points, self.mesh.faces[self.skin_faces], self.mesh.uv)

    def sample(self, number: int) -> FloatArray:
        """Points at sample `number` [m], shape (N, 3), float32; the last few that were read are kept."""
        if number not in self._read:
            points = as_floats(f"frames[{number}]", self._samples[number], (self.mesh.vertex_count, 3))
            self._read = _with_latest(self._read, number, points, SAMPLES_KEPT)
        return self._read[number]

    def points(self, time: float) -> FloatArray:
        """Where the points of the mesh are at `time` [s], shape (N, 3), float32."""
        before, after, fraction = self._between(time)
        if before == after:
            return self.sample(before)
        return at_fraction(self._curves_in(before), fraction).astype(np.float32)

    def precise_points(self, time: float) -> Float64Array:
        """Do what `points` does without rounding between two samples, float64: for differences of close times."""
        before, after, fraction = self._between(time)
        if before == after:
            return self.sample(before).astype(np.float64)
        return at_fraction(self._curves_in(before), fraction)

    def velocities(self, time: float) -> FloatArray:
        """How fast the points of the mesh move at `time` [m/s], shape (N, 3), float32; at a sample, after it."""
        before, after, fraction = self._between(time)
        if before == after:
            return np.zeros_like(self.sample(before))
        return velocity_at_fraction(self._curves_in(before), fraction, self._step(before)).astype(np.float32)

    def velocity_at_sample(self, number: int) -> Float64Array:
        """How fast points are at a sample that is met smoothly [m/s], shape (N, 3)."""
        if number not in self._sample_velocities:
            known = self._samples.velocity(number) if isinstance(self._samples, VelocitySamples) else None
            velocity = self._velocity_by_neighbors(number) if known is None else known
            self._sample_velocities = _with_latest(self._sample_velocities, number, velocity, VELOCITIES_KEPT)
        return self._sample_velocities[number]

    def _velocity_by_neighbors(self, number: int) -> Float64Array:
        """Velocity at a sample by the intervals beside it; by one of them where the other is a cut or missing."""
        beside = [one for one in (number - 1, number) if 0 <= one < len(self.times) - 1 and not self._is_cut(one)]
        means = [self._velocities_in(one).astype(np.float64) for one in beside]
        if len(means) < 2:
            return means[0] if means else np.zeros((self.mesh.vertex_count, 3))
        return middle_velocity(means[0], means[1], (self._step(number - 1), self._step(number)))

    def _curves_in(self, interval: int) -> Float64Array:
        """Polynomials of all points between two samples, see `interpolation.MakeCurves`."""
        if interval not in self._curves:
            curves = INTERPOLATIONS[self.interpolation](self, interval, self._step(interval))
            self._curves = _with_latest(self._curves, interval, curves, CURVES_KEPT)
        return self._curves[interval]

    def _step(self, interval: int) -> float:
        return float(self.times[interval + 1] - self.times[interval])

    def _between(self, time: float) -> tuple[int, int, float]:
        """The samples before and after `time`, and the fraction of the way from one to the other."""
        last = len(self.times) - 1
        before = min(max(int(np.searchsorted(self.times, time, side="right")) - 1, 0), last)
        if before == last or time < self.times[0]:
            return before, before, 0.0
        fraction = float((time - self.times[before]) / self._step(before))
        if self._is_cut(before):
            there = before + (fraction > SAME_TIME)
            return there, there, 0.0
        return before, before + 1, fraction

    def has_cut(self, start: float, end: float) -> bool:
        """Whether the whole mesh jumps after `start` and not after `end` [s]; see `cuts.is_cut`."""
        first, last = self._interval(start), self._interval(end)
        return any(self._is_cut(one) for one in range(max(first, 0), last + 1) if self._leaves(one, start, end))

    def _interval(self, time: float) -> int:
        """Number of the interval between samples that `time` lies in; -1 before the first."""
        return min(int(np.searchsorted(self.times, time, side="right")) - 1, len(self.times) - 2)

    def _leaves(self, interval: int, start: float, end: float) -> bool:
        """Whether the first moment that counts as after the sample before `interval` lies within (start, end]."""
        begin = self.times[interval] + SAME_TIME * self._step(interval)
        return bool(start <= begin < end)

    def _is_cut(self, interval: int) -> bool:
        if interval not in self._cuts:
            self._cuts[interval] = is_cut(self._velocities_in, interval, len(self.times) - 1)
        return self._cuts[interval]

    def _velocities_in(self, interval: int) -> FloatArray:
        return (self.sample(interval + 1) - self.sample(interval)) / np.float32(self._step(interval))

    @cached_property
    def field(self) -> DeformingField:
        """Distance field at any time, for those who ask for every hair: one that all of them share."""
        return DeformingField(self)

    def at(self, time: float) -> MeshAtTime:
        """Return the mesh as it is at `time` [s]; asking for the same time again costs nothing."""
        if self._latest is None or self._latest[0] != time:
            self._latest = (time, self._make(time))
        return self._latest[1]

    def _make(self, time: float) -> MeshAtTime:
        points = self.points(time)
        all_tree, outer_tree, outer_faces = self._enter_frame(self._between(time)[0])
        center = points.mean(axis=0, dtype=np.float64).astype(np.float32)
        corners = (points - center)[self.mesh.faces]
        return MeshAtTime(
            self.mesh.with_points(points),
            self.velocities(time),
            center,
            outer_faces,
            all_tree.refitted(corners),
            outer_tree.refitted(corners[outer_faces]),
        )

    def _enter_frame(self, frame: int) -> tuple[TriangleTree, TriangleTree, NDArray[np.int64]]:
        """Return a tree of all triangles, one of those that bound the solid at `frame`, and which these are."""
        if self._frame_trees is None or self._frame_trees[0] != frame:
            points = self.sample(frame)
            corners = (points - points.mean(axis=0, dtype=np.float64).astype(np.float32))[self.mesh.faces]
            tree = TriangleTree(corners)
            outer = np.flatnonzero(is_bounding(tree, corners, OFFSET * float(np.ptp(corners, axis=(0, 1)).max())))
            if len(outer) == 0:
                raise ValueError(f"frames: the mesh must enclose a volume, got none at frame {frame}; close it")
            self._frame_trees = (frame, tree, TriangleTree(corners[outer]), outer)
        return self._frame_trees[1:]


def _with_latest(kept: dict[int, Any], number: int, value: Any, most: int) -> dict[int, Any]:
    """Entries that were made last, at most so many, and a new one behind them."""
    return {**dict(list(kept.items())[max(0, len(kept) + 1 - most) :]), number: value}


@dataclass(frozen=True, eq=False)
class MeshAtTime:
    """An animated mesh at one time.

    Attributes:
        mesh: with its points where they are [m].
        point_velocity: of the mesh's points [m/s], shape (N, 3).
    """

    mesh: Mesh
    point_velocity: FloatArray
    _center: FloatArray
    _outer_faces: NDArray[np.int64]
    _all_tree: TriangleTree
    _outer_tree: TriangleTree

    @property
    def bounds(self) -> FloatArray:
        """Lowest and highest corner [m], shape (2, 3)."""
        return self.mesh.bounds

    @cached_property
    def _extent(self) -> float:
        return float(np.ptp(self.mesh.points, axis=0).max())

    def _closest(self, points: FloatArray) -> tuple[FloatArray, NDArray[np.int64], FloatArray]:
        distance, triangle, weights = self._outer_tree.closest(points - self._center)
        return distance, self._outer_faces[triangle], weights

    def distance(self, points: FloatArray) -> FloatArray:
        """Signed distance [m], shape (P,), negative inside."""
        return self.distance_and_gradient(points)[0]

    def distance_and_gradient(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Signed distance [m], shape (P,), and its gradient, shape (P, 3), of unit length."""
        distance, face, weights = self._closest(points)
        side = np.where(self._all_tree.winding(points - self._center) > INSIDE, np.float32(-1), np.float32(1))
        foot = np.einsum("pc,pci->pi", weights, self.mesh.points[self.mesh.faces[face]])
        away = distance > NO_DIRECTION * self._extent
        gradient = np.where(away[:, None], side[:, None] * (points - foot), self.mesh.face_normals[face])
        length = np.linalg.norm(gradient, axis=1, keepdims=True)
        unit = np.divide(gradient, length, out=np.zeros_like(gradient), where=length > 0)
        return side * distance, unit.astype(np.float32, copy=False)

    def velocity(self, points: FloatArray) -> FloatArray:
        """Velocity [m/s] of the closest point of the surface, shape (P, 3)."""
        _, face, weights = self._closest(points)
        result: FloatArray = np.einsum("pc,pci->pi", weights, self.point_velocity[self.mesh.faces[face]])
        return result
