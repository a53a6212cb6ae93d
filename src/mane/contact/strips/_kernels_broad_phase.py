"""Which parts of the hair may meet soon: segments and segments, vertices and triangles.

A few neighbouring segments of a strand, or of a strip, ask together: whatever lies in their common box comes
out of a grid of cells into columns side by side, against which each of them is then tested in lanes, without branches.
All of it is in float32, relative to the first root, and finds a little more than there is.
"""

# mypy: allow-untyped-defs

import math

from mane.contact.strips._kernels import FASTMATH, LEAST_SCALE, kernel
from mane.contact.strips._kernels_table import PLANE, exact_at, fill_planes
from mane.simd.f32x16 import (
    WIDTH,
    compress_indices,
    compress_numbers,
    copy_numbers,
    fill_numbers,
    first_lanes,
    gather_fours,
    load,
)
from mane.simd.jit import get_thread_id, inline, njit, prange
from mane.simd.math import absolute, maximum, minimum
from mane.simd.memory import store, use_wide_registers

CHUNK = 2  # segments that ask together
# What is known of vertices and segments, and of what has been gathered: strand, centre, unit vector along the hair,
# half the length.
STRAND, CENTRE, ALONG, HALF, ROW = 0, 1, 4, 7, 8
# Columns of what is sorted into cells: strand, centre, size of half the box.
SIZE, COLUMNS = 4, 7
LOOSE = 1e-4  # by which the cosine of two directions may be off in float32, and then some
NOWHERE = (math.inf, -math.inf, math.inf, -math.inf, math.inf, -math.inf)


@kernel
def is_somewhere(rows, row):
    """Whether a centre is made of finite numbers."""
    return abs(rows[row, CENTRE]) + abs(rows[row, CENTRE + 1]) + abs(rows[row, CENTRE + 2]) < math.inf


@kernel
def list_vertices(points, along_vertex, enabled, rows):
    """Fill rows of every vertex (G V, ROW) relative to the first root; strand -1 where not enabled (G,), or nowhere."""
    vertices = points.shape[1]
    for g in range(points.shape[0]):
        for v in range(vertices):
            row = g * vertices + v
            rows[row, HALF] = 0.0
            for axis in range(3):
                rows[row, CENTRE + axis] = points[g, v, axis] - points[0, 0, axis]
                rows[row, ALONG + axis] = along_vertex[row, axis]
            rows[row, STRAND] = g if enabled[g] and is_somewhere(rows, row) else -1


@kernel
def list_segments(points, along_segment, enabled, rows):
    """The same for every segment, in the row of its first vertex, none in the last; returns the longest half."""
    vertices = points.shape[1]
    longest = 0.0
    for g in range(points.shape[0]):
        for v in range(vertices):
            row = g * vertices + v
            rows[row, STRAND] = -1
            if not enabled[g] or v == vertices - 1:
                continue
            square = 0.0
            for axis in range(3):
                edge = points[g, v + 1, axis] - points[g, v, axis]
                square += edge * edge
                rows[row, CENTRE + axis] = points[g, v, axis] + 0.5 * edge - points[0, 0, axis]
                rows[row, ALONG + axis] = along_segment[g, v, axis]
            rows[row, HALF] = 0.5 * math.sqrt(square)
            if is_somewhere(rows, row):
                rows[row, STRAND] = g
                longest = max(longest, 0.5 * math.sqrt(square))
    return longest


@kernel
def lay_cells(rows, cell, low, dims, starts):
    """Fill the lowest corner and the number of cells of a grid around `rows`; returns the size of a cell.

    That is at least `cell` [m], and so large that there are no more cells than `starts` has room for.
    """
    high = (-math.inf, -math.inf, -math.inf)
    low[:] = math.inf
    for k in range(rows.shape[0]):
        if rows[k, STRAND] >= 0.0:
            x, y, z = rows[k, CENTRE], rows[k, CENTRE + 1], rows[k, CENTRE + 2]
            low[0], low[1], low[2] = min(low[0], x), min(low[1], y), min(low[2], z)
            high = (max(high[0], x), max(high[1], y), max(high[2], z))
    if low[0] > high[0]:
        low[:] = 0.0
        high = (0.0, 0.0, 0.0)
    while True:
        x, y, z = (high[0] - low[0]) / cell + 1.0, (high[1] - low[1]) / cell + 1.0, (high[2] - low[2]) / cell + 1.0
        if x * y * z < starts.shape[0]:
            dims[0], dims[1], dims[2] = int(x), int(y), int(z)
            return cell
        cell *= 2.0


@kernel
def sort_into_cells(rows, cell, low, dims, starts, place, order, columns, sorted_rows):
    """Counting sort of `rows` (K, ROW) by cell, x fastest, those of a strand -1 left out; returns cells per metre.

    Elements of cell c are `order[starts[c]:starts[c + 1]]`, by number. `columns` and `sorted_rows` take them in that
    order.
    """
    inv_cell = 1.0 / lay_cells(rows, cell, low, dims, starts)
    cells = dims[0] * dims[1] * dims[2]
    starts[: cells + 1] = 0
    for k in range(rows.shape[0]):
        place[k] = -1
        if rows[k, STRAND] >= 0.0:
            at = 0
            for axis in range(2, -1, -1):
                along = int((rows[k, CENTRE + axis] - low[axis]) * inv_cell)
                at = at * dims[axis] + min(max(along, 0), dims[axis] - 1)
            place[k] = at
            starts[at + 1] += 1
    for c in range(cells):
        starts[c + 1] += starts[c]
    total = starts[cells]
    stride = columns.shape[0] // COLUMNS
    for k in range(rows.shape[0] - 1, -1, -1):
        if place[k] >= 0:
            starts[place[k] + 1] -= 1
            n = starts[place[k] + 1]
            order[n] = k
            for c in range(ROW):
                sorted_rows[n, c] = rows[k, c]
            columns[STRAND * stride + n] = rows[k, STRAND]
            for axis in range(3):
                columns[(CENTRE + axis) * stride + n] = rows[k, CENTRE + axis]
                columns[(SIZE + axis) * stride + n] = rows[k, HALF] * abs(rows[k, ALONG + axis])
    # Every start has moved one place to the left; move them back.
    for c in range(cells):
        starts[c] = starts[c + 1]
    starts[cells] = total
    return inv_cell


@kernel
def stretch_box(points, g, first, last, box):
    """Widen a box `(x0, x1, y0, y1, z0, z1)`, relative to the first root, to hold vertices `first` to `last`."""
    x0, x1, y0, y1, z0, z1 = box
    ox, oy, oz = points[0, 0, 0], points[0, 0, 1], points[0, 0, 2]
    for v in range(first, last + 1):
        x, y, z = points[g, v, 0] - ox, points[g, v, 1] - oy, points[g, v, 2] - oz
        x0, x1, y0, y1, z0, z1 = min(x0, x), max(x1, x), min(y0, y), max(y1, y), min(z0, z), max(z1, z)
    return x0, x1, y0, y1, z0, z1


@kernel
def cells_between(first, last, low, inv_cell, count):
    """Cells along an axis that the coordinates `first` and `last` lie in, or the nearest to them."""
    return (
        min(max(int((first - low) * inv_cell), 0), count - 1),
        min(max(int((last - low) * inv_cell), 0), count - 1),
    )


@inline
def beyond_box(columns, stride, n, box):
    """How far the boxes of elements from `n` on are from a box along that axis where they are furthest; lanes."""
    x0, x1, y0, y1, z0, z1 = box
    x = load(columns, CENTRE * stride + n)
    y = load(columns, (CENTRE + 1) * stride + n)
    z = load(columns, (CENTRE + 2) * stride + n)
    beyond_x = maximum(x0 - x, x - x1) - load(columns, SIZE * stride + n)
    beyond_y = maximum(y0 - y, y - y1) - load(columns, (SIZE + 1) * stride + n)
    beyond_z = maximum(z0 - z, z - z1) - load(columns, (SIZE + 2) * stride + n)
    return maximum(beyond_x, maximum(beyond_y, beyond_z))


@inline
def gather(box, longest, strands, grid, near, numbers):
    """Put the elements of a grid that touch a box into columns and their numbers into a list; returns how many.

    None is of the strands `strands[0]` and `strands[1]`, nor of any before `strands[2]`; none is longer than `longest`
    to either side.
    """
    low, inv_cell, dims, starts, order, columns, rows = grid
    stride, room = columns.shape[0] // COLUMNS, near.shape[0] // ROW
    c0x, c1x = cells_between(box[0] - longest, box[1] + longest, low[0], inv_cell, dims[0])
    c0y, c1y = cells_between(box[2] - longest, box[3] + longest, low[1], inv_cell, dims[1])
    c0z, c1z = cells_between(box[4] - longest, box[5] + longest, low[2], inv_cell, dims[2])
    total = 0
    for kz in range(c0z, c1z + 1):
        for ky in range(c0y, c1y + 1):
            line = (kz * dims[1] + ky) * dims[0]
            last = starts[line + c1x + 1]
            for n in range(starts[line + c0x], last, WIDTH):
                strand = load(columns, STRAND * stride + n)
                mask = first_lanes(last - n) & (beyond_box(columns, stride, n, box) <= 0.0)
                mask = mask & (strand != strands[0]) & (strand != strands[1]) & (strand >= strands[2])
                total = compress_indices(mask, n, numbers, total)
    for k in range(0, total, WIDTH):
        _, x, y, z = gather_fours(rows, numbers, k, ROW, STRAND)
        ex, ey, ez, half = gather_fours(rows, numbers, k, ROW, ALONG)
        store(near, CENTRE * room + k, x)
        store(near, (CENTRE + 1) * room + k, y)
        store(near, (CENTRE + 2) * room + k, z)
        store(near, ALONG * room + k, ex)
        store(near, (ALONG + 1) * room + k, ey)
        store(near, (ALONG + 2) * room + k, ez)
        store(near, HALF * room + k, half)
    for k in range(total):
        numbers[k] = order[numbers[k]]
    return total


@inline
def enter(row, own, hits, count, total, own_out, other_out):
    """Sort the first `count` of `hits` and put them behind the `total` partners that a row has; returns their number.

    That goes on beyond the room there is.
    """
    for n in range(1, count):
        value = hits[n]
        place = n
        while place > 0 and hits[place - 1] > value:
            hits[place] = hits[place - 1]
            place -= 1
        hits[place] = value
    at = row * own_out.shape[1] + total
    if total + count + WIDTH <= own_out.shape[1]:
        for n in range(0, count, WIDTH):
            fill_numbers(own, own_out, at + n)
            copy_numbers(hits, n, other_out, at + n)
    return total + count


@inline
def meet_segments(bar, reach, total, near, numbers, hits):
    """List those of the first `total` segments in columns that come within `reach` of one, and cross it.

    Segments are apart where they are apart along either of them, or across both.
    """
    room = near.shape[0] // ROW
    x, y, z = bar[CENTRE], bar[CENTRE + 1], bar[CENTRE + 2]
    dx, dy, dz, half = bar[ALONG], bar[ALONG + 1], bar[ALONG + 2], bar[HALF]
    count = 0
    for k in range(0, total, WIDTH):
        rx = load(near, CENTRE * room + k) - x
        ry = load(near, (CENTRE + 1) * room + k) - y
        rz = load(near, (CENTRE + 2) * room + k) - z
        ex, ey = load(near, ALONG * room + k), load(near, (ALONG + 1) * room + k)
        ez, other_half = load(near, (ALONG + 2) * room + k), load(near, HALF * room + k)
        cosine = absolute(ex * dx + ey * dy + ez * dz)
        apart = absolute(rx * dx + ry * dy + rz * dz) - cosine * other_half - half
        other_apart = absolute(rx * ex + ry * ey + rz * ez) - cosine * half - other_half
        nx, ny, nz = ez * dy - ey * dz, ex * dz - ez * dx, ey * dx - ex * dy
        height = rx * nx + ry * ny + rz * nz
        mask = (maximum(apart, other_apart) <= reach) & (cosine <= 1.0 - LEAST_SCALE + LOOSE)
        mask = mask & (height * height <= (nx * nx + ny * ny + nz * nz) * (reach * reach)) & first_lanes(total - k)
        count = compress_numbers(mask, numbers, k, hits, count)
    return count


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def find_segments(points, enabled, bars, longest, grid, reach, near, numbers, hits, count, own, other):
    """List, for every strand g, segments of strands after it that cross its own within `reach`.

    `bars` and `grid` as `list_segments` and `sort_into_cells` leave them. Row g of `own` and `other` (G, C) takes own
    segment and the first vertex of the other, strand * V + segment, sorted. `count` (G,) goes beyond C where there was
    no room. `near`, `numbers` and `hits` (T, .) are for T threads.
    """
    vertices = points.shape[1]
    for g in prange(points.shape[0]):
        use_wide_registers()
        total = 0
        thread = get_thread_id()
        for chunk in range(0, vertices - 1 if enabled[g] else 0, CHUNK):
            end = min(chunk + CHUNK, vertices - 1)
            x0, x1, y0, y1, z0, z1 = stretch_box(points, g, chunk, end, NOWHERE)
            box = (x0 - reach, x1 + reach, y0 - reach, y1 + reach, z0 - reach, z1 + reach)
            around = gather(box, longest, (-1.0, -1.0, g + 1.0), grid, near[thread], numbers[thread])
            for i in range(chunk, end):
                met = meet_segments(bars[g * vertices + i], reach, around, near[thread], numbers[thread], hits[thread])
                total = enter(g, i, hits[thread], met, total, own, other)
        count[g] = total


@inline
def meet_triangle(plane, along, across, reach, total, near, numbers, hits):
    """List those of the first `total` vertices in columns that are over a triangle or close beside it, and cross it.

    `plane` as `fill_planes` leaves it to the broad phase; the hair of the triangle is `along` at its first edge,
    changed by `across` on the way to the third corner.
    """
    room = near.shape[0] // ROW
    count = 0
    for k in range(0, total, WIDTH):
        x, y = load(near, CENTRE * room + k), load(near, (CENTRE + 1) * room + k)
        z = load(near, (CENTRE + 2) * room + k)
        height = absolute(x * plane[0] + y * plane[1] + z * plane[2] - plane[3])
        b1 = x * plane[4] + y * plane[5] + z * plane[6] + plane[7]
        b2 = x * plane[8] + y * plane[9] + z * plane[10] + plane[11]
        share = minimum(maximum(b2, 0.0), 1.0)
        ex, ey, ez = share * across[0] + along[0], share * across[1] + along[1], share * across[2] + along[2]
        dot = ex * load(near, ALONG * room + k) + ey * load(near, (ALONG + 1) * room + k)
        dot = dot + ez * load(near, (ALONG + 2) * room + k)
        size = (ex * ex + ey * ey + ez * ez) * (1.0 - LEAST_SCALE + LOOSE) ** 2
        mask = first_lanes(total - k) & (height <= reach) & (b1 >= plane[12]) & (b2 >= plane[13])
        mask = mask & (1.0 - b1 - b2 >= plane[14]) & (dot * dot <= size)
        count = compress_numbers(mask, numbers, k, hits, count)
    return count


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def find_faces(
    points, columns, along_segment, pairs, widest, grid, reach, near, numbers, hits, planes, exact, count, own, other
):
    """List, for every pair p, vertices of other strands within `reach` of its triangles whose hair crosses them.

    `reach` [m] is how far above or below a triangle they may be, and how far beside it. Triangles longer across than
    `widest` (P, 2 N) [m] are left out. `columns` as `lay_out_points` leaves them, `grid` of vertices. Row p of `own`
    and `other` (P, C) takes triangle and vertex, as strand * V + vertex, sorted; all else as in `find_segments`.
    """
    vertices = points.shape[1]
    for p in prange(pairs.shape[0]):
        use_wide_registers()
        total = 0
        thread = get_thread_id()
        a, b = pairs[p, 0], pairs[p, 1]
        fill_planes(columns, a, b, vertices, 0.0, reach[1], planes[thread], exact[thread])
        for chunk in range(0, vertices - 1, CHUNK):
            end = min(chunk + CHUNK, vertices - 1)
            is_there = False
            for triangle in range(2 * chunk, 2 * end):
                is_there |= exact_at(exact[thread], 9, triangle) <= widest[p, triangle]
            if not is_there:
                continue
            x0, x1, y0, y1, z0, z1 = stretch_box(points, b, chunk, end, stretch_box(points, a, chunk, end, NOWHERE))
            up = reach[0]
            box = (x0 - up, x1 + up, y0 - up, y1 + up, z0 - up, z1 + up)
            around = gather(box, 0.0, (float(a), float(b), 0.0), grid, near[thread], numbers[thread])
            for triangle in range(2 * chunk, 2 * end):
                if exact_at(exact[thread], 9, triangle) <= widest[p, triangle]:
                    first, third = (a, b) if triangle & 1 == 0 else (b, a)
                    s, t = along_segment[first, triangle >> 1], along_segment[third, triangle >> 1]
                    met = meet_triangle(
                        planes[thread, triangle * PLANE : (triangle + 1) * PLANE],
                        (s[0], s[1], s[2]), (t[0] - s[0], t[1] - s[1], t[2] - s[2]),
                        up, around, near[thread], numbers[thread], hits[thread],
                    )  # fmt: skip
                    total = enter(p, triangle, hits[thread], met, total, own, other)
        count[p] = total
