"""Which place of a guide goes with which vertex of the hairs in a bundle."""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.f64x8 import WIDTH, broadcast, empty_rows, load_row, store_row
from mane.simd.jit import njit, prange
from mane.simd.masks import select
from mane.simd.math import maximum, minimum

# How far from equal arc length the closest place of a guide is looked for, as a share of the guide's length.
# A guide counts as ended from this part of its length on: a hair that is its own guide ends where the guide does, and
# the last bit must not decide whether its tip says anything.
ENDED = 1.0 - 1e-5
REACH = 0.3
# A guide runs this much slower or faster than a hair beside it, at either end; beyond that, closest places are those of
# something else (another turn of a curl) and only their mean is trusted.
SLOWEST, FASTEST = 0.25, 4.0

LANES = WIDTH  # segments of a guide that are looked at side by side
BLOCK = 9 * LANES  # what is known of them
SCRATCH = 2 * LANES  # what is found: the least distance squared, and the arc length there
NOWHERE = 1e30  # [m]


@njit(cache=True, error_model="numpy")
def seen_beside(points, s, i, root, transport, k):
    """Vertex `i` of hair `s`, carried to the `root (3,)` of its guide `k` and turned back by `transport (S, K, 9)`.

    Without any transport it is where it is.
    """
    x, y, z = points[s, i]
    if len(transport) == 0:
        return np.float64(x), np.float64(y), np.float64(z)
    t = transport[s, k]
    dx, dy, dz = x - points[s, 0, 0], y - points[s, 0, 1], z - points[s, 0, 2]
    return (
        np.float64(root[0] + t[0] * dx + t[3] * dy + t[6] * dz),
        np.float64(root[1] + t[1] * dx + t[4] * dy + t[7] * dz),
        np.float64(root[2] + t[2] * dx + t[5] * dy + t[8] * dz),
    )


@njit(cache=True, error_model="numpy")
def side_by_side(
    guide,
    arc,
    # out
    lanes,
):
    """Fill `lanes`, flat, with the segments of a guide (U, 3) with arc lengths (U,), `LANES` of them side by side.

    Of each block, rows of `LANES` numbers: start, way to the end, arc length at the start and at the end, one over the
    length; blocks begin behind `SCRATCH`. Where segments are missing, the last row of a guide is as far as can be.
    """
    for j in range((len(lanes) - SCRATCH) // BLOCK * LANES):
        at = SCRATCH + j // LANES * BLOCK + j % LANES
        is_there = j < len(guide) - 1
        for c in range(3):
            lanes[at + c * LANES] = guide[j, c] if is_there else NOWHERE
            lanes[at + (3 + c) * LANES] = np.float64(guide[j + 1, c]) - guide[j, c] if is_there else 0.0
        lanes[at + 6 * LANES] = arc[j] if is_there else NOWHERE
        lanes[at + 7 * LANES] = arc[j + 1] if is_there else NOWHERE
        length = arc[j + 1] - arc[j] if is_there else 0.0
        lanes[at + 8 * LANES] = 1.0 / length if length > 0.0 else 0.0


@njit(cache=True, error_model="numpy")
def closest_arc(point, lanes, first, last, low, high):
    """Arc length [m] of the place of a guide that is closest to `point`, between arc lengths `low` and `high`.

    `lanes` as `side_by_side` fills them; blocks `first` to `last` have a segment in that range.
    """
    x, y, z = broadcast(point[0]), broadcast(point[1]), broadcast(point[2])
    nearest, place = broadcast(math.inf), broadcast(low)
    for block in range(first, last):
        at = SCRATCH + block * BLOCK
        begin, end, per_metre = load_row(lanes, at, 6), load_row(lanes, at, 7), load_row(lanes, at, 8)
        px, py, pz = x - load_row(lanes, at, 0), y - load_row(lanes, at, 1), z - load_row(lanes, at, 2)
        dx, dy, dz = load_row(lanes, at, 3), load_row(lanes, at, 4), load_row(lanes, at, 5)
        u = (px * dx + py * dy + pz * dz) * per_metre * per_metre
        u = maximum(u, maximum((low - begin) * per_metre, 0.0))
        u = minimum(u, minimum((high - begin) * per_metre, 1.0))
        ex, ey, ez = px - u * dx, py - u * dy, pz - u * dz
        distance = ex * ex + ey * ey + ez * ez
        is_closer = (distance < nearest) & (end >= low) & (begin <= high)
        nearest = select(is_closer, distance, nearest)
        place = select(is_closer, begin + u * (end - begin), place)
    store_row(lanes, 0, 0, nearest)
    store_row(lanes, 0, 1, place)
    found = 0
    for s in range(1, LANES):
        found = s if lanes[s] < lanes[found] else found
    return lanes[LANES + found]


@njit(cache=True, error_model="numpy")
def fit_course(points, arcs, guide, guide_arc, hairs, transport, k, lanes):
    """Fit s = (b + c a) a: the guide's arc length s that goes with a hair's arc length a; returns b and c.

    Least squares over the closest places of the guide, of all vertices of all `hairs`. Two numbers make it
    smooth whatever the closest places do, which on curls jump from turn to turn. `lanes` is scratch.
    """
    side_by_side(guide, guide_arc, lanes)
    total, segments = guide_arc[-1], len(guide_arc) - 1
    a2, a3, a4, sa, sa2, longest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for s in hairs:
        first, last = 0, 0  # segments in reach, the last one excluded; both rise along a hair
        for i in range(1, points.shape[1]):
            a = arcs[s, i]
            low, high = max(a - REACH * total, 0.0), min(a + REACH * total, total)
            while first < segments - 1 and guide_arc[first + 1] < low:
                first += 1
            while last < segments and guide_arc[last] <= high:
                last += 1
            point = seen_beside(points, s, i, guide[0], transport, k)
            closest = closest_arc(point, lanes, first // LANES, (last + LANES - 1) // LANES, low, high)
            if closest >= ENDED * total:  # the hair goes on where the guide ends: that says nothing about its course
                break
            longest = max(longest, a)
            a2, a3, a4 = a2 + a * a, a3 + a * a * a, a4 + a * a * a * a
            sa, sa2 = sa + closest * a, sa2 + closest * a * a
    if a2 == 0.0:
        return 1.0, 0.0
    determinant = a2 * a4 - a3 * a3
    if determinant > 1e-9 * a2 * a4:
        b, c = (sa * a4 - sa2 * a3) / determinant, (sa2 * a2 - sa * a3) / determinant
        end = b + 2.0 * c * longest
        if SLOWEST <= b <= FASTEST and SLOWEST <= end <= FASTEST:
            return b, c
    return min(max(sa / a2, SLOWEST), FASTEST), 0.0


@njit(cache=True, error_model="numpy")
def mean_arc(arcs, hairs, i):
    """Mean arc length [m] at vertex `i` of `hairs`."""
    total = 0.0
    for s in hairs:
        total += arcs[s, i]
    return total / len(hairs)


@njit(cache=True, error_model="numpy", parallel=True)
def fill_parameters(
    points,
    arcs,
    guide_points,
    guide_arcs,
    order,
    starts,
    guide,
    transport,
    # out
    parameter,
):
    """Fill `parameter (M, K, V)` for the bundles of hairs `order[starts[m]:starts[m + 1]]` with `guide (M, K)`.

    `points (S, V, 3)` and `guide_points (G, U, 3)` are at rest, with arc lengths from the root `arcs (S, V)` and
    `guide_arcs (G, U)`, all in metres. `transport` is that of `seen_beside`.
    """
    for m in prange(len(guide)):
        hairs = order[starts[m] : starts[m + 1]]
        lanes = empty_rows((SCRATCH + (guide_arcs.shape[1] + LANES - 2) // LANES * BLOCK) // LANES)
        for k in range(guide.shape[1]):
            g = guide[m, k]
            arc = guide_arcs[g]
            last = len(arc) - 1
            b, c = fit_course(points, arcs, guide_points[g], arc, hairs, transport, k, lanes)
            j, reached = 0, 0.0
            for i in range(points.shape[1]):
                a = mean_arc(arcs, hairs, i)
                # A hair longer than those that were fitted must not turn back where the parabola does.
                reached = max(reached, (b + c * a) * a)
                while j < last - 1 and arc[j + 1] <= reached:
                    j += 1
                length = arc[j + 1] - arc[j]
                fraction = min((reached - arc[j]) / length, 1.0) if length > 0.0 else 0.0
                parameter[m, k, i] = j + fraction
