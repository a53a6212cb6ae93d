"""Numba kernels of the spring model around the Newton steps of `_kernels`: what goes in, what comes out.

Strands go in blocks of eight. Each chunk of blocks has a scratch buffer of its own, so that the result of a strand
depends on nothing but its block, whichever thread it runs on.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from mane.simd.f64x8 import WIDTH, broadcast, load
from mane.simd.jit import FASTMATH, inline_fast, njit, prange
from mane.simd.masks import select
from mane.simd.math import maximum, minimum, sqrt
from mane.simd.memory import store, use_wide_registers
from mane.simd.rows import LANES, copy_in, copy_out, load3, load6, store3, store6
from mane.strand.spring._kernels import (
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
    STAGE,
    START,
    TENSION,
    TWO,
    add3,
    add_altitudes,
    add_springs,
    advance,
    balance_coupling,
    balance_inertia,
    in_block,
)
from mane.strand.spring._kernels_frames import turn
from mane.strand.spring._kernels_solve import eliminate, substitute
from mane.strand.spring._kernels_stage import (
    BEFORE,
    FRAME,
    QUICKER,
    SPIN,
    choose_stages,
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
    """Fill the lanes with strands from `first` on as they are, velocities in AIM; lanes left over repeat the last."""
    use_wide_registers()
    points, velocity, auxiliary, auxiliary_velocity, _, tension, _, spin = now
    force, resistance, coupling = load
    vertex, between = ROOT * RECORD, (ROOT + ONE) * RECORD
    copy_in(points, first, RECORD_2, vertex + START, buf)
    copy_in(velocity, first, RECORD_2, vertex + AIM, buf)
    copy_in(force, first, RECORD_2, vertex + FORCE, buf)
    copy_in(resistance, first, RECORD_2, vertex + RESIST, buf)
    copy_in(auxiliary, first, RECORD_2, between + START, buf)
    copy_in(auxiliary_velocity, first, RECORD_2, between + AIM, buf)
    copy_in(coupling, first, RECORD_2, vertex + RECORD_2 + COUPLE, buf)
    copy_in(spin, first, RECORD_2, between + SPIN, buf)
    copy_in(tension, first, RECORD, RECORD + TENSION, buf)
    zero = broadcast(0.0)
    for j in range(np.uint64(auxiliary.shape[1])):
        store3(buf, between + j * RECORD_2 + FORCE, zero, zero, zero)


@in_block
def set_out(buf, records, gravity):
    """Make of what was loaded what the stage wants: everything over its length, and first estimates.

    Those go straight on, which keeps the segments of a turning strand at length. No strand has settled.
    """
    use_wide_registers()
    one = broadcast(1.0)
    gx, gy, gz = gravity[0], gravity[1], gravity[2]
    for p in range(ONE, records):
        i = p * RECORD
        dt = load(buf, i - RECORD + STAGE)
        rate = 1.0 / dt
        store(buf, i + STAGE, dt)
        store(buf, i + GOES_ON, one)
        store(buf, i + LAG, load(buf, i + LAG) * rate)
        mass = load(buf, i + INERTIA)
        store(buf, i + INERTIA, mass * rate * rate)
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


@inline_fast
def scale_rows(buf, i, factor):
    """Multiply six rows."""
    a, b, c, d, e, f = load6(buf, i)
    store6(buf, i, factor * a, factor * b, factor * c, factor * d, factor * e, factor * f)


@inline_fast
def end_stage(buf, i, theta):
    """Where a particle gets by the end of the stage, as three rows; END has where it is at the end of the step."""
    x, y, z = load3(buf, i + START)
    a, b, c = load3(buf, i + END)
    rest = 1.0 - theta
    return a - rest * (a - x), b - rest * (b - y), c - rest * (c - z)


@in_block
def load_held(buf, first, now, held):
    """Put ghosts, and roots that are held, where they are at the start and at the end of the stage."""
    use_wide_registers()
    root = ROOT * RECORD
    theta, free = 1.0 / load(buf, QUICKER), load(buf, root + FREE)
    copy_in(now[4], first, RECORD, RECORD + START, buf)
    copy_in(held[3], first, RECORD, RECORD + END, buf)
    for p in range(ONE, ROOT):
        x, y, z = end_stage(buf, p * RECORD, theta)
        store3(buf, p * RECORD + END, x, y, z)
        store3(buf, p * RECORD + AIM, x, y, z)
    ux, uy, uz = load3(buf, root + END)
    positions = held[0]
    copy_in(positions.reshape(positions.shape[0], 1, 3), first, RECORD, root + END, buf)
    x, y, z = end_stage(buf, root, theta)
    is_free = free > 0.0
    store3(buf, root + END, select(is_free, ux, x), select(is_free, uy, y), select(is_free, uz, z))


@in_block
def find_cut_forces(buf, records):
    """Leave in FORCE of each record what it and everything beyond it pulls at the springs with.

    What inertia, gravity and the load leave unbalanced is what the springs have held.
    """
    use_wide_registers()
    balance_inertia(buf, records)
    balance_coupling(buf, records)
    for back in range(TWO, records - ROOT + ONE):
        o = (records - back) * RECORD + FORCE
        add3(buf, o, *load3(buf, o + RECORD))


@in_block
def limit_strain(buf, records, limit):
    """Bring every segment within `limit` of its rest length, moving what lies beyond it along.

    A strand that nothing holds keeps its centre of mass.
    """
    use_wide_registers()
    zero = broadcast(0.0)
    store3(buf, ROOT * RECORD + FORCE, zero, zero, zero)
    start_sums(buf)
    for p in range(ROOT + TWO, records, TWO):
        i = p * RECORD
        x, y, z = load3(buf, i + END)
        a, b, c = load3(buf, i - RECORD_2 + END)
        dx, dy, dz = x - a, y - b, z - c
        length = sqrt(dx * dx + dy * dy + dz * dz)
        rest = load(buf, i + REST + LANES)
        low, high = rest * (1.0 - limit), rest * (1.0 + limit)
        wanted = minimum(maximum(length, low), high)
        scale = (wanted - length) / (length + TOO_SHORT)
        sx, sy, sz = load3(buf, i - RECORD_2 + FORCE)
        beyond = (sx + scale * dx, sy + scale * dy, sz + scale * dz)
        half = (0.5 * (sx + beyond[0]), 0.5 * (sy + beyond[1]), 0.5 * (sz + beyond[2]))
        store3(buf, i - RECORD + FORCE, *half)
        store3(buf, i + FORCE, *beyond)
        sum_up(buf, i, half, beyond)
    for p in range(ROOT, records):
        i = p * RECORD
        x, y, z = load3(buf, i + FORCE)
        add3(buf, i + END, x, y, z)
    shift_free(buf, records)


@inline_fast
def go_on_changing(buf, i, quicker):
    """A velocity, which goes on as it changed over the stage from what is in AIM to what is in FORCE."""
    x, y, z = load3(buf, i + FORCE)
    a, b, c = load3(buf, i + AIM)
    store3(buf, i + FORCE, a + quicker * (x - a), b + quicker * (y - b), c + quicker * (z - c))


@in_block
def finish_velocities(buf, records):
    """Leave the velocities of all particles at the end of the step in FORCE; those at its start are in AIM."""
    use_wide_registers()
    quicker = load(buf, QUICKER)
    # A root that is held moves steadily.
    go_on_changing(buf, ROOT * RECORD, 1.0 + load(buf, ROOT * RECORD + FREE) * (quicker - 1.0))
    for p in range(ROOT + ONE, records):
        go_on_changing(buf, p * RECORD, quicker)


@in_block
def store_block(buf, first, records, now, out):
    """Write the lanes to strands from `first` on."""
    points, velocity, auxiliary, auxiliary_velocity, frames, spin, tension = out
    vertex, between = ROOT * RECORD, (ROOT + ONE) * RECORD
    copy_in(now[1], first, RECORD_2, vertex + AIM, buf)
    copy_in(now[3], first, RECORD_2, between + AIM, buf)
    finish_velocities(buf, records)
    copy_out(buf, first, RECORD_2, vertex + END, points)
    copy_out(buf, first, RECORD_2, vertex + FORCE, velocity)
    copy_out(buf, first, RECORD_2, between + END, auxiliary)
    copy_out(buf, first, RECORD_2, between + FORCE, auxiliary_velocity)
    copy_out(buf, first, RECORD_2, between + SPIN, spin)
    copy_out(buf, first, RECORD, RECORD + TENSION, tension)
    copy_out(buf, first, RECORD_2, between + FRAME, frames)


@in_block
def store_cut_forces(buf, first, cut_force):
    """Write the lanes; a cut is in the middle of a segment, where its auxiliary particle counts by half."""
    use_wide_registers()
    between = (ROOT + ONE) * RECORD
    for j in range(np.uint64(cut_force.shape[1])):
        i = between + j * RECORD_2 + FORCE
        x, y, z = load3(buf, i)
        a, b, c = load3(buf, i + RECORD)
        store3(buf, i, 0.5 * (x + a), 0.5 * (y + b), 0.5 * (z + c))
    copy_out(buf, first, RECORD_2, between + FORCE, cut_force)


@in_block
def step_block(
    block, constants, is_free, now, held, load, gravity, limit, iterations, tolerance, theta, dt, buf, out, cut_force
):
    """Take one block of strands one step further; arguments as in `step_strands`."""
    first = block * WIDTH
    count = min(WIDTH, is_free.shape[0] - first)
    records = np.uint64(constants.shape[0] + 1)
    place_ghosts(first, count, held[:3], held[3])
    load_constants(buf, constants)
    load_block(buf, np.uint64(first), now, load)
    choose_stages(buf, records, dt, theta)
    set_out(buf, records, gravity)
    load_held(buf, np.uint64(first), now, held)
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
    store_cut_forces(buf, np.uint64(first), cut_force)
    limit_strain(buf, records, limit)
    find_velocities(buf, records)
    find_spins(buf, records)
    go_on(buf, records, dt)
    copy_in(now[6], np.uint64(first), RECORD_2, (ROOT + ONE) * RECORD + BEFORE, buf)
    find_frames(buf, records)
    store_block(buf, np.uint64(first), records, now, out)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def step_strands(
    constants, is_free, now, held, load, gravity, limit, iterations, tolerance, theta, dt, scratch, out, cut_force
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
        theta: of a calm step that its implicit stage takes.
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
                theta,
                dt,
                scratch[chunk],
                out,
                cut_force,
            )
