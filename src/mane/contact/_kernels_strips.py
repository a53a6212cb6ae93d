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

from numba import get_thread_id, njit, prange  # type: ignore[attr-defined]

FASTMATH = {"contract", "arcp", "nsz", "afn"}
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
    points, enabled, bars, sorted_bars, longest, low, inv_cell, dims, starts, order, reach, scratch, count, found
):
    """List, for every strand g, segments of strands after it that cross its own within `reach`.

    `bars` (G N, 7) are centre, unit vector and half length of each segment, at most `longest`; `sorted_bars` the same
    in the order of the cells. Row g of `found` (G, C, 2) takes own segment and other segment as strand * N + segment,
    sorted. `count` (G,) goes beyond C where there was no room. `scratch` (T, 2, .) is for T threads.
    """
    segments = points.shape[1] - 1
    for g in prange(points.shape[0]):
        total = 0
        kept = scratch[get_thread_id(), 0]
        for i in range(segments if enabled[g] else 0):
            own, beyond, first = g * segments + i, (g + 1) * segments, total
            passed = sieve_bars(
                bars[own], beyond, sorted_bars, longest, low, inv_cell, dims, starts, order, reach, kept
            )
            for k in range(passed):
                other = kept[k]
                h = other // segments
                j = other - h * segments
                u, w = closest_of_segments(points, g, i, h, j)
                if distance_of_segments(points, g, i, h, j, u, w) < reach:
                    if total < found.shape[1]:
                        found[g, total, 0], found[g, total, 1] = i, other
                    total += 1
            sort_partners(g, first, total, found)
        count[g] = total


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def sieve_bars(bar, beyond, sorted_bars, longest, low, inv_cell, dims, starts, order, reach, kept):
    """Fill `kept` with segments from `beyond` on that may cross a bar within `reach`; returns how many.

    A branch that goes either way costs more than all that it could save, so there is none: what fails is overwritten.
    """
    x, y, z, dx, dy, dz, half = bar[0], bar[1], bar[2], bar[3], bar[4], bar[5], bar[6]
    far = longest + reach
    c0x, c1x = cells_between(x, half * abs(dx) + far, low[0], inv_cell, dims[0])
    c0y, c1y = cells_between(y, half * abs(dy) + far, low[1], inv_cell, dims[1])
    c0z, c1z = cells_between(z, half * abs(dz) + far, low[2], inv_cell, dims[2])
    far = half + longest + reach
    near = 0
    for kz in range(c0z, c1z + 1):
        for ky in range(c0y, c1y + 1):
            line = (kz * dims[1] + ky) * dims[0]
            for n in range(starts[line + c0x], starts[line + c1x + 1]):
                rx, ry, rz = sorted_bars[n, 0] - x, sorted_bars[n, 1] - y, sorted_bars[n, 2] - z
                kept[near] = n
                near += (rx * rx + ry * ry + rz * rz <= far * far) & (order[n] >= beyond)
    passed = 0
    for k in range(near):
        n = kept[k]
        rx, ry, rz = sorted_bars[n, 0] - x, sorted_bars[n, 1] - y, sorted_bars[n, 2] - z
        ex, ey, ez = sorted_bars[n, 3], sorted_bars[n, 4], sorted_bars[n, 5]
        other_half = sorted_bars[n, 6]
        # Apart along either of them, or across both?
        cosine = abs(dx * ex + dy * ey + dz * ez)
        apart = abs(rx * dx + ry * dy + rz * dz) - half - cosine * other_half
        other_apart = abs(rx * ex + ry * ey + rz * ez) - other_half - cosine * half
        nx, ny, nz = dy * ez - dz * ey, dz * ex - dx * ez, dx * ey - dy * ex
        height = abs(rx * nx + ry * ny + rz * nz) - reach * math.sqrt(nx * nx + ny * ny + nz * nz)
        fails = max(max(apart, other_apart) - reach, max(height, cosine - (1.0 - LEAST_SCALE)))
        kept[passed] = order[n]
        passed += fails <= 0.0
    return passed


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def cells_between(middle, reach, low, inv_cell, count):
    """First and last cell along an axis that `middle` plus or minus `reach` lies in."""
    first = min(max(int((middle - reach - low) * inv_cell), 0), count - 1)
    last = min(max(int((middle + reach - low) * inv_cell), 0), count - 1)
    return first, last


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
def find_bars(points, along_segment, bars):
    """Fill centre, unit vector and half length of every segment (G N, 7); returns the longest half."""
    segments = points.shape[1] - 1
    longest = 0.0
    for g in range(points.shape[0]):
        for i in range(segments):
            row = g * segments + i
            square = 0.0
            for axis in range(3):
                edge = points[g, i + 1, axis] - points[g, i, axis]
                square += edge * edge
                bars[row, axis] = points[g, i, axis] + 0.5 * edge
                bars[row, 3 + axis] = along_segment[g, i, axis]
            bars[row, 6] = 0.5 * math.sqrt(square)
            longest = max(longest, bars[row, 6])
    return longest


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
    """Whether the hair at a vertex near a triangle runs across its hair enough to be pushed; see `misalignment`."""
    other = min(max(plane[8] * x + plane[9] * y + plane[10] * z + plane[11], 0.0), 1.0)
    own, a, b = 1.0 - other, corner[0], corner[4]
    dx = own * along_segment[a, i, 0] + other * along_segment[b, i, 0]
    dy = own * along_segment[a, i, 1] + other * along_segment[b, i, 1]
    dz = own * along_segment[a, i, 2] + other * along_segment[b, i, 2]
    dot = dx * along_vertex[vertex, 0] + dy * along_vertex[vertex, 1] + dz * along_vertex[vertex, 2]
    return dot * dot <= (1.0 - LEAST_SCALE) ** 2 * (dx * dx + dy * dy + dz * dz)


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
def farness(plane, outside, reach, x, y, z):
    """Above zero where a point is higher than `reach` over a triangle, or beyond what `outside` allows beside it."""
    height = abs(plane[0] * x + plane[1] * y + plane[2] * z - plane[3]) - reach
    b1 = plane[4] * x + plane[5] * y + plane[6] * z + plane[7]
    b2 = plane[8] * x + plane[9] * y + plane[10] * z + plane[11]
    return max(max(height, outside[1] - b1), max(outside[2] - b2, outside[0] - 1.0 + b1 + b2))


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def sieve_box(points, corner, more, low, inv_cell, dims, starts, sorted_points, reach, kept):
    """Fill `kept` with places in the order of cells of vertices within `reach` of the box around two triangles."""
    x0, x1, c0x, c1x = span(points, corner, more, 0, reach, low, inv_cell, dims)
    y0, y1, c0y, c1y = span(points, corner, more, 1, reach, low, inv_cell, dims)
    z0, z1, c0z, c1z = span(points, corner, more, 2, reach, low, inv_cell, dims)
    passed = 0
    for kz in range(c0z, c1z + 1):
        for ky in range(c0y, c1y + 1):
            line = (kz * dims[1] + ky) * dims[0]
            for n in range(starts[line + c0x], starts[line + c1x + 1]):
                x, y, z = sorted_points[n, 0], sorted_points[n, 1], sorted_points[n, 2]
                outside = max(max(max(x0 - x, x - x1), max(y0 - y, y - y1)), max(z0 - z, z - z1))
                kept[passed] = n
                passed += outside <= 0.0
    return passed


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def sieve_triangle(
    points, along_segment, along_vertex, pairs, p, triangle, order, sorted_points, reach, kept, passed, total, found
):
    """Add vertices near a triangle whose hair crosses it to row p of `found`.

    They are among the first `passed` places in `kept[0]`; `kept[1]` is scratch. Returns the number of all in the row,
    which goes beyond the room there is.
    """
    vertices, last = points.shape[1], found.shape[1] - 1
    corner = corners(pairs, p, triangle)
    plane = triangle_plane(points, corner)
    outside = outsides(plane, reach[1])
    near = 0
    for k in range(passed):
        n = kept[0, k]
        kept[1, near] = n
        near += farness(plane, outside, reach[0], sorted_points[n, 0], sorted_points[n, 1], sorted_points[n, 2]) <= 0.0
    a, b, first = pairs[p, 0] * vertices, pairs[p, 1] * vertices, total
    for k in range(near):
        n = kept[1, k]
        vertex = order[n]
        x, y, z = sorted_points[n, 0], sorted_points[n, 1], sorted_points[n, 2]
        is_own = (a <= vertex < a + vertices) | (b <= vertex < b + vertices)
        place = min(total, last)
        found[p, place, 0], found[p, place, 1] = triangle, vertex
        total += crosses(along_segment, along_vertex, plane, corner, triangle >> 1, vertex, x, y, z) & (not is_own)
    sort_partners(p, first, total, found)
    return total


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def find_faces(
    points, along_segment, along_vertex, pairs, widest, low, inv_cell, dims, starts, order, sorted_points, reach,
    scratch, count, found, firsts,
):  # fmt: skip
    """List, for every pair p, vertices of other strands within `reach` of its triangles whose hair crosses them.

    `reach` [m] is how far above or below a triangle they may be, and how far beside it.
    Triangles longer across than `widest` (P, 2 N) [m] are left out. Row p of `found` (P, C, 2) takes triangle and
    vertex as strand * V + vertex, sorted; those of triangle t begin at `firsts[p, t]` (P, 2 N + 1). `count` and
    `scratch` as in `find_segments`.
    """
    for p in prange(pairs.shape[0]):
        total, passed = 0, 0
        kept = scratch[get_thread_id()]
        for triangle in range(widest.shape[1]):
            firsts[p, triangle] = total
            is_open = width(points, pairs, p, triangle) <= widest[p, triangle]
            if triangle & 1 == 0:  # both triangles of a segment share what is around them
                more = corners(pairs, p, triangle + 1)
                if is_open or width(points, pairs, p, triangle + 1) <= widest[p, triangle + 1]:
                    passed = sieve_box(
                        points, corners(pairs, p, triangle), more, low, inv_cell, dims, starts, sorted_points, reach[0],
                        kept[0],
                    )  # fmt: skip
            if is_open:
                total = sieve_triangle(
                    points, along_segment, along_vertex, pairs, p, triangle, order, sorted_points, reach, kept, passed,
                    total, found,
                )  # fmt: skip
        firsts[p, widest.shape[1]] = total
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
