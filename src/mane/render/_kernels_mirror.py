"""Numba kernel of rays that are followed through a picture until something is before them: mirrored and bent ones.

Every entry is written by exactly one loop iteration, so that the picture does not depend on the thread count.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from mane.simd.jit import inline, njit, prange

HALVINGS = 5  # of the last step, to find the place where a ray meets something


@inline
def along_axes(x, y, z, axes):
    """A vector along the axes of a view: to the right, up, and away from the eye."""
    return (
        x * axes[0, 0] + y * axes[0, 1] + z * axes[0, 2],
        x * axes[1, 0] + y * axes[1, 1] + z * axes[1, 2],
        -(x * axes[2, 0] + y * axes[2, 1] + z * axes[2, 2]),
    )


@inline
def place_on_ray(start, ray, way, focal, centre_x, centre_y):
    """Column, row and nearness of the place `way` [m] along a ray, both along the axes of a perspective view."""
    depth = start[2] + way * ray[2]
    nearness = np.float32(1.0) / depth
    scale = focal * nearness
    x, y = centre_x + scale * (start[0] + way * ray[0]), centre_y - scale * (start[1] + way * ray[1])
    return x, y, nearness if depth > np.float32(0.0) else np.float32(0.0)


@njit(cache=True, error_model="numpy", parallel=True)
def follow_rays(
    points, directions, reach, steps, thickness, origin, axes, focal, centre_x, centre_y, nearness,
    # out
    found,
):  # fmt: skip
    """Fill `found` (M, 4) with column, row, 1 and the way [m] where a ray from `points` (M, 3) meets something.

    Of one that meets nothing the third is 0, and the rest is the last place where nothing was before it; a way of 0 is
    none. What there is to meet is the `nearness` (H, W) of the picture: a ray that comes to be behind it, by no more
    than `thickness` [m], has met it. Steps grow towards `reach` (M,) [m]: what is near is seen most sharply.
    """
    height, width = nearness.shape
    nearest = nearness.max()
    for i in prange(points.shape[0]):
        for k in range(4):
            found[i, k] = np.float32(0.0)
        px, py, pz = points[i, 0] - origin[0], points[i, 1] - origin[1], points[i, 2] - origin[2]
        start = along_axes(px, py, pz, axes)
        ray = along_axes(directions[i, 0], directions[i, 1], directions[i, 2], axes)
        if ray[2] <= 0.0 and start[2] * nearest <= np.float32(1.0):
            continue  # towards the eye, and before all there is
        before = np.float32(0.0)
        for k in range(1, steps + 1):
            share = np.float32(k) / np.float32(steps)
            way = reach[i] * share * share
            near, far = before, way
            before = way
            x, y, depth = place_on_ray(start, ray, way, focal, centre_x, centre_y)
            if not (depth > 0 and x >= 0 and y >= 0 and x < width and y < height):
                break
            seen = nearness[int(y), int(x)]
            if seen <= depth:
                found[i, 0], found[i, 1], found[i, 3] = x, y, way
                continue
            for _ in range(HALVINGS):
                middle = np.float32(0.5) * (near + far)
                x, y, depth = place_on_ray(start, ray, middle, focal, centre_x, centre_y)
                row, column = min(max(int(y), 0), height - 1), min(max(int(x), 0), width - 1)
                if nearness[row, column] > depth:
                    far, seen = middle, nearness[row, column]
                else:
                    near = middle
            x, y, depth = place_on_ray(start, ray, far, focal, centre_x, centre_y)
            if np.float32(1.0) / depth - np.float32(1.0) / seen < thickness:
                found[i, 0], found[i, 1], found[i, 2], found[i, 3] = x, y, np.float32(1.0), far
                break
