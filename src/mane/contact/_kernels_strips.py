"""Which parts of the hair may meet soon: segments and segments, vertices and triangles, through a grid of cells.

A strip between guides A and B has two triangles per segment i, numbered 2 i and 2 i + 1:

```
    A i ------- A i+1         2 i:     A i, A i+1, B i        (hair along the first edge, the third vertex across)
     |  2 i  /   |            2 i + 1: B i+1, B i, A i+1
     |    / 2i+1 |
    B i ------- B i+1
```
"""

# mypy: allow-untyped-defs

import math

from numba import njit, prange

FASTMATH = {"reassoc", "contract", "arcp", "nsz", "afn"}
THIN = 1e-8  # a triangle whose area is this small a part of its longest edge squared has no inside


@njit(cache=True, error_model="numpy")
def measure_motion(points, before, active, sums):
    """Fill `sums` (16) for the rigid motion that fits best how `points` (G, V, 3) have moved since `before`.

    Centre (3), mean shift (3), second moments xx yy zz xy xz yz about the centre, sum of arm x shift (3), count.
    """
    sums[:] = 0.0
    for g in range(points.shape[0]):
        if active[g]:
            for v in range(points.shape[1]):
                for axis in range(3):
                    sums[axis] += before[g, v, axis]
                    sums[3 + axis] += points[g, v, axis] - before[g, v, axis]
            sums[15] += points.shape[1]
    if sums[15] == 0.0:
        return
    for axis in range(6):
        sums[axis] /= sums[15]
    for g in range(points.shape[0]):
        if active[g]:
            for v in range(points.shape[1]):
                x, y, z = before[g, v, 0] - sums[0], before[g, v, 1] - sums[1], before[g, v, 2] - sums[2]
                dx, dy, dz = (
                    points[g, v, 0] - before[g, v, 0],
                    points[g, v, 1] - before[g, v, 1],
                    points[g, v, 2] - before[g, v, 2],
                )
                sums[6] += x * x
                sums[7] += y * y
                sums[8] += z * z
                sums[9] += x * y
                sums[10] += x * z
                sums[11] += y * z
                sums[12] += y * dz - z * dy
                sums[13] += z * dx - x * dz
                sums[14] += x * dy - y * dx


@njit(cache=True, error_model="numpy")
def track_motion(points, active, sums, turn, pairs, before, travelled, pair_travelled):
    """Add to `travelled` (G,) and `pair_travelled` (P,) how far strands have moved beyond a rigid motion; return most.

    The motion is a shift and a `turn` (3); distances between points that it moves do not shrink. `before` becomes
    `points`.
    """
    most = 0.0
    ox, oy, oz = turn[0], turn[1], turn[2]
    for g in range(points.shape[0]):
        farthest = 0.0
        for v in range(points.shape[1]):
            x, y, z = before[g, v, 0] - sums[0], before[g, v, 1] - sums[1], before[g, v, 2] - sums[2]
            dx = points[g, v, 0] - before[g, v, 0] - sums[3] - (oy * z - oz * y)
            dy = points[g, v, 1] - before[g, v, 1] - sums[4] - (oz * x - ox * z)
            dz = points[g, v, 2] - before[g, v, 2] - sums[5] - (ox * y - oy * x)
            farthest = max(farthest, dx * dx + dy * dy + dz * dz)
            before[g, v, 0], before[g, v, 1], before[g, v, 2] = points[g, v, 0], points[g, v, 1], points[g, v, 2]
        travelled[g, 1] = math.sqrt(farthest)
        if active[g]:
            travelled[g, 0] += travelled[g, 1]
            most = max(most, travelled[g, 0])
    for p in range(pairs.shape[0]):
        pair_travelled[p] += max(travelled[pairs[p, 0], 1], travelled[pairs[p, 1], 1])
    return most


@njit(cache=True, error_model="numpy")
def sort_into_cells(centres, enabled, low, inv_cell, dims, cell, starts, order):
    """Counting sort of `centres` (K, 3) by cell, x fastest; returns how many are enabled.

    Elements of cell c are `order[starts[c]:starts[c + 1]]`, by number.
    """
    cells = dims[0] * dims[1] * dims[2]
    for c in range(cells + 1):
        starts[c] = 0
    for k in range(centres.shape[0]):
        cell[k] = -1
        if enabled[k]:
            place = 0
            for axis in range(2, -1, -1):
                at = int((centres[k, axis] - low[axis]) * inv_cell)
                place = place * dims[axis] + min(max(at, 0), dims[axis] - 1)
            cell[k] = place
            starts[place + 1] += 1
    for c in range(cells):
        starts[c + 1] += starts[c]
    for k in range(centres.shape[0] - 1, -1, -1):
        if cell[k] >= 0:
            starts[cell[k] + 1] -= 1
            order[starts[cell[k] + 1]] = k
    # Every start has moved one place to the left; move them back.
    total = 0
    for k in range(centres.shape[0]):
        if cell[k] >= 0:
            total += 1
    for c in range(cells):
        starts[c] = starts[c + 1]
    starts[cells] = total
    return total


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def closest_of_segments(points, g, i, h, j):
    """Fractions u, w of segments (g, i) and (h, j) where they are closest."""
    dx, dy, dz = (
        points[g, i + 1, 0] - points[g, i, 0],
        points[g, i + 1, 1] - points[g, i, 1],
        points[g, i + 1, 2] - points[g, i, 2],
    )
    ex, ey, ez = (
        points[h, j + 1, 0] - points[h, j, 0],
        points[h, j + 1, 1] - points[h, j, 1],
        points[h, j + 1, 2] - points[h, j, 2],
    )
    rx, ry, rz = (
        points[g, i, 0] - points[h, j, 0],
        points[g, i, 1] - points[h, j, 1],
        points[g, i, 2] - points[h, j, 2],
    )
    a = dx * dx + dy * dy + dz * dz
    e = ex * ex + ey * ey + ez * ez
    b = dx * ex + dy * ey + dz * ez
    c = dx * rx + dy * ry + dz * rz
    f = ex * rx + ey * ry + ez * rz
    square = a * e - b * b
    u = min(max((b * f - c * e) / square, 0.0), 1.0) if square > 1e-12 * a * e else 0.0
    w = (b * u + f) / e if e > 0.0 else 0.0
    if w < 0.0:
        w = 0.0
        u = min(max(-c / a, 0.0), 1.0) if a > 0.0 else 0.0
    elif w > 1.0:
        w = 1.0
        u = min(max((b - c) / a, 0.0), 1.0) if a > 0.0 else 0.0
    return u, w


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def distance_of_segments(points, g, i, h, j, u, w):
    """Distance [m] between two points of segments."""
    total = 0.0
    for axis in range(3):
        gap = (1.0 - u) * points[g, i, axis] + u * points[g, i + 1, axis]
        gap -= (1.0 - w) * points[h, j, axis] + w * points[h, j + 1, axis]
        total += gap * gap
    return math.sqrt(total)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def corners(pairs, p, triangle):
    """Strands and vertices of a triangle's corners: `(g0, v0, g1, v1, g2, v2)`; its hair runs from corner 0 to 1."""
    i = triangle >> 1
    a, b = pairs[p, 0], pairs[p, 1]
    if triangle & 1 == 0:
        return a, i, a, i + 1, b, i
    return b, i + 1, b, i, a, i + 1


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def place_over_triangle(points, corner, g, v):
    """Where vertex (g, v) is over a triangle: `(b0, b1, b2, height, nx, ny, nz, away)`.

    Barycentric coordinates of its foot, height over the plane along the unit normal, and a distance [m] that the vertex
    has at least from the triangle. A triangle without an inside has a normal of zero, and nothing is away from it.
    """
    g0, v0, g1, v1, g2, v2 = corner
    ax, ay, az = points[g0, v0, 0], points[g0, v0, 1], points[g0, v0, 2]
    ux, uy, uz = points[g1, v1, 0] - ax, points[g1, v1, 1] - ay, points[g1, v1, 2] - az
    wx, wy, wz = points[g2, v2, 0] - ax, points[g2, v2, 1] - ay, points[g2, v2, 2] - az
    x, y, z = points[g, v, 0] - ax, points[g, v, 1] - ay, points[g, v, 2] - az
    nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    square = nx * nx + ny * ny + nz * nz
    uu, ww = ux * ux + uy * uy + uz * uz, wx * wx + wy * wy + wz * wz
    uw = ux * wx + uy * wy + uz * wz
    longest = max(uu, max(ww, uu + ww - 2.0 * uw))
    area = math.sqrt(square)
    if area <= THIN * longest:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    xu, xw = x * ux + y * uy + z * uz, x * wx + y * wy + z * wz
    b1 = (ww * xu - uw * xw) / square
    b2 = (uu * xw - uw * xu) / square
    b0 = 1.0 - b1 - b2
    inv = 1.0 / area
    nx, ny, nz = nx * inv, ny * inv, nz * inv
    height = x * nx + y * ny + z * nz
    # A foot outside of an edge is at least that far from the triangle: the negative coordinate times the height of the
    # triangle over the edge.
    outside = max(-b0 / math.sqrt(uu + ww - 2.0 * uw), max(-b1 / math.sqrt(ww), -b2 / math.sqrt(uu))) * area
    return b0, b1, b2, height, nx, ny, nz, max(abs(height), outside)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def find_segments(points, enabled, half, centres, low, inv_cell, dims, starts, order, reach, count, found, space):
    """List, for every strand g, segments of strands after it within `reach` of its own.

    `half` (G, N) is half the length of each segment. Row g of `found` (G, C, 2) takes own segment and other segment as
    strand * N + segment; `space` its distance. `count` (G,) goes beyond C where there was no room.
    """
    segments = half.shape[1]
    for g in prange(points.shape[0]):
        total = 0
        if enabled[g]:
            for i in range(segments):
                own = g * segments + i
                x, y, z = centres[own, 0], centres[own, 1], centres[own, 2]
                radius = half[g, i] + reach
                cx = min(max(int((x - low[0]) * inv_cell), 0), dims[0] - 1)
                cy = min(max(int((y - low[1]) * inv_cell), 0), dims[1] - 1)
                cz = min(max(int((z - low[2]) * inv_cell), 0), dims[2] - 1)
                for kz in range(max(cz - 1, 0), min(cz + 2, dims[2])):
                    for ky in range(max(cy - 1, 0), min(cy + 2, dims[1])):
                        line = (kz * dims[1] + ky) * dims[0]
                        for n in range(starts[line + max(cx - 1, 0)], starts[line + min(cx + 1, dims[0] - 1) + 1]):
                            other = order[n]
                            h = other // segments
                            if h <= g:
                                continue
                            j = other - h * segments
                            dx, dy, dz = centres[other, 0] - x, centres[other, 1] - y, centres[other, 2] - z
                            far = radius + half[h, j]
                            if dx * dx + dy * dy + dz * dz > far * far:
                                continue
                            u, w = closest_of_segments(points, g, i, h, j)
                            distance = distance_of_segments(points, g, i, h, j, u, w)
                            if distance < reach:
                                if total < found.shape[1]:
                                    found[g, total, 0], found[g, total, 1] = i, other
                                    space[g, total] = distance
                                total += 1
        count[g] = total


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def find_faces(points, pairs, widest, low, inv_cell, dims, starts, order, sorted_points, reach, count, found, space):
    """List, for every pair p, vertices of other strands within `reach` of its triangles.

    Triangles longer across than `widest` (P, 2 N) [m] are left out. Row p of `found` (P, C, 2) takes triangle and
    vertex as strand * V + vertex; `space` a distance that it has at least. `count` as in `find_segments`.
    """
    vertices = points.shape[1]
    for p in prange(pairs.shape[0]):
        total = 0
        a, b = pairs[p, 0], pairs[p, 1]
        for i in range(vertices - 1):
            open0 = width(points, pairs, p, 2 * i) <= widest[p, 2 * i]
            open1 = width(points, pairs, p, 2 * i + 1) <= widest[p, 2 * i + 1]
            if not (open0 or open1):
                continue
            x0, x1, c0x, c1x = span(points, a, b, i, 0, reach, low, inv_cell, dims)
            y0, y1, c0y, c1y = span(points, a, b, i, 1, reach, low, inv_cell, dims)
            z0, z1, c0z, c1z = span(points, a, b, i, 2, reach, low, inv_cell, dims)
            for kz in range(c0z, c1z + 1):
                for ky in range(c0y, c1y + 1):
                    line = (kz * dims[1] + ky) * dims[0]
                    for n in range(starts[line + c0x], starts[line + c1x + 1]):
                        if sorted_points[n, 0] < x0 or sorted_points[n, 0] > x1 or sorted_points[n, 1] < y0:
                            continue
                        if sorted_points[n, 1] > y1 or sorted_points[n, 2] < z0 or sorted_points[n, 2] > z1:
                            continue
                        g = order[n] // vertices
                        if g == a or g == b:
                            continue
                        v = order[n] - g * vertices
                        for half in range(2):
                            if (half == 0 and not open0) or (half == 1 and not open1):
                                continue
                            away = place_over_triangle(points, corners(pairs, p, 2 * i + half), g, v)[7]
                            if away < reach:
                                if total < found.shape[1]:
                                    found[p, total, 0], found[p, total, 1] = 2 * i + half, order[n]
                                    space[p, total] = away
                                total += 1
        count[p] = total


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def width(points, pairs, p, triangle):
    """Longer of the two edges of a triangle that cross the strip [m]."""
    g0, v0, g1, v1, g2, v2 = corners(pairs, p, triangle)
    first, second = 0.0, 0.0
    for axis in range(3):
        a = points[g2, v2, axis] - points[g0, v0, axis]
        b = points[g2, v2, axis] - points[g1, v1, axis]
        first += a * a
        second += b * b
    return math.sqrt(max(first, second))


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def span(points, a, b, i, axis, reach, low, inv_cell, dims):
    """Extent of a strip's two triangles along an axis, widened by `reach`, and the cells of its ends."""
    start = (
        min(min(points[a, i, axis], points[a, i + 1, axis]), min(points[b, i, axis], points[b, i + 1, axis])) - reach
    )
    end = max(max(points[a, i, axis], points[a, i + 1, axis]), max(points[b, i, axis], points[b, i + 1, axis])) + reach
    first = min(max(int((start - low[axis]) * inv_cell), 0), dims[axis] - 1)
    last = min(max(int((end - low[axis]) * inv_cell), 0), dims[axis] - 1)
    return start, end, first, last
