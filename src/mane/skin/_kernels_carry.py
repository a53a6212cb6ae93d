"""Guides seen in the rest pose of a skin that deforms, and hairs carried from there to where it is, by their roots."""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.geometry._kernels_quaternion import quat_multiply
from mane.simd.jit import njit, prange


@njit(cache=True, error_model="numpy")
def matrix_of(x, y, z, w):
    """Rotation matrix of a unit quaternion, row by row."""
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )


@njit(cache=True, error_model="numpy")
def times(m, x, y, z):
    """A matrix, row by row, times a vector."""
    return (
        m[0][0] * x + m[0][1] * y + m[0][2] * z,
        m[1][0] * x + m[1][1] * y + m[1][2] * z,
        m[2][0] * x + m[2][1] * y + m[2][2] * z,
    )


@njit(cache=True, error_model="numpy", parallel=True)
def carry_hairs(
    before,
    after,
    rotations,
    pose,
    # out
    points,
):
    """Move hairs `points (S, V, 3)` in place: turn them by `rotations (S, 4)` about `before (S, 3)`, then to `after`.

    `pose` (7,), a position and a quaternion, carries all of that on. In double precision, so that a hair that stays
    comes back bit for bit, and one far from the origin keeps its shape.
    """
    for s in prange(len(points)):
        q = quat_multiply(
            pose[3], pose[4], pose[5], pose[6], rotations[s, 0], rotations[s, 1], rotations[s, 2], rotations[s, 3]
        )
        m, turned = matrix_of(q[0], q[1], q[2], q[3]), matrix_of(pose[3], pose[4], pose[5], pose[6])
        bx, by, bz = np.float64(before[s, 0]), np.float64(before[s, 1]), np.float64(before[s, 2])
        ax, ay, az = times(turned, after[s, 0], after[s, 1], after[s, 2])
        ax, ay, az = pose[0] + ax, pose[1] + ay, pose[2] + az
        for i in range(points.shape[1]):
            x, y, z = times(m, points[s, i, 0] - bx, points[s, i, 1] - by, points[s, i, 2] - bz)
            points[s, i, 0], points[s, i, 1], points[s, i, 2] = ax + x, ay + y, az + z


@njit(cache=True, error_model="numpy", parallel=True)
def fill_world_rotations(
    rotations,
    pose,
    # out
    out,
):
    """Fill `out (S, 4)` with `rotations (S, 4)` turned on by the quaternion of `pose` (7,)."""
    for s in prange(len(out)):
        out[s, 0], out[s, 1], out[s, 2], out[s, 3] = quat_multiply(
            pose[3], pose[4], pose[5], pose[6], rotations[s, 0], rotations[s, 1], rotations[s, 2], rotations[s, 3]
        )


@njit(cache=True, error_model="numpy")
def turn_rows(
    m,
    vectors,
    # out
    out,
):
    """Fill `out (N, 3)` with `vectors (N, 3)` turned by a matrix."""
    for i in range(len(vectors)):
        out[i, 0], out[i, 1], out[i, 2] = times(
            m, np.float64(vectors[i, 0]), np.float64(vectors[i, 1]), np.float64(vectors[i, 2])
        )


@njit(cache=True, error_model="numpy", parallel=True)
def see_from_roots(
    points,
    velocity,
    orientations,
    cut_force,
    roots,
    rotations,
    rest_roots,
    # out
    seen_points,
    seen_velocity,
    seen_orientations,
    seen_cut_force,
):
    """Fill in guides as seen from their roots, as if these were at `rest_roots (G, 3)` and had not turned.

    All arrays are those of a `GuideFrame`; `rotations (G, 4)` need not be of unit length.
    """
    for g in prange(len(points)):
        x, y, z, w = rotations[g, 0] + 0.0, rotations[g, 1] + 0.0, rotations[g, 2] + 0.0, rotations[g, 3] + 0.0
        size = math.sqrt(x * x + y * y + z * z + w * w)
        inv = 1.0 / size if size > 0.0 else 0.0  # an empty slot may hold zeros
        x, y, z, w = -inv * x, -inv * y, -inv * z, inv * w if size > 0.0 else 1.0
        m = matrix_of(x, y, z, w)
        rx, ry, rz = np.float64(roots[g, 0]), np.float64(roots[g, 1]), np.float64(roots[g, 2])
        for i in range(points.shape[1]):
            dx, dy, dz = times(m, points[g, i, 0] - rx, points[g, i, 1] - ry, points[g, i, 2] - rz)
            seen_points[g, i, 0] = rest_roots[g, 0] + dx
            seen_points[g, i, 1] = rest_roots[g, 1] + dy
            seen_points[g, i, 2] = rest_roots[g, 2] + dz
        turn_rows(m, velocity[g], seen_velocity[g])
        turn_rows(m, cut_force[g], seen_cut_force[g])
        for j in range(orientations.shape[1]):
            q = orientations[g, j]
            seen = quat_multiply(x, y, z, w, q[0], q[1], q[2], q[3])
            for c in range(4):
                seen_orientations[g, j, c] = seen[c]
