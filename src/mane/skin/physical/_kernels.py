"""Physically guided interpolation of blocks of hairs, side by side in lanes.

Theorem 4.1 of hsu2024 without a matrix. What a sweep carries along a hair is how far the segment before has turned, q,
away from the hair as it is without any force. That hair is known: its segment, turned by q, is the unloaded one of eq.
21. Let v point along it, of length (l + length of the segment before) / 4 E I, and let g be l times the force of eq. 23
(see `PhysicalParams.drift_from`). Then eq. 17 turns the segment further by

    r = (v x g,  |v| |g| + v . g + 1)        all over its length, forces in weights of the hair

so that r q is how far this segment has turned, and with w, the last of r, the segment itself points along

    2 w / r^2 ((|v| |g| + 1) v + v^2 g) - v

which has the length of v: no trigonometry, and no square root but those of two lengths. The length of a segment need
not be stored: v says the sum of two.

What takes its time is waiting: for the rows of a block, for the lines of memory that its points go to (both are asked
for ahead of time), and from one segment to the next: r q is summed before the length of r is known. A segment of a lane
takes 121 additions and multiplications, of which CPUs with AVX-512 do 32 at a time.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd import f32x4
from mane.simd.align import empty_in_kernel
from mane.simd.f32x32 import HALF, LANES, broadcast, broadcast_parts, load, scatter_columns
from mane.simd.jit import inline, njit, prange
from mane.simd.math import rsqrt
from mane.simd.memory import prefetch_read, prefetch_write, store, use_wide_registers

FASTMATH = {"contract", "arcp", "nsz", "afn"}

GROUP = 3  # guides that are summed on the way
PER_GUIDES = 8 * GROUP  # numbers of guidance at a vertex

# Rows of lanes of a block. Of the hairs: 4 E I, strain, root at rest, weights of the second and the third guide. Then
# of each segment: v, way to the end at rest.
BEND, STRAIN, ROOT, WEIGHTS, HAIR_ROWS = 0, 1, 2, 5, 7
END, SEGMENT_ROWS = 3, 6
PLACE_ROWS = 3  # of a vertex
# All offsets are in numbers.
ROW = LANES
SEGMENT = SEGMENT_ROWS * LANES
PLACE = PLACE_ROWS * LANES
AHEAD = 12 * SEGMENT  # what is asked for before it is read; a longer way than memory takes, within the nearest cache

U = np.uint64
ZERO = np.float32(0.0)
ONE = np.float32(1.0)
# Keeps the square root of no force at all from being the start of a division by zero.
TINY = np.float32(1e-30)
ROOT_TWO = np.float32(math.sqrt(2.0))


@inline
def between(motion, at, share):
    """A vector of `motion`, `share` of the way from that at `at` to the next."""
    here, there = f32x4.load(motion, at), f32x4.load(motion, at + 4)
    return here + f32x4.broadcast(share) * (there - here)


@inline
def guides_at(motion, at, share, k):
    """Vectors of the three guides at their places `k` to `k + 2`; of the second and the third, less the first."""
    first = between(motion, np.int64(at[k]), share[k])
    second = between(motion, np.int64(at[k + U(1)]), share[k + U(1)]) - first
    return first, second, between(motion, np.int64(at[k + U(2)]), share[k + U(2)]) - first


@inline
def store_guides(rows, to, first, second, third):
    """Write four numbers of each guide."""
    store(rows, to, first)
    store(rows, to + 4, second)
    store(rows, to + 8, third)


@njit(cache=True, error_model="numpy", parallel=True)
def fill_guidance(
    motion,
    at,
    share,
    keep,
    # out
    guidance,
):
    """Fill `guidance (M, V * 24)`: what the guides of a bundle do at a vertex and to the segment that ends there.

    The shift of the first guide and those of the others less it, each less `keep` times that of the vertex before; then
    the forces in the same way, of which those at the root mean nothing. Four numbers each, without a meaning the last.

    Args:
        motion: of all guides, flat, four numbers each: shifts of their vertices, the turn of the head apart [m], and
            forces on their segments.
        at: where in `motion` the vertex or segment before each place is found (M, V * 6).
        share: of the way from there to the next (M, V * 6).
        keep: see `sweep_hairs`.
        guidance: see above.
    """
    for m in prange(len(at)):
        own, shares, rows = at[m], share[m], guidance[m]
        less = f32x4.broadcast(keep)
        a, b, c = guides_at(motion, own, shares, U(0))
        store_guides(rows, 0, a, b, c)
        for i in range(1, len(own) // (2 * GROUP)):
            k, to = U(2 * GROUP * i), PER_GUIDES * i
            x, y, z = guides_at(motion, own, shares, k)
            store_guides(rows, to, x - less * a, y - less * b, z - less * c)
            a, b, c = x, y, z
            x, y, z = guides_at(motion, own, shares, k + U(GROUP))
            store_guides(rows, to + 4 * GROUP, x, y, z)


@njit(cache=True, error_model="numpy")
def scratch_rows(count):
    """Room for rows of lanes, which begin where lines of the cache do."""
    return empty_in_kernel(count * ROW, np.float32)


@inline
def load_vector(rows, at):
    """Three rows."""
    return load(rows, at), load(rows, at + ROW), load(rows, at + 2 * ROW)


@inline
def store_vector(rows, at, x, y, z):
    """Three rows."""
    store(rows, at, x)
    store(rows, at + ROW, y)
    store(rows, at + 2 * ROW, z)


@inline
def segment_length(x, y, z, bend, before):
    """Square of v, the length of its segment, and that over the length of v."""
    square = x * x + y * y + z * z
    inverse = rsqrt(square)
    length = bend * (square * inverse) - before
    return square, length, length * inverse


@inline
def turned(q, x, y, z):
    """Turn a vector by a quaternion whose square is two, which saves doubling."""
    qx, qy, qz, qw = q
    cx, cy, cz = qy * z - qz * y, qz * x - qx * z, qx * y - qy * x
    return x + qw * cx + qy * cz - qz * cy, y + qw * cy + qz * cx - qx * cz, z + qw * cz + qx * cy - qy * cx


@inline
def turn_segment(q, v, square, scale, g, start):
    """Turn the unloaded segment (eq. 17); returns q behind it, and its end where it begins at `start`.

    `square` is that of v, `scale` the length of the segment over that of v.
    """
    (qx, qy, qz, qw), (vx, vy, vz), (gx, gy, gz), (x, y, z) = q, v, g, start
    one = broadcast(ONE)
    pulls = square * (gx * gx + gy * gy + gz * gz) + broadcast(TINY)
    size = pulls * rsqrt(pulls) + one
    w = size + (gx * vx + gy * vy + gz * vz)
    ux, uy, uz = vy * gz - vz * gy, vz * gx - vx * gz, vx * gy - vy * gx
    s = rsqrt(ux * ux + uy * uy + uz * uz + w * w)
    behind = (
        s * (w * qx + qw * ux + uy * qz - uz * qy),
        s * (w * qy + qw * uy + uz * qx - ux * qz),
        s * (w * qz + qw * uz + ux * qy - uy * qx),
        s * (w * qw - ux * qx - uy * qy - uz * qz),
    )
    twice = scale * (w + w)
    inverse = s * s
    along, across = inverse * (twice * size) - scale, inverse * (twice * square)
    end = (
        x + along * vx + across * gx,
        y + along * vy + across * gy,
        z + along * vz + across * gz,
    )
    return behind, end


@inline
def sum_guides(guidance, starts, at, w1, w2):
    """Three numbers of the guides of each part of the lanes, weighted (eq. 9 and 10)."""
    x, y, z = (
        broadcast_parts(guidance, starts, at),
        broadcast_parts(guidance, starts, at + 1),
        broadcast_parts(guidance, starts, at + 2),
    )
    return (
        x + w1 * broadcast_parts(guidance, starts, at + 4) + w2 * broadcast_parts(guidance, starts, at + 8),
        y + w1 * broadcast_parts(guidance, starts, at + 5) + w2 * broadcast_parts(guidance, starts, at + 9),
        z + w1 * broadcast_parts(guidance, starts, at + 6) + w2 * broadcast_parts(guidance, starts, at + 10),
    )


@inline
def skinned(rows, row, guidance, starts, at, w1, w2, head):
    """Where linear skinning takes a vertex (eq. 9), turned with the head; or the way to there."""
    x, y, z = sum_guides(guidance, starts, at, w1, w2)
    ox, oy, oz = load_vector(rows, row)
    return (
        x + ox * broadcast(head[0]) + oy * broadcast(head[1]) + oz * broadcast(head[2]),
        y + ox * broadcast(head[3]) + oy * broadcast(head[4]) + oz * broadcast(head[5]),
        z + ox * broadcast(head[6]) + oy * broadcast(head[7]) + oz * broadcast(head[8]),
    )


@njit(cache=True, error_model="numpy")
def sweep_block(data, at, count, guidance, starts, head, root, pull, close_gain, places, hair, lanes, norm, out):
    """Fill `places` of all `count` vertices of a block, rows x, y and z of each, and behind them a row of norms.

    Arguments as in `sweep_hairs`.

    The block's rows begin at `data[at]`, the guidance of its halves or quarters at `starts`. Its lanes begin at
    `hair[lanes]`: the points of those hairs, to be written in the end, are asked for on the way.
    """
    use_wide_registers()
    width, asked = 3 * count, 0
    lines = (width + HALF) // HALF * LANES // (count - 1)
    bend, strain = load(data, at + BEND * ROW), load(data, at + STRAIN * ROW)
    w1, w2 = load(data, at + WEIGHTS * ROW), load(data, at + (WEIGHTS + 1) * ROW)
    towards, before, total = broadcast(pull), broadcast(ZERO), broadcast(ZERO)
    back = broadcast(close_gain)
    q = (
        broadcast(ROOT_TWO * root[0]),
        broadcast(ROOT_TWO * root[1]),
        broadcast(ROOT_TWO * root[2]),
        broadcast(ROOT_TWO * root[3]),
    )
    x, y, z = skinned(data, at + ROOT * ROW, guidance, starts, 0, w1, w2, head)
    store_vector(places, 0, x, y, z)
    at += HAIR_ROWS * ROW
    for i in range(1, count):
        vertex = i * PER_GUIDES
        for line in range(0, SEGMENT, HALF):
            prefetch_read(data, at + AHEAD + line)
        for line in range(asked, asked + lines):
            prefetch_write(out, np.int64(hair[U(lanes + line % LANES)]) * width + line // LANES * HALF)
        asked += lines
        vx, vy, vz = load_vector(data, at)
        square, length, scale = segment_length(vx, vy, vz, bend, before)
        before = length
        fx, fy, fz = sum_guides(guidance, starts, vertex + 4 * GROUP, w1, w2)
        fx, fy, fz = length * fx, length * fy, length * fz
        tx, ty, tz = skinned(data, at + END * ROW, guidance, starts, vertex, w1, w2, head)
        # Eq. 22 and 23, times the length.
        g = (fx + towards * tx - back * x, fy + towards * ty - back * y, fz + towards * tz - back * z)
        # Eq. 12.
        start = (x + strain * fx, y + strain * fy, z + strain * fz)
        ox, oy, oz = x, y, z
        q, (x, y, z) = turn_segment(q, turned(q, vx, vy, vz), square, scale, g, start)
        store_vector(places, i * PLACE, x, y, z)
        if norm is not None:  # beside the way from one segment to the next, so that it costs little
            ox, oy, oz = x - ox, y - oy, z - oz
            total = total + (ox * ox + oy * oy + oz * oz)
        at += SEGMENT
    if norm is not None:
        store(places, count * PLACE, total * rsqrt(total + broadcast(TINY)))


@njit(cache=True, error_model="numpy")
def store_points(places, hair, first, width, out):
    """Copy the places of all vertices of a block to the points of its hairs, `width` numbers each."""
    use_wide_registers()
    for half in range(0, LANES, HALF):
        for start in range(0, width, HALF):
            offset = min(start, width - HALF)  # the last reaches back where they are no whole number of squares
            if offset >= 0:
                scatter_columns(places, offset * ROW + half, hair, first + half, width, offset, out)
            else:
                for lane in range(half, half + HALF):
                    for k in range(width):
                        out[hair[first + lane] * width + k] = places[k * ROW + lane]


@njit(cache=True, error_model="numpy", parallel=True)
def sweep_hairs(
    data,
    hair,
    bundle,
    guidance,
    count,
    head,
    root,
    pull,
    close_gain,
    blocks_per_task,
    # out
    norm,
    out,
):
    """Pass once from root to tip (algorithm 1) over all hairs of a rigid head, three guides each, targets on the way.

    Args:
        data: rows of each block, flat (B * (7 + 6 N) * LANES). Of the hairs: 4 E I / W [m^2], stretch per unit of
            force, root at rest [m], weights of the second and the third guide. Of each segment: v as above, of the hair
            without force [1/m]; its end at rest less `keep` times its start [m].
        hair: strand in each lane, flat (B * LANES); empty lanes repeat another.
        bundle: of each quarter of a block (B, 4).
        guidance: see `fill_guidance`, with forces (1 - alpha) f / W, flat.
        count: V = N + 1.
        head: rotation matrix of the head, row by row (9,).
        root: the same as a quaternion (4,).
        pull: alpha times drift.
        close_gain: `pull` times the drift gain, `PhysicalParams.drift_gain`; the rest of it is `keep`. The
            way to the target starts between the target's own start and the hair's, and all but the hair's is known.
        blocks_per_task: blocks that share scratch memory.
        norm: of the hairs that come out (S,) [m], see `mane.skin._kernels_lengths`; None leaves it out.
        out: points, flat (S * 3 V) [m].
    """
    blocks, of_block, of_bundle, width = (
        len(bundle),
        HAIR_ROWS * ROW + (count - 1) * SEGMENT,
        count * PER_GUIDES,
        3 * count,
    )
    for task in prange((blocks + blocks_per_task - 1) // blocks_per_task):
        places = scratch_rows(count * PLACE_ROWS + 1)
        for block in range(task * blocks_per_task, min((task + 1) * blocks_per_task, blocks)):
            at, lanes = block * of_block, block * LANES
            a, b, c, d = bundle[block, 0], bundle[block, 1], bundle[block, 2], bundle[block, 3]
            if a == b and c == d:  # as most are, since halves spare instructions
                starts = (a * of_bundle, c * of_bundle)
                sweep_block(
                    data, at, count, guidance, starts, head, root, pull, close_gain, places, hair, lanes, norm, out
                )
            else:
                parts = (a * of_bundle, b * of_bundle, c * of_bundle, d * of_bundle)
                sweep_block(
                    data, at, count, guidance, parts, head, root, pull, close_gain, places, hair, lanes, norm, out
                )
            store_points(places, hair, lanes, width, out)
            if norm is not None:
                for lane in range(LANES):
                    norm[U(hair[U(lanes + lane)])] = places[U(count * PLACE + lane)]
