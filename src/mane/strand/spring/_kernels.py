"""Numba kernels of the spring model: forces and matrix of a Newton step of implicit Euler, eight strands side by side.

A strand's particles, in the order of `net`, are coupled over at most three places, so the matrix of a Newton
step is a band of 3 x 3 blocks, which `_kernels_solve` factorises and solves in O(particles).

Each particle has a record of ROWS numbers for each of eight strands (lanes); lane s of the record at o is
`buf[o + row]`. One empty record and the two ghosts come first, so that every particle has three predecessors, and
three empty ones last. `_reference` is the same step with a dense matrix.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from mane.simd.f64x8 import broadcast, load
from mane.simd.jit import inline_fast, njit
from mane.simd.layout import row_offsets
from mane.simd.masks import select
from mane.simd.math import maximum, sqrt
from mane.simd.memory import store, use_wide_registers
from mane.simd.reductions import reduce_max
from mane.simd.rows import LANES, LANES_2, LANES_3, load3, load4, load6, store3, store6
from mane.strand._kernels_small import cross, symmetric_times_vector

# Constants of a particle: stiffness and rest length of its springs to p-1, p-2, p-3; damping / dt; stiffness and rest
# of its altitude; 1 if it is free to move, else 0; mass / dt^2; cosine and sine of its azimuth if it is auxiliary.
CONSTANT_ROWS = 13
STIFFNESS, REST, LAG, ALTITUDE, REST_ALTITUDE, FREE, INERTIA, AZIMUTH = row_offsets(3, 3, 1, 1, 1, 1, 1, 2)
# Positions: estimate of the end of the step, its start, and where it would end without springs.
END, START, AIM = row_offsets(3, 3, 3, start=CONSTANT_ROWS)
# The load, over dt: on the diagonal and towards p-2.
RESIST, COUPLE = row_offsets(6, 6, start=CONSTANT_ROWS + 9)
# Unbalanced force, then the change that it causes; altitude's matrix and the weights of p, p-1, p-2, p-3 in it; tension
# of the springs as the last solve had it.
FORCE, SLAB, WEIGHTS, TENSION = row_offsets(3, 6, 4, 3, start=CONSTANT_ROWS + 21)
# Blocks of the matrix on the diagonal and towards p-1, p-2, p-3; before it is assembled, matrices of those springs.
# The factor's diagonal block holds one over each of its three scales, then l10 l20 l21 of its unit triangle.
DIAGONAL, NEAR, NEXT, FAR = row_offsets(6, 9, 9, 9, start=CONSTANT_ROWS + 37)
# Directions of the springs, and one over the length of the first two, as the solve had them.
ALONG, SHORTNESS = row_offsets(9, 2, start=CONSTANT_ROWS + 70)
# The same for all particles of a strand, but in the record of each, so that lanes go on without looking elsewhere: 1
# until the strand has settled; length of the stage [s].
GOES_ON, STAGE = row_offsets(1, 1, start=CONSTANT_ROWS + 81)
ROW_COUNT = CONSTANT_ROWS + 84  # odd, or records would share the same few places in the cache
RECORD = LANES * np.uint64(ROW_COUNT)
RECORD_2, RECORD_3 = np.uint64(2) * RECORD, np.uint64(3) * RECORD

ROOT = np.uint64(3)  # record of the first vertex
EMPTY = 3  # records behind the last particle
ZERO, ONE, TWO, THREE = (np.uint64(k) for k in range(4))

TINY = 1e-30  # keeps the direction of a spring without length finite

in_block = njit(cache=True, error_model="numpy")


@inline_fast
def add3(buf, i, x, y, z):
    """Add to three rows."""
    a, b, c = load3(buf, i)
    store3(buf, i, a + x, b + y, c + z)


@inline_fast
def subtract3(buf, i, x, y, z):
    """Subtract from three rows."""
    a, b, c = load3(buf, i)
    store3(buf, i, a - x, b - y, c - z)


@inline_fast
def dot3(a, b):
    """Product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline_fast
def moved(buf, i):
    """How far a particle has come since the start of the step."""
    x, y, z = load3(buf, i + END)
    a, b, c = load3(buf, i + START)
    return x - a, y - b, z - c


@inline_fast
def scaled_dyad(scale, x, y, z, more):
    """Six numbers of scale v v^T + more times the identity."""
    a, b, c = scale * x, scale * y, scale * z
    return a * x + more, b * y + more, c * z + more, a * y, a * z, b * z


@in_block
def balance_inertia(buf, records):
    """Start the unbalanced forces with inertia and the load."""
    use_wide_registers()
    for p in range(records):
        i = p * RECORD
        x, y, z = load3(buf, i + END)
        a, b, c = load3(buf, i + AIM)
        rx, ry, rz = symmetric_times_vector(*load6(buf, i + RESIST), *moved(buf, i))
        m = load(buf, i + INERTIA)
        store3(buf, i + FORCE, m * (a - x) - rx, m * (b - y) - ry, m * (c - z) - rz)


@in_block
def balance_coupling(buf, records):
    """Add what the load couples between the ends of segments to the unbalanced forces."""
    use_wide_registers()
    for p in range(ROOT + TWO, records, TWO):
        i = p * RECORD
        k = i - RECORD_2
        matrix = load6(buf, i + COUPLE)
        here, there = moved(buf, i), moved(buf, k)
        subtract3(buf, k + FORCE, *symmetric_times_vector(*matrix, *here))
        subtract3(buf, i + FORCE, *symmetric_times_vector(*matrix, *there))


@inline_fast
def spring(buf, i, k):
    """Direction of the spring between particles i and k, its length and one over it, and how far they came apart."""
    x, y, z = load3(buf, i + END)
    a, b, c = load3(buf, k + END)
    dx, dy, dz = x - a, y - b, z - c
    inv = 1.0 / sqrt(dx * dx + dy * dy + dz * dz + TINY)
    length = (dx * dx + dy * dy + dz * dz) * inv
    ux, uy, uz = dx * inv, dy * inv, dz * inv
    x, y, z = load3(buf, i + START)
    a, b, c = load3(buf, k + START)
    return ux, uy, uz, length, inv, ux * (dx - x + a) + uy * (dy - y + b) + uz * (dz - z + c)


@inline_fast
def add_spring(buf, i, k, which, block):
    """Add spring number `which` (in lanes) between particles i and k to their forces; leave its matrix in `block`.

    Returns one over its length.
    """
    ux, uy, uz, length, inv, apart = spring(buf, i, k)
    stiffness, lag = load(buf, i + STIFFNESS + which), load(buf, i + LAG)
    tension = stiffness * (length - load(buf, i + REST + which) + lag * apart)
    subtract3(buf, i + FORCE, tension * ux, tension * uy, tension * uz)
    add3(buf, k + FORCE, tension * ux, tension * uy, tension * uz)
    store3(buf, i + ALONG + THREE * which, ux, uy, uz)
    # Across a spring under tension it resists too; under compression that term is negative and left out. The tension of
    # the last solve counts: that of the estimate is far too large where a stiff spring has turned.
    pull = load(buf, i + TENSION + which)
    store(buf, i + TENSION + which, pull + load(buf, i + GOES_ON) * (tension - pull))
    across = maximum(pull, 0.0) * inv
    store6(buf, i + block, *scaled_dyad(stiffness * (1.0 + lag) - across, ux, uy, uz, across))
    return inv


@in_block
def add_springs(buf, records):
    """Evaluate all springs."""
    use_wide_registers()
    for p in range(ROOT + ONE, records):
        i = p * RECORD
        store(buf, i + SHORTNESS, add_spring(buf, i, i - RECORD, ZERO, NEAR))
        store(buf, i + SHORTNESS + LANES, add_spring(buf, i, i - RECORD_2, LANES, NEXT))
        add_spring(buf, i, i - RECORD_3, LANES_2, FAR)


@inline_fast
def altitude(buf, apex, base, first, second):
    """Normal of a face, altitude of the apex over it, and where its foot is: weights of `first` and `second`."""
    x, y, z = load3(buf, base + END)
    ax, ay, az = load3(buf, first + END)
    bx, by, bz = load3(buf, second + END)
    rx, ry, rz = load3(buf, apex + END)
    ax, ay, az = ax - x, ay - y, az - z
    bx, by, bz = bx - x, by - y, bz - z
    rx, ry, rz = rx - x, ry - y, rz - z
    nx, ny, nz = cross(ax, ay, az, bx, by, bz)
    inv = 1.0 / sqrt(nx * nx + ny * ny + nz * nz + TINY)
    nx, ny, nz = nx * inv, ny * inv, nz * inv
    ux, uy, uz = cross(rx, ry, rz, bx, by, bz)
    vx, vy, vz = cross(ax, ay, az, rx, ry, rz)
    u = inv * (ux * nx + uy * ny + uz * nz)
    v = inv * (vx * nx + vy * ny + vz * nz)
    return nx, ny, nz, rx * nx + ry * ny + rz * nz, u, v


@inline_fast
def add_altitude(buf, i, x, y, z, height, w0, w1, w2, w3):
    """Add an altitude spring to the forces of particles p ... p-3 with these weights; leave its matrix behind."""
    n = (x, y, z)
    rate = w0 * dot3(n, moved(buf, i)) + w1 * dot3(n, moved(buf, i - RECORD))
    rate = rate + w2 * dot3(n, moved(buf, i - RECORD_2)) + w3 * dot3(n, moved(buf, i - RECORD_3))
    stiffness, lag = load(buf, i + ALTITUDE), load(buf, i + LAG)
    tension = stiffness * (height - load(buf, i + REST_ALTITUDE) + lag * rate)
    fx, fy, fz = tension * x, tension * y, tension * z
    subtract3(buf, i + FORCE, w0 * fx, w0 * fy, w0 * fz)
    subtract3(buf, i - RECORD + FORCE, w1 * fx, w1 * fy, w1 * fz)
    subtract3(buf, i - RECORD_2 + FORCE, w2 * fx, w2 * fy, w2 * fz)
    subtract3(buf, i - RECORD_3 + FORCE, w3 * fx, w3 * fy, w3 * fz)
    store6(buf, i + SLAB, *scaled_dyad(stiffness * (1.0 + lag), x, y, z, 0.0))
    store3(buf, i + WEIGHTS, w0, w1, w2)
    store(buf, i + WEIGHTS + LANES_3, w3)


@in_block
def add_altitudes(buf, records):
    """Evaluate all altitude springs: those whose apex comes last, then those whose apex comes first."""
    use_wide_registers()
    one = broadcast(1.0)
    for p in range(ROOT + ONE, records, TWO):
        i = p * RECORD
        nx, ny, nz, height, u, v = altitude(buf, i, i - RECORD_3, i - RECORD_2, i - RECORD)
        add_altitude(buf, i, nx, ny, nz, height, one, -v, -u, u + v - 1.0)
    for p in range(ROOT + TWO, records, TWO):
        i = p * RECORD
        nx, ny, nz, height, u, v = altitude(buf, i - RECORD_3, i - RECORD_2, i - RECORD, i)
        add_altitude(buf, i, nx, ny, nz, height, -v, -u, u + v - 1.0, one)


@inline_fast
def plus(a, scale, b):
    """Six numbers a + scale b."""
    return (
        a[0] + scale * b[0],
        a[1] + scale * b[1],
        a[2] + scale * b[2],
        a[3] + scale * b[3],
        a[4] + scale * b[4],
        a[5] + scale * b[5],
    )


@inline_fast
def matrix_of(buf, i):
    """Gather springs, altitudes and load into the blocks of the matrix left of the diagonal, far to near, and on it.

    All four are symmetric, six numbers each.
    """
    k, l, m = i + RECORD, i + RECORD_2, i + RECORD_3
    near, next_, far = load6(buf, i + NEAR), load6(buf, i + NEXT), load6(buf, i + FAR)
    own, one, two, three = load6(buf, i + SLAB), load6(buf, k + SLAB), load6(buf, l + SLAB), load6(buf, m + SLAB)
    w0, w1, w2, w3 = load4(buf, i + WEIGHTS)
    a1, a2, a3 = load3(buf, k + WEIGHTS + LANES)
    b2, b3 = load(buf, l + WEIGHTS + LANES_2), load(buf, l + WEIGHTS + LANES_3)
    c3 = load(buf, m + WEIGHTS + LANES_3)
    total = plus(plus(plus(load6(buf, i + RESIST), 1.0, near), 1.0, next_), 1.0, far)
    total = plus(plus(total, 1.0, load6(buf, k + NEAR)), 1.0, load6(buf, l + NEXT))
    total = plus(plus(total, 1.0, load6(buf, m + FAR)), w0 * w0, own)
    xx, yy, zz, xy, xz, yz = plus(plus(plus(total, a1 * a1, one), b2 * b2, two), c3 * c3, three)
    inertia = load(buf, i + INERTIA)
    nothing = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    near = plus(plus(plus(plus(nothing, -1.0, near), w0 * w1, own), a1 * a2, one), b2 * b3, two)
    next_ = plus(plus(plus(load6(buf, i + COUPLE), -1.0, next_), w0 * w2, own), a1 * a3, one)
    far = plus(plus(nothing, -1.0, far), w0 * w3, own)
    return far, next_, near, (xx + inertia, yy + inertia, zz + inertia, xy, xz, yz)


@inline_fast
def note_tension(buf, i, k, which):
    """Add to the noted tension of a spring what the solved change makes of it; return the square of its way across."""
    ux, uy, uz = load3(buf, i + ALONG + THREE * which)
    x, y, z = load3(buf, i + FORCE)
    a, b, c = load3(buf, k + FORCE)
    dx, dy, dz = x - a, y - b, z - c
    change = ux * dx + uy * dy + uz * dz
    stiffness = load(buf, i + STIFFNESS + which) * (1.0 + load(buf, i + LAG))
    before = load(buf, i + TENSION + which)
    store(buf, i + TENSION + which, before + load(buf, i + GOES_ON) * stiffness * change)
    return dx * dx + dy * dy + dz * dz - change * change


@in_block
def advance(buf, records, tolerance):
    """Note the tensions that belong to the solved change, to first order, then move the estimate of the end by it.

    Lanes that have settled are left alone. A lane has settled once no segment turns by more than `tolerance` [rad]:
    what the solve has neglected goes with the square of that. Returns whether any has not.
    """
    use_wide_registers()
    zero, goes_on = broadcast(0.0), load(buf, ROOT * RECORD + GOES_ON)
    for p in range(ROOT):
        store3(buf, p * RECORD + FORCE, zero, zero, zero)
    x, y, z = load3(buf, ROOT * RECORD + FORCE)
    add3(buf, ROOT * RECORD + END, goes_on * x, goes_on * y, goes_on * z)
    turn = zero
    for p in range(ROOT + ONE, records):
        i = p * RECORD
        near, next_ = load(buf, i + SHORTNESS), load(buf, i + SHORTNESS + LANES)
        near = near * near * note_tension(buf, i, i - RECORD, ZERO)
        next_ = next_ * next_ * note_tension(buf, i, i - RECORD_2, LANES)
        note_tension(buf, i, i - RECORD_3, LANES_2)
        turn = maximum(maximum(near, next_), turn)
        x, y, z = load3(buf, i + FORCE)
        add3(buf, i + END, goes_on * x, goes_on * y, goes_on * z)
    goes_on = select(turn > tolerance * tolerance, goes_on, 0.0)
    for p in range(ROOT, records):
        store(buf, p * RECORD + GOES_ON, goes_on)
    return reduce_max(goes_on) > 0.0
