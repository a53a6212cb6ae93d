"""Skinning weights from bones inside a mesh: each bone heats the skin nearest to it, and the heat spreads there.

Bone heat (Baran and Popovic 2007, "Automatic rigging and animation of 3D characters", section 4): the weights of joint
j solve -laplace(w) + H w = H p, where p is 1 where a bone of j is the nearest one and H = 1 / d^2 falls with the
distance d to it. Heat spreads along the skin only, so a leg does not pull the one beside it, and a blend between two
bones is about as wide as the flesh around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray

Float64Array = NDArray[np.float64]

TIE = 1e-6  # bones that are nearest to within this share divide a vertex between them
LEAST_COTANGENT = 1e-3  # keeps all weights between 0 and 1 where triangles are obtuse
# Weights are lowered by this much and those below left out, so that the middle of a bone moves with it alone.
FADE = 0.05


@dataclass(frozen=True)
class Bone:
    """A straight piece of a joint's flesh: a cone from `start` to `end` [m] with these radii [m]."""

    joint: int
    start: tuple[float, float, float]
    end: tuple[float, float, float]
    start_radius: float
    end_radius: float


def bone_heat_weights(
    mesh: Mesh, bones: Sequence[Bone], influences: int = 4, *, spread: float = 1.0
) -> tuple[NDArray[np.int32], FloatArray]:
    """Joint indices (N, K) and weights (N, K) of a mesh at rest, the strongest first, with a sum of 1 per vertex.

    Args:
        mesh: the skin; each of its pieces needs a bone.
        bones: at least one per joint that should move something; a vertex belongs to the one that it is nearest to in
            units of the bone's radius there.
        influences: K, joints per vertex.
        spread: how wide blends are, in units of the distance from bone to skin.
    """
    nearest, distance = _nearest_bones(mesh.points.astype(np.float64), bones)
    stiffness, area = _laplacian(mesh)
    heat = area / (spread * distance) ** 2
    joints, columns = np.unique([bone.joint for bone in bones], return_inverse=True)
    shares = np.zeros((mesh.vertex_count, len(joints)))
    for bone, column in enumerate(columns):
        shares[:, column] += nearest[:, bone]
    solved = splu((stiffness + sparse.diags(heat)).tocsc()).solve(heat[:, None] * shares)
    return _strongest(np.maximum(solved, 0.0), joints, influences)


def _nearest_bones(points: Float64Array, bones: Sequence[Bone]) -> tuple[Float64Array, Float64Array]:
    """How much of each vertex each bone owns (N, B), rows with a sum of 1, and the distance to its axis [m] (N,)."""
    distance, relative = np.empty((2, len(points), len(bones)))
    for column, bone in enumerate(bones):
        start, axis = np.array(bone.start), np.subtract(bone.end, bone.start)
        along = np.clip((points - start) @ axis / max(float(axis @ axis), 1e-12), 0.0, 1.0)
        distance[:, column] = np.linalg.norm(points - start - along[:, None] * axis, axis=1)
        relative[:, column] = distance[:, column] / (bone.start_radius + along * (bone.end_radius - bone.start_radius))
    least = relative.min(axis=1, keepdims=True)
    owns = (relative <= least * (1.0 + TIE)).astype(np.float64)
    owns /= owns.sum(axis=1, keepdims=True)
    return owns, np.maximum((owns * distance).sum(axis=1), 1e-6)


def _laplacian(mesh: Mesh) -> tuple[sparse.csr_matrix, Float64Array]:
    """Cotangent stiffness matrix (N, N), positive semidefinite, and the area of each vertex [m2] (N,)."""
    points, faces, count = mesh.points.astype(np.float64), mesh.faces.astype(np.int64), mesh.vertex_count
    rows, columns, values = [], [], []
    for corner in range(3):
        here, a, b = (faces[:, (corner + step) % 3] for step in range(3))
        u, v = points[a] - points[here], points[b] - points[here]
        cotangent = np.einsum("ti,ti->t", u, v) / np.maximum(np.linalg.norm(np.cross(u, v), axis=1), 1e-18)
        weight = 0.5 * np.maximum(cotangent, LEAST_COTANGENT)
        rows += [a, b]
        columns += [b, a]
        values += [weight, weight]
    index = (np.concatenate(rows), np.concatenate(columns))
    off_diagonal = sparse.csr_matrix((np.concatenate(values), index), shape=(count, count))
    diagonal = sparse.diags(np.asarray(off_diagonal.sum(axis=1)).reshape(-1))
    thirds = np.repeat(mesh.face_areas.astype(np.float64) / 3.0, 3)
    area = np.bincount(faces.reshape(-1), thirds, count).astype(np.float64)
    return (diagonal - off_diagonal).tocsr(), area


def _strongest(
    weights: Float64Array, joints: NDArray[np.int64], influences: int
) -> tuple[NDArray[np.int32], FloatArray]:
    """The largest of each row, lowered by `FADE`, scaled to a sum of 1."""
    kept = min(influences, weights.shape[1])
    order = np.argsort(-weights, axis=1, kind="stable")[:, :kept]
    largest = np.take_along_axis(weights, order, axis=1)
    faded = np.maximum(largest - FADE * largest.sum(axis=1, keepdims=True), 0.0)
    faded /= faded.sum(axis=1, keepdims=True)
    indices = np.where(faded > 0, joints[order], joints[order[:, :1]])
    return indices.astype(np.int32), faded.astype(np.float32)
