"""Where a step of chains begins, how long its implicit stage is, and how they go on from it to the end of the step."""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.geometry._kernels_quaternion import quat_multiply
from mane.simd.f64x8 import broadcast, load
from mane.simd.jit import inline_fast
from mane.simd.masks import select
from mane.simd.math import maximum, minimum, sqrt
from mane.simd.memory import store, use_wide_registers
from mane.simd.reductions import reduce_max
from mane.simd.rows import LANES, LANES_3, LANES_6, load3, load4, load6, store3, store4, store6, store9
from mane.strand._kernels_small import dot, third_axis
from mane.strand._kernels_stage import CALM, PUSHED, RESISTED
from mane.strand.chain._kernels_links import is_coupled, pull_of
from mane.strand.chain._kernels_rows import (
    ALONG,
    BASE,
    CONSTANT_STRIDE,
    COUPLE,
    COUPLED,
    CROSS,
    CUT,
    FREE,
    GUESS,
    IMPULSE,
    INERTIA,
    INV_MASS,
    INV_STAGE,
    INV_THETA,
    LENGTH,
    LOOSE,
    MASS,
    OFFSET,
    ONE,
    PULL,
    SPIN,
    SPIN_INERTIA,
    SPIN_MOMENTUM,
    STAGE,
    START,
    STRIDE,
    VERTEX_V,
    ZERO,
    Q,
    V,
    X,
    carried_frame,
    choose3,
    first_axis,
    in_block,
    less3,
    plus3,
    quat_rotate,
    second_axis,
    times3,
    turned,
    turned_frame,
)

MIN_COSINE = 1e-2  # of half the turn of a clamp in one step: a head that spins round in a step has no sensible rate


@inline_fast
def turn_clamp(rotation, rest, before, dt):
    """Frame of a clamp on a turned root (4), and the angular velocity (3) whose Cayley rotation takes it there."""
    q = quat_multiply(rotation[0], rotation[1], rotation[2], rotation[3], rest[0], rest[1], rest[2], rest[3])
    x, y, z, w = quat_multiply(q[0], q[1], q[2], q[3], -before[0], -before[1], -before[2], before[3])
    scale = math.copysign(2.0 / (max(abs(w), MIN_COSINE) * dt), w)
    return q, (scale * x, scale * y, scale * z)


@in_block
def load_roots(
    points,
    roots,
    rotations,
    rest_clamp,
    before,
    first,
    dt,
    buf,
    # out
    clamp,
    clamp_spin,
):
    """Clamps at the end of the step, which turn there from where they were `before`, and the velocities of the roots.

    Positions `roots` (G, 3) and `rotations` (G, 4) are those at the end. Fills X, Q, SPIN and VERTEX_V of slot 0.
    """
    for lane in range(LANES):
        g = min(first + lane, np.uint64(len(roots)) - ONE)
        turned_to, spin = turn_clamp(rotations[g], rest_clamp[g], before[g], dt)
        for a in range(3):
            row = np.uint64(a) * LANES + lane
            buf[X + row] = points[g, 0, a]
            buf[VERTEX_V + row] = (roots[g, a] - points[g, 0, a]) / dt
            buf[SPIN + row] = spin[a]
        for a in range(4):
            buf[Q + np.uint64(a) * LANES + lane] = turned_to[a]
        if g == first + lane:  # not those that repeat the last: it may be in the same array
            clamp[g, 0], clamp[g, 1], clamp[g, 2], clamp[g, 3] = turned_to
            clamp_spin[g, 0], clamp_spin[g, 1], clamp_spin[g, 2] = spin


@inline_fast
def effect_of_load(constants, c, buf, b):
    """What resists a vertex over its mass [1/s], and the square of what pushes it over its mass."""
    inv_mass = load(constants, c + INV_MASS)
    rx, ry, rz = load3(buf, b + INERTIA)
    push = times3(inv_mass, load3(buf, b + IMPULSE))
    return inv_mass * (rx + ry + rz), dot(*push, *push)


@in_block
def choose_stages(slots, dt, theta, constants, buf):
    """Length of each strand's stage: `theta` of a calm step, up to all of it; see `strand/_kernels_stage`."""
    use_wide_registers()
    resisted, push = effect_of_load(constants, ZERO, buf, ZERO)
    turn = broadcast(0.0)
    for t in range(ONE, slots):
        resists, pushes = effect_of_load(constants, t * CONSTANT_STRIDE, buf, t * STRIDE)
        w = load3(buf, t * STRIDE + SPIN)
        resisted, push, turn = maximum(resists, resisted), maximum(pushes, push), maximum(dot(*w, *w), turn)
    violence = maximum(sqrt(push) * (1.0 / PUSHED), resisted * (dt / RESISTED))
    violence = maximum(turn * ((dt / CALM) * (dt / CALM)), violence)
    part = theta + (1.0 - theta) * minimum(violence, 1.0)
    store(buf, STAGE, part * dt)
    store(buf, INV_STAGE, 1.0 / (part * dt))
    store(buf, INV_THETA, 1.0 / part)


@in_block
def prepare(slots, dt, gravity, constants, buf):
    """Momentum and inertia of the vertices over the stage; what links are like at its start; the frame at the root."""
    use_wide_registers()
    h = load(buf, STAGE)
    prepare_base(dt, h, constants, buf)
    prepare_vertex(constants, ZERO, buf, ZERO, h, gravity)
    for t in range(ONE, slots):
        b, c = t * STRIDE, t * CONSTANT_STRIDE
        prepare_vertex(constants, c, buf, b, h, gravity)
        prepare_coupling(buf, b, h)
        d = third_axis(*load4(buf, b + Q))
        store3(buf, b + START, *d)
        store(buf, b + PULL, pull_of(constants, c, h, load3(buf, b + CUT), d))
    along = dot(*load3(buf, STRIDE + SPIN), *load3(buf, STRIDE + START))
    store(buf, SPIN_MOMENTUM, load(constants, SPIN_INERTIA) * along)


@inline_fast
def prepare_base(dt, h, constants, buf):
    """The frame before the first link: that of the clamp at the end of the stage, else its own at the start."""
    loose = load(constants, LOOSE) > 0.0
    x, y, z, w = load4(buf, Q)
    a, b, c, d = load4(buf, STRIDE + Q)
    x, y, z, w = select(loose, a, x), select(loose, b, y), select(loose, c, z), select(loose, d, w)
    store4(buf, Q, x, y, z, w)
    back = select(loose, 0.0, h - dt)
    q = turned_frame((x, y, z, w), times3(0.5 * back, load3(buf, SPIN)))
    store3(buf, BASE, *third_axis(*q))
    store3(buf, BASE + LANES_3, *first_axis(*q))
    store3(buf, BASE + LANES_6, *second_axis(*q))


@inline_fast
def prepare_vertex(constants, c, buf, b, h, gravity):
    """Momentum m v + h f and inertia m + h resistance."""
    m = load(constants, c + MASS)
    x, y, z = load3(buf, b + V)
    x, y, z = m * (x + h * gravity[0]), m * (y + h * gravity[1]), m * (z + h * gravity[2])
    store3(buf, b + IMPULSE, *plus3((x, y, z), h, load3(buf, b + IMPULSE)))
    xx, yy, zz, xy, xz, yz = load6(buf, b + INERTIA)
    store6(buf, b + INERTIA, m + h * xx, m + h * yy, m + h * zz, h * xy, h * xz, h * yz)


@inline_fast
def prepare_coupling(buf, b, h):
    """Whether any lane is coupled, and 2 h Q if so."""
    buf[b + COUPLED] = reduce_max(select(is_coupled(buf, b), broadcast(1.0), 0.0))
    if buf[b + COUPLED] > 0.0:
        xx, yy, zz, xy, xz, yz = load6(buf, b + COUPLE)
        twice = h + h
        store6(buf, b + COUPLE, twice * xx, twice * yy, twice * zz, twice * xy, twice * xz, twice * yz)


@in_block
def go_on(slots, dt, is_spine, constants, buf):
    """Shape and velocities at the end of the step, from the motion of the stage."""
    use_wide_registers()
    h, inv_theta, zero = load(buf, STAGE), load(buf, INV_THETA), broadcast(0.0)
    q = base_at_end(constants, buf, h, dt)
    p = third_axis(*q)
    end = plus3(load3(buf, X), dt, load3(buf, VERTEX_V))
    store3(buf, X, *end)
    # A root that is held moves steadily.
    store3(buf, V, *choose3(load(constants, FREE) > 0.0, velocity_at_end(buf, ZERO, inv_theta), load3(buf, VERTEX_V)))
    for t in range(ONE, slots):
        b, c = t * STRIDE, t * CONSTANT_STRIDE
        d = direction_at_end(buf, b, h, dt - h)
        q, p = carried_frame(q, p, d), d
        store4(buf, b + Q, *q)
        end = plus3(end, load(constants, c + LENGTH), d)
        vertex = plus3(end, 1.0, quat_rotate(*q, load3(constants, c + OFFSET))) if is_spine else end
        store3(buf, b + X, *vertex)
        store3(buf, b + V, *velocity_at_end(buf, b, inv_theta))
        if buf[b + COUPLED] > 0.0:  # leave zeros to those who come next
            store9(buf, b + CROSS, (zero, zero, zero, zero, zero, zero, zero, zero, zero))


@inline_fast
def base_at_end(constants, buf, h, dt):
    """Frame of the clamp at the end of the step; of a strand that nothing clamps, the frame of its first link."""
    q, loose = load4(buf, Q), load(constants, LOOSE)
    guess, w = load3(buf, STRIDE + GUESS), load3(buf, STRIDE + SPIN)
    half, rest = 0.5 * h * loose, 0.5 * (dt - h) * loose
    q = turned_frame(turned_frame(q, times3(half, guess)), times3(half, less3(w, guess)))
    return turned_frame(q, times3(rest, w))


@inline_fast
def direction_at_end(buf, b, h, rest):
    """A link turns from its prediction by what the solve has added, then goes on for the `rest` of the step [s]."""
    w = load3(buf, b + SPIN)
    d = turned(load3(buf, b + ALONG), times3(0.5 * h, less3(w, load3(buf, b + GUESS))))
    return turned(d, times3(0.5 * rest, w))


@inline_fast
def velocity_at_end(buf, b, inv_theta):
    """The velocity of a vertex goes on as it changed over the stage."""
    before = load3(buf, b + V)
    return plus3(before, inv_theta, less3(load3(buf, b + VERTEX_V), before))
