"""Loops over the vertices of many strands: lengths, turning, kinks, curvature and torsion. Sums are float64.

```
        v1 ---- s1 ---- v2           s: segments; the turning at v1 is the rotation vector that takes the direction
       /                  \\          of s0 to that of s1: as long as the angle, perpendicular to both
     s0                    s2
     /                      \\
   v0                        v3
```
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange


@njit(cache=True, error_model="numpy")
def turn_between(a, b, out):
    """Fill `out` (3,) with the shortest rotation vector [rad] that takes the direction of `a` to that of `b`."""
    x = a[1] * b[2] - a[2] * b[1]
    y = a[2] * b[0] - a[0] * b[2]
    z = a[0] * b[1] - a[1] * b[0]
    sine = np.sqrt(x * x + y * y + z * z)
    cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    if sine == 0.0 and cosine < 0.0:
        # A full reversal has no axis of its own; any perpendicular one will do.
        if abs(a[0]) < abs(a[1]):
            x, y, z = 0.0, -a[2], a[1]
        else:
            x, y, z = a[2], 0.0, -a[0]
        norm = np.sqrt(x * x + y * y + z * z)
        scale = np.pi / norm if norm > 0.0 else 0.0
    else:
        scale = np.arctan2(sine, cosine) / sine if sine > 0.0 else 0.0
    out[0] = x * scale
    out[1] = y * scale
    out[2] = z * scale


@njit(cache=True, error_model="numpy")
def strand_turning(curve):
    """Return the turning at each inner vertex of one strand (V, 3), shape (V - 2, 3).

    A segment without length is passed over: the turn happens where the strand goes on.
    """
    inner = len(curve) - 2
    turning = np.zeros((inner, 3))
    before = np.zeros(3)
    after = np.empty(3)
    for i in range(inner + 1):
        length = 0.0
        for k in range(3):
            after[k] = np.float64(curve[i + 1, k]) - np.float64(curve[i, k])
            length += after[k] * after[k]
        if i > 0:
            turn_between(before, after, turning[i - 1])
        if length > 0.0:
            before[:] = after
    return turning


@njit(cache=True, error_model="numpy")
def segment_length(curve, i):
    """Length of segment `i` of one strand [m]."""
    x = np.float64(curve[i + 1, 0]) - np.float64(curve[i, 0])
    y = np.float64(curve[i + 1, 1]) - np.float64(curve[i, 1])
    z = np.float64(curve[i + 1, 2]) - np.float64(curve[i, 2])
    return np.sqrt(x * x + y * y + z * z)


@njit(cache=True, error_model="numpy", parallel=True)
def compare_lengths(
    points,
    rest,
    # out
    length,
    rest_length,
    segment_error,
):
    """Fill the total lengths [m] and the largest |l / l_rest - 1| of a segment of each strand, shape (S,) each."""
    for s in prange(len(points)):
        total = 0.0
        rest_total = 0.0
        worst = 0.0
        for i in range(points.shape[1] - 1):
            l = segment_length(points[s], i)
            l_rest = segment_length(rest[s], i)
            total += l
            rest_total += l_rest
            if l_rest > 0.0:
                worst = max(worst, abs(l / l_rest - 1.0))
        length[s] = total
        rest_length[s] = rest_total
        segment_error[s] = worst


@njit(cache=True, error_model="numpy")
def turning_jump(turning, i):
    """How much the turning changes along segment `i + 1`, from vertex i + 1 to vertex i + 2 [rad]."""
    x = turning[i + 1, 0] - turning[i, 0]
    y = turning[i + 1, 1] - turning[i, 1]
    z = turning[i + 1, 2] - turning[i, 2]
    return np.sqrt(x * x + y * y + z * z)


@njit(cache=True, error_model="numpy", parallel=True)
def sum_kinks(points, rest, out):
    """Fill `out` (S,) with the jumps of the turning beyond those at rest, summed along each strand [rad]."""
    for s in prange(len(points)):
        turning = strand_turning(points[s])
        rest_turning = strand_turning(rest[s])
        total = 0.0
        for i in range(len(turning) - 1):
            total += max(0.0, turning_jump(turning, i) - turning_jump(rest_turning, i))
        out[s] = total


@njit(cache=True, error_model="numpy", parallel=True)
def fill_curvature(points, out):
    """Fill `out` (S, V - 2) with the curvature at inner vertices [1/m]: 2 sin(angle / 2) over the mean segment."""
    for s in prange(len(points)):
        turning = strand_turning(points[s])
        before = segment_length(points[s], 0)
        for i in range(len(turning)):
            after = segment_length(points[s], i + 1)
            angle = np.sqrt(turning[i, 0] ** 2 + turning[i, 1] ** 2 + turning[i, 2] ** 2)
            mean = 0.5 * (before + after)
            out[s, i] = 2.0 * np.sin(0.5 * angle) / mean if mean > 0.0 else 0.0
            before = after


@njit(cache=True, error_model="numpy", parallel=True)
def fill_torsion(points, min_turn, out):
    """Fill `out` (S, V - 3) with the torsion of inner segments [1/m], 0 where an end turns by less than `min_turn`."""
    for s in prange(len(points)):
        turning = strand_turning(points[s])
        for i in range(len(turning) - 1):
            a = turning[i]
            b = turning[i + 1]
            length = segment_length(points[s], i + 1)
            turn_a = np.sqrt(a[0] ** 2 + a[1] ** 2 + a[2] ** 2)
            turn_b = np.sqrt(b[0] ** 2 + b[1] ** 2 + b[2] ** 2)
            out[s, i] = 0.0
            if min(turn_a, turn_b) >= min_turn and length > 0.0:
                # Both turnings are perpendicular to the segment; the angle between them, signed about its direction.
                tx = (np.float64(points[s, i + 2, 0]) - np.float64(points[s, i + 1, 0])) / length
                ty = (np.float64(points[s, i + 2, 1]) - np.float64(points[s, i + 1, 1])) / length
                tz = (np.float64(points[s, i + 2, 2]) - np.float64(points[s, i + 1, 2])) / length
                sine = (
                    tx * (a[1] * b[2] - a[2] * b[1])
                    + ty * (a[2] * b[0] - a[0] * b[2])
                    + tz * (a[0] * b[1] - a[1] * b[0])
                )
                cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
                out[s, i] = np.arctan2(sine, cosine) / length
