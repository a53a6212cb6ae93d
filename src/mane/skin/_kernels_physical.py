"""Physically guided interpolation of blocks of hairs, side by side in the lanes of vector registers.

Theorem 4.1 of hsu2024 without a matrix. With h = q0 sqrt(l) turned by the segment before (its rest rotation, scaled so
that its square is the segment's length), the unloaded segment is the vector D = h e3 conj(h) of length l. With g = l
times the force of eq. 23 (see `PhysicalParams.drift_from`), the orientation of eq. 17 is h turned by the quaternion

    r = (m D x g,  m (l |g| + g . D) + 4 E I l)         m = l + length of the segment before

and the segment itself is D turned by r, in the plane of D and g: no trigonometry, two square roots. Forces are in
weights of the hair.

All lanes of a block have the same guides, so what is read of them is one number for all lanes. A loop over lanes
touches few arrays, and those at constant offsets, which is what lets the compiler vectorise it; unsigned indices spare
a test.
"""

# mypy: allow-untyped-defs

import math

import numpy as np
from numba import njit, prange

from mane.skin._kernels_physical_registers import use_wide_registers

FASTMATH = {"contract", "arcp", "nsz", "afn"}

LANES = 16  # float32 numbers in the widest register that CPUs have
GROUP = 3  # guides that are summed on the way
PER_GUIDES = 6 * GROUP  # numbers of a row of guidance

# Rows of lanes in a record of `data`. Of the hair: stiffness, strain, root at rest, weights of the second and the third
# guide. Of a segment: rest rotation, end at rest.
RECORD = 7
# Rows of a vertex: orientation and length of the segment that ends there, and its place.
PLACE, VERTEX_ROWS = 5, 8

U = np.uint64
ZERO = np.float32(0.0)
ONE = np.float32(1.0)
TWO = np.float32(2.0)
# Keeps the square root of no force at all from being the start of a division by zero.
TINY = np.float32(1e-30)

# Offsets of rows.
R1, R2, R3, R4 = U(LANES), U(2 * LANES), U(3 * LANES), U(4 * LANES)
R5, R6, R7 = U(5 * LANES), U(6 * LANES), U(7 * LANES)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def fill_guidance(
    shift,
    force,
    share,
    guide,
    parameter,
    # out
    guidance,
):
    """Fill `guidance (M, V, 18)`: what the three guides of a bundle do at a vertex and to the segment that ends there.

    The shift of the first guide and those of the others less it, then the same of the forces; at the root no force.

    Args:
        shift: of the guides' vertices, the turn of the head apart (G, U, 3) [m].
        force: of the guides of each bundle at the hairs' segments (M, 3, N, 3).
        share: 1 - alpha, factor on the forces.
        guide: guides of each bundle (M, 3).
        parameter: place on each guide that goes with each vertex (M, 3, V).
        guidance: see above.
    """
    last = shift.shape[1] - 2
    for m in prange(len(guidance)):
        for i in range(guidance.shape[1]):
            for k in range(GROUP):
                g = guide[m, k]
                j = min(int(parameter[m, k, i]), last)
                u = parameter[m, k, i] - np.float32(j)
                for c in range(3):
                    moved = shift[g, j, c] + u * (shift[g, j + 1, c] - shift[g, j, c])
                    pulled = share * force[m, k, i - 1, c] if i > 0 else ZERO
                    guidance[m, i, 3 * k + c] = moved if k == 0 else moved - guidance[m, i, c]
                    guidance[m, i, 9 + 3 * k + c] = pulled if k == 0 else pulled - guidance[m, i, 9 + c]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, inline="always")
def turn_segment(px, py, pz, pw, qx, qy, qz, qw, m, bend, fx, fy, fz, tx, ty, tz, pull, overshoot):
    """Turn a segment; returns its orientation, length, vector, l times its force, and l times the blended force.

    From the scaled rest rotation p, orientation q and length m of the segment before, 4 E I, the force f, and the way t
    to the target; `overshoot` is None or what eq. 22 takes off along the unloaded segment.
    """
    hx = qw * px + pw * qx + qy * pz - qz * py
    hy = qw * py + pw * qy + qz * px - qx * pz
    hz = qw * pz + pw * qz + qx * py - qy * px
    hw = qw * pw - qx * px - qy * py - qz * pz
    l = px * px + py * py + pz * pz + pw * pw
    # Eq. 21: the segment without force.
    dx, dy = TWO * (hx * hz + hw * hy), TWO * (hy * hz - hw * hx)
    dz = hw * hw + hz * hz - hx * hx - hy * hy
    # Eq. 22 and 23, times l.
    fx, fy, fz = l * fx, l * fy, l * fz
    gx, gy, gz = fx + pull * tx, fy + pull * ty, fz + pull * tz
    if overshoot is not None:
        gx, gy, gz = gx - overshoot * dx, gy - overshoot * dy, gz - overshoot * dz
    m = m + l
    size = math.sqrt(gx * gx + gy * gy + gz * gz + TINY)
    dot = gx * dx + gy * dy + gz * dz
    ux, uy, uz = m * (dy * gz - dz * gy), m * (dz * gx - dx * gz), m * (dx * gy - dy * gx)
    w = m * (l * size + dot) + bend * l
    uu, ww = ux * ux + uy * uy + uz * uz, w * w
    s = ONE / math.sqrt((uu + ww) * l)
    qx = s * (w * hx + hw * ux + uy * hz - uz * hy)
    qy = s * (w * hy + hw * uy + uz * hx - ux * hz)
    qz = s * (w * hz + hw * uz + ux * hy - uy * hx)
    qw = s * (w * hw - ux * hx - uy * hy - uz * hz)
    # D turned by r = (u, w): ((w^2 - u^2) D + 2 w u x D) / r^2, with u x D = m (l^2 g - (D . g) D).
    e = s * s * l
    turn = TWO * w * e * m
    along, across = (ww - uu) * e - turn * dot, turn * l * l
    return (
        *(qx, qy, qz, qw, l),
        *(along * dx + across * gx, along * dy + across * gy, along * dz + across * gz),
        *(fx, fy, fz, gx, gy, gz),
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def place_roots(own, guides, head, root, start):
    """Fill the rows of the roots: skinned linearly (eq. 9), turned with the head."""
    a0, a1, a2, b0, b1, b2 = guides[0], guides[1], guides[2], guides[3], guides[4], guides[5]
    c0, c1, c2 = guides[6], guides[7], guides[8]
    xx, xy, xz, yx, yy, yz, zx, zy, zz = head
    qx, qy, qz, qw = root
    for number in range(LANES):
        lane = U(number)
        x, y, z, w1, w2 = own[R2 + lane], own[R3 + lane], own[R4 + lane], own[R5 + lane], own[R6 + lane]
        start[lane], start[R1 + lane], start[R2 + lane], start[R3 + lane] = qx, qy, qz, qw
        start[R4 + lane] = ZERO
        start[R5 + lane] = a0 + w1 * b0 + w2 * c0 + xx * x + xy * y + xz * z
        start[R6 + lane] = a1 + w1 * b1 + w2 * c1 + yx * x + yy * y + yz * z
        start[R7 + lane] = a2 + w1 * b2 + w2 * c2 + zx * x + zy * y + zz * z


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def sweep_skinned(own, segment, guides, head, pull, start, end):
    """Place the end of a segment of all lanes, its force (eq. 10) and its target (eq. 9) summed on the way.

    Args:
        own: record of the hairs.
        segment: its own record.
        guides: row of guidance at its end (18,).
        head: rotation matrix, nine numbers.
        pull: alpha times drift.
        start: rows of the vertex where it starts.
        end: rows of the one where it ends, to be filled.
    """
    use_wide_registers()
    a0, a1, a2, b0, b1, b2 = guides[0], guides[1], guides[2], guides[3], guides[4], guides[5]
    c0, c1, c2, f0, f1, f2 = guides[6], guides[7], guides[8], guides[9], guides[10], guides[11]
    g0, g1, g2, h0, h1, h2 = guides[12], guides[13], guides[14], guides[15], guides[16], guides[17]
    xx, xy, xz, yx, yy, yz, zx, zy, zz = head
    for number in range(LANES):
        lane = U(number)
        w1, w2 = own[R5 + lane], own[R6 + lane]
        ox, oy, oz = segment[R4 + lane], segment[R5 + lane], segment[R6 + lane]
        x, y, z = start[R5 + lane], start[R6 + lane], start[R7 + lane]
        qx, qy, qz, qw, l, ex, ey, ez, fx, fy, fz, _, _, _ = turn_segment(
            segment[lane],
            segment[R1 + lane],
            segment[R2 + lane],
            segment[R3 + lane],
            start[lane],
            start[R1 + lane],
            start[R2 + lane],
            start[R3 + lane],
            start[R4 + lane],
            own[lane],
            f0 + w1 * g0 + w2 * h0,
            f1 + w1 * g1 + w2 * h1,
            f2 + w1 * g2 + w2 * h2,
            a0 + w1 * b0 + w2 * c0 + xx * ox + xy * oy + xz * oz - x,
            a1 + w1 * b1 + w2 * c1 + yx * ox + yy * oy + yz * oz - y,
            a2 + w1 * b2 + w2 * c2 + zx * ox + zy * oy + zz * oz - z,
            pull,
            None,
        )
        strain = own[R1 + lane]
        end[lane], end[R1 + lane], end[R2 + lane], end[R3 + lane], end[R4 + lane] = qx, qy, qz, qw, l
        # Eq. 12.
        end[R5 + lane] = x + ex + strain * fx
        end[R6 + lane] = y + ey + strain * fy
        end[R7 + lane] = z + ez + strain * fz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def store_points(vertices, hair, filled, out):
    """Copy the places of all vertices of a block to the points of its hairs."""
    rows = vertices.reshape(-1)
    count = len(vertices)
    for lane in range(filled):
        points = out[hair[lane]]
        at, to = U(PLACE * LANES + lane), U(0)
        for _ in range(count):
            points[to] = rows[at]
            points[to + U(1)] = rows[at + R1]
            points[to + U(2)] = rows[at + R2]
            at += U(VERTEX_ROWS * LANES)
            to += U(3)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def sweep_hairs(
    data,
    hair,
    filled,
    bundle,
    guidance,
    head,
    root,
    pull,
    blocks_per_task,
    # out
    out,
):
    """Pass once from root to tip (algorithm 1) over all hairs of a rigid head, three guides each, targets on the way.

    Args:
        data: records of each block (B, N + 1, 7 LANES). Of the hair: 4 E I / W [m^2], stretch per unit of force, root
            at rest [m], weights of the second and the third guide. Of each segment: the rest rotation of the joint
            before it, times the root of its length; its end at rest [m].
        hair: strand in each lane (B, LANES), empty lanes repeating another.
        filled: how many lanes are not empty (B,).
        bundle: of each block (B,).
        guidance: see `fill_guidance`, with forces (1 - alpha) f / W.
        head: rotation matrix of the head, nine numbers.
        root: the same as a quaternion, four numbers.
        pull: alpha times drift.
        blocks_per_task: blocks that share scratch memory.
        out: points (S, 3 V) [m].
    """
    blocks, records = data.shape[0], data.shape[1]
    for task in prange((blocks + blocks_per_task - 1) // blocks_per_task):
        vertices = np.empty((records, VERTEX_ROWS * LANES), np.float32)
        for block in range(task * blocks_per_task, min((task + 1) * blocks_per_task, blocks)):
            own, guides = data[block, 0], guidance[bundle[block]]
            place_roots(own, guides[0], head, root, vertices[0])
            for i in range(1, records):
                sweep_skinned(own, data[block, i], guides[i], head, pull, vertices[i - 1], vertices[i])
            store_points(vertices, hair[block], filled[block], out)
