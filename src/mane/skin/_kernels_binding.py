"""The triangle of guides around each root, in the plane of the skin.

The Delaunay triangulation is the lower hull of points that are lifted by the square of their distance to the root. So
of all triangles around the root it holds the one whose lifted surface is lowest there: a small linear program, solved
by exchanging one corner at a time.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange

# A triangle thinner than this (its area over the square of its longest side) has no usable coordinates.
THIN = 1e-9
# Guides at less than this share of the candidates' extent are on the root.
ON_THE_ROOT = 1e-6
# A corner is exchanged for one that lies lower by more than this share of the extent squared: rounding is far below.
LOWER = 1e-12
# Roots on a square grid leave open which diagonal divides a square. Lifting each guide by up to this share of the
# extent squared, always the same way, settles it for all hairs alike.
NUDGE = 1e-7
GOLDEN = 0.6180339887498949
LEAST_SHARE = 0.1  # that the farthest candidate counts by where the plane of the skin is sought
SWEEPS = 12  # of the Jacobi iteration, which doubles its digits with each; it ends where nothing is left


@njit(cache=True, error_model="numpy")
def barycentric(xy, a, b, c):
    """Coordinates of the origin in a triangle, all negative where the triangle has no area."""
    ax, ay, bx, by, cx, cy = xy[a, 0], xy[a, 1], xy[b, 0], xy[b, 1], xy[c, 0], xy[c, 1]
    area_a, area_b, area_c = bx * cy - by * cx, cx * ay - cy * ax, ax * by - ay * bx
    area = area_a + area_b + area_c
    ab, bc, ca = (bx - ax) ** 2 + (by - ay) ** 2, (cx - bx) ** 2 + (cy - by) ** 2, (ax - cx) ** 2 + (ay - cy) ** 2
    if abs(area) <= THIN * max(ab, max(bc, ca)):
        return -1.0, -1.0, -1.0
    return area_a / area, area_b / area, area_c / area


@njit(cache=True, error_model="numpy")
def across(xy, a):
    """The points to the left and to the right that look away from `a` most, seen from the origin; -1 for none."""
    left, right = -1, -1
    left_cosine, right_cosine = math.inf, math.inf
    for p in range(len(xy)):
        distance = math.hypot(xy[p, 0], xy[p, 1])
        if p == a or distance == 0.0:
            continue
        cosine = (xy[a, 0] * xy[p, 0] + xy[a, 1] * xy[p, 1]) / distance
        side = xy[a, 0] * xy[p, 1] - xy[a, 1] * xy[p, 0]
        if side >= 0.0 and cosine < left_cosine:
            left, left_cosine = p, cosine
        if side <= 0.0 and cosine < right_cosine:
            right, right_cosine = p, cosine
    return left, right


@njit(cache=True, error_model="numpy")
def lowest_below(xy, height, corners, extent):
    """The point that lies lowest below the lifted plane of a triangle, -1 for none."""
    a, b, c = corners
    ux, uy, uh = xy[b, 0] - xy[a, 0], xy[b, 1] - xy[a, 1], height[b] - height[a]
    vx, vy, vh = xy[c, 0] - xy[a, 0], xy[c, 1] - xy[a, 1], height[c] - height[a]
    area = ux * vy - uy * vx
    slope_x, slope_y = (uh * vy - vh * uy) / area, (vh * ux - uh * vx) / area
    found, lowest = -1, -LOWER * extent
    for p in range(len(xy)):
        above = height[p] - height[a] - slope_x * (xy[p, 0] - xy[a, 0]) - slope_y * (xy[p, 1] - xy[a, 1])
        if above < lowest and p != a and p != b and p != c:
            found, lowest = p, above
    return found


@njit(cache=True, error_model="numpy")
def exchanged(xy, corners, p):
    """The triangle of `p` and two of the corners that has the origin in it, and the origin's coordinates there."""
    a, b, c = corners
    best, weights = corners, (-1.0, -1.0, -1.0)
    for trial in ((a, b, p), (a, p, c), (p, b, c)):
        found = barycentric(xy, trial[0], trial[1], trial[2])
        # Rounding may leave the origin just outside all three: the one it is least outside of is the one.
        if min(found) > min(weights):
            best, weights = trial, found
    return best, weights


@njit(cache=True, error_model="numpy")
def enclosing_triangle(xy, height, nearest, extent, chosen, weight):
    """Find the Delaunay triangle around the origin among points `xy (N, 2)`, lifted by `height (N,)`; False if none."""
    b, c = across(xy, nearest)
    if b < 0 or c < 0 or b == c:
        return False
    corners = (nearest, b, c)
    weights = barycentric(xy, nearest, b, c)
    if min(weights) < 0.0:
        return False
    for _ in range(4 * len(xy)):  # each exchange goes lower, so it ends; the bound is for rounding alone
        p = lowest_below(xy, height, corners, extent)
        if p < 0:
            break
        trial, found = exchanged(xy, corners, p)
        if min(found) < -THIN:
            break
        corners, weights = trial, found
    chosen[0], chosen[1], chosen[2] = corners
    weight[0], weight[1], weight[2] = weights
    return True


@njit(cache=True, error_model="numpy")
def nearest_edge(xy, chosen, weight):
    """Find the point nearest to the origin on any line between two of the points `xy (N, 2)`.

    From outside their hull this is the nearest point of the hull, so weights go over into those of the triangles.
    Where several lines pass through it, the shortest one counts, as in the triangulation.
    """
    nearest, lowest = math.inf, math.inf
    count = len(xy)
    for a in range(count - 1):
        for b in range(a + 1, count):
            dx, dy = xy[b, 0] - xy[a, 0], xy[b, 1] - xy[a, 1]
            square = dx * dx + dy * dy
            along = 0.0 if square == 0.0 else min(max(-(xy[a, 0] * dx + xy[a, 1] * dy) / square, 0.0), 1.0)
            px, py = xy[a, 0] + along * dx, xy[a, 1] + along * dy
            distance = px * px + py * py
            height = distance + along * (1.0 - along) * square
            if distance < nearest or (distance == nearest and height < lowest):
                nearest, lowest = distance, height
                chosen[0], chosen[1], chosen[2] = a, b, b
                weight[0], weight[1], weight[2] = 1.0 - along, along, 0.0


@njit(cache=True, error_model="numpy")
def spread_axes(seen, height, extent, axes):
    """Fill `axes (3, 3)`, columns, with the directions in which the candidates `seen (N, 3)` spread, and return which
    of them is that in which they spread least. Nearer candidates count more. By Jacobi's rotations.
    """
    spread = np.zeros((3, 3))
    middle, total = np.zeros(3), 0.0
    for p in range(len(seen)):
        share = 1.0 - (1.0 - LEAST_SHARE) * height[p] / extent
        total += share
        for c in range(3):
            middle[c] += share * seen[p, c]
    middle /= total
    for p in range(len(seen)):
        share = 1.0 - (1.0 - LEAST_SHARE) * height[p] / extent
        for c in range(3):
            for d in range(c, 3):
                spread[c, d] += share * (seen[p, c] - middle[c]) * (seen[p, d] - middle[d])
    for c in range(3):
        for d in range(3):
            axes[c, d] = 1.0 if c == d else 0.0
            spread[d, c] = spread[c, d] if c <= d else spread[d, c]
    for _ in range(SWEEPS):
        if spread[0, 1] == 0.0 and spread[0, 2] == 0.0 and spread[1, 2] == 0.0:
            break
        for c, d in ((0, 1), (0, 2), (1, 2)):
            rotate_away(spread, axes, c, d)
    least = 0
    for c in range(1, 3):
        least = c if spread[c, c] < spread[least, least] else least
    return least


@njit(cache=True, error_model="numpy")
def rotate_away(matrix, axes, c, d):
    """Turn a symmetric `matrix (3, 3)` and its `axes (3, 3)` such that its entry (c, d) vanishes."""
    off = matrix[c, d]
    if abs(off) <= 1e-18 * (abs(matrix[c, c]) + abs(matrix[d, d])):
        matrix[c, d] = matrix[d, c] = 0.0
        return
    ratio = 0.5 * (matrix[d, d] - matrix[c, c]) / off
    tangent = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
    cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    for k in range(3):
        a, b = matrix[k, c], matrix[k, d]
        matrix[k, c], matrix[k, d] = cosine * a - sine * b, sine * a + cosine * b
    for k in range(3):
        a, b = matrix[c, k], matrix[d, k]
        matrix[c, k], matrix[d, k] = cosine * a - sine * b, sine * a + cosine * b
        a, b = axes[k, c], axes[k, d]
        axes[k, c], axes[k, d] = cosine * a - sine * b, sine * a + cosine * b


@njit(cache=True, error_model="numpy", parallel=True)
def enclosing_triangles(
    roots,
    own,
    index,
    # out
    chosen,
    weight,
):
    """Fill `chosen (S, 3)` with entries of `index (S, N)`, rising, and `weight (S, 3)` with their weights at the root.

    `roots (S, 3)` and roots of guides `own (G, 3)` in metres; `index` are the candidates. They are looked at in the
    plane of the skin, which needs no normals: it lies along the two directions in which they spread most. Guides
    without weight give way to repetitions of the last one with weight, so that hairs on one edge share their guide set.
    """
    for s in prange(len(roots)):
        count = index.shape[1]
        seen, xy, height, axes = np.empty((count, 3)), np.empty((count, 2)), np.empty(count), np.empty((3, 3))
        nearest, extent = 0, 0.0
        for p in range(count):
            height[p] = 0.0
            for c in range(3):
                seen[p, c] = np.float64(own[index[s, p], c]) - np.float64(roots[s, c])
                height[p] += seen[p, c] * seen[p, c]
            nearest = p if height[p] < height[nearest] else nearest
            extent = max(extent, height[p])
        if height[nearest] <= ON_THE_ROOT**2 * extent:
            chosen[s, :] = nearest
            weight[s, 0], weight[s, 1], weight[s, 2] = 1.0, 0.0, 0.0
        else:
            least = spread_axes(seen, height, extent, axes)
            first, second = (least + 1) % 3, (least + 2) % 3
            for p in range(count):
                x, y, z = seen[p, 0], seen[p, 1], seen[p, 2]
                xy[p, 0] = x * axes[0, first] + y * axes[1, first] + z * axes[2, first]
                xy[p, 1] = x * axes[0, second] + y * axes[1, second] + z * axes[2, second]
                height[p] += NUDGE * extent * (index[s, p] * GOLDEN % 1.0)
            if not enclosing_triangle(xy, height, nearest, extent, chosen[s], weight[s]):
                nearest_edge(xy, chosen[s], weight[s])
        tidy(chosen[s], weight[s])
        for k in range(3):
            chosen[s, k] = index[s, chosen[s, k]]


@njit(cache=True, error_model="numpy")
def tidy(chosen, weight):
    """Sort guides, let those without weight give way, and make weights a sum of 1."""
    for last in (2, 1):
        for k in range(last):
            if chosen[k] > chosen[k + 1]:
                chosen[k], chosen[k + 1] = chosen[k + 1], chosen[k]
                weight[k], weight[k + 1] = weight[k + 1], weight[k]
    used, total = 0, 0.0
    for k in range(len(chosen)):
        if weight[k] > 0.0:
            chosen[used], weight[used] = chosen[k], weight[k]
            total += weight[k]
            used += 1
    for k in range(len(chosen)):
        if k < used:
            weight[k] /= total
        else:
            chosen[k], weight[k] = chosen[used - 1], 0.0
