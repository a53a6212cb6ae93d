"""Hair that stays on its side of solids: each hair is moved from where it was to where its skin has it now, past solids
that move at the same time, in steps shorter than what they are thick.
"""

# mypy: allow-untyped-defs

import math
from typing import NamedTuple

import numpy as np

from mane.body._kernels_cells import cell_distance, gradient_at
from mane.body._kernels_solid_f32 import FASTMATH, to_local
from mane.simd.jit import leaf, njit, prange

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
HALF = np.float32(0.5)
FAR = np.float32(1e30)
GONE = np.float32(1e-6)  # [m] hair that is closer to where its skin has it is there
MOST_PLACES = 64  # of a segment that are asked
STRETCH = np.float32(1.25)  # of a segment while it is pushed, at most
FOLD = np.float32(0.6)  # cosine of the angle of two segments that solids may fold hair to
ROUNDS = 3  # of pushes in a step: what is pushed out of one solid may be pushed into another
TASKS, BLOCK = 64, 32  # that hairs are shared out in


class SideRules(NamedTuple):
    """How hair is kept on its side of solids; see `sides.SidesParams`."""

    props: int  # solids before the body, which is the one behind them
    thickness: np.float32  # [m] how far hair stays from solids
    sunk: np.float32  # [m] how deep hair may be in the body
    friction: np.float32
    stride: np.float32  # [m] that hair and solid move against each other in a step at most
    spacing: np.float32  # [m] of places that are asked where hair is next to a solid
    hang: np.float32  # [1/m] part of a push that is lost per length of hair below it
    swept: np.float32  # [m] how far a point of a solid moved in the frame at most


@leaf(fastmath=FASTMATH)
def is_beside_all(boxes, hair):
    """Whether a hair `(V, 3)` is beside each of `boxes (Z, 6)`, by the box around it."""
    lx, ly, lz = hair[0, 0], hair[0, 1], hair[0, 2]
    hx, hy, hz = lx, ly, lz
    for i in range(1, len(hair)):
        x, y, z = hair[i, 0], hair[i, 1], hair[i, 2]
        lx, ly, lz = min(lx, x), min(ly, y), min(lz, z)
        hx, hy, hz = max(hx, x), max(hy, y), max(hz, z)
    for b in range(len(boxes)):
        box = boxes[b]
        if lx <= box[3] and ly <= box[4] and lz <= box[5] and hx >= box[0] and hy >= box[1] and hz >= box[2]:
            return False
    return True


@leaf(fastmath=FASTMATH)
def fill_shape(hair, lengths, folds):
    """Fill `lengths (V - 1,)` with those of the segments of a hair `(V, 3)` [m], and `folds (V - 1,)` with the least
    cosine of the angle between each and the one before it that solids may fold it to: its own, if that is less than
    `FOLD`.
    """
    px, py, pz = ZERO, ZERO, ZERO
    for i in range(1, len(hair)):
        x, y, z = hair[i, 0] - hair[i - 1, 0], hair[i, 1] - hair[i - 1, 1], hair[i, 2] - hair[i - 1, 2]
        lengths[i - 1] = math.sqrt(x * x + y * y + z * z)
        inverse = ONE / lengths[i - 1] if lengths[i - 1] > ZERO else ZERO
        x, y, z = inverse * x, inverse * y, inverse * z
        folds[i - 1] = min(px * x + py * y + pz * z, FOLD) if i > 1 else -ONE
        px, py, pz = x, y, z


@leaf(fastmath=FASTMATH)
def restore_shape(lengths, folds, hair):
    """Give the segments of a hair `(V, 3)` their `lengths (V - 1,)` again, from root to tip; directions are kept.

    But for those of one that is folded by more than `folds (V - 1,)` allow against the one before it.
    """
    px, py, pz = ZERO, ZERO, ZERO
    for i in range(1, len(hair)):
        x, y, z = hair[i, 0] - hair[i - 1, 0], hair[i, 1] - hair[i - 1, 1], hair[i, 2] - hair[i - 1, 2]
        size = math.sqrt(x * x + y * y + z * z)
        if size > ZERO:
            x, y, z = x / size, y / size, z / size
            along = px * x + py * y + pz * z
            if along < folds[i - 1]:
                x, y, z = x - along * px, y - along * py, z - along * pz
                across = math.sqrt(x * x + y * y + z * z)
                part = math.sqrt(max(ONE - folds[i - 1] * folds[i - 1], ZERO)) / across if across > ZERO else ZERO
                x, y, z = folds[i - 1] * px + part * x, folds[i - 1] * py + part * y, folds[i - 1] * pz + part * z
            px, py, pz = x, y, z
        hair[i, 0] = hair[i - 1, 0] + lengths[i - 1] * px
        hair[i, 1] = hair[i - 1, 1] + lengths[i - 1] * py
        hair[i, 2] = hair[i - 1, 2] + lengths[i - 1] * pz


@leaf(fastmath=FASTMATH)
def farthest(a, b):
    """Longest way between vertices of two hairs `(V, 3)` [m]."""
    most = ZERO
    for i in range(len(a)):
        x, y, z = a[i, 0] - b[i, 0], a[i, 1] - b[i, 1], a[i, 2] - b[i, 2]
        most = max(most, x * x + y * y + z * z)
    return math.sqrt(most)


@leaf(fastmath=FASTMATH)
def held_back(rules, depth, pose, before, gx, gy, gz, lx, ly, lz, ox, oy, oz):
    """What friction takes of the motion of a place along a solid in a step [m], world.

    The place is l in the frame of the solid now, and was at o of the world when the solid was at `before`. What it is
    pushed out by, `depth`, stands for the force (Coulomb's law for positions).
    """
    ax, ay, az = to_local(before, ox, oy, oz)
    ax, ay, az = lx - ax, ly - ay, lz - az
    x = pose[0] * ax + pose[1] * ay + pose[2] * az
    y = pose[3] * ax + pose[4] * ay + pose[5] * az
    z = pose[6] * ax + pose[7] * ay + pose[8] * az
    out = x * gx + y * gy + z * gz
    x, y, z = x - out * gx, y - out * gy, z - out * gz
    size = math.sqrt(x * x + y * y + z * z)
    part = min(ONE, rules.friction * depth / size) if size > ZERO else ZERO
    return part * x, part * y, part * z


@leaf(fastmath=FASTMATH)
def away_from(rules, s):
    """How far hair stays from solid s [m]; below zero is in it."""
    return rules.thickness if s < rules.props else -rules.sunk


@leaf(fastmath=FASTMATH)
def push_place(solids, cells, s, pose, before, rules, i, u, hair, was, lx, ly, lz, push, depth):
    """Push the place at part u of segment i, l in the frame of solid s, out of it; whether it is in it.

    The deepest place around a vertex says in `push (V, 3)` where that goes and in `depth (V,)` how deep it was [m].
    """
    d, gx, gy, gz = gradient_at(solids, cells, s, pose, lx, ly, lz)
    deep = away_from(rules, s) - d
    if deep <= ZERO:
        return False
    v = ONE - u
    ox = v * was[i - 1, 0] + u * was[i, 0]
    oy = v * was[i - 1, 1] + u * was[i, 1]
    oz = v * was[i - 1, 2] + u * was[i, 2]
    fx, fy, fz = held_back(rules, deep, pose, before, gx, gy, gz, lx, ly, lz, ox, oy, oz)
    for j in range(max(i - 1, 1), i + 1):
        if deep > depth[j] and (j == i or u < ONE):
            depth[j] = deep
            push[j, 0], push[j, 1], push[j, 2] = deep * gx - fx, deep * gy - fy, deep * gz - fz
    return True


@leaf(fastmath=FASTMATH)
def push_segment(solids, cells, s, pose, before, rules, i, hair, was, push, depth):
    """Go along segment i, its first vertex left out, and push it out of solid s; whether any of it was in it.

    Where a place is so far from the solid that the next ones cannot be in it, they are not asked.
    """
    ax, ay, az = to_local(pose, hair[i - 1, 0], hair[i - 1, 1], hair[i - 1, 2])
    bx, by, bz = to_local(pose, hair[i, 0], hair[i, 1], hair[i, 2])
    bx, by, bz = bx - ax, by - ay, bz - az
    length = math.sqrt(bx * bx + by * by + bz * bz)
    if length <= ZERO:
        return False
    least = rules.spacing / length
    is_hit, u = False, min(least, ONE)
    for _ in range(MOST_PLACES):
        lx, ly, lz = ax + u * bx, ay + u * by, az + u * bz
        room = cell_distance(solids, cells, s, lx, ly, lz) - away_from(rules, s)
        if room < ZERO:
            is_hit |= push_place(solids, cells, s, pose, before, rules, i, u, hair, was, lx, ly, lz, push, depth)
        if u >= ONE:
            break
        u = min(u + max(room / length, least), ONE)
    return is_hit


@leaf(fastmath=FASTMATH)
def middle(hair, i):
    """Middle of segment i of a hair `(V, 3)` [m]."""
    return (
        HALF * (hair[i, 0] + hair[i - 1, 0]),
        HALF * (hair[i, 1] + hair[i - 1, 1]),
        HALF * (hair[i, 2] + hair[i - 1, 2]),
    )


@leaf(fastmath=FASTMATH)
def has_room(solids, cells, poses, count, swept, i, reach, hair, known):
    """Whether segment i of a hair `(V, 3)` is farther than `reach` from `count` solids, all of it by its middle.

    `known (V, 5)` has where the middle was when it was asked, how far solids were from there, and how far they had
    moved by then; now they have moved by `swept`. Where that does not tell, solids are asked, and it is renewed.
    """
    x, y, z = middle(hair, i)
    dx, dy, dz = x - known[i, 0], y - known[i, 1], z - known[i, 2]
    left = known[i, 3] - (swept - known[i, 4]) - reach
    if left > ZERO and dx * dx + dy * dy + dz * dz < left * left:
        return True
    room = FAR
    for s in range(count):
        lx, ly, lz = to_local(poses[s], x, y, z)
        room = min(room, cell_distance(solids, cells, s, lx, ly, lz))
    known[i, 0], known[i, 1], known[i, 2], known[i, 3], known[i, 4] = x, y, z, room, swept
    return room > reach


@leaf(fastmath=FASTMATH)
def push_once(solids, cells, poses, before, rules, count, swept, lengths, hair, was, known, push, depth):
    """Push a hair `(V, 3)` out of `count` solids once; whether it was in one. `known` is that of `has_room`."""
    push[:] = ZERO
    depth[:] = ZERO
    is_hit = False
    for i in range(1, len(hair)):
        reach = STRETCH * HALF * lengths[i - 1] + rules.thickness
        if not has_room(solids, cells, poses, count, swept, i, reach, hair, known):
            for s in range(count):
                is_hit |= push_segment(solids, cells, s, poses[s], before[s], rules, i, hair, was, push, depth)
    if is_hit:
        spread_push(rules.hang, push, depth, hair)
    return is_hit


@leaf(fastmath=FASTMATH)
def spread_push(hang, push, depth, hair):
    """Move a hair `(V, 3)` by `push (V, 3)`, which vertices of `depth (V,)` above 0 have, and the others are given.

    What is below a push hangs from there and goes along, less by `hang` of its way [1/m]; what is above the first one
    is drawn aside in proportion to its distance from the root.
    """
    first = 1
    while depth[first] <= ZERO:
        first += 1
    for i in range(1, first):
        part = np.float32(i) / np.float32(first)
        for c in range(3):
            push[i, c] = part * push[first, c]
    for i in range(first + 1, len(hair)):
        if depth[i] > ZERO:
            continue
        x, y, z = hair[i, 0] - hair[i - 1, 0], hair[i, 1] - hair[i - 1, 1], hair[i, 2] - hair[i - 1, 2]
        part = max(ONE - hang * math.sqrt(x * x + y * y + z * z), ZERO)
        for c in range(3):
            push[i, c] = part * push[i - 1, c]
    for i in range(1, len(hair)):
        for c in range(3):
            hair[i, c] += push[i, c]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def follow_goal(solids, cells, poses, rules, count, lengths, folds, last, goal, hair, was, known, push, depth):
    """Take a hair from `last (V, 3)` to `goal (V, 3)` past the first `count` solids, `poses (N + 1, Z, 12)` in the
    frame; whether it met any.

    `hair (V, 3)` is filled; arrays behind it are scratch.
    """
    most = len(poses) - 1
    way, steps = farthest(last, goal) + rules.swept, 1
    while steps < most and way > rules.stride * np.float32(steps):
        steps *= 2
    part, stride = ONE / np.float32(steps), most // steps
    hair[:] = last
    known[:] = ZERO
    is_hit = False
    for k in range(steps):
        for i in range(len(hair)):
            for c in range(3):
                was[i, c] = hair[i, c]
                hair[i, c] += part * (goal[i, c] - last[i, c])
        if k == steps - 1:
            hair[0] = goal[0]  # to the bit: roots sit on the skin
        before, now = poses[k * stride], poses[(k + 1) * stride]
        swept, is_pushed = np.float32(k + 1) * part * rules.swept, False
        for _ in range(ROUNDS):
            if not push_once(solids, cells, now, before, rules, count, swept, lengths, hair, was, known, push, depth):
                break
            is_pushed = True
        is_hit |= is_pushed
        if is_hit:
            restore_shape(lengths, folds, hair)
    return is_hit


@leaf(fastmath=FASTMATH)
def fill_goal(turn, kept, hair, offset, goal):
    """Fill `goal (V, 3)` with a hair and what is left of its `offset (V, 3)`, taken to the world by `turn (3, 3)`."""
    for i in range(len(hair)):
        for c in range(3):
            aside = turn[c, 0] * offset[i, 0] + turn[c, 1] * offset[i, 1] + turn[c, 2] * offset[i, 2]
            goal[i, c] = hair[i, c] + kept * aside


@leaf(fastmath=FASTMATH)
def note_offset(turn, hair, there, offset):
    """Fill `offset (V, 3)`, seen from the head, with how far a hair is from `there`; whether that is anything."""
    most = ZERO
    for i in range(len(hair)):
        x, y, z = hair[i, 0] - there[i, 0], hair[i, 1] - there[i, 1], hair[i, 2] - there[i, 2]
        for c in range(3):
            offset[i, c] = turn[0, c] * x + turn[1, c] * y + turn[2, c] * z
            most = max(most, abs(offset[i, c]))
    return most > GONE


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def keep_sides(
    solids,
    cells,
    poses,
    boxes,
    rules,
    is_outside,
    is_in_body,
    turn,
    kept,
    # in and out
    last,
    is_near,
    offset,
    is_aside,
    points,
):
    """Keep hairs `points (S, V, 3)` on the side of solids that they were on.

    Args:
        solids: a `SolidList`, the body behind all others where it counts.
        cells: around them, a `CellList`.
        poses: of them from the frame before to this one (N + 1, Z, 12), N a power of two.
        boxes: that the others are in meanwhile, and all that could come near them [m], world (Y, 6).
        rules: `SideRules`.
        is_outside: hairs that keep out of the body as well, while they are near another solid, aside, or in it (S,).
        is_in_body: hairs whose skin has taken them into the body (S,).
        turn: rotation of the head (3, 3).
        kept: what is left of an offset after this frame, 0 to 1.
        last: where hairs that were near solids were [m], world (S, V, 3).
        is_near: whether they were (S,).
        offset: how far hairs are from where their skin had them [m], seen from the head (S, V, 3).
        is_aside: whether that is anything (S,).
        points: see above.
    """
    hairs, vertices = points.shape[0], points.shape[1]
    blocks = (hairs + BLOCK - 1) // BLOCK
    for task in prange(TASKS):
        goal, hair = np.empty((vertices, 3), np.float32), np.empty((vertices, 3), np.float32)
        was, push = np.empty((vertices, 3), np.float32), np.empty((vertices, 3), np.float32)
        known, depth = np.empty((vertices, 5), np.float32), np.empty(vertices, np.float32)
        lengths, folds = np.empty(vertices - 1, np.float32), np.empty(vertices - 1, np.float32)
        # Blocks of a task are far apart, so that hairs near a solid, which take longest, are shared out.
        for block in range(task, blocks, TASKS):
            for s in range(BLOCK * block, min(BLOCK * (block + 1), hairs)):
                there = points[s]
                comes_near = not is_beside_all(boxes, there) or (is_near[s] and not is_beside_all(boxes, last[s]))
                if not (comes_near or is_aside[s] or (is_outside[s] and is_in_body[s])):
                    is_near[s] = False
                    continue
                count = poses.shape[1] if is_outside[s] else rules.props
                is_followed = comes_near or count > rules.props
                fill_shape(there, lengths, folds)
                fill_goal(turn, kept if is_aside[s] else ZERO, there, offset[s], goal)
                is_hit = False
                if is_followed:
                    start = last[s] if is_near[s] else goal
                    is_hit = follow_goal(
                        solids, cells, poses, rules, count, lengths, folds, start, goal, hair, was, known, push, depth
                    )
                if not is_hit and is_aside[s]:
                    hair[:] = goal
                    restore_shape(lengths, folds, hair)
                if is_hit or is_aside[s]:
                    is_aside[s] = note_offset(turn, hair, there, offset[s])
                    there[:] = hair
                last[s] = there
                is_near[s] = is_followed
