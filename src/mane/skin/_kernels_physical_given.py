"""The first sweep where a head is no rigid one: any guides, targets of anybody's making, eq. 12 and 22 as printed.

The same sums as in `_kernels_physical`, in the same lanes; forces and targets are gathered before each segment.
"""

# mypy: allow-untyped-defs

import math

import numpy as np
from numba import njit, prange

from mane.skin._kernels_lanes import HALF, LANES, load, spread, store, use_wide_registers
from mane.skin._kernels_physical import (
    BEND,
    FASTMATH,
    HAIR_ROWS,
    ONE,
    PLACE,
    ROOT_TWO,
    ROW,
    SEGMENT,
    STRAIN,
    ZERO,
    load_vector,
    segment_length,
    store_points,
    store_vector,
    turn_segment,
    turned,
)

# What is carried from segment to segment: the turn, the length of the one before, the target of the start.
TURN_ROWS, BEFORE, TARGET, STATE_ROWS = 4, 4, 5, 8
FELT_ROWS = 6  # share of the force on a segment, target of its end


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
def start_roots(hair, bundle, turn, guide, weight, points, state, places):
    """Fill the rows of the turns at the roots, as `turned` wants them, and of the roots' places, which are targets."""
    for lane in range(LANES):
        s = hair[lane]
        q = blend_turns(turn, guide[bundle[lane // HALF]], weight, s)
        for c in range(TURN_ROWS):
            state[c * LANES + lane] = ROOT_TWO * q[c]
        for c in range(3):
            places[c * LANES + lane] = state[(TARGET + c) * LANES + lane] = points[s, c]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def gather_segment(hair, bundle, force, share, weight, points, i, felt):
    """Fill the rows of `share` of the force on segment i (eq. 10) and of the target of its end."""
    for lane in range(LANES):
        s, own = hair[lane], force[bundle[lane // HALF]]
        for c in range(3):
            total = ZERO
            for k in range(len(own)):
                total += weight[s, k] * own[k, i, c]
            felt[c * LANES + lane] = share * total
            felt[(3 + c) * LANES + lane] = points[s, 3 * (i + 1) + c]


@njit(cache=True, error_model="numpy")
def sweep_given(data, own, segment, felt, pull, closing, overshoot, blend_yield, state, places, at):
    """Place the end of a segment, which starts at the rows `places[at:]`, behind that.

    The hairs' rows begin at `data[own]`, those of the segment at `data[segment]`. `state` is carried from segment to
    segment.
    """
    use_wide_registers()
    bend, strain = load(data, own + BEND * ROW), load(data, own + STRAIN * ROW)
    zero, towards, gives = spread(ZERO), spread(pull), spread(blend_yield)
    taken = spread(pull - overshoot)  # what eq. 22 takes off along the segment as it comes out
    x, y, z = load_vector(places, at)
    vx, vy, vz = load_vector(data, segment)
    square, length, scale = segment_length(vx, vy, vz, bend, load(state, BEFORE * ROW))
    fx, fy, fz = load_vector(felt, 0)
    fx, fy, fz = length * fx, length * fy, length * fz
    tx, ty, tz = load_vector(felt, 3 * ROW)
    sx, sy, sz = load_vector(state, TARGET * ROW)
    store_vector(state, TARGET * ROW, tx, ty, tz)
    q = (load(state, 0), load(state, ROW), load(state, 2 * ROW), load(state, 3 * ROW))
    vx, vy, vz = turned(q, vx, vy, vz)
    # Eq. 22 and 23, times the length; the way to the target starts between its own start and the hair's.
    near = spread(closing)
    off = spread(overshoot) * scale
    gx, gy, gz = (
        fx + towards * (tx - sx - near * (x - sx)) - off * vx,
        fy + towards * (ty - sy - near * (y - sy)) - off * vy,
        fz + towards * (tz - sz - near * (z - sz)) - off * vz,
    )
    q, (ex, ey, ez) = turn_segment(q, (vx, vy, vz), square, scale, (gx, gy, gz), (zero, zero, zero))
    # Eq. 12.
    store_vector(
        places,
        at + PLACE,
        x + ex + strain * fx + gives * (gx - taken * ex),
        y + ey + strain * fy + gives * (gy - taken * ey),
        z + ez + strain * fz + gives * (gz - taken * ez),
    )
    store_vector(state, 0, q[0], q[1], q[2])
    store(state, 3 * ROW, q[3])
    store(state, BEFORE * ROW, length)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def sweep_hairs_to(
    data,
    hair,
    bundle,
    guide,
    weight,
    force,
    share,
    turn,
    pull,
    closing,
    overshoot,
    blend_yield,
    blocks_per_task,
    # in and out
    out,
):
    """Pass once from root to tip (algorithm 1) over all hairs, drawn to given targets.

    Args:
        data: rows of each block; see `_kernels_physical.sweep_hairs`.
        hair: strand in each lane (B, LANES), empty lanes repeating another.
        bundle: of each half of a block (B, 2).
        guide: guides of each bundle (M, K).
        weight: how much each counts for each strand (S, K).
        force: f / W of the guides of each bundle at the hairs' segments (M, K, N, 3).
        share: 1 - alpha.
        turn: how the skin has turned at each guide's root, then the head (G + 1, 4), all on the head's side.
        pull: alpha times drift.
        closing: as of `PhysicalParams`.
        overshoot: the same where eq. 22 is taken as printed, otherwise 0.
        blend_yield: stretch per blended force; 0 unless eq. 12 is taken as printed.
        blocks_per_task: blocks that share scratch memory.
        out: targets (S, 3 V) [m], overwritten by the points.
    """
    blocks, width = len(bundle), out.shape[1]
    segments = width // 3 - 1
    of_block, flat = HAIR_ROWS * ROW + segments * SEGMENT, out.reshape(-1)
    for task in prange((blocks + blocks_per_task - 1) // blocks_per_task):
        places = np.empty((segments + 1) * PLACE, np.float32)
        felt, state = np.empty(FELT_ROWS * LANES, np.float32), np.empty(STATE_ROWS * LANES, np.float32)
        for block in range(task * blocks_per_task, min((task + 1) * blocks_per_task, blocks)):
            own, hairs, bundles = block * of_block, hair[block], bundle[block]
            state[:] = ZERO  # there is no segment before the first
            start_roots(hairs, bundles, turn, guide, weight, out, state, places)
            for i in range(segments):
                gather_segment(hairs, bundles, force, share, weight, out, i, felt)
                segment = own + HAIR_ROWS * ROW + i * SEGMENT
                sweep_given(data, own, segment, felt, pull, closing, overshoot, blend_yield, state, places, i * PLACE)
            store_points(places, hairs, 0, width, flat)
