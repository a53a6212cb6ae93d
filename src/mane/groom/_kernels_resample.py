"""Fine shape of curves, stored in the twist-free frames of their resampled copy and turned with them."""

# mypy: allow-untyped-defs

import numpy as np

from mane.geometry._kernels_frames import NO_LENGTH
from mane.geometry._kernels_quaternion import quat_between, quat_multiply, quat_rotate
from mane.simd.jit import njit, prange

FASTMATH = {"contract", "arcp", "nsz", "afn"}
# Below this value of 1 + cos, the sum of two directions is too short to bisect them.
NEARLY_OPPOSITE = 1e-6


@njit(cache=True, error_model="numpy")
def point_at(points, i, share):
    """Place between points `i` and `i + 1`, in double precision; a share of 0 or 1 gives the point itself."""
    rest = 1.0 - share
    return (
        rest * points[i, 0] + share * points[i + 1, 0],
        rest * points[i, 1] + share * points[i + 1, 1],
        rest * points[i, 2] + share * points[i + 1, 2],
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def turn_to_segment(points, i, qx, qy, qz, qw):
    """Frame q with its third axis turned to segment `i` by the smallest rotation; q itself where it has no length."""
    dx = np.float64(points[i + 1, 0]) - points[i, 0]
    dy = np.float64(points[i + 1, 1]) - points[i, 1]
    dz = np.float64(points[i + 1, 2]) - points[i, 2]
    length = np.sqrt(dx * dx + dy * dy + dz * dz)
    if length <= NO_LENGTH:
        return qx, qy, qz, qw
    dx, dy, dz = dx / length, dy / length, dz / length
    zx, zy, zz = 2.0 * (qx * qz + qw * qy), 2.0 * (qy * qz - qw * qx), 1.0 - 2.0 * (qx * qx + qy * qy)
    # (z x d, 1 + z . d) is the rotation from z to d before it is normalised, which happens once, below.
    tx, ty, tz, tw = zy * dz - zz * dy, zz * dx - zx * dz, zx * dy - zy * dx, 1.0 + zx * dx + zy * dy + zz * dz
    if tw < NEARLY_OPPOSITE:
        tx, ty, tz, tw = quat_between(zx, zy, zz, dx, dy, dz)
    qx, qy, qz, qw = quat_multiply(tx, ty, tz, tw, qx, qy, qz, qw)
    scale = 1.0 / np.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
    return qx * scale, qy * scale, qz * scale, qw * scale


@njit(cache=True, error_model="numpy")
def turn_to_curve(points, begin, end, qx, qy, qz, qw):
    """Frame q with its third axis turned to the first segment that has a length."""
    for i in range(begin, end - 1):
        step = abs(points[i + 1, 0] - points[i, 0])
        step += abs(points[i + 1, 1] - points[i, 1]) + abs(points[i + 1, 2] - points[i, 2])
        if step > NO_LENGTH:
            return turn_to_segment(points, i, qx, qy, qz, qw)
    return qx, qy, qz, qw


@njit(cache=True, error_model="numpy", parallel=True)
def store_detail(curves, offsets, source, source_offsets, segment, share, frame, detail, error):
    """Fill, for curves resampled from `source`:

    `frame` (S, 4) with the frame at each root, `detail` (P, 3) with where each source point lies from its place on the
    curve, seen in the frame of that segment, and `error` (S,) with the largest length of it.
    """
    for s in prange(len(offsets) - 1):
        qx, qy, qz, qw = turn_to_curve(curves, offsets[s], offsets[s + 1], 0.0, 0.0, 0.0, 1.0)
        frame[s, 0], frame[s, 1], frame[s, 2], frame[s, 3] = qx, qy, qz, qw
        j = offsets[s] - 1
        largest = 0.0
        for k in range(source_offsets[s], source_offsets[s + 1]):
            while j < segment[k]:
                j += 1
                qx, qy, qz, qw = turn_to_segment(curves, j, qx, qy, qz, qw)
            px, py, pz = point_at(curves, j, np.float64(share[k]))
            dx, dy, dz = source[k, 0] - px, source[k, 1] - py, source[k, 2] - pz
            largest = max(largest, dx * dx + dy * dy + dz * dz)
            detail[k, 0], detail[k, 1], detail[k, 2] = quat_rotate(-qx, -qy, -qz, qw, dx, dy, dz)
        error[s] = np.sqrt(largest)


@njit(cache=True, error_model="numpy", parallel=True)
def restore_detail(curves, offsets, source_offsets, segment, share, frame, detail, out):
    """Fill `out` (P, 3) with the source points that belong to moved `curves`, starting from `frame` (S, 4)."""
    for s in prange(len(offsets) - 1):
        qx, qy, qz, qw = turn_to_curve(
            curves, offsets[s], offsets[s + 1], frame[s, 0], frame[s, 1], frame[s, 2], frame[s, 3]
        )
        j = offsets[s] - 1
        for k in range(source_offsets[s], source_offsets[s + 1]):
            while j < segment[k]:
                j += 1
                qx, qy, qz, qw = turn_to_segment(curves, j, qx, qy, qz, qw)
            px, py, pz = point_at(curves, j, np.float64(share[k]))
            dx, dy, dz = quat_rotate(
                qx, qy, qz, qw, np.float64(detail[k, 0]), np.float64(detail[k, 1]), np.float64(detail[k, 2])
            )
            out[k, 0], out[k, 1], out[k, 2] = px + dx, py + dy, pz + dz
