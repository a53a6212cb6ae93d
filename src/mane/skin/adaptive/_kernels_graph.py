"""The guide graph (chai2017 4.1 to 4.3): which pairs of guides may be interpolated between, and cliques of them.

Edges are bits: guide b is connected to guide a where bit b % 64 of `edges[a, b // 64]` is set.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_solid import solid_at
from mane.body._kernels_solid_f32 import bare_distance, steepest, to_local
from mane.simd.jit import njit, prange

FASTMATH = {"contract", "arcp", "nsz", "afn"}

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
MAX_STEPS = 64
# Of a way between two guides: steps of a search are no shorter, so that none of them takes longer than that.
SHORTEST_STEP = np.float32(1.0 / 64.0)
U = np.uint64


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def steep_distance(solid, pose, x, y, z):
    """Distance [m] to a solid at a point of the world, over how fast it may fall along a way."""
    lx, ly, lz = to_local(pose, x, y, z)
    return bare_distance(solid, lx, ly, lz) / steepest(solid)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def fill_clearance(
    solids,
    poses,
    points,
    # out
    clearance,
):
    """Fill `clearance (Z, G, U)` with how far `points (G, U, 3)` may go before they can meet a solid [m]."""
    for g in prange(len(points)):
        for s in range(len(poses)):
            solid = solid_at(solids, s)
            for i in range(points.shape[1]):
                x, y, z = points[g, i, 0], points[g, i, 1], points[g, i, 2]
                clearance[s, g, i] = steep_distance(solid, poses[s], x, y, z)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def is_blocked(solid, pose, ax, ay, az, bx, by, bz, depth):
    """Whether the way from a to b leads deeper than `depth` [m] into a solid."""
    dx, dy, dz = bx - ax, by - ay, bz - az
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    if length <= ZERO:
        return False
    room, travelled = steep_distance(solid, pose, ax, ay, az), ZERO
    for _ in range(MAX_STEPS):
        travelled += max((room + depth) / length, SHORTEST_STEP)
        if travelled >= ONE:
            return False
        room = steep_distance(solid, pose, ax + travelled * dx, ay + travelled * dy, az + travelled * dz)
        if room < -depth:
            return True
    return False


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def length_of(a, b):
    """Distance of two points (3,)."""
    x, y, z = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    return math.sqrt(x * x + y * y + z * z)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def is_clear(solid, pose, a, b, c, d):
    """Whether a ball without the solid covers all ways from the segment between a and b (3,) to that of c and d."""
    quarter = np.float32(0.25)
    x, y, z = ZERO, ZERO, ZERO
    for p in (a, b, c, d):
        x, y, z = x + quarter * p[0], y + quarter * p[1], z + quarter * p[2]
    farthest = ZERO
    for p in (a, b, c, d):
        farthest = max(farthest, (p[0] - x) ** 2 + (p[1] - y) ** 2 + (p[2] - z) ** 2)
    return steep_distance(solid, pose, x, y, z) > math.sqrt(farthest)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def is_between(solid, pose, first, second, room_first, room_second, between, depth):
    """The interpolation check (chai2017 4.2): whether a solid is between places of the same number of two guides.

    Thin solids pass between vertices, so that `between` places of every segment are asked, its end among them.
    """
    for i in range(1, len(first)):
        # Two balls without solids that touch each other cover the way at the end of the segment, and along all of it
        # if they are larger by its length.
        own = length_of(first[i - 1], first[i]) + length_of(second[i - 1], second[i])
        gap = max(length_of(first[i], second[i]), length_of(first[i - 1], second[i - 1]))
        if max(room_first[i], ZERO) + max(room_second[i], ZERO) > gap + own:
            continue
        if is_clear(solid, pose, first[i - 1], first[i], second[i - 1], second[i]):
            continue
        for k in range(between):
            u = np.float32(k) / np.float32(between)
            v = ONE - u
            if is_blocked(
                solid,
                pose,
                v * first[i, 0] + u * first[i - 1, 0],
                v * first[i, 1] + u * first[i - 1, 1],
                v * first[i, 2] + u * first[i - 1, 2],
                v * second[i, 0] + u * second[i - 1, 0],
                v * second[i, 1] + u * second[i - 1, 1],
                v * second[i, 2] + u * second[i - 1, 2],
                depth,
            ):
                return True
    return False


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def squared_gap(a, b):
    """Sum of squared differences of two strands (U, 3)."""
    total = ZERO
    for i in range(len(a)):
        x, y, z = a[i, 0] - b[i, 0], a[i, 1] - b[i, 1], a[i, 2] - b[i, 2]
        total += x * x + y * y + z * z
    return total


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def connect_pairs(
    solids,
    poses,
    points,
    velocity,
    clearance,
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
        poses: of them (Z, 12); none for no such check.
        points: guides [m], world (G, U, 3).
        velocity: of their vertices [m/s] (G, U, 3), in the frame in which motion is compared.
        clearance: see `fill_clearance` (Z, G, U).
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
        d = inv_a[p] * squared_gap(points[i], points[j]) + inv_b[p] * squared_gap(velocity[i], velocity[j])
        difference[p] = d
        passes = present[i] > ZERO and present[j] > ZERO and d <= limit[p]
        passes &= squared_gap(points[i, last:], points[j, last:]) <= tip_limit * tip_limit
        # One solid after the other: most are far from most pairs, which the clearance of their ends tells.
        for s in range(len(poses)):
            if not passes:
                break
            rooms = clearance[s]
            passes = not is_between(
                solid_at(solids, s), poses[s], points[i], points[j], rooms[i], rooms[j], between, depth
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
