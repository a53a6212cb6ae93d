"""Cosserat rods by extended position-based dynamics: hsu2024 eq. 1 to 8, one constraint after the other.

Each constraint is solved for its own multipliers with everything else held still (Macklin et al. 2016), bend-twist and
stretch-shear in turn from root to tip (Kugelstadt and Schoemer 2016). Orientations are four numbers that move as such
and are scaled to length one after every correction. Their mass is 4 I, since q' = omega q / 2 makes I omega^2 / 2 a
2 I |q'|^2. `_reference` is the same step in plain NumPy.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange
from mane.strand._kernels_small import symmetric_inverse, symmetric_times_vector, third_axis


# Not those of `geometry`, which are inlined before they are compiled: here that would take several times as long.
@njit(cache=True, error_model="numpy")
def product(ax, ay, az, aw, bx, by, bz, bw):
    """First quaternion b, then a."""
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


@njit(cache=True, error_model="numpy")
def add_scaled(q, weight, x, y, z, w):
    """Add `weight` times four numbers to the quaternion `q (4,)`, in place, and scale it to length one."""
    x, y, z, w = q[0] + weight * x, q[1] + weight * y, q[2] + weight * z, q[3] + weight * w
    inv = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
    q[0], q[1], q[2], q[3] = x * inv, y * inv, z * inv, w * inv


@njit(cache=True, error_model="numpy")
def solve_stretch_shear(x, q, j, inverse, weight, stiffness, length, dt, multiplier):
    """Eq. 1: C = (x_(j+1) - x_j) / l - d3; its forces and torque are those of eq. 4 to 6 with k C = -multiplier."""
    dx, dy, dz = third_axis(q[j, 0], q[j, 1], q[j, 2], q[j, 3])
    compliance = 1.0 / (stiffness * dt * dt)
    a, b, per_length = inverse[j], inverse[j + 1], 1.0 / length
    square, own = per_length * per_length, 4.0 * weight + compliance
    # The gradient of d3 by the four numbers of q is twice a matrix with orthonormal rows.
    i0, i1, i2, i3, i4, i5 = symmetric_inverse(
        (a[0] + b[0]) * square + own,
        (a[1] + b[1]) * square + own,
        (a[2] + b[2]) * square + own,
        (a[3] + b[3]) * square,
        (a[4] + b[4]) * square,
        (a[5] + b[5]) * square,
    )
    rx = dx - (x[j + 1, 0] - x[j, 0]) * per_length - compliance * multiplier[j, 0]
    ry = dy - (x[j + 1, 1] - x[j, 1]) * per_length - compliance * multiplier[j, 1]
    rz = dz - (x[j + 1, 2] - x[j, 2]) * per_length - compliance * multiplier[j, 2]
    lx, ly, lz = symmetric_times_vector(i0, i1, i2, i3, i4, i5, rx, ry, rz)
    multiplier[j, 0] += lx
    multiplier[j, 1] += ly
    multiplier[j, 2] += lz
    px, py, pz = symmetric_times_vector(b[0], b[1], b[2], b[3], b[4], b[5], lx, ly, lz)
    x[j + 1, 0] += per_length * px
    x[j + 1, 1] += per_length * py
    x[j + 1, 2] += per_length * pz
    px, py, pz = symmetric_times_vector(a[0], a[1], a[2], a[3], a[4], a[5], lx, ly, lz)
    x[j, 0] -= per_length * px
    x[j, 1] -= per_length * py
    x[j, 2] -= per_length * pz
    # Eq. 6: along 2 lambda q e3.
    ex, ey, ez, ew = product(q[j, 0], q[j, 1], q[j, 2], q[j, 3], 0.0, 0.0, 1.0, 0.0)
    tx, ty, tz, tw = product(lx, ly, lz, 0.0, ex, ey, ez, ew)
    add_scaled(q[j], 2.0 * weight, tx, ty, tz, tw)


@njit(cache=True, error_model="numpy")
def solve_bend_twist(before, after, j, rest, weight_before, weight_after, stiffness, dt, multiplier):
    """Eq. 2 and 3: C = conj(q_before) q_after - phi q0, four numbers; torques as in eq. 7 and 8."""
    ax, ay, az, aw = before[0], before[1], before[2], before[3]
    bx, by, bz, bw = after[0], after[1], after[2], after[3]
    cx, cy, cz, cw = product(-ax, -ay, -az, aw, bx, by, bz, bw)
    phi = 1.0 if cx * rest[0] + cy * rest[1] + cz * rest[2] + cw * rest[3] >= 0.0 else -1.0
    compliance = 1.0 / (stiffness * dt * dt)
    scale = 1.0 / (weight_before + weight_after + compliance)
    own = multiplier[j]
    lx = scale * (phi * rest[0] - cx - compliance * own[0])
    ly = scale * (phi * rest[1] - cy - compliance * own[1])
    lz = scale * (phi * rest[2] - cz - compliance * own[2])
    lw = scale * (phi * rest[3] - cw - compliance * own[3])
    own[0] += lx
    own[1] += ly
    own[2] += lz
    own[3] += lw
    px, py, pz, pw = product(ax, ay, az, aw, lx, ly, lz, lw)
    add_scaled(after, weight_after, px, py, pz, pw)
    if weight_before > 0.0:
        px, py, pz, pw = product(bx, by, bz, bw, -lx, -ly, -lz, lw)
        add_scaled(before, weight_before, px, py, pz, pw)


@njit(cache=True, error_model="numpy")
def sign_of(matrix):
    """1 for a positive semi-definite symmetric matrix (6,), -1 for a negative one: the sign of its trace."""
    return 1.0 if matrix[0] + matrix[1] + matrix[2] >= 0.0 else -1.0


@njit(cache=True, error_model="numpy")
def predict_vertices(points, velocity, force, resistance, coupling, mass, is_held, root, gravity, dt, x, inverse):
    """Let vertices go on by inertia, gravity and load; fill their inverse masses (V, 6), zero for a root that is held.

    Resistances act as mass; what couples two vertices is lumped on both. A coupling is a matrix that is semi-definite,
    positive (a contact between them) or negative (a spring), and counts by its size in either case.
    """
    vertices = len(points)
    for j in range(vertices):
        if j == 0 and is_held:
            x[0, 0], x[0, 1], x[0, 2] = root[0], root[1], root[2]
            continue
        m = mass[j]
        row = inverse[j]
        after = sign_of(coupling[j]) if j < vertices - 1 else 0.0
        before = sign_of(coupling[j - 1]) if j > 0 else 0.0
        for a in range(6):
            row[a] = resistance[j, a]
            row[a] += after * coupling[j, a] if j < vertices - 1 else 0.0
            row[a] += before * coupling[j - 1, a] if j > 0 else 0.0
            row[a] = dt * row[a] + (m if a < 3 else 0.0)
        i0, i1, i2, i3, i4, i5 = symmetric_inverse(row[0], row[1], row[2], row[3], row[4], row[5])
        row[0], row[1], row[2], row[3], row[4], row[5] = i0, i1, i2, i3, i4, i5
        px = m * velocity[j, 0] + dt * (force[j, 0] + m * gravity[0])
        py = m * velocity[j, 1] + dt * (force[j, 1] + m * gravity[1])
        pz = m * velocity[j, 2] + dt * (force[j, 2] + m * gravity[2])
        vx, vy, vz = symmetric_times_vector(i0, i1, i2, i3, i4, i5, px, py, pz)
        x[j, 0] = points[j, 0] + dt * vx
        x[j, 1] = points[j, 1] + dt * vy
        x[j, 2] = points[j, 2] + dt * vz


@njit(cache=True, error_model="numpy")
def predict_segments(spin, dt, q):
    """Let orientations `q (N, 4)` go on with their spin: q + dt omega q / 2, scaled to length one."""
    for j in range(len(q)):
        tx, ty, tz, tw = product(spin[j, 0], spin[j, 1], spin[j, 2], 0.0, q[j, 0], q[j, 1], q[j, 2], q[j, 3])
        add_scaled(q[j], 0.5 * dt, tx, ty, tz, tw)


@njit(cache=True, error_model="numpy", parallel=True)
def step_xpbd(
    points,
    velocity,
    frames,
    spin,
    force,
    resistance,
    coupling,
    roots,
    rotations,
    rest_clamp,
    root_kind,
    mass,
    stretch,
    bend,
    length,
    darboux,
    weight,
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
    """One step of all strands.

    Args:
        stretch: k_ss of each segment (G, N) [J].
        bend: k_bt of each joint (G, N) [J].
        weight: one over the mass 4 I of the orientation of each segment (G, N).
        root_kind: 0 clamped, 1 hinged, 2 free (G,).
    """
    strands, vertices = points.shape[0], points.shape[1]
    for g in prange(strands):
        start, start_frames = points[g].copy(), frames[g].copy()
        x, q, clamp = points_out[g], frames_out[g], clamp_out[g]
        r, c = rotations[g], rest_clamp[g]
        clamp[0], clamp[1], clamp[2], clamp[3] = product(r[0], r[1], r[2], r[3], c[0], c[1], c[2], c[3])
        inverse = np.zeros((vertices, 6))
        predict_vertices(
            start, velocity[g], force[g], resistance[g], coupling[g], mass[g],
            root_kind[g] != 2, roots[g], gravity, dt, x, inverse,
        )  # fmt: skip
        q[:] = start_frames
        predict_segments(spin[g], dt, q)
        of_stretch, of_bend = np.zeros((vertices - 1, 3)), np.zeros((vertices - 1, 4))
        for _ in range(iterations):
            for j in range(vertices - 1):
                if j > 0:
                    solve_bend_twist(
                        q[j - 1], q[j], j, darboux[g, j], weight[g, j - 1], weight[g, j], bend[g, j], dt, of_bend
                    )
                elif root_kind[g] == 0:
                    solve_bend_twist(clamp, q[0], 0, darboux[g, 0], 0.0, weight[g, 0], bend[g, 0], dt, of_bend)
                solve_stretch_shear(x, q, j, inverse, weight[g, j], stretch[g, j], length[g, j], dt, of_stretch)
        for j in range(vertices):
            for a in range(3):
                velocity_out[g, j, a] = (x[j, a] - start[j, a]) / dt
        for j in range(vertices - 1):
            for a in range(3):
                cut_force_out[g, j, a] = -of_stretch[j, a] / (length[g, j] * dt * dt)
            b = start_frames[j]
            wx, wy, wz, ww = product(q[j, 0], q[j, 1], q[j, 2], q[j, 3], -b[0], -b[1], -b[2], b[3])
            s = 2.0 / dt if ww >= 0.0 else -2.0 / dt
            spin_out[g, j, 0], spin_out[g, j, 1], spin_out[g, j, 2] = s * wx, s * wy, s * wz
