"""More than one sweep over hairs, sixteen of them side by side in double precision.

Orientations are kept as they are seen from outside. With P = q_(i-1) q0_i, what the segment before predicts, and
Q = q_(i+1) conj(q0_(i+1)), what the one beyond does, both on the side of q_i (eq. 3), a sweep turns segment i to

    q = (lambda B + A B) / |lambda B + A B|        B = k_i P + k_(i+1) Q,  A B = v B e3  (hsu2024 eq. 14, theorem 4.1)

where lambda is the root of eq. 16 above |v|. By how much it is above, y, is found by Newton's method; it starts from
what the last orientation makes of it, q . (A q + B), which is off by the square of what the segment turns.
"""

# mypy: allow-untyped-defs

from mane.simd.f64x8 import WIDTH, empty_rows
from mane.simd.f64x16 import load
from mane.simd.jit import inline, njit, prange
from mane.simd.masks import select
from mane.simd.math import absolute, maximum, minimum, sqrt
from mane.simd.memory import use_wide_registers
from mane.simd.reductions import reduce_max
from mane.skin.physical._kernels_rows import (
    AGAIN,
    FIRST,
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

MULTIPLIER_STEPS = 40
ENOUGH = 1e-6  # of y: a Newton step as small as this leaves an error of its square
ROUNDING = 1e-14  # of lambda
LEAST = 1e-9  # of |B|: keeps y finite where a hair is upside down to the last digit


@inline
def times(a, b):
    """Quaternion product: first b, then a."""
    return (
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )


@inline
def conjugate(q):
    """The inverse of a unit quaternion."""
    return -q[0], -q[1], -q[2], q[3]


@inline
def dot3(a, b):
    """Sum of products."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def dot4(a, b):
    """Sum of products."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


@inline
def third_axis(q):
    """Third axis of a unit quaternion."""
    x, y, z, w = q
    return 2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)


@inline
def chosen(mask, a, b):
    """Quaternions `a` where the mask says yes, `b` elsewhere."""
    return select(mask, a[0], b[0]), select(mask, a[1], b[1]), select(mask, a[2], b[2]), select(mask, a[3], b[3])


@inline
def act(v, b):
    """A b (eq. 14)."""
    return (
        v[2] * b[0] - v[0] * b[2] + v[1] * b[3],
        v[2] * b[1] - v[1] * b[2] - v[0] * b[3],
        -(v[0] * b[0] + v[1] * b[1] + v[2] * b[2]),
        v[1] * b[0] - v[0] * b[1] - v[2] * b[3],
    )


@inline
def turned_to(b, ab, multiplier):
    """Eq. 17 with theorem 4.1."""
    q = (multiplier * b[0] + ab[0], multiplier * b[1] + ab[1], multiplier * b[2] + ab[2], multiplier * b[3] + ab[3])
    inverse = 1.0 / sqrt(dot4(q, q))
    return q[0] * inverse, q[1] * inverse, q[2] * inverse, q[3] * inverse


@inline
def turned_exactly(v, b, guess):
    """Eq. 17 with the root of eq. 16 above |v|, the one that belongs to the minimum of the energy.

    Newton's method on 1 / |q|, which bends down: from the first step on it comes from below. With both sides times
    (lambda^2 - v^2)^2 there are no roots and divisions that wait for each other.
    """
    ab, vv, bb = act(v, b), dot3(v, v), dot4(b, b)
    size, along, least = sqrt(vv), dot4(ab, b), LEAST * sqrt(bb)
    y = minimum(maximum(guess - size, least), sqrt(bb))
    for _ in range(MULTIPLIER_STEPS):
        x = y + size
        xx = x * x
        n = bb * (xx + vv) + 2.0 * along * x
        slope = bb * x * (xx + 3.0 * vv) + along * (3.0 * xx + vv)
        step = n * (sqrt(maximum(n, 0.0)) - y * (x + size)) / slope
        before, y = y, maximum(y + step, maximum(0.1 * y, least))
        if reduce_max(absolute(y - before) - ENOUGH * y - ROUNDING * x) <= 0.0:
            break
    x, inverse = y + size, 1.0 / (y * (y + 2.0 * size))
    q = (
        inverse * (x * b[0] + ab[0]),
        inverse * (x * b[1] + ab[1]),
        inverse * (x * b[2] + ab[2]),
        inverse * (x * b[3] + ab[3]),
    )
    # Of length 1 to the square of the last step.
    square = dot4(q, q)
    scale = 1.5 - 0.5 * square
    if reduce_max(absolute(square - 1.0)) > 1e-4:
        scale = 1.0 / sqrt(square)
    return q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale


@inline
def segment_vector(d, push, pulled, l, strain, blend_yield, pull):
    """Eq. 12: from the start of a segment to its end; `pulled` is the way to the target times `pull`."""
    own = pull * l
    return (
        l * d[0] + strain * push[0] + blend_yield * (push[0] + pulled[0] - own * d[0]),
        l * d[1] + strain * push[1] + blend_yield * (push[1] + pulled[1] - own * d[1]),
        l * d[2] + strain * push[2] + blend_yield * (push[2] + pulled[2] - own * d[2]),
    )


@inline
def pulled_to(target, place, pull):
    """The way to the target, times `pull`."""
    return pull * (target[0] - place[0]), pull * (target[1] - place[1]), pull * (target[2] - place[2])


@inline
def scaled(l, v):
    """A multiple of a vector."""
    return l * v[0], l * v[1], l * v[2]


@inline
def sum_of(a, b):
    """Sum of vectors."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inline
def torque_axis(push, pulled):
    """Return v of eq. 14: -2 l f."""
    return -2.0 * (push[0] + pulled[0]), -2.0 * (push[1] + pulled[1]), -2.0 * (push[2] + pulled[2])


@njit(cache=True, error_model="numpy")
def sweep_first(rest, at, segments, pull, overshoot, blend_yield, rows):
    """Fill places and frames with the first sweep, which takes the segment beyond as unbent (eq. 24)."""
    use_wide_registers()
    strain = load(rest, at + STRAIN)
    place, q = load_vector(rows, HEAD + TARGET), load_quaternion(rows, TURN)
    store_vector(rows, HEAD + PLACE, place)
    for i in range(segments):
        own, here = at + REST_HEAD + i * REST, HEAD + i * VERTEX
        l, k = load(rest, own + LENGTH), load(rest, own + STIFFNESS)
        push = scaled(l, load_vector(rows, here + FORCE))
        free = times(q, load_quaternion(rest, own + FIRST))
        pulled = pulled_to(load_vector(rows, here + VERTEX + TARGET), place, pull)
        d, off = third_axis(free), overshoot * l  # eq. 21
        inherited = (pulled[0] - off * d[0], pulled[1] - off * d[1], pulled[2] - off * d[2])
        v = torque_axis(push, inherited)
        b = (k * free[0], k * free[1], k * free[2], k * free[3])
        q = turned_to(b, act(v, b), sqrt(dot3(v, v)) + k)
        store_quaternion(rows, here + FRAME, q)
        place = sum_of(place, segment_vector(third_axis(q), push, inherited, l, strain, blend_yield, pull - overshoot))
        store_vector(rows, here + VERTEX + PLACE, place)


@njit(cache=True, error_model="numpy")
def sweep_again(rest, at, segments, pull, blend_yield, rows):
    """One more pass from root to tip, in place."""
    use_wide_registers()
    strain = load(rest, at + STRAIN)
    place, q, is_held = load_vector(rows, HEAD + TARGET), load_quaternion(rows, TURN), load(rows, HELD) > 0.0
    store_vector(rows, HEAD + PLACE, place)
    for i in range(segments):
        own, here = at + REST_HEAD + i * REST, HEAD + i * VERTEX
        l = load(rest, own + LENGTH)
        push = scaled(l, load_vector(rows, here + FORCE))
        last = load_quaternion(rows, here + FRAME)
        p, k = times(q, load_quaternion(rest, own + AGAIN)), load(rest, own + STIFFNESS)
        side = dot4(p, last)
        guess, k = k * absolute(side), select(side < 0.0, -k, k)
        b = (k * p[0], k * p[1], k * p[2], k * p[3])
        if i + 1 < segments:
            beyond = own + REST
            p = times(load_quaternion(rows, here + VERTEX + FRAME), conjugate(load_quaternion(rest, beyond + AGAIN)))
            k, side = load(rest, beyond + STIFFNESS), dot4(p, last)
            guess, k = guess + k * absolute(side), select(side < 0.0, -k, k)
            b = (b[0] + k * p[0], b[1] + k * p[1], b[2] + k * p[2], b[3] + k * p[3])
        pulled = pulled_to(load_vector(rows, here + VERTEX + TARGET), place, pull)
        v = torque_axis(push, pulled)
        q = chosen(is_held, last, turned_exactly(v, b, guess - dot3(v, third_axis(last))))
        store_quaternion(rows, here + FRAME, q)
        place = sum_of(place, segment_vector(third_axis(q), push, pulled, l, strain, blend_yield, pull))
        store_vector(rows, here + VERTEX + PLACE, place)


@njit(cache=True, error_model="numpy")
def turn_frames(rows, segments, sign):
    """Turn all frames as the skin at the roots has turned, or, with a sign of -1, back."""
    use_wide_registers()
    x, y, z, w = load_quaternion(rows, TURN)
    turn = (sign * x, sign * y, sign * z, w)
    for i in range(segments):
        at = HEAD + i * VERTEX + FRAME
        store_quaternion(rows, at, times(turn, load_quaternion(rows, at)))


@njit(cache=True, error_model="numpy")
def copy_frames(source, start, step, segments, target, to, step_to):
    """Copy orientations; those of the segments are `step` apart."""
    for i in range(segments):
        for k in range(4 * LANES):
            target[to + i * step_to + k] = source[start + i * step + k]


@njit(cache=True, error_model="numpy", parallel=True)
def sweep_repeatedly(
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
    sweeps,
    is_warm,
    # in and out
    frames,
    out,
):
    """Sweep over hairs again and again; segments feel both of their neighbours from the second sweep on.

    Args:
        rest: rows of each block (B, R); see `_kernels_rows`.
        hair: strand in each lane (B, 16), empty lanes repeating another.
        bundle: of each half of a block (B, 2).
        guide: guides of each bundle (M, K).
        weight: how much each counts for each strand (S, K).
        force: f / W of the guides of each bundle at the hairs' segments (M, K, N, 3).
        share: 1 - alpha.
        turn: how the skin has turned at each guide's root, then the head (G + 1, 4), all on the head's side.
        pull: alpha times drift.
        overshoot: the same where eq. 22 is taken as printed in the first sweep, otherwise 0.
        blend_yield: stretch per blended force; 0 unless eq. 12 is taken as printed.
        blocks_per_task: blocks that share scratch memory.
        sweeps: how many after the first one.
        is_warm: whether `frames` holds what to start from instead of a first sweep.
        frames: orientations as seen from the roots (B, 64 N), for the next call; empty if they are not to be kept.
        out: targets (S, 3 V) [m], overwritten by the points.
    """
    blocks, segments, flat, kept = len(hair), force.shape[2], rest.reshape(-1), frames.reshape(-1)
    for task in prange((blocks + blocks_per_task - 1) // blocks_per_task):
        rows, weights = empty_rows((HEAD + (segments + 1) * VERTEX) // WIDTH), empty_rows(guide.shape[1])
        for block in range(task * blocks_per_task, min((task + 1) * blocks_per_task, blocks)):
            at = block * rest.shape[1]
            gather_hairs(hair[block], bundle[block], guide, weight, force, share, turn, out, weights, rows)
            if is_warm:
                copy_frames(kept, block * frames.shape[1], 4 * LANES, segments, rows, HEAD + FRAME, VERTEX)
                turn_frames(rows, segments, 1.0)
            else:
                sweep_first(flat, at, segments, pull, overshoot, blend_yield, rows)
            for _ in range(sweeps):
                sweep_again(flat, at, segments, pull, blend_yield, rows)
            scatter_hairs(hair[block], rows, out)
            if len(kept):
                turn_frames(rows, segments, -1.0)
                copy_frames(rows, HEAD + FRAME, VERTEX, segments, kept, block * frames.shape[1], 4 * LANES)
