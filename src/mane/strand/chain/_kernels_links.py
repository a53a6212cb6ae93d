"""The links and joints of one implicit step of twist-free chains: the articulated-body recursion.

```
  slot 0 = clamp and root vertex; slot t = vertex t, the link (segment t - 1) that ends there, the joint it starts at

  link t turns with w_t = w_(t-1) + E_t r_t,  E_t: two unit vectors perpendicular to the bisector of both links
  (the rate of a joint that never twists), and its end moves with v_t = v_(t-1) + w_t x l d_t.
```

The step minimises, over the rates r, the quadratic function that `_reference` writes down plainly: inertia, loads,
springs and the pull of tension, linearised about a predicted shape. From tip to root every joint is eliminated in turn;
what remains of the part beyond it is a quadratic function of the motion (w, v) of the link before it,

    1/2 w.A w + w.B v + 1/2 v.C v - a.w - b.v        (A, C symmetric 3 x 3: the articulated inertia)

which goes from link to link as a tuple (A, B, C, a, b) in registers. Functions here are of one link of eight strands;
`c` and `b` are where its slot begins in the constants and in the buffer.
"""

# mypy: allow-untyped-defs

import math

from mane.geometry._kernels_eights import load
from mane.geometry._kernels_lanes import greater, store
from mane.strand._kernels_rows import load3, load6, store3, store6
from mane.strand._kernels_small import (
    LANES,
    LANES_3,
    cross,
    dot,
    in_lanes,
    symmetric_times_vector,
    transposed_times_vector,
)
from mane.strand.chain._kernels_rows import (
    ALONG,
    AXES,
    BESIDE,
    COUPLE,
    CUT,
    DRIVE,
    FOLD,
    GAIN_V,
    GAIN_W,
    GUESS,
    HINGE,
    IMPULSE,
    INERTIA,
    LENGTH,
    OFFSET,
    RATE,
    REST,
    SPIN,
    SPRING,
    START,
    STRIDE,
    TENSION,
    VERTEX_V,
    VISCOUS,
    less3,
    minus3,
    plus3,
    plus_cross,
    reached,
    times3,
    turned,
)


@in_lanes
def predict_link(buf, b, h):
    """Predict where a link turns with the motion that is known, and how it pulls; fills GUESS, TENSION and ALONG."""
    store(buf, b + TENSION, greater(dot(*load3(buf, b + CUT), *load3(buf, b + ALONG)), 0.0))
    guess = reached(load3(buf, b + SPIN), h)
    store3(buf, b + GUESS, *guess)
    store3(buf, b + ALONG, *turned(load3(buf, b + START), times3(0.5 * h, guess)))


@in_lanes
def predict_joint(constants, c, buf, b, h, is_spine, x, y):
    """Carry the axes x and y of the predicted frame of a link to the next link, and return them.

    Fills AXES, HINGE and DRIVE of the joint between both, and BESIDE.
    """
    p, d = load3(buf, b - STRIDE + ALONG), load3(buf, b + ALONG)
    both = plus3(p, 1.0, d)
    x_along, y_along = dot(*x, *d), dot(*y, *d)
    cos_half = math.sqrt(0.5 * greater(1.0 + dot(*p, *d), FOLD))
    opened = 1.0 + cos_half
    inv = 0.5 / (cos_half * opened)  # one division for both factors
    half_inv_cos = inv * opened
    # Axes of the joint's rate: the parent's, turned by half the joint's angle, so that neither link twists.
    mid = plus3(p, half_inv_cos, both)
    e1, e2 = minus3(x, inv * x_along, mid), minus3(y, inv * y_along, mid)
    store6(buf, b + AXES, *e1, *e2)
    # Curvature 4 tan(angle / 4) = 2 / (1 + cos_half) (-y_along, x_along) / cos_half about the axes. Its derivative by
    # the rate is the first of these factors, the same about all axes.
    slope, inv_slope = 4.0 * inv * cos_half, 0.5 * opened
    stiff = h * slope * slope
    spring = stiff * load(constants, c + SPRING)
    store(buf, b + HINGE, h * spring + stiff * load(constants, c + VISCOUS))
    turn = times3(h, less3(load3(buf, b + GUESS), load3(buf, b - STRIDE + GUESS)))
    bend1, bend2 = inv_slope * load(constants, c + REST), inv_slope * load(constants, c + REST + LANES)
    inv_cos = half_inv_cos + half_inv_cos
    store(buf, b + DRIVE, spring * (bend1 + inv_cos * y_along + dot(*e1, *turn)))
    store(buf, b + DRIVE + LANES, spring * (bend2 - inv_cos * x_along + dot(*e2, *turn)))
    inv_opened = half_inv_cos * inv_cos  # 1 / (1 + cos(angle))
    x, y = minus3(x, inv_opened * x_along, both), minus3(y, inv_opened * y_along, both)
    if is_spine:
        o1, o2, o3 = load3(constants, c + OFFSET)
        store3(buf, b + BESIDE, *plus3(plus3(times3(o1, x), o2, y), o3, d))
    return x, y


# -- from tip to root ------------------------------------------------------------------------------------------------


@in_lanes
def plus6(a, s, b):
    """Six numbers a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2], a[3] + s * b[3], a[4] + s * b[4], a[5] + s * b[5]


@in_lanes
def plus_cross_symmetric(b, u, m):
    """The matrix B + [u]x M, nine numbers, of a symmetric M."""
    x = plus_cross((b[0], b[3], b[6]), u, (m[0], m[3], m[4]))
    y = plus_cross((b[1], b[4], b[7]), u, (m[3], m[1], m[5]))
    z = plus_cross((b[2], b[5], b[8]), u, (m[4], m[5], m[2]))
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]


@in_lanes
def plus_cross_rows(a, u, m):
    """A symmetric A plus the cross products of u and the rows of M, of which A takes the upper triangle."""
    x = plus_cross((a[0], a[3], a[4]), u, (m[0], m[1], m[2]))
    y = plus_cross((a[3], a[1], a[5]), u, (m[3], m[4], m[5]))
    z = plus_cross((a[4], a[5], a[2]), u, (m[6], m[7], m[8]))
    return x[0], y[1], z[2], x[1], x[2], y[2]


@in_lanes
def plus_cross_columns(a, u, m):
    """The same with the lower triangle."""
    x = plus_cross((a[0], a[3], a[4]), u, (m[0], m[1], m[2]))
    y = plus_cross((a[3], a[1], a[5]), u, (m[3], m[4], m[5]))
    z = plus_cross((a[4], a[5], a[2]), u, (m[6], m[7], m[8]))
    return x[0], y[1], z[2], y[0], z[0], z[1]


@in_lanes
def seen_from_start(beyond, u):
    """A quadratic function of the motion of a link's end, as one of the motion of its start: v_end = v + w x u."""
    A, B, C, p, q = beyond
    A = plus_cross_columns(A, u, B)
    B = plus_cross_symmetric(B, u, C)
    return plus_cross_rows(A, u, B), B, C, plus_cross(p, u, q), q


@in_lanes
def plus_vertex_beside(beyond, mass, momentum, o):
    """Add a vertex that is carried at `o` from the end of its link."""
    A, B, C, p, q = beyond
    zero = 0.0 * o[0]
    arm = plus_cross_symmetric((zero, zero, zero, zero, zero, zero, zero, zero, zero), o, mass)
    B = plus_cross_symmetric(B, o, mass)
    return plus_cross_rows(A, o, arm), B, plus6(C, 1.0, mass), plus_cross(p, o, momentum), plus3(q, 1.0, momentum)


@in_lanes
def gather_link(constants, c, buf, b, h, is_spine, is_coupled, beyond):
    """Quadratic function of the motion of a link's start, from that of all `beyond` its end.

    It adds the vertex, what couples it to the vertex before, and the tension.
    """
    d, length = load3(buf, b + ALONG), load(constants, c + LENGTH)
    u = times3(length, d)
    mass, momentum = load6(buf, b + INERTIA), load3(buf, b + IMPULSE)
    if is_spine:
        beyond = plus_vertex_beside(beyond, mass, momentum, load3(buf, b + BESIDE))
    else:
        A, B, C, p, q = beyond
        beyond = A, B, plus6(C, 1.0, mass), p, plus3(q, 1.0, momentum)
    A, B, C, p, q = seen_from_start(beyond, u)
    if is_coupled:  # never where vertices are beside their links: `ChainSolver._lumped`
        coupling = load6(buf, b + COUPLE)
        B, C = plus_cross_symmetric(B, u, coupling), plus6(C, 2.0, coupling)
    # Tension turns with the link: it resists any turn beyond the predicted one.
    pull = h * h * length * load(buf, b + TENSION)
    s = times3(pull, d)
    A = (
        A[0] + pull - s[0] * d[0],
        A[1] + pull - s[1] * d[1],
        A[2] + pull - s[2] * d[2],
        A[3] - s[0] * d[1],
        A[4] - s[0] * d[2],
        A[5] - s[1] * d[2],
    )
    guess = load3(buf, b + GUESS)
    return A, B, C, minus3(plus3(p, pull, guess), dot(*d, *guess), s), q


@in_lanes
def less_dyad6(m, x, p):
    """Six numbers of M - x p^T, which is known to be symmetric."""
    return (
        m[0] - x[0] * p[0],
        m[1] - x[1] * p[1],
        m[2] - x[2] * p[2],
        m[3] - x[0] * p[1],
        m[4] - x[0] * p[2],
        m[5] - x[1] * p[2],
    )


@in_lanes
def less_dyad9(m, x, p):
    """Nine numbers of M - x p^T."""
    return (
        m[0] - x[0] * p[0],
        m[1] - x[0] * p[1],
        m[2] - x[0] * p[2],
        m[3] - x[1] * p[0],
        m[4] - x[1] * p[1],
        m[5] - x[1] * p[2],
        m[6] - x[2] * p[0],
        m[7] - x[2] * p[1],
        m[8] - x[2] * p[2],
    )


@in_lanes
def eliminate_axis(gathered, e, hinge, drive):
    """Solve for the rate about the axis e: it is rate - gain_w.w - gain_v.v; return the quadratic function without it.

    Returns (gain_w, gain_v, rate) and what remains.
    """
    A, B, C, p, q = gathered
    a, b = symmetric_times_vector(*A, *e), transposed_times_vector(B, *e)
    inv = 1.0 / (hinge + dot(*e, *a))
    w, v, rate = times3(inv, a), times3(inv, b), inv * (drive + dot(*e, *p))
    left = less_dyad6(A, a, w), less_dyad9(B, a, v), less_dyad6(C, b, v), minus3(p, rate, a), minus3(q, rate, b)
    return (w, v, rate), left


@in_lanes
def eliminate_joint(buf, b, gathered):
    """Eliminate the rates about both axes of a joint, the first one first; fills GAIN_W, GAIN_V and RATE."""
    hinge = load(buf, b + HINGE)
    (w, v, rate), gathered = eliminate_axis(gathered, load3(buf, b + AXES), hinge, load(buf, b + DRIVE))
    store3(buf, b + GAIN_W, *w)
    store3(buf, b + GAIN_V, *v)
    store(buf, b + RATE, rate)
    e, drive = load3(buf, b + AXES + LANES_3), load(buf, b + DRIVE + LANES)
    (w, v, rate), gathered = eliminate_axis(gathered, e, hinge, drive)
    store3(buf, b + GAIN_W + LANES_3, *w)
    store3(buf, b + GAIN_V + LANES_3, *v)
    store(buf, b + RATE + LANES, rate)
    return gathered


@in_lanes
def unbalanced(buf, b):
    """Momentum that acts on a vertex, less what its own velocity takes."""
    return less3(load3(buf, b + IMPULSE), symmetric_times_vector(*load6(buf, b + INERTIA), *load3(buf, b + VERTEX_V)))


@in_lanes
def coupled(buf, b, other):
    """Momentum that couples a vertex to the one before it; `other` is the slot of that one of both which moves."""
    return symmetric_times_vector(*load6(buf, b + COUPLE), *load3(buf, other + VERTEX_V))


# -- from root to tip ------------------------------------------------------------------------------------------------


@in_lanes
def sweep_link(constants, c, buf, b, is_spine, w, v):
    """Motion (w, v) of a link and its end, from that of the link before it; fills the velocity of its vertex."""
    e1, e2, gain = load3(buf, b + AXES), load3(buf, b + AXES + LANES_3), load3(buf, b + GAIN_W)
    r2 = load(buf, b + RATE + LANES) - dot(*load3(buf, b + GAIN_W + LANES_3), *w)
    r2 = r2 - dot(*load3(buf, b + GAIN_V + LANES_3), *v)
    # The rate about the first axis was eliminated first, and sees that about the second as part of w.
    r1 = load(buf, b + RATE) - dot(*gain, *w) - dot(*load3(buf, b + GAIN_V), *v) - dot(*gain, *e2) * r2
    w = plus3(plus3(w, r2, e2), r1, e1)
    v = plus3(v, load(constants, c + LENGTH), cross(*w, *load3(buf, b + ALONG)))
    at_vertex = plus3(v, 1.0, cross(*w, *load3(buf, b + BESIDE))) if is_spine else v
    store3(buf, b + VERTEX_V, *at_vertex)
    return w, v
