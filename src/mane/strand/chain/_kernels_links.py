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
from mane.strand._kernels_rows import load3, load6, load9, store3, store6
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
    plus3,
    reached,
    times3,
    turned,
)


@in_lanes
def predict_link(constants, c, buf, b, h, is_spine, frame, spin):
    """Predict a link with the motion and the cut force that are known; return its frame and angular velocity.

    Fills GUESS, TENSION, ALONG, BESIDE and what is known of its joint. `frame` (direction, first and second axis) and
    `spin` are those that were predicted of the link before it.
    """
    store(buf, b + TENSION, greater(dot(*load3(buf, b + CUT), *load3(buf, b + ALONG)), 0.0))
    guess = reached(load3(buf, b + SPIN), h)
    store3(buf, b + GUESS, *guess)
    p, x, y = frame
    d = turned(load3(buf, b + START), times3(h, guess))
    x_along, y_along = dot(*x, *d), dot(*y, *d)
    cos_half = math.sqrt(0.5 * greater(1.0 + dot(*p, *d), FOLD))
    inv = 1.0 / (cos_half * (1.0 + cos_half))  # one division for both factors
    inv_cos, slope = inv * (1.0 + cos_half), 2.0 * inv * cos_half
    both = plus3(p, 1.0, d)
    # Axes of the joint's rate: the parent's, turned by half the joint's angle, so that neither link twists.
    mid = plus3(p, 0.5 * inv_cos, both)
    e1, e2 = plus3(x, -0.5 * inv * x_along, mid), plus3(y, -0.5 * inv * y_along, mid)
    store3(buf, b + ALONG, *d)
    store6(buf, b + AXES, *e1, *e2)
    # Curvature 4 tan(angle / 4) about each axis, and its derivative by the rate, the same about all of them.
    k1, k2 = -2.0 * inv * y_along, 2.0 * inv * x_along
    per_slope = 0.5 * (1.0 + cos_half)
    spring = h * slope * slope * load(constants, c + SPRING)
    store(buf, b + HINGE, h * (spring + slope * slope * load(constants, c + VISCOUS)))
    rest1, rest2 = load(constants, c + REST), load(constants, c + REST + LANES)
    faster = less3(guess, spin)
    store(buf, b + DRIVE, spring * (per_slope * (rest1 - k1) + h * dot(*e1, *faster)))
    store(buf, b + DRIVE + LANES, spring * (per_slope * (rest2 - k2) + h * dot(*e2, *faster)))
    per_opened = 0.5 * inv_cos * inv_cos  # 1 / (1 + cos(angle))
    x, y = plus3(x, -per_opened * x_along, both), plus3(y, -per_opened * y_along, both)
    if is_spine:
        o1, o2, o3 = load3(constants, c + OFFSET)
        store3(buf, b + BESIDE, *plus3(plus3(times3(o1, x), o2, y), o3, d))
    return (d, x, y), guess


# -- from tip to root ------------------------------------------------------------------------------------------------


@in_lanes
def plus6(a, s, b):
    """Six numbers a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2], a[3] + s * b[3], a[4] + s * b[4], a[5] + s * b[5]


@in_lanes
def plus9(a, b):
    """Nine numbers a + b."""
    return (
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
        a[8] + b[8],
    )


@in_lanes
def cross_symmetric(u, m):
    """The matrix [u]x M, nine numbers, of a symmetric M."""
    x, y, z = cross(*u, m[0], m[3], m[4]), cross(*u, m[3], m[1], m[5]), cross(*u, m[4], m[5], m[2])
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]


@in_lanes
def cross_rows(u, m):
    """The cross products of u and the three rows of a matrix."""
    return cross(*u, m[0], m[1], m[2]), cross(*u, m[3], m[4], m[5]), cross(*u, m[6], m[7], m[8])


@in_lanes
def seen_from_start(beyond, u):
    """A quadratic function of the motion of a link's end, as one of the motion of its start: v_end = v + w x u."""
    a, b, c, p, q = beyond
    old = cross_rows(u, b)
    b = plus9(b, cross_symmetric(u, c))
    new = cross_rows(u, b)
    a = (
        a[0] + old[0][0] + new[0][0],
        a[1] + old[1][1] + new[1][1],
        a[2] + old[2][2] + new[2][2],
        a[3] + old[1][0] + new[0][1],
        a[4] + old[2][0] + new[0][2],
        a[5] + old[2][1] + new[1][2],
    )
    return a, b, c, plus3(p, 1.0, cross(*u, *q)), q


@in_lanes
def plus_vertex_beside(beyond, mass, momentum, o):
    """Add a vertex that is carried at `o` from the end of its link."""
    a, b, c, p, q = beyond
    arm = cross_symmetric(o, mass)
    x, y, z = cross_rows(o, arm)
    a = plus6(a, 1.0, (x[0], y[1], z[2], x[1], x[2], y[2]))
    return a, plus9(b, arm), plus6(c, 1.0, mass), plus3(p, 1.0, cross(*o, *momentum)), plus3(q, 1.0, momentum)


@in_lanes
def gather_link(constants, c, buf, b, h, is_spine, beyond):
    """Quadratic function of the motion of a link's start, from that of all `beyond` its end.

    It adds the vertex, what couples it to the vertex before, and the tension.
    """
    d, length = load3(buf, b + ALONG), load(constants, c + LENGTH)
    u = times3(length, d)
    mass, momentum = load6(buf, b + INERTIA), load3(buf, b + IMPULSE)
    if is_spine:
        beyond = plus_vertex_beside(beyond, mass, momentum, load3(buf, b + BESIDE))
        A, B, C, p, q = seen_from_start(beyond, u)
    else:
        A, B, C, p, q = beyond
        A, B, C, p, q = seen_from_start((A, B, plus6(C, 1.0, mass), p, plus3(q, 1.0, momentum)), u)
        coupling = load6(buf, b + COUPLE)  # none of vertices beside their links: `ChainSolver._lumped`
        B, C = plus9(B, cross_symmetric(u, coupling)), plus6(C, 2.0, coupling)
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
    return A, B, C, plus3(plus3(p, pull, guess), -dot(*d, *guess), s), q


@in_lanes
def less_dyads6(m, x, p, y, q):
    """Six numbers of M - x p^T - y q^T, which is known to be symmetric."""
    return (
        m[0] - x[0] * p[0] - y[0] * q[0],
        m[1] - x[1] * p[1] - y[1] * q[1],
        m[2] - x[2] * p[2] - y[2] * q[2],
        m[3] - x[0] * p[1] - y[0] * q[1],
        m[4] - x[0] * p[2] - y[0] * q[2],
        m[5] - x[1] * p[2] - y[1] * q[2],
    )


@in_lanes
def less_dyads9(m, x, p, y, q):
    """Nine numbers of M - x p^T - y q^T."""
    return (
        m[0] - x[0] * p[0] - y[0] * q[0],
        m[1] - x[0] * p[1] - y[0] * q[1],
        m[2] - x[0] * p[2] - y[0] * q[2],
        m[3] - x[1] * p[0] - y[1] * q[0],
        m[4] - x[1] * p[1] - y[1] * q[1],
        m[5] - x[1] * p[2] - y[1] * q[2],
        m[6] - x[2] * p[0] - y[2] * q[0],
        m[7] - x[2] * p[1] - y[2] * q[1],
        m[8] - x[2] * p[2] - y[2] * q[2],
    )


@in_lanes
def eliminate_joint(buf, b, gathered):
    """Solve for the rate of a joint in terms of the motion before it; return the quadratic function without it.

    Fills GAIN_W, GAIN_V and RATE.
    """
    A, B, C, p, q = gathered
    e1, e2 = load3(buf, b + AXES), load3(buf, b + AXES + LANES_3)
    hinge = load(buf, b + HINGE)
    a1, a2 = symmetric_times_vector(*A, *e1), symmetric_times_vector(*A, *e2)
    b1, b2 = transposed_times_vector(B, *e1), transposed_times_vector(B, *e2)
    h11, h12, h22 = hinge + dot(*e1, *a1), dot(*e1, *a2), hinge + dot(*e2, *a2)
    g1, g2 = load(buf, b + DRIVE) + dot(*e1, *p), load(buf, b + DRIVE + LANES) + dot(*e2, *p)
    inv = 1.0 / (h11 * h22 - h12 * h12)
    i11, i12, i22 = h22 * inv, -h12 * inv, h11 * inv
    w1, w2 = plus3(times3(i11, a1), i12, a2), plus3(times3(i12, a1), i22, a2)
    v1, v2 = plus3(times3(i11, b1), i12, b2), plus3(times3(i12, b1), i22, b2)
    r1, r2 = i11 * g1 + i12 * g2, i12 * g1 + i22 * g2
    store6(buf, b + GAIN_W, *w1, *w2)
    store6(buf, b + GAIN_V, *v1, *v2)
    store(buf, b + RATE, r1)
    store(buf, b + RATE + LANES, r2)
    return (
        less_dyads6(A, a1, w1, a2, w2),
        less_dyads9(B, a1, v1, a2, v2),
        less_dyads6(C, b1, v1, b2, v2),
        plus3(plus3(p, -r1, a1), -r2, a2),
        plus3(plus3(q, -r1, b1), -r2, b2),
    )


@in_lanes
def cut_force(buf, b, inv_h, beyond, after):
    """Force through a link: what acts on the vertices beyond it, less what their acceleration takes.

    `beyond` is the force through the next link, `after` what couples this vertex to the next one.
    """
    here = symmetric_times_vector(*load6(buf, b + INERTIA), *load3(buf, b + VERTEX_V))
    before = symmetric_times_vector(*load6(buf, b + COUPLE), *load3(buf, b - STRIDE + VERTEX_V))
    f = less3(less3(less3(load3(buf, b + IMPULSE), here), before), after)
    return plus3(beyond, inv_h, f)


@in_lanes
def coupled(buf, b):
    """What couples the vertex before to this one."""
    return symmetric_times_vector(*load6(buf, b + COUPLE), *load3(buf, b + VERTEX_V))


# -- from root to tip ------------------------------------------------------------------------------------------------


@in_lanes
def sweep_link(constants, c, buf, b, is_spine, w, v):
    """Motion (w, v) of a link and its end, from that of the link before it; fills the velocity of its vertex."""
    g, k = load9(buf, b + GAIN_W), load3(buf, b + GAIN_V + LANES_3)
    r1 = load(buf, b + RATE) - dot(*g[:3], *w) - dot(*g[6:], *v)
    r2 = load(buf, b + RATE + LANES) - dot(*g[3:6], *w) - dot(*k, *v)
    w = plus3(plus3(w, r1, load3(buf, b + AXES)), r2, load3(buf, b + AXES + LANES_3))
    v = plus3(v, load(constants, c + LENGTH), cross(*w, *load3(buf, b + ALONG)))
    at_vertex = plus3(v, 1.0, cross(*w, *load3(buf, b + BESIDE))) if is_spine else v
    store3(buf, b + VERTEX_V, *at_vertex)
    return w, v
