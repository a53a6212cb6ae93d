"""One linear solve of eight chains side by side: predicted shape, elimination, motion, cut forces."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.f64x8 import broadcast, load
from mane.simd.jit import inline_fast
from mane.simd.masks import select
from mane.simd.memory import store, use_wide_registers
from mane.simd.reductions import reduce_max
from mane.simd.rows import LANES, LANES_3, LANES_6, load3, load6, store3
from mane.strand._kernels_small import (
    full_times_vector,
    symmetric_inverse,
    symmetric_times_full,
    symmetric_times_vector,
    transposed_times_full_symmetric,
    transposed_times_vector,
)
from mane.strand.chain._kernels_links import (
    coupled,
    cross_coupling,
    eliminate_joint,
    gather_link,
    less6,
    plus6,
    plus_vertex,
    predict_joint,
    predict_link,
    pull_of,
    sweep_link,
    unbalanced,
)
from mane.strand.chain._kernels_rows import (
    ALONG,
    BASE,
    CONSTANT_STRIDE,
    COUPLED,
    CUT,
    FREE,
    GAIN_W,
    GUESS,
    IMPULSE,
    INERTIA,
    INV_STAGE,
    LOOSE,
    ONE,
    PULL,
    RATE,
    SPIN,
    SPIN_INERTIA,
    SPIN_MOMENTUM,
    STAGE,
    STRIDE,
    TWO,
    VERTEX_V,
    choose3,
    in_block,
    less3,
    minus3,
    plus3,
    times3,
    turned,
)

# Constants to LLVM, but of one type to Numba, which would compile functions anew for a True and a False.
YES, NO = np.True_, np.False_


@in_block
def predict(slots, is_spine, constants, buf):
    """Carry links to the end of the stage by the motion that is known; linearise springs and tension there."""
    use_wide_registers()
    h = load(buf, STAGE)
    for t in range(ONE, slots):
        b = t * STRIDE
        predict_link(buf, b, h)
        if buf[b + COUPLED] > 0.0:  # most often not
            cross_coupling(constants, t * CONSTANT_STRIDE, buf, b)
    # The frame of the clamp; of a strand that nothing clamps, that of its first link, which turns with it.
    half = times3(0.5 * load(constants, LOOSE) * h, load3(buf, STRIDE + GUESS))
    store3(buf, GUESS, *load3(buf, SPIN))
    store3(buf, ALONG, *turned(load3(buf, BASE), half))
    x, y = turned(load3(buf, BASE + LANES_3), half), turned(load3(buf, BASE + LANES_6), half)
    for t in range(ONE, slots):
        x, y = predict_joint(constants, t * CONSTANT_STRIDE, buf, t * STRIDE, h, is_spine, x, y)


@in_block
def eliminate(slots, is_spine, constants, buf):
    """Eliminate the joints from tip to root, then solve for the motion of roots that nothing clamps."""
    use_wide_registers()
    # Twice the same loop, each without a branch: where branches meet, values leave their registers.
    if is_spine:
        beyond = eliminate_joints(slots, YES, constants, buf)
    else:
        beyond = eliminate_joints(slots, NO, constants, buf)
    gathered = gather_link(constants, CONSTANT_STRIDE, buf, STRIDE, beyond)
    eliminate_joint(buf, STRIDE, gathered)
    if reduce_max(load(constants, LOOSE)) > 0.0:
        solve_loose(constants, buf, gathered)


@inline_fast
def eliminate_joints(slots, is_spine, constants, buf):
    """Eliminate all joints but the first; return what remains, a function of the motion of the first link's end."""
    zero = broadcast(0.0)
    none3, none6 = (zero, zero, zero), (zero, zero, zero, zero, zero, zero)
    beyond = none6, (zero, zero, zero, zero, zero, zero, zero, zero, zero), none6, none3, none3
    for i in range(slots - TWO):
        t = slots - ONE - i
        b, c = t * STRIDE, t * CONSTANT_STRIDE
        gathered = gather_link(constants, c, buf, b, plus_vertex(buf, b, is_spine, beyond))
        beyond = eliminate_joint(buf, b, gathered)
    return plus_vertex(buf, STRIDE, is_spine, beyond)


@inline_fast
def solve_loose(constants, buf, gathered):
    """Motion of the first link of strands that nothing clamps: it turns freely and, if free, moves freely.

    `gathered` is the quadratic function of its motion, all of the strand but the root vertex. Its joint is taken out.
    """
    A, B, C, p, q = gathered
    d, own = load3(buf, STRIDE + ALONG), load(constants, SPIN_INERTIA)
    s = times3(own, d)
    A = plus6(A, (s[0] * d[0], s[1] * d[1], s[2] * d[2], s[0] * d[1], s[0] * d[2], s[1] * d[2]))
    p = plus3(p, load(buf, SPIN_MOMENTUM), d)
    inverse = symmetric_inverse(*A)
    v = choose3(load(constants, FREE) > 0.0, free_velocity(buf, inverse, B, C, p, q), load3(buf, VERTEX_V))
    w = symmetric_times_vector(*inverse, *less3(p, full_times_vector(B, *v)))
    loose = load(constants, LOOSE) > 0.0
    store3(buf, VERTEX_V, *v)
    store3(buf, SPIN, *choose3(loose, w, load3(buf, SPIN)))
    for row in range(GAIN_W, RATE + LANES + LANES, LANES):
        store(buf, STRIDE + row, select(loose, 0.0, load(buf, STRIDE + row)))


@inline_fast
def free_velocity(buf, inverse, B, C, p, q):
    """Velocity of a free root: the rest of the strand, with its turning eliminated, and the root vertex balance."""
    turn = symmetric_times_full(*inverse, B)
    system = less6(plus6(C, load6(buf, INERTIA)), transposed_times_full_symmetric(B, turn))
    right = plus3(less3(q, transposed_times_vector(turn, *p)), 1.0, load3(buf, IMPULSE))
    return symmetric_times_vector(*symmetric_inverse(*system), *right)


@in_block
def sweep(slots, is_spine, constants, buf):
    """Motion of all links from root to tip."""
    use_wide_registers()
    w, v = load3(buf, SPIN), load3(buf, VERTEX_V)
    for t in range(ONE, slots):
        b = t * STRIDE
        w, v = sweep_link(constants, t * CONSTANT_STRIDE, buf, b, is_spine, w, v)
        store3(buf, b + SPIN, *w)


@in_block
def sum_cut_forces(slots, constants, buf):
    """Forces through all links from tip to root: what acts on all beyond, less what its acceleration takes."""
    use_wide_registers()
    h, inv_h, zero = load(buf, STAGE), load(buf, INV_STAGE), broadcast(0.0)
    force = after = (zero, zero, zero)
    for i in range(slots - ONE):
        t = slots - ONE - i
        b = t * STRIDE
        force = plus3(minus3(force, 0.5 * inv_h, after), inv_h, unbalanced(buf, b))
        after = (zero, zero, zero)
        if buf[b + COUPLED] > 0.0:
            force = minus3(force, 0.5 * inv_h, coupled(buf, b, b - STRIDE))
            after = coupled(buf, b, b)
        store3(buf, b + CUT, *force)
        store(buf, b + PULL, pull_of(constants, t * CONSTANT_STRIDE, h, force, load3(buf, b + ALONG)))
