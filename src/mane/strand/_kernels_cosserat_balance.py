"""Forces and moments of Cosserat rods within a stage, and what its solution does to them."""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.strand._kernels_cosserat_rows import (
    AXIS,
    BEND,
    COUPLE,
    CUT,
    D_T,
    D_X,
    DAMPING,
    DRIFT,
    EXTRA_TWIST,
    FORCE,
    INERTIA,
    INV_JOINT,
    INV_STAGE,
    LENGTH,
    MASS,
    MOMENT,
    ONE,
    PINNED,
    R_T,
    R_X,
    REMAINDER,
    RESIST,
    REST,
    SHARE,
    SPIN,
    STAGE,
    STRETCH,
    STRIDE,
    TENSION,
    Q,
    V,
    X,
    in_block,
    turned,
)
from mane.strand._kernels_small import (
    LANES,
    LANES_3,
    cross,
    in_lanes,
    load3,
    load4,
    load6,
    store3,
    store4,
    subtract3,
    symmetric_times_vector,
    third_axis,
)
from mane.strand._kernels_stage import CALM, PUSHED, RESISTED


@in_block
def choose_stages(vertices, dt, share, buf):
    """Length of each strand's stage: `share` of a calm step, up to all of it; see `_kernels_stage`."""
    for s in range(LANES):
        buf[SHARE + s] = 0.0
    for j in range(np.uint64(vertices)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            free = (1.0 - buf[b + PINNED]) / buf[b + MASS]
            r0, r1, r2, _, _, _ = load6(buf, b + RESIST)
            fx, fy, fz = load3(buf, b + FORCE)
            wx, wy, wz = load3(buf, b + SPIN)
            violence = (dt / RESISTED) * free * (r0 + r1 + r2)
            push = free / PUSHED * math.sqrt(fx * fx + fy * fy + fz * fz)
            violence = push if push > violence else violence
            turn = (dt / CALM) * (dt / CALM) * (wx * wx + wy * wy + wz * wz)
            violence = turn if turn > violence else violence
            largest = buf[SHARE + s]
            buf[SHARE + s] = violence if violence > largest else largest
    for s in range(LANES):
        violence = buf[SHARE + s]
        violence = 1.0 if violence > 1.0 else violence
        part = share + (1.0 - share) * violence
        buf[SHARE + s] = part
        buf[STAGE + s] = part * dt
        buf[INV_STAGE + s] = 1.0 / (part * dt)
        buf[REMAINDER + s] = (1.0 - part) * dt


@in_block
def predict(vertices, buf):
    """Carry vertices, segments and the clamp to the end of the stage by their own motion.

    Notes the tension that segments had, and fills their axes and cut forces.
    """
    for s in range(LANES):
        stage = buf[STAGE + s]
        wx, wy, wz = load3(buf, s + SPIN)
        qx, qy, qz, qw = load4(buf, s + Q)
        store4(buf, s + Q, *turned(qx, qy, qz, qw, stage * wx, stage * wy, stage * wz))
    for j in range(np.uint64(vertices)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            stage = buf[STAGE + s]
            vx, vy, vz = load3(buf, b + V)
            subtract3(buf, b + X, -stage * vx, -stage * vy, -stage * vz)
            store3(buf, b + D_X, 0.0, 0.0, 0.0)
    for j in range(np.uint64(vertices - 1)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            stage = buf[STAGE + s]
            qx, qy, qz, qw = load4(buf, b + Q)
            nx, ny, nz = load3(buf, b + CUT)
            dx, dy, dz = third_axis(qx, qy, qz, qw)
            buf[b + TENSION] = max(nx * dx + ny * dy + nz * dz, 0.0)
            wx, wy, wz = load3(buf, b + SPIN)
            qx, qy, qz, qw = turned(qx, qy, qz, qw, stage * wx, stage * wy, stage * wz)
            store4(buf, b + Q, qx, qy, qz, qw)
            store3(buf, b + D_T, 0.0, 0.0, 0.0)
            dx, dy, dz = third_axis(qx, qy, qz, qw)
            store3(buf, b + AXIS, dx, dy, dz)
            stretch = buf[b + STRETCH]
            spring = stretch / buf[b + LENGTH]
            ax, ay, az = load3(buf, b + X)
            ex, ey, ez = load3(buf, b + STRIDE + X)
            # hsu2024 eq. 1 and 4: C = (x_(j+1) - x_j) / l - d3; what is there called k_ss / l is E A, the force per C
            store3(
                buf,
                b + CUT,
                spring * (ex - ax) - stretch * dx,
                spring * (ey - ay) - stretch * dy,
                spring * (ez - az) - stretch * dz,
            )


@in_lanes
def rotate(qx, qy, qz, qw, x, y, z):
    """Turn a vector by a frame."""
    tx, ty, tz = cross(qx, qy, qz, x, y, z)
    sx, sy, sz = cross(qx, qy, qz, tx, ty, tz)
    return x + 2.0 * (qw * tx + sx), y + 2.0 * (qw * ty + sy), z + 2.0 * (qw * tz + sz)


@in_block
def balance_joints(vertices, buf):
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
            scale = 2.0 * inv_joint
            mx, my, mz = rotate(qx, qy, qz, qw, scale * mx, scale * my, scale * mz)
            # Kelvin-Voigt: time constant x stiffness x rate of the relative rotation
            rate = buf[INV_STAGE + s]
            ox, oy, oz = load3(buf, b - STRIDE + SPIN)
            px, py, pz = load3(buf, b - STRIDE + D_T)
            wx, wy, wz = load3(buf, b + SPIN)
            tx, ty, tz = load3(buf, b + D_T)
            wx, wy, wz = wx - ox + rate * (tx - px), wy - oy + rate * (ty - py), wz - oz + rate * (tz - pz)
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


@in_lanes
def stage_velocity(buf, b, rate):
    """Velocity of a vertex over the stage as far as it is solved."""
    vx, vy, vz = load3(buf, b + V)
    dx, dy, dz = load3(buf, b + D_X)
    return vx + rate * dx, vy + rate * dy, vz + rate * dz


@in_block
def balance_vertices(vertices, gravity, buf):
    """Fill the right-hand sides of the vertices: what acts on them beyond their inertia."""
    for j in range(np.uint64(vertices)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            rate = buf[INV_STAGE + s]
            mass = buf[b + MASS]
            r0, r1, r2, r3, r4, r5 = load6(buf, b + RESIST)
            e0, e1, e2, e3, e4, e5 = load6(buf, b + COUPLE)
            f0, f1, f2, f3, f4, f5 = load6(buf, b - STRIDE + COUPLE)
            vx, vy, vz = stage_velocity(buf, b, rate)
            ux, uy, uz = stage_velocity(buf, b + STRIDE, rate)
            tx, ty, tz = stage_velocity(buf, b - STRIDE, rate)
            rx, ry, rz = symmetric_times_vector(r0, r1, r2, r3, r4, r5, vx, vy, vz)
            ex, ey, ez = symmetric_times_vector(e0, e1, e2, e3, e4, e5, ux, uy, uz)
            fx, fy, fz = symmetric_times_vector(f0, f1, f2, f3, f4, f5, tx, ty, tz)
            nx, ny, nz = load3(buf, b + CUT)
            px, py, pz = load3(buf, b - STRIDE + CUT)
            gx, gy, gz = load3(buf, b + FORCE)
            dx, dy, dz = load3(buf, b + D_X)
            inertia = rate * rate
            store3(
                buf,
                b + R_X,
                gx + mass * (gravity[0] - inertia * dx) - rx - ex - fx + nx - px,
                gy + mass * (gravity[1] - inertia * dy) - ry - ey - fy + ny - py,
                gz + mass * (gravity[2] - inertia * dz) - rz - ez - fz + nz - pz,
            )


@in_block
def balance_segments(vertices, buf):
    """Fill the right-hand sides of the segments."""
    for j in range(np.uint64(vertices - 1)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            rate = buf[INV_STAGE + s]
            length, inertia = buf[b + LENGTH], buf[b + INERTIA] * rate * rate
            # torque of the cut force, hsu2024 eq. 6 as a vector: l d3 x n; and of the joints at either end
            qx, qy, qz, qw = load4(buf, b + Q)
            dx, dy, dz = third_axis(qx, qy, qz, qw)
            nx, ny, nz = load3(buf, b + CUT)
            gx, gy, gz = cross(dx, dy, dz, nx, ny, nz)
            mx, my, mz = load3(buf, b + MOMENT)
            ox, oy, oz = load3(buf, b + STRIDE + MOMENT)
            tx, ty, tz = load3(buf, b + D_T)
            store3(
                buf,
                b + R_T,
                length * gx - mx + ox - inertia * tx,
                length * gy - my + oy - inertia * ty,
                length * gz - mz + oz - inertia * tz,
            )


@in_lanes
def drift_share(buf, s):
    """One over the mass of a strand that nothing holds, zero where something does."""
    return (1.0 - buf[STRIDE + PINNED + s]) / (buf[DRIFT + LANES_3 + s] + buf[STRIDE + MASS + s])


@in_block
def take_solution(vertices, buf):
    """Turn the segments by the solution and lay the vertices along them.

    Each segment gets the length and direction that its cut force demands, x_(j+1) = x_j + l (d3 + n / k), where the
    linearised solution would leave it too long by the square of its rotation. So lengths hold at any size of step, and
    no energy goes into stretching by mistake. A strand that nothing holds keeps its centre of mass.
    """
    for s in range(LANES):
        store4(buf, DRIFT + s, 0.0, 0.0, 0.0, 0.0)
        b = STRIDE + s
        x, y, z = load3(buf, b + R_X)
        subtract3(buf, b + X, -x, -y, -z)
        subtract3(buf, b + D_X, -x, -y, -z)
    for j in range(np.uint64(vertices - 1)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            tx, ty, tz = load3(buf, b + R_T)
            subtract3(buf, b + D_T, -tx, -ty, -tz)
            qx, qy, qz, qw = load4(buf, b + Q)
            qx, qy, qz, qw = turned(qx, qy, qz, qw, tx, ty, tz)
            store4(buf, b + Q, qx, qy, qz, qw)
            dx, dy, dz = third_axis(qx, qy, qz, qw)
            nx, ny, nz = load3(buf, b + CUT)
            length, soft = buf[b + LENGTH], 1.0 / buf[b + STRETCH]
            n = b + STRIDE
            x, y, z = load3(buf, b + X)
            ex, ey, ez = load3(buf, n + X)
            x, y, z = x + length * (dx + soft * nx), y + length * (dy + soft * ny), z + length * (dz + soft * nz)
            store3(buf, n + X, x, y, z)
            x, y, z = x - ex, y - ey, z - ez
            subtract3(buf, n + D_X, -x, -y, -z)
            lx, ly, lz = load3(buf, n + R_X)
            mass = buf[n + MASS]
            subtract3(buf, DRIFT + s, mass * (x - lx), mass * (y - ly), mass * (z - lz))
            buf[DRIFT + LANES_3 + s] += mass
    for j in range(np.uint64(vertices)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            free = drift_share(buf, s)
            lx, ly, lz = load3(buf, DRIFT + s)
            subtract3(buf, b + X, -free * lx, -free * ly, -free * lz)
            subtract3(buf, b + D_X, -free * lx, -free * ly, -free * lz)


@in_block
def go_on(vertices, buf):
    """Go on from the stage to the end of the step with its velocities, vertices laid along their segments again."""
    for s in range(LANES):
        store3(buf, DRIFT + s, 0.0, 0.0, 0.0)
    for j in range(np.uint64(vertices)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            rate, part, rest = buf[INV_STAGE + s], 1.0 / buf[SHARE + s], buf[REMAINDER + s]
            dx, dy, dz = load3(buf, b + D_X)
            dx, dy, dz = rate * dx, rate * dy, rate * dz
            vx, vy, vz = load3(buf, b + V)
            store3(buf, b + V, vx + part * dx, vy + part * dy, vz + part * dz)
            subtract3(buf, b + X, -rest * (vx + dx), -rest * (vy + dy), -rest * (vz + dz))
    for j in range(np.uint64(vertices - 1)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            n = b + STRIDE
            rate, part, rest = buf[INV_STAGE + s], 1.0 / buf[SHARE + s], buf[REMAINDER + s]
            tx, ty, tz = load3(buf, b + D_T)
            tx, ty, tz = rate * tx, rate * ty, rate * tz
            wx, wy, wz = load3(buf, b + SPIN)
            qx, qy, qz, qw = load4(buf, b + Q)
            qx, qy, qz, qw = turned(qx, qy, qz, qw, rest * (wx + tx), rest * (wy + ty), rest * (wz + tz))
            store4(buf, b + Q, qx, qy, qz, qw)
            dx, dy, dz = third_axis(qx, qy, qz, qw)
            nx, ny, nz = load3(buf, b + CUT)
            length, soft = buf[b + LENGTH], 1.0 / buf[b + STRETCH]
            x, y, z = load3(buf, b + X)
            ex, ey, ez = load3(buf, n + X)
            x, y, z = x + length * (dx + soft * nx), y + length * (dy + soft * ny), z + length * (dz + soft * nz)
            store3(buf, n + X, x, y, z)
            mass = buf[n + MASS]
            subtract3(buf, DRIFT + s, mass * (x - ex), mass * (y - ey), mass * (z - ez))
            # The spin across a segment is that of its ends, the spin about it is its own.
            along = (wx + part * tx) * dx + (wy + part * ty) * dy + (wz + part * tz) * dz
            vx, vy, vz = load3(buf, b + V)
            ux, uy, uz = load3(buf, n + V)
            inv = 1.0 / length
            ox, oy, oz = cross(dx, dy, dz, inv * (ux - vx), inv * (uy - vy), inv * (uz - vz))
            store3(buf, b + SPIN, ox + along * dx, oy + along * dy, oz + along * dz)
    for j in range(np.uint64(vertices)):
        for s in range(LANES):
            b = (j + ONE) * STRIDE + s
            free = drift_share(buf, s)
            lx, ly, lz = load3(buf, DRIFT + s)
            subtract3(buf, b + X, -free * lx, -free * ly, -free * lz)
