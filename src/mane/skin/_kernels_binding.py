"""The triangle of guides around each root, in the plane of the skin.

The Delaunay triangulation is the lower hull of points that are lifted by the square of their distance to the root. So
of all triangles around the root it holds the one whose lifted surface is lowest there: a small linear program, solved
by exchanging one corner at a time.
"""

# mypy: allow-untyped-defs

import math

from mane.simd.jit import njit, prange

# A triangle thinner than this (its area over the square of its longest side) has no usable coordinates.
THIN = 1e-9
# Guides at less than this share of the candidates' extent are on the root.
ON_THE_ROOT = 1e-6
# A corner is exchanged for one that lies lower by more than this share of the extent squared: rounding is far below.
LOWER = 1e-12


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


@njit(cache=True, error_model="numpy", parallel=True)
def enclosing_triangles(
    xy,
    height,
    index,
    # out
    chosen,
    weight,
):
    """Fill `chosen (S, 3)` with entries of `index (S, N)`, rising, and `weight (S, 3)` with their weights at the root.

    `xy (S, N, 2)` are the candidates as seen from each root, `height (S, N)` what they are lifted by. Guides without
    weight give way to repetitions of the last one with weight, so that hairs on one edge share their guide set.
    """
    for s in prange(len(xy)):
        nearest, extent = 0, 0.0
        for p in range(xy.shape[1]):
            nearest = p if height[s, p] < height[s, nearest] else nearest
            extent = max(extent, height[s, p])
        if height[s, nearest] <= ON_THE_ROOT**2 * extent:
            chosen[s, :] = nearest
            weight[s, 0], weight[s, 1], weight[s, 2] = 1.0, 0.0, 0.0
        elif not enclosing_triangle(xy[s], height[s], nearest, extent, chosen[s], weight[s]):
            nearest_edge(xy[s], chosen[s], weight[s])
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
