"""The linear system of a stage of Cosserat rods: filled and factorised once, solved for several right-hand sides.

Unknowns of a strand, in the order of elimination, three numbers each:

    x_0, theta_0, x_1, theta_1, ... x_N        x: displacement of a vertex, theta: small world rotation of a segment

A vertex meets its two segments and its neighbours, a segment meets its neighbours: each unknown is coupled to the next
two only, so the matrix is block-pentadiagonal with 3 x 3 blocks and the solve takes O(vertices).
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.strand._kernels_cosserat_rows import (
    A_T,
    A_X,
    AXIS,
    BEND,
    COUPLE,
    CUT,
    DAMPING,
    EXTRA_TWIST,
    INERTIA,
    INV_JOINT,
    INV_STAGE,
    LENGTH,
    MASS,
    ONE,
    P_X,
    PINNED,
    R_T,
    R_X,
    RESIST,
    SPRINGS,
    STRETCH,
    STRIDE,
    TENSION,
    U_T,
    U_X,
    W_T,
    W_X,
    in_block,
)
from mane.strand._kernels_small import (
    LANES,
    cross,
    full_times_vector,
    load3,
    load6,
    load9,
    store3,
    store6,
    store9,
    subtract3,
    subtract6,
    symmetric_inverse,
    symmetric_times_full,
    symmetric_times_vector,
    transposed_times_full,
    transposed_times_full_symmetric,
    transposed_times_vector,
)


@in_block
def fill_matrix(vertices, buf):
    """Fill the diagonal blocks of vertices and segments; there is an empty segment behind the tip."""
    for j in range(np.uint64(vertices)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            n = b + STRIDE
            inv_dt = buf[INV_STAGE + s]
            r0, r1, r2, r3, r4, r5 = load6(buf, b + RESIST)
            diagonal = buf[b + MASS] * inv_dt * inv_dt + buf[b + SPRINGS]
            store6(
                buf,
                b + A_X,
                diagonal + r0 * inv_dt,
                diagonal + r1 * inv_dt,
                diagonal + r2 * inv_dt,
                r3 * inv_dt,
                r4 * inv_dt,
                r5 * inv_dt,
            )
            dx, dy, dz = load3(buf, b + AXIS)
            tx, ty, tz = load3(buf, n + AXIS)
            # k l (I - d d^T) of stretch and shear, with the geometric stiffness of the tension beside it
            shear = (buf[b + STRETCH] + buf[b + TENSION]) * buf[b + LENGTH]
            joint = (1.0 + buf[b + DAMPING] * inv_dt) * buf[b + INV_JOINT]
            ahead = (1.0 + buf[n + DAMPING] * inv_dt) * buf[n + INV_JOINT]
            bend, extra = joint * buf[b + BEND], joint * buf[b + EXTRA_TWIST]
            bend_ahead, extra_ahead = ahead * buf[n + BEND], ahead * buf[n + EXTRA_TWIST]
            diagonal = buf[b + INERTIA] * inv_dt * inv_dt + shear + bend + bend_ahead
            across = extra - shear
            store6(
                buf,
                b + A_T,
                diagonal + across * dx * dx + extra_ahead * tx * tx,
                diagonal + across * dy * dy + extra_ahead * ty * ty,
                diagonal + across * dz * dz + extra_ahead * tz * tz,
                across * dx * dy + extra_ahead * tx * ty,
                across * dx * dz + extra_ahead * tx * tz,
                across * dy * dz + extra_ahead * ty * tz,
            )


@in_block
def factorise(vertices, buf):
    """Eliminate x_j and theta_j of every segment in turn, then the tip; keeps what solving needs."""
    for s in range(LANES):
        store9(buf, STRIDE + P_X + s, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for j in range(np.uint64(vertices - 1)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            inv_dt = buf[INV_STAGE + s]
            stretch = buf[b + STRETCH]
            spring = stretch / buf[b + LENGTH]
            dx, dy, dz = load3(buf, b + AXIS)
            kx, ky, kz = stretch * dx, stretch * dy, stretch * dz
            # x_j is coupled to theta_j by -k [d]x and what theta_(j-1) left there, and to x_(j+1)
            f0, f1, f2, f3, f4, f5, f6, f7, f8 = load9(buf, b + P_X)
            p = (f0, f1 + kz, f2 - ky, f3 - kz, f4, f5 + kx, f6 + ky, f7 - kx, f8)
            e0, e1, e2, e3, e4, e5 = load6(buf, b + COUPLE)
            e0, e1, e2 = e0 * inv_dt - spring, e1 * inv_dt - spring, e2 * inv_dt - spring
            e3, e4, e5 = e3 * inv_dt, e4 * inv_dt, e5 * inv_dt
            q = (e0, e3, e4, e3, e1, e5, e4, e5, e2)
            free = 1.0 - buf[b + PINNED]
            a0, a1, a2, a3, a4, a5 = load6(buf, b + A_X)
            a0, a1, a2, a3, a4, a5 = symmetric_inverse(a0, a1, a2, a3, a4, a5)
            a0, a1, a2, a3, a4, a5 = free * a0, free * a1, free * a2, free * a3, free * a4, free * a5
            store6(buf, b + A_X, a0, a1, a2, a3, a4, a5)
            u = symmetric_times_full(a0, a1, a2, a3, a4, a5, p)
            w = symmetric_times_full(a0, a1, a2, a3, a4, a5, q)
            store9(buf, b + U_X, u)
            store9(buf, b + W_X, w)
            # what x_j leaves on theta_j, between theta_j and x_(j+1), and on x_(j+1)
            t0, t1, t2, t3, t4, t5 = load6(buf, b + A_T)
            l0, l1, l2, l3, l4, l5 = transposed_times_full_symmetric(p, u)
            t0, t1, t2, t3, t4, t5 = t0 - l0, t1 - l1, t2 - l2, t3 - l3, t4 - l4, t5 - l5
            z = transposed_times_full(p, w)
            p = (-z[0], kz - z[1], -ky - z[2], -kz - z[3], -z[4], kx - z[5], ky - z[6], -kx - z[7], -z[8])
            n0, n1, n2, n3, n4, n5 = transposed_times_full_symmetric(q, w)
            # theta_j is coupled to theta_(j+1) by the joint between them
            n = b + STRIDE
            ahead = (1.0 + buf[n + DAMPING] * inv_dt) * buf[n + INV_JOINT]
            bend, extra = ahead * buf[n + BEND], ahead * buf[n + EXTRA_TWIST]
            ox, oy, oz = load3(buf, n + AXIS)
            h3, h4, h5 = -extra * ox * oy, -extra * ox * oz, -extra * oy * oz
            h = (-bend - extra * ox * ox, h3, h4, h3, -bend - extra * oy * oy, h5, h4, h5, -bend - extra * oz * oz)
            t0, t1, t2, t3, t4, t5 = symmetric_inverse(t0, t1, t2, t3, t4, t5)
            store6(buf, b + A_T, t0, t1, t2, t3, t4, t5)
            u = symmetric_times_full(t0, t1, t2, t3, t4, t5, p)
            w = symmetric_times_full(t0, t1, t2, t3, t4, t5, h)
            store9(buf, b + U_T, u)
            store9(buf, b + W_T, w)
            # what both leave on x_(j+1), between it and theta_(j+1), and on theta_(j+1)
            l0, l1, l2, l3, l4, l5 = transposed_times_full_symmetric(p, u)
            subtract6(buf, n + A_X, n0 + l0, n1 + l1, n2 + l2, n3 + l3, n4 + l4, n5 + l5)
            z = transposed_times_full(p, w)
            store9(buf, n + P_X, (-z[0], -z[1], -z[2], -z[3], -z[4], -z[5], -z[6], -z[7], -z[8]))
            l0, l1, l2, l3, l4, l5 = transposed_times_full_symmetric(h, w)
            subtract6(buf, n + A_T, l0, l1, l2, l3, l4, l5)
    for s in range(LANES):
        b = np.uint64(vertices) * STRIDE + s
        a0, a1, a2, a3, a4, a5 = load6(buf, b + A_X)
        a0, a1, a2, a3, a4, a5 = symmetric_inverse(a0, a1, a2, a3, a4, a5)
        store6(buf, b + A_X, a0, a1, a2, a3, a4, a5)


@in_block
def solve_forwards(vertices, buf):
    """Take the right-hand sides from root to tip."""
    for j in range(np.uint64(vertices - 1)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            n = b + STRIDE
            x, y, z = load3(buf, b + R_X)
            a0, a1, a2, a3, a4, a5 = load6(buf, b + A_X)
            yx, yy, yz = symmetric_times_vector(a0, a1, a2, a3, a4, a5, x, y, z)
            store3(buf, b + R_X, yx, yy, yz)
            tx, ty, tz = load3(buf, b + R_T)
            lx, ly, lz = transposed_times_vector(load9(buf, b + U_X), x, y, z)
            tx, ty, tz = tx - lx, ty - ly, tz - lz
            a0, a1, a2, a3, a4, a5 = load6(buf, b + A_T)
            yx, yy, yz = symmetric_times_vector(a0, a1, a2, a3, a4, a5, tx, ty, tz)
            store3(buf, b + R_T, yx, yy, yz)
            mx, my, mz = transposed_times_vector(load9(buf, b + W_X), x, y, z)
            lx, ly, lz = transposed_times_vector(load9(buf, b + U_T), tx, ty, tz)
            subtract3(buf, n + R_X, mx + lx, my + ly, mz + lz)
            lx, ly, lz = transposed_times_vector(load9(buf, b + W_T), tx, ty, tz)
            subtract3(buf, n + R_T, lx, ly, lz)
    for s in range(LANES):
        b = np.uint64(vertices) * STRIDE + s
        x, y, z = load3(buf, b + R_X)
        a0, a1, a2, a3, a4, a5 = load6(buf, b + A_X)
        x, y, z = symmetric_times_vector(a0, a1, a2, a3, a4, a5, x, y, z)
        store3(buf, b + R_X, x, y, z)
        store3(buf, b + R_T, 0.0, 0.0, 0.0)


@in_block
def solve_backwards(vertices, buf):
    """Leave the displacement of every vertex in R_X and the rotation of every segment in R_T.

    Also brings the cut forces along: the multipliers n = k (C + J delta), which carry none of the rounding of a strain
    taken from positions.
    """
    segments = np.uint64(vertices - 1)
    for i in range(segments):
        j = segments - ONE - i
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            n = b + STRIDE
            ex, ey, ez = load3(buf, n + R_X)
            ox, oy, oz = load3(buf, n + R_T)
            yx, yy, yz = load3(buf, b + R_T)
            lx, ly, lz = full_times_vector(load9(buf, b + U_T), ex, ey, ez)
            mx, my, mz = full_times_vector(load9(buf, b + W_T), ox, oy, oz)
            tx, ty, tz = yx - lx - mx, yy - ly - my, yz - lz - mz
            store3(buf, b + R_T, tx, ty, tz)
            yx, yy, yz = load3(buf, b + R_X)
            lx, ly, lz = full_times_vector(load9(buf, b + U_X), tx, ty, tz)
            mx, my, mz = full_times_vector(load9(buf, b + W_X), ex, ey, ez)
            yx, yy, yz = yx - lx - mx, yy - ly - my, yz - lz - mz
            store3(buf, b + R_X, yx, yy, yz)
            dx, dy, dz = load3(buf, b + AXIS)
            gx, gy, gz = cross(dx, dy, dz, tx, ty, tz)
            stretch = buf[b + STRETCH]
            spring = stretch / buf[b + LENGTH]
            nx, ny, nz = load3(buf, b + CUT)
            store3(
                buf,
                b + CUT,
                nx + spring * (ex - yx) + stretch * gx,
                ny + spring * (ey - yy) + stretch * gy,
                nz + spring * (ez - yz) + stretch * gz,
            )
