"""Numba kernels for the frames of the spring model's segments, which their auxiliary particles carry."""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

from numba import njit, prange

from mane.strand._kernels_small import FASTMATH

TINY = 1e-30  # keeps the direction of a segment without length finite


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def quaternion_of_axes(x, y, z):
    """Quaternion (x, y, z, w) of the rotation whose columns are the unit vectors x, y, z."""
    trace = x[0] + y[1] + z[2]
    if trace > 0.0:
        r = math.sqrt(1.0 + trace)
        h = 0.5 / r
        return (y[2] - z[1]) * h, (z[0] - x[2]) * h, (x[1] - y[0]) * h, 0.5 * r
    if x[0] >= y[1] and x[0] >= z[2]:
        r = math.sqrt(1.0 + x[0] - y[1] - z[2])
        h = 0.5 / r
        return 0.5 * r, (y[0] + x[1]) * h, (z[0] + x[2]) * h, (y[2] - z[1]) * h
    if y[1] >= z[2]:
        r = math.sqrt(1.0 + y[1] - x[0] - z[2])
        h = 0.5 / r
        return (y[0] + x[1]) * h, 0.5 * r, (z[1] + y[2]) * h, (z[0] - x[2]) * h
    r = math.sqrt(1.0 + z[2] - x[0] - y[1])
    h = 0.5 / r
    return (z[0] + x[2]) * h, (z[1] + y[2]) * h, 0.5 * r, (x[1] - y[0]) * h


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def set_frame(p0, p1, a, v0, v1, va, azimuth, before, frame, spin):
    """Write the frame and the angular velocity of the segment p0 p1 with auxiliary particle a.

    The third axis is the tangent; the first is the direction of a, turned back by its azimuth. Of the two quaternions
    that mean the same, the one nearer to the frame `before` is taken, so that frames do not jump.
    """
    dx, dy, dz = p1[0] - p0[0], p1[1] - p0[1], p1[2] - p0[2]
    inv = 1.0 / math.sqrt(dx * dx + dy * dy + dz * dz + TINY)
    tx, ty, tz = dx * inv, dy * inv, dz * inv
    ox, oy, oz = a[0] - 0.5 * (p0[0] + p1[0]), a[1] - 0.5 * (p0[1] + p1[1]), a[2] - 0.5 * (p0[2] + p1[2])
    along = ox * tx + oy * ty + oz * tz
    ex, ey, ez = ox - along * tx, oy - along * ty, oz - along * tz
    inv_out = 1.0 / math.sqrt(ex * ex + ey * ey + ez * ez + TINY)
    ex, ey, ez = ex * inv_out, ey * inv_out, ez * inv_out
    sx, sy, sz = ty * ez - tz * ey, tz * ex - tx * ez, tx * ey - ty * ex  # t x e
    c, w = azimuth[0], azimuth[1]
    first = (c * ex - w * sx, c * ey - w * sy, c * ez - w * sz)
    second = (w * ex + c * sx, w * ey + c * sy, w * ez + c * sz)
    qx, qy, qz, qw = quaternion_of_axes(first, second, (tx, ty, tz))
    sign = 1.0 if qx * before[0] + qy * before[1] + qz * before[2] + qw * before[3] >= 0.0 else -1.0
    frame[0], frame[1], frame[2], frame[3] = sign * qx, sign * qy, sign * qz, sign * qw
    # Across the tangent from the ends of the segment, about it from the auxiliary particle.
    ux, uy, uz = (v1[0] - v0[0]) * inv, (v1[1] - v0[1]) * inv, (v1[2] - v0[2]) * inv
    wx, wy, wz = ty * uz - tz * uy, tz * ux - tx * uz, tx * uy - ty * ux
    rx, ry, rz = va[0] - 0.5 * (v0[0] + v1[0]), va[1] - 0.5 * (v0[1] + v1[1]), va[2] - 0.5 * (v0[2] + v1[2])
    twist = (rx * sx + ry * sy + rz * sz + along * (wx * ex + wy * ey + wz * ez)) * inv_out
    spin[0], spin[1], spin[2] = wx + twist * tx, wy + twist * ty, wz + twist * tz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def turn(q, x, y, z):
    """Turn (x, y, z) by the unit quaternion q."""
    ax, ay, az = 2.0 * (q[1] * z - q[2] * y), 2.0 * (q[2] * x - q[0] * z), 2.0 * (q[0] * y - q[1] * x)
    return (
        x + q[3] * ax + q[1] * az - q[2] * ay,
        y + q[3] * ay + q[2] * ax - q[0] * az,
        z + q[3] * az + q[0] * ay - q[1] * ax,
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def follow_segments(strands, points, velocity, azimuth, offset, frames, spin, auxiliary, auxiliary_velocity):
    """Set the auxiliary particles of `strands` beside segments that were moved; changes the last four.

    Each keeps its turn about the segment: the old frame goes along by the smallest rotation between the two tangents.
    """
    for index in prange(strands.shape[0]):
        g = strands[index]
        for j in range(offset.shape[1]):
            follow_segment(
                points[g, j],
                points[g, j + 1],
                velocity[g, j],
                velocity[g, j + 1],
                azimuth[g, j],
                offset[g, j],
                frames[g, j],
                spin[g, j],
                auxiliary[g, j],
                auxiliary_velocity[g, j],
            )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def follow_segment(p0, p1, v0, v1, azimuth, offset, frame, spin, a, va):
    """The same for one segment."""
    dx, dy, dz = p1[0] - p0[0], p1[1] - p0[1], p1[2] - p0[2]
    inv = 1.0 / math.sqrt(dx * dx + dy * dy + dz * dz + TINY)
    tx, ty, tz = dx * inv, dy * inv, dz * inv
    zx, zy, zz = turn(frame, 0.0, 0.0, 1.0)
    ex, ey, ez = turn(frame, azimuth[0], azimuth[1], 0.0)
    # The smallest rotation from the old tangent z to the new one t takes e to e - (e.t) (z + t) / (1 + z.t); where they
    # are opposite it is a half turn about e, which leaves e alone.
    bend = ex * tx + ey * ty + ez * tz
    facing = 1.0 + zx * tx + zy * ty + zz * tz
    scale = bend / facing if facing > 1e-12 else 0.0
    ex, ey, ez = ex - scale * (zx + tx), ey - scale * (zy + ty), ez - scale * (zz + tz)
    twist = spin[0] * zx + spin[1] * zy + spin[2] * zz
    ux, uy, uz = (v1[0] - v0[0]) * inv, (v1[1] - v0[1]) * inv, (v1[2] - v0[2]) * inv
    wx = ty * uz - tz * uy + twist * tx
    wy = tz * ux - tx * uz + twist * ty
    wz = tx * uy - ty * ux + twist * tz
    ox, oy, oz = offset * ex, offset * ey, offset * ez
    a[0], a[1], a[2] = 0.5 * (p0[0] + p1[0]) + ox, 0.5 * (p0[1] + p1[1]) + oy, 0.5 * (p0[2] + p1[2]) + oz
    va[0] = 0.5 * (v0[0] + v1[0]) + wy * oz - wz * oy
    va[1] = 0.5 * (v0[1] + v1[1]) + wz * ox - wx * oz
    va[2] = 0.5 * (v0[2] + v1[2]) + wx * oy - wy * ox
    set_frame(p0, p1, a, v0, v1, va, azimuth, frame, frame, spin)
