"""Loops over differences between sets of points: from frame to frame, and to a reference. Sums are float64."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange


@njit(cache=True, error_model="numpy", parallel=True)
def mean_square_jerk(first, second, third, fourth, out):
    """Fill `out` (S,) with the squared third difference of four frames (S, V, 3), averaged along each strand [m^2]."""
    for s in prange(len(first)):
        total = 0.0
        for i in range(first.shape[1]):
            for k in range(3):
                middle = np.float64(second[s, i, k]) - np.float64(third[s, i, k])
                jerk = np.float64(fourth[s, i, k]) - np.float64(first[s, i, k]) + 3.0 * middle
                total += jerk * jerk
        out[s] = total / first.shape[1]


@njit(cache=True, error_model="numpy", parallel=True)
def fill_distance(points, reference, out):
    """Fill `out` (S, V) with the distance between corresponding vertices [m]."""
    for s in prange(len(points)):
        for i in range(points.shape[1]):
            x = np.float64(points[s, i, 0]) - np.float64(reference[s, i, 0])
            y = np.float64(points[s, i, 1]) - np.float64(reference[s, i, 1])
            z = np.float64(points[s, i, 2]) - np.float64(reference[s, i, 2])
            out[s, i] = np.sqrt(x * x + y * y + z * z)
