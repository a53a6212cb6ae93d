"""The linear system of a stage of Cosserat rods: filled and factorised once, solved for several right-hand sides.

Unknowns of a strand, in the order of elimination, three numbers each:

    x_0, theta_0, x_1, theta_1, ... x_N        x: displacement of a vertex, theta: small world rotation of a segment

A vertex meets its two segments and its neighbours, a segment meets its neighbours: each unknown is coupled to the next
two only, so the matrix is block-pentadiagonal with 3 x 3 blocks and the solve takes O(vertices). What is kept of the
factors are the inverted diagonal blocks and P; the blocks Q and H are quickly made again:

    x_j     couples to theta_j by P_x, to x_(j+1) by Q = coupling / dt - k / l
    theta_j couples to x_(j+1) by P_t, to theta_(j+1) by H = - bend - extra twist d d^T of the joint between them
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.f64x8 import broadcast, load
from mane.simd.jit import inline_fast
from mane.simd.memory import use_wide_registers
from mane.simd.rows import load3, load4, load6, load9, store3, store4, store6, store9
from mane.strand._kernels_small import (
    cross,
    full_times_vector,
    symmetric_inverse,
    symmetric_times_full,
    symmetric_times_vector,
    third_axis,
    transposed_times_full,
    transposed_times_full_symmetric,
    transposed_times_vector,
)
from mane.strand.cosserat._kernels_balance import balance_segment, balance_vertex, joint_moment, stage_velocity
from mane.strand.cosserat._kernels_rows import (
    A_T,
    A_X,
    AXIS,
    BEND,
    CONSTANT_STRIDE,
    COUPLE,
    CUT,
    D_T,
    DAMPING,
    EDGE,
    EXTRA_TWIST,
    FREE,
    INERTIA,
    INV_STAGE,
    LENGTH,
    MASS,
    ONE,
    P_T,
    P_X,
    R_T,
    R_X,
    RESIST,
    SOFT,
    SPRING,
    SPRINGS,
    STRETCH,
    STRIDE,
    TENSION,
    Q,
    in_block,
    turned,
)


@inline_fast
def vertex_block(constants, c, buf, b, inv_dt):
    """Diagonal block of a vertex."""
    r0, r1, r2, r3, r4, r5 = load6(buf, b + RESIST)
    diagonal = load(constants, c + MASS) * inv_dt * inv_dt + load(constants, c + SPRINGS)
    return (
        diagonal + r0 * inv_dt,
        diagonal + r1 * inv_dt,
        diagonal + r2 * inv_dt,
        r3 * inv_dt,
        r4 * inv_dt,
        r5 * inv_dt,
    )


@inline_fast
def joint_stiffness(constants, c, inv_dt):
    """What a joint resists bending with over the stage, and how much more it resists twisting."""
    viscous = 1.0 + load(constants, c + DAMPING) * inv_dt
    return viscous * load(constants, c + BEND), viscous * load(constants, c + EXTRA_TWIST)


@inline_fast
def segment_block(constants, c, buf, b, inv_dt, bend, extra, bend_ahead, extra_ahead):
    """Diagonal block of a segment between two joints."""
    dx, dy, dz = load3(buf, b + AXIS)
    tx, ty, tz = load3(buf, b + STRIDE + AXIS)
    # k l (I - d d^T) of stretch and shear, with the geometric stiffness of the tension beside it
    shear = (load(constants, c + STRETCH) + load(buf, b + TENSION)) * load(constants, c + LENGTH)
    diagonal = load(constants, c + INERTIA) * inv_dt * inv_dt + shear + bend + bend_ahead
    across = extra - shear
    ax, ay, az = across * dx, across * dy, across * dz
    bx, by, bz = extra_ahead * tx, extra_ahead * ty, extra_ahead * tz
    return (
        diagonal + ax * dx + bx * tx,
        diagonal + ay * dy + by * ty,
        diagonal + az * dz + bz * tz,
        ax * dy + bx * ty,
        ax * dz + bx * tz,
        ay * dz + by * tz,
    )


@inline_fast
def between_vertices(constants, c, buf, b, inv_dt):
    """The block Q between the vertices of a segment, symmetric."""
    spring = load(constants, c + SPRING)
    e0, e1, e2, e3, e4, e5 = load6(buf, b + COUPLE)
    return e0 * inv_dt - spring, e1 * inv_dt - spring, e2 * inv_dt - spring, e3 * inv_dt, e4 * inv_dt, e5 * inv_dt


@inline_fast
def less6(a, b):
    """Difference of symmetric matrices."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5]


@inline_fast
def full(m):
    """A symmetric matrix as nine numbers."""
    return m[0], m[3], m[4], m[3], m[1], m[5], m[4], m[5], m[2]


@inline_fast
def across_joint(constants, c, buf, b, inv_dt, x, y, z):
    """Product of a rotation and -H of the joint at `b`."""
    bend, extra = joint_stiffness(constants, c, inv_dt)
    dx, dy, dz = load3(buf, b + AXIS)
    along = extra * (dx * x + dy * y + dz * z)
    return bend * x + along * dx, bend * y + along * dy, bend * z + along * dz


@inline_fast
def begin_forwards(constants, buf, rate):
    """What `pass_on` wants at the root: velocities before and there, the joint's moment, what is left to take off."""
    zero = broadcast(0.0)
    none = (zero, zero, zero)
    return none, stage_velocity(buf, STRIDE, rate), joint_moment(constants, np.uint64(0), buf, STRIDE, rate), none, none


@inline_fast
def pass_on(constants, c, buf, b, rate, gravity, carried, a, p, q, t, r):
    """Take what is out of balance at a vertex and its segment to the next ones, through the blocks of the matrix."""
    before, here, moment, left_x, left_t = carried
    n, m = b + STRIDE, c + CONSTANT_STRIDE
    ahead, moment_ahead = stage_velocity(buf, n, rate), joint_moment(constants, m, buf, n, rate)
    x, y, z = balance_vertex(constants, c, buf, b, rate, gravity, before, here, ahead)
    x, y, z = symmetric_times_vector(*a, x - left_x[0], y - left_x[1], z - left_x[2])
    store3(buf, b + R_X, x, y, z)
    tx, ty, tz = balance_segment(constants, c, buf, b, rate, moment, moment_ahead)
    lx, ly, lz = transposed_times_vector(p, x, y, z)
    tx, ty, tz = symmetric_times_vector(*t, tx - left_t[0] - lx, ty - left_t[1] - ly, tz - left_t[2] - lz)
    store3(buf, b + R_T, tx, ty, tz)
    mx, my, mz = symmetric_times_vector(*q, x, y, z)
    lx, ly, lz = transposed_times_vector(r, tx, ty, tz)
    ox, oy, oz = across_joint(constants, m, buf, n, rate, tx, ty, tz)
    return here, ahead, moment_ahead, (mx + lx, my + ly, mz + lz), (-ox, -oy, -oz)


@inline_fast
def end_forwards(constants, c, buf, b, rate, gravity, carried, a):
    """The same at the tip."""
    zero = broadcast(0.0)
    before, here, _, left_x, _ = carried
    x, y, z = balance_vertex(constants, c, buf, b, rate, gravity, before, here, (zero, zero, zero))
    store3(buf, b + R_X, *symmetric_times_vector(*a, x - left_x[0], y - left_x[1], z - left_x[2]))


@in_block
def factorise(vertices, gravity, constants, buf):
    """Eliminate x_j and theta_j of every segment in turn, then the tip; keeps what solving needs.

    Takes what is out of balance along from root to tip, as `solve_forwards` does later.
    """
    use_wide_registers()
    zero, inv_dt = broadcast(0.0), load(buf, INV_STAGE)
    left_x = left_t = (zero, zero, zero, zero, zero, zero)
    left_p = (zero, zero, zero, zero, zero, zero, zero, zero, zero)
    bend, extra = joint_stiffness(constants, np.uint64(0), inv_dt)
    carried = begin_forwards(constants, buf, inv_dt)
    for j in range(np.uint64(vertices - 1)):
        b, c = (j + ONE) * STRIDE, j * CONSTANT_STRIDE
        stretch = load(constants, c + STRETCH)
        dx, dy, dz = load3(buf, b + AXIS)
        kx, ky, kz = stretch * dx, stretch * dy, stretch * dz
        # x_j is coupled to theta_j by -k [d]x and what theta_(j-1) left there, and to x_(j+1)
        f = left_p
        p = (f[0], f[1] + kz, f[2] - ky, f[3] - kz, f[4], f[5] + kx, f[6] + ky, f[7] - kx, f[8])
        q = between_vertices(constants, c, buf, b, inv_dt)
        free = load(constants, c + FREE)
        a = symmetric_inverse(*less6(vertex_block(constants, c, buf, b, inv_dt), left_x))
        a = (free * a[0], free * a[1], free * a[2], free * a[3], free * a[4], free * a[5])
        store6(buf, b + A_X, *a)
        store9(buf, b + P_X, p)
        u, w = symmetric_times_full(*a, p), symmetric_times_full(*a, full(q))
        # what x_j leaves on theta_j, between theta_j and x_(j+1), and on x_(j+1)
        bend_ahead, extra_ahead = joint_stiffness(constants, c + CONSTANT_STRIDE, inv_dt)
        t = segment_block(constants, c, buf, b, inv_dt, bend, extra, bend_ahead, extra_ahead)
        t = symmetric_inverse(*less6(less6(t, left_t), transposed_times_full_symmetric(p, u)))
        z = transposed_times_full(p, w)
        r = (-z[0], kz - z[1], -ky - z[2], -kz - z[3], -z[4], kx - z[5], ky - z[6], -kx - z[7], -z[8])
        left = transposed_times_full_symmetric(full(q), w)
        store6(buf, b + A_T, *t)
        store9(buf, b + P_T, r)
        carried = pass_on(constants, c, buf, b, inv_dt, gravity, carried, a, p, q, t, r)
        # theta_j is coupled to theta_(j+1) by the joint between them
        ox, oy, oz = load3(buf, b + STRIDE + AXIS)
        h = full(
            (
                -bend_ahead - extra_ahead * ox * ox,
                -bend_ahead - extra_ahead * oy * oy,
                -bend_ahead - extra_ahead * oz * oz,
                -extra_ahead * ox * oy,
                -extra_ahead * ox * oz,
                -extra_ahead * oy * oz,
            )
        )
        u, w = symmetric_times_full(*t, r), symmetric_times_full(*t, h)
        # what both leave on x_(j+1), between it and theta_(j+1), and on theta_(j+1)
        more = transposed_times_full_symmetric(r, u)
        left_x = (
            left[0] + more[0],
            left[1] + more[1],
            left[2] + more[2],
            left[3] + more[3],
            left[4] + more[4],
            left[5] + more[5],
        )
        z = transposed_times_full(r, w)
        left_p = (-z[0], -z[1], -z[2], -z[3], -z[4], -z[5], -z[6], -z[7], -z[8])
        left_t = transposed_times_full_symmetric(h, w)
        bend, extra = bend_ahead, extra_ahead
    b, c = np.uint64(vertices) * STRIDE, np.uint64(vertices - 1) * CONSTANT_STRIDE
    a = symmetric_inverse(*less6(vertex_block(constants, c, buf, b, inv_dt), left_x))
    store6(buf, b + A_X, *a)
    end_forwards(constants, c, buf, b, inv_dt, gravity, carried, a)


@in_block
def solve_forwards(vertices, gravity, constants, buf):
    """Find what is out of balance and take it from root to tip."""
    use_wide_registers()
    rate = load(buf, INV_STAGE)
    carried = begin_forwards(constants, buf, rate)
    for j in range(np.uint64(vertices - 1)):
        b, c = (j + ONE) * STRIDE, j * CONSTANT_STRIDE
        a, p, q = load6(buf, b + A_X), load9(buf, b + P_X), between_vertices(constants, c, buf, b, rate)
        t, r = load6(buf, b + A_T), load9(buf, b + P_T)
        carried = pass_on(constants, c, buf, b, rate, gravity, carried, a, p, q, t, r)
    b, c = np.uint64(vertices) * STRIDE, np.uint64(vertices - 1) * CONSTANT_STRIDE
    end_forwards(constants, c, buf, b, rate, gravity, carried, load6(buf, b + A_X))


@in_block
def solve_backwards(vertices, constants, buf):
    """Leave the displacement of every vertex in R_X, turn the segments, and leave the way along each in EDGE.

    Also brings the cut forces along: the multipliers n = k (C + J delta), which carry none of the rounding of a strain
    taken from positions. A segment gets the length and direction that its cut force demands, l (d3 + n / k), where the
    linearised solution would leave it too long by the square of its rotation.
    """
    use_wide_registers()
    segments = np.uint64(vertices - 1)
    zero, inv_dt = broadcast(0.0), load(buf, INV_STAGE)
    ex, ey, ez = load3(buf, np.uint64(vertices) * STRIDE + R_X)
    ox, oy, oz = zero, zero, zero
    for i in range(segments):
        j = segments - ONE - i
        b, c = (j + ONE) * STRIDE, j * CONSTANT_STRIDE
        lx, ly, lz = full_times_vector(load9(buf, b + P_T), ex, ey, ez)
        mx, my, mz = across_joint(constants, c + CONSTANT_STRIDE, buf, b + STRIDE, inv_dt, ox, oy, oz)
        lx, ly, lz = symmetric_times_vector(*load6(buf, b + A_T), lx - mx, ly - my, lz - mz)
        tx, ty, tz = load3(buf, b + R_T)
        tx, ty, tz = tx - lx, ty - ly, tz - lz
        lx, ly, lz = full_times_vector(load9(buf, b + P_X), tx, ty, tz)
        mx, my, mz = symmetric_times_vector(*between_vertices(constants, c, buf, b, inv_dt), ex, ey, ez)
        lx, ly, lz = symmetric_times_vector(*load6(buf, b + A_X), lx + mx, ly + my, lz + mz)
        x, y, z = load3(buf, b + R_X)
        x, y, z = x - lx, y - ly, z - lz
        store3(buf, b + R_X, x, y, z)
        dx, dy, dz = load3(buf, b + AXIS)
        gx, gy, gz = cross(dx, dy, dz, tx, ty, tz)
        stretch, spring = load(constants, c + STRETCH), load(constants, c + SPRING)
        nx, ny, nz = load3(buf, b + CUT)
        nx = nx + spring * (ex - x) + stretch * gx
        ny = ny + spring * (ey - y) + stretch * gy
        nz = nz + spring * (ez - z) + stretch * gz
        store3(buf, b + CUT, nx, ny, nz)
        sx, sy, sz = load3(buf, b + D_T)
        store3(buf, b + D_T, sx + tx, sy + ty, sz + tz)
        qx, qy, qz, qw = turned(*load4(buf, b + Q), tx, ty, tz)
        store4(buf, b + Q, qx, qy, qz, qw)
        dx, dy, dz = third_axis(qx, qy, qz, qw)
        length, soft = load(constants, c + LENGTH), load(constants, c + SOFT)
        store3(buf, b + EDGE, length * dx + soft * nx, length * dy + soft * ny, length * dz + soft * nz)
        ex, ey, ez, ox, oy, oz = x, y, z, tx, ty, tz
