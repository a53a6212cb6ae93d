"""Numba kernels of the spring model around the Newton steps of `_kernels_spring`: what goes in, what comes out.

Strands go in blocks of eight. Each chunk of blocks has a scratch buffer of its own, so that the result of a strand
depends on nothing but its block, whichever thread it runs on.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from mane.strand._kernels_small import FASTMATH, LANE_COUNT, LANES, LANES_2
from mane.strand._kernels_spring import (
    AIM,
    CONSTANT_ROWS,
    COUPLE,
    END,
    FORCE,
    INERTIA,
    LAG,
    ONE,
    RECORD,
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
from mane.strand._kernels_spring_frames import set_frame
from mane.strand._kernels_spring_solve import factorise, hold_fixed, solve_backwards, solve_forwards

TOO_SHORT = 1e-12  # [m]: a segment of no length has no direction to lengthen it in


@in_block
def load_constants(buf, constants, dt):
    """Copy a block's constants (P, CONSTANT_ROWS * lanes) to its records."""
    for p in range(np.uint64(constants.shape[0])):
        o = (p + ONE) * RECORD
        for k in range(np.uint64(CONSTANT_ROWS) * LANES):
            buf[o + k] = constants[p, k]
        for s in range(LANES):
            buf[o + LAG + s] /= dt
            buf[o + INERTIA + s] /= dt * dt


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
def load_strand(buf, s, g, now, held, load, gravity, is_free, dt):
    """Fill lane s with strand g."""
    points, velocity, auxiliary, auxiliary_velocity, clamp, tension, _ = now
    root, clamp_after = held
    force, resistance, coupling = load
    for ghost in range(2):
        for c in range(3):
            k = np.uint64(1 + ghost) * RECORD + np.uint64(c) * LANES + s
            buf[k + START] = clamp[g, ghost, c]
            buf[k + END] = buf[k + AIM] = clamp_after[g, ghost, c]
    for j in range(points.shape[1]):
        i = (ROOT + TWO * np.uint64(j)) * RECORD + s
        load_particle(buf, i, points[g, j], velocity[g, j], gravity, dt)
        for c in range(3):
            buf[i + AIM + np.uint64(c) * LANES] += force[g, j, c] / buf[i + INERTIA]
        for c in range(6):
            buf[i + RESIST + np.uint64(c) * LANES] = resistance[g, j, c] / dt
    for j in range(auxiliary.shape[1]):
        i = (ROOT + ONE + TWO * np.uint64(j)) * RECORD + s
        load_particle(buf, i, auxiliary[g, j], auxiliary_velocity[g, j], gravity, dt)
        for c in range(6):
            buf[i + RECORD + COUPLE + np.uint64(c) * LANES] = coupling[g, j, c] / dt
    for p in range(tension.shape[1]):
        for c in range(3):
            buf[np.uint64(p + 1) * RECORD + TENSION + np.uint64(c) * LANES + s] = tension[g, p, c]
    if not is_free:
        for c in range(3):
            buf[ROOT * RECORD + END + np.uint64(c) * LANES + s] = root[g, c]


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
def limit_strain(buf, s, records, limit, is_free):
    """Bring every segment of lane s within `limit` of its rest length, moving what lies beyond it along.

    A strand that nothing holds keeps its centre of mass.
    """
    i = ROOT * RECORD + s
    sx, sy, sz = 0.0, 0.0, 0.0
    total, mx, my, mz = buf[i + INERTIA], 0.0, 0.0, 0.0
    px, py, pz = buf[i + END], buf[i + END + LANES], buf[i + END + LANES_2]
    for p in range(ROOT + TWO, records, TWO):
        i = p * RECORD + s
        x, y, z = buf[i + END], buf[i + END + LANES], buf[i + END + LANES_2]
        dx, dy, dz = x - px, y - py, z - pz
        px, py, pz = x, y, z
        length = math.sqrt(dx * dx + dy * dy + dz * dz)
        rest = buf[i + REST + LANES]
        excess = min(max(length, rest * (1.0 - limit)), rest * (1.0 + limit)) - length
        scale = excess / max(length, TOO_SHORT)
        bx, by, bz = sx + scale * dx, sy + scale * dy, sz + scale * dz
        hx, hy, hz = 0.5 * (sx + bx), 0.5 * (sy + by), 0.5 * (sz + bz)
        sx, sy, sz = bx, by, bz
        add3(buf, i - RECORD + END, hx, hy, hz)
        add3(buf, i + END, sx, sy, sz)
        light, heavy = buf[i - RECORD + INERTIA], buf[i + INERTIA]
        total += light + heavy
        mx += light * hx + heavy * sx
        my += light * hy + heavy * sy
        mz += light * hz + heavy * sz
    if is_free:
        for p in range(ROOT, records):
            add3(buf, p * RECORD + s + END, -mx / total, -my / total, -mz / total)


@in_block
def store_strand(buf, s, g, azimuth, frames_before, dt, out):
    """Write lane s to strand g."""
    points, velocity, auxiliary, auxiliary_velocity, frames, spin, tension = out
    for j in range(points.shape[1]):
        i = (ROOT + TWO * np.uint64(j)) * RECORD + s
        for c in range(3):
            k = i + np.uint64(c) * LANES
            points[g, j, c] = buf[k + END]
            velocity[g, j, c] = (buf[k + END] - buf[k + START]) / dt
    for j in range(auxiliary.shape[1]):
        i = (ROOT + ONE + TWO * np.uint64(j)) * RECORD + s
        for c in range(3):
            k = i + np.uint64(c) * LANES
            auxiliary[g, j, c] = buf[k + END]
            auxiliary_velocity[g, j, c] = (buf[k + END] - buf[k + START]) / dt
        set_frame(
            points[g, j],
            points[g, j + 1],
            auxiliary[g, j],
            velocity[g, j],
            velocity[g, j + 1],
            auxiliary_velocity[g, j],
            azimuth[g, j],
            frames_before[g, j],
            frames[g, j],
            spin[g, j],
        )
    for p in range(tension.shape[1]):
        for c in range(3):
            tension[g, p, c] = buf[np.uint64(p + 1) * RECORD + TENSION + np.uint64(c) * LANES + s]


@in_block
def store_cut_forces(buf, s, g, cut_force):
    """Write lane s; a cut passes through the middle of a segment, where its auxiliary particle counts by half."""
    for j in range(cut_force.shape[1]):
        i = (ROOT + ONE + TWO * np.uint64(j)) * RECORD + FORCE + s
        for c in range(3):
            k = i + np.uint64(c) * LANES
            cut_force[g, j, c] = 0.5 * (buf[k] + buf[k + RECORD])


@in_block
def step_block(
    block, constants, is_free, azimuth, now, held, load, gravity, limit, iterations, dt, buf, out, cut_force
):
    """Take one block of strands one step further; arguments as in `step_strands`."""
    first, strands = block * LANE_COUNT, is_free.shape[0]
    records = np.uint64(constants.shape[0] + 1)
    load_constants(buf, constants, dt)
    for s in range(LANE_COUNT):
        g = min(first + s, strands - 1)  # spare lanes repeat the last strand
        load_strand(buf, np.uint64(s), g, now, held, load, gravity, is_free[g], dt)
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
        advance(buf, records)
    find_cut_forces(buf, records)
    for s in range(min(LANE_COUNT, strands - first)):
        store_cut_forces(buf, np.uint64(s), first + s, cut_force)
        limit_strain(buf, np.uint64(s), records, limit, is_free[first + s])
        store_strand(buf, np.uint64(s), first + s, azimuth, now[6], dt, out)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def step_strands(constants, is_free, azimuth, now, held, load, gravity, limit, iterations, dt, scratch, out, cut_force):
    """Take all strands one step further.

    Args:
        constants: of all particles, shape (blocks, P, CONSTANT_ROWS * lanes).
        is_free: strands whose root nothing holds, shape (G,).
        azimuth: of the auxiliary particles, shape (G, N, 2).
        now: points, velocity, auxiliary particles, their velocity, ghosts, tensions, frames at the start.
        held: roots (G, 3) and ghosts (G, 2, 3) at the end.
        load: force, resistance, coupling.
        gravity: shape (3,).
        limit: of the strain of a segment.
        iterations: Newton steps.
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
                azimuth,
                now,
                held,
                load,
                gravity,
                limit,
                iterations,
                dt,
                scratch[chunk],
                out,
                cut_force,
            )
