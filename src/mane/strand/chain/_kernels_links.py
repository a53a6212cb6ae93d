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

from mane.simd.f64x8 import broadcast, load
from mane.simd.jit import inline_fast
from mane.simd.math import absolute, maximum, sqrt
from mane.simd.memory import store
from mane.simd.rows import LANES, LANES_3, LANES_6, load3, load6, load9, store3, store6
from mane.strand._kernels_small import dot, symmetric_times_vector, transposed_times_vector
from mane.strand.chain._kernels_rows import (
    ALONG,
    AXES,
    BESIDE,
    COUPLE,
    CROSS,
    DRIVE,
    FOLD,
    GAIN_V,
    GAIN_W,
    GUESS,
    HINGE,
    IMPULSE,
    INERTIA,
    INV_LENGTH,
    LENGTH,
    OFFSET,
    PULL,
    RATE,
    REST,
    SPIN,
    SPRING,
    START,
    STRIDE,
    VERTEX_V,
    VISCOUS,
    choose3,
    less3,
    minus3,
    plus3,
    plus_cross,
    reached,
    times3,
    turned,
)


@inline_fast
def predict_link(buf, b, h):
    """Predict where a link turns with the motion that is known; fills GUESS and ALONG."""
    guess = reached(load3(buf, b + SPIN), h)
    store3(buf, b + GUESS, *guess)
    store3(buf, b + ALONG, *turned(load3(buf, b + START), times3(0.5 * h, guess)))


@inline_fast
def predict_joint(constants, c, buf, b, h, is_spine, x, y):
    """Carry the axes x and y of the predicted frame of a link to the next link, and return them.

    Fills AXES, HINGE and DRIVE of the joint between both, and BESIDE.
    """
    p, d = load3(buf, b - STRIDE + ALONG), load3(buf, b + ALONG)
    both = plus3(p, 1.0, d)
    x_along, y_along = dot(*x, *d), dot(*y, *d)
    cos_half = sqrt(0.5 * maximum(1.0 + dot(*p, *d), FOLD))
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
    spring_h = h * spring
    store(buf, b + HINGE, spring_h + stiff * load(constants, c + VISCOUS))
    bend1, bend2 = inv_slope * load(constants, c + REST), inv_slope * load(constants, c + REST + LANES)
    inv_cos = half_inv_cos + half_inv_cos
    faster = less3(load3(buf, b + GUESS), load3(buf, b - STRIDE + GUESS))
    store(buf, b + DRIVE, spring * (bend1 + inv_cos * y_along) + spring_h * dot(*e1, *faster))
    store(buf, b + DRIVE + LANES, spring * (bend2 - inv_cos * x_along) + spring_h * dot(*e2, *faster))
    inv_opened = half_inv_cos * inv_cos  # 1 / (1 + cos(angle))
    x, y = minus3(x, inv_opened * x_along, both), minus3(y, inv_opened * y_along, both)
    if is_spine:
        o1, o2, o3 = load3(constants, c + OFFSET)
        store3(buf, b + BESIDE, *plus3(plus3(times3(o1, x), o2, y), o3, d))
    return x, y


# -- coupling --------------------------------------------------------------------------------------------------------


@inline_fast
def is_coupled(buf, b):
    """Mask of the lanes whose vertex is coupled to the one before it, also by what is not a number."""
    xx, yy, zz, xy, xz, yz = load6(buf, b + COUPLE)
    size = absolute(xx) + absolute(yy) + absolute(zz) + absolute(xy) + absolute(xz) + absolute(yz)
    return ~(size <= 0.0)


@inline_fast
def cross_coupling(constants, c, buf, b):
    """Fill CROSS. Lanes without coupling get plain zeros, never -0: no strand may notice those beside it."""
    zero, mask = broadcast(0.0), is_coupled(buf, b)
    none = (zero, zero, zero, zero, zero, zero, zero, zero, zero)
    half_u = times3(0.5 * load(constants, c + LENGTH), load3(buf, b + ALONG))
    m = plus_cross_symmetric(none, half_u, load6(buf, b + COUPLE))
    store3(buf, b + CROSS, *choose3(mask, m[:3], none[:3]))
    store3(buf, b + CROSS + LANES_3, *choose3(mask, m[3:6], none[:3]))
    store3(buf, b + CROSS + LANES_6, *choose3(mask, m[6:], none[:3]))


@inline_fast
def coupled(buf, b, mover):
    """Twice the momentum of the coupling between a vertex and the one before it, where that in slot `mover` moves."""
    zero = broadcast(0.0)
    momentum = symmetric_times_vector(*load6(buf, b + COUPLE), *load3(buf, mover + VERTEX_V))
    return choose3(is_coupled(buf, b), momentum, (zero, zero, zero))


# -- from tip to root ------------------------------------------------------------------------------------------------


@inline_fast
def plus6(a, b):
    """Six numbers a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@inline_fast
def less6(a, b):
    """Six numbers a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5]


@inline_fast
def plus9(a, b):
    """Nine numbers a + b."""
    return (*plus3(a[:3], 1.0, b[:3]), *plus6(a[3:], b[3:]))


@inline_fast
def plus_cross_symmetric(b, u, m):
    """The matrix B + [u]x M, nine numbers, of a symmetric M."""
    x = plus_cross((b[0], b[3], b[6]), u, (m[0], m[3], m[4]))
    y = plus_cross((b[1], b[4], b[7]), u, (m[3], m[1], m[5]))
    z = plus_cross((b[2], b[5], b[8]), u, (m[4], m[5], m[2]))
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]


@inline_fast
def plus_cross_rows(a, u, m):
    """A symmetric A plus the cross products of u and the rows of M, of which A takes the upper triangle."""
    x = plus_cross((a[0], a[3], a[4]), u, (m[0], m[1], m[2]))
    y = plus_cross((a[3], a[1], a[5]), u, (m[3], m[4], m[5]))
    z = plus_cross((a[4], a[5], a[2]), u, (m[6], m[7], m[8]))
    return x[0], y[1], z[2], x[1], x[2], y[2]


@inline_fast
def plus_cross_columns(a, u, m):
    """The same with the lower triangle."""
    x = plus_cross((a[0], a[3], a[4]), u, (m[0], m[1], m[2]))
    y = plus_cross((a[3], a[1], a[5]), u, (m[3], m[4], m[5]))
    z = plus_cross((a[4], a[5], a[2]), u, (m[6], m[7], m[8]))
    return x[0], y[1], z[2], y[0], z[0], z[1]


@inline_fast
def seen_from_start(beyond, u, pull, guess):
    """A quadratic function of the motion of a link's end, as one of the motion of its start: v_end = v + w x u.

    Tension turns with the link and resists any turn beyond the predicted one, 1/2 pull |(w - guess) x u|^2: a mass at
    the end of the link, but for the motion of its start.
    """
    A, B, C, p, q = beyond
    x, y, z = times3(pull, u)
    A = plus_cross_columns(A, u, B)
    B = plus_cross_symmetric(B, u, (C[0] + pull, C[1] + pull, C[2] + pull, C[3], C[4], C[5]))
    A = plus_cross_rows(A, u, B)
    B = (B[0], B[1] + z, B[2] - y, B[3] - z, B[4], B[5] + x, B[6] + y, B[7] - x, B[8])
    return A, B, C, plus_cross(p, u, plus_cross(q, guess, (x, y, z))), q


@inline_fast
def plus_vertex(buf, b, is_spine, beyond):
    """Add the vertex to the quadratic function of all `beyond` its link, of the motion of the link's end."""
    A, B, C, p, q = beyond
    mass, momentum = load6(buf, b + INERTIA), load3(buf, b + IMPULSE)
    if is_spine:
        zero, o = broadcast(0.0), load3(buf, b + BESIDE)
        arm = plus_cross_symmetric((zero, zero, zero, zero, zero, zero, zero, zero, zero), o, mass)
        A, B, p = plus_cross_rows(A, o, arm), plus9(B, arm), plus_cross(p, o, momentum)
    return A, B, plus6(C, mass), p, plus3(q, 1.0, momentum)


@inline_fast
def gather_link(constants, c, buf, b, beyond):
    """Quadratic function of the motion of a link's start, from that of its end.

    It adds the tension, and what couples its vertex to the one before, h v_end.Q v. Vertices beside their links are not
    coupled (`ChainSolver._lumped`).
    """
    u = times3(load(constants, c + LENGTH), load3(buf, b + ALONG))
    A, B, C, p, q = seen_from_start(beyond, u, load(buf, b + PULL), load3(buf, b + GUESS))
    return A, plus9(B, load9(buf, b + CROSS)), plus6(C, load6(buf, b + COUPLE)), p, q


@inline_fast
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


@inline_fast
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


@inline_fast
def eliminate_angular(A, p, e, hinge, drive):
    """Eliminate the rate r about the axis e from A and a; with (a, b) = (A e, B^T e), r = inv (goal - a.w - b.v).

    Returns what remains of A and a, then A e, inv A e, inv and goal.
    """
    a = symmetric_times_vector(*A, *e)
    inv, goal = 1.0 / (hinge + dot(*e, *a)), drive + dot(*e, *p)
    w = times3(inv, a)
    return less_dyad6(A, a, w), minus3(p, goal, w), a, w, inv, goal


@inline_fast
def eliminate_linear(B, C, q, e, a, inv, goal):
    """Eliminate that rate from B, C and b; returns what remains of them, then inv B^T e."""
    b = transposed_times_vector(B, *e)
    v = times3(inv, b)
    return less_dyad9(B, a, v), less_dyad6(C, b, v), minus3(q, goal, v), v


@inline_fast
def eliminate_joint(buf, b, gathered):
    """Eliminate the rates about both axes of a joint, the first one first; fills GAIN_W, GAIN_V and RATE."""
    A, B, C, p, q = gathered
    hinge, e1, e2 = load(buf, b + HINGE), load3(buf, b + AXES), load3(buf, b + AXES + LANES_3)
    A, p, a1, w1, inv1, goal1 = eliminate_angular(A, p, e1, hinge, load(buf, b + DRIVE))
    store3(buf, b + GAIN_W, *w1)
    store(buf, b + RATE, inv1 * goal1)
    A, p, a2, w2, inv2, goal2 = eliminate_angular(A, p, e2, hinge, load(buf, b + DRIVE + LANES))
    store3(buf, b + GAIN_W + LANES_3, *w2)
    store(buf, b + RATE + LANES, inv2 * goal2)
    B, C, q, v1 = eliminate_linear(B, C, q, e1, a1, inv1, goal1)
    store3(buf, b + GAIN_V, *v1)
    B, C, q, v2 = eliminate_linear(B, C, q, e2, a2, inv2, goal2)
    store3(buf, b + GAIN_V + LANES_3, *v2)
    return A, B, C, p, q


@inline_fast
def unbalanced(buf, b):
    """Momentum that acts on a vertex, less what its own velocity takes."""
    taken = symmetric_times_vector(*load6(buf, b + INERTIA), *load3(buf, b + VERTEX_V))
    return less3(load3(buf, b + IMPULSE), taken)


@inline_fast
def pull_of(constants, c, h, force, d):
    """What a link in direction d resists turning with under a cut force, where that pulls: h^2 tension / length."""
    return h * h * load(constants, c + INV_LENGTH) * maximum(dot(*force, *d), 0.0)


# -- from root to tip ------------------------------------------------------------------------------------------------


@inline_fast
def sweep_link(constants, c, buf, b, is_spine, w, v):
    """Motion (w, v) of a link and its end, from that of the link before it; fills the velocity of its vertex."""
    e1, e2, gain = load3(buf, b + AXES), load3(buf, b + AXES + LANES_3), load3(buf, b + GAIN_W)
    r2 = load(buf, b + RATE + LANES) - dot(*load3(buf, b + GAIN_W + LANES_3), *w)
    r2 = r2 - dot(*load3(buf, b + GAIN_V + LANES_3), *v)
    # The rate about the first axis was eliminated first, and sees that about the second as part of w.
    r1 = load(buf, b + RATE) - dot(*gain, *w) - dot(*load3(buf, b + GAIN_V), *v) - dot(*gain, *e2) * r2
    w = plus3(plus3(w, r2, e2), r1, e1)
    v = plus_cross(v, w, times3(load(constants, c + LENGTH), load3(buf, b + ALONG)))
    at_vertex = plus_cross(v, w, load3(buf, b + BESIDE)) if is_spine else v
    store3(buf, b + VERTEX_V, *at_vertex)
    return w, v
