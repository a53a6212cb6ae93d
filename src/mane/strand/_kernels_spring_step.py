"""Numba kernels of the spring model around the Newton steps of `_kernels_spring`: what goes in, what comes out.

Strands go in blocks of eight. Each chunk of blocks has a scratch buffer of its own, so that the result of a strand
depends on nothing but its block, whichever thread it runs on.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from mane.strand._kernels_small import (
    FASTMATH,
    LANE_COUNT,
    LANES,
    LANES_2,
    in_lanes,
    load3,
    load4,
    load6,
    store3,
    store6,
)
from mane.strand._kernels_spring import (
    AIM,
    CONSTANT_ROWS,
    COUPLE,
    END,
    FORCE,
    GOES_ON,
    INERTIA,
    LAG,
    ONE,
    RECORD,
    RECORD_2,
    RESIST,
    REST,
    ROOT,
    STAGE,
    START,
    TENSION,
    TWO,
    ZERO,
    add3,
    add_altitudes,
    add_springs,
    advance,
    balance_coupling,
    balance_inertia,
    in_block,
)
from mane.strand._kernels_spring_frames import store_frame, turn
from mane.strand._kernels_spring_solve import eliminate, substitute
from mane.strand._kernels_spring_stage import (
    FRAME,
    QUICKER,
    SPIN,
    choose_stage,
    find_frames,
    find_spins,
    find_velocities,
    go_on,
    shift_free,
    start_sums,
    sum_up,
)

TOO_SHORT = 1e-30  # keeps the direction of a segment without length finite [m]


@in_block
def load_constants(buf, constants):
    """Copy a block's constants (P, CONSTANT_ROWS * lanes) to its records."""
    for p in range(np.uint64(constants.shape[0])):
        o = (p + ONE) * RECORD
        for k in range(np.uint64(CONSTANT_ROWS) * LANES):
            buf[o + k] = constants[p, k]


@in_lanes
def bring3(buf, i, values, g, j):
    """Copy three numbers of an array to rows of one lane."""
    store3(buf, i, values[g, j, 0], values[g, j, 1], values[g, j, 2])


@in_lanes
def bring6(buf, i, values, g, j):
    """Copy six."""
    m = values[g, j]
    store6(buf, i, m[0], m[1], m[2], m[3], m[4], m[5])


@in_block
def load_between(buf, i, start, end, share):
    """Put a vector at a share of the way from `start` to `end` into rows of one lane; at all of it, just at the end."""
    for c in range(3):
        buf[i + np.uint64(c) * LANES] = end[c] - (1.0 - share) * (end[c] - start[c])


@in_block
def place_ghosts(first, count, roots, ghosts):
    """Set the ghosts of `count` strands from `first` on to where their roots have them at the end of the step."""
    positions, rotations, behind = roots
    for g in range(first, first + count):
        for k in range(2):
            x, y, z = turn(rotations[g], behind[g, k, 0], behind[g, k, 1], behind[g, k, 2])
            ghosts[g, k, 0] = positions[g, 0] + x
            ghosts[g, k, 1] = positions[g, 1] + y
            ghosts[g, k, 2] = positions[g, 2] + z


@in_block
def load_block(buf, first, now, load):
    """Fill the lanes with strands from `first` on as they are, velocities in AIM; spare lanes repeat the last."""
    points, velocity, auxiliary, auxiliary_velocity, _, tension, _, _ = now
    force, resistance, coupling = load
    last = np.uint64(points.shape[0] - 1)
    for j in range(np.uint64(points.shape[1])):
        for s in range(LANES):
            g = min(first + s, last)
            i = (ROOT + TWO * j) * RECORD + s
            bring3(buf, i + START, points, g, j)
            bring3(buf, i + AIM, velocity, g, j)
            bring3(buf, i + FORCE, force, g, j)
            bring6(buf, i + RESIST, resistance, g, j)
    for j in range(np.uint64(auxiliary.shape[1])):
        for s in range(LANES):
            g = min(first + s, last)
            i = (ROOT + ONE + TWO * j) * RECORD + s
            bring3(buf, i + START, auxiliary, g, j)
            bring3(buf, i + AIM, auxiliary_velocity, g, j)
            store3(buf, i + FORCE, 0.0, 0.0, 0.0)
            bring6(buf, i + RECORD + COUPLE, coupling, g, j)
    for p in range(np.uint64(tension.shape[1])):
        for s in range(LANES):
            bring3(buf, (p + ONE) * RECORD + s + TENSION, tension, min(first + s, last), p)


@in_block
def set_out(buf, records, gravity):
    """Make of what was loaded what the stage wants: everything over its length, and first estimates.

    Those go straight on, which keeps the segments of a turning strand at length. No strand has settled.
    """
    gx, gy, gz = gravity[0], gravity[1], gravity[2]
    for p in range(ONE, records):
        for s in range(LANES):
            i = p * RECORD + s
            dt = buf[i - RECORD + STAGE]
            rate = 1.0 / dt
            buf[i + STAGE] = dt
            buf[i + GOES_ON] = 1.0
            buf[i + LAG] *= rate
            mass = buf[i + INERTIA]
            buf[i + INERTIA] = mass * rate * rate
            scale_rows(buf, i + RESIST, rate)
            scale_rows(buf, i + COUPLE, rate)
            x, y, z = load3(buf, i + START)
            vx, vy, vz = load3(buf, i + AIM)
            x, y, z = x + dt * vx, y + dt * vy, z + dt * vz
            store3(buf, i + END, x, y, z)
            square = dt * dt
            push = square / mass
            fx, fy, fz = load3(buf, i + FORCE)
            store3(buf, i + AIM, x + square * gx + push * fx, y + square * gy + push * fy, z + square * gz + push * fz)


@in_lanes
def scale_rows(buf, i, factor):
    """Multiply six rows of one lane."""
    a, b, c, d, e, f = load6(buf, i)
    store6(buf, i, factor * a, factor * b, factor * c, factor * d, factor * e, factor * f)


@in_block
def load_held(buf, first, now, held, is_free):
    """Put ghosts, and roots that are held, where they are at the start and at the end of the stage."""
    points, clamp = now[0], now[4]
    root, _, _, clamp_after = held
    for s in range(LANE_COUNT):
        g = min(first + s, points.shape[0] - 1)
        share = 1.0 / buf[QUICKER + np.uint64(s)]
        for ghost in range(2):
            i = np.uint64(1 + ghost) * RECORD + np.uint64(s)
            store3(buf, i + START, clamp[g, ghost, 0], clamp[g, ghost, 1], clamp[g, ghost, 2])
            load_between(buf, i + END, clamp[g, ghost], clamp_after[g, ghost], share)
            load_between(buf, i + AIM, clamp[g, ghost], clamp_after[g, ghost], share)
        if not is_free[g]:
            load_between(buf, ROOT * RECORD + END + np.uint64(s), points[g, 0], root[g], share)


@in_block
def find_cut_forces(buf, records):
    """Leave in FORCE of each record what it and everything beyond it pulls at the springs with.

    What inertia, gravity and the load leave unbalanced is what the springs have held.
    """
    balance_inertia(buf, records)
    balance_coupling(buf, records)
    for back in range(TWO, records - ROOT + ONE):
        o = (records - back) * RECORD + FORCE
        for s in range(LANES):
            add3(buf, o + s, buf[o + RECORD + s], buf[o + RECORD + LANES + s], buf[o + RECORD + LANES_2 + s])


@in_block
def limit_strain(buf, records, limit):
    """Bring every segment within `limit` of its rest length, moving what lies beyond it along.

    A strand that nothing holds keeps its centre of mass.
    """
    for s in range(LANES):
        store3(buf, ROOT * RECORD + FORCE + s, 0.0, 0.0, 0.0)
    start_sums(buf)
    for p in range(ROOT + TWO, records, TWO):
        for s in range(LANES):
            i = p * RECORD + s
            x, y, z = load3(buf, i + END)
            a, b, c = load3(buf, i - RECORD_2 + END)
            dx, dy, dz = x - a, y - b, z - c
            length = math.sqrt(dx * dx + dy * dy + dz * dz)
            rest = buf[i + REST + LANES]
            low, high = rest * (1.0 - limit), rest * (1.0 + limit)
            wanted = low if length < low else length
            wanted = high if wanted > high else wanted
            scale = (wanted - length) / (length + TOO_SHORT)
            sx, sy, sz = load3(buf, i - RECORD_2 + FORCE)
            beyond = (sx + scale * dx, sy + scale * dy, sz + scale * dz)
            half = (0.5 * (sx + beyond[0]), 0.5 * (sy + beyond[1]), 0.5 * (sz + beyond[2]))
            store3(buf, i - RECORD + FORCE, *half)
            store3(buf, i + FORCE, *beyond)
            sum_up(buf, i, half, beyond)
    for p in range(ROOT, records):
        for s in range(LANES):
            i = p * RECORD + s
            x, y, z = load3(buf, i + FORCE)
            add3(buf, i + END, x, y, z)
    shift_free(buf, records)


@in_lanes
def fetch3(buf, i, values, g, j):
    """Copy rows of one lane to three numbers of an array."""
    values[g, j, 0], values[g, j, 1], values[g, j, 2] = load3(buf, i)


@in_lanes
def fetch_velocity(buf, i, quicker, before, velocity, g, j):
    """Write a velocity, which goes on as it changed over the stage."""
    x, y, z = load3(buf, i + FORCE)
    a, b, c = before[g, j, 0], before[g, j, 1], before[g, j, 2]
    velocity[g, j, 0] = a + quicker * (x - a)
    velocity[g, j, 1] = b + quicker * (y - b)
    velocity[g, j, 2] = c + quicker * (z - c)


@in_block
def store_block(buf, first, count, now, is_free, out):
    """Write `count` lanes to strands from `first` on."""
    points, velocity, auxiliary, auxiliary_velocity, frames, spin, tension = out
    for j in range(np.uint64(points.shape[1])):
        for s in range(count):
            g, i = first + s, (ROOT + TWO * j) * RECORD + s
            # A root that is held moves steadily.
            quicker = buf[QUICKER + s] if j > ZERO or is_free[g] else 1.0
            fetch3(buf, i + END, points, g, j)
            fetch_velocity(buf, i, quicker, now[1], velocity, g, j)
    for p in range(np.uint64(tension.shape[1])):
        for s in range(count):
            fetch3(buf, (p + ONE) * RECORD + TENSION + s, tension, first + s, p)
    for j in range(np.uint64(auxiliary.shape[1])):
        for s in range(count):
            g, i = first + s, (ROOT + ONE + TWO * j) * RECORD + s
            fetch3(buf, i + END, auxiliary, g, j)
            fetch_velocity(buf, i, buf[QUICKER + s], now[3], auxiliary_velocity, g, j)
            qx, qy, qz, qw = load4(buf, i + FRAME)
            store_frame(frames[g, j], now[6][g, j], qx, qy, qz, qw)
            fetch3(buf, i + SPIN, spin, g, j)


@in_block
def store_cut_forces(buf, first, count, cut_force):
    """Write `count` lanes; a cut is in the middle of a segment, where its auxiliary particle counts by half."""
    for j in range(np.uint64(cut_force.shape[1])):
        for s in range(count):
            i = (ROOT + ONE + TWO * j) * RECORD + FORCE + s
            x, y, z = load3(buf, i)
            a, b, c = load3(buf, i + RECORD)
            g = first + s
            cut_force[g, j, 0], cut_force[g, j, 1], cut_force[g, j, 2] = 0.5 * (x + a), 0.5 * (y + b), 0.5 * (z + c)


@in_block
def step_block(
    block, constants, is_free, now, held, load, gravity, limit, iterations, tolerance, share, dt, buf, out, cut_force
):
    """Take one block of strands one step further; arguments as in `step_strands`."""
    first = block * LANE_COUNT
    count = min(LANE_COUNT, is_free.shape[0] - first)
    records = np.uint64(constants.shape[0] + 1)
    place_ghosts(first, count, held[:3], held[3])
    load_constants(buf, constants)
    for s in range(LANE_COUNT):
        g = min(first + s, is_free.shape[0] - 1)
        choose_stage(buf, np.uint64(s), now[7][g], load[0][g], load[1][g], is_free[g], dt, share)
    load_block(buf, np.uint64(first), now, load)
    set_out(buf, records, gravity)
    load_held(buf, first, now, held, is_free)
    for _ in range(iterations):
        balance_inertia(buf, records)
        balance_coupling(buf, records)
        add_springs(buf, records)
        add_altitudes(buf, records)
        eliminate(buf, records)
        substitute(buf, records)
        if not advance(buf, records, tolerance):
            break
    find_cut_forces(buf, records)
    store_cut_forces(buf, np.uint64(first), np.uint64(count), cut_force)
    limit_strain(buf, records, limit)
    find_velocities(buf, records)
    find_spins(buf, records)
    go_on(buf, records, dt)
    find_frames(buf, records)
    store_block(buf, np.uint64(first), np.uint64(count), now, is_free, out)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def step_strands(
    constants, is_free, now, held, load, gravity, limit, iterations, tolerance, share, dt, scratch, out, cut_force
):
    """Take all strands one step further.

    Args:
        constants: of all particles, shape (blocks, P, CONSTANT_ROWS * lanes).
        is_free: strands whose root nothing holds, shape (G,).
        now: points, velocity, auxiliary particles, their velocity, ghosts, tensions, frames, spins at the start.
        held: roots (G, 3) and their rotations (G, 4) at the end; ghosts (G, 2, 3) as groomed, from the root; room for
            where they are at the end.
        load: force, resistance, coupling.
        gravity: shape (3,).
        limit: of the strain of a segment.
        iterations: Newton steps at most.
        tolerance: turn of a segment [rad] in a Newton step after which none follows.
        share: of a calm step that its implicit stage takes.
        dt: length of the step.
        scratch: shape (chunks, records * RECORD), zero before its first use.
        out: points, velocity, auxiliary particles, their velocity, frames, spin, tensions.
        cut_force: shape (G, N, 3).
    """
    chunks = scratch.shape[0]
    for chunk in prange(chunks):
        for block in range(chunk, constants.shape[0], chunks):
            step_block(
                block,
                constants[block],
                is_free,
                now,
                held,
                load,
                gravity,
                limit,
                iterations,
                tolerance,
                share,
                dt,
                scratch[chunk],
                out,
                cut_force,
            )
