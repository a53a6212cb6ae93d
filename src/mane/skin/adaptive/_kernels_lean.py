"""Hairs that would pass a solid lean towards their guides: the interpolation check of chai2017 4.2 for the hair itself.

Guides of a set have no solid between them, but a hair may be on the other side of one from all of them: it keeps the
distance that it has from its guides at rest, while a tooth presses them together. The way from the middle of its guides
to the hair is followed, and the hair stops where a solid begins.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_cells import bare_primitive, cell_distance, is_beside, list_primitives, parts_in_box
from mane.body._kernels_solid_f32 import to_local
from mane.simd.jit import leaf, njit, prange
from mane.skin.adaptive._kernels_blend import GONE, HAIRS_PER_TASK
from mane.skin.adaptive._kernels_graph import SHORTEST_STEP, is_clear

FASTMATH = {"contract", "arcp", "nsz", "afn"}

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
HALF = np.float32(0.5)
TINY = np.float32(1e-12)
FAR = np.float32(1e30)
MAX_STEPS, HALVES = 64, 6
STRETCH = np.float32(1.25)  # of a segment: blended hair may be too long
EVERY = 4  # vertices of a hair, of which one is looked at at first


@leaf(fastmath=FASTMATH, forceinline=True)
def free_of(solids, cells, s, most, length, ax, ay, az, dx, dy, dz):
    """Part of the way from a along d, in the frame of solid s, that is free of it; 1 if that is `most` or more.

    `length` [m] is that of d. A way that begins inside counts as free. Sphere tracing within the box of the solid, and
    where it meets the surface half-way again and again, so that hair glides along it.
    """
    at, end = parts_in_box(cells.box[s], ax, ay, az, dx, dy, dz)
    if at > end or at >= most:
        return ONE
    end = min(end, most)
    outside, inside, halves, begins = ZERO, -ONE, 0, at <= ZERO
    for _ in range(MAX_STEPS + HALVES + 1):
        room = cell_distance(solids, cells, s, ax + at * dx, ay + at * dy, az + at * dz)
        if begins and room <= ZERO:
            return ONE
        begins = False
        if room < ZERO:
            inside = at
        else:
            outside = at
        if inside < ZERO:
            if outside >= end:
                return ONE
            at = min(outside + max(room / length, SHORTEST_STEP), ONE)
        else:
            if halves == HALVES:
                return outside
            halves += 1
            at = HALF * (outside + inside)
    return ONE


@leaf(fastmath=FASTMATH, forceinline=True)
def free_of_listed(solids, cells, listed, count, most, length, ax, ay, az, dx, dy, dz):
    """The same for `count` primitives of a solid that are `listed`, one by one: most ways miss all of their boxes."""
    free = ONE
    for n in range(count):
        k = listed[n]
        at, end = parts_in_box(cells.boxes[k], ax, ay, az, dx, dy, dz)
        if at > end or at >= min(free, most):
            continue
        begins = at <= ZERO
        outside, inside, halves = ZERO, -ONE, 0
        for _ in range(MAX_STEPS + HALVES + 1):
            room = bare_primitive(solids.kinds, solids.params, k, ax + at * dx, ay + at * dy, az + at * dz)
            if begins and room <= ZERO:
                return ONE
            begins = False
            if room < ZERO:
                inside = at
            else:
                outside = at
            if inside < ZERO:
                if outside >= end:
                    break
                at = min(outside + max(room / length, SHORTEST_STEP), ONE)
            else:
                if halves == HALVES:
                    free = min(free, outside)
                    break
                halves += 1
                at = HALF * (outside + inside)
    return ONE if free >= most else free


@leaf(fastmath=FASTMATH, forceinline=True)
def middle_of(rows, count, guides, i):
    """Middle of the `count` guides of a hair at a vertex [m]; `rows (10,)` are theirs."""
    share = ONE / np.float32(count)
    x, y, z = ZERO, ZERO, ZERO
    for a in range(count):
        r = rows[a]
        x, y, z = x + guides[r, 0, i], y + guides[r, 1, i], z + guides[r, 2, i]
    return share * x, share * y, share * z


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def displaced_by(rows, count, shift, i):
    """How far the guides of a hair have come from rest at a vertex, on average [m]."""
    sx, sy, sz = ZERO, ZERO, ZERO
    for a in range(count):
        r = rows[a]
        sx, sy, sz = sx + shift[r, 0, i], sy + shift[r, 1, i], sz + shift[r, 2, i]
    return math.sqrt(sx * sx + sy * sy + sz * sz) / np.float32(count)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def spread_parts(down, up, part):
    """Let vertices before and behind one that leans, `part (V,)` below 1, lean along; they recover by steps."""
    for i in range(1, len(part)):
        part[i] = min(part[i], part[i - 1] + down)
    for i in range(len(part) - 2, -1, -1):
        part[i] = min(part[i], part[i + 1] + up)


@leaf(fastmath=FASTMATH, forceinline=True)
def ask_segment(solids, cells, s, between, i, ends, listed, part):
    """Lower `part (V,)` of both ends of segment i where a way from guides to hair meets solid s; whether it does.

    `ends (4, 3)`, in the frame of the solid: middle of the guides and hair at vertex i - 1, and at vertex i. `between`
    places of the segment are asked, vertex i among them, but only for primitives that may be near any of them, or, of a
    distance field, unless a ball free of it covers all of their ways.
    """
    is_field = solids.first_kind[s] == solids.first_kind[s + 1]
    count = 0 if is_field else list_primitives(solids, cells, s, ends, listed)
    if is_clear(solids, cells, s, ends) if is_field else count == 0:
        return False
    meets = False
    for k in range(between):
        u = np.float32(k) / np.float32(between)
        v = ONE - u
        ax, ay, az = v * ends[2, 0] + u * ends[0, 0], v * ends[2, 1] + u * ends[0, 1], v * ends[2, 2] + u * ends[0, 2]
        dx = v * ends[3, 0] + u * ends[1, 0] - ax
        dy = v * ends[3, 1] + u * ends[1, 1] - ay
        dz = v * ends[3, 2] + u * ends[1, 2] - az
        length = math.sqrt(dx * dx + dy * dy + dz * dz)
        if length <= ZERO:
            continue
        most = part[i] if k == 0 else max(part[i], part[i - 1])
        if is_field:
            free = free_of(solids, cells, s, most, length, ax, ay, az, dx, dy, dz)
        else:
            free = free_of_listed(solids, cells, listed, count, most, length, ax, ay, az, dx, dy, dz)
        part[i] = min(part[i], free)
        if k > 0:
            part[i - 1] = min(part[i - 1], free)
        meets |= free < ONE
    return meets


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def fill_boxes(
    guides,
    # out
    boxes,
):
    """Fill `boxes (R, 6)` with the lowest and highest corner of each row of `guides (R, 3, V)`."""
    for r in prange(len(guides)):
        for c in range(3):
            low, high = guides[r, c, 0], guides[r, c, 0]
            for i in range(1, guides.shape[2]):
                low, high = min(low, guides[r, c, i]), max(high, guides[r, c, i])
            boxes[r, c], boxes[r, 3 + c] = low, high


@leaf(fastmath=FASTMATH, forceinline=True)
def may_meet(solid_boxes, rows, count, boxes, stride, slack, hair):
    """Whether a solid may be between a hair `(V, 3)` and its guides, by boxes around all of them.

    Of the hair one vertex in `stride` is looked at, the others are no more than `slack` [m] away from one of them.
    """
    last = len(hair) - 1
    lx, ly, lz = min(hair[0, 0], hair[last, 0]), min(hair[0, 1], hair[last, 1]), min(hair[0, 2], hair[last, 2])
    hx, hy, hz = max(hair[0, 0], hair[last, 0]), max(hair[0, 1], hair[last, 1]), max(hair[0, 2], hair[last, 2])
    for i in range(stride, last, stride):
        x, y, z = hair[i, 0], hair[i, 1], hair[i, 2]
        lx, ly, lz = min(lx, x), min(ly, y), min(lz, z)
        hx, hy, hz = max(hx, x), max(hy, y), max(hz, z)
    lx, ly, lz, hx, hy, hz = lx - slack, ly - slack, lz - slack, hx + slack, hy + slack, hz + slack
    for a in range(count):
        r = rows[a]
        lx, ly, lz = min(lx, boxes[r, 0]), min(ly, boxes[r, 1]), min(lz, boxes[r, 2])
        hx, hy, hz = max(hx, boxes[r, 3]), max(hy, boxes[r, 4]), max(hz, boxes[r, 5])
    for s in range(len(solid_boxes)):
        if (
            lx <= solid_boxes[s, 3]
            and ly <= solid_boxes[s, 4]
            and lz <= solid_boxes[s, 5]
            and hx >= solid_boxes[s, 0]
            and hy >= solid_boxes[s, 1]
            and hz >= solid_boxes[s, 2]
        ):
            return True
    return False


@leaf(fastmath=FASTMATH, forceinline=True)
def find_parts(solids, cells, poses, rows, count, guides, between, hair, ends, listed, part):
    """Lower `part (V,)`, the part of the ways from guides to hair that is free of solids; whether any is not."""
    meets = False
    for s in range(len(poses)):
        for i in range(len(hair)):
            for c in range(3):
                ends[0, c], ends[1, c] = ends[2, c], ends[3, c]
            mx, my, mz = middle_of(rows, count, guides, i)
            ends[2, 0], ends[2, 1], ends[2, 2] = to_local(poses[s], mx, my, mz)
            ends[3, 0], ends[3, 1], ends[3, 2] = to_local(poses[s], hair[i, 0], hair[i, 1], hair[i, 2])
            if i > 0 and not is_beside(cells.box[s], ends):
                meets |= ask_segment(solids, cells, s, between, i, ends, listed, part)
    return meets


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def fill_lean(
    rows,
    count,
    guides,
    shift,
    recovery,
    hair,
    part,
    # out
    lean,
):
    """Fill `lean (V, 3)` [m] with how far each vertex of a hair `(V, 3)` should lean, by the `part (V,)` that is free.

    Vertices beside those that lean do so as well; none leans farther than its guides have come from rest.
    """
    spread_parts(recovery[0], recovery[1], part)
    part[0] = ONE
    for i in range(len(hair)):
        mx, my, mz = middle_of(rows, count, guides, i)
        x, y, z = hair[i, 0] - mx, hair[i, 1] - my, hair[i, 2] - mz
        allowed = displaced_by(rows, count, shift, i) / max(math.sqrt(x * x + y * y + z * z), TINY)
        away = min(ONE - part[i], allowed)
        lean[i, 0], lean[i, 1], lean[i, 2] = -away * x, -away * y, -away * z


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def follow_lean(leans, lean, turn, decay, kept, hair):
    """Move a hair `(V, 3)` by what it leans by, which goes from `kept` (V, 3) towards `lean`; whether it still leans.

    `kept` is as seen from the head, which `turn` (3, 3) takes to the world, and is changed. What a hair leans by fades
    as jumps do, `decay` being what is left after a frame: thin teeth come and go within one. All of it is left where
    the same frame is asked for again, and no bit of `kept` changes.
    """
    largest = ZERO
    for i in range(len(hair)):
        for c in range(3):
            goal = ZERO
            if leans:
                goal = turn[0, c] * lean[i, 0] + turn[1, c] * lean[i, 1] + turn[2, c] * lean[i, 2]
            if decay < ONE:
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
    cells,
    poses,
    solid_boxes,
    rows,
    masks,
    guides,
    boxes,
    shift,
    between,
    spacing,
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
        cells: around them, a `CellList`.
        poses: of them (Z, 12).
        solid_boxes: around them in the world [m] (Z, 6).
        rows: of the eligible guides of each hair (S, M).
        masks: those that it hangs on (S,).
        guides: where they are [m], world (R, 3, V).
        boxes: around them (R, 6).
        shift: displacement of the guides from rest, as seen from the head [m] (R, 3, V). No vertex leans farther than
            its guides have come, so that guides at rest give the groom, wherever solids are.
        between: places that are asked on every segment.
        spacing: length of the segments of each hair at rest [m] (S,).
        recovery: part of the way from its guides that a hair wins back at every vertex towards its tip, and its root.
        turn: rotation of the head (3, 3).
        decay: what is left of the last frame in what hairs lean by, 0 to 1; 1 where this is the last frame.
        kept: what hairs lean by, as seen from the head [m] (S, V, 3); only rows that lean count.
        is_leaning: whether they do (S,).
        points: see above.
    """
    hairs, vertices = points.shape[0], points.shape[1]
    for task in prange((hairs + HAIRS_PER_TASK - 1) // HAIRS_PER_TASK):
        own, ends = np.empty(rows.shape[1], np.int32), np.empty((4, 3), np.float32)
        listed = np.empty(len(solids.kinds) + 1, np.int32)
        lean, part = np.empty((vertices, 3), np.float32), np.ones(vertices, np.float32)
        for s in range(task * HAIRS_PER_TASK, min((task + 1) * HAIRS_PER_TASK, hairs)):
            count = 0
            for a in range(rows.shape[1]):
                if masks[s] >> a & 1:
                    own[count] = rows[s, a]
                    count += 1
            leans, slack = False, STRETCH * HALF * np.float32(EVERY) * spacing[s]
            if (
                count > 0
                and may_meet(solid_boxes, own, count, boxes, EVERY, slack, points[s])
                and may_meet(solid_boxes, own, count, boxes, 1, ZERO, points[s])
            ):
                leans = find_parts(solids, cells, poses, own, count, guides, between, points[s], ends, listed, part)
            if leans:
                fill_lean(own, count, guides, shift, recovery, points[s], part, lean)
                part[:] = ONE
            if leans or is_leaning[s]:
                is_leaning[s] = follow_lean(leans, lean, turn, decay, kept[s], points[s])
