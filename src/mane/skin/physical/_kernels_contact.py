"""Hairs of the physical skin that reach into solids, swept one after another with the penetration torque."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange
from mane.skin._kernels_rotation import FASTMATH, ONE, product
from mane.skin._kernels_solids import nearest_solid
from mane.skin.physical._kernels_plain import ZERO, turn_one

EIGHT = np.float32(8.0)


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
