"""Chains that take up points and velocities from outside; `_reference.reference_adopt` is the specification."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import inline_fast, njit, prange
from mane.strand._kernels_small import cross, dot, third_axis
from mane.strand.chain._kernels_rows import FOLD, carried_frame, quat_rotate

TOO_NEAR = 1e-9  # of a segment's length: closer than this, a vertex gives no direction


@inline_fast
def direction_towards(gx, gy, gz, length, ox, oy, oz):
    """Unit vector along g, or the old direction o where g is too short to have one."""
    distance = np.sqrt(dot(gx, gy, gz, gx, gy, gz))
    if distance < TOO_NEAR * length:
        return ox, oy, oz
    return gx / distance, gy / distance, gz / distance


@inline_fast
def half_way(ax, ay, az, px, py, pz, dx, dy, dz):
    """Axis a of the frame along p, turned half of the smallest turn from p to d."""
    cos_half = np.sqrt(0.5 * max(1.0 + dot(px, py, pz, dx, dy, dz), FOLD))
    part = 0.5 * dot(ax, ay, az, dx, dy, dz) / (cos_half * (1.0 + cos_half))
    mid = 0.5 / cos_half
    return ax - part * (px + mid * (px + dx)), ay - part * (py + mid * (py + dy)), az - part * (pz + mid * (pz + dz))


@inline_fast
def closest_rate(e1x, e1y, e1z, e2x, e2y, e2z, lx, ly, lz, mx, my, mz, length):
    """Rates about the axes e1 and e2 that bring the end of the lever l closest to the velocity m."""
    ax, ay, az = cross(e1x, e1y, e1z, lx, ly, lz)
    bx, by, bz = cross(e2x, e2y, e2z, lx, ly, lz)
    least = TOO_NEAR * length * length  # a curl's lever may lie along an axis, about which it cannot be moved
    aa, ab, bb = dot(ax, ay, az, ax, ay, az) + least, dot(ax, ay, az, bx, by, bz), dot(bx, by, bz, bx, by, bz) + least
    am, bm = dot(ax, ay, az, mx, my, mz), dot(bx, by, bz, mx, my, mz)
    inv = 1.0 / (aa * bb - ab * ab)
    return (bb * am - ab * bm) * inv, (aa * bm - ab * am) * inv


@njit(cache=True, error_model="numpy", parallel=True)
def adopt_strands(points, velocity, frames, spin, strands, is_clamped, clamp, clamp_spin, length, offset):
    """Bring the strands of the mask (G,) back on their chains: points, velocity, frames and spin change in place."""
    for g in prange(points.shape[0]):
        if not strands[g]:
            continue
        start = clamp[g] if is_clamped[g] else frames[g, 0]
        x, y, z, w = start[0], start[1], start[2], start[3]
        px, py, pz = third_axis(x, y, z, w)
        sx, sy, sz = clamp_spin[g, 0], clamp_spin[g, 1], clamp_spin[g, 2]
        ex, ey, ez = points[g, 0, 0], points[g, 0, 1], points[g, 0, 2]
        vx, vy, vz = velocity[g, 0, 0], velocity[g, 0, 1], velocity[g, 0, 2]
        for j in range(frames.shape[1]):
            l = length[g, j]
            ax, ay, az = offset[g, j, 0], offset[g, j, 1], offset[g, j, 2]
            old = frames[g, j]
            ox, oy, oz = third_axis(old[0], old[1], old[2], old[3])
            cx, cy, cz = quat_rotate(old[0], old[1], old[2], old[3], (ax, ay, az))
            dx, dy, dz = direction_towards(
                points[g, j + 1, 0] - cx - ex,
                points[g, j + 1, 1] - cy - ey,
                points[g, j + 1, 2] - cz - ez,
                l,
                ox,
                oy,
                oz,
            )
            e1x, e1y, e1z = quat_rotate(x, y, z, w, (1.0, 0.0, 0.0))
            e2x, e2y, e2z = quat_rotate(x, y, z, w, (0.0, 1.0, 0.0))
            x, y, z, w = carried_frame((x, y, z, w), (px, py, pz), (dx, dy, dz))
            if j == 0 and not is_clamped[g]:
                # Nothing before it: it turns about its own axes, and keeps the spin about itself.
                along = dot(spin[g, 0, 0], spin[g, 0, 1], spin[g, 0, 2], dx, dy, dz)
                sx, sy, sz = along * dx, along * dy, along * dz
                e1x, e1y, e1z = quat_rotate(x, y, z, w, (1.0, 0.0, 0.0))
                e2x, e2y, e2z = quat_rotate(x, y, z, w, (0.0, 1.0, 0.0))
            else:
                e1x, e1y, e1z = half_way(e1x, e1y, e1z, px, py, pz, dx, dy, dz)
                e2x, e2y, e2z = half_way(e2x, e2y, e2z, px, py, pz, dx, dy, dz)
            cx, cy, cz = quat_rotate(x, y, z, w, (ax, ay, az))
            lx, ly, lz = cx + l * dx, cy + l * dy, cz + l * dz
            tx, ty, tz = cross(sx, sy, sz, lx, ly, lz)
            r1, r2 = closest_rate(
                e1x,
                e1y,
                e1z,
                e2x,
                e2y,
                e2z,
                lx,
                ly,
                lz,
                velocity[g, j + 1, 0] - vx - tx,
                velocity[g, j + 1, 1] - vy - ty,
                velocity[g, j + 1, 2] - vz - tz,
                l,
            )
            sx, sy, sz = sx + r1 * e1x + r2 * e2x, sy + r1 * e1y + r2 * e2y, sz + r1 * e1z + r2 * e2z
            tx, ty, tz = cross(sx, sy, sz, lx, ly, lz)
            points[g, j + 1, 0], points[g, j + 1, 1], points[g, j + 1, 2] = ex + lx, ey + ly, ez + lz
            velocity[g, j + 1, 0], velocity[g, j + 1, 1], velocity[g, j + 1, 2] = vx + tx, vy + ty, vz + tz
            frames[g, j, 0], frames[g, j, 1], frames[g, j, 2], frames[g, j, 3] = x, y, z, w
            spin[g, j, 0], spin[g, j, 1], spin[g, j, 2] = sx, sy, sz
            tx, ty, tz = cross(sx, sy, sz, dx, dy, dz)
            ex, ey, ez = ex + l * dx, ey + l * dy, ez + l * dz
            vx, vy, vz = vx + l * tx, vy + l * ty, vz + l * tz
            px, py, pz = dx, dy, dz
