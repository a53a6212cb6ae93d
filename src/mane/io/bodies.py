"""Bodies that move: a file with an animated character as a `Solid` whose surface deforms.

```python
body = mane.read_body("character.usd", roots=groom.roots)   # a Solid; body.animation has its points at any time
sim = mane.Simulation(guides, body=body)
```
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh, degenerate_faces
from mane.body.motion import Motion
from mane.body.solid import Solid
from mane.body.triangle_tree import TriangleTree
from mane.geometry.checks import FloatArray, IntArray, as_floats
from mane.io import alembic
from mane.io.body_tracks import ArrayTrack, BodyTrack, RestPose, StillTrack, TrackSamples, UsdTrack, is_same
from mane.io.formats import MESH_SUFFIXES, USD_SUFFIXES, suffix_of
from mane.io.grooms import naming
from mane.io.notices import FileNotice, told_by
from mane.io.point_arrays import open_point_array

if TYPE_CHECKING:
    from mane.io.usd import UsdBody

BODY_READABLE = (*MESH_SUFFIXES, *USD_SUFFIXES, alembic.SUFFIX)
AUTO, BIND, FIRST = "auto", "bind", "first"
REST_POSES = (AUTO, BIND, FIRST)
# Roots farther off the likeliest rest pose than this share of the body's diagonal, and twice as far as off another one,
# lie on the other one.
FAR_ROOTS, NEARER = 1e-3, 0.5
CARRYING_SHARE = 0.01  # of the roots that a mesh must be nearest to, to carry hair
MOST_ROOTS = 2000  # that are asked for where they lie


@dataclass(frozen=True)
class FileClock:
    """Time codes of a file over the seconds of a scene.

    Attributes:
        start: time code at 0 s.
        rate: time codes per second.
    """

    start: float
    rate: float

    def seconds(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Times of time codes [s]."""
        return (codes - self.start) / self.rate


@dataclass(frozen=True, eq=False)
class BodyFile:
    """A body as its file has it.

    Attributes:
        mesh: in the pose that the groom was made in.
        skin_faces: numbers of the triangles that carry hair, shape (K,), or None for all.
        times: of the samples [s], shape (F,); empty for a still body.
        samples: points at these times, read when they are needed; None for a still body.
        clock: time codes of the shot that it belongs to; None for a still body and for an array, which has no shot.
        rest: which pose `mesh` is in, in words.
    """

    mesh: Mesh
    skin_faces: IntArray | None
    times: NDArray[np.float64]
    samples: TrackSamples | None
    clock: FileClock | None
    rest: str

    def solid(self, motion: Motion | None = None, *, interpolation: str = "cubic") -> Solid:
        """Return it as something that hair grows on and touches; a motion carries it along as a whole."""
        if self.samples is None:
            return Solid(self.mesh, motion)
        kept: dict[str, Any] = {"skin_faces": self.skin_faces, "interpolation": interpolation}
        return Solid.animated(self.mesh, self.times, self.samples, motion, **kept)


def read_body(
    path: str | os.PathLike[str],
    *,
    roots: ArrayLike | None = None,
    prim: str | Sequence[str] | None = None,
    only: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    rest: str | float = AUTO,
    start: float | None = None,
    animation: str | os.PathLike[str] | None = None,
    rate: float | None = None,
    unit: str | None = None,
    up: str | None = None,
    motion: Motion | None = None,
    interpolation: str = "cubic",
) -> Solid:
    """Read a body, still or moving, as a `Solid`: `solid.animation` says where its points are at any time.

    Args:
        path: USD, Alembic (by way of Blender), or a mesh: .obj, .ply, .stl, .gltf, .glb. Time-sampled points, animated
            transforms, UsdSkel joints and blend shapes move it.
        roots: of the hair that grows on it [m], shape (S, 3). They tell which of several meshes carries hair and in
            which pose the groom was made, where the arguments below do not.
        prim: path or paths of the meshes in USD that carry hair; hair collides with the others all the same.
        only: paths in USD of all that is read, with everything below them; the whole file by default.
        ignore: paths in USD that hair does not collide with.
        rest: pose that the groom was made in: "bind" (in which joints were bound), "first" (the first frame), a time
            code, or "auto": the pose of the binding, else points authored beside their samples, else the first sample;
            another one of these where the roots clearly lie on that.
        start: time code of the file at 0 s; by default where its range starts, else its first sample.
        animation: an array that moves the points of a mesh: .npy of shape (F, N, 3), or .npz with `points` and `times`
            [s]. Its time codes are these times, or else numbers of samples, from 0 on.
        rate: samples per second of that array, or frames per second at which Blender opens Alembic; 24 by default.
        unit: unit of length of the file where it does not say, and of the array.
        up: up axis of the file where it does not say, and of the array: x, y, z, -x, -y or -z.
        motion: carries the body as a whole.
        interpolation: what joins samples: "cubic", or "linear" for straight lines.

    Samples are read when they are needed and take no memory. ValueError or OSError, in one line that names file, fault
    and remedy, where the file cannot be read.
    """
    found = open_body(
        path,
        roots=roots,
        prim=prim,
        only=only,
        ignore=ignore,
        rest=rest,
        start=start,
        animation=animation,
        rate=rate,
        unit=unit,
        up=up,
    )
    with naming(path):
        return found.solid(motion, interpolation=interpolation)


def open_body(
    path: str | os.PathLike[str],
    *,
    roots: ArrayLike | None = None,
    prim: str | Sequence[str] | None = None,
    only: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    rest: str | float = AUTO,
    start: float | None = None,
    animation: str | os.PathLike[str] | None = None,
    rate: float | None = None,
    unit: str | None = None,
    up: str | None = None,
) -> BodyFile:
    """Open a body without making a solid of it; arguments as of `read_body`."""
    if isinstance(rest, str) and rest not in REST_POSES:
        raise ValueError(f"rest: {rest!r} is unknown; choose from {', '.join(REST_POSES)}, or give a time code")
    hair = None if roots is None else _some(as_floats("roots", roots, ("S", 3)))
    track = _open_track(path, _Choice(only, ignore), animation, rate, unit, up)
    begin = track.start if start is None else float(start)
    if start is not None and len(track.codes) > 1 and begin > track.codes[-1]:
        raise ValueError(
            f"start: must be at most {track.codes[-1]:g}, where the animation of {os.fspath(path)} ends, got {start:g}"
        )
    pose = _rest_pose(path, track, begin, rest, hair)
    faces = track.mesh.faces
    sound = ~degenerate_faces(pose.points, faces)
    with naming(path):
        mesh = Mesh(pose.points, faces[sound], track.mesh.uv)
    skin_faces = _skin_faces(path, track, prim, mesh, track.face_part[sound], hair)
    codes = track.codes
    if len(codes) < 2:
        codes = np.zeros(0) if is_same(pose.points, track.points(begin)) else np.array([begin])
    if len(codes) == 0:
        return BodyFile(mesh, skin_faces, np.zeros(0), None, None, pose.name)
    clock = FileClock(begin, track.rate)
    shot = clock if track.is_shot else None
    return BodyFile(mesh, skin_faces, clock.seconds(codes), TrackSamples(track, codes), shot, pose.name)


@dataclass(frozen=True)
class _Choice:
    """Which prims of a USD file are read: arguments of `read_body`."""

    only: Sequence[str] | None
    ignore: Sequence[str]

    def open(self, path: str | os.PathLike[str], unit: str | None = None, up: str | None = None) -> UsdBody:
        """Open the chosen meshes of a USD file."""
        from mane.io.usd import read_usd_body

        return read_usd_body(path, prims=self.only, ignore=self.ignore, unit=unit, up=up)

    def refuse(self, path: str | os.PathLike[str]) -> None:
        """Raise ValueError where prims are chosen and the file has none."""
        for name, given in (("only", self.only), ("ignore", self.ignore)):
            if given:
                raise ValueError(f"{name}: is for paths in USD, and {os.fspath(path)} has none")


def _open_track(
    path: str | os.PathLike[str],
    choice: _Choice,
    animation: str | os.PathLike[str] | None,
    rate: float | None,
    unit: str | None,
    up: str | None,
) -> BodyTrack:
    """What moves the points of a file, or of a mesh with an array beside it."""
    suffix = suffix_of(path, BODY_READABLE, "read as a body")
    if rate is not None and animation is None and suffix != alembic.SUFFIX:
        raise ValueError(f"rate: must be left out, {os.fspath(path)} has its own or none")
    if suffix in MESH_SUFFIXES:
        choice.refuse(path)
    if animation is not None:
        return _array_track(path, suffix, choice, animation, rate, unit, up)
    if suffix in USD_SUFFIXES:
        return UsdTrack(choice.open(path, unit, up))
    if suffix == alembic.SUFFIX:
        return _alembic_track(path, choice, rate, unit, up)
    from mane.io.meshes import read_mesh

    return StillTrack(read_mesh(path, unit=unit, up=up))


def _alembic_track(
    path: str | os.PathLike[str], choice: _Choice, rate: float | None, unit: str | None, up: str | None
) -> UsdTrack:
    """What Blender makes of an Alembic file; faults name that file, not what was made of it."""
    folder, stage = alembic.meshes_as_usd(path, rate=24.0 if rate is None else rate)
    try:
        return UsdTrack(choice.open(stage), unit or "m", up or "y", folder)
    except ValueError as error:
        raise ValueError(str(error).replace(os.fspath(stage), os.fspath(path))) from None


def _array_track(
    path: str | os.PathLike[str],
    suffix: str,
    choice: _Choice,
    animation: str | os.PathLike[str],
    rate: float | None,
    unit: str | None,
    up: str | None,
) -> ArrayTrack:
    """A mesh with the vertices of its file, and the array that moves them, in the units of that file."""
    array = open_point_array(animation)
    if suffix == alembic.SUFFIX:
        raise ValueError(f"animation: must be left out, {os.fspath(path)} has its own")
    if suffix in USD_SUFFIXES:
        body = choice.open(path, unit, up)
        return ArrayTrack(body.mesh(), array, rate, body.units.metres_per_unit, body.units.up)
    from mane.io.meshes import read_file_vertices

    return ArrayTrack(read_file_vertices(path, unit=unit, up=up), array, rate, unit or "m", up or "y")


# -- which pose, which mesh --------------------------------------------------------------------------------------------


def _rest_pose(
    path: str | os.PathLike[str], track: BodyTrack, start: float, rest: str | float, roots: FloatArray | None
) -> RestPose:
    if not isinstance(rest, str):
        return RestPose(f"time code {rest:g}", track.points(float(rest)))
    poses = track.rest_poses(start)
    if rest == FIRST:
        return RestPose("the first frame", track.points(start))
    if rest == BIND:
        poses = [pose for pose in poses if pose.is_bind]
        if not poses:
            raise ValueError(f"rest: must be another than {BIND!r}, {os.fspath(path)} has no skeleton that moves it")
    if roots is None or len(poses) == 1:
        return poses[0]
    return _nearest_pose(path, track, poses, roots)


def _nearest_pose(
    path: str | os.PathLike[str], track: BodyTrack, poses: Sequence[RestPose], roots: FloatArray
) -> RestPose:
    """The likeliest pose, or another one where the roots clearly lie on that."""
    faces = track.mesh.faces
    distances = [float(np.median(TriangleTree(pose.points[faces]).closest(roots)[0])) for pose in poses]
    best = int(np.argmin(distances))
    size = float(np.linalg.norm(np.ptp(poses[0].points, axis=0)))
    if distances[0] <= FAR_ROOTS * size or distances[best] > NEARER * distances[0]:
        return poses[0]
    warnings.warn(
        f"{os.fspath(path)}: roots lie {1e3 * distances[0]:.3g} mm off {poses[0].name} and {1e3 * distances[best]:.3g} "
        f"mm off {poses[best].name}, which is taken as the rest pose; tell it by {told_by('rest')}",
        FileNotice,
        stacklevel=2,
    )
    return poses[best]


def _skin_faces(
    path: str | os.PathLike[str],
    track: BodyTrack,
    prim: str | Sequence[str] | None,
    mesh: Mesh,
    face_part: NDArray[np.int64],
    roots: FloatArray | None,
) -> IntArray | None:
    """Triangles that carry hair: of the meshes that are named, or of those that roots lie on; None for all."""
    if prim is not None:
        carrying = _named_parts(path, track, [prim] if isinstance(prim, str) else prim)
    elif roots is None or len(track.parts) == 1:
        return None
    else:
        _, triangle, _ = TriangleTree(mesh.points[mesh.faces]).closest(roots)
        counts = np.bincount(face_part[triangle], minlength=len(track.parts))
        carrying = counts >= max(1.0, CARRYING_SHARE * len(roots))
    chosen: IntArray = np.flatnonzero(carrying[face_part])
    return None if len(chosen) == mesh.face_count else chosen


def _named_parts(path: str | os.PathLike[str], track: BodyTrack, names: Sequence[str]) -> NDArray[np.bool_]:
    if Path(path).suffix.lower() in MESH_SUFFIXES:
        raise ValueError(f"prim: is for paths in USD, and {os.fspath(path)} has none")
    carrying = np.zeros(len(track.parts), np.bool_)
    for name in names:
        below = np.array([part == name or part.startswith(f"{name.rstrip('/')}/") for part in track.parts])
        if not below.any():
            known = ", ".join(track.parts[:4])
            raise ValueError(f"prim: {os.fspath(path)} has no mesh at or below {name!r}; it has {known}")
        carrying |= below
    return carrying


def _some(roots: FloatArray) -> FloatArray:
    """At most `MOST_ROOTS` of the roots, evenly chosen."""
    return roots if len(roots) <= MOST_ROOTS else roots[np.linspace(0, len(roots) - 1, MOST_ROOTS).astype(np.int64)]
