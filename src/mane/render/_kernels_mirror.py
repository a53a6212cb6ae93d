"""Numba kernel of reflections: rays that are followed through the picture until something is before them.

Every entry is written by exactly one loop iteration, so that the picture does not depend on the thread count.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from mane.render._kernels_view import project_point
from mane.simd.jit import njit, prange

HALVINGS = 5  # of the last step, to find the place where a ray meets something


@njit(cache=True, error_model="numpy")
def project_place(point, direction, way, *view):
    """Column, row and nearness of the place that is `way` [m] along a ray."""
    return project_point(
        point[0] + way * direction[0], point[1] + way * direction[1], point[2] + way * direction[2], *view
    )


@njit(cache=True, error_model="numpy", parallel=True)
def follow_rays(
    points,
    directions,
    reach,
    steps,
    thickness,
    origin,
    axes,
    focal,
    centre_x,
    centre_y,
    is_perspective,
    smallest_depth,
    nearness,
    # out
    found,
):
    """Fill `found` (M, 3) with column, row and 1 where a ray from `points` (M, 3) meets something; else 0.

    What there is to meet is the `nearness` (H, W) of the picture: a ray that comes to be behind it, by no more than
    `thickness` [m], has met it. Steps grow towards `reach` [m]: what is near is mirrored most sharply.
    """
    height, width = nearness.shape
    view = (origin, axes, focal, centre_x, centre_y, is_perspective, smallest_depth)
    for i in prange(points.shape[0]):
        found[i, 0] = found[i, 1] = found[i, 2] = np.float32(0.0)
        before = np.float32(0.0)
        for k in range(1, steps + 1):
            share = np.float32(k) / np.float32(steps)
            way = reach * share * share
            near, far = before, way
            before = way
            x, y, depth = project_place(points[i], directions[i], way, *view)
            if not (depth > 0 and x >= 0 and y >= 0 and x < width and y < height):
                break
            seen = nearness[int(y), int(x)]
            if seen <= depth:
                continue
            for _ in range(HALVINGS):
                middle = np.float32(0.5) * (near + far)
                x, y, depth = project_place(points[i], directions[i], middle, *view)
                row, column = min(max(int(y), 0), height - 1), min(max(int(x), 0), width - 1)
                if nearness[row, column] > depth:
                    far, seen = middle, nearness[row, column]
                else:
                    near = middle
            x, y, depth = project_place(points[i], directions[i], far, *view)
            if np.float32(1.0) / depth - np.float32(1.0) / seen < thickness:
                found[i, 0], found[i, 1], found[i, 2] = x, y, np.float32(1.0)
                break
