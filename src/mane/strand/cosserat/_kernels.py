"""Cosserat rods from one state to the next: what goes into the buffer of lanes, the stage, what comes out.

A step is one implicit stage and a way on from it. The stage is implicit Euler over a part theta of the step, solved by
two rounds with one factorised matrix; then everything goes on to the end of the step with the velocities of the stage.
With a theta of one half that would be the implicit midpoint rule, with all of the step it is Euler's.
`_reference` is the same step with a dense matrix.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.f64x8 import WIDTH, load
from mane.simd.jit import njit, prange
from mane.simd.memory import use_wide_registers
from mane.simd.rows import LANES, copy_in, copy_out, load3, store3
from mane.strand.cosserat._kernels_rows import (
    COUPLE,
    CUT,
    FORCE,
    FREE,
    R_X,
    RESIST,
    SPIN,
    STRIDE,
    Q,
    V,
    X,
    in_block,
    turn_clamp,
)
from mane.strand.cosserat._kernels_solve import factorise, solve_backwards, solve_forwards
from mane.strand.cosserat._kernels_stage import choose_stages, go_on, lay_vertices, predict

ONE, THREE, FOUR = np.uint64(1), np.uint64(3), np.uint64(4)


@in_block
def load_roots(
    roots,
    rotations,
    rest_clamp,
    before,
    constants,
    first,
    dt,
    buf,
    # out
    clamp,
):
    """Let roots that are held move steadily over the step; put clamps before them, where joint 0 looks for a segment.

    They are where they were `before` and turn to where `rotations` take them, which is put into `clamp`.
    """
    use_wide_registers()
    for lane in range(LANES):
        g = min(first + lane, np.uint64(len(roots)) - ONE)
        for a in range(THREE):
            buf[STRIDE + R_X + a * LANES + lane] = roots[g, a]
        for a in range(FOUR):
            buf[Q + a * LANES + lane] = before[g, a]
        turned, spin = turn_clamp(rotations[g], rest_clamp[g], before[g], dt)
        for a in range(3):
            buf[SPIN + np.uint64(a) * LANES + lane] = spin[a]
        if g == first + lane:  # not those that repeat the last: it may be in the same array
            clamp[g, 0], clamp[g, 1], clamp[g, 2], clamp[g, 3] = turned
    free = load(constants, FREE)
    held = (1.0 - free) / dt
    vx, vy, vz = load3(buf, STRIDE + V)
    x, y, z = load3(buf, STRIDE + X)
    rx, ry, rz = load3(buf, STRIDE + R_X)
    store3(buf, STRIDE + V, free * vx + held * (rx - x), free * vy + held * (ry - y), free * vz + held * (rz - z))


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
    rotations,
    rest_clamp,
    before,
    constants,
    gravity,
    dt,
    theta,
    rounds,
    scratch,
    # out
    points_out,
    velocity_out,
    frames_out,
    spin_out,
    cut_force_out,
    clamp_out,
):
    """One step of all strands; `constants` (blocks, numbers), `scratch` one row per thread.

    Clamps were where `before` says and turn from there to where `rotations` of the roots take them. A stage takes
    `theta` of the step and is solved by `rounds` of linear solves.
    """
    vertices = points.shape[1]
    blocks = constants.shape[0]
    threads = scratch.shape[0]
    for thread in prange(threads):
        buf = scratch[thread]
        for block in range(thread, blocks, threads):
            first, own = np.uint64(block * WIDTH), constants[block]
            copy_in(points, first, STRIDE, STRIDE + X, buf)
            copy_in(velocity, first, STRIDE, STRIDE + V, buf)
            copy_in(frames, first, STRIDE, STRIDE + Q, buf)
            copy_in(spin, first, STRIDE, STRIDE + SPIN, buf)
            copy_in(cut_force, first, STRIDE, STRIDE + CUT, buf)
            copy_in(force, first, STRIDE, STRIDE + FORCE, buf)
            copy_in(resistance, first, STRIDE, STRIDE + RESIST, buf)
            copy_in(coupling, first, STRIDE, STRIDE + COUPLE, buf)
            load_roots(roots, rotations, rest_clamp, before, own, first, dt, buf, clamp_out)
            is_held = own[FREE : FREE + LANES].max() == 0.0
            choose_stages(vertices, dt, theta, own, buf)
            predict(vertices, own, buf)
            for number in range(rounds):
                if number == 0:
                    factorise(vertices, gravity, own, buf)
                else:
                    solve_forwards(vertices, gravity, own, buf)
                solve_backwards(vertices, own, buf)
                lay_vertices(vertices, is_held, own, buf)
            go_on(vertices, is_held, own, buf)
            copy_out(buf, first, STRIDE, STRIDE + X, points_out)
            copy_out(buf, first, STRIDE, STRIDE + V, velocity_out)
            copy_out(buf, first, STRIDE, STRIDE + Q, frames_out)
            copy_out(buf, first, STRIDE, STRIDE + SPIN, spin_out)
            copy_out(buf, first, STRIDE, STRIDE + CUT, cut_force_out)
