"""Chains from one state to the next: what goes into the buffer of lanes, the solves, what comes out.

A step is one implicit stage and a way on from it (`strand/_kernels_stage`). The stage is solved several times, each
time linearised about what the last solve has found; `_reference` is the same step with a dense matrix.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.f64x8 import WIDTH
from mane.simd.jit import njit, prange
from mane.simd.rows import copy_in, copy_out
from mane.strand.chain._kernels_rows import COUPLE, CUT, IMPULSE, INERTIA, SPIN, STRIDE, Q, V, X
from mane.strand.chain._kernels_solve import eliminate, predict, sum_cut_forces, sweep
from mane.strand.chain._kernels_stage import choose_stages, go_on, load_roots, prepare


@njit(cache=True, error_model="numpy", parallel=True)
def step_chains(
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
    iterations,
    is_spine,
    scratch,
    # out
    points_out,
    velocity_out,
    frames_out,
    spin_out,
    cut_force_out,
    clamp_out,
    clamp_spin_out,
):
    """One step of all strands; `constants` (blocks, numbers), `scratch` one row per thread.

    Clamps were where `before` says and turn from there to where `rotations` of the roots take them. A stage takes
    `theta` of a calm step and is solved `iterations` times. `is_spine` says whether vertices lie beside their links.
    """
    slots = np.uint64(points.shape[1])
    blocks, threads = constants.shape[0], scratch.shape[0]
    for thread in prange(threads):
        buf = scratch[thread]
        for block in range(thread, blocks, threads):
            first, own = np.uint64(block * WIDTH), constants[block]
            copy_in(velocity, first, STRIDE, V, buf)
            copy_in(frames, first, STRIDE, STRIDE + Q, buf)
            copy_in(spin, first, STRIDE, STRIDE + SPIN, buf)
            copy_in(cut_force, first, STRIDE, STRIDE + CUT, buf)
            copy_in(force, first, STRIDE, IMPULSE, buf)
            copy_in(resistance, first, STRIDE, INERTIA, buf)
            copy_in(coupling, first, STRIDE, STRIDE + COUPLE, buf)
            load_roots(points, roots, rotations, rest_clamp, before, first, dt, buf, clamp_out, clamp_spin_out)
            choose_stages(slots, dt, theta, own, buf)
            prepare(slots, dt, gravity, own, buf)
            for _ in range(iterations):
                predict(slots, is_spine, own, buf)
                eliminate(slots, is_spine, own, buf)
                sweep(slots, is_spine, own, buf)
                sum_cut_forces(slots, own, buf)
            go_on(slots, dt, is_spine, own, buf)
            copy_out(buf, first, STRIDE, X, points_out)
            copy_out(buf, first, STRIDE, V, velocity_out)
            copy_out(buf, first, STRIDE, STRIDE + Q, frames_out)
            copy_out(buf, first, STRIDE, STRIDE + SPIN, spin_out)
            copy_out(buf, first, STRIDE, STRIDE + CUT, cut_force_out)
