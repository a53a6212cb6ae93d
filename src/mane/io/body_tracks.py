"""Where the points of a body are at the time codes of its file: one interface to USD stages and plain arrays."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray, require_positive
from mane.io.point_arrays import PointArray
from mane.io.units import to_metres

if TYPE_CHECKING:
    from mane.io.alembic import ScratchFolder
    from mane.io.usd import UsdBody

# Joints and transforms turn between samples, and straight lines cut the corner: no samples farther apart than this [s].
LONGEST_GAP = 1 / 24
SAME_POINTS = 1e-6  # [m]


@dataclass(frozen=True, eq=False)
class RestPose:
    """A pose that a groom may have been made in.

    Attributes:
        name: in words.
        points: [m], world frame, shape (N, 3).
        is_bind: whether it is the one in which joints were bound.
    """

    name: str
    points: FloatArray
    is_bind: bool = False


class BodyTrack(ABC):
    """A body over the time codes of its file.

    Attributes:
        mesh: its triangles, where they are when it begins.
        parts: names of the meshes that it is made of.
        face_part: which of them each triangle belongs to, shape (T,).
        rate: time codes per second.
        codes: time codes at which it is sampled, rising, shape (F,); empty for a still body.
        start: time code at which it begins.
        is_shot: whether its time codes are those of a shot, which other files share.
    """

    mesh: Mesh
    parts: tuple[str, ...]
    face_part: NDArray[np.int64]
    rate: float
    codes: NDArray[np.float64]
    start: float
    is_shot = False

    @abstractmethod
    def points(self, code: float) -> FloatArray:
        """Points at a time code [m], world frame, shape (N, 3)."""

    @abstractmethod
    def rest_poses(self, start: float) -> list[RestPose]:
        """Poses that a groom may have been made in, the likeliest first, all of them different.

        `start` is the time code of the first frame.
        """


class UsdTrack(BodyTrack):
    """The meshes of a USD stage.

    Args:
        body: the stage.
        unit: of what comes out of the stage; metres, unless somebody took another unit for metres.
        up: the same for the up axis.
        folder: that the stage is in, where that is removed after its last use.
    """

    is_shot = True

    def __init__(self, body: UsdBody, unit: str = "m", up: str = "y", folder: ScratchFolder | None = None) -> None:
        self._body, self._frame, self._folder = body, (unit, up), folder
        self.rate = body.timing.time_codes_per_second
        if not (np.isfinite(self.rate) and self.rate > 0):
            raise ValueError(
                f"{os.fspath(body.path)}: timeCodesPerSecond must be above zero, got {self.rate}; export it again"
            )
        mesh = body.mesh()
        self.mesh = mesh.with_points(self._converted(mesh.points))
        self.parts, self.face_part = tuple(part.path for part in body.parts), body.face_part
        self.codes = filled(body.times, LONGEST_GAP * self.rate) if body.may_turn else body.times
        self.start = 0.0 if body.start is None else body.start

    def points(self, code: float) -> FloatArray:
        """Points at a time code [m], world frame, shape (N, 3)."""
        return self._converted(self._body.points(code))

    def rest_poses(self, start: float) -> list[RestPose]:
        """The pose of the binding, or points authored beside their samples, then the first frame.

        Transforms above them are taken where the shot begins, where the file does, as a groom in it is read, and as
        authored beside their samples.
        """
        is_bind = self._body.is_skinned
        name = "the bind pose" if is_bind else "the points as authored"
        bound = [
            RestPose(words, self._converted(self._body.rest_points(code)), is_bind)
            for words, code in (
                (name, start),
                (f"{name} where the file starts", self.start),
                (f"{name} before transforms are animated", None),
            )
        ]
        posed = [
            RestPose("the first frame", self.points(start)),
            RestPose("the pose where the file starts", self.points(self.start)),
        ]
        return _different([*bound, *posed])

    def _converted(self, points: FloatArray) -> FloatArray:
        return to_metres(points, *self._frame)


class ArrayTrack(BodyTrack):
    """A mesh whose points an array moves. Time codes are numbers of its samples, from 0 on, or its own times [s].

    Args:
        mesh: in the pose of its file [m], with as many vertices as the array has points.
        array: the samples.
        rate: samples per second, where the array does not have times of its own.
        unit: of the array.
        up: its up axis.
    """

    def __init__(
        self, mesh: Mesh, array: PointArray, rate: float | None, unit: str | float = "m", up: str = "y"
    ) -> None:
        if array.points.shape[1] != mesh.vertex_count:
            raise ValueError(
                f"{array.path}: has {array.points.shape[1]} points per frame, the mesh {mesh.vertex_count} vertices; "
                "export both from the same mesh"
            )
        if array.times is not None and rate is not None:
            raise ValueError(f"rate: must be left out, {array.path} has times of its own")
        self.mesh, self._array, self._frame = mesh, array, (unit, up)
        self.parts, self.face_part = ("mesh",), np.zeros(mesh.face_count, np.int64)
        if array.times is not None:
            self.rate, self.codes = 1.0, array.times
        else:
            self.rate, self.codes = 24.0 if rate is None else float(rate), np.arange(len(array), dtype=np.float64)
        require_positive("rate", self.rate)
        self.start = float(self.codes[0])

    def points(self, code: float) -> FloatArray:
        """Points at a time code [m], shape (N, 3), between samples on a straight line."""
        at = float(np.interp(code, self.codes, np.arange(len(self.codes))))
        before = min(int(at), len(self.codes) - 1)
        points = self._sample(before)
        if at > before:
            points = points + np.float32(at - before) * (self._sample(before + 1) - points)
        return points

    def _sample(self, number: int) -> FloatArray:
        return to_metres(self._array[number], *self._frame)

    def rest_poses(self, start: float) -> list[RestPose]:
        """The mesh as its file has it, then the first frame."""
        own = RestPose("the mesh as its file has it", self.mesh.points)
        return _different([own, RestPose("the first frame", self.points(start))])


class StillTrack(BodyTrack):
    """A mesh that does not move."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh, self.parts, self.face_part = mesh, ("mesh",), np.zeros(mesh.face_count, np.int64)
        self.rate, self.start, self.codes = 24.0, 0.0, np.zeros(0)

    def points(self, code: float) -> FloatArray:
        """Points of the mesh [m], shape (N, 3)."""
        return self.mesh.points

    def rest_poses(self, start: float) -> list[RestPose]:
        """The only pose that there is."""
        return [RestPose("the mesh as its file has it", self.mesh.points)]


class TrackSamples:
    """Points of a body at one time code after the other, each read when it is asked for."""

    def __init__(self, track: BodyTrack, codes: NDArray[np.float64]) -> None:
        self._track, self._codes = track, codes

    def __len__(self) -> int:
        """Number of samples."""
        return len(self._codes)

    def __getitem__(self, sample: int) -> FloatArray:
        """Points at a sample [m], shape (N, 3), float32."""
        return self._track.points(float(self._codes[sample]))


def filled(codes: NDArray[np.float64], longest: float) -> NDArray[np.float64]:
    """Put more time codes between those that are farther apart than `longest`, evenly."""
    if len(codes) < 2:
        return codes
    gaps = np.diff(codes)
    counts = np.maximum(np.ceil(gaps / longest - 1e-6).astype(np.int64), 1)
    starts = np.repeat(codes[:-1], counts)
    step = np.arange(len(starts)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.append(starts + step * np.repeat(gaps / counts, counts), codes[-1])


def _different(poses: list[RestPose]) -> list[RestPose]:
    """Poses without those that repeat an earlier one."""
    kept: list[RestPose] = []
    for pose in poses:
        if not any(is_same(pose.points, other.points) for other in kept):
            kept.append(pose)
    return kept


def is_same(first: FloatArray, second: Any) -> bool:
    """Whether two poses (N, 3) are the same to a thousandth of a millimetre."""
    return bool(np.abs(first - second).max(initial=0.0) <= SAME_POINTS)
