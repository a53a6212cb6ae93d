"""The kernels of this room again in plain NumPy, slow and obvious: the tests' specification."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import FloatArray

Array64 = NDArray[np.float64]
Z = np.array([0.0, 0.0, 1.0])


def segment_frames(curve: FloatArray, start: Array64) -> Array64:
    """Twist-free frames (V - 1, 4) of one curve (V, 3) without empty segments, from a frame at its root (4,)."""
    steps = np.diff(curve.astype(np.float64), axis=0)
    frames, frame = [], start
    for tangent in steps / np.linalg.norm(steps, axis=1, keepdims=True):
        frame = quaternion.multiply(quaternion.between_vectors(quaternion.rotate(frame, Z), tangent), frame)
        frames.append(quaternion.normalize(frame))
    return np.array(frames)


def restored_curve(source: FloatArray, rest: FloatArray, moved: FloatArray, rotation: Array64) -> Array64:
    """Source vertices (N, 3) after their resampled curve went from `rest` to `moved` (V, 3) and its root turned."""
    source = source.astype(np.float64)
    arc = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(source, axis=0), axis=1))])
    place = arc / arc[-1] * (len(rest) - 1)
    segment = np.minimum(place.astype(int), len(rest) - 2)
    share = (place - segment)[:, None]
    on_rest = (1 - share) * rest[segment] + share * rest[segment + 1]
    on_moved = (1 - share) * moved[segment] + share * moved[segment + 1]
    first = rest[1].astype(np.float64) - rest[0]
    start = quaternion.between_vectors(Z, first / np.linalg.norm(first))
    before = segment_frames(rest, start)[segment]
    after = segment_frames(moved, quaternion.multiply(rotation, start))[segment]
    local = quaternion.rotate(quaternion.conjugate(before), source - on_rest)
    result: Array64 = on_moved + quaternion.rotate(after, local)
    return result


def triangle_rotation(rest: FloatArray, moved: FloatArray) -> Array64:
    """How a triangle (3, 3) has turned, as a matrix: the polar decomposition of its deformation gradient, by SVD."""

    def edges_and_normal(corners: Array64) -> Array64:
        u, v = corners[1] - corners[0], corners[2] - corners[0]
        normal = np.cross(u, v)
        return np.stack([u, v, normal / np.linalg.norm(normal)], axis=1)

    gradient = edges_and_normal(moved.astype(np.float64)) @ np.linalg.inv(edges_and_normal(rest.astype(np.float64)))
    left, _, right = np.linalg.svd(gradient)
    result: Array64 = left @ right
    return result


def vertex_rotation(rest: FloatArray, moved: FloatArray, faces: NDArray[np.integer], vertex: int) -> Array64:
    """How a mesh has turned at one vertex: the mean of its triangles' turns by area, as a quaternion with w >= 0."""
    total = np.zeros(4)
    for face in faces[(faces == vertex).any(axis=1)]:
        corners = moved[face].astype(np.float64)
        area = np.linalg.norm(np.cross(corners[1] - corners[0], corners[2] - corners[0]))
        rotation = quaternion.from_matrix(triangle_rotation(rest[face], moved[face]))
        total += area * rotation * (-1 if total @ rotation < 0 else 1)
    unit = quaternion.normalize(total)
    return -unit if unit[3] < 0 else unit
