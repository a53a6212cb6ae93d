"""Twist-free frames along curves: one quaternion per segment, whose third axis is the segment's tangent.

```
  vertex 0 --- segment 0 --- vertex 1 --- segment 1 --- vertex 2 ...
               frame 0                    frame 1       (z = tangent; x, y carried over by the smallest rotation)
```
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mane.geometry import _kernels_frames as kernels
from mane.geometry.checks import FloatArray, as_floats


def segment_tangents(points: ArrayLike) -> FloatArray:
    """Unit tangents of curves (S, V, 3), shape (S, V - 1, 3).

    A segment without length takes the tangent before it (the one after it at the root, and +z where a strand has no
    length at all), so that no caller meets a NaN.
    """
    curves = _checked_curves(points)
    out = np.empty((len(curves), curves.shape[1] - 1, 3), np.float32)
    kernels.fill_tangents(curves, out)
    return out


def segment_frames(points: ArrayLike, root: ArrayLike | None = None) -> FloatArray:
    """Parallel-transported frames of curves (S, V, 3) as quaternions (S, V - 1, 4).

    Args:
        points: the curves [m], root first.
        root: orientation at each root, shape (S, 4); its third axis is turned to the first tangent by the smallest
            rotation. Without it the smallest rotation from +z to the first tangent is taken.
    """
    curves = _checked_curves(points)
    start = np.zeros((len(curves), 4), np.float32)
    start[:, 3] = 1
    if root is not None:
        start[:] = as_floats("root", root, (len(curves), 4))
    tangents = segment_tangents(curves)
    out = np.empty(tangents.shape[:2] + (4,), np.float32)
    kernels.transport_frames(tangents, start, out)
    return out


def _checked_curves(points: ArrayLike) -> FloatArray:
    curves = as_floats("points", points, ("S", "V", 3))
    if curves.shape[1] < 2:
        raise ValueError(f"points: a curve must have at least 2 vertices, got {curves.shape[1]}")
    return curves
