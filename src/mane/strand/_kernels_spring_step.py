"""Numba kernels of the spring model around the Newton steps of `_kernels_spring`: what goes in, what comes out.

Strands go in blocks of eight. Each chunk of blocks has a scratch buffer of its own, so that the result of a strand
depends on nothing but its block, whichever thread it runs on.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from mane.strand._kernels_small import FASTMATH, LANE_COUNT, LANES, LANES_2, load3, load4, store3
from mane.strand._kernels_spring import (
    AIM,
    CONSTANT_ROWS,
    COUPLE,
    END,
    FORCE,
    FREE,
    GOES_ON,
    INERTIA,
    LAG,
    ONE,
    RECORD,
    RECORD_2,
    RESIST,
    REST,
    ROOT,
    START,
    TENSION,
    TWO,
    add3,
    add_altitudes,
    add_springs,
    advance,
    assemble,
    balance_coupling,
    balance_inertia,
    in_block,
)
from mane.strand._kernels_spring_frames import store_frame
from mane.strand._kernels_spring_solve import factorise, hold_fixed, solve_backwards, solve_forwards
from mane.strand._kernels_spring_stage import (
    FRAME,
    SHARE,
    SPIN,
    STAGE,
    choose_stage,
    find_frames,
    find_velocities,
    go_on,
)

TOO_SHORT = 1e-30  # keeps the direction of a segment without length finite [m]


@in_block
def load_constants(buf, constants):
    """Copy a block's constants (P, CONSTANT_ROWS * lanes) to its records."""
    for p in range(np.uint64(constants.shape[0])):
        o = (p + ONE) * RECORD
        for k in range(np.uint64(CONSTANT_ROWS) * LANES):
            buf[o + k] = constants[p, k]


@in_block
def scale_constants(buf, particles):
    """Damping times over the length of the stage, masses over its square."""
    for p in range(ONE, particles + ONE):
        for s in range(LANES):
            rate = 1.0 / buf[STAGE + s]
            buf[p * RECORD + LAG + s] *= rate
            buf[p * RECORD + INERTIA + s] *= rate * rate


@in_block
def load_particle(buf, i, position, velocity, gravity, dt):
    """Start a particle: the first estimate goes straight on, which keeps the segments of a turning strand at length."""
    for c in range(3):
        k = i + np.uint64(c) * LANES
        ahead = position[c] + dt * velocity[c]
        buf[k + START] = position[c]
        buf[k + END] = ahead
        buf[k + AIM] = ahead + dt * dt * gravity[c]


@in_block
def load_row(buf, i, values, scale):
    """Copy a vector to rows of one lane."""
    for c in range(values.shape[0]):
        buf[i + np.uint64(c) * LANES] = scale * values[c]


@in_block
def load_between(buf, i, start, end, share):
    """Put a vector at a share of the way from `start` to `end` into rows of one lane; at all of it, just at the end."""
    for c in range(3):
        buf[i + np.uint64(c) * LANES] = end[c] - (1.0 - share) * (end[c] - start[c])


@in_block
def load_block(buf, first, now, held, load, gravity, is_free):
    """Fill the lanes with strands from `first` on; spare lanes repeat the last strand."""
    points, velocity, auxiliary, auxiliary_velocity, clamp, tension, _, _ = now
    root, clamp_after = held
    force, resistance, coupling = load
    last = points.shape[0] - 1
    for j in range(points.shape[1]):
        for s in range(LANE_COUNT):
            g = min(first + s, last)
            i = (ROOT + TWO * np.uint64(j)) * RECORD + np.uint64(s)
            dt = buf[STAGE + np.uint64(s)]
            load_particle(buf, i, points[g, j], velocity[g, j], gravity, dt)
            for c in range(3):
                buf[i + AIM + np.uint64(c) * LANES] += force[g, j, c] / buf[i + INERTIA]
            load_row(buf, i + RESIST, resistance[g, j], 1.0 / dt)
    for j in range(auxiliary.shape[1]):
        for s in range(LANE_COUNT):
            g = min(first + s, last)
            i = (ROOT + ONE + TWO * np.uint64(j)) * RECORD + np.uint64(s)
            dt = buf[STAGE + np.uint64(s)]
            load_particle(buf, i, auxiliary[g, j], auxiliary_velocity[g, j], gravity, dt)
            load_row(buf, i + RECORD + COUPLE, coupling[g, j], 1.0 / dt)
    for p in range(tension.shape[1]):
        for s in range(LANE_COUNT):
            i = np.uint64(p + 1) * RECORD + np.uint64(s)
            load_row(buf, i + TENSION, tension[min(first + s, last), p], 1.0)
    for s in range(LANE_COUNT):
        g = min(first + s, last)
        share = buf[SHARE + np.uint64(s)]
        for ghost in range(2):
            i = np.uint64(1 + ghost) * RECORD + np.uint64(s)
            load_row(buf, i + START, clamp[g, ghost], 1.0)
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
        store3(buf, s + FORCE, 0.0, 0.0, 0.0)  # record 0: mass times shift, summed up
        buf[s + INERTIA] = buf[ROOT * RECORD + INERTIA + s]
        store3(buf, ROOT * RECORD + FORCE + s, 0.0, 0.0, 0.0)
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
            bx, by, bz = sx + scale * dx, sy + scale * dy, sz + scale * dz
            hx, hy, hz = 0.5 * (sx + bx), 0.5 * (sy + by), 0.5 * (sz + bz)
            store3(buf, i - RECORD + FORCE, hx, hy, hz)
            store3(buf, i + FORCE, bx, by, bz)
            light, heavy = buf[i - RECORD + INERTIA], buf[i + INERTIA]
            add3(buf, s + FORCE, light * hx + heavy * bx, light * hy + heavy * by, light * hz + heavy * bz)
            buf[s + INERTIA] += light + heavy
    for p in range(ROOT, records):
        for s in range(LANES):
            i = p * RECORD + s
            back = -buf[ROOT * RECORD + FREE + s] / buf[s + INERTIA]
            x, y, z = load3(buf, i + FORCE)
            a, b, c = load3(buf, s + FORCE)
            add3(buf, i + END, x + back * a, y + back * b, z + back * c)
    for s in range(LANES):
        buf[s + INERTIA] = 0.0


@in_block
def store_particle(buf, i, share, before, position, velocity):
    """Write where a particle is, and its velocity, which goes on as it changed over the stage."""
    for c in range(3):
        k = i + np.uint64(c) * LANES
        position[c] = buf[k + END]
        velocity[c] = before[c] + (buf[k + FORCE] - before[c]) / share


@in_block
def store_row(buf, i, values):
    """Copy rows of one lane to a vector."""
    for c in range(values.shape[0]):
        values[c] = buf[i + np.uint64(c) * LANES]


@in_block
def store_block(buf, first, count, now, is_free, out):
    """Write `count` lanes to strands from `first` on."""
    points, velocity, auxiliary, auxiliary_velocity, frames, spin, tension = out
    for j in range(points.shape[1]):
        for s in range(count):
            g = first + s
            i = (ROOT + TWO * np.uint64(j)) * RECORD + np.uint64(s)
            share = buf[SHARE + np.uint64(s)]
            if j == 0 and not is_free[g]:
                share = 1.0  # a root that is held moves steadily
            store_particle(buf, i, share, now[1][g, j], points[g, j], velocity[g, j])
    for p in range(tension.shape[1]):
        for s in range(count):
            store_row(buf, np.uint64(p + 1) * RECORD + TENSION + np.uint64(s), tension[first + s, p])
    for j in range(auxiliary.shape[1]):
        for s in range(count):
            g = first + s
            i = (ROOT + ONE + TWO * np.uint64(j)) * RECORD + np.uint64(s)
            share = buf[SHARE + np.uint64(s)]
            store_particle(buf, i, share, now[3][g, j], auxiliary[g, j], auxiliary_velocity[g, j])
            qx, qy, qz, qw = load4(buf, i + FRAME)
            store_frame(frames[g, j], now[6][g, j], qx, qy, qz, qw)
            store_row(buf, i + SPIN, spin[g, j])


@in_block
def store_cut_forces(buf, first, count, cut_force):
    """Write `count` lanes; a cut is in the middle of a segment, where its auxiliary particle counts by half."""
    for j in range(cut_force.shape[1]):
        for s in range(count):
            i = (ROOT + ONE + TWO * np.uint64(j)) * RECORD + FORCE + np.uint64(s)
            for c in range(3):
                k = i + np.uint64(c) * LANES
                cut_force[first + s, j, c] = 0.5 * (buf[k] + buf[k + RECORD])


@in_block
def step_block(
    block, constants, is_free, now, held, load, gravity, limit, iterations, tolerance, share, dt, buf, out, cut_force
):
    """Take one block of strands one step further; arguments as in `step_strands`."""
    first = block * LANE_COUNT
    count = min(LANE_COUNT, is_free.shape[0] - first)
    records = np.uint64(constants.shape[0] + 1)
    load_constants(buf, constants)
    for s in range(LANE_COUNT):
        g = min(first + s, is_free.shape[0] - 1)
        choose_stage(buf, np.uint64(s), now[7][g], load[0][g], load[1][g], is_free[g], dt, share)
    scale_constants(buf, records - ONE)
    load_block(buf, first, now, held, load, gravity, is_free)
    for s in range(LANES):
        buf[GOES_ON + s] = 1.0
    for _ in range(iterations):
        balance_inertia(buf, records)
        balance_coupling(buf, records)
        add_springs(buf, records)
        add_altitudes(buf, records)
        assemble(buf, records)
        hold_fixed(buf, records)
        factorise(buf, records)
        solve_forwards(buf, records)
        solve_backwards(buf, records)
        if not advance(buf, records, tolerance):
            break
    find_cut_forces(buf, records)
    store_cut_forces(buf, first, count, cut_force)
    limit_strain(buf, records, limit)
    find_velocities(buf, records)
    find_frames(buf, records)
    go_on(buf, records, dt)
    find_frames(buf, records)
    store_block(buf, first, count, now, is_free, out)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def step_strands(
    constants, is_free, now, held, load, gravity, limit, iterations, tolerance, share, dt, scratch, out, cut_force
):
    """Take all strands one step further.

    Args:
        constants: of all particles, shape (blocks, P, CONSTANT_ROWS * lanes).
        is_free: strands whose root nothing holds, shape (G,).
        now: points, velocity, auxiliary particles, their velocity, ghosts, tensions, frames, spins at the start.
        held: roots (G, 3) and ghosts (G, 2, 3) at the end.
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
