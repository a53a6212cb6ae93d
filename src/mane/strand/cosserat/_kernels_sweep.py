"""The same Cosserat constraints one at a time: the Gauss-Seidel sweeps of position-based dynamics, to compare with.

Each constraint is solved for its own multiplier with everything else held still (Macklin et al. 2016 for the
compliance, Kugelstadt and Schoemer 2016 for the rods), bend-twist and stretch-shear in turn from root to tip. A segment
turns with the inertia of a thin rod, as is usual there: with that of its thin section the sweeps would hardly move it.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange
from mane.strand._kernels_small import cross, symmetric_inverse, symmetric_times_vector, third_axis
from mane.strand.cosserat._kernels_rows import turn_clamp, turned


@njit(cache=True, error_model="numpy")
def solve_stretch_shear(points, frames, multiplier, j, inverse, inv_inertia, stiffness, length, dt):
    """hsu2024 eq. 1: C = (x_(j+1) - x_j) / l - d3, with the compliance of E A over the length of the segment."""
    dx, dy, dz = third_axis(frames[j, 0], frames[j, 1], frames[j, 2], frames[j, 3])
    cx = (points[j + 1, 0] - points[j, 0]) / length - dx
    cy = (points[j + 1, 1] - points[j, 1]) / length - dy
    cz = (points[j + 1, 2] - points[j, 2]) / length - dz
    compliance = 1.0 / (stiffness * length * dt * dt)
    inv_l2 = 1.0 / (length * length)
    # [d]x^T [d]x = I - d d^T: what the turning of the segment gives way
    a, b = inverse[j], inverse[j + 1]
    i0, i1, i2, i3, i4, i5 = symmetric_inverse(
        (a[0] + b[0]) * inv_l2 + inv_inertia * (1.0 - dx * dx) + compliance,
        (a[1] + b[1]) * inv_l2 + inv_inertia * (1.0 - dy * dy) + compliance,
        (a[2] + b[2]) * inv_l2 + inv_inertia * (1.0 - dz * dz) + compliance,
        (a[3] + b[3]) * inv_l2 - inv_inertia * dx * dy,
        (a[4] + b[4]) * inv_l2 - inv_inertia * dx * dz,
        (a[5] + b[5]) * inv_l2 - inv_inertia * dy * dz,
    )
    rx = -cx - compliance * multiplier[j, 0]
    ry = -cy - compliance * multiplier[j, 1]
    rz = -cz - compliance * multiplier[j, 2]
    lx, ly, lz = symmetric_times_vector(i0, i1, i2, i3, i4, i5, rx, ry, rz)
    multiplier[j, 0] += lx
    multiplier[j, 1] += ly
    multiplier[j, 2] += lz
    px, py, pz = symmetric_times_vector(b[0], b[1], b[2], b[3], b[4], b[5], lx, ly, lz)
    points[j + 1, 0] += px / length
    points[j + 1, 1] += py / length
    points[j + 1, 2] += pz / length
    px, py, pz = symmetric_times_vector(a[0], a[1], a[2], a[3], a[4], a[5], lx, ly, lz)
    points[j, 0] -= px / length
    points[j, 1] -= py / length
    points[j, 2] -= pz / length
    tx, ty, tz = cross(lx, ly, lz, dx, dy, dz)  # [d]x^T lambda = lambda x d
    turn(frames, j, inv_inertia * tx, inv_inertia * ty, inv_inertia * tz)


@njit(cache=True, error_model="numpy")
def turn(frames, j, x, y, z):
    """Turn one segment by a small rotation vector."""
    q = frames[j]
    q[0], q[1], q[2], q[3] = turned(q[0], q[1], q[2], q[3], x, y, z)


@njit(cache=True, error_model="numpy")
def solve_bend_twist(frames, before, multiplier, j, rest, inv_before, inv_after, bend, twist, joint, dt):
    """hsu2024 eq. 2 and 3 as a rotation vector: twice the imaginary part of the deviation from rest, along the axes of
    the segment after the joint; compliance L / EI across and L / GJ along it."""
    ax, ay, az, aw = before[0], before[1], before[2], before[3]
    qx, qy, qz, qw = frames[j, 0], frames[j, 1], frames[j, 2], frames[j, 3]
    rx = aw * qx - ax * qw - ay * qz + az * qy
    ry = aw * qy + ax * qz - ay * qw - az * qx
    rz = aw * qz - ax * qy + ay * qx - az * qw
    rw = aw * qw + ax * qx + ay * qy + az * qz
    ux, uy, uz, uw = rest[0], rest[1], rest[2], rest[3]
    vx = uw * rx - ux * rw - uy * rz + uz * ry
    vy = uw * ry + ux * rz - uy * rw - uz * rx
    vz = uw * rz - ux * ry + uy * rx - uz * rw
    vw = uw * rw + ux * rx + uy * ry + uz * rz
    phi = 1.0 if vw >= 0.0 else -1.0
    weight = inv_before + inv_after
    across, along = joint / (bend * dt * dt), joint / (twist * dt * dt)
    lx = (-2.0 * phi * vx - across * multiplier[j, 0]) / (weight + across)
    ly = (-2.0 * phi * vy - across * multiplier[j, 1]) / (weight + across)
    lz = (-2.0 * phi * vz - along * multiplier[j, 2]) / (weight + along)
    multiplier[j, 0] += lx
    multiplier[j, 1] += ly
    multiplier[j, 2] += lz
    # to world axes
    tx, ty, tz = cross(qx, qy, qz, lx, ly, lz)
    sx, sy, sz = cross(qx, qy, qz, tx, ty, tz)
    lx, ly, lz = lx + 2.0 * (qw * tx + sx), ly + 2.0 * (qw * ty + sy), lz + 2.0 * (qw * tz + sz)
    turn(frames, j, inv_after * lx, inv_after * ly, inv_after * lz)
    return -inv_before * lx, -inv_before * ly, -inv_before * lz


@njit(cache=True, error_model="numpy", parallel=True)
def step_sweep(
    points,
    velocity,
    frames,
    spin,
    cut_force,
    force,
    resistance,
    coupling,
    roots,
    rotations,
    rest_clamp,
    before,
    pinned,
    mass,
    stretch,
    bend,
    twist,
    damping,
    length,
    joint_length,
    darboux,
    clamped,
    gravity,
    dt,
    iterations,
    # out
    points_out,
    velocity_out,
    frames_out,
    spin_out,
    cut_force_out,
    clamp_out,
):
    """One step of all strands. Resistances act as mass; what couples two vertices is lumped on both; no damping."""
    strands, vertices = points.shape[0], points.shape[1]
    for g in prange(strands):
        start = points[g].copy()
        start_frames = frames[g].copy()
        x, q = points_out[g], frames_out[g]
        clamp, _ = turn_clamp(rotations[g], rest_clamp[g], before[g], dt)
        clamp_out[g, 0], clamp_out[g, 1], clamp_out[g, 2], clamp_out[g, 3] = clamp
        inverse = np.zeros((vertices, 6))
        for j in range(vertices):
            r = resistance[g, j].copy()
            for a in range(6):
                r[a] += abs(coupling[g, j, a]) if j < vertices - 1 else 0.0
                r[a] += abs(coupling[g, j - 1, a]) if j > 0 else 0.0
            if j == 0 and pinned[g]:
                x[j] = roots[g]
                continue
            m = mass[g, j]
            i0, i1, i2, i3, i4, i5 = symmetric_inverse(
                m + dt * r[0], m + dt * r[1], m + dt * r[2], dt * r[3], dt * r[4], dt * r[5]
            )
            inverse[j, 0], inverse[j, 1], inverse[j, 2] = i0, i1, i2
            inverse[j, 3], inverse[j, 4], inverse[j, 5] = i3, i4, i5
            px = m * velocity[g, j, 0] + dt * (force[g, j, 0] + m * gravity[0])
            py = m * velocity[g, j, 1] + dt * (force[g, j, 1] + m * gravity[1])
            pz = m * velocity[g, j, 2] + dt * (force[g, j, 2] + m * gravity[2])
            vx, vy, vz = symmetric_times_vector(i0, i1, i2, i3, i4, i5, px, py, pz)
            x[j, 0] = start[j, 0] + dt * vx
            x[j, 1] = start[j, 1] + dt * vy
            x[j, 2] = start[j, 2] + dt * vz
        inv_inertia = np.empty(vertices - 1)
        for j in range(vertices - 1):
            inv_inertia[j] = 12.0 / (0.5 * (mass[g, j] + mass[g, j + 1]) * length[g, j] ** 2)
            q[j] = start_frames[j]
            turn(q, j, dt * spin[g, j, 0], dt * spin[g, j, 1], dt * spin[g, j, 2])
        stretch_multiplier = np.zeros((vertices - 1, 3))
        bend_multiplier = np.zeros((vertices - 1, 3))
        for _ in range(iterations):
            for j in range(vertices - 1):
                if j > 0 or clamped[g]:
                    first = clamp_out[g] if j == 0 else q[j - 1]
                    inv_before = 0.0 if j == 0 else inv_inertia[j - 1]
                    tx, ty, tz = solve_bend_twist(
                        q,
                        first,
                        bend_multiplier,
                        j,
                        darboux[g, j],
                        inv_before,
                        inv_inertia[j],
                        bend[g, j],
                        twist[g, j],
                        joint_length[g, j],
                        dt,
                    )
                    if j > 0:
                        turn(q, j - 1, tx, ty, tz)
                solve_stretch_shear(
                    x, q, stretch_multiplier, j, inverse, inv_inertia[j], stretch[g, j], length[g, j], dt
                )
        for j in range(vertices):
            velocity_out[g, j] = (x[j] - start[j]) / dt
        for j in range(vertices - 1):
            cut_force_out[g, j] = -stretch_multiplier[j] / (length[g, j] * dt * dt)
            # spin: twice the imaginary part of q conj(q_start) over dt
            a, b = q[j], start_frames[j]
            wx = -a[3] * b[0] + a[0] * b[3] - a[1] * b[2] + a[2] * b[1]
            wy = -a[3] * b[1] + a[0] * b[2] + a[1] * b[3] - a[2] * b[0]
            wz = -a[3] * b[2] - a[0] * b[1] + a[1] * b[0] + a[2] * b[3]
            ww = a[3] * b[3] + a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
            s = 2.0 / dt if ww >= 0.0 else -2.0 / dt
            spin_out[g, j, 0], spin_out[g, j, 1], spin_out[g, j, 2] = s * wx, s * wy, s * wz
