"""Balance of whole hairs that are drawn to their targets: Newton's method from tip to root and back, in lanes.

A small turn of segment i by the vector w_i, as seen from outside, is q_i -> (1 + w_i) q_i. With d the tangent, v as in
hsu2024 eq. 14 and r_i = q_(i-1) q0_i conj(q_i), what is left of a joint's bend off its rest, a hair is in balance where

    G_i = d_i x v_i - k_i Im r_i + k_(i+1) Im r_(i+1) = 0

To first order, with R = Re r + [Im r]x, and x_i the shift of the segment's start, on which the drift correction hangs,

    dG_i = L_i w_(i-1) + H_i w_i + U_i w_(i+1) + 2 pull [d_i]x x_i        L_i = -k_i R_i^T,  U_i = -k_(i+1) R_(i+1)
    H_i  = d v^T + v d^T - 2 d . v + k_i Re r_i + k_(i+1) Re r_(i+1)      (and parts that vanish where G does)
    x_(i+1) = c (x_i - 2 l [d_i]x w_i)                                    c = 1 unless eq. 12 is taken as printed

A turn depends on what is beyond only by w_i = a_i + B_i w_(i-1) + P_i x_i: eliminated from tip to root it takes 3 x 3
blocks, although forces depend on all segments before.
"""

# mypy: allow-untyped-defs

from mane.simd.f64x8 import WIDTH, empty_rows
from mane.simd.f64x16 import broadcast, load
from mane.simd.jit import inline, njit, prange
from mane.simd.masks import select
from mane.simd.math import absolute, maximum, minimum, sqrt
from mane.simd.memory import store, use_wide_registers
from mane.simd.reductions import reduce_max
from mane.skin.physical._kernels_rows import (
    AGAIN,
    FORCE,
    FRAME,
    HEAD,
    HELD,
    LANES,
    LENGTH,
    PLACE,
    REST,
    REST_HEAD,
    STIFFNESS,
    STRAIN,
    TARGET,
    TURN,
    VERTEX,
    gather_hairs,
    load_quaternion,
    load_vector,
    scatter_hairs,
    store_quaternion,
    store_vector,
)
from mane.skin.physical._kernels_sweeps import (
    conjugate,
    dot3,
    pulled_to,
    scaled,
    segment_vector,
    sum_of,
    sweep_again,
    sweep_first,
    third_axis,
    times,
    torque_axis,
)

ROUNDS_AT_MOST = 100
RESTING = 1e-6  # change of a point in one sweep, over the length of a segment
BALANCED = 1e-9  # residual torque over the stiffness of the joint
LARGEST_TURN = 0.5  # of a segment in one step: half an angle
LEAST_SHIFT = 1e-3  # of the stiffness of a joint, added to it until a step is stable; 4 times that, and so on
# Rows of a segment: a, B, P, and the orientation and the end that the step leads to.
A, B, P, NEXT, END, STEP = 0, 3 * LANES, 12 * LANES, 21 * LANES, 25 * LANES, 28 * LANES
# Rows behind those, one number for each hair: squares of the largest residual and the largest turn, the least minor of
# the elimination, the shift.
RESIDUAL, TURN_SIZE, STABLE, SHIFT, HAIR_ROWS = 0, LANES, 2 * LANES, 3 * LANES, 4 * LANES


@inline
def cross(a, b):
    """Vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inline
def load_matrix(rows, at):
    """Nine rows."""
    return load_vector(rows, at), load_vector(rows, at + 3 * LANES), load_vector(rows, at + 6 * LANES)


@inline
def store_matrix(rows, at, m):
    """Write nine rows."""
    store_vector(rows, at, m[0])
    store_vector(rows, at + 3 * LANES, m[1])
    store_vector(rows, at + 6 * LANES, m[2])


@inline
def row_times(row, m):
    """A row times a matrix."""
    return (
        row[0] * m[0][0] + row[1] * m[1][0] + row[2] * m[2][0],
        row[0] * m[0][1] + row[1] * m[1][1] + row[2] * m[2][1],
        row[0] * m[0][2] + row[1] * m[1][2] + row[2] * m[2][2],
    )


@inline
def matrix_product(a, b):
    """Product of matrices."""
    return row_times(a[0], b), row_times(a[1], b), row_times(a[2], b)


@inline
def applied(m, v):
    """A matrix times a vector."""
    return dot3(m[0], v), dot3(m[1], v), dot3(m[2], v)


@inline
def times_cross(m, d, factor):
    """A matrix times [d]x times a number: each row becomes row x d."""
    return (
        scaled(factor, cross(m[0], d)),
        scaled(factor, cross(m[1], d)),
        scaled(factor, cross(m[2], d)),
    )


@inline
def coupling(r, k):
    """-k (Re r + [Im r]x)."""
    x, y, z, w = -k * r[0], -k * r[1], -k * r[2], -k * r[3]
    return (w, -z, y), (z, w, -x), (-y, x, w)


@inline
def transposed(m):
    """The transpose."""
    return (m[0][0], m[1][0], m[2][0]), (m[0][1], m[1][1], m[2][1]), (m[0][2], m[1][2], m[2][2])


@inline
def plus(a, b):
    """Sum of matrices."""
    return sum_of(a[0], b[0]), sum_of(a[1], b[1]), sum_of(a[2], b[2])


@inline
def negative_inverse(m):
    """Minus the inverse; also the least of its leading minors, which are positive where the balance is stable."""
    x, y, z = cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])
    determinant = dot3(m[0], x)
    least = minimum(minimum(m[0][0], z[2]), determinant)
    factor = -1.0 / determinant
    return transposed((scaled(factor, x), scaled(factor, y), scaled(factor, z))), least


@inline
def joint_turn(before, rest, q):
    """r_i, with w >= 0 (eq. 3)."""
    r = times(times(before, rest), conjugate(q))
    sign = select(r[3] < 0.0, broadcast(-1.0), broadcast(1.0))
    return sign * r[0], sign * r[1], sign * r[2], sign * r[3]


@inline
def take(mask, source, at, rows, to):
    """Copy the lanes of a row that the mask has."""
    store(rows, to, select(mask, load(source, at), load(rows, to)))


@njit(cache=True, error_model="numpy")
def eliminate(rest, at, segments, pull, blend_yield, rows, steps):
    """Fill a, B and P of all segments, from tip to root, the largest residual, |G| / k, and the least minor."""
    use_wide_registers()
    zero = broadcast(0.0)
    c = 1.0 - blend_yield * pull
    nothing = (zero, zero, zero)
    a, b, p = nothing, (nothing, nothing, nothing), (nothing, nothing, nothing)
    u, beyond, stiff = (nothing, nothing, nothing), nothing, zero
    residual, stable, shift = zero, broadcast(1e300), load(steps, segments * STEP + SHIFT)
    q = load_quaternion(rows, HEAD + (segments - 1) * VERTEX + FRAME)
    for back in range(segments):
        i = segments - 1 - back
        own, here = at + REST_HEAD + i * REST, HEAD + i * VERTEX
        before = load_quaternion(rows, here - VERTEX + FRAME if i > 0 else TURN)
        l, k = load(rest, own + LENGTH), load(rest, own + STIFFNESS)
        d, r = third_axis(q), joint_turn(before, load_quaternion(rest, own + AGAIN), q)
        push = scaled(l, load_vector(rows, here + FORCE))
        target, place = load_vector(rows, here + VERTEX + TARGET), load_vector(rows, here + PLACE)
        v = torque_axis(push, pulled_to(target, place, pull))
        g = sum_of(cross(d, v), beyond)
        beyond = (k * r[0], k * r[1], k * r[2])
        g = (g[0] - beyond[0], g[1] - beyond[1], g[2] - beyond[2])
        residual = maximum(residual, dot3(g, g) / (k * k))
        dv = stiff + k * (r[3] + shift) - 2.0 * dot3(d, v)
        xy, xz, yz = d[0] * v[1] + d[1] * v[0], d[0] * v[2] + d[2] * v[0], d[1] * v[2] + d[2] * v[1]
        h = (
            (dv + 2.0 * d[0] * v[0], xy, xz),
            (xy, dv + 2.0 * d[1] * v[1], yz),
            (xz, yz, dv + 2.0 * d[2] * v[2]),
        )
        up = matrix_product(u, p)
        m = plus(plus(h, matrix_product(u, b)), times_cross(up, d, -2.0 * c * l))
        inverse, least = negative_inverse(m)
        stable = minimum(stable, least)
        w = (
            (c * up[0][0], c * up[0][1] - 2.0 * pull * d[2], c * up[0][2] + 2.0 * pull * d[1]),
            (c * up[1][0] + 2.0 * pull * d[2], c * up[1][1], c * up[1][2] - 2.0 * pull * d[0]),
            (c * up[2][0] - 2.0 * pull * d[1], c * up[2][1] + 2.0 * pull * d[0], c * up[2][2]),
        )
        a = applied(inverse, sum_of(g, applied(u, a)))
        u, stiff = coupling(r, k), k * r[3]
        b, p = matrix_product(inverse, transposed(u)), matrix_product(inverse, w)
        store_vector(steps, i * STEP + A, a)
        store_matrix(steps, i * STEP + B, b)
        store_matrix(steps, i * STEP + P, p)
        q = before
    store(steps, segments * STEP + RESIDUAL, select(load(rows, HELD) > 0.0, 0.0, residual))
    store(steps, segments * STEP + STABLE, stable)


@njit(cache=True, error_model="numpy")
def follow(rest, at, segments, pull, blend_yield, rows, steps):
    """Put the turns of the step in the place of a, from root to tip, and fill the size of the largest."""
    use_wide_registers()
    zero = broadcast(0.0)
    c, size, w, x = 1.0 - blend_yield * pull, zero, (zero, zero, zero), (zero, zero, zero)
    for i in range(segments):
        own = i * STEP
        w = sum_of(
            load_vector(steps, own + A),
            sum_of(applied(load_matrix(steps, own + B), w), applied(load_matrix(steps, own + P), x)),
        )
        store_vector(steps, own + A, w)
        size = maximum(size, dot3(w, w))
        l = load(rest, at + REST_HEAD + i * REST + LENGTH)
        d = third_axis(load_quaternion(rows, HEAD + i * VERTEX + FRAME))
        x = scaled(c, sum_of(x, scaled(2.0 * l, cross(w, d))))
    store(steps, segments * STEP + TURN_SIZE, size)


@njit(cache=True, error_model="numpy")
def try_step(rest, at, segments, pull, blend_yield, rows, steps):
    """Turn all segments, and keep that for hairs that are stable and nearer to their balance; whether any are not."""
    use_wide_registers()
    zero = broadcast(0.0)
    size = sqrt(load(steps, segments * STEP + TURN_SIZE))
    share = minimum(LARGEST_TURN / maximum(size, 1e-300), 1.0)
    strain, last = load(rest, at + STRAIN), segments * STEP
    place, before = load_vector(rows, HEAD + TARGET), load_quaternion(rows, TURN)
    residual, torque, stiff = zero, (zero, zero, zero), broadcast(1.0)
    for i in range(segments):
        own, here = at + REST_HEAD + i * REST, HEAD + i * VERTEX
        l, k = load(rest, own + LENGTH), load(rest, own + STIFFNESS)
        w = scaled(share, load_vector(steps, i * STEP + A))
        inverse = 1.0 / sqrt(1.0 + dot3(w, w))
        w = scaled(inverse, w)
        q = times((w[0], w[1], w[2], inverse), load_quaternion(rows, here + FRAME))
        r = joint_turn(before, load_quaternion(rest, own + AGAIN), q)
        moment = (k * r[0], k * r[1], k * r[2])
        if i > 0:
            g = sum_of(torque, moment)
            residual = maximum(residual, dot3(g, g) / (stiff * stiff))
        push, d = scaled(l, load_vector(rows, here + FORCE)), third_axis(q)
        pulled = pulled_to(load_vector(rows, here + VERTEX + TARGET), place, pull)
        torque = cross(d, torque_axis(push, pulled))
        torque, stiff = (torque[0] - moment[0], torque[1] - moment[1], torque[2] - moment[2]), k
        place = sum_of(place, segment_vector(d, push, pulled, l, strain, blend_yield, pull))
        store_quaternion(steps, i * STEP + NEXT, q)
        store_vector(steps, i * STEP + END, place)
        before = q
    residual = maximum(residual, dot3(torque, torque) / (stiff * stiff))
    shift, now = load(steps, last + SHIFT), load(steps, last + RESIDUAL)
    # Where a balance is lost, torques grow on the way to the next one: a shifted step need only be stable.
    is_better = ((shift > 0.0) | (residual < now)) & (load(steps, last + STABLE) > 0.0) & (now > 0.0)
    less = select(shift > LEAST_SHIFT, 0.25 * shift, 0.0)
    store(steps, last + SHIFT, select(is_better, less, maximum(4.0 * shift, LEAST_SHIFT)))
    for i in range(segments):
        frame, end = HEAD + i * VERTEX + FRAME, HEAD + (i + 1) * VERTEX + PLACE
        for k in range(4):
            take(is_better, steps, i * STEP + NEXT + k * LANES, rows, frame + k * LANES)
        for k in range(3):
            take(is_better, steps, i * STEP + END + k * LANES, rows, end + k * LANES)
    return reduce_max(select(is_better, 0.0, now)) > BALANCED * BALANCED


@njit(cache=True, error_model="numpy")
def hold_resting(rest, at, segments, rows, steps):
    """Hold hairs whose places are what is kept in `steps`, but for a change that counts as nothing."""
    use_wide_registers()
    moved = broadcast(0.0)
    for i in range(segments):
        here, before = load_vector(rows, HEAD + (i + 1) * VERTEX + PLACE), load_vector(steps, i * STEP + END)
        for axis in range(3):
            moved = maximum(moved, absolute(here[axis] - before[axis]))
    is_resting = moved < RESTING * load(rest, at + REST_HEAD + LENGTH)
    store(rows, HELD, select(is_resting, broadcast(1.0), broadcast(0.0)))


@njit(cache=True, error_model="numpy")
def keep_places(segments, rows, steps):
    """Keep the places of all hairs in `steps`."""
    for i in range(segments):
        for k in range(3 * LANES):
            steps[i * STEP + END + k] = rows[HEAD + (i + 1) * VERTEX + PLACE + k]


@njit(cache=True, error_model="numpy")
def converge(rest, at, segments, pull, blend_yield, rows, steps):
    """Solve hairs whose first sweep is given; returns how many rounds it took.

    A sweep leads on wherever a Newton step does not help. Hairs that are drawn to their targets and rest there from the
    start stay, though their balance may be one that they would leave for the rounding of their targets.
    """
    last, is_stuck = segments * STEP, False
    steps[last + SHIFT : last + SHIFT + LANES] = 0.0
    keep_places(segments, rows, steps)
    sweep_again(rest, at, segments, pull, blend_yield, rows)
    if pull > 0.0:
        hold_resting(rest, at, segments, rows, steps)
    for done in range(ROUNDS_AT_MOST):
        if is_stuck:
            sweep_again(rest, at, segments, pull, blend_yield, rows)
        eliminate(rest, at, segments, pull, blend_yield, rows, steps)
        if steps[last + RESIDUAL : last + RESIDUAL + LANES].max() < BALANCED * BALANCED:
            return done
        follow(rest, at, segments, pull, blend_yield, rows, steps)
        is_stuck = try_step(rest, at, segments, pull, blend_yield, rows, steps)
    return ROUNDS_AT_MOST


@njit(cache=True, error_model="numpy", parallel=True)
def converge_hairs(
    rest,
    hair,
    bundle,
    guide,
    weight,
    force,
    share,
    turn,
    pull,
    overshoot,
    blend_yield,
    blocks_per_task,
    # in and out
    out,
):
    """Sweep over hairs until they are in balance; arguments as of `_kernels_sweeps.sweep_repeatedly`."""
    blocks, segments, flat = len(hair), force.shape[2], rest.reshape(-1)
    for task in prange((blocks + blocks_per_task - 1) // blocks_per_task):
        rows, weights = empty_rows((HEAD + (segments + 1) * VERTEX) // WIDTH), empty_rows(guide.shape[1])
        steps = empty_rows((segments * STEP + HAIR_ROWS) // WIDTH)
        for block in range(task * blocks_per_task, min((task + 1) * blocks_per_task, blocks)):
            at = block * rest.shape[1]
            gather_hairs(hair[block], bundle[block], guide, weight, force, share, turn, out, weights, rows)
            sweep_first(flat, at, segments, pull, overshoot, blend_yield, rows)
            converge(flat, at, segments, pull, blend_yield, rows, steps)
            scatter_hairs(hair[block], rows, out)
