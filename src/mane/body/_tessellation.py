"""Triangles for the shapes of `shapes.py`: closed and facing out. Inputs are trusted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh
from mane.geometry.quaternion import any_perpendicular

Points = NDArray[np.float64]
Faces = NDArray[np.int64]


def capsule(start: ArrayLike, end: ArrayLike, radius: float, resolution: int) -> Mesh:
    """Mesh a capsule, or a sphere with its poles on Y when both ends are the same point."""
    a, b = np.asarray(start, np.float64), np.asarray(end, np.float64)
    length = float(np.linalg.norm(b - a))
    axis = (b - a) / length if length > 0 else np.array([0.0, 1.0, 0.0])
    side = any_perpendicular(axis)
    other = np.cross(axis, side)
    # Rings from the pole of `start` to the pole of `end`; a capsule has its equator twice, once at each end.
    quarter = max(resolution // 4, 1)
    latitude = np.linspace(-0.5 * np.pi, 0.0, quarter + 1)[1:]
    lower, upper = latitude, -latitude[::-1]
    if length == 0:
        upper = upper[1:]
    centers = np.concatenate([np.repeat(a[None], len(lower), 0), np.repeat(b[None], len(upper), 0)])
    latitude = np.concatenate([lower, upper])
    turn = 2 * np.pi * np.arange(resolution) / resolution
    spokes = np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * other
    rings = centers + radius * np.sin(latitude)[:, None] * axis
    points = rings[:, None] + radius * np.cos(latitude)[:, None, None] * spokes
    poles = np.stack([a - radius * axis, b + radius * axis])
    return Mesh(
        np.concatenate([points.reshape(-1, 3), poles]).astype(np.float32),
        _tube_with_poles(len(latitude), resolution).astype(np.int32),
    )


def _tube_with_poles(ring_count: int, segment_count: int) -> Faces:
    quads = _grid_faces(np.arange(ring_count * segment_count).reshape(ring_count, segment_count), wrap_rows=False)
    south, north = ring_count * segment_count, ring_count * segment_count + 1
    here = np.arange(segment_count)
    following = np.roll(here, -1)
    last = (ring_count - 1) * segment_count
    bottom = np.stack([np.full(segment_count, south), following, here], axis=1)
    top = np.stack([np.full(segment_count, north), last + here, last + following], axis=1)
    return np.concatenate([quads, bottom, top])


def _grid_faces(index: Faces, *, wrap_rows: bool) -> Faces:
    """Split the quads of a grid of indices in two; columns wrap round, and so do rows when asked."""
    rows = index if wrap_rows else index[:-1]
    next_rows = np.roll(index, -1, axis=0)[: len(rows)]
    a, b = rows.ravel(), np.roll(rows, -1, axis=1).ravel()
    d, c = next_rows.ravel(), np.roll(next_rows, -1, axis=1).ravel()
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def torus(center: ArrayLike, axis: ArrayLike, major_radius: float, minor_radius: float, resolution: int) -> Mesh:
    """Mesh a ring with `resolution` segments along it and half as many around its tube."""
    direction = np.asarray(axis, np.float64)
    side = any_perpendicular(direction)
    other = np.cross(direction, side)
    around = max(resolution // 2, 3)
    turn = 2 * np.pi * np.arange(resolution) / resolution
    spokes = np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * other
    tube = 2 * np.pi * np.arange(around) / around
    outwards = major_radius + minor_radius * np.cos(tube)
    points = outwards[None, :, None] * spokes[:, None] + (minor_radius * np.sin(tube))[None, :, None] * direction
    index = np.arange(resolution * around).reshape(resolution, around)
    # Along the ring, then around the tube, turns left-handed; transposed it faces out.
    faces = _grid_faces(np.ascontiguousarray(index.T), wrap_rows=True)
    return Mesh((points.reshape(-1, 3) + np.asarray(center)).astype(np.float32), faces.astype(np.int32))


def square(point: ArrayLike, normal: ArrayLike, size: float) -> Mesh:
    """Mesh a square of the given side, two triangles that face along `normal`."""
    up = np.asarray(normal, np.float64)
    side = any_perpendicular(up)
    other = np.cross(up, side)
    corners = 0.5 * size * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    points = np.asarray(point) + corners @ np.stack([side, other])
    return Mesh(points.astype(np.float32), np.array([[0, 1, 2], [0, 2, 3]], np.int32))


def box(center: ArrayLike, core: Points, matrix: Points, rounding: float, resolution: int) -> Mesh:
    """Mesh the box `core` inflated by `rounding`: a lattice on its surface, bent around the edges."""
    quarter = max(resolution // 4, 1) if rounding > 0 else 0
    # Tangent spacing makes the segments around an edge equal in angle at its middle.
    bend = np.tan(np.linspace(0.0, 0.25 * np.pi, quarter + 1)) * rounding
    axes = [np.unique(np.concatenate([-half - bend, half + bend])) for half in core]
    points, faces = _lattice_surface(axes)
    inner = np.clip(points, -core, core)
    outwards = points - inner
    length = np.linalg.norm(outwards, axis=1, keepdims=True)
    unit = np.divide(outwards, length, out=np.zeros_like(outwards), where=length > 0)
    placed = (inner + rounding * unit) @ matrix.T + np.asarray(center)
    return Mesh(placed.astype(np.float32), faces.astype(np.int32))


def _lattice_surface(axes: Sequence[Points]) -> tuple[Points, Faces]:
    """Return the surface of a box-shaped lattice with the given coordinates per axis, vertices shared."""
    sizes = [len(values) for values in axes]
    number = np.arange(np.prod(sizes)).reshape(sizes)
    faces = []
    for axis in range(3):
        # Axes in cyclic order, so that rows x columns x normal is right-handed on the far side.
        layers = number.transpose(axis, (axis + 1) % 3, (axis + 2) % 3)
        for layer, flip in ((layers[-1], False), (layers[0], True)):
            a, b, c, d = layer[:-1, :-1], layer[1:, :-1], layer[1:, 1:], layer[:-1, 1:]
            quads = np.stack([a, b, c, d], axis=-1).reshape(-1, 4)
            quads = quads[:, ::-1] if flip else quads
            faces += [quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]
    used, packed = np.unique(np.concatenate(faces), return_inverse=True)
    corner = np.stack(np.unravel_index(used, sizes), axis=1)
    points = np.stack([values[corner[:, axis]] for axis, values in enumerate(axes)], axis=1)
    return points, packed.reshape(-1, 3)


def joined(meshes: Sequence[Mesh]) -> Mesh:
    """Put meshes side by side in one; texture coordinates are left behind."""
    starts = np.cumsum([0] + [mesh.vertex_count for mesh in meshes[:-1]])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)]
    return Mesh(np.concatenate([mesh.points for mesh in meshes]), np.concatenate(faces).astype(np.int32))
