"""Cosserat rods from one state to the next: what goes into the buffer of lanes, the stage, what comes out.

A step is one implicit stage and a way on from it. The stage is implicit Euler over a part theta of the step, solved by
two rounds with one factorised matrix; then everything goes on to the end of the step with the velocities of the stage.
With a theta of one half that would be the implicit midpoint rule, with all of the step it is Euler's. Strands that
something holds back while they turn far are solved anew, with a matrix that is filled anew in every round
(docs/decisions/0036).
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
    STIFF,
    STRIDE,
    Q,
    V,
    X,
    in_block,
    turn_clamp,
)
from mane.strand.cosserat._kernels_solve import factorise, solve_backwards, solve_forwards
from mane.strand.cosserat._kernels_stage import (
    RENEWED_ROUNDS,
    choose_stages,
    go_on,
    lay_vertices,
    mark_far_turned,
    predict,
    renew_axes,
)

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


@in_block
def solve_stage(vertices, gravity, rounds, is_renewed, is_held, constants, buf):
    """Solve a stage from its prediction on, with the matrix of the prediction or one that is renewed in every round."""
    for number in range(rounds):
        if number > 0 and is_renewed:
            renew_axes(vertices, buf)
        if number == 0 or is_renewed:
            factorise(vertices, gravity, constants, buf)
        else:
            solve_forwards(vertices, gravity, constants, buf)
        solve_backwards(vertices, constants, buf)
        lay_vertices(vertices, is_held, constants, buf)


@in_block
def copy_numbers(source, target):
    """Copy a buffer; as an assignment of arrays it would take long to compile."""
    for i in range(len(source)):
        target[i] = source[i]


@in_block
def copy_marked_lanes(source, target):
    """Copy the strands that `mark_far_turned` has marked, and no others: a strand is the same in any company."""
    for lane in range(WIDTH):
        if target[STIFF + np.uint64(lane)] > 0.0:
            for i in range(lane, len(source), WIDTH):
                target[i] = source[i]


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
    """One step of all strands; `constants` (blocks, numbers), `scratch` two rows per thread.

    Clamps were where `before` says and turn from there to where `rotations` of the roots take them. A stage takes
    `theta` of the step and is solved by `rounds` of linear solves.
    """
    vertices = points.shape[1]
    blocks = constants.shape[0]
    threads = scratch.shape[0] // 2
    for thread in prange(threads):
        buf, predicted = scratch[2 * thread], scratch[2 * thread + 1]
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
            is_resisted = buf[STIFF : STIFF + LANES].max() > 0.0
            if is_resisted:
                copy_numbers(buf, predicted)
            solve_stage(vertices, gravity, rounds, False, is_held, own, buf)
            if is_resisted and mark_far_turned(vertices, buf):
                solve_stage(vertices, gravity, RENEWED_ROUNDS, True, is_held, own, predicted)
                copy_marked_lanes(predicted, buf)
            go_on(vertices, is_held, own, buf)
            copy_out(buf, first, STRIDE, STRIDE + X, points_out)
            copy_out(buf, first, STRIDE, STRIDE + V, velocity_out)
            copy_out(buf, first, STRIDE, STRIDE + Q, frames_out)
            copy_out(buf, first, STRIDE, STRIDE + SPIN, spin_out)
            copy_out(buf, first, STRIDE, STRIDE + CUT, cut_force_out)
