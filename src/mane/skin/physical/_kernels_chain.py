"""Whether hairs whose segments feel each other both ways stand where they are balanced, or fall.

The energy of a hair over its weight is (hsu2024 eq. 1 to 3, with the forces given)

    E = - sum_i  q_i . A_i q_i / 2  -  sum_i  k_i (q_(i-1) q0_i) . q_i          |q_i| = 1

In the frame of segment i, with u_i = conj(q_i) v_i q_i, r_i = conj(q_i) q_(i-1) q0_i (what is left of the joint's bend
off its rest) and s_i = q0_(i+1) conj(r_(i+1)) conj(q0_(i+1)) (the same of the joint beyond), its derivative by the
small turn q_i -> q_i (1 + d_i) is

    - (u_y, -u_x, 0) - k_i Im r_i - k_(i+1) Im s_i

and its second derivative is block-tridiagonal with blocks of 3 x 3, positive definite where the balance is a minimum.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange
from mane.skin._kernels_rotation import product, turned


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
