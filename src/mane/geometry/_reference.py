"""The kernels of this room again in plain NumPy, slow and obvious: the tests' specification."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray

FloatArray64 = NDArray[np.float64]


def transport_frames(tangents: FloatArray, root: FloatArray) -> FloatArray64:
    """Frames (S, N, 4) that follow `tangents` (S, N, 3) from `root` (S, 4), each by the smallest rotation."""
    frames = []
    q = root.astype(np.float64)
    for i in range(tangents.shape[1]):
        z = quaternion.rotate(q, np.array([0.0, 0.0, 1.0]))
        q = quaternion.multiply(quaternion.between_vectors(z, tangents[:, i].astype(np.float64)), q)
        frames.append(q)
    return np.stack(frames, axis=1)


def trilinear(values: FloatArray, origin: FloatArray, cell_size: float, point: FloatArray) -> float:
    """Value at one point inside the grid: the eight corners, each times its opposite volume."""
    coordinate = (point.astype(np.float64) - origin) / cell_size
    cell = np.minimum(np.floor(coordinate).astype(int), np.array(values.shape) - 2)
    share = coordinate - cell
    total = 0.0
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, share, 1 - share))
        total += weight * values[tuple(cell + corner)]
    return float(total)


def points_at(points: FloatArray, offsets: IntArray, strand: int, wanted: float) -> FloatArray64:
    """Position at one arc length of one curve."""
    curve = points[offsets[strand] : offsets[strand + 1]].astype(np.float64)
    arc = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    return np.stack([np.interp(wanted, arc, curve[:, axis]) for axis in range(3)])
