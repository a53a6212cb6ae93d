"""Numba kernels for the frames of the spring model's segments, which their auxiliary particles carry."""

# mypy: allow-untyped-defs

from __future__ import annotations

from mane.simd.jit import FASTMATH, inline_fast, njit, prange
from mane.simd.masks import select
from mane.simd.math import sqrt
from mane.strand._kernels_small import cross

TINY = 1e-30  # keeps the direction of a segment without length finite


@inline_fast
def quaternion_of_axes(a, b, c):
    """Quaternion (x, y, z, w) of the rotation whose columns are the unit vectors a, b, c; no branches, for lanes.

    Each row of the four below is the quaternion times one of its components; the one with the largest is exact.
    """
    xy, xz, yz = a[1] + b[0], a[2] + c[0], b[2] + c[1]
    xw, yw, zw = b[2] - c[1], c[0] - a[2], a[1] - b[0]
    xx, yy, zz = 1.0 + a[0] - b[1] - c[2], 1.0 - a[0] + b[1] - c[2], 1.0 - a[0] - b[1] + c[2]
    ww = 1.0 + a[0] + b[1] + c[2]
    take_x, take_z = xx > yy, zz > ww
    take_p = select(take_x, xx, yy) > select(take_z, zz, ww)
    x = select(take_p, select(take_x, xx, xy), select(take_z, xz, xw))
    y = select(take_p, select(take_x, xy, yy), select(take_z, yz, yw))
    z = select(take_p, select(take_x, xz, yz), select(take_z, zz, zw))
    w = select(take_p, select(take_x, xw, yw), select(take_z, zw, ww))
    inv = 1.0 / sqrt(x * x + y * y + z * z + w * w)
    return x * inv, y * inv, z * inv, w * inv


@inline_fast
def frame_of_segment(p0, p1, a, v0, v1, va, cosine, sine):
    """Frame (four numbers) and angular velocity (three) of the segment p0 p1 with auxiliary particle a; v velocities.

    The third axis is the tangent; the first is the direction of a, turned back by its azimuth.
    """
    dx, dy, dz = p1[0] - p0[0], p1[1] - p0[1], p1[2] - p0[2]
    inv = 1.0 / sqrt(dx * dx + dy * dy + dz * dz + TINY)
    tx, ty, tz = dx * inv, dy * inv, dz * inv
    ox, oy, oz = a[0] - 0.5 * (p0[0] + p1[0]), a[1] - 0.5 * (p0[1] + p1[1]), a[2] - 0.5 * (p0[2] + p1[2])
    along = ox * tx + oy * ty + oz * tz
    ex, ey, ez = ox - along * tx, oy - along * ty, oz - along * tz
    inv_out = 1.0 / sqrt(ex * ex + ey * ey + ez * ez + TINY)
    ex, ey, ez = ex * inv_out, ey * inv_out, ez * inv_out
    sx, sy, sz = cross(tx, ty, tz, ex, ey, ez)
    first = (cosine * ex - sine * sx, cosine * ey - sine * sy, cosine * ez - sine * sz)
    second = (sine * ex + cosine * sx, sine * ey + cosine * sy, sine * ez + cosine * sz)
    qx, qy, qz, qw = quaternion_of_axes(first, second, (tx, ty, tz))
    # Across the tangent from the ends of the segment, about it from the auxiliary particle.
    ux, uy, uz = (v1[0] - v0[0]) * inv, (v1[1] - v0[1]) * inv, (v1[2] - v0[2]) * inv
    wx, wy, wz = cross(tx, ty, tz, ux, uy, uz)
    rx, ry, rz = va[0] - 0.5 * (v0[0] + v1[0]), va[1] - 0.5 * (v0[1] + v1[1]), va[2] - 0.5 * (v0[2] + v1[2])
    twist = (rx * sx + ry * sy + rz * sz + along * (wx * ex + wy * ey + wz * ez)) * inv_out
    return qx, qy, qz, qw, wx + twist * tx, wy + twist * ty, wz + twist * tz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def store_frame(frame, before, qx, qy, qz, qw):
    """Write a frame: of the two quaternions that mean the same, the one nearer to `before`; frames must not jump."""
    sign = 1.0 if qx * before[0] + qy * before[1] + qz * before[2] + qw * before[3] >= 0.0 else -1.0
    frame[0], frame[1], frame[2], frame[3] = sign * qx, sign * qy, sign * qz, sign * qw


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
    inv = 1.0 / sqrt(dx * dx + dy * dy + dz * dz + TINY)
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
    qx, qy, qz, qw, wx, wy, wz = frame_of_segment(p0, p1, a, v0, v1, va, azimuth[0], azimuth[1])
    store_frame(frame, frame, qx, qy, qz, qw)
    spin[0], spin[1], spin[2] = wx, wy, wz
