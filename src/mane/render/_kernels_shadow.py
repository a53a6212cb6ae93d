"""Numba kernels of the shadow maps: opacity shadow maps of the hair, depth maps of the solids.

Opacity is added up in whole numbers that stop at a largest one, so the sum depends neither on the order of the strands
nor on how they are shared out among threads.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import numpy as np

from mane.render._kernels_view import project_point
from mane.simd import f32x16
from mane.simd.jit import leaf, njit, prange
from mane.simd.masks import select
from mane.simd.memory import store, use_wide_registers

FASTMATH = {"contract", "nsz"}  # the answer for a point must not depend on its place in the array
UNITS = 262144.0  # whole numbers per unit of optical depth: a step of 4e-6, and room for 8192
FULLEST = np.uint32(0x7FFFFFFF)
MOST_STEPS = 512  # along one segment
CHUNK = 1024  # points that one task asks for
NO_SOLID = np.float32(3.0e38)  # depth where a map sees none
LANES = f32x16.WIDTH
DISTANCE, ACROSS, DOWN = 0, LANES, 2 * LANES  # of the taps of a disc
ROUNDER = np.float32(1.5 * 2.0**23)  # a float32 this large has no fraction


def _disc(count):
    """Places spread evenly over the unit disc: all distances from its middle, then all x, then all y, (3 LANES,)."""
    k = np.arange(LANES)
    distance, angle = np.sqrt((k + 0.5) / count), 2.399963 * k  # the golden angle
    return np.concatenate([distance, distance * np.cos(angle), distance * np.sin(angle)]).astype(np.float32)


# Where a soft shadow asks: for a surface, whose every sample is seen, and for hair, where neighbours blur it further.
# A disc fills the lanes of a vector, of which as many count as there are taps.
SURFACE_COUNT, HAIR_COUNT = LANES, 5
SURFACE_TAPS, HAIR_TAPS = _disc(SURFACE_COUNT), _disc(HAIR_COUNT)


@leaf(fastmath=FASTMATH)
def _see(px, py, pz, origin, axes, focal, centre_x, centre_y, perspective, smallest_depth):
    """Column, row, depth [m] and texels per metre of a point; no texels for one behind the light."""
    x, y, near = project_point(px, py, pz, origin, axes, focal, centre_x, centre_y, perspective, smallest_depth)
    if not perspective:
        return x, y, -near, focal
    if near <= 0:
        return x, y, np.float32(0.0), np.float32(0.0)
    return x, y, np.float32(1.0) / near, focal * near


@leaf(fastmath=FASTMATH, forceinline=True)
def _steps(ax, ay, a_depth, bx, by, b_depth, per_metre):
    """Into how many pieces a segment is cut: of less than 1.5 cells, since each is spread over two."""
    longest = max(abs(bx - ax), abs(by - ay), abs(b_depth - a_depth) * per_metre)
    return min(int(longest * np.float32(1.0 / 1.5)) + 1, MOST_STEPS)


@leaf(fastmath=FASTMATH)
def _first_hair(ax, ay, a_depth, bx, by, b_depth, per_metre, first):
    """Lower `first` (rows, columns) to the depth of a segment in the cells that it passes."""
    rows, columns = first.shape
    steps = _steps(ax, ay, a_depth, bx, by, b_depth, per_metre)
    inverse = np.float32(1.0) / np.float32(steps)
    for k in range(steps):
        t = (np.float32(k) + np.float32(0.5)) * inverse
        x, y = ax + t * (bx - ax), ay + t * (by - ay)
        if x >= 0 and y >= 0 and x < columns and y < rows:
            row, column = int(y), int(x)
            first[row, column] = min(first[row, column], a_depth + t * (b_depth - a_depth))


@leaf(forceinline=True)
def _add(opacity, cell, amount):
    """Add an amount, rounded, to a cell, up to the largest number."""
    opacity[cell] = min(opacity[cell] + np.uint32(np.int64(amount + np.float32(0.5))), FULLEST)


@leaf(fastmath=FASTMATH)
def _deposit_segment(ax, ay, a_depth, bx, by, b_depth, wide, first, per_metre, rows, columns, planes, opacity):
    """Spread the shadow of one segment, `wide` texels across, over the cells that it passes.

    `first` and `opacity` are flat. Each piece goes to the four columns of cells around its middle, in each to the cell
    at its depth; what lies between planes k and k + 1 is behind plane k and before plane k + 1.
    """
    zero, half, one, last = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(planes - 2)
    dx, dy = bx - ax, by - ay
    steps = _steps(ax, ay, a_depth, bx, by, b_depth, per_metre)
    inverse = one / np.float32(steps)
    across = np.float32(math.sqrt(dx * dx + dy * dy))
    share = min(across * wide * np.float32(UNITS) * inverse, np.float32(1.0e9))
    for k in range(steps):
        t = (np.float32(k) + half) * inverse
        x, y, depth = ax + t * dx - half, ay + t * dy - half, a_depth + t * (b_depth - a_depth)
        if not (x >= 0 and y >= 0 and x < columns - 1 and y < rows - 1):
            continue
        column, row = int(x), int(y)
        fx, fy = x - np.float32(column), y - np.float32(row)
        corner = row * columns + column
        upper, lower = share * (one - fy), share * fy
        a = int(min(max((depth - first[corner]) * per_metre, zero), last))
        b = int(min(max((depth - first[corner + 1]) * per_metre, zero), last))
        c = int(min(max((depth - first[corner + columns]) * per_metre, zero), last))
        d = int(min(max((depth - first[corner + columns + 1]) * per_metre, zero), last))
        cell = corner * planes + 1
        _add(opacity, cell + a, upper * (one - fx))
        _add(opacity, cell + planes + b, upper * fx)
        cell += columns * planes
        _add(opacity, cell + c, lower * (one - fx))
        _add(opacity, cell + planes + d, lower * fx)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def find_first_hair(
    points, offsets, origin, axes, focal, centre_x, centre_y, perspective, smallest_depth, per_metre, firsts
):  # fmt: skip
    """Lower `firsts` (parts, rows, columns) to the depth of the first hair in each cell, each part on its own."""
    parts = firsts.shape[0]
    strands = offsets.shape[0] - 1
    for part in prange(parts):
        first = firsts[part]
        for s in range(part * strands // parts, (part + 1) * strands // parts):
            bx, by, b_depth, b_scale = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for i in range(offsets[s], offsets[s + 1]):
                ax, ay, a_depth, a_scale = bx, by, b_depth, b_scale
                bx, by, b_depth, b_scale = _see(
                    points[i, 0], points[i, 1], points[i, 2], origin, axes, focal, centre_x, centre_y, perspective,
                    smallest_depth,
                )  # fmt: skip
                if i > offsets[s] and a_scale > 0 and b_scale > 0:
                    _first_hair(ax, ay, a_depth, bx, by, b_depth, per_metre, first)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def deposit_hair(
    points, width, offsets, origin, axes, focal, centre_x, centre_y, perspective, smallest_depth, first, per_metre,
    volumes,
):  # fmt: skip
    """Add the opacity of strands to `volumes` (parts, rows, columns, planes), each part of the strands to its own.

    The cell of plane `k` collects what lies between planes `k - 1` and `k`; plane 0, at the depth `first` (rows,
    columns) where a column's hair begins, stays empty.
    """
    parts, rows, columns, planes = volumes.shape
    strands = offsets.shape[0] - 1
    quarter = np.float32(0.25)
    starts = first.reshape(-1)
    for part in prange(parts):
        volume = volumes[part].reshape(-1)
        for s in range(part * strands // parts, (part + 1) * strands // parts):
            bx, by, b_depth, b_scale = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for i in range(offsets[s], offsets[s + 1]):
                ax, ay, a_depth, a_scale = bx, by, b_depth, b_scale
                bx, by, b_depth, b_scale = _see(
                    points[i, 0], points[i, 1], points[i, 2], origin, axes, focal, centre_x, centre_y, perspective,
                    smallest_depth,
                )  # fmt: skip
                if i > offsets[s] and a_scale > 0 and b_scale > 0:
                    wide = quarter * (a_scale + b_scale) * (width[i - 1] + width[i])
                    _deposit_segment(
                        ax, ay, a_depth, bx, by, b_depth, wide, starts, per_metre, rows, columns, planes, volume
                    )


@njit(cache=True, error_model="numpy", parallel=True)
def accumulate(volumes):
    """Turn the first of `volumes` (parts, rows, columns, planes) into the opacity before each plane, of all parts."""
    parts, rows, columns, planes = volumes.shape
    for row in prange(rows):
        for column in range(columns):
            total = np.uint64(0)
            for plane in range(planes):
                for part in range(parts):
                    total += np.uint64(volumes[part, row, column, plane])
                total = min(total, np.uint64(FULLEST))
                volumes[0, row, column, plane] = np.uint32(total)


@leaf(fastmath=FASTMATH)
def _column_depth(volume, first, row, column, depth, per_metre):
    """Optical depth before a depth in one column of cells, linear between the two nearest planes.

    A linear exponent is the exponential interpolation of chang2002 6, exp(-(a1 d2 + a2 d1) / (d1 + d2)).
    """
    if row < 0 or column < 0 or row >= volume.shape[0] or column >= volume.shape[1]:
        return np.float32(0.0)
    slabs = volume.shape[2] - 1
    slab = min(max((depth - first[row, column]) * per_metre, np.float32(0.0)), np.float32(slabs))
    plane = min(int(slab), slabs - 1)
    before, after = np.float32(volume[row, column, plane]), np.float32(volume[row, column, plane + 1])
    return before + (slab - np.float32(plane)) * (after - before)


@leaf(fastmath=FASTMATH)
def optical_depth(volume, first, x, y, depth, per_metre):
    """Optical depth before a point, bilinear among the four columns of cells around it."""
    one = np.float32(1.0)
    x, y = x - np.float32(0.5), y - np.float32(0.5)
    if not (x > -one and y > -one and x < volume.shape[1] and y < volume.shape[0]):
        return np.float32(0.0)
    column, row = int(math.floor(x)), int(math.floor(y))
    fx, fy = x - np.float32(column), y - np.float32(row)
    total = np.float32(0.0)
    for j in range(2):
        for i in range(2):
            weight = (fx if i else one - fx) * (fy if j else one - fy)
            total += weight * _column_depth(volume, first, row + j, column + i, depth, per_metre)
    return total * np.float32(1.0 / UNITS)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def sample_hair(
    points, origin, axes, focal, centre_x, centre_y, perspective, smallest_depth, first, per_metre, volume, out
):  # fmt: skip
    """Fill `out` (N,) with the optical depth of the hair between the light and `points` (N, 3)."""
    for i in prange(points.shape[0]):
        x, y, depth, scale = _see(
            points[i, 0], points[i, 1], points[i, 2], origin, axes, focal, centre_x, centre_y, perspective,
            smallest_depth,
        )  # fmt: skip
        out[i] = optical_depth(volume, first, x, y, depth, per_metre) if scale > 0 else np.float32(0.0)


@leaf(fastmath=FASTMATH)
def lit(depth_map, x, y, depth, bias):
    """Share of the four texels around (x, y) that do not hide a point at `depth`, weighted bilinearly."""
    height, width = depth_map.shape
    one = np.float32(1.0)
    x, y = x - np.float32(0.5), y - np.float32(0.5)
    if not (x > -one and y > -one and x < width and y < height):
        return one
    column, row = int(math.floor(x)), int(math.floor(y))
    fx, fy = x - np.float32(column), y - np.float32(row)
    total = np.float32(0.0)
    for j in range(2):
        for i in range(2):
            r, c = row + j, column + i
            weight = (fx if i else one - fx) * (fy if j else one - fy)
            if r < 0 or c < 0 or r >= height or c >= width or depth_map[r, c] >= depth - bias:
                total += weight
    return total


@leaf(fastmath=FASTMATH)
def _turn(x, y):
    """Cosine and sine of an angle that differs from place to place without a pattern to see.

    Neighbours ask different texels, so that a few taps leave a fine grain, which the pixels average, and no bands.
    """
    place = np.float32(0.7711056) * x + np.float32(0.583715) * y
    mixed = np.float32(52.9829189) * (place - np.float32(math.floor(place)))
    angle = np.float32(2.0 * math.pi) * (mixed - np.float32(math.floor(mixed)))
    return np.float32(math.cos(angle)), np.float32(math.sin(angle))


@leaf(forceinline=True)
def _floor(value):
    """Largest whole numbers that are not above those of a vector, whose size is below 2^22."""
    whole = (value + ROUNDER) - ROUNDER
    return select(whole > value, whole - np.float32(1.0), whole)


@leaf(fastmath=FASTMATH)
def _blockers(depth_map, x, y, depth, bias, slope, radius, cosine, sine, taps, count, scratch):
    """How many of `count` taps within a disc of texels find something that hides a point, and its mean depth."""
    use_wide_registers()
    height, width = depth_map.shape
    across, down = f32x16.load(taps, ACROSS), f32x16.load(taps, DOWN)
    column = _floor(x + radius * (cosine * across - sine * down))
    row = _floor(y + radius * (sine * across + cosine * down))
    is_inside = (row >= 0) & (column >= 0) & (row < height) & (column < width)
    store(scratch, 0, select(is_inside, row, -np.float32(1.0)))
    store(scratch, LANES, column)
    store(scratch, 2 * LANES, depth - bias - slope * radius * f32x16.load(taps, DISTANCE))
    total, hits = np.float32(0.0), 0
    for k in range(count):
        if scratch[k] >= 0:
            found = depth_map[int(scratch[k]), int(scratch[LANES + k])]
            if found < scratch[2 * LANES + k]:
                total += found
                hits += 1
    return hits, total / np.float32(max(hits, 1))


@leaf(fastmath=FASTMATH)
def soft_lit(depth_map, x, y, depth, texels_per_metre, spread, widest, bias, slope, taps, count, is_turned, scratch):
    """Share of a light of apparent size `spread` (a ratio) that the solids let through to a point at `depth`.

    The edge is as soft as the light is large and what hides it is far away, `widest` metres at most. A surface that
    rises towards the light by `slope` does not hide itself, nor does anything nearer than `bias` metres.
    """
    reach = max(widest * texels_per_metre, np.float32(1.0))
    rise = slope / texels_per_metre
    bias = bias + rise
    cosine, sine = np.float32(1.0), np.float32(0.0)
    if is_turned:
        cosine, sine = _turn(x, y)
    hits, blocker = _blockers(depth_map, x, y, depth, bias, rise, reach, cosine, sine, taps, count, scratch)
    if hits == 0:
        return lit(depth_map, x, y, depth, bias)
    if hits == count:
        return np.float32(0.0)
    radius = max(min(spread * (depth - blocker) * texels_per_metre, reach), np.float32(1.0))
    total = np.float32(0.0)
    for k in range(count):
        tap_x = x + radius * (cosine * taps[ACROSS + k] - sine * taps[DOWN + k])
        tap_y = y + radius * (sine * taps[ACROSS + k] + cosine * taps[DOWN + k])
        total += lit(depth_map, tap_x, tap_y, depth, bias + rise * radius * taps[DISTANCE + k])
    return total / np.float32(count)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def sample_solids(
    points, normals, to_light, darkest, origin, axes, focal, centre_x, centre_y, perspective, smallest_depth, spread,
    widest, bias, lift, slope, steepest, taps, count, is_turned, depth_map, out,
):  # fmt: skip
    """Fill `out` (N,) with the share of the light that the solids let through to `points` (N, 3).

    Points of a surface have `normals` (N, 3), else it is empty: the surface rises towards the light as `to_light`
    (N, 3), or (1, 3) for all, says, by `steepest` at most, and is asked `lift` metres above it where light grazes it,
    since flat triangles that stand for a round surface shade each other there. No light comes where the cosine is
    below `darkest`. Points of none have `slope`. `taps` are turned from point to point where bands would show.
    """
    one = np.float32(1.0)
    chunks = (points.shape[0] + CHUNK - 1) // CHUNK
    for chunk in prange(chunks):
        scratch = np.empty(3 * LANES, np.float32)
        for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, points.shape[0])):
            px, py, pz = points[i, 0], points[i, 1], points[i, 2]
            rise = slope
            if normals.shape[0]:
                j = min(np.int64(i), to_light.shape[0] - 1)
                nx, ny, nz = normals[i, 0], normals[i, 1], normals[i, 2]
                cosine = nx * to_light[j, 0] + ny * to_light[j, 1] + nz * to_light[j, 2]
                if cosine < darkest:
                    out[i] = np.float32(0.0)
                    continue
                sine = np.float32(math.sqrt(max(one - cosine * cosine, np.float32(0.0))))
                rise = sine / max(abs(cosine), one / steepest)
                px, py, pz = px + lift * sine * nx, py + lift * sine * ny, pz + lift * sine * nz
            x, y, depth, scale = _see(px, py, pz, origin, axes, focal, centre_x, centre_y, perspective, smallest_depth)
            out[i] = one
            if scale > 0:
                out[i] = soft_lit(
                    depth_map, x, y, depth, scale, spread, widest, bias, rise, taps, count, is_turned, scratch
                )
