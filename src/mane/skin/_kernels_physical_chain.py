"""Hairs whose segments feel each other both ways: further sweeps, and the balance of the whole chain at once.

The energy of a hair over its weight is (hsu2024 eq. 1 to 3, with the forces given)

    E = - sum_i  q_i . A_i q_i / 2  -  sum_i  k_i (q_(i-1) q0_i) . q_i          |q_i| = 1

In the frame of segment i, with u_i = conj(q_i) v_i q_i, r_i = conj(q_i) q_(i-1) q0_i (what is left of the joint's bend
off its rest) and s_i = q0_(i+1) conj(r_(i+1)) conj(q0_(i+1)) (the same of the joint beyond), its derivative by the
small turn q_i -> q_i (1 + d_i) is

    - (u_y, -u_x, 0) - k_i Im r_i - k_(i+1) Im s_i

and its second derivative is block-tridiagonal with blocks of 3 x 3, so that a Newton step takes O(segments).
"""

# mypy: allow-untyped-defs

import math

import numpy as np
from numba import njit, prange

from mane.skin._kernels_physical_plain import product, third_axis, turn_one, turned

NEWTON_STEPS = 60
BALANCED = 1e-9  # residual torque over the stiffness of the joint
SWEEPS_AT_MOST = 1000
RESTING = 1e-6  # change of a point in one sweep, over the length of a segment
MULTIPLIER_STEPS = 40


@njit(cache=True, error_model="numpy")
def exact_multiplier(v, plus, minus, b):
    """The root of eq. 16 above |v|, from |v|, |b| and the squares of b's parts in the two eigenspaces of A.

    Newton's method on 1 / |q|, which is nearly straight, kept between the bounds of the root.
    """
    low, high = v + math.sqrt(plus), v + b
    x = high
    for _ in range(MULTIPLIER_STEPS):
        near, far = x - v, x + v
        if near <= 0.0:
            return high
        square = plus / (near * near) + minus / (far * far)
        slope = plus / (near * near * near) + minus / (far * far * far)
        step = square * (math.sqrt(square) - 1.0) / slope
        x = min(max(x + step, low), high)
        if abs(step) <= 1e-14 * x:
            break
    return x


@njit(cache=True, error_model="numpy")
def joint_turn(q, before, rest, i):
    """r_i: conj(q_i) q_(i-1) q0_i, with w >= 0 (eq. 3)."""
    if i == 0:
        ax, ay, az, aw = before[0], before[1], before[2], before[3]
    else:
        ax, ay, az, aw = q[i - 1, 0], q[i - 1, 1], q[i - 1, 2], q[i - 1, 3]
    px, py, pz, pw = product(ax, ay, az, aw, rest[i, 0], rest[i, 1], rest[i, 2], rest[i, 3])
    x, y, z, w = product(-q[i, 0], -q[i, 1], -q[i, 2], q[i, 3], px, py, pz, pw)
    sign = -1.0 if w < 0.0 else 1.0
    return sign * x, sign * y, sign * z, sign * w


@njit(cache=True, error_model="numpy")
def sweep_first(first, length, bend, strain, blend_yield, force, target, root, pull, overshoot, q, points):
    """Fill `q (N, 4)` and `points (V, 3)` with the first sweep."""
    for c in range(3):
        points[0, c] = target[0, c]
    ax, ay, az, aw, before = root[0], root[1], root[2], root[3], 0.0
    for i in range(len(length)):
        l, f, p, x, t = length[i], force[i], first[i], points[i], target[i + 1]
        hx, hy, hz, hw = product(ax, ay, az, aw, p[0], p[1], p[2], p[3])
        tx, ty, tz = t[0] - x[0], t[1] - x[1], t[2] - x[2]
        ax, ay, az, aw, dx, dy, dz, gx, gy, gz = turn_one(
            hx, hy, hz, hw, l, before, bend, f[0], f[1], f[2], tx, ty, tz, pull, overshoot
        )
        q[i, 0], q[i, 1], q[i, 2], q[i, 3] = ax, ay, az, aw
        own = (pull - overshoot) * l
        points[i + 1, 0] = x[0] + l * (dx + strain * f[0]) + blend_yield * (gx - own * dx)
        points[i + 1, 1] = x[1] + l * (dy + strain * f[1]) + blend_yield * (gy - own * dy)
        points[i + 1, 2] = x[2] + l * (dz + strain * f[2]) + blend_yield * (gz - own * dz)
        before = l


@njit(cache=True, error_model="numpy")
def place(q, length, strain, blend_yield, pull, force, target, points):
    """Fill `points (V, 3)` by eq. 12."""
    for c in range(3):
        points[0, c] = target[0, c]
    for i in range(len(length)):
        d = third_axis(q[i, 0], q[i, 1], q[i, 2], q[i, 3])
        l = length[i]
        for c in range(3):
            blended = l * force[i, c] + pull * (target[i + 1, c] - points[i, c] - l * d[c])
            points[i + 1, c] = points[i, c] + l * (d[c] + strain * force[i, c]) + blend_yield * blended


@njit(cache=True, error_model="numpy")
def sweep_again(again, stiffness, length, strain, blend_yield, pull, force, target, root, q, points):
    """One more pass from root to tip, in place, with the segment beyond and the exact multiplier."""
    count = len(length)
    for c in range(3):
        points[0, c] = target[0, c]
    for i in range(count):
        l = length[i]
        rx, ry, rz, rw = joint_turn(q, root, again, i)
        k = stiffness[i]
        bx, by, bz, bw = k * rx, k * ry, k * rz, k * rw  # -b in the frame of the segment
        if i + 1 < count:
            sx, sy, sz, sw = joint_turn(q, root, again, i + 1)
            p = again[i + 1]
            sx, sy, sz = turned(p[0], p[1], p[2], p[3], -sx, -sy, -sz)
            k = stiffness[i + 1]
            bx, by, bz, bw = bx + k * sx, by + k * sy, bz + k * sz, bw + k * sw
        gx = l * force[i, 0] + pull * (target[i + 1, 0] - points[i, 0])
        gy = l * force[i, 1] + pull * (target[i + 1, 1] - points[i, 1])
        gz = l * force[i, 2] + pull * (target[i + 1, 2] - points[i, 2])
        ux, uy, uz = turned(-q[i, 0], -q[i, 1], -q[i, 2], q[i, 3], -2.0 * gx, -2.0 * gy, -2.0 * gz)
        # A times (bx, by, bz, bw).
        ax, ay = uz * bx - ux * bz + uy * bw, uz * by - uy * bz - ux * bw
        az, aw = -ux * bx - uy * by - uz * bz, uy * bx - ux * by - uz * bw
        size = math.sqrt(ux * ux + uy * uy + uz * uz)
        square = bx * bx + by * by + bz * bz + bw * bw
        along = (ax * bx + ay * by + az * bz + aw * bw) / size if size > 0.0 else 0.0
        plus, minus = max(0.5 * (square + along), 0.0), max(0.5 * (square - along), 0.0)
        m = exact_multiplier(size, plus, minus, math.sqrt(square))
        x, y, z, w = m * bx + ax, m * by + ay, m * bz + az, m * bw + aw
        inv = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
        x, y, z, w = product(q[i, 0], q[i, 1], q[i, 2], q[i, 3], x * inv, y * inv, z * inv, w * inv)
        q[i, 0], q[i, 1], q[i, 2], q[i, 3] = x, y, z, w
        d = third_axis(x, y, z, w)
        for c in range(3):
            blended = l * force[i, c] + pull * (target[i + 1, c] - points[i, c] - l * d[c])
            points[i + 1, c] = points[i, c] + l * (d[c] + strain * force[i, c]) + blend_yield * blended


@njit(cache=True, error_model="numpy")
def energy(q, v, stiffness, again, root):
    """Energy of a hair over its weight."""
    total = 0.0
    for i in range(len(v)):
        _, _, _, w = joint_turn(q, root, again, i)
        d = third_axis(q[i, 0], q[i, 1], q[i, 2], q[i, 3])
        total += 0.5 * (v[i, 0] * d[0] + v[i, 1] * d[1] + v[i, 2] * d[2]) - stiffness[i] * w
    return total


@njit(cache=True, error_model="numpy")
def assemble(q, v, stiffness, again, root, gradient, diagonal, coupling):
    """Fill the first and second derivatives; returns the largest torque over its joint's stiffness."""
    count = len(v)
    residual = 0.0
    for i in range(count):
        ux, uy, uz = turned(-q[i, 0], -q[i, 1], -q[i, 2], q[i, 3], v[i, 0], v[i, 1], v[i, 2])
        k = stiffness[i]
        rx, ry, rz, rw = joint_turn(q, root, again, i)
        gx, gy, gz, m = -uy - k * rx, ux - k * ry, -k * rz, k * rw - uz
        if i + 1 < count:
            k = stiffness[i + 1]
            p = again[i + 1]
            sx, sy, sz, sw = joint_turn(q, root, again, i + 1)
            sx, sy, sz = turned(p[0], p[1], p[2], p[3], -sx, -sy, -sz)
            gx, gy, gz, m = gx - k * sx, gy - k * sy, gz - k * sz, m + k * sw
            for b in range(3):
                x, y, z = 1.0 if b == 0 else 0.0, 1.0 if b == 1 else 0.0, 1.0 if b == 2 else 0.0
                ex, ey, ez = turned(p[0], p[1], p[2], p[3], x, y, z)
                coupling[i, 0, b] = -k * (sw * ex + sy * ez - sz * ey)
                coupling[i, 1, b] = -k * (sw * ey + sz * ex - sx * ez)
                coupling[i, 2, b] = -k * (sw * ez + sx * ey - sy * ex)
        gradient[i, 0], gradient[i, 1], gradient[i, 2] = gx, gy, gz
        diagonal[i, 0, 0], diagonal[i, 1, 1], diagonal[i, 2, 2] = m - uz, m - uz, m + uz
        diagonal[i, 0, 1] = diagonal[i, 1, 0] = 0.0
        diagonal[i, 0, 2] = diagonal[i, 2, 0] = ux
        diagonal[i, 1, 2] = diagonal[i, 2, 1] = uy
        residual = max(residual, math.sqrt(gx * gx + gy * gy + gz * gz) / stiffness[i])
    return residual


@njit(cache=True, error_model="numpy")
def invert_positive(m, inverse):
    """Invert a symmetric 3 x 3 matrix; False where it is not positive definite."""
    a, b, c, d, e, f = m[0, 0], m[0, 1], m[0, 2], m[1, 1], m[1, 2], m[2, 2]
    minor = a * d - b * b
    c0, c1, c2 = d * f - e * e, c * e - b * f, b * e - c * d
    determinant = a * c0 + b * c1 + c * c2
    if not (a > 0.0 and minor > 0.0 and determinant > 0.0):
        return False
    s = 1.0 / determinant
    inverse[0, 0], inverse[1, 1], inverse[2, 2] = c0 * s, (a * f - c * c) * s, minor * s
    inverse[0, 1] = inverse[1, 0] = c1 * s
    inverse[0, 2] = inverse[2, 0] = c2 * s
    inverse[1, 2] = inverse[2, 1] = (b * c - a * e) * s
    return True


@njit(cache=True, error_model="numpy")
def solve_chain(gradient, diagonal, coupling, shift, pivot, inverse, step):
    """Solve (H + shift) step = -gradient from tip to root and back; False where that is not positive definite."""
    count = len(gradient)
    for i in range(count - 1, -1, -1):
        for a in range(3):
            step[i, a] = -gradient[i, a]
            for b in range(3):
                pivot[a, b] = diagonal[i, a, b] + (shift if a == b else 0.0)
        if i + 1 < count:
            for a in range(3):
                for b in range(3):
                    carried = 0.0
                    for c in range(3):
                        carried += coupling[i, a, c] * inverse[i + 1, c, b]
                    step[i, a] -= carried * step[i + 1, b]
                    for c in range(3):
                        pivot[a, c] -= carried * coupling[i, c, b]
        if not invert_positive(pivot, inverse[i]):
            return False
    for i in range(count):
        x, y, z = step[i, 0], step[i, 1], step[i, 2]
        if i > 0:
            for c in range(3):
                carried = step[i - 1, c]
                x, y, z = (
                    x - coupling[i - 1, c, 0] * carried,
                    y - coupling[i - 1, c, 1] * carried,
                    (z - coupling[i - 1, c, 2] * carried),
                )
        for a in range(3):
            step[i, a] = inverse[i, a, 0] * x + inverse[i, a, 1] * y + inverse[i, a, 2] * z
    return True


@njit(cache=True, error_model="numpy")
def balance(q, v, stiffness, again, root):
    """Turn the segments `q (N, 4)` to the nearest minimum of the energy, by Newton's method with a shift."""
    count = len(v)
    gradient, step = np.empty((count, 3)), np.empty((count, 3))
    diagonal, coupling, inverse = np.empty((count, 3, 3)), np.empty((count, 3, 3)), np.empty((count, 3, 3))
    pivot, trial = np.empty((3, 3)), np.empty((count, 4))
    scale = stiffness.max()
    shift = 0.0
    now = energy(q, v, stiffness, again, root)
    for _ in range(NEWTON_STEPS):
        if assemble(q, v, stiffness, again, root, gradient, diagonal, coupling) < BALANCED:
            return
        for _ in range(NEWTON_STEPS):
            if solve_chain(gradient, diagonal, coupling, shift, pivot, inverse, step):
                for i in range(count):
                    x, y, z = step[i, 0], step[i, 1], step[i, 2]
                    inv = 1.0 / math.sqrt(1.0 + x * x + y * y + z * z)
                    x, y, z, w = product(q[i, 0], q[i, 1], q[i, 2], q[i, 3], x * inv, y * inv, z * inv, inv)
                    trial[i, 0], trial[i, 1], trial[i, 2], trial[i, 3] = x, y, z, w
                after = energy(trial, v, stiffness, again, root)
                if after <= now + 1e-14 * abs(now):
                    break
            shift = max(4.0 * shift, 1e-3 * scale)
        else:
            return
        q[:] = trial
        now = after
        shift = 0.25 * shift if shift > 1e-6 * scale else 0.0


@njit(cache=True, error_model="numpy")
def converge(again, stiffness, length, strain, blend_yield, pull, force, target, root, q, points):
    """Solve a hair whose first sweep is given.

    Without drift correction the forces are known and the chain is balanced at once. With it they depend on the points,
    from root to tip, and so does the order in which it must be solved: sweeps, until nothing changes.
    """
    count = len(length)
    if pull == 0.0:
        v = np.empty((count, 3))
        for i in range(count):
            for c in range(3):
                v[i, c] = -2.0 * length[i] * force[i, c]
        balance(q, v, stiffness, again, root)
        place(q, length, strain, blend_yield, pull, force, target, points)
        return
    before = np.empty((count + 1, 3))
    for _ in range(SWEEPS_AT_MOST):
        before[:] = points
        sweep_again(again, stiffness, length, strain, blend_yield, pull, force, target, root, q, points)
        if np.abs(points - before).max() < RESTING * length[0]:
            return


@njit(cache=True, error_model="numpy")
def turn_frames(x, y, z, w, q):
    """Turn all frames `q (N, 4)` by a quaternion, in place."""
    for i in range(len(q)):
        q[i, 0], q[i, 1], q[i, 2], q[i, 3] = product(x, y, z, w, q[i, 0], q[i, 1], q[i, 2], q[i, 3])


@njit(cache=True, error_model="numpy", parallel=True)
def solve_hairs(
    first,
    again,
    length,
    bend,
    stiffness,
    strain,
    force,
    target,
    root,
    pull,
    overshoot,
    blend_yield,
    sweeps,
    is_warm,
    is_kept,
    # in and out
    frames,
    # out
    points,
):
    """Rebuild hairs that feel both neighbours of a segment; all float64.

    Args:
        first: rest rotation of each joint in the first sweep (S, N, 4).
        again: the same afterwards (S, N, 4).
        length: of each segment (S, N) [m].
        bend: E I / W (S,) [m^2].
        stiffness: k_bt / W of each joint (S, N) [m].
        strain: stretch per unit of `force` (S,).
        force: (1 - alpha) f / W (S, N, 3).
        target: of the drift correction (S, V, 3) [m], the root first.
        root: how the skin has turned at each root (S, 4).
        pull: alpha times drift.
        overshoot: the same where eq. 22 is taken as printed in the first sweep, otherwise 0.
        blend_yield: stretch per blended force; 0 unless eq. 12 is taken as printed.
        sweeps: how many after the first one; -1 balances the chain.
        is_warm: whether `frames` holds what to start from instead of a first sweep.
        is_kept: whether `frames` takes what was found, for the next call.
        frames: of the segments, as seen from the roots (S, N, 4).
        points: (S, V, 3) [m].
    """
    for s in prange(len(length)):
        q, turn = frames[s], root[s]
        if is_warm:
            turn_frames(turn[0], turn[1], turn[2], turn[3], q)
        else:
            sweep_first(
                first[s],
                length[s],
                bend[s],
                strain[s],
                blend_yield,
                force[s],
                target[s],
                root[s],
                pull,
                overshoot,
                q,
                points[s],
            )
        if sweeps < 0:
            converge(
                again[s],
                stiffness[s],
                length[s],
                strain[s],
                blend_yield,
                pull,
                force[s],
                target[s],
                root[s],
                q,
                points[s],
            )
        for _ in range(sweeps):
            sweep_again(
                again[s],
                stiffness[s],
                length[s],
                strain[s],
                blend_yield,
                pull,
                force[s],
                target[s],
                root[s],
                q,
                points[s],
            )
        if is_kept:
            turn_frames(-turn[0], -turn[1], -turn[2], turn[3], q)


@njit(cache=True, error_model="numpy", parallel=True)
def find_unstable(
    frames,
    v,
    stiffness,
    again,
    # out
    unstable,
):
    """Fill `unstable (S,)`: whether the energy has no minimum where `frames (S, N, 4)` balance `v (S, N, 3)`."""
    for s in prange(len(frames)):
        count = frames.shape[1]
        gradient, step = np.empty((count, 3)), np.empty((count, 3))
        diagonal, coupling, inverse = np.empty((count, 3, 3)), np.empty((count, 3, 3)), np.empty((count, 3, 3))
        root = np.array([0.0, 0.0, 0.0, 1.0])
        assemble(frames[s], v[s], stiffness[s], again[s], root, gradient, diagonal, coupling)
        unstable[s] = not solve_chain(gradient, diagonal, coupling, 0.0, np.empty((3, 3)), inverse, step)
