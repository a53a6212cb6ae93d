"""Several sweeps with the penetration torque in each of them, one hair after another, in double precision.

The same sums as `_reference.sweep` with a distance: segments feel those beyond them, with the exact multiplier.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange
from mane.skin._kernels_rotation import product, third_axis
from mane.skin._kernels_solids import nearest_solid

MULTIPLIER_STEPS = 30
ROUNDING = 1e-14
AT_REST = 1e-6  # largest change of four numbers of an orientation


@njit(cache=True, error_model="numpy")
def exact_multiplier(plus, minus, size):
    """Root of eq. 16 above |v| = `size`: plus / (x - |v|)^2 + minus / (x + |v|)^2 = 1.

    Newton's method on one over the root of the left side, which is nearly straight and comes from below.
    """
    x = max(size + math.sqrt(plus), math.sqrt(minus) - size, size * (1.0 + ROUNDING))
    for _ in range(MULTIPLIER_STEPS):
        a, b = 1.0 / (x - size), 1.0 / (x + size)
        square = plus * a * a + minus * b * b
        step = square * (math.sqrt(square) - 1.0) / (plus * a * a * a + minus * b * b * b)
        if not step > ROUNDING * x:
            break
        x += step
    return x


@njit(cache=True, error_model="numpy")
def solve_segment(vx, vy, vz, bx, by, bz, bw, is_exact):
    """Eq. 17, or eq. 15 with the multiplier of eq. 16: the orientation that balances v and b."""
    size = math.sqrt(vx * vx + vy * vy + vz * vz)
    bb = bx * bx + by * by + bz * bz + bw * bw
    ex, ey, ez, ew = product(bx, by, bz, bw, 0.0, 0.0, 1.0, 0.0)
    ax, ay, az, aw = product(vx, vy, vz, 0.0, ex, ey, ez, ew)  # A b
    multiplier = size + math.sqrt(bb)
    if is_exact and size > 0.0:
        # b in the two eigenspaces of A, of +|v| and -|v|.
        along = (bx * ax + by * ay + bz * az + bw * aw) / size
        multiplier = exact_multiplier(max(0.5 * (bb + along), 0.0), max(0.5 * (bb - along), 0.0), size)
    qx, qy, qz, qw = -ax - multiplier * bx, -ay - multiplier * by, -az - multiplier * bz, -aw - multiplier * bw
    inv = 1.0 / math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
    return qx * inv, qy * inv, qz * inv, qw * inv


@njit(cache=True, error_model="numpy")
def right_side(before, first, again, stiffness, own, is_first):
    """b of eq. 14 for the segment of which `own (2, 4)` holds orientations of it and of the one beyond.

    `first`, `again` and `stiffness` are of its joint and the next, which has none at the tip.
    """
    p = first if is_first else again[0]
    x, y, z, w = product(before[0], before[1], before[2], before[3], p[0], p[1], p[2], p[3])
    if is_first:
        return -stiffness[0] * x, -stiffness[0] * y, -stiffness[0] * z, -stiffness[0] * w
    q = own[0]
    k = -stiffness[0] if q[0] * x + q[1] * y + q[2] * z + q[3] * w >= 0.0 else stiffness[0]
    bx, by, bz, bw = k * x, k * y, k * z, k * w
    if len(own) > 1:
        p, r = again[1], own[1]
        x, y, z, w = product(r[0], r[1], r[2], r[3], -p[0], -p[1], -p[2], p[3])
        k = -stiffness[1] if q[0] * x + q[1] * y + q[2] * z + q[3] * w >= 0.0 else stiffness[1]
        bx, by, bz, bw = bx + k * x, by + k * y, bz + k * z, bw + k * w
    return bx, by, bz, bw


@njit(cache=True, error_model="numpy", parallel=True)
def sweep_repeatedly_out_of_solids(
    solids,
    poses,
    length,
    stiffness,
    first,
    again,
    strain,
    force,
    root,
    pull,
    overshoot,
    blend_yield,
    push,
    most,
    # in and out
    points,
):
    """Sweep hairs whose targets are in `points (H, V, 3)` up to `most` times, or until they are at rest.

    Args as in `_kernels_contact.sweep_out_of_solids`, of float64; `stiffness` is k_bt / W of each joint (H, N), `again`
    its rest rotation from the second sweep on (H, N, 4).
    """
    segments = length.shape[1]
    for s in prange(len(length)):
        goal = points[s].astype(np.float64)
        x, q, before = goal.copy(), np.zeros((segments, 4)), np.zeros(4)
        for number in range(most):
            before[:] = root[s]
            changed = 0.0
            for i in range(segments):
                l, f, e, is_first = length[s, i], force[s, i], strain[s], number == 0
                bx, by, bz, bw = right_side(
                    before, first[s, i], again[s, i : i + 2], stiffness[s, i : i + 2], q[i : i + 2], is_first
                )
                off = overshoot if is_first else 0.0
                inv = -1.0 / math.sqrt(bx * bx + by * by + bz * bz + bw * bw)
                dx, dy, dz = third_axis(bx * inv, by * inv, bz * inv, bw * inv)
                # l times the force of eq. 23.
                gx = l * f[0] + pull * (goal[i + 1, 0] - x[i, 0]) - off * l * dx
                gy = l * f[1] + pull * (goal[i + 1, 1] - x[i, 1]) - off * l * dy
                gz = l * f[2] + pull * (goal[i + 1, 2] - x[i, 2]) - off * l * dz
                ux, uy, uz = 0.0, 0.0, 0.0  # what pushes out; nothing at first
                for _ in range(2):
                    qx, qy, qz, qw = solve_segment(
                        -2.0 * (gx + ux), -2.0 * (gy + uy), -2.0 * (gz + uz), bx, by, bz, bw, not is_first
                    )
                    dx, dy, dz = third_axis(qx, qy, qz, qw)
                    taken = pull - off
                    ex = x[i, 0] + l * (dx + e * f[0]) + blend_yield * (gx - taken * l * dx)
                    ey = x[i, 1] + l * (dy + e * f[1]) + blend_yield * (gy - taken * l * dy)
                    ez = x[i, 2] + l * (dz + e * f[2]) + blend_yield * (gz - taken * l * dz)
                    depth, nx, ny, nz = nearest_solid(solids, poses, np.float32(ex), np.float32(ey), np.float32(ez))
                    if depth >= 0.0:
                        break
                    size = -push * (1.0 + stiffness[s, i] / l) * depth  # l times the force of eq. 18
                    ux, uy, uz = size * nx, size * ny, size * nz
                old = q[i]
                changed = max(changed, abs(qx - old[0]), abs(qy - old[1]), abs(qz - old[2]), abs(qw - old[3]))
                old[0], old[1], old[2], old[3] = qx, qy, qz, qw
                before[0], before[1], before[2], before[3] = qx, qy, qz, qw
                x[i + 1, 0], x[i + 1, 1], x[i + 1, 2] = ex, ey, ez
            if changed < AT_REST:
                break
        for i in range(1, segments + 1):
            points[s, i, 0], points[s, i, 1], points[s, i, 2] = x[i, 0], x[i, 1], x[i, 2]
