"""The constraints of eight rods side by side: hsu2024 eq. 1 to 8, one after the other from root to tip.

Rows of a buffer per slot, a vertex and the segment beyond it, each row a number of each of eight strands:

    X        3  place of the vertex
    INVERSE  6  its inverse mass, zero for a root that is held
    Q        4  orientation of the segment
    STRETCH  3  multiplier of its stretch-shear constraint
    BEND     4  multiplier of the bend-twist constraint before it
    REST     4  orientation at rest, seen from the segment before
    and one each: one over its length, one over the mass of its orientation, compliances of the two constraints

The slot before the first is what a root holds its strand by: an orientation of infinite mass.
"""

# mypy: allow-untyped-defs

from mane.simd.f64x8 import load
from mane.simd.jit import inline_fast, njit
from mane.simd.layout import row_offsets
from mane.simd.masks import select
from mane.simd.math import sqrt
from mane.simd.memory import broadcast_like, use_wide_registers
from mane.simd.rows import load3, load4, load6, store3, store4
from mane.strand._kernels_small import symmetric_inverse, symmetric_times_vector, third_axis

SIZES = (3, 6, 4, 3, 4, 4, 1, 1, 1, 1)
X, INVERSE, Q, STRETCH, BEND, REST, PER_LENGTH, WEIGHT, STRETCH_SOFT, BEND_SOFT = row_offsets(*SIZES)
STRIDE = row_offsets(sum(SIZES), 0)[1]  # numbers from one slot to the next
FIRST = STRIDE
NO_JOINT = 1e30  # compliance of the first joint of a root that is free to turn


@inline_fast
def product(ax, ay, az, aw, bx, by, bz, bw):
    """First quaternion b, then a."""
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


@inline_fast
def add_scaled(buf, at, weight, x, y, z, w):
    """Add `weight` times four numbers to the quaternion at `at`, in place, and scale it to length one."""
    qx, qy, qz, qw = load4(buf, at)
    x, y, z, w = qx + weight * x, qy + weight * y, qz + weight * z, qw + weight * w
    inv = 1.0 / sqrt(x * x + y * y + z * z + w * w)
    store4(buf, at, x * inv, y * inv, z * inv, w * inv)


@inline_fast
def solve_stretch_shear(buf, at):
    """Eq. 1: C = (x_(j+1) - x_j) / l - d3; its forces and torque are those of eq. 4 to 6 with k C = -multiplier."""
    beyond = at + STRIDE
    qx, qy, qz, qw = load4(buf, at + Q)
    dx, dy, dz = third_axis(qx, qy, qz, qw)
    compliance, per_length, weight = load(buf, at + STRETCH_SOFT), load(buf, at + PER_LENGTH), load(buf, at + WEIGHT)
    a0, a1, a2, a3, a4, a5 = load6(buf, at + INVERSE)
    b0, b1, b2, b3, b4, b5 = load6(buf, beyond + INVERSE)
    square, own = per_length * per_length, 4.0 * weight + compliance
    # The gradient of d3 by the four numbers of q is twice a matrix with orthonormal rows.
    i0, i1, i2, i3, i4, i5 = symmetric_inverse(
        (a0 + b0) * square + own,
        (a1 + b1) * square + own,
        (a2 + b2) * square + own,
        (a3 + b3) * square,
        (a4 + b4) * square,
        (a5 + b5) * square,
    )
    x, y, z = load3(buf, at + X)
    fx, fy, fz = load3(buf, beyond + X)
    mx, my, mz = load3(buf, at + STRETCH)
    lx, ly, lz = symmetric_times_vector(
        *(i0, i1, i2, i3, i4, i5),
        dx - (fx - x) * per_length - compliance * mx,
        dy - (fy - y) * per_length - compliance * my,
        dz - (fz - z) * per_length - compliance * mz,
    )
    store3(buf, at + STRETCH, mx + lx, my + ly, mz + lz)
    px, py, pz = symmetric_times_vector(b0, b1, b2, b3, b4, b5, lx, ly, lz)
    store3(buf, beyond + X, fx + per_length * px, fy + per_length * py, fz + per_length * pz)
    px, py, pz = symmetric_times_vector(a0, a1, a2, a3, a4, a5, lx, ly, lz)
    store3(buf, at + X, x - per_length * px, y - per_length * py, z - per_length * pz)
    # Eq. 6: along 2 lambda q e3, where q e3 is (qy, -qx, qw, -qz).
    zero = broadcast_like(lx, 0.0)
    tx, ty, tz, tw = product(lx, ly, lz, zero, qy, -qx, qw, -qz)
    add_scaled(buf, at + Q, 2.0 * weight, tx, ty, tz, tw)


@inline_fast
def solve_bend_twist(buf, at):
    """Eq. 2 and 3: C = conj(q_before) q_after - phi q0, four numbers; torques as in eq. 7 and 8."""
    before = at - STRIDE
    ax, ay, az, aw = load4(buf, before + Q)
    bx, by, bz, bw = load4(buf, at + Q)
    rx, ry, rz, rw = load4(buf, at + REST)
    cx, cy, cz, cw = product(-ax, -ay, -az, aw, bx, by, bz, bw)
    one = broadcast_like(cx, 1.0)
    phi = select(cx * rx + cy * ry + cz * rz + cw * rw >= 0.0, one, -one)
    compliance, weight, weight_before = load(buf, at + BEND_SOFT), load(buf, at + WEIGHT), load(buf, before + WEIGHT)
    scale = 1.0 / (weight + weight_before + compliance)
    mx, my, mz, mw = load4(buf, at + BEND)
    lx = scale * (phi * rx - cx - compliance * mx)
    ly = scale * (phi * ry - cy - compliance * my)
    lz = scale * (phi * rz - cz - compliance * mz)
    lw = scale * (phi * rw - cw - compliance * mw)
    store4(buf, at + BEND, mx + lx, my + ly, mz + lz, mw + lw)
    px, py, pz, pw = product(ax, ay, az, aw, lx, ly, lz, lw)
    add_scaled(buf, at + Q, weight, px, py, pz, pw)
    px, py, pz, pw = product(bx, by, bz, bw, -lx, -ly, -lz, lw)
    add_scaled(buf, before + Q, weight_before, px, py, pz, pw)


@njit(cache=True, error_model="numpy")
def solve_constraints(segments, iterations, buf):
    """Solve all constraints of eight strands `iterations` times over."""
    use_wide_registers()
    for _ in range(iterations):
        for j in range(segments):
            at = FIRST + j * STRIDE
            solve_bend_twist(buf, at)
            solve_stretch_shear(buf, at)
