"""Candidate pairs that cannot touch, most of them, are sorted out sixteen at a time in float32.

The narrow phase judges what passes in double precision; nothing here decides more than what is certain.
"""

# mypy: allow-untyped-defs

from mane.contact.strips._kernels import LEAST_SCALE, dot, gap_between
from mane.contact.strips._kernels_table import PLANE, ROW
from mane.simd.f32x16 import WIDTH, compress_indices, first_lanes, gather_fours, load, load_mask
from mane.simd.jit import inline
from mane.simd.masks import clear_marks, select
from mane.simd.math import absolute, maximum, minimum, sqrt, to_float32

LOOSE = 1e-4  # by which the cosine of two directions may be off in float32, and then some


@inline
def within(value, lowest, highest):
    """The nearest number between two."""
    return minimum(maximum(value, lowest), highest)


@inline
def filter_segments(start, count, own, other, limit, side, rows, first, ahead, dt, slack, kept):
    """Fill `kept` with the candidates of a strand whose segments cross and may touch; returns how many.

    Those of the strand, whose first vertex is `first`, begin at `start`. The others are no longer on any `side`.
    """
    passed = 0
    for k in range(0, count, WIDTH):
        n = start + k
        px, py, pz, _ = gather_fours(rows, own, n, ROW, first * ROW)
        qx, qy, qz, _ = gather_fours(rows, own, n, ROW, (first + 1) * ROW)
        sx, sy, sz, _ = gather_fours(rows, other, n, ROW, 0)
        tx, ty, tz, _ = gather_fours(rows, other, n, ROW, ROW)
        d, e, r = (qx - px, qy - py, qz - pz), (tx - sx, ty - sy, tz - sz), (px - sx, py - sy, pz - sz)
        dd, ee, de, dr, er = dot(d, d), dot(e, e), dot(d, e), dot(d, r), dot(e, r)
        u = within((de * er - dr * ee) / (dd * ee - de * de), 0.0, 1.0)
        w = within((de * u + er) / ee, 0.0, 1.0)
        u = within((de * w - dr) / dd, 0.0, 1.0)
        gap = gap_between(r, d, e, u, w)
        distance = sqrt(dot(gap, gap))
        px, py, pz, _ = gather_fours(rows, own, n, ROW, first * ROW + 4)
        qx, qy, qz, _ = gather_fours(rows, own, n, ROW, (first + 1) * ROW + 4)
        sx, sy, sz, _ = gather_fours(rows, other, n, ROW, 4)
        tx, ty, tz, _ = gather_fours(rows, other, n, ROW, ROW + 4)
        d, e, r = (qx - px, qy - py, qz - pz), (tx - sx, ty - sy, tz - sz), (px - sx, py - sy, pz - sz)
        approach = dot(gap_between(r, d, e, u, w), gap) / distance * -dt
        missing = distance - within(approach, 0.0, ahead) - to_float32(load(limit, n))
        crosses = de * de < dd * ee * (1.0 - LEAST_SCALE + LOOSE) ** 2
        may_touch = first_lanes(count - k) & crosses & ((missing < slack) | load_mask(side, n))
        clear_marks(~may_touch, side, n)
        passed = compress_indices(may_touch, k, kept, passed)
    return passed


@inline
def filter_faces(start, count, own, other, limit, side, planes, rows, ahead, dt, slack, kept):
    """Fill `kept` with the candidates of a strip that are over their triangle and may touch it; returns how many.

    Those of the strip begin at `start`. The others are no longer on any `side`.
    """
    passed = 0
    for k in range(0, count, WIDTH):
        n = start + k
        nx, ny, nz, d = gather_fours(planes, own, n, PLANE, 0)
        ax, ay, az, a0 = gather_fours(planes, own, n, PLANE, 4)
        bx, by, bz, b0 = gather_fours(planes, own, n, PLANE, 8)
        slowest, fastest, off_a, off_b = gather_fours(planes, own, n, PLANE, 12)
        x, y, z, _ = gather_fours(rows, other, n, ROW, 0)
        vx, vy, vz, _ = gather_fours(rows, other, n, ROW, 4)
        height = nx * x + ny * y + nz * z - d
        b1, b2 = ax * x + ay * y + az * z + a0, bx * x + by * y + bz * z + b0
        speed = nx * vx + ny * vy + nz * vz
        # However the speed of the foot comes out, it is between those of the corners.
        approach = select(height >= 0.0, fastest - speed, speed - slowest)
        missing = absolute(height) - within(approach * dt, 0.0, ahead) - to_float32(load(limit, n))
        is_over = (b1 + off_a >= 0.0) & (b2 + off_b >= 0.0) & (1.0 - b1 - b2 + off_a + off_b >= 0.0)
        may_touch = first_lanes(count - k) & is_over & ((missing < slack) | load_mask(side, n))
        clear_marks(~may_touch, side, n)
        passed = compress_indices(may_touch, k, kept, passed)
    return passed
