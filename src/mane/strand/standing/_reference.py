"""The energy of a strand that cannot stretch, as plainly as it can be written: the specification of `_kernels`.

One strand at a time, in NumPy. `energy` is what the second variation is the second derivative of; `second_variation`
is the closed form as dense matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import optimize

from mane.geometry import quaternion
from mane.strand.model import Float64Array, StrandModel


@dataclass(frozen=True, eq=False)
class StandingStrand:
    """One groomed strand with a clamped root, N segments, and the rest shape that makes the groom its equilibrium."""

    edges: Float64Array
    """Segments as vectors [m], shape (N, 3)."""
    weights: Float64Array
    """Weight of all vertices beyond each segment [N], shape (N, 3)."""
    moments: Float64Array
    """Moment that each joint carries [N m], world, shape (N, 3)."""
    stiffness: Float64Array
    """E I and G J over the joint's length [N m], shape (N, 2)."""
    frames: Float64Array
    """Twist-free frames, the clamp's first, shape (N + 1, 4)."""
    off_rest: Float64Array
    """Rotation of each joint away from its rest, in the frame of the segment after it, shape (N, 4)."""

    @classmethod
    def of(cls, model: StrandModel, strand: int, factor: float = 1.0) -> StandingStrand:
        """Take one strand of a model, with its stiffness times `factor`."""
        edges = np.diff(model.rest_points[strand], axis=0)
        beyond = np.cumsum(model.mass[strand, :0:-1])[::-1]
        weights = beyond[:, None] * model.gravity
        moments = np.cumsum(np.cross(edges, weights)[::-1], axis=0)[::-1]
        stiffness = np.stack([model.bend_stiffness[strand], model.twist_stiffness[strand]], axis=1)
        stiffness = factor * stiffness / model.joint_length[strand, :, None]
        frames = _twist_free_frames(edges)
        seen = quaternion.rotate(quaternion.conjugate(frames[1:]), moments)
        off_rest = np.array([_off_rest(m, *k) for m, k in zip(seen, stiffness, strict=True)])
        return cls(edges, weights, moments, stiffness, frames, off_rest)

    def energy(self, rotations: Float64Array) -> float:
        """Energy [J] with every segment turned by the rotation vectors `rotations` (N, 3) from the groomed shape."""
        now = quaternion.multiply(quaternion.exp(rotations), self.frames[1:])
        before = np.concatenate([self.frames[:1], now[:-1]])
        groomed = quaternion.multiply(quaternion.conjugate(self.frames[:-1]), self.frames[1:])
        rest = quaternion.multiply(groomed, quaternion.conjugate(self.off_rest))
        joint = quaternion.multiply(quaternion.conjugate(before), now)
        off = quaternion.multiply(quaternion.conjugate(rest), joint)
        bend, twist = self.stiffness.T
        elastic = (4 * bend * (1 - off[:, 3]) + 2 * (twist - bend) * off[:, 2] ** 2).sum()
        fall = -(self.weights * quaternion.rotate(quaternion.exp(rotations), self.edges)).sum()
        return float(elastic + fall)

    def second_variation(self) -> Float64Array:
        """Return the matrix of second derivatives of the energy in closed form [J], shape (3 N, 3 N)."""
        count = len(self.edges)
        matrix = np.zeros((count, 3, count, 3))
        for j in range(count):
            n, e = self.weights[j], self.edges[j]
            matrix[j, :, j] += (n @ e) * np.eye(3) - 0.5 * (np.outer(n, e) + np.outer(e, n))
            joint = self._joint(j)
            matrix[j, :, j] += joint
            if j > 0:
                coupling = -joint + 0.5 * _cross_matrix(self.moments[j])
                matrix[j - 1, :, j - 1] += joint
                matrix[j - 1, :, j] += coupling
                matrix[j, :, j - 1] += coupling.T
        return matrix.reshape(3 * count, -1)

    def _joint(self, j: int) -> Float64Array:
        bend, twist = self.stiffness[j]
        x, y, z, w = self.off_rest[j]
        g = np.array([-y, x, w])
        local = (bend * w - (twist - bend) * z * z) * np.eye(3) + (twist - bend) * np.outer(g, g)
        rotation = quaternion.to_matrix(self.frames[j + 1])
        world: Float64Array = rotation @ local @ rotation.T
        return world


def _twist_free_frames(edges: Float64Array) -> Float64Array:
    """Frames of the clamp, which agrees with the first segment, and of the segments, shape (N + 1, 4)."""
    tangents = edges / np.linalg.norm(edges, axis=1, keepdims=True)
    first = quaternion.between_vectors(np.array([0.0, 0.0, 1.0]), tangents[0])
    frames = [first, first]
    for before, after in pairwise(tangents):
        frames.append(quaternion.multiply(quaternion.between_vectors(before, after), frames[-1]))
    return np.array(frames)


def _off_rest(moment: Float64Array, bend: float, twist: float) -> Float64Array:
    """Rotation whose moment is `moment`: 2 bend (e + r e_z g), with g = (-e_y, e_x, w) and r = twist / bend - 1."""

    def excess(e: Float64Array) -> Any:
        w = np.sqrt(np.maximum(1 - e @ e, 0.0))
        return 2 * bend * e + 2 * (twist - bend) * e[2] * np.array([-e[1], e[0], w]) - moment

    scale = np.array([bend, bend, twist])
    found = optimize.root(excess, moment / (2 * scale), tol=1e-14)
    e: Float64Array = found.x
    return np.append(e, np.sqrt(1 - e @ e))


def _cross_matrix(v: Float64Array) -> Float64Array:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
