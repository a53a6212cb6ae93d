"""Hairs that would pass a solid lean towards their guides: the interpolation check of chai2017 4.2 for the hair itself.

Guides of a set have no solid between them, but a hair may be on the other side of one from all of them: it keeps the
distance that it has from its guides at rest, while a tooth presses them together. The way from the middle of its guides
to the hair is followed, and the hair stops where a solid begins.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange
from mane.skin.adaptive._kernels_blend import bit_count
from mane.skin.adaptive._kernels_graph import SHORTEST_STEP, steep_distance

FASTMATH = {"contract", "arcp", "nsz", "afn"}

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
TINY = np.float32(1e-12)
MAX_STEPS = 64


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def free_part(solids, poses, ax, ay, az, x, y, z):
    """Part of the way from a to x that is free of solids, 0 to 1; 1 where it begins inside one."""
    dx, dy, dz = x - ax, y - ay, z - az
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    room = steep_distance(solids, poses, ax, ay, az)
    if room <= ZERO or room >= length:
        return ONE
    travelled = ZERO
    for _ in range(MAX_STEPS):
        ahead = min(travelled + max(room / length, SHORTEST_STEP), ONE)
        room = steep_distance(solids, poses, ax + ahead * dx, ay + ahead * dy, az + ahead * dz)
        if room < ZERO:
            # The surface is between the two: half-way again and again, so that hair glides along it.
            for _ in range(6):
                middle = np.float32(0.5) * (travelled + ahead)
                if steep_distance(solids, poses, ax + middle * dx, ay + middle * dy, az + middle * dz) < ZERO:
                    ahead = middle
                else:
                    travelled = middle
            return travelled
        travelled = ahead
        if travelled >= ONE:
            break
    return ONE


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def middle_of(rows, mask, guides, i, x, y, z, room):
    """Middle of the guides of a hair at a vertex, and whether a solid may be between one of them and the hair."""
    share = ONE / np.float32(bit_count(mask))
    ax, ay, az, is_near = ZERO, ZERO, ZERO, False
    for a in range(len(rows)):
        if mask >> a & 1:
            r = rows[a]
            gx, gy, gz = guides[r, 0, i], guides[r, 1, i], guides[r, 2, i]
            ax, ay, az = ax + share * gx, ay + share * gy, az + share * gz
            is_near |= room[r, 0, i] < math.sqrt((x - gx) ** 2 + (y - gy) ** 2 + (z - gz) ** 2)
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
    # in and out
    points,
):
    """Move hairs `points (S, V, 3)` that are behind a solid, seen from their guides, to where it begins; world.

    Args:
        solids: a `SolidList`.
        poses: of them (Z, 12).
        rows: of the eligible guides of each hair (S, M).
        masks: those that it hangs on (S,).
        guides: where they are [m], world (R, 3, V).
        room: how far they are from solids, less the length of a segment [m] (R, 3, V), three times the same.
        shift: displacement of the guides from rest, as seen from the head [m] (R, 3, V). No vertex leans farther than
            its guides have come, so that guides at rest give the groom, wherever solids are.
        between: places that are asked on every segment.
        recovery: part of the way from its guides that a hair wins back at every vertex towards its tip, and its root.
        points: see above.
    """
    vertices = points.shape[1]
    for s in prange(len(points)):
        mask = np.int64(masks[s])
        if mask == 0:
            continue
        middle, part = np.empty((vertices, 3), np.float32), np.ones(vertices, np.float32)
        was_near, leans = False, False
        for i in range(vertices):
            x, y, z = points[s, i, 0], points[s, i, 1], points[s, i, 2]
            middle[i, 0], middle[i, 1], middle[i, 2], is_near = middle_of(rows[s], mask, guides, i, x, y, z, room)
            if i > 0 and (is_near or was_near):
                for k in range(between):
                    u = np.float32(k) / np.float32(between)
                    v = ONE - u
                    free = free_part(
                        solids,
                        poses,
                        v * middle[i, 0] + u * middle[i - 1, 0],
                        v * middle[i, 1] + u * middle[i - 1, 1],
                        v * middle[i, 2] + u * middle[i - 1, 2],
                        v * x + u * points[s, i - 1, 0],
                        v * y + u * points[s, i - 1, 1],
                        v * z + u * points[s, i - 1, 2],
                    )
                    part[i] = min(part[i], free)
                    if k > 0:
                        part[i - 1] = min(part[i - 1], free)
                    leans |= free < ONE
            was_near = is_near
        if leans:
            spread_parts(recovery[0], recovery[1], part)
            for i in range(1, vertices):
                x, y, z = points[s, i, 0] - middle[i, 0], points[s, i, 1] - middle[i, 1], points[s, i, 2] - middle[i, 2]
                allowed = displaced_by(rows[s], mask, shift, i) / max(math.sqrt(x * x + y * y + z * z), TINY)
                part[i] = max(part[i], ONE - allowed)
                for c in range(3):
                    points[s, i, c] = middle[i, c] + part[i] * (points[s, i, c] - middle[i, c])
