"""Numba kernels that draw strands: bin segments into tiles, sort each tile by depth, blend front to back.

A tile is a square of samples that one task owns, and its segments are sorted by depth and then by geometry, so that the
picture depends neither on the thread count nor on the order of the strands. A segment is known by its first point.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import numpy as np

from mane.simd.jit import njit, prange
from mane.simd.memory import prefetch_read

FASTMATH = {"reassoc", "contract", "arcp", "nsz", "afn"}
OPAQUE = np.float32(0.003)  # what shows through less than this cannot be seen
ROOT, TIP = 1, 2  # marks of a segment that begins or ends a strand
WIDE, POINT = 3, 4  # place of the width among the numbers of a point, and how many these are
AHEAD = 12  # segments of a tile lie all over memory, and are asked for this many before they are drawn


@njit(cache=True, error_model="numpy", parallel=True)
def farthest_solids(nearness, block, farthest):
    """Fill `farthest` (rows, columns) with the smallest nearness in each square of `block` samples."""
    height, width = nearness.shape
    for row in prange(farthest.shape[0]):
        for column in range(farthest.shape[1]):
            smallest = np.float32(3.0e38)
            for y in range(row * block, min((row + 1) * block, height)):
                for x in range(column * block, min((column + 1) * block, width)):
                    smallest = min(smallest, nearness[y, x])
            farthest[row, column] = smallest


@njit(cache=True, error_model="numpy")
def _is_hidden(x, y, near, width, height, block, farthest):
    """Whether nothing within a block's side of a point can be seen: it is outside, or solids are before it."""
    if x < -block or y < -block or x >= width + block or y >= height + block:
        return True
    row = min(max(int(y), 0), height - 1) // block
    column = min(max(int(x), 0), width - 1) // block
    return near < farthest[row, column]


@njit(cache=True, error_model="numpy", parallel=True)
def find_seen(screen, wide, offsets, width, height, block, farthest, grazing, seen):
    """Fill `seen` (N,) with which points belong to a segment that may be seen: not outside, not behind solids only.

    `farthest` holds for each block of samples the smallest nearness of the solids in it and its neighbours. What a
    segment covers is at most half its length and its width from its nearer end; if that is less than a block's side
    and both ends are hidden, all of it is.
    """
    half = np.float32(0.5)
    for s in prange(offsets.shape[0] - 1):
        first, end = offsets[s], offsets[s + 1]
        for i in range(first, end):
            seen[i] = False
        for i in range(first, end - 1):
            ax, ay, bx, by = screen[i, 0], screen[i, 1], screen[i + 1, 0], screen[i + 1, 1]
            if screen[i, 2] <= 0 or screen[i + 1, 2] <= 0:
                continue
            reach = half * np.float32(math.sqrt((bx - ax) ** 2 + (by - ay) ** 2)) + max(wide[i], wide[i + 1])
            near = max(screen[i, 2], screen[i + 1, 2]) * grazing
            if (
                reach + np.float32(1.5) > block
                or not _is_hidden(ax, ay, near, width, height, block, farthest)
                or not _is_hidden(bx, by, near, width, height, block, farthest)
            ):
                seen[i], seen[i + 1] = True, True


@njit(cache=True, error_model="numpy")
def _tile_box(screen, seen, wide, i, width, height, tile):
    """First and last column and row of tiles that segment `i` may touch; last before first when it is not seen.

    Free of fastmath: counting and filling must come to the same answer.
    """
    if not (seen[i] and seen[i + 1]) or screen[i, 2] <= 0 or screen[i + 1, 2] <= 0:
        return 0, -1, 0, -1
    # The extent along an axis is at most sqrt(2) times the width, and a cell's own extent is added.
    reach = np.float32(0.75) * max(wide[i], wide[i + 1]) + np.float32(1.5)
    left = max(min(screen[i, 0], screen[i + 1, 0]) - reach, np.float32(0.0))
    right = min(max(screen[i, 0], screen[i + 1, 0]) + reach, np.float32(width - 1))
    top = max(min(screen[i, 1], screen[i + 1, 1]) - reach, np.float32(0.0))
    bottom = min(max(screen[i, 1], screen[i + 1, 1]) + reach, np.float32(height - 1))
    if left > right or top > bottom:
        return 0, -1, 0, -1
    return int(left) // tile, int(right) // tile, int(top) // tile, int(bottom) // tile


@njit(cache=True, error_model="numpy", parallel=True)
def count_items(screen, seen, wide, offsets, width, height, tile, counts):
    """Fill `counts` (chunks, tiles) with how many segments of each chunk of strands touch each tile."""
    chunks = counts.shape[0]
    strands = offsets.shape[0] - 1
    columns = (width + tile - 1) // tile
    for chunk in prange(chunks):
        counts[chunk] = 0
        for s in range(chunk * strands // chunks, (chunk + 1) * strands // chunks):
            for i in range(offsets[s], offsets[s + 1] - 1):
                left, right, top, bottom = _tile_box(screen, seen, wide, i, width, height, tile)
                for row in range(top, bottom + 1):
                    for column in range(left, right + 1):
                        counts[chunk, row * columns + column] += 1


@njit(cache=True, error_model="numpy")
def _depth_key(screen, i, left, top, side, nearest, per_nearness):
    """Depth of the part of segment `i` inside a tile as a whole number that grows away from the eye."""
    x, y = screen[i, 0], screen[i, 1]
    dx, dy = screen[i + 1, 0] - x, screen[i + 1, 1] - y
    low, high = np.float32(0.0), np.float32(1.0)
    if dx != 0:
        a, b = (left - x) / dx, (left + side - x) / dx
        low, high = max(low, min(a, b)), min(high, max(a, b))
    if dy != 0:
        a, b = (top - y) / dy, (top + side - y) / dy
        low, high = max(low, min(a, b)), min(high, max(a, b))
    middle = min(max(np.float32(0.5) * (low + high), np.float32(0.0)), np.float32(1.0))
    nearness = screen[i, 2] + middle * (screen[i + 1, 2] - screen[i, 2])
    return np.uint64(min(max((nearest - nearness) * per_nearness, 0.0), 4294967295.0))


@njit(cache=True, error_model="numpy", parallel=True)
def fill_items(
    screen, seen, wide, offsets, width, height, tile, first_tile, end_tile, nearest, per_nearness, places, items
):  # fmt: skip
    """Fill `items` with depth (high half) and segment (low half) for the tiles `first_tile:end_tile`.

    `places` (chunks, tiles) says where each chunk's first item of each tile goes, and is used up.
    """
    chunks = places.shape[0]
    strands = offsets.shape[0] - 1
    columns = (width + tile - 1) // tile
    first_row, last_row = first_tile // columns, (end_tile - 1) // columns
    for chunk in prange(chunks):
        for s in range(chunk * strands // chunks, (chunk + 1) * strands // chunks):
            for i in range(offsets[s], offsets[s + 1] - 1):
                left, right, top, bottom = _tile_box(screen, seen, wide, i, width, height, tile)
                for row in range(max(top, first_row), min(bottom, last_row) + 1):
                    for column in range(left, right + 1):
                        number = row * columns + column
                        if number < first_tile or number >= end_tile:
                            continue
                        key = _depth_key(
                            screen, i, np.float32(column * tile), np.float32(row * tile), np.float32(tile), nearest,
                            per_nearness,
                        )  # fmt: skip
                        place = places[chunk, number - first_tile]
                        items[place] = (key << np.uint64(32)) | np.uint64(i)
                        places[chunk, number - first_tile] = place + 1


@njit(cache=True, error_model="numpy")
def _before(points, color, a, b):
    """Whether segment `a` goes before `b` of the same depth: by everything that can be seen of them."""
    for i, j in ((a, b), (a + 1, b + 1)):
        for c in range(3):
            if points[i, c] != points[j, c]:
                return points[i, c] > points[j, c] if c == 2 else points[i, c] < points[j, c]
        for c in range(3):
            if color[i, c] != color[j, c]:
                return color[i, c] < color[j, c]
        if points[i, WIDE] != points[j, WIDE]:
            return points[i, WIDE] < points[j, WIDE]
    return False


@njit(cache=True, error_model="numpy")
def _sink(points, color, items, start, count, root):
    """Restore the heap below `root`; the segment that goes last is on top."""
    low = np.uint64(0xFFFFFFFF)
    while True:
        child = 2 * root + 1
        if child >= count:
            return
        if child + 1 < count and _before(
            points, color, np.int64(items[start + child] & low), np.int64(items[start + child + 1] & low)
        ):
            child += 1
        if not _before(points, color, np.int64(items[start + root] & low), np.int64(items[start + child] & low)):
            return
        items[start + root], items[start + child] = items[start + child], items[start + root]
        root = child


@njit(cache=True, error_model="numpy")
def sort_tile(points, color, items, start, end):
    """Sort the items of one tile by depth, and those of equal depth by geometry (a heap sort: no worst case)."""
    items[start:end].sort()
    run = start
    for k in range(start + 1, end + 1):
        if k < end and items[k] >> np.uint64(32) == items[run] >> np.uint64(32):
            continue
        count = k - run
        if count > 1:
            for root in range(count // 2 - 1, -1, -1):
                _sink(points, color, items, run, count, root)
            for last in range(count - 1, 0, -1):
                items[run], items[run + last] = items[run + last], items[run]
                _sink(points, color, items, run, last, 0)
        run = k


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _draw_segment(
    points, color, opacity, i, ends, left, top, columns, rows, solid, grazing, clear, light
):  # fmt: skip
    """Put one segment behind what the tile already holds; return how many samples became opaque, and whether it shows.

    Each column (or row, for a steep segment) of samples that the segment crosses is covered to the extent that it
    crosses it: the share of the column along, and across the exact overlap of the line with each sample. So the sum
    over all samples is the line's area, at any angle and offset. Where two segments of a strand share a column, their
    shares enter as exponents, so that together they cover what one segment through the whole column would.
    """
    zero, half, one = np.float32(0.0), np.float32(0.5), np.float32(1.0)
    x0, y0, x1, y1 = points[i, 0] - left, points[i, 1] - top, points[i + 1, 0] - left, points[i + 1, 1] - top
    majors, minors = columns, rows
    steep = abs(y1 - y0) > abs(x1 - x0)
    if steep:
        x0, y0, x1, y1 = y0, x0, y1, x1
        majors, minors = minors, majors
    run = x1 - x0
    if run == zero:
        return 0, False
    inverse = one / run
    slope = (y1 - y0) * inverse
    lengthening = np.float32(math.sqrt(one + slope * slope))
    near0, near1 = points[i, 2] * grazing, points[i + 1, 2] * grazing
    low, high = max(min(x0, x1), zero), min(max(x0, x1), np.float32(majors))
    closed, is_touched, channels = 0, False, min(len(light), 3)
    for step in range(int(low), min(int(math.ceil(high)), majors)):
        a, b = max(low, np.float32(step)), min(high, np.float32(step + 1))
        share = b - a
        if share <= zero:
            continue
        t = min(max((half * (a + b) - x0) * inverse, zero), one)
        # A strand's own end really is an end; elsewhere the neighbour covers the rest of the column.
        is_end = (ends & ROOT and math.floor(x0) == step) or (ends & TIP and math.floor(x1) == step)
        extent = (points[i, WIDE] + t * (points[i + 1, WIDE] - points[i, WIDE])) * lengthening
        fullest = min(extent, one)
        reach = half * (one + extent)
        middle = y0 + t * (y1 - y0) - half
        near = near0 + t * (near1 - near0)
        first = max(int(math.ceil(max(middle - reach, zero))), 0)
        last = min(int(math.floor(min(middle + reach, np.float32(minors)))), minors - 1)
        for minor in range(first, last + 1):
            sample = minor * columns + step
            if steep:
                sample = step * columns + minor
            through = clear[sample]
            if through == zero or near < solid[sample]:
                continue
            alpha = min(max(reach - abs(np.float32(minor) - middle), zero), fullest) * opacity
            if share < one:
                alpha = share * alpha if is_end else one - np.float32((one - alpha) ** share)
            weight = through * alpha
            is_touched = True
            for c in range(channels):
                light[3 * sample + c] += weight * (color[i, c] + t * (color[i + 1, c] - color[i, c]))
            through -= weight
            if through < OPAQUE:
                through = zero
                closed += 1
            clear[sample] = through
    return closed, is_touched


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _resolve(light, clear, solid_light, solid_cover, left, top, right, bottom, supersample, image):
    """Average the samples of a tile over the pixels of `image` (H, W, 4): hair over solids, premultiplied."""
    stride = right - left
    inverse = np.float32(1.0) / np.float32(supersample * supersample)
    for row in range(top // supersample, bottom // supersample):
        for column in range(left // supersample, right // supersample):
            for c in range(4):
                total = np.float32(0.0)
                for y in range(row * supersample, (row + 1) * supersample):
                    for x in range(column * supersample, (column + 1) * supersample):
                        sample = (y - top) * stride + x - left
                        through = clear[sample]
                        if c < 3:
                            total += light[3 * sample + c] + through * solid_light[y, x, c]
                        else:
                            total += np.float32(1.0) - through * (np.float32(1.0) - solid_cover[y, x])
                image[row, column, c] = total * inverse


@njit(cache=True, error_model="numpy")
def _keep_seen(seen, items, start, end):
    """Move the items of segments that are seen to the front of `items[start:end]`; returns where they end."""
    kept = start
    for j in range(start, end):
        i = np.int64(items[j] & np.uint64(0xFFFFFFFF))
        if seen[i] and seen[i + 1]:
            items[kept] = items[j]
            kept += 1
    return kept


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def draw_tiles(
    points, color, seen, opacity, ends, items, tile_start, order, first_tile, tile, supersample, grazing,
    solid_nearness, solid_light, solid_cover, touched, clear_share, image,
):  # fmt: skip
    """Sort and draw the tiles from `first_tile` on; `items[tile_start[k]:tile_start[k + 1]]` are the k-th one's.

    `points` (N, 4) are column, row, nearness and width [samples]. `ends` (N,) marks each segment with `ROOT` and `TIP`;
    `order` (tiles,) is the order of work. `solid_*` hold the solids per sample; a solid hides what is behind it. Fills
    `image` (H, W, 4), or, where that is empty, `touched` (N,) with which points belong to a segment that shows and
    `clear_share` (rows, columns) with what of each sample the hair leaves open, for which no colours are needed.
    """
    height, width = solid_nearness.shape
    columns = (width + tile - 1) // tile
    low, depth = np.uint64(0xFFFFFFFF), np.uint64(32)
    is_drawn = image.shape[0] > 0
    numbers, colors = points.reshape(-1), color.reshape(-1)
    for k in prange(order.shape[0]):
        number = order[k]
        left, top = (first_tile + number) % columns * tile, (first_tile + number) // columns * tile
        right, bottom = min(left + tile, width), min(top + tile, height)
        count = (right - left) * (bottom - top)
        clear = np.ones(count, np.float32)
        light = np.zeros(3 * count if is_drawn else 0, np.float32)
        start, end = tile_start[number], tile_start[number + 1]
        if end > start:
            solid = np.empty(count, np.float32)
            for y in range(top, bottom):
                for x in range(left, right):
                    solid[(y - top) * (right - left) + x - left] = solid_nearness[y, x]
            end = _keep_seen(seen, items, start, end)
            sort_tile(points, color, items, start, end)
            still_open, was_touched = count, False
            for j in range(start, end):
                i = np.int64(items[j] & low)
                ahead = np.int64(items[min(j + AHEAD, end - 1)] & low)
                prefetch_read(numbers, POINT * ahead)
                if is_drawn:
                    prefetch_read(colors, 3 * ahead)
                closed, is_touched = _draw_segment(
                    points, color, opacity, i, ends[i], np.float32(left), np.float32(top), right - left,
                    bottom - top, solid, grazing, clear, light,
                )  # fmt: skip
                still_open -= closed
                if is_drawn:
                    if still_open == 0:
                        break
                    continue
                # Of segments in one place any may come first once their colours are known.
                is_touched = is_touched or (was_touched and items[j] >> depth == items[j - 1] >> depth)
                if is_touched:
                    touched[i] = touched[i + 1] = True
                elif still_open == 0:
                    break
                was_touched = is_touched
        if is_drawn:
            _resolve(light, clear, solid_light, solid_cover, left, top, right, bottom, supersample, image)
        else:
            for y in range(top, bottom):
                for x in range(left, right):
                    clear_share[y, x] = clear[(y - top) * (right - left) + x - left]
