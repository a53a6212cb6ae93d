"""Kernels of the spring model: length of a step's implicit stage, and the way on from it (`strand/_kernels_stage`).

A segment and its auxiliary particle are a rigid triangle all but for the strain that carries its load. Going on, every
triangle turns by itself and is laid at the end of the one before it: particles that went straight on would be too far
apart by the square of the turn, and stretching is stiff.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from mane.simd.f64x8 import broadcast, load
from mane.simd.jit import inline_fast
from mane.simd.masks import select
from mane.simd.math import maximum, minimum, sqrt
from mane.simd.memory import store, use_wide_registers
from mane.simd.rows import LANES, LANES_3, load3, load4, store3, store4
from mane.strand._kernels_small import cross
from mane.strand._kernels_stage import CALM, PUSHED, RESISTED
from mane.strand.spring._kernels import (
    ALONG,
    AZIMUTH,
    END,
    FAR,
    FORCE,
    FREE,
    INERTIA,
    NEAR,
    NEXT,
    ONE,
    RECORD,
    RECORD_2,
    RESIST,
    ROOT,
    STAGE,
    TWO,
    add3,
    in_block,
    moved,
)
from mane.strand.spring._kernels_frames import frame_of_segment

FRAME, SPIN, EDGE, ARM = NEAR, NEXT, FAR, FAR + LANES_3  # rows that the solve no longer needs
BEFORE = FAR  # once particles have gone on: frames at the start of the step
QUICKER = RESIST  # of the empty first record: the step over the stage
SUM, SUM_MASS = ALONG, ALONG + LANES_3  # of the records from the root to here: mass times shift, mass


@in_block
def choose_stages(buf, records, dt, theta):
    """Length of each strand's stage: `theta` of a calm step, up to all of it. Masses, load and spins are loaded."""
    use_wide_registers()
    resisted = push = turning = broadcast(0.0)
    for p in range(ROOT, records, TWO):
        i = p * RECORD
        per_mass = load(buf, i + FREE) / load(buf, i + INERTIA)
        rx, ry, rz = load3(buf, i + RESIST)
        fx, fy, fz = load3(buf, i + FORCE)
        resisted = maximum(per_mass * (rx + ry + rz), resisted)
        push = maximum(per_mass * per_mass * (fx * fx + fy * fy + fz * fz), push)
    for p in range(ROOT + ONE, records, TWO):
        wx, wy, wz = load3(buf, p * RECORD + SPIN)
        turning = maximum(wx * wx + wy * wy + wz * wz, turning)
    violence = maximum(sqrt(push) * (1.0 / PUSHED), resisted * (dt / RESISTED))
    violence = maximum(turning * ((dt / CALM) * (dt / CALM)), violence)
    part = theta + (1.0 - theta) * minimum(violence, 1.0)
    store(buf, STAGE, part * dt)
    store(buf, QUICKER, 1.0 / part)


@in_block
def find_velocities(buf, records):
    """Leave the velocity of every particle over the stage in FORCE."""
    use_wide_registers()
    for p in range(ROOT, records):
        i = p * RECORD
        rate = 1.0 / load(buf, i + STAGE)
        x, y, z = moved(buf, i)
        store3(buf, i + FORCE, rate * x, rate * y, rate * z)


@inline_fast
def segment_frame(buf, i):
    """Frame and spin of the segment whose auxiliary particle is at i; velocities are in FORCE."""
    k, l = i - RECORD, i + RECORD
    here, there, out = load3(buf, k + END), load3(buf, l + END), load3(buf, i + END)
    slow, fast, aside = load3(buf, k + FORCE), load3(buf, l + FORCE), load3(buf, i + FORCE)
    return frame_of_segment(here, there, out, slow, fast, aside, load(buf, i + AZIMUTH), load(buf, i + AZIMUTH + LANES))


@in_block
def find_spins(buf, records):
    """Leave the spin of each segment in the record of its auxiliary particle."""
    use_wide_registers()
    for p in range(ROOT + ONE, records, TWO):
        i = p * RECORD
        _, _, _, _, wx, wy, wz = segment_frame(buf, i)
        store3(buf, i + SPIN, wx, wy, wz)


@in_block
def find_frames(buf, records):
    """Leave frame and spin of each segment in the record of its auxiliary particle.

    Of the two quaternions that mean the same, the one nearer to that in BEFORE is taken: frames must not jump.
    """
    use_wide_registers()
    for p in range(ROOT + ONE, records, TWO):
        i = p * RECORD
        qx, qy, qz, qw, wx, wy, wz = segment_frame(buf, i)
        bx, by, bz, bw = load4(buf, i + BEFORE)
        sign = select(qx * bx + qy * by + qz * bz + qw * bw >= 0.0, broadcast(1.0), -1.0)
        store4(buf, i + FRAME, sign * qx, sign * qy, sign * qz, sign * qw)
        store3(buf, i + SPIN, wx, wy, wz)


@inline_fast
def turned(wx, wy, wz, x, y, z):
    """Turn a vector by the Cayley rotation of w, which is w itself up to |w|^3 / 12."""
    scale = 1.0 / (1.0 + 0.25 * (wx * wx + wy * wy + wz * wz))
    ax, ay, az = cross(wx, wy, wz, x, y, z)
    bx, by, bz = cross(wx, wy, wz, ax, ay, az)
    return x + scale * (ax + 0.5 * bx), y + scale * (ay + 0.5 * by), z + scale * (az + 0.5 * bz)


@in_block
def start_sums(buf):
    """Nothing is summed up yet but the root's mass."""
    use_wide_registers()
    i = ROOT * RECORD
    zero = broadcast(0.0)
    store3(buf, i + SUM, zero, zero, zero)
    store(buf, i + SUM_MASS, load(buf, i + INERTIA))


@inline_fast
def sum_up(buf, i, light, heavy):
    """Add a vertex at i, shifted by `heavy`, and the auxiliary particle before it, shifted by `light`, to the sums."""
    a, b = load(buf, i - RECORD + INERTIA), load(buf, i + INERTIA)
    x, y, z = load3(buf, i - RECORD_2 + SUM)
    x, y, z = x + a * light[0] + b * heavy[0], y + a * light[1] + b * heavy[1], z + a * light[2] + b * heavy[2]
    store3(buf, i + SUM, x, y, z)
    store(buf, i + SUM_MASS, load(buf, i - RECORD_2 + SUM_MASS) + a + b)


@in_block
def shift_free(buf, records):
    """Move strands that nothing holds by minus the mean of the shifts that were summed up, which keeps their centre."""
    use_wide_registers()
    last, behind = (records - ONE) * RECORD, (ROOT - ONE) * RECORD
    back = -load(buf, ROOT * RECORD + FREE) / load(buf, last + SUM_MASS)
    x, y, z = load3(buf, last + SUM)
    store3(buf, behind + SUM, back * x, back * y, back * z)
    for p in range(ROOT, records):
        i = p * RECORD
        x, y, z = load3(buf, i - RECORD + SUM)
        store3(buf, i + SUM, x, y, z)
        add3(buf, i + END, x, y, z)


@in_block
def go_on(buf, records, dt):
    """Move the particles from the end of the stage to the end of the step; what nothing holds keeps its way."""
    use_wide_registers()
    for p in range(ROOT + ONE, records, TWO):
        i = p * RECORD
        rest = dt - load(buf, i + STAGE)
        wx, wy, wz = load3(buf, i + SPIN)
        wx, wy, wz = rest * wx, rest * wy, rest * wz
        x, y, z = load3(buf, i - RECORD + END)
        a, b, c = load3(buf, i + RECORD + END)
        store3(buf, i + EDGE, *turned(wx, wy, wz, a - x, b - y, c - z))
        a, b, c = load3(buf, i + END)
        store3(buf, i + ARM, *turned(wx, wy, wz, a - x, b - y, c - z))
    i = ROOT * RECORD
    rest = dt - load(buf, i + STAGE)
    x, y, z = load3(buf, i + FORCE)
    add3(buf, i + END, rest * x, rest * y, rest * z)
    start_sums(buf)
    for p in range(ROOT + TWO, records, TWO):
        i = p * RECORD
        k = i - RECORD
        before = load3(buf, i - RECORD_2 + END)
        light = lay(buf, k, before, load3(buf, k + ARM), dt)
        heavy = lay(buf, i, before, load3(buf, k + EDGE), dt)
        sum_up(buf, i, light, heavy)
    shift_free(buf, records)


@inline_fast
def lay(buf, i, before, way, dt):
    """Put a particle `way` from `before`; return how far that is from where it would have gone straight on."""
    rest = dt - load(buf, i + STAGE)
    a, b, c = load3(buf, i + END)
    x, y, z = load3(buf, i + FORCE)
    dx, dy, dz = before[0] + way[0], before[1] + way[1], before[2] + way[2]
    store3(buf, i + END, dx, dy, dz)
    return dx - a - rest * x, dy - b - rest * y, dz - c - rest * z
