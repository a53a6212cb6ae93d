"""Cosserat rods by extended position-based dynamics: a step, whose constraints are in `_kernels_constraints`.

Each constraint is solved for its own multipliers with everything else held still (Macklin et al. 2016), bend-twist and
stretch-shear in turn from root to tip (Kugelstadt and Schoemer 2016). Orientations are four numbers that move as such
and are scaled to length one after every correction. Their mass is 4 I, since q' = omega q / 2 makes I omega^2 / 2 a
2 I |q'|^2. `_reference` is the same step in plain NumPy.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.f64x8 import WIDTH
from mane.simd.jit import njit, prange
from mane.simd.rows import LANES, ONE, copy_in, copy_out
from mane.strand._kernels_small import symmetric_inverse, symmetric_times_vector
from mane.strand.xpbd._kernels_constraints import (
    BEND_SOFT,
    FIRST,
    INVERSE,
    NO_JOINT,
    PER_LENGTH,
    REST,
    STRETCH,
    STRIDE,
    Q,
    X,
    product,
    solve_constraints,
)


@njit(cache=True, error_model="numpy")
def add_scaled(q, weight, x, y, z, w):
    """Add `weight` times four numbers to the quaternion `q (4,)`, in place, and scale it to length one."""
    x, y, z, w = q[0] + weight * x, q[1] + weight * y, q[2] + weight * z, q[3] + weight * w
    inv = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
    q[0], q[1], q[2], q[3] = x * inv, y * inv, z * inv, w * inv


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


@njit(cache=True, error_model="numpy")
def fill_constants(stretch, bend, length, weight, dt, out):
    """Fill what `_kernels_constraints` wants of each segment of a strand (N, 4)."""
    for j in range(len(length)):
        out[j, 0], out[j, 1] = 1.0 / length[j], weight[j]
        out[j, 2], out[j, 3] = 1.0 / (stretch[j] * dt * dt), 1.0 / (bend[j] * dt * dt)


@njit(cache=True, error_model="numpy")
def finish_strand(start, start_frames, x, q, multiplier, length, dt, velocity_out, spin_out, cut_force_out):
    """Velocities, spins and cut forces of a strand from where it was and where it is."""
    for j in range(len(x)):
        for a in range(3):
            velocity_out[j, a] = (x[j, a] - start[j, a]) / dt
    for j in range(len(q)):
        for a in range(3):
            cut_force_out[j, a] = -multiplier[j, a] / (length[j] * dt * dt)
        b = start_frames[j]
        wx, wy, wz, ww = product(q[j, 0], q[j, 1], q[j, 2], q[j, 3], -b[0], -b[1], -b[2], b[3])
        s = 2.0 / dt if ww >= 0.0 else -2.0 / dt
        spin_out[j, 0], spin_out[j, 1], spin_out[j, 2] = s * wx, s * wy, s * wz


@njit(cache=True, error_model="numpy")
def load_block(first, points, frames, inverse, darboux, constants, clamp, root_kind, buf):
    """Bring eight strands into the buffer, their multipliers at zero; lanes behind the last strand repeat it."""
    buf[:] = 0.0
    copy_in(points, first, STRIDE, FIRST + X, buf)
    copy_in(inverse, first, STRIDE, FIRST + INVERSE, buf)
    copy_in(frames, first, STRIDE, FIRST + Q, buf)
    copy_in(darboux, first, STRIDE, FIRST + REST, buf)
    copy_in(constants, first, STRIDE, FIRST + PER_LENGTH, buf)
    for lane in range(LANES):
        g = min(first + lane, np.uint64(len(points)) - ONE)
        for a in range(4):
            buf[Q + np.uint64(a) * LANES + lane] = clamp[g, a]
        if root_kind[g] != 0:
            buf[FIRST + BEND_SOFT + lane] = NO_JOINT


@njit(cache=True, error_model="numpy", parallel=True)
def step_xpbd(
    start,
    velocity,
    start_frames,
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
    # work space
    inverse,
    constants,
    multiplier,
    scratch,
    # out
    points_out,
    velocity_out,
    frames_out,
    spin_out,
    cut_force_out,
    clamp_out,
):
    """One step of all strands from `start` (G, V, 3) and `start_frames` (G, N, 4), which are no outputs.

    Args:
        stretch: k_ss of each segment (G, N) [J].
        bend: k_bt of each joint (G, N) [J].
        weight: one over the mass 4 I of the orientation of each segment (G, N).
        root_kind: 0 clamped, 1 hinged, 2 free (G,).
        inverse: zeros (G, V, 6).
        constants: room for (G, N, 4).
        multiplier: room for (G, N, 3).
        scratch: a buffer of lanes for each thread.
    """
    strands, segments = start.shape[0], np.uint64(start.shape[1] - 1)
    threads = scratch.shape[0]
    for g in prange(strands):
        r, c = rotations[g], rest_clamp[g]
        x, y, z, w = product(r[0], r[1], r[2], r[3], c[0], c[1], c[2], c[3])
        clamp_out[g, 0], clamp_out[g, 1], clamp_out[g, 2], clamp_out[g, 3] = x, y, z, w
        predict_vertices(
            start[g], velocity[g], force[g], resistance[g], coupling[g], mass[g],
            root_kind[g] != 2, roots[g], gravity, dt, points_out[g], inverse[g],
        )  # fmt: skip
        frames_out[g, :] = start_frames[g]
        predict_segments(spin[g], dt, frames_out[g])
        fill_constants(stretch[g], bend[g], length[g], weight[g], dt, constants[g])
    for thread in prange(threads):
        buf = scratch[thread]
        for block in range(thread, (strands + WIDTH - 1) // WIDTH, threads):
            first = np.uint64(block * WIDTH)
            load_block(first, points_out, frames_out, inverse, darboux, constants, clamp_out, root_kind, buf)
            solve_constraints(segments, iterations, buf)
            copy_out(buf, first, STRIDE, FIRST + X, points_out)
            copy_out(buf, first, STRIDE, FIRST + Q, frames_out)
            copy_out(buf, first, STRIDE, FIRST + STRETCH, multiplier)
    for g in prange(strands):
        finish_strand(
            start[g], start_frames[g], points_out[g], frames_out[g], multiplier[g], length[g], dt,
            velocity_out[g], spin_out[g], cut_force_out[g],
        )  # fmt: skip
