"""Hairs of the physical skin that reach into solids, one after another, swept with the penetration torque.

Solids come as one table, so that any number of them is one kernel: primitives of all shapes behind each other, values
of all fields behind each other.
"""

# mypy: allow-untyped-defs

import numpy as np
from numba import njit, prange

from mane.skin._kernels_physical_plain import FASTMATH, ONE, ZERO, product, turn_one
from mane.skin._kernels_solid import solid_distance

FAR = np.float32(1e30)
EIGHT = np.float32(8.0)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def nearest_solid(solids, x, y, z):
    """Signed distance [m] of a point to the nearest of Z solids, and its unit gradient there.

    `solids` is a tuple: `kinds (K,)` and `params (K, 16)` of all primitives, `first_kind (Z + 1,)`; `values`, flat, of
    all fields, `first_value (Z,)`, `nodes (Z, 3)`, `origin (Z, 3)` [m] and `inv_cell (Z,)` [1/m] of each; an array to
    stand for the blocks that `_kernels_solid` may skip, of which nothing is asked; then `turn (Z, 3, 3)` and
    `place (Z, 3)` [m] of each solid.
    """
    kinds, params, first_kind, values, first_value, nodes, origin, inv_cell, blocks, turn, place = solids
    nearest, nx, ny, nz = FAR, ZERO, ZERO, ZERO
    for s in range(len(turn)):
        a, b, c = nodes[s, 0], nodes[s, 1], nodes[s, 2]
        field = values[first_value[s] : first_value[s] + a * b * c].reshape((a, b, c))
        own = slice(first_kind[s], first_kind[s + 1])
        solid = (kinds[own], params[own], field, origin[s], inv_cell[s], blocks, ONE, ONE, turn[s], place[s])
        d, gx, gy, gz = solid_distance(solid, x, y, z)
        if d < nearest:
            nearest, nx, ny, nz = d, gx, gy, gz
    return nearest, nx, ny, nz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def sweep_out_of_solids(
    solids,
    length,
    first,
    bend,
    strain,
    force,
    root,
    pull,
    closing,
    overshoot,
    blend_yield,
    push,
    # in and out
    points,
):
    """Sweep hairs whose targets are in `points (H, V, 3)`, each segment once more where its end is inside a solid.

    Args as in `_kernels_physical_chain.solve_hairs`, of float32; `solids` as in `nearest_solid`, `push` as
    `PhysicalParams.penetration`.
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
                d, nx, ny, nz = nearest_solid(solids, ex, ey, ez)
                if d >= ZERO:
                    break
                # k_pen / W; k_bt / W is 8 E I / W over both lengths.
                size = -push * (ONE + EIGHT * bend[s] / (l * (l + before))) / l * d
                ux, uy, uz = size * nx, size * ny, size * nz
            points[s, i + 1, 0], points[s, i + 1, 1], points[s, i + 1, 2] = ex, ey, ez
            from_x, from_y = goal_x + closing * (ex - goal_x), goal_y + closing * (ey - goal_y)
            from_z = goal_z + closing * (ez - goal_z)
            before = l
