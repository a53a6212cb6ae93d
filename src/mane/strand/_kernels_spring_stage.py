"""Numba kernels of the spring model: the length of a step's implicit stage, and the way on from it (`_kernels_stage`).

A segment and its auxiliary particle are a rigid triangle all but for the strain that carries its load. Going on, every
triangle turns by itself and is laid at the end of the one before it: particles that went straight on would be too far
apart by the square of the turn, and stretching is stiff.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import numpy as np

from mane.strand._kernels_small import LANES, LANES_3, cross, in_lanes, load3, store3, store4
from mane.strand._kernels_spring import (
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
    TWO,
    add3,
    in_block,
    moved,
)
from mane.strand._kernels_spring_frames import frame_of_segment
from mane.strand._kernels_stage import CALM, PUSHED, RESISTED

FRAME, SPIN, EDGE, ARM = NEAR, NEXT, FAR, FAR + LANES_3  # rows that the solve no longer needs
STAGE, SHARE = RESIST, RESIST + LANES  # of the empty first record: length of the stage [s] and its share of the step


@in_block
def choose_stage(buf, lane, spin, force, resistance, is_free, dt, share):
    """Length of the stage of the strand in a lane: `share` of a calm step, up to all of it. Masses are loaded."""
    violence = 0.0
    for j in range(force.shape[0]):
        if j > 0:
            turn = spin[j - 1, 0] ** 2 + spin[j - 1, 1] ** 2 + spin[j - 1, 2] ** 2
            violence = max(violence, (dt / CALM) ** 2 * turn)
        elif not is_free:
            continue
        mass = buf[(ROOT + TWO * np.uint64(j)) * RECORD + INERTIA + lane]
        violence = max(violence, dt / (RESISTED * mass) * (resistance[j, 0] + resistance[j, 1] + resistance[j, 2]))
        push = math.sqrt(force[j, 0] ** 2 + force[j, 1] ** 2 + force[j, 2] ** 2)
        violence = max(violence, push / (PUSHED * mass))
    part = share + (1.0 - share) * min(violence, 1.0)
    buf[STAGE + lane] = part * dt
    buf[SHARE + lane] = part


@in_block
def find_velocities(buf, records):
    """Leave the velocity of every particle over the stage in FORCE."""
    for p in range(ROOT, records):
        for s in range(LANES):
            i = p * RECORD + s
            rate = 1.0 / buf[STAGE + s]
            x, y, z = moved(buf, i)
            store3(buf, i + FORCE, rate * x, rate * y, rate * z)


@in_block
def find_frames(buf, records):
    """Leave frame and spin of each segment in the record of its auxiliary particle; velocities are in FORCE."""
    for p in range(ROOT + ONE, records, TWO):
        for s in range(LANES):
            i = p * RECORD + s
            k, l = i - RECORD, i + RECORD
            here, there, out = load3(buf, k + END), load3(buf, l + END), load3(buf, i + END)
            cosine, sine = buf[i + AZIMUTH], buf[i + AZIMUTH + LANES]
            qx, qy, qz, qw, wx, wy, wz = frame_of_segment(
                here, there, out, load3(buf, k + FORCE), load3(buf, l + FORCE), load3(buf, i + FORCE), cosine, sine
            )
            store4(buf, i + FRAME, qx, qy, qz, qw)
            store3(buf, i + SPIN, wx, wy, wz)


@in_lanes
def turned(wx, wy, wz, x, y, z):
    """Turn a vector by the Cayley rotation of w, which is w itself up to |w|^3 / 12."""
    share = 1.0 / (1.0 + 0.25 * (wx * wx + wy * wy + wz * wz))
    ax, ay, az = cross(wx, wy, wz, x, y, z)
    bx, by, bz = cross(wx, wy, wz, ax, ay, az)
    return x + share * (ax + 0.5 * bx), y + share * (ay + 0.5 * by), z + share * (az + 0.5 * bz)


@in_block
def go_on(buf, records, dt):
    """Move the particles from the end of the stage to the end of the step; what nothing holds keeps its way."""
    for p in range(ROOT + ONE, records, TWO):
        for s in range(LANES):
            i = p * RECORD + s
            rest = dt - buf[STAGE + s]
            wx, wy, wz = load3(buf, i + SPIN)
            wx, wy, wz = rest * wx, rest * wy, rest * wz
            x, y, z = load3(buf, i - RECORD + END)
            a, b, c = load3(buf, i + RECORD + END)
            store3(buf, i + EDGE, *turned(wx, wy, wz, a - x, b - y, c - z))
            a, b, c = load3(buf, i + END)
            store3(buf, i + ARM, *turned(wx, wy, wz, a - x, b - y, c - z))
    for s in range(LANES):
        i = ROOT * RECORD + s
        rest = dt - buf[STAGE + s]
        x, y, z = load3(buf, i + FORCE)
        add3(buf, i + END, rest * x, rest * y, rest * z)
        store3(buf, s + FORCE, 0.0, 0.0, 0.0)  # record 0: mass times what the laid strand lacks, summed up
        buf[s + INERTIA] = buf[i + INERTIA]
    for p in range(ROOT + TWO, records, TWO):
        for s in range(LANES):
            i = p * RECORD + s
            k = i - RECORD
            rest = dt - buf[STAGE + s]
            x, y, z = load3(buf, i - RECORD_2 + END)
            for o, row in ((k, ARM), (i, EDGE)):
                a, b, c = load3(buf, o + END)
                vx, vy, vz = load3(buf, o + FORCE)
                dx, dy, dz = load3(buf, k + row)
                dx, dy, dz = x + dx, y + dy, z + dz
                store3(buf, o + END, dx, dy, dz)
                mass = buf[o + INERTIA]
                add3(
                    buf,
                    s + FORCE,
                    mass * (a + rest * vx - dx),
                    mass * (b + rest * vy - dy),
                    mass * (c + rest * vz - dz),
                )
                buf[s + INERTIA] += mass
    for p in range(ROOT, records):
        for s in range(LANES):
            free = buf[ROOT * RECORD + FREE + s] / buf[s + INERTIA]
            x, y, z = load3(buf, s + FORCE)
            add3(buf, p * RECORD + END + s, free * x, free * y, free * z)
    for s in range(LANES):
        buf[s + INERTIA] = 0.0
        store3(buf, s + FORCE, 0.0, 0.0, 0.0)
