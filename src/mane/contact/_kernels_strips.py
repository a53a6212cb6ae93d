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
LEAST_SCALE = 0.01  # of a force that is worth while: parts within 8 degrees of each other pass freely
THIN = 1e-8  # a triangle whose area is this small a part of its longest edge squared has no inside


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
def triangle_plane(points, corner):
    """What tells where a point x is over a triangle: `(nx, ny, nz, d, ax, ay, az, a, bx, by, bz, b)`.

    Its height over the plane is n x - d, its foot's barycentric coordinates of corners 1 and 2 are a x + a and b x + b.
    A triangle without an inside has a normal of zero.
    """
    g0, v0, g1, v1, g2, v2 = corner
    ox, oy, oz = points[g0, v0, 0], points[g0, v0, 1], points[g0, v0, 2]
    ux, uy, uz = points[g1, v1, 0] - ox, points[g1, v1, 1] - oy, points[g1, v1, 2] - oz
    wx, wy, wz = points[g2, v2, 0] - ox, points[g2, v2, 1] - oy, points[g2, v2, 2] - oz
    nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    square = nx * nx + ny * ny + nz * nz
    uu, ww = ux * ux + uy * uy + uz * uz, wx * wx + wy * wy + wz * wz
    uw = ux * wx + uy * wy + uz * wz
    longest = max(uu, ww)
    if square <= THIN * THIN * longest * longest:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    unit = 1.0 / math.sqrt(square)
    nx, ny, nz = nx * unit, ny * unit, nz * unit
    inv = 1.0 / square
    ax, ay, az = (ww * ux - uw * wx) * inv, (ww * uy - uw * wy) * inv, (ww * uz - uw * wz) * inv
    bx, by, bz = (uu * wx - uw * ux) * inv, (uu * wy - uw * uy) * inv, (uu * wz - uw * uz) * inv
    return (
        nx,
        ny,
        nz,
        nx * ox + ny * oy + nz * oz,
        ax,
        ay,
        az,
        -(ax * ox + ay * oy + az * oz),
        bx,
        by,
        bz,
        -(bx * ox + by * oy + bz * oz),
    )


@njit(cache=True, error_model="numpy")
def sort_partners(row, first, last, found):
    """Sort candidates `first` to `last` of a row, which have the same first number, by the second."""
    for n in range(first + 1, min(last, found.shape[1])):
        value = found[row, n, 1]
        place = n
        while place > first and found[row, place - 1, 1] > value:
            found[row, place, 1] = found[row, place - 1, 1]
            place -= 1
        found[row, place, 1] = value


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def find_segments(
    points, along, enabled, half, longest, centres, low, inv_cell, dims, starts, order, reach, count, found
):
    """List, for every strand g, segments of strands after it that cross its own within `reach`.

    `along` (G, N, 3) are unit vectors, `half` (G, N) is half the length of each segment, at most `longest`. Row g of
    `found` (G, C, 2) takes own segment and other segment as strand * N + segment, sorted. `count` (G,) goes beyond C
    where there was no room.
    """
    segments = half.shape[1]
    for g in prange(points.shape[0]):
        total = 0
        if enabled[g]:
            for i in range(segments):
                own = g * segments + i
                first = total
                x, y, z = centres[own, 0], centres[own, 1], centres[own, 2]
                radius = half[g, i] + reach
                corner = (g, i, g, i + 1, g, i)
                _, _, c0x, c1x = span(points, corner, corner, 0, reach + longest, low, inv_cell, dims)
                _, _, c0y, c1y = span(points, corner, corner, 1, reach + longest, low, inv_cell, dims)
                _, _, c0z, c1z = span(points, corner, corner, 2, reach + longest, low, inv_cell, dims)
                for kz in range(c0z, c1z + 1):
                    for ky in range(c0y, c1y + 1):
                        line = (kz * dims[1] + ky) * dims[0]
                        for n in range(starts[line + c0x], starts[line + c1x + 1]):
                            other = order[n]
                            dx, dy, dz = centres[other, 0] - x, centres[other, 1] - y, centres[other, 2] - z
                            far = radius + longest
                            if other < own or dx * dx + dy * dy + dz * dz > far * far:
                                continue
                            h = other // segments
                            if h == g:
                                continue
                            j = other - h * segments
                            dot = along[g, i, 0] * along[h, j, 0] + along[g, i, 1] * along[h, j, 1]
                            if 1.0 - abs(dot + along[g, i, 2] * along[h, j, 2]) < LEAST_SCALE:
                                continue
                            u, w = closest_of_segments(points, g, i, h, j)
                            if distance_of_segments(points, g, i, h, j, u, w) < reach:
                                if total < found.shape[1]:
                                    found[g, total, 0], found[g, total, 1] = i, other
                                total += 1
                sort_partners(g, first, total, found)
        count[g] = total


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def find_directions(points, along_segment, along_vertex):
    """Fill unit vectors along every segment (G, N, 3) and along the hair at every vertex (G V, 3)."""
    vertices = points.shape[1]
    for g in range(points.shape[0]):
        for v in range(vertices):
            before, after = max(v - 1, 0), min(v + 1, vertices - 1)
            x, y, z = (
                points[g, after, 0] - points[g, before, 0],
                points[g, after, 1] - points[g, before, 1],
                points[g, after, 2] - points[g, before, 2],
            )
            size = math.sqrt(x * x + y * y + z * z)
            unit = 1.0 / size if size > 0.0 else 0.0
            row = g * vertices + v
            along_vertex[row, 0], along_vertex[row, 1], along_vertex[row, 2] = x * unit, y * unit, z * unit
            if v < vertices - 1:
                x, y, z = (
                    points[g, v + 1, 0] - points[g, v, 0],
                    points[g, v + 1, 1] - points[g, v, 1],
                    points[g, v + 1, 2] - points[g, v, 2],
                )
                unit = 1.0 / math.sqrt(x * x + y * y + z * z)
                along_segment[g, v, 0], along_segment[g, v, 1], along_segment[g, v, 2] = x * unit, y * unit, z * unit


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def misalignment(along_segment, along_vertex, vertex, a, b, i, share):
    """1 - |a . b| of chang2002 eq. 3: the hair at a vertex, and that at `share` of the way from guide a to guide b."""
    own, other = 1.0 - share, share
    x = own * along_segment[a, i, 0] + other * along_segment[b, i, 0]
    y = own * along_segment[a, i, 1] + other * along_segment[b, i, 1]
    z = own * along_segment[a, i, 2] + other * along_segment[b, i, 2]
    size = math.sqrt(x * x + y * y + z * z)
    dot = x * along_vertex[vertex, 0] + y * along_vertex[vertex, 1] + z * along_vertex[vertex, 2]
    return 1.0 - abs(dot) / size if size > 0.0 else 1.0


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def crosses(along_segment, along_vertex, plane, corner, i, vertex, x, y, z):
    """Whether the hair at a vertex near a triangle runs across its hair enough to be pushed."""
    share = min(max(plane[8] * x + plane[9] * y + plane[10] * z + plane[11], 0.0), 1.0)
    return misalignment(along_segment, along_vertex, vertex, corner[0], corner[4], i, share) >= LEAST_SCALE


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def outsides(plane, reach):
    """Barycentric coordinates of a foot that is `reach` outside of a triangle's edges, of corners 0, 1 and 2."""
    ax, ay, az, bx, by, bz = plane[4], plane[5], plane[6], plane[8], plane[9], plane[10]
    return (
        -reach * math.sqrt((ax + bx) ** 2 + (ay + by) ** 2 + (az + bz) ** 2),
        -reach * math.sqrt(ax * ax + ay * ay + az * az),
        -reach * math.sqrt(bx * bx + by * by + bz * bz),
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def is_near(plane, outside, reach, x, y, z):
    """Whether a point may be within `reach` of a triangle; never wrong when it says no."""
    if abs(plane[0] * x + plane[1] * y + plane[2] * z - plane[3]) > reach:
        return False
    b1 = plane[4] * x + plane[5] * y + plane[6] * z + plane[7]
    b2 = plane[8] * x + plane[9] * y + plane[10] * z + plane[11]
    return b1 >= outside[1] and b2 >= outside[2] and 1.0 - b1 - b2 >= outside[0]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def find_faces(
    points, along_segment, along_vertex, pairs, widest, low, inv_cell, dims, starts, order, sorted_points, reach,
    count, found, firsts, spare,
):  # fmt: skip
    """List, for every pair p, vertices of other strands within `reach` of its triangles whose hair crosses them.

    Triangles longer across than `widest` (P, 2 N) [m] are left out. Row p of `found` (P, C, 2) takes triangle and
    vertex as strand * V + vertex, sorted; those of triangle t begin at `firsts[p, t]` (P, 2 N + 1). `count` as in
    `find_segments`. `spare` (P, C) is scratch.
    """
    vertices = points.shape[1]
    room = found.shape[1]
    for p in prange(pairs.shape[0]):
        total = 0
        a, b = pairs[p, 0], pairs[p, 1]
        for i in range(vertices - 1):
            firsts[p, 2 * i] = total
            open0 = width(points, pairs, p, 2 * i) <= widest[p, 2 * i]
            open1 = width(points, pairs, p, 2 * i + 1) <= widest[p, 2 * i + 1]
            firsts[p, 2 * i + 1] = total
            if not (open0 or open1):
                continue
            corner0, corner1 = corners(pairs, p, 2 * i), corners(pairs, p, 2 * i + 1)
            plane0, plane1 = triangle_plane(points, corner0), triangle_plane(points, corner1)
            outside0, outside1 = outsides(plane0, reach), outsides(plane1, reach)
            x0, x1, c0x, c1x = span(points, corner0, corner1, 0, reach, low, inv_cell, dims)
            y0, y1, c0y, c1y = span(points, corner0, corner1, 1, reach, low, inv_cell, dims)
            z0, z1, c0z, c1z = span(points, corner0, corner1, 2, reach, low, inv_cell, dims)
            extra = 0
            for kz in range(c0z, c1z + 1):
                for ky in range(c0y, c1y + 1):
                    line = (kz * dims[1] + ky) * dims[0]
                    for n in range(starts[line + c0x], starts[line + c1x + 1]):
                        x, y, z = sorted_points[n, 0], sorted_points[n, 1], sorted_points[n, 2]
                        if x < x0 or x > x1 or y < y0 or y > y1 or z < z0 or z > z1:
                            continue
                        near0 = open0 and is_near(plane0, outside0, reach, x, y, z)
                        near1 = open1 and is_near(plane1, outside1, reach, x, y, z)
                        if not (near0 or near1):
                            continue
                        vertex = order[n]
                        if a * vertices <= vertex < (a + 1) * vertices or b * vertices <= vertex < (b + 1) * vertices:
                            continue
                        if near0 and crosses(along_segment, along_vertex, plane0, corner0, i, vertex, x, y, z):
                            if total < room:
                                found[p, total, 0], found[p, total, 1] = 2 * i, vertex
                            total += 1
                        if near1 and crosses(along_segment, along_vertex, plane1, corner1, i, vertex, x, y, z):
                            if extra < room:
                                spare[p, extra] = vertex
                            extra += 1
            sort_partners(p, firsts[p, 2 * i], total, found)
            firsts[p, 2 * i + 1] = total
            for n in range(min(extra, room - total)):
                found[p, total + n, 0], found[p, total + n, 1] = 2 * i + 1, spare[p, n]
            total += extra
            sort_partners(p, firsts[p, 2 * i + 1], total, found)
        firsts[p, firsts.shape[1] - 1] = total
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
def span(points, corner, more, axis, reach, low, inv_cell, dims):
    """Extent along an axis of all vertices named by two triangles, widened by `reach`, and the cells of its ends."""
    start, end = points[corner[0], corner[1], axis], points[corner[0], corner[1], axis]
    for other in (
        points[corner[2], corner[3], axis],
        points[corner[4], corner[5], axis],
        points[more[0], more[1], axis],
        points[more[2], more[3], axis],
    ):
        start, end = min(start, other), max(end, other)
    start, end = start - reach, end + reach
    first = min(max(int((start - low[axis]) * inv_cell), 0), dims[axis] - 1)
    last = min(max(int((end - low[axis]) * inv_cell), 0), dims[axis] - 1)
    return start, end, first, last
