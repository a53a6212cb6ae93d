"""Numba kernels that draw strands: bin segments into tiles, sort each tile by depth, blend front to back.

A tile is a square of samples that one task owns, and its segments are sorted by depth and then by geometry, so that the
picture depends neither on the thread count nor on the order of the strands. A segment is known by its first point.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import numpy as np

from mane.simd import f32x16
from mane.simd.jit import leaf, njit, prange
from mane.simd.masks import select
from mane.simd.math import absolute, maximum, minimum
from mane.simd.memory import prefetch_read, store, use_wide_registers

FASTMATH = {"reassoc", "contract", "arcp", "nsz", "afn"}
OPAQUE = np.float32(0.003)  # what shows through less than this cannot be seen
ROOT, TIP = 1, 2  # marks of a segment that begins or ends a strand
WIDE, POINT = 3, 4  # place of the width among the numbers of a point, and how many these are
AHEAD = 12  # segments of a tile lie all over memory, and are asked for this many before they are drawn
BLOCKS = 8  # along each side of a tile; a segment that no open block can show is not drawn
NEVER = np.float32(3.0e38)  # a nearness that no hair has
SLANTED = np.float32(0.7072)  # a line reaches at most so many times its width to either side, along an axis
LANES = f32x16.WIDTH  # columns (or rows) of samples that are worked on at once
STEPS = np.arange(LANES, dtype=np.float32)
ROUNDER = np.float32(1.5 * 2.0**23)  # a float32 this large has no fraction
# Where each lane's numbers are between the arithmetic and the samples: covered share, sample, place along the segment,
# nearness, share of the column.
ALPHA, SAMPLE, ALONG, NEAR, SHARE, SCRATCH = (number * LANES for number in range(6))
ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
LEAST = np.float32(1e-30)


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


@leaf()
def _is_hidden(x, y, near, width, height, block, farthest):
    """Whether nothing within a block's side of a point can be seen: it is outside, or solids are before it."""
    if x < -block or y < -block or x >= width + block or y >= height + block:
        return True
    row = min(max(int(y), 0), height - 1) // block
    column = min(max(int(x), 0), width - 1) // block
    return near < farthest[row, column]


@njit(cache=True, error_model="numpy", parallel=True)
def find_seen(points, offsets, width, height, block, farthest, grazing, seen):
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
            ax, ay, bx, by = points[i, 0], points[i, 1], points[i + 1, 0], points[i + 1, 1]
            if points[i, 2] <= 0 or points[i + 1, 2] <= 0:
                continue
            reach = half * np.float32(math.sqrt((bx - ax) ** 2 + (by - ay) ** 2)) + max(
                points[i, WIDE], points[i + 1, WIDE]
            )
            near = max(points[i, 2], points[i + 1, 2]) * grazing
            if (
                reach + np.float32(1.5) > block
                or not _is_hidden(ax, ay, near, width, height, block, farthest)
                or not _is_hidden(bx, by, near, width, height, block, farthest)
            ):
                seen[i], seen[i + 1] = True, True


@leaf()
def _tile_box(points, seen, i, width, height, tile):
    """First and last column and row of tiles that segment `i` may touch; last before first when it is not seen.

    Free of fastmath: counting and filling must come to the same answer.
    """
    if not (seen[i] and seen[i + 1]) or points[i, 2] <= 0 or points[i + 1, 2] <= 0:
        return 0, -1, 0, -1
    # The extent along an axis is at most sqrt(2) times the width, and a cell's own extent is added.
    reach = np.float32(0.75) * max(points[i, WIDE], points[i + 1, WIDE]) + np.float32(1.5)
    left = max(min(points[i, 0], points[i + 1, 0]) - reach, np.float32(0.0))
    right = min(max(points[i, 0], points[i + 1, 0]) + reach, np.float32(width - 1))
    top = max(min(points[i, 1], points[i + 1, 1]) - reach, np.float32(0.0))
    bottom = min(max(points[i, 1], points[i + 1, 1]) + reach, np.float32(height - 1))
    if left > right or top > bottom:
        return 0, -1, 0, -1
    return int(left) // tile, int(right) // tile, int(top) // tile, int(bottom) // tile


@njit(cache=True, error_model="numpy", parallel=True)
def count_items(points, seen, offsets, width, height, tile, counts, nearest, farthest):
    """Fill `counts` (chunks, tiles) with how many segments of each chunk of strands touch each tile.

    Fills `nearest` and `farthest` (chunks,) with the extremes of the nearness of points before the eye.
    """
    chunks = counts.shape[0]
    strands = offsets.shape[0] - 1
    columns = (width + tile - 1) // tile
    for chunk in prange(chunks):
        counts[chunk] = 0
        nearest[chunk], farthest[chunk] = ZERO, NEVER
        for s in range(chunk * strands // chunks, (chunk + 1) * strands // chunks):
            for i in range(offsets[s], offsets[s + 1] - 1):
                left, right, top, bottom = _tile_box(points, seen, i, width, height, tile)
                for row in range(top, bottom + 1):
                    for column in range(left, right + 1):
                        counts[chunk, row * columns + column] += 1
            for i in range(offsets[s], offsets[s + 1]):
                if points[i, 2] > 0:
                    nearest[chunk], farthest[chunk] = (
                        max(nearest[chunk], points[i, 2]),
                        min(farthest[chunk], points[i, 2]),
                    )


@leaf()
def _depth_key(points, i, left, top, side, nearest, per_nearness):
    """Depth of the part of segment `i` inside a tile as a whole number that grows away from the eye."""
    x, y = points[i, 0], points[i, 1]
    dx, dy = points[i + 1, 0] - x, points[i + 1, 1] - y
    low, high = np.float32(0.0), np.float32(1.0)
    if dx != 0:
        a, b = (left - x) / dx, (left + side - x) / dx
        low, high = max(low, min(a, b)), min(high, max(a, b))
    if dy != 0:
        a, b = (top - y) / dy, (top + side - y) / dy
        low, high = max(low, min(a, b)), min(high, max(a, b))
    middle = min(max(np.float32(0.5) * (low + high), np.float32(0.0)), np.float32(1.0))
    nearness = points[i, 2] + middle * (points[i + 1, 2] - points[i, 2])
    return np.uint64(min(max((nearest - nearness) * per_nearness, 0.0), 4294967295.0))


@njit(cache=True, error_model="numpy", parallel=True)
def fill_items(
    points, seen, offsets, width, height, tile, first_tile, end_tile, nearest, per_nearness, places, items
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
                left, right, top, bottom = _tile_box(points, seen, i, width, height, tile)
                for row in range(max(top, first_row), min(bottom, last_row) + 1):
                    for column in range(left, right + 1):
                        number = row * columns + column
                        if number < first_tile or number >= end_tile:
                            continue
                        key = _depth_key(
                            points, i, np.float32(column * tile), np.float32(row * tile), np.float32(tile), nearest,
                            per_nearness,
                        )  # fmt: skip
                        place = places[chunk, number - first_tile]
                        items[place] = (key << np.uint64(32)) | np.uint64(i)
                        places[chunk, number - first_tile] = place + 1


@leaf()
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


@leaf()
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


@leaf()
def _is_sorted(items, start, end):
    k = start + 1
    while k < end and items[k - 1] <= items[k]:
        k += 1
    return k >= end


@njit(cache=True, error_model="numpy")
def sort_tile(points, color, items, start, end):
    """Sort the items of one tile by depth, and those of equal depth by geometry (a heap sort: no worst case)."""
    if not _is_sorted(items, start, end):
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


@leaf()
def _begin_tile(solid_nearness, left, top, right, bottom, tile, clear, solid, blocks, limits):
    """Open the samples of a tile, one row and column of closed ones around them, and its blocks.

    `clear` and `solid` (tile + 2 squared,) are what each sample lets through and the nearness of the solid there;
    `blocks` (BLOCKS squared,) counts a block's open samples, `limits` is the nearness that hair in it needs to be seen.
    """
    stride, side = tile + 2, tile // BLOCKS
    clear[:], solid[:], blocks[:], limits[:] = ZERO, NEVER, 0, NEVER
    for y in range(bottom - top):
        for x in range(right - left):
            near = solid_nearness[top + y, left + x]
            sample = (y + 1) * stride + x + 1
            clear[sample], solid[sample] = ONE, near
            block = y // side * BLOCKS + x // side
            blocks[block] += 1
            limits[block] = min(limits[block], near)


@leaf(fastmath=FASTMATH, forceinline=True)
def _may_show(points, i, left, top, per_sample, grazing, limits):
    """Whether any block that segment `i` may touch is open and has no solid before it; each half has its own box."""
    ax, ay, bx, by = points[i, 0] - left, points[i, 1] - top, points[i + 1, 0] - left, points[i + 1, 1] - top
    mx, my = HALF * (ax + bx), HALF * (ay + by)
    reach = SLANTED * max(points[i, WIDE], points[i + 1, WIDE])
    near = max(points[i, 2], points[i + 1, 2]) * grazing
    last = np.float32(BLOCKS - 1)
    for half in range(2):
        if half == 1:
            ax, ay = bx, by
        first_column = int(max((min(ax, mx) - reach) * per_sample, ZERO))
        last_column = int(min((max(ax, mx) + reach) * per_sample, last))
        first_row = int(max((min(ay, my) - reach) * per_sample, ZERO))
        last_row = int(min((max(ay, my) + reach) * per_sample, last))
        for row in range(first_row, last_row + 1):
            for column in range(first_column, last_column + 1):
                if near >= limits[row * BLOCKS + column]:
                    return True
    return False


@leaf(fastmath=FASTMATH, forceinline=True)
def _power(x, exponent):
    """x ** exponent for x from 1e-30 to 1, to 4e-6: the logarithm's and the exponential's series on bits."""
    bits = np.float32(x).view(np.int32)
    whole = np.float32((bits >> np.int32(23)) - np.int32(127))
    mantissa = np.int32((bits & np.int32(0x7FFFFF)) | np.int32(0x3F800000)).view(np.float32)
    root = np.float32(math.sqrt(2.0))
    s = (mantissa - root) / (mantissa + root)  # log2 m = 1/2 + 2 / ln 2 (s + s^3 / 3 + s^5 / 5 + s^7 / 7)
    q = s * s
    series = np.float32(2.885390082) + q * (
        np.float32(0.961796694) + q * (np.float32(0.577078016) + q * np.float32(0.412198583))
    )
    y = max(exponent * (whole + HALF + s * series), np.float32(-126.0))
    whole = np.float32(math.floor(y + HALF))
    r = (y - whole) * np.float32(math.log(2.0))
    sixth = np.float32(1.0 / 6.0)
    series = ONE + r * (ONE + r * (HALF + r * (sixth + r * (sixth / np.float32(4.0) + r * sixth / np.float32(20.0)))))
    return series * np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)


@leaf(fastmath=FASTMATH, forceinline=True)
def _share_column(scratch, lane, is_end):
    """Cover a lane's samples only as far as the segment crosses their column."""
    share = scratch[SHARE + lane]
    if share >= ONE:
        return
    if is_end:  # a strand's own end really is an end; elsewhere the neighbour covers the rest of the column
        scratch[ALPHA + lane] *= share
    else:
        scratch[ALPHA + lane] = ONE - _power(max(ONE - scratch[ALPHA + lane], LEAST), share)


@leaf(fastmath=FASTMATH, forceinline=True)
def _blend(scratch, count, color, i, stride, side, clear, solid, blocks, limits, light):
    """Put a sample of each lane behind what the tile holds; return how many became opaque, and whether any shows."""
    closed, is_touched = 0, False
    for lane in range(count):
        sample = np.int64(scratch[SAMPLE + lane])
        through = clear[sample]
        weight = through * scratch[ALPHA + lane]
        if weight == ZERO or scratch[NEAR + lane] < solid[sample]:
            continue
        is_touched = True
        if len(light):
            t = scratch[ALONG + lane]
            for c in range(3):
                light[3 * sample + c] += weight * (color[i, c] + t * (color[i + 1, c] - color[i, c]))
        through -= weight
        if through < OPAQUE:
            through = ZERO
            closed += 1
            block = (sample // stride - 1) // side * BLOCKS + (sample % stride - 1) // side
            blocks[block] -= 1
            if blocks[block] == 0:
                limits[block] = NEVER
        clear[sample] = through
    return closed, is_touched


@leaf(fastmath=FASTMATH)
def _draw_segment(
    points, color, opacity, i, ends, left, top, tile, grazing, clear, solid, blocks, limits, light, scratch
):  # fmt: skip
    """Put one segment behind what the tile already holds; return how many samples became opaque, and whether it shows.

    Each column (or row, for a steep segment) of samples that the segment crosses is covered to the extent that it
    crosses it: the share of the column along, and across the exact overlap of the line with each sample. So the sum
    over all samples is the line's area, at any angle and offset. Where two segments of a strand share a column, their
    shares enter as exponents, so that together they cover what one segment through the whole column would. Columns
    are lanes of vectors; a column's samples, two for a line thinner than one, follow one after the other.
    """
    use_wide_registers()
    x0, y0, x1, y1 = points[i, 0] - left, points[i, 1] - top, points[i + 1, 0] - left, points[i + 1, 1] - top
    along, across = ONE, np.float32(tile + 2)
    if abs(y1 - y0) > abs(x1 - x0):
        x0, y0, x1, y1 = y0, x0, y1, x1
        along, across = across, along
    run = x1 - x0
    if run == ZERO:
        return 0, False
    inverse = ONE / run
    slope = (y1 - y0) * inverse
    lengthening = np.float32(math.sqrt(ONE + slope * slope))
    near0, near1 = points[i, 2] * grazing, points[i + 1, 2] * grazing
    wide0, wide1 = points[i, WIDE] * lengthening, points[i + 1, WIDE] * lengthening
    side = np.float32(tile)
    low, high = max(min(x0, x1), ZERO), min(max(x0, x1), side)
    root = int(math.floor(x0)) if ends & ROOT and x0 >= ZERO and x0 < side else -1
    tip = int(math.floor(x1)) if ends & TIP and x1 >= ZERO and x1 < side else -1
    begin, end = int(low), min(int(math.ceil(high)), tile)
    minors = int(min(max(wide0, wide1), side)) + 2
    closed, is_touched = 0, False
    for start in range(begin, end, LANES):
        column = f32x16.load(STEPS, 0) + np.float32(start)
        a, b = maximum(column, low), minimum(column + ONE, high)
        t = minimum(maximum((HALF * (a + b) - x0) * inverse, ZERO), ONE)
        extent = wide0 + t * (wide1 - wide0)
        reach = HALF + HALF * extent
        middle = y0 + t * (y1 - y0) - HALF
        store(scratch, ALONG, t)
        store(scratch, NEAR, near0 + t * (near1 - near0))
        store(scratch, SHARE, b - a)
        lowest = maximum(minimum(middle - reach, side), -(ONE + ONE))
        row = (lowest + ROUNDER) - ROUNDER
        row = select(row < lowest, row + ONE, row)  # the first sample at or above the lower edge
        last = min(end - start, LANES) - 1
        for _ in range(minors):
            alpha = minimum(minimum(reach - absolute(row - middle), extent), ONE)
            store(scratch, ALPHA, maximum(alpha, ZERO) * opacity)
            place = (minimum(maximum(row, -ONE), side) + ONE) * across + (column + ONE) * along
            store(scratch, SAMPLE, place)
            row = row + ONE
            _share_column(scratch, 0, start in (root, tip))
            if last > 0:
                _share_column(scratch, last, start + last in (root, tip))
            now_closed, shows = _blend(
                scratch, last + 1, color, i, tile + 2, tile // BLOCKS, clear, solid, blocks, limits, light
            )
            closed += now_closed
            is_touched = is_touched or shows
    return closed, is_touched


@leaf(fastmath=FASTMATH)
def _resolve(light, clear, solid, solid_light, solid_cover, left, top, right, bottom, stride, supersample, image):
    """Average the samples of a tile over the pixels of `image` (H, W, 4): hair over solids, premultiplied."""
    inverse = ONE / np.float32(supersample * supersample)
    for row in range(top // supersample, bottom // supersample):
        for column in range(left // supersample, right // supersample):
            red, green, blue, cover = ZERO, ZERO, ZERO, ZERO
            for y in range(row * supersample, (row + 1) * supersample):
                for x in range(column * supersample, (column + 1) * supersample):
                    sample = (y - top + 1) * stride + x - left + 1
                    through = clear[sample]
                    red += light[3 * sample]
                    green += light[3 * sample + 1]
                    blue += light[3 * sample + 2]
                    cover += ONE - through
                    if solid[sample] > ZERO and through > ZERO:  # what is not read need not be there
                        red += through * solid_light[y, x, 0]
                        green += through * solid_light[y, x, 1]
                        blue += through * solid_light[y, x, 2]
                        cover += through * solid_cover[y, x]
            image[row, column, 0], image[row, column, 1] = red * inverse, green * inverse
            image[row, column, 2], image[row, column, 3] = blue * inverse, cover * inverse


@leaf()
def _keep_seen(seen, items, start, end):
    """Move the items of segments that are seen to the front of `items[start:end]`; returns where they end."""
    kept = start
    for j in range(start, end):
        i = np.int64(items[j] & np.uint64(0xFFFFFFFF))
        if seen[i] and seen[i + 1]:
            items[kept] = items[j]
            kept += 1
    return kept


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _draw_tile(
    points, color, opacity, ends, items, start, end, left, top, tile, supersample, grazing,
    solid_nearness, solid_light, solid_cover, touched, clear_share, image,
):  # fmt: skip
    """Draw the tile with its first sample at (`left`, `top`); `items[start:end]` are sorted."""
    low, depth = np.uint64(0xFFFFFFFF), np.uint64(32)
    is_drawn = image.shape[0] > 0
    right, bottom = min(left + tile, solid_nearness.shape[1]), min(top + tile, solid_nearness.shape[0])
    numbers, colors = points.reshape(-1), color.reshape(-1)
    stride, per_sample = tile + 2, np.float32(BLOCKS) / np.float32(tile)
    clear, solid = np.empty(stride * stride, np.float32), np.empty(stride * stride, np.float32)
    blocks, limits = np.empty(BLOCKS * BLOCKS, np.int32), np.empty(BLOCKS * BLOCKS, np.float32)
    light = np.zeros(3 * stride * stride if is_drawn else 0, np.float32)
    scratch = np.empty(SCRATCH, np.float32)
    _begin_tile(solid_nearness, left, top, right, bottom, tile, clear, solid, blocks, limits)
    still_open, was_touched = (right - left) * (bottom - top), False
    for j in range(start, end):
        i = np.int64(items[j] & low)
        ahead = np.int64(items[min(j + AHEAD, end - 1)] & low)
        prefetch_read(numbers, POINT * ahead)
        if is_drawn:
            prefetch_read(colors, 3 * ahead)
        closed, is_touched = 0, False
        if _may_show(points, i, np.float32(left), np.float32(top), per_sample, grazing, limits):
            closed, is_touched = _draw_segment(
                points, color, opacity, i, ends[i], np.float32(left), np.float32(top), tile, grazing, clear, solid,
                blocks, limits, light, scratch,
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
        _resolve(light, clear, solid, solid_light, solid_cover, left, top, right, bottom, stride, supersample, image)
    else:
        for y in range(top, bottom):
            for x in range(left, right):
                clear_share[y, x] = clear[(y - top + 1) * stride + x - left + 1]


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
    columns = (solid_nearness.shape[1] + tile - 1) // tile
    for k in prange(order.shape[0]):
        number = order[k]
        left, top = (first_tile + number) % columns * tile, (first_tile + number) // columns * tile
        start = tile_start[number]
        end = _keep_seen(seen, items, start, tile_start[number + 1])
        sort_tile(points, color, items, start, end)
        _draw_tile(
            points, color, opacity, ends, items, start, end, left, top, tile, supersample, grazing,
            solid_nearness, solid_light, solid_cover, touched, clear_share, image,
        )  # fmt: skip
