"""Physically guided interpolation of blocks of hairs, side by side in the lanes of a vector register.

Theorem 4.1 of hsu2024 without a matrix. With h = q0 sqrt(l) turned by the segment before (its rest rotation, scaled so
that its square is the segment's length), the unloaded segment is the vector D = h e3 conj(h) of length l. With g = l
times the force of eq. 23 (see `PhysicalParams.drift_from`), the orientation of eq. 17 is h turned by the quaternion

    r = (m D x g,  m (l |g| + g . D) + 4 E I l)         m = l + length of the segment before

and the segment itself is D turned by r: no trigonometry, two square roots. Forces are in weights of the hair.

All lanes of a block have the same guides, so what is read of them is one number for all lanes. Loops over lanes touch
one buffer at constant offsets only, which is what lets the compiler vectorise them; unsigned indices spare a test.
"""

# mypy: allow-untyped-defs

import math

import numpy as np
from numba import njit, prange

FASTMATH = {"reassoc", "contract", "arcp", "nsz", "afn"}

LANES = 16  # float32 numbers in the widest register that CPUs have
GROUP = 3  # guides that are added at once

# Rows of `data` per block: per hair stiffness, strain and root; per segment rest rotation and end at rest.
PER_HAIR, PER_SEGMENT = 5, 7
# Rows of `work`. Of the segment before: orientation, length, end. Of this one: force, target, rest rotation, end at
# rest. Of the hair: stiffness, strain, weights. Then the points.
Q, L, X, FORCE, TARGET, REST, ORIGIN, BEND, STRAIN, WEIGHT, POINTS = 0, 4, 5, 8, 11, 14, 18, 21, 22, 23, 26

U = np.uint64
W = U(LANES)
ZERO = np.float32(0.0)
ONE = np.float32(1.0)
TWO = np.float32(2.0)
# Keeps the square root of no force at all from being the start of a division by zero.
TINY = np.float32(1e-30)

# Offsets of rows.
QY, QZ, QW = U(1) * W, U(2) * W, U(3) * W
LENGTH = U(L) * W
XX, XY, XZ = U(X) * W, U(X + 1) * W, U(X + 2) * W
FX, FY, FZ = U(FORCE) * W, U(FORCE + 1) * W, U(FORCE + 2) * W
TX, TY, TZ = U(TARGET) * W, U(TARGET + 1) * W, U(TARGET + 2) * W
PX, PY, PZ, PW = U(REST) * W, U(REST + 1) * W, U(REST + 2) * W, U(REST + 3) * W
OX, OY, OZ = U(ORIGIN) * W, U(ORIGIN + 1) * W, U(ORIGIN + 2) * W
STIFF, YIELD = U(BEND) * W, U(STRAIN) * W
W0, W1, W2 = U(WEIGHT) * W, U(WEIGHT + 1) * W, U(WEIGHT + 2) * W


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def copy_rows(source, start, count, target, at):
    """Copy `count` rows of lanes."""
    first, goal = U(start), U(at)
    for number in range(count * LANES):
        target[goal + U(number)] = source[first + U(number)]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def load_points(out, hair, block, work):
    """Copy the points of the hairs of a block, the targets of eq. 22, into rows of lanes."""
    for lane in range(LANES):
        s = U(hair[block, lane])
        for j in range(out.shape[1]):
            work[U(POINTS + j) * W + U(lane)] = out[s, U(j)]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def store_points(work, hair, block, filled, out):
    """Copy the rows of lanes back to the points of the hairs."""
    for lane in range(filled[block]):
        s = U(hair[block, lane])
        for j in range(out.shape[1]):
            out[s, U(j)] = work[U(POINTS + j) * W + U(lane)]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def load_hairs(turn, guide, block, weight, hair, work):
    """Copy weights, and blend the turns of the skin at the guides' roots into the frame before the first segment."""
    last = len(turn) - 1
    for lane in range(LANES):
        s = hair[block, lane]
        for k in range(GROUP):
            work[(WEIGHT + k) * LANES + lane] = weight[s, k]
        x, y, z, w, missing = ZERO, ZERO, ZERO, ZERO, ONE
        for k in range(guide.shape[1] + 1):
            # What the guides leave is the head's: nothing, or all where every guide of a hair is gone.
            g = guide[block, k] if k < guide.shape[1] else last
            a = weight[s, k] if k < guide.shape[1] else missing
            missing -= a
            x, y, z, w = x + a * turn[g, 0], y + a * turn[g, 1], z + a * turn[g, 2], w + a * turn[g, 3]
        inv = ONE / math.sqrt(x * x + y * y + z * z + w * w)
        work[lane] = x * inv
        work[LANES + lane] = y * inv
        work[2 * LANES + lane] = z * inv
        work[3 * LANES + lane] = w * inv
        work[L * LANES + lane] = ZERO


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def blend_vector(a, b, c, work, at):
    """Fill three rows with the weighted sum of the vectors that three guides have."""
    ax, ay, az, bx, by, bz, cx, cy, cz = a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2]
    for number in range(LANES):
        lane = U(number)
        w0, w1, w2 = work[W0 + lane], work[W1 + lane], work[W2 + lane]
        work[at + lane] = w0 * ax + w1 * bx + w2 * cx
        work[at + W + lane] = w0 * ay + w1 * by + w2 * cy
        work[at + W + W + lane] = w0 * az + w1 * bz + w2 * cz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def add_vector(weight, hair, block, k, a, work, at):
    """Add the vector of guide k, of those beyond the first three."""
    for lane in range(LANES):
        w = weight[hair[block, lane], k]
        for c in range(3):
            work[at + U(c) * W + U(lane)] += w * a[c]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def turn_origin(head, work):
    """Add the turned rest position to the target rows: linear skinning (eq. 9) with one turn for all guides."""
    a, b, c, d, e, f = head[0], head[1], head[2], head[3], head[4], head[5]
    g, h, i = head[6], head[7], head[8]
    for number in range(LANES):
        lane = U(number)
        x, y, z = work[OX + lane], work[OY + lane], work[OZ + lane]
        work[TX + lane] += a * x + b * y + c * z
        work[TY + lane] += d * x + e * y + f * z
        work[TZ + lane] += g * x + h * y + i * z


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def turn_segment(pull, overshoot, blend_yield, work):
    """Turn the segment of all lanes and place its end, from what the rows say of it and of the one before."""
    own = pull - overshoot  # what eq. 22 takes off along the segment as it comes out
    for number in range(LANES):
        lane = U(number)
        px, py, pz, pw = work[PX + lane], work[PY + lane], work[PZ + lane], work[PW + lane]
        qx, qy, qz, qw = work[lane], work[QY + lane], work[QZ + lane], work[QW + lane]
        hx = qw * px + pw * qx + qy * pz - qz * py
        hy = qw * py + pw * qy + qz * px - qx * pz
        hz = qw * pz + pw * qz + qx * py - qy * px
        hw = qw * pw - qx * px - qy * py - qz * pz
        l = px * px + py * py + pz * pz + pw * pw
        # Eq. 21: the segment without force.
        dx, dy = TWO * (hx * hz + hw * hy), TWO * (hy * hz - hw * hx)
        dz = hw * hw + hz * hz - hx * hx - hy * hy
        x, y, z = work[XX + lane], work[XY + lane], work[XZ + lane]
        fx, fy, fz = l * work[FX + lane], l * work[FY + lane], l * work[FZ + lane]
        # Eq. 22 and 23, times l.
        gx = fx + pull * (work[TX + lane] - x) - overshoot * dx
        gy = fy + pull * (work[TY + lane] - y) - overshoot * dy
        gz = fz + pull * (work[TZ + lane] - z) - overshoot * dz
        m = work[LENGTH + lane] + l
        size = math.sqrt(gx * gx + gy * gy + gz * gz + TINY)
        ux, uy, uz = m * (dy * gz - dz * gy), m * (dz * gx - dx * gz), m * (dx * gy - dy * gx)
        w = m * (l * size + gx * dx + gy * dy + gz * dz) + work[STIFF + lane] * l
        uu, ww = ux * ux + uy * uy + uz * uz, w * w
        s = ONE / math.sqrt((uu + ww) * l)
        work[lane] = s * (w * hx + hw * ux + uy * hz - uz * hy)
        work[QY + lane] = s * (w * hy + hw * uy + uz * hx - ux * hz)
        work[QZ + lane] = s * (w * hz + hw * uz + ux * hy - uy * hx)
        work[QW + lane] = s * (w * hw - ux * hx - uy * hy - uz * hz)
        work[LENGTH + lane] = l
        # Eq. 12: the segment turned by r, and what stretches it.
        e = s * s * l
        along, across, strain = (ww - uu) * e, TWO * w * e, work[YIELD + lane]
        ex = along * dx + across * (uy * dz - uz * dy)
        ey = along * dy + across * (uz * dx - ux * dz)
        ez = along * dz + across * (ux * dy - uy * dx)
        work[XX + lane] = x + ex + strain * fx + blend_yield * (gx - own * ex)
        work[XY + lane] = y + ey + strain * fy + blend_yield * (gy - own * ey)
        work[XZ + lane] = z + ez + strain * fz + blend_yield * (gz - own * ez)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def blend_forces(force, guide, block, weight, hair, i, work):
    """Interpolate the force on segment i (eq. 10)."""
    g = guide[block]
    blend_vector(force[g[0], i], force[g[1], i], force[g[2], i], work, FX)
    for k in range(GROUP, len(g)):
        add_vector(weight, hair, block, k, force[g[k], i], work, FX)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def skin_target(shift, bundle, head, weight, hair, block, i, work):
    """Fill the target rows with what linear skinning says of vertex i."""
    own = shift[bundle]
    blend_vector(own[0, :, i], own[1, :, i], own[2, :, i], work, TX)
    for k in range(GROUP, len(own)):
        add_vector(weight, hair, block, k, own[k, :, i], work, TX)
    turn_origin(head, work)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def sweep_hairs(
    data,
    hair,
    filled,
    bundle,
    guide,
    weight,
    force,
    shift,
    head,
    turn,
    pull,
    overshoot,
    blend_yield,
    has_targets,
    blocks_per_task,
    # in and out
    out,
):
    """Pass once from root to tip (algorithm 1) over all hairs.

    Args:
        data: flat, `PER_HAIR + PER_SEGMENT * N` rows per block: 4 E I / W [m^2], stretch per unit of `force`, root at
            rest [m], then per segment the rest rotation of the joint before it, times the root of its length, and its
            end at rest [m].
        hair: strand in each lane (B, LANES), empty lanes repeating another.
        filled: how many lanes are not empty (B,).
        bundle: whose `shift` goes with each block (B,).
        guide: guides of each block (B, K), K a multiple of 3.
        weight: how much each counts for each strand (S, K).
        force: (1 - alpha) f / W of the guides, at the hairs' segments (G, N, 3).
        shift: how the guides of each bundle move the hairs' vertices, the turn apart (M, K, 3, V) [m].
        head: rotation matrix of that turn (9,).
        turn: how the skin has turned at each guide's root, and how the head has (G + 1, 4), all on the head's side.
        pull: alpha times drift.
        overshoot: the same where eq. 22 is taken as printed, otherwise 0.
        blend_yield: stretch per blended force; 0 unless eq. 12 is taken as printed.
        has_targets: whether `out` holds the targets of the drift correction; otherwise they are skinned linearly.
        blocks_per_task: blocks that share scratch memory.
        out: points (S, 3 V) [m].
    """
    segments = out.shape[1] // 3 - 1
    rows = PER_HAIR + PER_SEGMENT * segments
    blocks = len(hair)
    for task in prange((blocks + blocks_per_task - 1) // blocks_per_task):
        work = np.empty((POINTS + out.shape[1]) * LANES, np.float32)
        for block in range(task * blocks_per_task, min((task + 1) * blocks_per_task, blocks)):
            start = block * rows * LANES
            load_hairs(turn, guide, block, weight, hair, work)
            copy_rows(data, start, 2, work, BEND * LANES)
            if has_targets:
                load_points(out, hair, block, work)
            else:
                copy_rows(data, start + 2 * LANES, 3, work, ORIGIN * LANES)
                skin_target(shift, bundle[block], head, weight, hair, block, 0, work)
                copy_rows(work, TARGET * LANES, 3, work, POINTS * LANES)
            copy_rows(work, POINTS * LANES, 3, work, X * LANES)
            for i in range(segments):
                end = (POINTS + 3 * (i + 1)) * LANES
                copy_rows(data, start + (PER_HAIR + PER_SEGMENT * i) * LANES, PER_SEGMENT, work, REST * LANES)
                if has_targets:
                    copy_rows(work, end, 3, work, TARGET * LANES)
                else:
                    skin_target(shift, bundle[block], head, weight, hair, block, i + 1, work)
                blend_forces(force, guide, block, weight, hair, i, work)
                turn_segment(pull, overshoot, blend_yield, work)
                copy_rows(work, X * LANES, 3, work, end)
            store_points(work, hair, block, filled, out)
