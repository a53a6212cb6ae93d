"""Hairs of the physical skin that reach into solids: found, and swept one after another with the penetration torque.

Solids that are asked together come as one `SolidList` of `body._kernels_solid`, so that any number of them is one
kernel.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_solid import solid_at
from mane.body._kernels_solid_f32 import bare_distance, lowest_distance, steepest, to_local, world_distance
from mane.simd.jit import njit, prange
from mane.skin.physical._kernels_plain import FASTMATH, ONE, ZERO, product, turn_one

FAR = np.float32(1e30)
EIGHT = np.float32(8.0)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def find_penetrating(
    solid,
    blocks,
    pose,
    points,
    # in and out
    is_inside,
):
    """Set `is_inside (S,)` where a vertex of `points (S, V, 3)` but the root is inside the solid at `pose (12,)`."""
    slope = steepest(solid)
    for s in prange(len(points)):
        if is_inside[s]:
            continue
        room = ZERO  # what is surely left to the surface after the way from the last vertex that was tested
        px, py, pz = points[s, 0, 0], points[s, 0, 1], points[s, 0, 2]
        for i in range(1, points.shape[1]):
            x, y, z = points[s, i, 0], points[s, i, 1], points[s, i, 2]
            dx, dy, dz = x - px, y - py, z - pz
            px, py, pz = x, y, z
            room -= slope * math.sqrt(dx * dx + dy * dy + dz * dz)
            if room > ZERO:
                continue
            lx, ly, lz = to_local(pose, x, y, z)
            room = lowest_distance(blocks, lx, ly, lz)
            if room > ZERO:
                continue
            room = bare_distance(solid, lx, ly, lz)
            if room < ZERO:
                is_inside[s] = True
                break


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def nearest_solid(solids, poses, x, y, z):
    """Signed distance [m] of a point to the nearest of Z solids at `poses (Z, 12)`, and its unit gradient there."""
    nearest, nx, ny, nz = FAR, ZERO, ZERO, ZERO
    for s in range(len(poses)):
        d, gx, gy, gz = world_distance(solid_at(solids, s), poses[s], x, y, z)
        if d < nearest:
            nearest, nx, ny, nz = d, gx, gy, gz
    return nearest, nx, ny, nz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def sweep_out_of_solids(
    solids,
    poses,
    length,
    first,
    bend,
    strain,
    force,
    root,
    pull,
    drift_gain,
    overshoot,
    blend_yield,
    push,
    # in and out
    points,
):
    """Sweep hairs whose targets are in `points (H, V, 3)`, each segment once more where its end is inside a solid.

    Args as in `_kernels_plain.plain_physical_sweep`, of float32; `solids` and `poses` as in `nearest_solid`,
    `push` as `PhysicalParams.penetration`.
    """
    taken = pull - overshoot
    for s in prange(len(length)):
        qx, qy, qz, qw = root[s, 0], root[s, 1], root[s, 2], root[s, 3]
        before = ZERO
        from_x, from_y, from_z = points[s, 0, 0], points[s, 0, 1], points[s, 0, 2]
        for i in range(length.shape[1]):
            l, p, f, e = length[s, i], first[s, i], force[s, i], strain[s]
            x, y, z = points[s, i, 0], points[s, i, 1], points[s, i, 2]
            goal_x, goal_y, goal_z = points[s, i + 1, 0], points[s, i + 1, 1], points[s, i + 1, 2]
            tx, ty, tz = goal_x - from_x, goal_y - from_y, goal_z - from_z
            hx, hy, hz, hw = product(qx, qy, qz, qw, p[0], p[1], p[2], p[3])
            # What pushes out, from eq. 18: v grows by 2 k_pen l psi grad psi, so the force by k_pen |psi| along the
            # gradient (eq. 19 has the other sign); nothing at first.
            ux, uy, uz = ZERO, ZERO, ZERO
            for _ in range(2):
                vx, vy, vz = f[0] + ux, f[1] + uy, f[2] + uz
                qx, qy, qz, qw, dx, dy, dz, gx, gy, gz = turn_one(
                    hx, hy, hz, hw, l, before, bend[s], vx, vy, vz, tx, ty, tz, pull, overshoot
                )
                # It turns the segment and does not stretch it.
                ex = x + l * (dx + e * f[0]) + blend_yield * (gx - l * ux - taken * l * dx)
                ey = y + l * (dy + e * f[1]) + blend_yield * (gy - l * uy - taken * l * dy)
                ez = z + l * (dz + e * f[2]) + blend_yield * (gz - l * uz - taken * l * dz)
                d, nx, ny, nz = nearest_solid(solids, poses, ex, ey, ez)
                if d >= ZERO:
                    break
                # k_pen / W; k_bt / W is 8 E I / W over both lengths.
                size = -push * (ONE + EIGHT * bend[s] / (l * (l + before))) / l * d
                ux, uy, uz = size * nx, size * ny, size * nz
            points[s, i + 1, 0], points[s, i + 1, 1], points[s, i + 1, 2] = ex, ey, ez
            from_x, from_y = goal_x + drift_gain * (ex - goal_x), goal_y + drift_gain * (ey - goal_y)
            from_z = goal_z + drift_gain * (ez - goal_z)
            before = l
