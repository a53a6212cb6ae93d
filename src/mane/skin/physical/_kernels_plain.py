"""The first sweep for one hair after another: the plain form of `_kernels`, in the precision of its input.

`turn_one` serves the penetration torque, too; `plain_physical_sweep` is what lanes are compared with.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange
from mane.skin._kernels_rotation import FASTMATH, ONE, product, third_axis

ZERO = np.float32(0.0)
FOUR = np.float32(4.0)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def turn_one(hx, hy, hz, hw, l, before, bend, fx, fy, fz, tx, ty, tz, pull, overshoot):
    """Turn the unloaded orientation h of a segment (eq. 17); returns the orientation, its tangent and l times the
    force.

    `before` is the length of the segment before, f the force, t the way from the segment's start to its target.
    """
    dx, dy, dz = third_axis(hx, hy, hz, hw)
    gx = l * fx + pull * tx - overshoot * l * dx
    gy = l * fy + pull * ty - overshoot * l * dy
    gz = l * fz + pull * tz - overshoot * l * dz
    ux, uy, uz = dy * gz - dz * gy, dz * gx - dx * gz, dx * gy - dy * gx
    # Half of k_bt: 4 E I over the rod that the joint stands for.
    w = math.sqrt(gx * gx + gy * gy + gz * gz) + gx * dx + gy * dy + gz * dz + FOUR * bend / (l + before)
    inv = ONE / math.sqrt(ux * ux + uy * uy + uz * uz + w * w)
    qx, qy, qz, qw = product(ux * inv, uy * inv, uz * inv, w * inv, hx, hy, hz, hw)
    dx, dy, dz = third_axis(qx, qy, qz, qw)
    return qx, qy, qz, qw, dx, dy, dz, gx, gy, gz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def target_of(rest, weight, shift, head, s, i):
    """Where linear skinning takes vertex i of hair s; `shift (K, 3, V)` of its bundle."""
    x, y, z = rest[s, i, 0], rest[s, i, 1], rest[s, i, 2]
    tx = head[0] * x + head[1] * y + head[2] * z
    ty = head[3] * x + head[4] * y + head[5] * z
    tz = head[6] * x + head[7] * y + head[8] * z
    for k in range(weight.shape[1]):
        w = weight[s, k]
        tx, ty, tz = tx + w * shift[k, 0, i], ty + w * shift[k, 1, i], tz + w * shift[k, 2, i]
    return tx, ty, tz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def plain_physical_sweep(
    rest,
    first,
    length,
    bend,
    strain,
    of_hair,
    weight,
    force,
    shift,
    head,
    root,
    pull,
    drift_gain,
    # out
    out,
):
    """One hair per iteration, targets skinned linearly on the way.

    Args:
        rest: of the hairs (S, V, 3) [m].
        first: rest rotation of each joint (S, N, 4).
        length: of each segment (S, N) [m].
        bend: E I / W (S,) [m^2].
        strain: stretch per unit of `force` (S,).
        of_hair: bundle of each hair (S,).
        weight: how much each counts for each hair (S, K).
        force: (1 - alpha) f / W of the guides of each bundle at the hairs' segments (M, K, N, 3).
        shift: how the guides of each bundle move the hairs' vertices, the turn apart (M, K, 3, V) [m].
        head: rotation matrix of that turn (9,).
        root: the same as a quaternion (4,).
        pull: alpha times drift.
        drift_gain: as of `PhysicalParams`.
        out: points (S, V, 3) [m].
    """
    for s in prange(len(rest)):
        own = shift[of_hair[s]]
        x, y, z = target_of(rest, weight, own, head, s, 0)
        out[s, 0, 0], out[s, 0, 1], out[s, 0, 2] = x, y, z
        qx, qy, qz, qw = root[0], root[1], root[2], root[3]
        before, from_x, from_y, from_z = ZERO, x, y, z
        for i in range(length.shape[1]):
            fx, fy, fz = ZERO, ZERO, ZERO
            for k in range(weight.shape[1]):
                w, f = weight[s, k], force[of_hair[s], k, i]
                fx, fy, fz = fx + w * f[0], fy + w * f[1], fz + w * f[2]
            tx, ty, tz = target_of(rest, weight, own, head, s, i + 1)
            p, l = first[s, i], length[s, i]
            hx, hy, hz, hw = product(qx, qy, qz, qw, p[0], p[1], p[2], p[3])
            qx, qy, qz, qw, dx, dy, dz, _, _, _ = turn_one(
                hx, hy, hz, hw, l, before, bend[s], fx, fy, fz, tx - from_x, ty - from_y, tz - from_z, pull, ZERO
            )
            x, y, z = x + l * (dx + strain[s] * fx), y + l * (dy + strain[s] * fy), z + l * (dz + strain[s] * fz)
            out[s, i + 1, 0], out[s, i + 1, 1], out[s, i + 1, 2] = x, y, z
            from_x, from_y, from_z = tx + drift_gain * (x - tx), ty + drift_gain * (y - ty), tz + drift_gain * (z - tz)
            before = l
