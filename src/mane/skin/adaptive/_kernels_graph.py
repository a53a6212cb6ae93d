"""The guide graph (chai2017 4.1 to 4.3): which pairs of guides may be interpolated between, and cliques of them.

Edges are bits: guide b is connected to guide a where bit b % 64 of `edges[a, b // 64]` is set.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_cells import (
    FAR,
    bare_primitive,
    cell_distance,
    is_beside,
    list_primitives,
    parts_in_box,
)
from mane.body._kernels_solid_f32 import to_local
from mane.simd.jit import leaf, njit, prange

FASTMATH = {"contract", "arcp", "nsz", "afn"}

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
MAX_STEPS = 64
# Of a way between two guides: steps of a search are no shorter, so that none of them takes longer than that.
SHORTEST_STEP = np.float32(1.0 / 64.0)
U = np.uint64


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def fill_clearance(
    solids,
    cells,
    poses,
    points,
    # out
    clearance,
    least,
):
    """Fill `clearance (Z, G, U)` with how far `points (G, U, 3)` may go before they can meet a solid [m].

    `least (Z, G)` is the least of each guide.
    """
    for g in prange(len(points)):
        for s in range(len(poses)):
            nearest = FAR
            for i in range(points.shape[1]):
                x, y, z = to_local(poses[s], points[g, i, 0], points[g, i, 1], points[g, i, 2])
                room = cell_distance(solids, cells, s, x, y, z)
                clearance[s, g, i] = room
                nearest = min(nearest, room)
            least[s, g] = nearest


@leaf(fastmath=FASTMATH, forceinline=True)
def is_blocked(solids, cells, s, ax, ay, az, bx, by, bz, depth):
    """Whether the way from a to b, in the frame of solid s, leads deeper than `depth` [m] into it."""
    dx, dy, dz = bx - ax, by - ay, bz - az
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    if length <= ZERO:
        return False
    at, end = parts_in_box(cells.box[s], ax, ay, az, dx, dy, dz)
    begins = at <= ZERO  # in a solid that the first guide is in the way may begin
    for _ in range(MAX_STEPS + 1):
        if at > end:
            break
        room = cell_distance(solids, cells, s, ax + at * dx, ay + at * dy, az + at * dz)
        if room < -depth and not begins:
            return True
        begins = False
        at += max((room + depth) / length, SHORTEST_STEP)
    return False


@leaf(fastmath=FASTMATH, forceinline=True)
def is_blocked_by(solids, cells, listed, count, ax, ay, az, bx, by, bz, depth):
    """The same for `count` primitives of a solid that are `listed`, one by one: most ways miss all of their boxes."""
    dx, dy, dz = bx - ax, by - ay, bz - az
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    if length <= ZERO:
        return False
    for n in range(count):
        k = listed[n]
        at, end = parts_in_box(cells.boxes[k], ax, ay, az, dx, dy, dz)
        begins = at <= ZERO
        for _ in range(MAX_STEPS + 1):
            if at > end:
                break
            room = bare_primitive(solids.kinds, solids.params, k, ax + at * dx, ay + at * dy, az + at * dz)
            if room < -depth and not begins:
                return True
            begins = False
            at += max((room + depth) / length, SHORTEST_STEP)
    return False


@leaf(fastmath=FASTMATH, forceinline=True)
def length_of(a, b):
    """Distance of two points (3,)."""
    x, y, z = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    return math.sqrt(x * x + y * y + z * z)


@leaf(fastmath=FASTMATH, forceinline=True)
def is_clear(solids, cells, s, ends):
    """Whether a ball without solid s covers all four points `ends (4, 3)` of its frame, and so what is between them."""
    quarter = np.float32(0.25)
    x = quarter * (ends[0, 0] + ends[1, 0] + ends[2, 0] + ends[3, 0])
    y = quarter * (ends[0, 1] + ends[1, 1] + ends[2, 1] + ends[3, 1])
    z = quarter * (ends[0, 2] + ends[1, 2] + ends[2, 2] + ends[3, 2])
    reach = ZERO
    for k in range(4):
        reach = max(reach, (ends[k, 0] - x) ** 2 + (ends[k, 1] - y) ** 2 + (ends[k, 2] - z) ** 2)
    return cell_distance(solids, cells, s, x, y, z) > math.sqrt(reach)


@leaf(fastmath=FASTMATH, forceinline=True)
def is_between(solids, cells, s, pose, first, second, room_first, room_second, between, depth, ends, listed):
    """The interpolation check (chai2017 4.2): whether a solid is between places of the same number of two guides.

    Thin solids pass between vertices, so that `between` places of every segment are asked, its end among them.
    `ends (4, 3)` and `listed (K,)` are overwritten.
    """
    is_field = solids.first_kind[s] == solids.first_kind[s + 1]
    for i in range(1, len(first)):
        # Two balls without solids that touch each other cover the way at the end of the segment, and along all of it
        # if they are larger by its length.
        own = length_of(first[i - 1], first[i]) + length_of(second[i - 1], second[i])
        gap = max(length_of(first[i], second[i]), length_of(first[i - 1], second[i - 1]))
        if max(room_first[i], ZERO) + max(room_second[i], ZERO) > gap + own:
            continue
        for k in range(2):
            a, b = first[i - 1 + k], second[i - 1 + k]
            ends[2 * k, 0], ends[2 * k, 1], ends[2 * k, 2] = to_local(pose, a[0], a[1], a[2])
            ends[2 * k + 1, 0], ends[2 * k + 1, 1], ends[2 * k + 1, 2] = to_local(pose, b[0], b[1], b[2])
        if is_beside(cells.box[s], ends):
            continue
        count = 0 if is_field else list_primitives(solids, cells, s, ends, listed)
        if is_clear(solids, cells, s, ends) if is_field else count == 0:
            continue
        for k in range(between):
            u = np.float32(k) / np.float32(between)
            v = ONE - u
            ax, ay = v * ends[2, 0] + u * ends[0, 0], v * ends[2, 1] + u * ends[0, 1]
            bx, by = v * ends[3, 0] + u * ends[1, 0], v * ends[3, 1] + u * ends[1, 1]
            az, bz = v * ends[2, 2] + u * ends[0, 2], v * ends[3, 2] + u * ends[1, 2]
            if is_field:
                if is_blocked(solids, cells, s, ax, ay, az, bx, by, bz, depth):
                    return True
            elif is_blocked_by(solids, cells, listed, count, ax, ay, az, bx, by, bz, depth):
                return True
    return False


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def squared_gap(a, b):
    """Sum of squared differences of two strands (U, 3), and the largest of them."""
    total, largest = ZERO, ZERO
    for i in range(len(a)):
        x, y, z = a[i, 0] - b[i, 0], a[i, 1] - b[i, 1], a[i, 2] - b[i, 2]
        square = x * x + y * y + z * z
        total += square
        largest = max(largest, square)
    return total, largest


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def connect_pairs(
    solids,
    cells,
    poses,
    points,
    velocity,
    clearance,
    least,
    spacing,
    present,
    pairs,
    inv_a,
    inv_b,
    limit,
    tip_limit,
    between,
    depth,
    # out
    difference,
    is_connected,
):
    """Fill `difference (P,)` with d of chai2017 eq. 2 and `is_connected (P,)` with whether pairs pass all checks.

    Args:
        solids: those that must not be between two guides, a `SolidList`.
        cells: around them, a `CellList`.
        poses: of them (Z, 12); none for no such check.
        points: guides [m], world (G, U, 3).
        velocity: of their vertices [m/s] (G, U, 3), in the frame in which motion is compared.
        clearance: see `fill_clearance` (Z, G, U).
        least: of each guide (Z, G).
        spacing: longest segment of each guide [m] (G,).
        present: how far each guide is there (G,).
        pairs: guides (P, 2).
        inv_a: 1 / A of each pair (P,) [1/m^2].
        inv_b: sigma / B of each pair (P,) [s^2/m^2].
        limit: largest d of each pair (P,).
        tip_limit: largest distance of their tips [m].
        between: places that are asked on every segment.
        depth: how far a way may lead into a solid [m].
        difference: see above.
        is_connected: see above.
    """
    last = points.shape[1] - 1
    for p in prange(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        apart, farthest = squared_gap(points[i], points[j])
        velocity_apart, _ = squared_gap(velocity[i], velocity[j])
        d = inv_a[p] * apart + inv_b[p] * velocity_apart
        difference[p] = d
        passes = present[i] > ZERO and present[j] > ZERO and d <= limit[p]
        tips, _ = squared_gap(points[i, last:], points[j, last:])
        passes &= tips <= tip_limit * tip_limit
        # One solid after the other: most are far from most pairs, which the clearance of their ends tells.
        ends, listed = np.empty((4, 3), np.float32), np.empty(len(solids.kinds) + 1, np.int32)
        reach = math.sqrt(farthest) + spacing[i] + spacing[j]
        for s in range(len(poses)):
            if not passes:
                break
            rooms = clearance[s]
            if max(least[s, i], ZERO) + max(least[s, j], ZERO) <= reach:
                passes = not is_between(
                    solids, cells, s, poses[s], points[i], points[j], rooms[i], rooms[j], between, depth, ends, listed
                )
        is_connected[p] = passes


@njit(cache=True, error_model="numpy")
def fill_edges(
    pairs,
    is_connected,
    present,
    # out
    edges,
):
    """Fill the bits `edges (G, W)` (uint64) of connected pairs; a guide that is there is connected to itself."""
    edges[:] = U(0)
    for g in range(len(edges)):
        if present[g] > ZERO:
            edges[g, g >> 6] |= U(1) << U(g & 63)
    for p in range(len(pairs)):
        if is_connected[p]:
            i, j = pairs[p, 0], pairs[p, 1]
            edges[i, j >> 6] |= U(1) << U(j & 63)
            edges[j, i >> 6] |= U(1) << U(i & 63)


@njit(cache=True, error_model="numpy")
def fill_cliques(
    order,
    edges,
    # out
    cliques,
):
    """Fill the bits `cliques (G, W)` with the clique of every guide (chai2017 algorithm 1, lines 2 to 15).

    Of two neighbours that are not connected the one that moves less like the guide is left out. Taken from the most
    similar on, `order (G, G)`, that is: keep a neighbour where it is connected to all that are kept. Cliques of guides
    that are not there are empty.
    """
    words = edges.shape[1]
    candidates = np.empty(words, np.uint64)
    for g in range(len(edges)):
        cliques[g] = U(0)
        candidates[:] = edges[g]
        if not (edges[g, g >> 6] >> U(g & 63)) & U(1):
            continue
        cliques[g, g >> 6] |= U(1) << U(g & 63)
        for k in range(order.shape[1]):
            t = order[g, k]
            if t != g and (candidates[t >> 6] >> U(t & 63)) & U(1):
                cliques[g, t >> 6] |= U(1) << U(t & 63)
                for word in range(words):
                    candidates[word] &= edges[t, word]
