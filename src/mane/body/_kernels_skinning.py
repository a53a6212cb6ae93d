"""Numba kernel of linear blend skinning."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from mane.simd.jit import njit


@njit(cache=True, error_model="numpy")
def skin_points(points, offsets, joint_indices, joint_weights, change, blend_weights, out):
    """Fill `out` (N, 3) with points moved by blend shapes and joints; sums run in the order of shapes and influences.

    Args:
        points: at rest (N, 3).
        offsets: of the blend shapes (B, N, 3).
        joint_indices, joint_weights: of each vertex (N, K); weights have a sum of 1.
        change: how far each joint displaces a point, as rows of 3 x 4 matrices (J, 3, 4): transform minus identity.
        blend_weights: of the blend shapes (B,).
        out: float32.

    Some 20 ns per vertex: waking other threads would take longer than a character of 20,000 triangles does on one.
    """
    for i in range(points.shape[0]):
        x, y, z = np.float64(points[i, 0]), np.float64(points[i, 1]), np.float64(points[i, 2])
        for b in range(offsets.shape[0]):
            x += blend_weights[b] * offsets[b, i, 0]
            y += blend_weights[b] * offsets[b, i, 1]
            z += blend_weights[b] * offsets[b, i, 2]
        dx, dy, dz = 0.0, 0.0, 0.0
        for k in range(joint_indices.shape[1]):
            weight = np.float64(joint_weights[i, k])
            m = change[joint_indices[i, k]]
            dx += weight * (m[0, 0] * x + m[0, 1] * y + m[0, 2] * z + m[0, 3])
            dy += weight * (m[1, 0] * x + m[1, 1] * y + m[1, 2] * z + m[1, 3])
            dz += weight * (m[2, 0] * x + m[2, 1] * y + m[2, 2] * z + m[2, 3])
        out[i, 0] = x + dx
        out[i, 1] = y + dy
        out[i, 2] = z + dz
