"""Rows of the buffer in which eight chains are stepped side by side, and what all of its kernels share.

A row is one number of eight strands, one per SIMD lane. There is a slot of rows for every vertex: slot 0 has the root
and what holds it, slot t the vertex t, the link (segment t - 1) that ends there and the joint that it starts at.
Vectors are tuples of three values; `_kernels_small` says how matrices are written.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.f64x8 import broadcast
from mane.simd.jit import inline_fast, njit
from mane.simd.layout import row_offsets
from mane.simd.masks import select
from mane.simd.math import maximum, sqrt
from mane.simd.reductions import reduce_max
from mane.simd.rows import LANES
from mane.strand._kernels_small import cross, dot

FOLD = 1e-8  # least 1 + cos of a joint's angle: a strand that folds back has no axis to turn about
FLAT = 1e-16  # least square of a turn's quaternion before it has unit length: closer to a fold, it has no axis either
FARTHEST = 1.0  # [rad] a link is predicted to turn in one step; beyond it a prediction is worth nothing

# Constants of a slot: mass of the vertex, one over it unless something holds it; length of the link and one over it,
# k [N m] and damping [N m s] of its joint, curvature of the joint without moment (2), from the end of the link to the
# vertex in the frame of the link (3).
MASS, INV_MASS, LENGTH, INV_LENGTH, SPRING, VISCOUS, REST, OFFSET = row_offsets(1, 1, 1, 1, 1, 1, 2, 3)
CONSTANT_ROWS = 11
CONSTANT_STRIDE = LANES * np.uint64(CONSTANT_ROWS)
# Of slot 0, which has no link: 1 if nothing clamps the strand, 1 if nothing holds it at all, else 0; inertia [kg m^2]
# of the strand about its own axis.
LOOSE, FREE, SPIN_INERTIA = row_offsets(1, 1, 1, start=2)

# State and load as they come in, later as they go out; COUPLE is with the vertex before. Of a stage of h seconds,
# momentum m v + h f, inertia m + h resistance and 2 h Q take the place of force, resistance and coupling Q.
X, V, Q, SPIN, CUT, IMPULSE, INERTIA, COUPLE = row_offsets(3, 3, 4, 3, 3, 3, 6, 6)
# Of a link: direction at the start of the step, angular velocity of its prediction, where that takes its direction, h^2
# tension / length where it pulls, from its end to its vertex as predicted.
START, GUESS, ALONG, PULL, BESIDE = row_offsets(3, 3, 3, 1, 3, start=31)
# Of a joint: the axes E that its rate turns about, implicit stiffness about both, what drives its rate (2).
AXES, HINGE, DRIVE = row_offsets(6, 1, 2, start=44)
# The rate as it was eliminated, RATE - GAIN_W w - GAIN_V v, two rows of it; solved velocity of the vertex.
GAIN_W, GAIN_V, RATE, VERTEX_V = row_offsets(6, 6, 2, 3, start=53)
# One number above zero if the vertex of any lane is coupled to the one before it; [u]x h Q of that coupling (9), zero
# between steps.
COUPLED, CROSS = row_offsets(1, 9, start=70)
SLOT_ROWS = 81  # odd, or slots would share the same few cache sets
STRIDE = LANES * np.uint64(SLOT_ROWS)

# Of slot 0 instead of a joint: length of the stage [s], one over it, one over its part of the step; angular momentum
# of the strand about its own axis; frame that the first link is carried from (direction, first and second axis).
STAGE, INV_STAGE, INV_THETA, SPIN_MOMENTUM, BASE = row_offsets(1, 1, 1, 1, 9, start=44)

ZERO, ONE, TWO = (np.uint64(k) for k in range(3))

in_block = njit(cache=True, error_model="numpy")


@inline_fast
def times3(s, a):
    """The vector s a."""
    return s * a[0], s * a[1], s * a[2]


@inline_fast
def plus3(a, s, b):
    """The vector a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@inline_fast
def minus3(a, s, b):
    """The vector a - s b."""
    return a[0] - s * b[0], a[1] - s * b[1], a[2] - s * b[2]


@inline_fast
def less3(a, b):
    """The vector a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inline_fast
def plus_cross(a, u, b):
    """The vector a + u x b: two fused operations a number, where the sum with `cross` takes three."""
    return (
        a[0] + u[1] * b[2] - u[2] * b[1],
        a[1] + u[2] * b[0] - u[0] * b[2],
        a[2] + u[0] * b[1] - u[1] * b[0],
    )


@inline_fast
def choose3(mask, a, b):
    """The vector a where the mask says yes, b elsewhere."""
    return select(mask, a[0], b[0]), select(mask, a[1], b[1]), select(mask, a[2], b[2])


@inline_fast
def turned(d, half):
    """Turn d by the Cayley rotation of w = 2 half: by w itself up to |w|^3 / 12, and never by more than half a turn."""
    c = cross(*half, *d)
    return plus3(d, 2.0 / (1.0 + dot(*half, *half)), plus_cross(c, half, c))


@inline_fast
def quat_times(ax, ay, az, aw, bx, by, bz, bw):
    """First b, then a."""
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


@inline_fast
def turned_frame(q, half):
    """Turn the frame q, four numbers, by the Cayley rotation of 2 half, and bring it to unit length."""
    x, y, z, w = quat_times(*half, broadcast(1.0), *q)
    unit = 1.0 / sqrt(x * x + y * y + z * z + w * w)
    return x * unit, y * unit, z * unit, w * unit


@inline_fast
def carried_frame(q, p, d):
    """Turn the frame q by the smallest turn that takes its third axis p to d; a fold is half a turn about the first."""
    c, w = cross(*p, *d), 1.0 + dot(*p, *d)
    square = dot(*c, *c) + w * w
    is_flat, unit = square < FLAT, 1.0 / sqrt(square + FLAT * FLAT)
    t = quat_times(unit * c[0], unit * c[1], unit * c[2], unit * w, *q)
    x, y, z, w = q  # half a turn about the first axis of q, (x, y, z, w) (1, 0, 0, 0), is (w, z, -y, -x)
    return select(is_flat, w, t[0]), select(is_flat, z, t[1]), select(is_flat, -y, t[2]), select(is_flat, -x, t[3])


@inline_fast
def quat_rotate(x, y, z, w, a):
    """Turn the vector a by the frame (x, y, z, w)."""
    t = times3(2.0, cross(x, y, z, *a))
    return plus_cross(plus3(a, w, t), (x, y, z), t)


@inline_fast
def first_axis(x, y, z, w):
    """First axis of a frame."""
    return 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)


@inline_fast
def second_axis(x, y, z, w):
    """Second axis of a frame."""
    return 2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)


@inline_fast
def reached(w, h):
    """Angular velocity that a prediction over `h` [s] is made with: w, as far as it stays within `FARTHEST`."""
    turn = h * h * dot(*w, *w)
    if reduce_max(turn) <= FARTHEST * FARTHEST:  # most often; the root and the division would be one
        return w
    return times3(FARTHEST / maximum(sqrt(turn), FARTHEST), w)
