"""One implicit step of Cosserat rods: the constraints of a whole strand solved at once, from root to tip and back.

Unknowns of a strand, in the order of elimination, three numbers each:

    x_0, theta_0, x_1, theta_1, ... x_N        x: displacement of a vertex, theta: small world rotation of a segment

A vertex meets its two segments and its neighbours, a segment meets its neighbours: each unknown is coupled to the next
two only, so the matrix is block-pentadiagonal with 3 x 3 blocks and the solve takes O(vertices). Eight strands go side
by side in lanes of one flat buffer, and `buf[row + lane]` is the only kind of access in an inner loop, which is what
lets LLVM vectorise it. A row of zeros before the root and one behind the tip stand in for neighbours that are not
there. `_reference_cosserat` is the same step with a dense matrix.
"""

# mypy: allow-untyped-defs

import math

import numpy as np
from numba import njit, prange

from mane.geometry._kernels_quaternion import quat_between, quat_multiply
from mane.strand._kernels_small import (
    FASTMATH,
    LANE_COUNT,
    LANES,
    LANES_3,
    cross,
    full_times_vector,
    in_lanes,
    load3,
    load4,
    load6,
    load9,
    rows,
    store3,
    store4,
    store6,
    store9,
    subtract3,
    subtract6,
    symmetric_inverse,
    symmetric_times_full,
    symmetric_times_vector,
    third_axis,
    transposed_times_full,
    transposed_times_full_symmetric,
    transposed_times_vector,
)

# Rows of the buffer, per vertex; joint and segment j share vertex j. State, load, what is evaluated, the matrix, its
# factors, and the constants of the strand, which are copied here because a second array would need checks for overlap.
X, V, Q, SPIN, FORCE, RESIST, COUPLE = rows(3, 3, 4, 3, 3, 6, 6)
TENSION, AXIS, CUT, MOMENT = rows(1, 3, 3, 3, start=28)
A_X, B_X, P_X, A_T, B_T = rows(6, 3, 9, 6, 3, start=38)
U_X, W_X, U_T, W_T, Y_X, Y_T = rows(9, 9, 9, 9, 3, 3, start=65)
CONSTANTS = ("mass", "pinned", "stretch", "length", "springs", "bend", "extra_twist", "inv_joint", "damping", "inertia")
CONSTANT_ROWS = len(CONSTANTS) + 4  # and the rest rotation of the joint
(FIRST_CONSTANT,) = rows(CONSTANT_ROWS, start=107)
MASS, PINNED, STRETCH, LENGTH, SPRINGS, BEND, EXTRA_TWIST, INV_JOINT, DAMPING, INERTIA, REST = rows(
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, start=107
)
SCRATCH_ROWS = 107 + CONSTANT_ROWS
STRIDE = LANES * np.uint64(SCRATCH_ROWS)
DRIFT = Y_X  # of the row before the root, which is no vertex: how far the centre of mass is off, and the mass
ONE = np.uint64(1)


@in_lanes
def turned(qx, qy, qz, qw, wx, wy, wz):
    """Turn a frame by a rotation vector [rad]; right to 1e-6 rad below half a radian, and of unit length at any."""
    # The quaternion is (tan(h) axis, 1) before it is scaled to length one, h = half the angle: no sine in the lanes.
    hh = 0.25 * (wx * wx + wy * wy + wz * wz)
    scale = 0.5 * (1.0 + hh * (1.0 / 3.0 + hh * (2.0 / 15.0 + hh * (17.0 / 315.0))))
    x, y, z = wx * scale, wy * scale, wz * scale
    rx = qx + x * qw + y * qz - z * qy
    ry = qy - x * qz + y * qw + z * qx
    rz = qz + x * qy - y * qx + z * qw
    rw = qw - x * qx - y * qy - z * qz
    inv = 1.0 / math.sqrt(rx * rx + ry * ry + rz * rz + rw * rw)
    return rx * inv, ry * inv, rz * inv, rw * inv


@njit(cache=True, error_model="numpy")
def load_lanes(points, velocity, frames, spin, cut_force, force, resistance, coupling, roots, pinned, first, dt, buf):
    """Copy eight strands into the buffer, carried to the end of the step by their own motion."""
    strands, vertices = points.shape[0], points.shape[1]
    for j in range(vertices):
        for lane in range(LANE_COUNT):
            g = min(first + lane, strands - 1)  # spare lanes repeat the last strand
            base = np.uint64(j + 1) * STRIDE + np.uint64(lane)
            for a in range(3):
                row = np.uint64(a) * LANES
                v = velocity[g, j, a]
                if j == 0 and pinned[g]:
                    v = (roots[g, a] - points[g, j, a]) / dt
                buf[base + X + row] = points[g, j, a] + dt * v
                buf[base + V + row] = v
                buf[base + FORCE + row] = force[g, j, a]
            for a in range(6):
                buf[base + RESIST + np.uint64(a) * LANES] = resistance[g, j, a]
    for j in range(vertices - 1):
        for lane in range(LANE_COUNT):
            g = min(first + lane, strands - 1)
            base = np.uint64(j + 1) * STRIDE + np.uint64(lane)
            for a in range(3):
                row = np.uint64(a) * LANES
                buf[base + SPIN + row] = spin[g, j, a]
                buf[base + CUT + row] = cut_force[g, j, a]
            for a in range(4):
                buf[base + Q + np.uint64(a) * LANES] = frames[g, j, a]
            for a in range(6):
                buf[base + COUPLE + np.uint64(a) * LANES] = coupling[g, j, a]


@njit(cache=True, error_model="numpy")
def load_constants(constants, buf):
    """Copy the constants of eight strands, (V + 1, rows of lanes), into the buffer."""
    for j in range(constants.shape[0]):
        base = np.uint64(j + 1) * STRIDE + FIRST_CONSTANT
        for k in range(constants.shape[1]):
            buf[base + np.uint64(k)] = constants[j, k]


@njit(cache=True, error_model="numpy")
def load_clamp(clamp, clamp_spin, first, buf):
    """Copy the clamps' frames and spins into the row before the root, where joint 0 looks for its predecessor."""
    for lane in range(LANE_COUNT):
        g = min(first + lane, clamp.shape[0] - 1)
        for a in range(4):
            buf[Q + np.uint64(a) * LANES + np.uint64(lane)] = clamp[g, a]
        for a in range(3):
            buf[SPIN + np.uint64(a) * LANES + np.uint64(lane)] = clamp_spin[g, a]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def predict_segments(vertices, dt, buf):
    """Turn every segment to the end of the step by its own spin, and note the tension that it had."""
    for j in range(np.uint64(vertices - 1)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            qx, qy, qz, qw = load4(buf, b + Q)
            nx, ny, nz = load3(buf, b + CUT)
            dx, dy, dz = third_axis(qx, qy, qz, qw)
            buf[b + TENSION] = max(nx * dx + ny * dy + nz * dz, 0.0)
            wx, wy, wz = load3(buf, b + SPIN)
            qx, qy, qz, qw = turned(qx, qy, qz, qw, dt * wx, dt * wy, dt * wz)
            store4(buf, b + Q, qx, qy, qz, qw)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def evaluate_segments(vertices, buf):
    """Fill the axis and the cut force of every segment."""
    for j in range(np.uint64(vertices - 1)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            qx, qy, qz, qw = load4(buf, b + Q)
            dx, dy, dz = third_axis(qx, qy, qz, qw)
            stretch = buf[b + STRETCH]
            inv_length = 1.0 / buf[b + LENGTH]
            ax, ay, az = load3(buf, b + X)
            ex, ey, ez = load3(buf, b + STRIDE + X)
            # hsu2024 eq. 1 and 4: C = (x_(j+1) - x_j) / l - d3; what is there called k_ss / l is E A, the force per C
            store3(buf, b + AXIS, dx, dy, dz)
            store3(
                buf,
                b + CUT,
                stretch * ((ex - ax) * inv_length - dx),
                stretch * ((ey - ay) * inv_length - dy),
                stretch * ((ez - az) * inv_length - dz),
            )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def evaluate_joints(vertices, buf):
    """Fill the moment that every joint carries, elastic and viscous, in world axes."""
    for j in range(np.uint64(vertices - 1)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            ax, ay, az, aw = load4(buf, b - STRIDE + Q)
            qx, qy, qz, qw = load4(buf, b + Q)
            # conj(q_a) q_b
            rx = aw * qx - ax * qw - ay * qz + az * qy
            ry = aw * qy + ax * qz - ay * qw - az * qx
            rz = aw * qz - ax * qy + ay * qx - az * qw
            rw = aw * qw + ax * qx + ay * qy + az * qz
            ux, uy, uz, uw = load4(buf, b + REST)
            # conj(q0) conj(q_a) q_b: hsu2024 eq. 2 seen from the rest frame, where it is (v, w - 1)
            vx = uw * rx - ux * rw - uy * rz + uz * ry
            vy = uw * ry + ux * rz - uy * rw - uz * rx
            vz = uw * rz - ux * ry + uy * rx - uz * rw
            vw = uw * rw + ux * rx + uy * ry + uz * rz
            phi = math.copysign(1.0, vw)  # hsu2024 eq. 3
            vx, vy, vz, vw = phi * vx, phi * vy, phi * vz, phi * vw
            bend, extra = buf[b + BEND], buf[b + EXTRA_TWIST]
            inv_joint = buf[b + INV_JOINT]
            # gradient of (4 EI / L) (1 - w) + (2 (GJ - EI) / L) v_z^2: hsu2024 eq. 7 and 8 with k_bt = 4 EI / L, and
            # the difference between the stiffness of twisting and bending
            mx = bend * vx - extra * vz * vy
            my = bend * vy + extra * vz * vx
            mz = bend * vz + extra * vz * vw
            tx, ty, tz = cross(qx, qy, qz, mx, my, mz)
            sx, sy, sz = cross(qx, qy, qz, tx, ty, tz)
            scale = 2.0 * inv_joint
            mx = scale * (mx + 2.0 * (qw * tx + sx))
            my = scale * (my + 2.0 * (qw * ty + sy))
            mz = scale * (mz + 2.0 * (qw * tz + sz))
            # Kelvin-Voigt: time constant x stiffness x rate of the relative rotation
            ox, oy, oz = load3(buf, b - STRIDE + SPIN)
            wx, wy, wz = load3(buf, b + SPIN)
            wx, wy, wz = wx - ox, wy - oy, wz - oz
            dx, dy, dz = load3(buf, b + AXIS)
            viscous = buf[b + DAMPING] * inv_joint
            along = extra * (wx * dx + wy * dy + wz * dz)
            store3(
                buf,
                b + MOMENT,
                mx + viscous * (bend * wx + along * dx),
                my + viscous * (bend * wy + along * dy),
                mz + viscous * (bend * wz + along * dz),
            )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def assemble_vertices(vertices, gravity, dt, buf):
    """Fill the diagonal blocks and right-hand sides of the vertices."""
    inv_dt = 1.0 / dt
    for j in range(np.uint64(vertices)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            mass = buf[b + MASS]
            r0, r1, r2, r3, r4, r5 = load6(buf, b + RESIST)
            e0, e1, e2, e3, e4, e5 = load6(buf, b + COUPLE)
            f0, f1, f2, f3, f4, f5 = load6(buf, b - STRIDE + COUPLE)
            vx, vy, vz = load3(buf, b + V)
            ux, uy, uz = load3(buf, b + STRIDE + V)
            tx, ty, tz = load3(buf, b - STRIDE + V)
            rx, ry, rz = symmetric_times_vector(r0, r1, r2, r3, r4, r5, vx, vy, vz)
            ex, ey, ez = symmetric_times_vector(e0, e1, e2, e3, e4, e5, ux, uy, uz)
            fx, fy, fz = symmetric_times_vector(f0, f1, f2, f3, f4, f5, tx, ty, tz)
            nx, ny, nz = load3(buf, b + CUT)
            px, py, pz = load3(buf, b - STRIDE + CUT)
            gx, gy, gz = load3(buf, b + FORCE)
            store3(
                buf,
                b + B_X,
                gx + mass * gravity[0] - rx - ex - fx + nx - px,
                gy + mass * gravity[1] - ry - ey - fy + ny - py,
                gz + mass * gravity[2] - rz - ez - fz + nz - pz,
            )
            diagonal = mass * inv_dt * inv_dt + buf[b + SPRINGS]
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


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def assemble_segments(vertices, dt, buf):
    """Fill the diagonal blocks and right-hand sides of the segments."""
    inv_dt = 1.0 / dt
    for j in range(np.uint64(vertices - 1)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            n = b + STRIDE
            length = buf[b + LENGTH]
            dx, dy, dz = load3(buf, b + AXIS)
            tx, ty, tz = load3(buf, b + STRIDE + AXIS)
            # k l (I - d d^T) of stretch and shear, with the geometric stiffness of the tension beside it
            shear = (buf[b + STRETCH] + buf[b + TENSION]) * length
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
            # torque of the cut force, hsu2024 eq. 6 as a vector: l d3 x n; and of the joints at either end
            nx, ny, nz = load3(buf, b + CUT)
            gx, gy, gz = cross(dx, dy, dz, nx, ny, nz)
            mx, my, mz = load3(buf, b + MOMENT)
            ox, oy, oz = load3(buf, b + STRIDE + MOMENT)
            store3(buf, b + B_T, length * gx - mx + ox, length * gy - my + oy, length * gz - mz + oz)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def eliminate(vertices, dt, buf):
    """Forward pass: x_j and theta_j of every segment in turn, then the tip; keeps what the way back needs."""
    inv_dt = 1.0 / dt
    for s in range(LANES):
        store9(buf, STRIDE + P_X + s, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for j in range(np.uint64(vertices - 1)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
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
            bx, by, bz = load3(buf, b + B_X)
            u = symmetric_times_full(a0, a1, a2, a3, a4, a5, p)
            w = symmetric_times_full(a0, a1, a2, a3, a4, a5, q)
            yx, yy, yz = symmetric_times_vector(a0, a1, a2, a3, a4, a5, bx, by, bz)
            store9(buf, b + U_X, u)
            store9(buf, b + W_X, w)
            store3(buf, b + Y_X, yx, yy, yz)
            # what x_j leaves on theta_j, between theta_j and x_(j+1), and on x_(j+1)
            t0, t1, t2, t3, t4, t5 = load6(buf, b + A_T)
            l0, l1, l2, l3, l4, l5 = transposed_times_full_symmetric(p, u)
            t0, t1, t2, t3, t4, t5 = t0 - l0, t1 - l1, t2 - l2, t3 - l3, t4 - l4, t5 - l5
            z = transposed_times_full(p, w)
            p = (-z[0], kz - z[1], -ky - z[2], -kz - z[3], -z[4], kx - z[5], ky - z[6], -kx - z[7], -z[8])
            tx, ty, tz = load3(buf, b + B_T)
            lx, ly, lz = transposed_times_vector(u, bx, by, bz)
            tx, ty, tz = tx - lx, ty - ly, tz - lz
            n0, n1, n2, n3, n4, n5 = transposed_times_full_symmetric(q, w)
            mx, my, mz = transposed_times_vector(q, yx, yy, yz)
            # theta_j is coupled to theta_(j+1) by the joint between them
            n = b + STRIDE
            ahead = (1.0 + buf[n + DAMPING] * inv_dt) * buf[n + INV_JOINT]
            bend, extra = ahead * buf[n + BEND], ahead * buf[n + EXTRA_TWIST]
            ox, oy, oz = load3(buf, b + STRIDE + AXIS)
            h3, h4, h5 = -extra * ox * oy, -extra * ox * oz, -extra * oy * oz
            h = (-bend - extra * ox * ox, h3, h4, h3, -bend - extra * oy * oy, h5, h4, h5, -bend - extra * oz * oz)
            t0, t1, t2, t3, t4, t5 = symmetric_inverse(t0, t1, t2, t3, t4, t5)
            u = symmetric_times_full(t0, t1, t2, t3, t4, t5, p)
            w = symmetric_times_full(t0, t1, t2, t3, t4, t5, h)
            yx, yy, yz = symmetric_times_vector(t0, t1, t2, t3, t4, t5, tx, ty, tz)
            store9(buf, b + U_T, u)
            store9(buf, b + W_T, w)
            store3(buf, b + Y_T, yx, yy, yz)
            # what both leave on x_(j+1), between it and theta_(j+1), and on theta_(j+1)
            l0, l1, l2, l3, l4, l5 = transposed_times_full_symmetric(p, u)
            subtract6(buf, b + STRIDE + A_X, n0 + l0, n1 + l1, n2 + l2, n3 + l3, n4 + l4, n5 + l5)
            lx, ly, lz = transposed_times_vector(p, yx, yy, yz)
            subtract3(buf, b + STRIDE + B_X, mx + lx, my + ly, mz + lz)
            z = transposed_times_full(p, w)
            store9(buf, b + STRIDE + P_X, (-z[0], -z[1], -z[2], -z[3], -z[4], -z[5], -z[6], -z[7], -z[8]))
            l0, l1, l2, l3, l4, l5 = transposed_times_full_symmetric(h, w)
            subtract6(buf, b + STRIDE + A_T, l0, l1, l2, l3, l4, l5)
            lx, ly, lz = transposed_times_vector(h, yx, yy, yz)
            subtract3(buf, b + STRIDE + B_T, lx, ly, lz)
    for s in range(LANES):
        b = np.uint64(vertices) * STRIDE + s
        a0, a1, a2, a3, a4, a5 = load6(buf, b + A_X)
        a0, a1, a2, a3, a4, a5 = symmetric_inverse(a0, a1, a2, a3, a4, a5)
        bx, by, bz = load3(buf, b + B_X)
        yx, yy, yz = symmetric_times_vector(a0, a1, a2, a3, a4, a5, bx, by, bz)
        store3(buf, b + Y_X, yx, yy, yz)
        store3(buf, b + Y_T, 0.0, 0.0, 0.0)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def substitute_back(vertices, buf):
    """Backward pass: leaves the displacement of every vertex in Y_X and the rotation of every segment in Y_T.

    Also brings the cut force to the end of the step: the multiplier n = k (C + J delta), which carries none of the
    rounding of a strain taken from positions.
    """
    segments = np.uint64(vertices - 1)
    for i in range(segments):
        j = segments - ONE - i
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            ex, ey, ez = load3(buf, b + STRIDE + Y_X)
            ox, oy, oz = load3(buf, b + STRIDE + Y_T)
            yx, yy, yz = load3(buf, b + Y_T)
            lx, ly, lz = full_times_vector(load9(buf, b + U_T), ex, ey, ez)
            mx, my, mz = full_times_vector(load9(buf, b + W_T), ox, oy, oz)
            tx, ty, tz = yx - lx - mx, yy - ly - my, yz - lz - mz
            store3(buf, b + Y_T, tx, ty, tz)
            yx, yy, yz = load3(buf, b + Y_X)
            lx, ly, lz = full_times_vector(load9(buf, b + U_X), tx, ty, tz)
            mx, my, mz = full_times_vector(load9(buf, b + W_X), ex, ey, ez)
            yx, yy, yz = yx - lx - mx, yy - ly - my, yz - lz - mz
            store3(buf, b + Y_X, yx, yy, yz)
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


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def apply_solution(vertices, dt, buf):
    """Turn the predicted segments by the solution and lay the vertices along them.

    Each segment gets the length and direction that its cut force demands, x_(j+1) = x_j + l (d3 + n / k), where the
    linearised solution would leave it too long by the square of its rotation. So lengths hold at any size of step, and
    no energy goes into stretching by mistake.
    """
    inv_dt = 1.0 / dt
    for s in range(LANES):
        store4(buf, DRIFT + s, 0.0, 0.0, 0.0, 0.0)
    for j in range(np.uint64(vertices - 1)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            tx, ty, tz = load3(buf, b + Y_T)
            subtract3(buf, b + SPIN, -tx * inv_dt, -ty * inv_dt, -tz * inv_dt)
            qx, qy, qz, qw = load4(buf, b + Q)
            qx, qy, qz, qw = turned(qx, qy, qz, qw, tx, ty, tz)
            store4(buf, b + Q, qx, qy, qz, qw)
            dx, dy, dz = third_axis(qx, qy, qz, qw)
            nx, ny, nz = load3(buf, b + CUT)
            length = buf[b + LENGTH]
            soft = 1.0 / buf[b + STRETCH]
            # where the far end goes, as a step from where it was predicted
            n = b + STRIDE
            x, y, z = load3(buf, b + X)
            ex, ey, ez = load3(buf, n + X)
            yx, yy, yz = load3(buf, b + Y_X)
            yx = x + yx + length * (dx + soft * nx) - ex
            yy = y + yy + length * (dy + soft * ny) - ey
            yz = z + yz + length * (dz + soft * nz) - ez
            lx, ly, lz = load3(buf, n + Y_X)
            store3(buf, n + Y_X, yx, yy, yz)
            mass = buf[n + MASS]
            subtract3(buf, DRIFT + s, mass * (yx - lx), mass * (yy - ly), mass * (yz - lz))
            buf[DRIFT + LANES_3 + s] += mass
    for s in range(LANES):  # a strand that nothing holds keeps its centre of mass
        free = (1.0 - buf[STRIDE + PINNED + s]) / (buf[DRIFT + LANES_3 + s] + buf[STRIDE + MASS + s])
        lx, ly, lz = load3(buf, DRIFT + s)
        store3(buf, DRIFT + s, free * lx, free * ly, free * lz)
    for j in range(np.uint64(vertices)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            lx, ly, lz = load3(buf, DRIFT + s)
            yx, yy, yz = load3(buf, b + Y_X)
            yx, yy, yz = yx + lx, yy + ly, yz + lz
            subtract3(buf, b + X, -yx, -yy, -yz)
            subtract3(buf, b + V, -yx * inv_dt, -yy * inv_dt, -yz * inv_dt)


@njit(cache=True, error_model="numpy")
def store_lanes(
    buf,
    first,
    # out
    points,
    velocity,
    frames,
    spin,
    cut_force,
):
    """Copy eight strands out of the buffer."""
    strands, vertices = points.shape[0], points.shape[1]
    for j in range(vertices):
        for lane in range(min(LANE_COUNT, strands - first)):
            g = first + lane
            base = np.uint64(j + 1) * STRIDE + np.uint64(lane)
            for a in range(3):
                row = np.uint64(a) * LANES
                points[g, j, a] = buf[base + X + row]
                velocity[g, j, a] = buf[base + V + row]
            if j < vertices - 1:
                for a in range(3):
                    row = np.uint64(a) * LANES
                    spin[g, j, a] = buf[base + SPIN + row]
                    cut_force[g, j, a] = buf[base + CUT + row]
                for a in range(4):
                    frames[g, j, a] = buf[base + Q + np.uint64(a) * LANES]


@njit(cache=True, error_model="numpy")
def adopt_strands(
    points,
    velocity,
    strands,
    # out
    frames,
    spin,
):
    """Turn the segments of masked strands to their vertices; spin across a segment follows, spin about it stays."""
    for g in range(len(points)):
        if not strands[g]:
            continue
        for j in range(points.shape[1] - 1):
            tx, ty, tz = points[g, j + 1] - points[g, j]
            inv = 1.0 / math.sqrt(max(tx * tx + ty * ty + tz * tz, 1e-300))
            tx, ty, tz = tx * inv, ty * inv, tz * inv
            q = frames[g, j]
            dx, dy, dz = third_axis(q[0], q[1], q[2], q[3])
            x, y, z, w = quat_between(dx, dy, dz, tx, ty, tz)
            x, y, z, w = quat_multiply(x, y, z, w, q[0], q[1], q[2], q[3])
            length = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
            q[0], q[1], q[2], q[3] = x * length, y * length, z * length, w * length
            vx, vy, vz = velocity[g, j + 1] - velocity[g, j]
            ox, oy, oz = cross(tx, ty, tz, vx * inv, vy * inv, vz * inv)
            o = spin[g, j]
            along = o[0] * tx + o[1] * ty + o[2] * tz
            o[0], o[1], o[2] = ox + along * tx, oy + along * ty, oz + along * tz


@njit(cache=True, error_model="numpy")
def move_clamps(
    rotations,
    rest,
    before,
    dt,
    # out
    clamp,
    spin,
):
    """Frames of the clamps on turned roots (G, 4), and the steady spin (G, 3) that takes them there within dt."""
    for g in range(len(rotations)):
        ax, ay, az, aw = rotations[g, 0], rotations[g, 1], rotations[g, 2], rotations[g, 3]
        bx, by, bz, bw = quat_multiply(ax, ay, az, aw, rest[g, 0], rest[g, 1], rest[g, 2], rest[g, 3])
        clamp[g, 0], clamp[g, 1], clamp[g, 2], clamp[g, 3] = bx, by, bz, bw
        x, y, z, w = quat_multiply(bx, by, bz, bw, -before[g, 0], -before[g, 1], -before[g, 2], before[g, 3])
        sine = math.sqrt(x * x + y * y + z * z)
        angle = 2.0 * math.atan2(sine, abs(w))
        scale = math.copysign(angle / sine if sine > 1e-12 else 2.0, w) / dt
        spin[g, 0], spin[g, 1], spin[g, 2] = scale * x, scale * y, scale * z


@njit(cache=True, error_model="numpy", parallel=True)
def step_direct(
    points,
    velocity,
    frames,
    spin,
    cut_force,
    force,
    resistance,
    coupling,
    roots,
    clamp,
    clamp_spin,
    pinned,
    constants,
    gravity,
    dt,
    scratch,
    # out
    points_out,
    velocity_out,
    frames_out,
    spin_out,
    cut_force_out,
):
    """One step of all strands; `constants` (blocks, V + 1, CONSTANT_ROWS * LANES), `scratch` one row per thread."""
    vertices = points.shape[1]
    blocks = constants.shape[0]
    threads = scratch.shape[0]
    for thread in prange(threads):
        buf = scratch[thread]
        for block in range(thread, blocks, threads):
            first = block * LANE_COUNT
            load_lanes(
                points, velocity, frames, spin, cut_force, force, resistance, coupling, roots, pinned, first, dt, buf
            )
            load_constants(constants[block], buf)
            load_clamp(clamp, clamp_spin, first, buf)
            predict_segments(vertices, dt, buf)
            evaluate_segments(vertices, buf)
            evaluate_joints(vertices, buf)
            assemble_vertices(vertices, gravity, dt, buf)
            assemble_segments(vertices, dt, buf)
            eliminate(vertices, dt, buf)
            substitute_back(vertices, buf)
            apply_solution(vertices, dt, buf)
            store_lanes(buf, first, points_out, velocity_out, frames_out, spin_out, cut_force_out)
