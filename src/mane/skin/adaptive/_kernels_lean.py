"""Hairs that would pass a solid lean towards their guides: the interpolation check of chai2017 4.2 for the hair itself.

Guides of a set have no solid between them, but a hair may be on the other side of one from all of them: it keeps the
distance that it has from its guides at rest, while a tooth presses them together. The way from the middle of its guides
to the hair is followed, and the hair stops where a solid begins.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_solid import solid_at
from mane.simd.jit import njit, prange
from mane.skin.adaptive._kernels_blend import GONE, bit_count
from mane.skin.adaptive._kernels_graph import SHORTEST_STEP, is_clear, steep_distance

FASTMATH = {"contract", "arcp", "nsz", "afn"}

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
TINY = np.float32(1e-12)
MAX_STEPS = 64


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def free_of(solid, pose, room, length, ax, ay, az, dx, dy, dz):
    """Part of the way from a along d that is free of a solid, 0 to 1; `room` [m] is left at a, `length` that of d."""
    travelled = ZERO
    for _ in range(MAX_STEPS):
        ahead = min(travelled + max(room / length, SHORTEST_STEP), ONE)
        room = steep_distance(solid, pose, ax + ahead * dx, ay + ahead * dy, az + ahead * dz)
        if room < ZERO:
            # The surface is between the two: half-way again and again, so that hair glides along it.
            for _ in range(6):
                middle = np.float32(0.5) * (travelled + ahead)
                if steep_distance(solid, pose, ax + middle * dx, ay + middle * dy, az + middle * dz) < ZERO:
                    ahead = middle
                else:
                    travelled = middle
            return travelled
        travelled = ahead
        if travelled >= ONE:
            break
    return ONE


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def free_part(solids, poses, near, ax, ay, az, x, y, z):
    """Part of the way from a to x that is free of the solids that are `near` (Z,), 0 to 1.

    Of a solid that it begins in it counts as free.
    """
    dx, dy, dz = x - ax, y - ay, z - az
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    free = ONE
    for s in range(len(poses)):
        if not near[s]:
            continue
        solid = solid_at(solids, s)
        room = steep_distance(solid, poses[s], ax, ay, az)
        if ZERO < room < free * length:
            free = min(free, free_of(solid, poses[s], room, length, ax, ay, az, dx, dy, dz))
    return free


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def middle_of(rows, mask, guides, i, x, y, z, room, near):
    """Middle of the guides of a hair at a vertex, and whether a solid may be between one of them and the hair.

    Sets `near (Z,)` for those solids.
    """
    share = ONE / np.float32(bit_count(mask))
    ax, ay, az, is_near = ZERO, ZERO, ZERO, False
    for a in range(len(rows)):
        if mask >> a & 1:
            r = rows[a]
            gx, gy, gz = guides[r, 0, i], guides[r, 1, i], guides[r, 2, i]
            ax, ay, az = ax + share * gx, ay + share * gy, az + share * gz
            way = math.sqrt((x - gx) ** 2 + (y - gy) ** 2 + (z - gz) ** 2)
            for s in range(len(near)):
                if room[s // 3, r, s % 3, i] < way:
                    near[s] = is_near = True
    return ax, ay, az, is_near


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def displaced_by(rows, mask, shift, i):
    """How far the guides of a hair have come from rest at a vertex, on average [m]."""
    sx, sy, sz = ZERO, ZERO, ZERO
    for a in range(len(rows)):
        if mask >> a & 1:
            r = rows[a]
            sx, sy, sz = sx + shift[r, 0, i], sy + shift[r, 1, i], sz + shift[r, 2, i]
    return math.sqrt(sx * sx + sy * sy + sz * sz) / np.float32(bit_count(mask))


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def spread_parts(down, up, part):
    """Let vertices before and behind one that leans, `part (V,)` below 1, lean along; they recover by steps."""
    for i in range(1, len(part)):
        part[i] = min(part[i], part[i - 1] + down)
    for i in range(len(part) - 2, -1, -1):
        part[i] = min(part[i], part[i + 1] + up)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def find_lean(solids, poses, rows, mask, guides, room, shift, between, recovery, hair, lean):
    """Fill `lean (V, 3)` [m] with how far each vertex of a hair `(V, 3)` should lean; returns whether any should.

    See `lean_hairs`. Where none should, `lean` is left as it was.
    """
    vertices = len(hair)
    middle, part = lean, np.ones(vertices, np.float32)
    near = np.zeros((2, len(poses)), np.bool_)  # solids near this vertex, and near it or the one before
    was_near, leans = False, False
    for i in range(vertices):
        x, y, z = hair[i, 0], hair[i, 1], hair[i, 2]
        for s in range(len(poses)):
            near[0, s], near[1, s] = False, near[0, s]
        middle[i, 0], middle[i, 1], middle[i, 2], is_near = middle_of(rows, mask, guides, i, x, y, z, room, near[0])
        if i > 0 and (is_near or was_near):
            for s in range(len(poses)):
                near[1, s] |= near[0, s]
                near[1, s] = near[1, s] and not is_clear(
                    solid_at(solids, s), poses[s], middle[i - 1], middle[i], hair[i - 1], hair[i]
                )
            for k in range(between):
                u = np.float32(k) / np.float32(between)
                v = ONE - u
                free = free_part(
                    solids,
                    poses,
                    near[1],
                    v * middle[i, 0] + u * middle[i - 1, 0],
                    v * middle[i, 1] + u * middle[i - 1, 1],
                    v * middle[i, 2] + u * middle[i - 1, 2],
                    v * x + u * hair[i - 1, 0],
                    v * y + u * hair[i - 1, 1],
                    v * z + u * hair[i - 1, 2],
                )
                part[i] = min(part[i], free)
                if k > 0:
                    part[i - 1] = min(part[i - 1], free)
                leans |= free < ONE
        was_near = is_near
    if leans:
        spread_parts(recovery[0], recovery[1], part)
        part[0] = ONE
        for i in range(vertices):
            x, y, z = hair[i, 0] - middle[i, 0], hair[i, 1] - middle[i, 1], hair[i, 2] - middle[i, 2]
            allowed = displaced_by(rows, mask, shift, i) / max(math.sqrt(x * x + y * y + z * z), TINY)
            away = min(ONE - part[i], allowed)
            lean[i, 0], lean[i, 1], lean[i, 2] = -away * x, -away * y, -away * z
    return leans


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def follow_lean(leans, lean, turn, decay, kept, hair):
    """Move a hair `(V, 3)` by what it leans by, which goes from `kept` (V, 3) towards `lean`; whether it still leans.

    `kept` is as seen from the head, which `turn` (3, 3) takes to the world, and is changed. What a hair leans by fades
    as jumps do, `decay` being what is left after a frame: thin teeth come and go within one.
    """
    largest = ZERO
    for i in range(len(hair)):
        for c in range(3):
            goal = ZERO
            if leans:
                goal = turn[0, c] * lean[i, 0] + turn[1, c] * lean[i, 1] + turn[2, c] * lean[i, 2]
            kept[i, c] = goal + decay * (kept[i, c] - goal)
            largest = max(largest, abs(kept[i, c]))
    if largest <= GONE and not leans:
        kept[:] = ZERO
        return False
    for i in range(len(hair)):
        for c in range(3):
            hair[i, c] += turn[c, 0] * kept[i, 0] + turn[c, 1] * kept[i, 1] + turn[c, 2] * kept[i, 2]
    return largest > ZERO


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def lean_hairs(
    solids,
    poses,
    rows,
    masks,
    guides,
    room,
    shift,
    between,
    recovery,
    turn,
    decay,
    # in and out
    kept,
    is_leaning,
    points,
):
    """Move hairs `points (S, V, 3)` that are behind a solid, seen from their guides, to where it begins; world.

    Args:
        solids: a `SolidList`.
        poses: of them (Z, 12).
        rows: of the eligible guides of each hair (S, M).
        masks: those that it hangs on (S,).
        guides: where they are [m], world (R, 3, V).
        room: how far they are from each solid, less the length of a segment [m], by threes (Z / 3, R, 3, V).
        shift: displacement of the guides from rest, as seen from the head [m] (R, 3, V). No vertex leans farther than
            its guides have come, so that guides at rest give the groom, wherever solids are.
        between: places that are asked on every segment.
        recovery: part of the way from its guides that a hair wins back at every vertex towards its tip, and its root.
        turn: rotation of the head (3, 3).
        decay: what is left of the last frame in what hairs lean by, 0 to 1.
        kept: what hairs lean by, as seen from the head [m] (S, V, 3); only rows that lean count.
        is_leaning: whether they do (S,).
        points: see above.
    """
    for s in prange(len(points)):
        mask = np.int64(masks[s])
        lean, leans = np.empty((points.shape[1], 3), np.float32), False
        if mask != 0:
            leans = find_lean(solids, poses, rows[s], mask, guides, room, shift, between, recovery, points[s], lean)
        if leans or is_leaning[s]:
            is_leaning[s] = follow_lean(leans, lean, turn, decay, kept[s], points[s])
