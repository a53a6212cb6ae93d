"""The first sweep in the general case: a head that deforms, any guides, given targets, eq. 12 and 22 as printed.

The same sums as in `_kernels`, in the same lanes; targets and weights are gathered before each block.
"""

# mypy: allow-untyped-defs

import math

from mane.simd.f32x32 import LANES, QUARTER, broadcast, broadcast_parts, load
from mane.simd.jit import inline, njit, prange
from mane.simd.memory import use_wide_registers
from mane.skin.physical._kernels import (
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
    scratch_rows,
    segment_length,
    store_points,
    store_vector,
    turn_segment,
    turned,
)

TURN_ROWS = 4


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
def gather_hairs(hair, bundle, turn, guide, weight, points, own, places):
    """Fill rows of what a block's hairs have: `own`, their turns at the roots, as `turned` wants them, and weights.

    The rows of `places` are filled with their targets.
    """
    for lane in range(LANES):
        s = hair[lane]
        q = blend_turns(turn, guide[bundle[lane // QUARTER]], weight, s)
        for c in range(TURN_ROWS):
            own[c * LANES + lane] = ROOT_TWO * q[c]
        for k in range(weight.shape[1]):
            own[(TURN_ROWS + k) * LANES + lane] = weight[s, k]
        target = points[s]
        for k in range(len(target)):
            places[k * LANES + lane] = target[k]


@inline
def force_on(force, starts, at, of_guide, own, guides):
    """Sum of the guides' forces on a segment (eq. 10), those of the first guide at `force[start + at]`."""
    fx, fy, fz = broadcast(ZERO), broadcast(ZERO), broadcast(ZERO)
    for k in range(guides):
        w = load(own, (TURN_ROWS + k) * ROW)
        fx = fx + w * broadcast_parts(force, starts, at)
        fy = fy + w * broadcast_parts(force, starts, at + 1)
        fz = fz + w * broadcast_parts(force, starts, at + 2)
        at += of_guide
    return fx, fy, fz


@njit(cache=True, error_model="numpy")
def sweep_given(data, at, segments, own, guides, force, starts, share, pull, drift_gain, overshoot, gives, places):
    """Turn the rows of targets in `places` to those of points; arguments as in `sweep_hairs_to`.

    The rows of the block begin at `data[at]`, the forces on the first segments of its quarters at `starts`; `own`
    is what `gather_hairs` filled.
    """
    use_wide_registers()
    bend, strain, before = load(data, at + BEND * ROW), load(data, at + STRAIN * ROW), broadcast(ZERO)
    zero, inherited, towards, near = broadcast(ZERO), broadcast(share), broadcast(pull), broadcast(drift_gain)
    # The second is what eq. 22 takes off along the segment as it comes out.
    yields, taken = broadcast(gives), broadcast(pull - overshoot)
    q = (load(own, 0), load(own, ROW), load(own, 2 * ROW), load(own, 3 * ROW))
    x, y, z = load_vector(places, 0)
    sx, sy, sz = x, y, z  # target of the segment's start
    at += HAIR_ROWS * ROW
    for i in range(segments):
        vx, vy, vz = load_vector(data, at + i * SEGMENT)
        square, length, scale = segment_length(vx, vy, vz, bend, before)
        before = length
        fx, fy, fz = force_on(force, starts, 3 * i, 3 * segments, own, guides)
        fx, fy, fz = length * (inherited * fx), length * (inherited * fy), length * (inherited * fz)
        tx, ty, tz = load_vector(places, (i + 1) * PLACE)
        vx, vy, vz = turned(q, vx, vy, vz)
        # Eq. 22 and 23, times the length; the way to the target starts between its own start and the hair's.
        off = broadcast(overshoot) * scale
        gx, gy, gz = (
            fx + towards * (tx - sx - near * (x - sx)) - off * vx,
            fy + towards * (ty - sy - near * (y - sy)) - off * vy,
            fz + towards * (tz - sz - near * (z - sz)) - off * vz,
        )
        sx, sy, sz = tx, ty, tz
        q, (ex, ey, ez) = turn_segment(q, (vx, vy, vz), square, scale, (gx, gy, gz), (zero, zero, zero))
        # Eq. 12.
        x, y, z = (
            x + ex + strain * fx + yields * (gx - taken * ex),
            y + ey + strain * fy + yields * (gy - taken * ey),
            z + ez + strain * fz + yields * (gz - taken * ez),
        )
        store_vector(places, (i + 1) * PLACE, x, y, z)


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
    drift_gain,
    overshoot,
    blend_yield,
    blocks_per_task,
    # in and out
    out,
):
    """Pass once from root to tip (algorithm 1) over all hairs, drawn to given targets.

    Args:
        data: rows of each block; see `_kernels.sweep_hairs`.
        hair: strand in each lane (B, LANES), empty lanes repeating another.
        bundle: of each quarter of a block (B, 4).
        guide: guides of each bundle (M, K).
        weight: how much each counts for each strand (S, K).
        force: f / W of the guides of each bundle at the hairs' segments (M, K, N, 3).
        share: 1 - alpha.
        turn: how the skin has turned at each guide's root, then the head (G + 1, 4), all on the head's side.
        pull: alpha times drift.
        drift_gain: as of `PhysicalParams`.
        overshoot: the same where eq. 22 is taken as printed, otherwise 0.
        blend_yield: stretch per blended force; 0 unless eq. 12 is taken as printed.
        blocks_per_task: blocks that share scratch memory.
        out: targets (S, 3 V) [m], overwritten by the points.
    """
    blocks, width, guides = len(bundle), out.shape[1], guide.shape[1]
    segments = width // 3 - 1
    of_block, of_bundle = HAIR_ROWS * ROW + segments * SEGMENT, 3 * guides * segments
    flat, forces = out.reshape(-1), force.reshape(-1)
    for task in prange((blocks + blocks_per_task - 1) // blocks_per_task):
        places, own = scratch_rows(width), scratch_rows(TURN_ROWS + guides)
        for block in range(task * blocks_per_task, min((task + 1) * blocks_per_task, blocks)):
            at, hairs, bundles = block * of_block, hair[block], bundle[block]
            gather_hairs(hairs, bundles, turn, guide, weight, out, own, places)
            starts = (bundles[0] * of_bundle, bundles[1] * of_bundle, bundles[2] * of_bundle, bundles[3] * of_bundle)
            sweep_given(
                data, at, segments, own, guides, forces, starts, share, pull, drift_gain, overshoot, blend_yield, places
            )
            store_points(places, hairs, 0, width, flat)
