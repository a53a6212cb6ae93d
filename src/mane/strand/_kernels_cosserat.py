"""Cosserat rods from one state to the next: what goes into the buffer of lanes, the stage, what comes out.

A step is one implicit stage and a way on from it. The stage is implicit Euler over a share of the step, solved by two
rounds with one factorised matrix; then everything goes on to the end of the step with the velocities of the stage. With
a share of one half that would be the implicit midpoint rule, with all of the step it is Euler's. `_reference_cosserat`
is the same step with a dense matrix.
"""

# mypy: allow-untyped-defs

import math

import numpy as np
from numba import njit, prange

from mane.geometry._kernels_quaternion import quat_between, quat_multiply
from mane.strand._kernels_cosserat_balance import (
    balance_joints,
    balance_segments,
    balance_vertices,
    choose_stages,
    go_on,
    predict,
    take_solution,
)
from mane.strand._kernels_cosserat_rows import (
    COUPLE,
    CUT,
    FIRST_CONSTANT,
    FORCE,
    RESIST,
    SPIN,
    STRIDE,
    Q,
    V,
    X,
)
from mane.strand._kernels_cosserat_solve import factorise, fill_matrix, solve_backwards, solve_forwards
from mane.strand._kernels_small import LANE_COUNT, LANES, cross, third_axis


@njit(cache=True, error_model="numpy")
def load_lanes(points, velocity, frames, spin, cut_force, force, resistance, coupling, roots, pinned, first, dt, buf):
    """Copy eight strands into the buffer; a root that is held moves steadily over the step."""
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
                buf[base + X + row] = points[g, j, a]
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
    share,
    rounds,
    scratch,
    # out
    points_out,
    velocity_out,
    frames_out,
    spin_out,
    cut_force_out,
):
    """One step of all strands; `constants` (blocks, V + 1, CONSTANT_ROWS * LANES), `scratch` one row per thread.

    `clamp` is at the start of the step and turns with `clamp_spin`. A stage takes `share` of the step and is solved by
    `rounds` of linear solves.
    """
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
            choose_stages(vertices, dt, share, buf)
            predict(vertices, buf)
            fill_matrix(vertices, buf)
            factorise(vertices, buf)
            for _ in range(rounds):
                balance_joints(vertices, buf)
                balance_vertices(vertices, gravity, buf)
                balance_segments(vertices, buf)
                solve_forwards(vertices, buf)
                solve_backwards(vertices, buf)
                take_solution(vertices, buf)
            go_on(vertices, buf)
            store_lanes(buf, first, points_out, velocity_out, frames_out, spin_out, cut_force_out)
