"""Which parts of the hair may meet soon: segments and segments, vertices and triangles.

A few neighbouring segments of a strand, or of a strip, look around together: whatever lies in their common box comes
out of a grid of cells into columns side by side, against which each of them is then tested in lanes, without branches.
"""

# mypy: allow-untyped-defs

import math

import numpy as np
from numba import get_thread_id, njit, prange  # type: ignore[attr-defined]

from mane.contact._kernels_strips import (
    FASTMATH,
    LEAST_SCALE,
    closest_of_segments,
    corners,
    distance_of_segments,
    triangle_plane,
    width,
)

CHUNK = 2
COLUMNS = 8  # of a thread's buffer: seven numbers of a bar, or six of a vertex, and what the last test said
LANES = 16  # tests go over whole lanes, and a few beyond what is there: the rest of a loop would take as long as most


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


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def stretch_box(points, g, first, last, box):
    """Widen a box `(x0, x1, y0, y1, z0, z1)` to hold vertices `first` to `last` of a strand."""
    x0, x1, y0, y1, z0, z1 = box
    for v in range(first, last + 1):
        x, y, z = points[g, v, 0], points[g, v, 1], points[g, v, 2]
        x0, x1, y0, y1, z0, z1 = min(x0, x), max(x1, x), min(y0, y), max(y1, y), min(z0, z), max(z1, z)
    return x0, x1, y0, y1, z0, z1


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def cells_between(first, last, low, inv_cell, count):
    """Cells along an axis that the coordinates `first` and `last` lie in, or the nearest to them."""
    return (
        min(max(int((first - low) * inv_cell), 0), count - 1),
        min(max(int((last - low) * inv_cell), 0), count - 1),
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def gather_bars(box, reach, longest, beyond, sorted_bars, low, inv_cell, dims, starts, order, who, columns):
    """Put bars from number `beyond` on whose own boxes are within `reach` of a box into `columns`; returns how many.

    `who` takes their numbers. A branch that goes either way costs more than all that it could save, so there is none:
    what fails is overwritten.
    """
    x0, x1, y0, y1, z0, z1 = box
    x0, x1, y0, y1, z0, z1 = x0 - reach, x1 + reach, y0 - reach, y1 + reach, z0 - reach, z1 + reach
    c0x, c1x = cells_between(x0 - longest, x1 + longest, low[0], inv_cell, dims[0])
    c0y, c1y = cells_between(y0 - longest, y1 + longest, low[1], inv_cell, dims[1])
    c0z, c1z = cells_between(z0 - longest, z1 + longest, low[2], inv_cell, dims[2])
    total = np.uint64(0)
    for kz in range(c0z, c1z + 1):
        for ky in range(c0y, c1y + 1):
            line = (kz * dims[1] + ky) * dims[0]
            for n in range(np.uint64(starts[line + c0x]), np.uint64(starts[line + c1x + 1])):
                x, y, z, half = sorted_bars[n, 0], sorted_bars[n, 1], sorted_bars[n, 2], sorted_bars[n, 6]
                apart = max(
                    max(x0 - x, x - x1) - half * abs(sorted_bars[n, 3]),
                    max(y0 - y, y - y1) - half * abs(sorted_bars[n, 4]),
                )
                apart = max(apart, max(z0 - z, z - z1) - half * abs(sorted_bars[n, 5]))
                who[total] = n
                total += np.uint64((apart <= 0.0) & (order[n] >= beyond))
    take_columns(sorted_bars, order, total, who, columns)
    return np.int64(total)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def take_columns(rows, order, total, who, columns):
    """Copy `rows` that the first `total` entries of `who` name into `columns`, and put their own numbers in `who`."""
    room = np.uint64(columns.shape[0] // COLUMNS)
    for k in range(np.uint64(total)):
        n, place = np.uint64(who[k]), np.uint64(k)
        who[k] = order[n]
        for c in range(np.uint64(6)):
            columns[place] = rows[n, c]
            place += room
        if rows.shape[1] == 7:
            columns[place] = rows[n, np.uint64(6)]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def compare_bars(bar, reach, total, columns):
    """Fill the last column with how far each of the first `total` bars is from crossing `bar` within `reach`.

    Above zero: never. Indices are unsigned, so that LLVM sees lanes.
    """
    room = np.uint64(columns.shape[0] // COLUMNS)
    r1, r2, r3, r4 = room, room + room, room * np.uint64(3), room * np.uint64(4)
    r5, r6, r7 = room * np.uint64(5), room * np.uint64(6), room * np.uint64(7)
    x, y, z, dx, dy, dz, half = bar[0], bar[1], bar[2], bar[3], bar[4], bar[5], bar[6]
    for n in range(np.uint64((total + LANES - 1) // LANES * LANES)):
        k = np.uint64(n)
        rx, ry, rz = columns[k] - x, columns[r1 + k] - y, columns[r2 + k] - z
        ex, ey, ez, other_half = columns[r3 + k], columns[r4 + k], columns[r5 + k], columns[r6 + k]
        # Apart along either of them, or across both?
        cosine = abs(dx * ex + dy * ey + dz * ez)
        apart = abs(rx * dx + ry * dy + rz * dz) - half - cosine * other_half
        other_apart = abs(rx * ex + ry * ey + rz * ez) - other_half - cosine * half
        nx, ny, nz = dy * ez - dz * ey, dz * ex - dx * ez, dx * ey - dy * ex
        height = rx * nx + ry * ny + rz * nz
        height = height * height - reach * reach * (nx * nx + ny * ny + nz * nz)
        columns[r7 + k] = max(max(apart, other_apart) - reach, max(height, cosine - (1.0 - LEAST_SCALE)))


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def find_segments(
    points, enabled, bars, sorted_bars, longest, low, inv_cell, dims, starts, order, reach, who, columns, count, found
):
    """List, for every strand g, segments of strands after it that cross its own within `reach`.

    `bars` (G N, 7) are centre, unit vector and half length of each segment, at most `longest`; `sorted_bars` the same
    in the order of the cells. Row g of `found` (G, C, 2) takes own segment and other segment as strand * N + segment,
    sorted. `count` (G,) goes beyond C where there was no room. `who` (T, .) and `columns` (T, .) are for T threads.
    """
    segments = points.shape[1] - 1
    for g in prange(points.shape[0]):
        total = 0
        mine, buffer = who[get_thread_id()], columns[get_thread_id()]
        beyond = (g + 1) * segments
        last = np.uint64(7 * (buffer.shape[0] // COLUMNS))
        for chunk in range(0, segments if enabled[g] else 0, CHUNK):
            end = min(chunk + CHUNK, segments)
            box = stretch_box(points, g, chunk, end, (math.inf, -math.inf, math.inf, -math.inf, math.inf, -math.inf))
            near = gather_bars(
                box, reach, longest, beyond, sorted_bars, low, inv_cell, dims, starts, order, mine, buffer
            )
            for i in range(chunk, end):
                first = total
                compare_bars(bars[g * segments + i], reach, near, buffer)
                for k in range(np.uint64(near)):
                    if buffer[last + k] <= 0.0:
                        other = mine[k]
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
def outsides(plane, reach):
    """Barycentric coordinates of a foot that is `reach` outside of a triangle's edges, of corners 0, 1 and 2."""
    ax, ay, az, bx, by, bz = plane[4], plane[5], plane[6], plane[8], plane[9], plane[10]
    return (
        -reach * math.sqrt((ax + bx) ** 2 + (ay + by) ** 2 + (az + bz) ** 2),
        -reach * math.sqrt(ax * ax + ay * ay + az * az),
        -reach * math.sqrt(bx * bx + by * by + bz * bz),
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def gather_points(box, reach, mine, low, inv_cell, dims, starts, order, sorted_points, who, columns):
    """Put vertices within `reach` of a box into `columns` and their numbers into `who`; returns how many.

    Those from `mine[0]` to `mine[1]` and from `mine[2]` to `mine[3]` are left out; see `gather_bars`.
    """
    x0, x1, y0, y1, z0, z1 = box
    x0, x1, y0, y1, z0, z1 = x0 - reach, x1 + reach, y0 - reach, y1 + reach, z0 - reach, z1 + reach
    c0x, c1x = cells_between(x0, x1, low[0], inv_cell, dims[0])
    c0y, c1y = cells_between(y0, y1, low[1], inv_cell, dims[1])
    c0z, c1z = cells_between(z0, z1, low[2], inv_cell, dims[2])
    total = np.uint64(0)
    for kz in range(c0z, c1z + 1):
        for ky in range(c0y, c1y + 1):
            line = (kz * dims[1] + ky) * dims[0]
            for n in range(np.uint64(starts[line + c0x]), np.uint64(starts[line + c1x + 1])):
                x, y, z, vertex = sorted_points[n, 0], sorted_points[n, 1], sorted_points[n, 2], order[n]
                outside = max(max(max(x0 - x, x - x1), max(y0 - y, y - y1)), max(z0 - z, z - z1))
                is_own = (mine[0] <= vertex) & (vertex < mine[1]) | (mine[2] <= vertex) & (vertex < mine[3])
                who[total] = n
                total += np.uint64((outside <= 0.0) & (not is_own))
    take_columns(sorted_points, order, total, who, columns)
    return np.int64(total)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def compare_points(plane, outside, along, across, reach, total, columns):
    """Fill the last column with how far each of the first `total` vertices is from meeting a triangle.

    Above zero where it is higher than `reach` over it, or beyond what `outside` allows beside it, or where its hair
    runs along that of the triangle: `along` at its first edge, changed by `across` on the way to the third corner.
    """
    room = np.uint64(columns.shape[0] // COLUMNS)
    r1, r2, r3, r4 = room, room + room, room * np.uint64(3), room * np.uint64(4)
    r5, r7 = room * np.uint64(5), room * np.uint64(7)
    nx, ny, nz, d, ax, ay, az, a0, bx, by, bz, b0 = plane
    out0, out1, out2 = outside
    sx, sy, sz = along
    tx, ty, tz = across
    for n in range(np.uint64((total + LANES - 1) // LANES * LANES)):
        k = np.uint64(n)
        x, y, z = columns[k], columns[r1 + k], columns[r2 + k]
        height = abs(nx * x + ny * y + nz * z - d) - reach
        b1 = ax * x + ay * y + az * z + a0
        b2 = bx * x + by * y + bz * z + b0
        share = min(max(b2, 0.0), 1.0)
        ex, ey, ez = sx + share * tx, sy + share * ty, sz + share * tz
        dot = ex * columns[r3 + k] + ey * columns[r4 + k] + ez * columns[r5 + k]
        parallel = dot * dot - (1.0 - LEAST_SCALE) ** 2 * (ex * ex + ey * ey + ez * ez)
        columns[r7 + k] = max(max(max(height, out1 - b1), max(out2 - b2, out0 - 1.0 + b1 + b2)), parallel)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def list_vertices(points, along_segment, pairs, p, triangle, reach, near, who, columns, total, found):
    """Add vertices near a triangle whose hair crosses it to row p of `found`.

    They are among the first `near` in `columns`. Returns the number of all in the row, which goes beyond the room there
    is.
    """
    corner = corners(pairs, p, triangle)
    plane = triangle_plane(points, corner)
    a, b = along_segment[corner[0], triangle >> 1], along_segment[corner[4], triangle >> 1]
    along, across = (a[0], a[1], a[2]), (b[0] - a[0], b[1] - a[1], b[2] - a[2])
    compare_points(plane, outsides(plane, reach[1]), along, across, reach[0], near, columns)
    last, first = np.uint64(7 * (columns.shape[0] // COLUMNS)), total
    for k in range(np.uint64(near)):
        if columns[last + k] <= 0.0:
            if total < found.shape[1]:
                found[p, total, 0], found[p, total, 1] = triangle, who[k]
            total += 1
    sort_partners(p, first, total, found)
    return total


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def find_faces(
    points, along_segment, pairs, widest, low, inv_cell, dims, starts, order, sorted_points, reach,
    who, columns, count, found, firsts,
):  # fmt: skip
    """List, for every pair p, vertices of other strands within `reach` of its triangles whose hair crosses them.

    `reach` [m] is how far above or below a triangle they may be, and how far beside it. `sorted_points` are positions
    and unit vectors along the hair of vertices in the order of cells, shape (G V, 6).
    Triangles longer across than `widest` (P, 2 N) [m] are left out. Row p of `found` (P, C, 2) takes triangle and
    vertex as strand * V + vertex, sorted; those of triangle t begin at `firsts[p, t]` (P, 2 N + 1). `count`, `who` and
    `columns` as in `find_segments`.
    """
    vertices = points.shape[1]
    for p in prange(pairs.shape[0]):
        total = 0
        numbers, buffer = who[get_thread_id()], columns[get_thread_id()]
        a, b = pairs[p, 0], pairs[p, 1]
        mine = (a * vertices, (a + 1) * vertices, b * vertices, (b + 1) * vertices)
        for chunk in range(0, vertices - 1, CHUNK):
            end = min(chunk + CHUNK, vertices - 1)
            box = (math.inf, -math.inf, math.inf, -math.inf, math.inf, -math.inf)
            for triangle in range(2 * chunk, 2 * end):
                if width(points, pairs, p, triangle) <= widest[p, triangle]:
                    i = triangle >> 1
                    box = stretch_box(points, b, i, i + 1, stretch_box(points, a, i, i + 1, box))
            near = 0
            if box[0] <= box[1]:
                near = gather_points(
                    box, reach[0], mine, low, inv_cell, dims, starts, order, sorted_points, numbers, buffer
                )
            for triangle in range(2 * chunk, 2 * end):
                firsts[p, triangle] = total
                if near > 0 and width(points, pairs, p, triangle) <= widest[p, triangle]:
                    total = list_vertices(
                        points, along_segment, pairs, p, triangle, reach, near, numbers, buffer, total,
                        found,
                    )  # fmt: skip
        firsts[p, widest.shape[1]] = total
        count[p] = total
