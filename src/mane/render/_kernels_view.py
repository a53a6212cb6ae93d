"""Numba kernel of the projection onto a picture or a shadow map.

A projected point is `(x, y, nearness)`: x to the right and y down in pixels, and a nearness that grows towards the
viewer and is linear on the screen: 1/depth under perspective, minus the depth in a parallel projection.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from mane.simd.jit import njit, prange

# Results must not depend on where in an array a point lies, so nothing here may be approximated or reordered.
FASTMATH = {"contract", "nsz"}


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def project_point(px, py, pz, origin, axes, focal, centre_x, centre_y, perspective, smallest_depth):
    """Screen x, y and nearness of one point; nearness 0 for one behind the eye of a perspective view."""
    dx, dy, dz = px - origin[0], py - origin[1], pz - origin[2]
    x = dx * axes[0, 0] + dy * axes[0, 1] + dz * axes[0, 2]
    y = dx * axes[1, 0] + dy * axes[1, 1] + dz * axes[1, 2]
    depth = -(dx * axes[2, 0] + dy * axes[2, 1] + dz * axes[2, 2])
    if not perspective:
        return centre_x + focal * x, centre_y - focal * y, -depth
    nearness = np.float32(1.0) / depth if depth > smallest_depth else np.float32(0.0)
    scale = focal * nearness
    return centre_x + scale * x, centre_y - scale * y, nearness


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def project(points, origin, axes, focal, centre_x, centre_y, perspective, smallest_depth, screen):
    """Fill `screen` (N, 3) with `(x, y, nearness)` of `points` (N, 3)."""
    for i in prange(points.shape[0]):
        x, y, nearness = project_point(
            points[i, 0], points[i, 1], points[i, 2], origin, axes, focal, centre_x, centre_y, perspective,
            smallest_depth,
        )  # fmt: skip
        screen[i, 0] = x
        screen[i, 1] = y
        screen[i, 2] = nearness


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def project_strands(points, width, origin, axes, focal, centre_x, centre_y, perspective, smallest_depth, seen):
    """Fill `seen` (N, 4) with `(x, y, nearness, width in pixels)` of `points` (N, 3) with `width` (N,) metres."""
    for i in prange(points.shape[0]):
        x, y, nearness = project_point(
            points[i, 0], points[i, 1], points[i, 2], origin, axes, focal, centre_x, centre_y, perspective,
            smallest_depth,
        )  # fmt: skip
        seen[i, 0], seen[i, 1], seen[i, 2] = x, y, nearness
        seen[i, 3] = width[i] * (focal * nearness if perspective else focal)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def local_bounds(points, origin, axes, low, high):
    """Fill `low` and `high` (parts, 3) with the extent of each part of `points` along the axes, from the origin."""
    parts = low.shape[0]
    count = points.shape[0]
    for part in prange(parts):
        low[part], high[part] = np.float32(3.0e38), np.float32(-3.0e38)
        for i in range(part * count // parts, (part + 1) * count // parts):
            dx, dy, dz = points[i, 0] - origin[0], points[i, 1] - origin[1], points[i, 2] - origin[2]
            for k in range(3):
                value = dx * axes[k, 0] + dy * axes[k, 1] + dz * axes[k, 2]
                low[part, k] = min(low[part, k], value)
                high[part, k] = max(high[part, k], value)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def widest_angle(points, origin, axes, widest):
    """Fill `widest` (parts,) with the largest offset from the axis over the depth, infinite for points behind it."""
    parts = widest.shape[0]
    count = points.shape[0]
    for part in prange(parts):
        widest[part] = 0.0
        for i in range(part * count // parts, (part + 1) * count // parts):
            dx, dy, dz = points[i, 0] - origin[0], points[i, 1] - origin[1], points[i, 2] - origin[2]
            depth = -(dx * axes[2, 0] + dy * axes[2, 1] + dz * axes[2, 2])
            for k in range(2):
                offset = abs(dx * axes[k, 0] + dy * axes[k, 1] + dz * axes[k, 2])
                ratio = offset / depth if depth > 0 else np.float32(3.0e38)
                widest[part] = max(widest[part], ratio)
