"""The first sweep where a head is no rigid one: any guides, targets of anybody's making, eq. 12 and 22 as printed.

The same sums as in `_kernels_physical`, in the same lanes; forces and targets are gathered before each segment.
"""

# mypy: allow-untyped-defs

import math

import numpy as np
from numba import njit, prange

from mane.skin._kernels_physical import (
    FASTMATH,
    LANES,
    ONE,
    PLACE,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    VERTEX_ROWS,
    ZERO,
    U,
    store_points,
    turn_segment,
)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def blend_turns(turn, guide, weight, s):
    """How the skin has turned at the root of hair s; what its guides leave is the head's, the last of `turn`."""
    x, y, z, w, missing = ZERO, ZERO, ZERO, ZERO, ONE
    for k in range(len(guide) + 1):
        # Nothing is left, or all where every guide of a hair is gone.
        q = turn[guide[k] if k < len(guide) else len(turn) - 1]
        a = weight[s, k] if k < len(guide) else missing
        missing -= a
        x, y, z, w = x + a * q[0], y + a * q[1], z + a * q[2], w + a * q[3]
    inv = ONE / math.sqrt(x * x + y * y + z * z + w * w)
    return x * inv, y * inv, z * inv, w * inv


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def start_roots(hair, turn, guide, weight, points, start):
    """Fill the rows of the roots."""
    for lane in range(LANES):
        s = hair[lane]
        x, y, z, w = blend_turns(turn, guide, weight, s)
        start[lane], start[LANES + lane], start[2 * LANES + lane], start[3 * LANES + lane] = x, y, z, w
        start[4 * LANES + lane] = ZERO
        for c in range(3):
            start[(PLACE + c) * LANES + lane] = points[s, c]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def gather_segment(hair, force, share, weight, points, i, felt):
    """Fill the rows of `share` of the force on segment i (eq. 10) and of the target of its end."""
    for lane in range(LANES):
        s = hair[lane]
        for c in range(3):
            total = ZERO
            for k in range(len(force)):
                total += weight[s, k] * force[k, i, c]
            felt[c * LANES + lane] = share * total
            felt[(3 + c) * LANES + lane] = points[s, 3 * (i + 1) + c]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def sweep_given(own, segment, felt, pull, overshoot, blend_yield, start, end):
    """Place the end of a segment of all lanes; rows as in `_kernels_physical.sweep_skinned`."""
    taken = pull - overshoot  # what eq. 22 takes off along the segment as it comes out
    for number in range(LANES):
        lane = U(number)
        x, y, z = start[R5 + lane], start[R6 + lane], start[R7 + lane]
        qx, qy, qz, qw, l, ex, ey, ez, fx, fy, fz, gx, gy, gz = turn_segment(
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
            felt[lane],
            felt[R1 + lane],
            felt[R2 + lane],
            felt[R3 + lane] - x,
            felt[R4 + lane] - y,
            felt[R5 + lane] - z,
            pull,
            overshoot,
        )
        strain = own[R1 + lane]
        end[lane], end[R1 + lane], end[R2 + lane], end[R3 + lane], end[R4 + lane] = qx, qy, qz, qw, l
        # Eq. 12.
        end[R5 + lane] = x + ex + strain * fx + blend_yield * (gx - taken * ex)
        end[R6 + lane] = y + ey + strain * fy + blend_yield * (gy - taken * ey)
        end[R7 + lane] = z + ez + strain * fz + blend_yield * (gz - taken * ez)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def sweep_hairs_to(
    data,
    hair,
    filled,
    bundle,
    guide,
    weight,
    force,
    share,
    turn,
    pull,
    overshoot,
    blend_yield,
    blocks_per_task,
    # in and out
    out,
):
    """Pass once from root to tip (algorithm 1) over all hairs, drawn to given targets.

    Args:
        data: records of each block; see `_kernels_physical.sweep_hairs`.
        hair: strand in each lane (B, LANES), empty lanes repeating another.
        filled: how many lanes are not empty (B,).
        bundle: of each block (B,).
        guide: guides of each bundle (M, K).
        weight: how much each counts for each strand (S, K).
        force: f / W of the guides of each bundle at the hairs' segments (M, K, N, 3).
        share: 1 - alpha.
        turn: how the skin has turned at each guide's root, then the head (G + 1, 4), all on the head's side.
        pull: alpha times drift.
        overshoot: the same where eq. 22 is taken as printed, otherwise 0.
        blend_yield: stretch per blended force; 0 unless eq. 12 is taken as printed.
        blocks_per_task: blocks that share scratch memory.
        out: targets (S, 3 V) [m], overwritten by the points.
    """
    blocks, records = data.shape[0], data.shape[1]
    for task in prange((blocks + blocks_per_task - 1) // blocks_per_task):
        vertices = np.empty((records, VERTEX_ROWS * LANES), np.float32)
        felt = np.empty(6 * LANES, np.float32)
        for block in range(task * blocks_per_task, min((task + 1) * blocks_per_task, blocks)):
            own, guides, hairs = data[block, 0], guide[bundle[block]], hair[block]
            start_roots(hairs, turn, guides, weight, out, vertices[0])
            for i in range(1, records):
                gather_segment(hairs, force[bundle[block]], share, weight, out, i - 1, felt)
                sweep_given(own, data[block, i], felt, pull, overshoot, blend_yield, vertices[i - 1], vertices[i])
            store_points(vertices, hairs, filled[block], out)
