"""Finishing passes over the dense hair: out of solids, and smooth."""

# mypy: allow-untyped-defs

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mane.body._kernels_cells import CelledSolid, celled_distance, celled_gradient
from mane.body._kernels_solid_f32 import FASTMATH, steepest, to_local
from mane.geometry.directions import spread_directions
from mane.simd.jit import njit, prange

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
HALF = np.float32(0.5)
TWO = np.float32(2.0)
FAR = np.float32(1e9)  # [m]
# A segment that points at a solid has no side to turn to: below this square of the sine of its angle one is made up.
STRAIGHT = np.float32(0.02)
# Directions between that of a segment whose end stays inside and straight out that are tried, how often a half between
# the last two, and what part of its length may stay inside without that.
SWINGS, HALVES, STUCK = 8, 3, np.float32(0.01)
# Directions that are tried where those do not help either: in the notch of a gear.
TRIED = spread_directions(64).astype(np.float32)
CHUNK = 8192  # vertices that a thread looks at in one go


class NearCells(NamedTuple):
    """A `NearGrid` at a pose: where a point of the world is in the grid of a solid, and whether that is near."""

    is_near: NDArray[np.uint8]  # (N,): 1 for cells that are near, Z the innermost axis
    # (6, 3): three axes of the grid [cells/m], position of the solid [m], its origin within the grid [cells], last cell
    lookup: NDArray[np.float32]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def drawn(px, py, pz, x, y, z, length):
    """The point in the direction of (x, y, z) from p, at the distance `length`."""
    dx, dy, dz = x - px, y - py, z - pz
    size = math.sqrt(dx * dx + dy * dy + dz * dz)
    scale = length / size if size > ZERO else ONE
    return px + scale * dx, py + scale * dy, pz + scale * dz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def aside(x, y, z):
    """A unit vector across a unit vector."""
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        ax, ay, az = ZERO, -z, y
    elif abs(y) <= abs(z):
        ax, ay, az = z, ZERO, -x
    else:
        ax, ay, az = -y, x, ZERO
    scale = ONE / max(math.sqrt(ax * ax + ay * ay + az * az), HALF)
    return scale * ax, scale * ay, scale * az


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def turned_out(px, py, pz, length, depth, gx, gy, gz, x, y, z):
    """Turn the segment from p to (x, y, z) until its end is `depth` further along g, as far as a plane tells.

    Newton's method on the sphere of the segment's length: to push along g and draw the end back to its length would win
    the square of the sine of their angle at a time only. No more than to g, and half a right angle, in one go.
    """
    scale = ONE / length if length > ZERO else ZERO
    ux, uy, uz = scale * (x - px), scale * (y - py), scale * (z - pz)
    climb = gx * ux + gy * uy + gz * uz
    tx, ty, tz = gx - climb * ux, gy - climb * uy, gz - climb * uz
    square = tx * tx + ty * ty + tz * tz
    if climb < ZERO and square < STRAIGHT:
        ax, ay, az = aside(ux, uy, uz)
        size = math.sqrt(STRAIGHT)
        tx, ty, tz, square = size * ax, size * ay, size * az, STRAIGHT
    step = length / max(max(climb, math.sqrt(square)), HALF * math.sqrt(STRAIGHT))
    if depth < step * square:
        step = depth / square
    return drawn(px, py, pz, x + step * tx, y + step * ty, z + step * tz, length)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def swung(px, py, pz, length, gx, gy, gz, share, x, y, z):
    """End of a segment from p towards (x, y, z) that is swung by a part of the way to the direction g."""
    rest = ONE - share
    tx, ty, tz = rest * (x - px), rest * (y - py), rest * (z - pz)
    far = share * length
    return drawn(px, py, pz, px + tx + far * gx, py + ty + far * gy, pz + tz + far * gz, length)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def swings_out(solid, pose, thickness, px, py, pz, length, gx, gy, gz, share, x, y, z):
    """Whether the end of a segment is outside when it is swung by `share`; where that leaves no direction it is not."""
    x, y, z = swung(px, py, pz, length, gx, gy, gz, share, x, y, z)
    if (x - px) ** 2 + (y - py) ** 2 + (z - pz) ** 2 < HALF * length * length:
        return False
    lx, ly, lz = to_local(pose, x, y, z)
    return celled_distance(solid, thickness, lx, ly, lz) >= thickness


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def swing_share(solid, pose, thickness, px, py, pz, length, gx, gy, gz, x, y, z):
    """How far a segment that ends inside must be swung towards g, 0 to 1, for its end to be outside; 0 if no such."""
    inside, outside = ZERO, ZERO
    for k in range(SWINGS):
        share = np.float32(k + 1) / np.float32(SWINGS)
        if swings_out(solid, pose, thickness, px, py, pz, length, gx, gy, gz, share, x, y, z):
            outside = share
            break
        inside = share
    for _ in range(HALVES if outside > ZERO else 0):
        share = HALF * (inside + outside)
        if swings_out(solid, pose, thickness, px, py, pz, length, gx, gy, gz, share, x, y, z):
            outside = share
        else:
            inside = share
    return outside


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def closest_free(solid, pose, thickness, px, py, pz, length, x, y, z):
    """Number of the direction that a segment from p must turn least to for its end to be outside; -1 for none."""
    found, best = -1, -FAR
    for k in range(len(TRIED)):
        tx, ty, tz = TRIED[k, 0], TRIED[k, 1], TRIED[k, 2]
        agrees = tx * (x - px) + ty * (y - py) + tz * (z - pz)
        if agrees > best:
            lx, ly, lz = to_local(pose, px + length * tx, py + length * ty, pz + length * tz)
            if celled_distance(solid, thickness, lx, ly, lz) >= thickness:
                found, best = k, agrees
    return found


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def freed(solid, pose, thickness, px, py, pz, length, x, y, z):
    """End of a segment from p, of the same length and outside; whether there is one.

    Among teeth planes lead nowhere. Out of where the segment begins is the way that is most likely free.
    """
    lx, ly, lz = to_local(pose, px, py, pz)
    _, gx, gy, gz = celled_gradient(solid, pose, lx, ly, lz)
    share = swing_share(solid, pose, thickness, px, py, pz, length, gx, gy, gz, x, y, z)
    if share > ZERO:
        x, y, z = swung(px, py, pz, length, gx, gy, gz, share, x, y, z)
        return True, x, y, z
    k = closest_free(solid, pose, thickness, px, py, pz, length, x, y, z)
    if k < 0:
        return False, x, y, z
    return True, px + length * TRIED[k, 0], py + length * TRIED[k, 1], pz + length * TRIED[k, 2]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def pushed(solid, pose, thickness, rounds, is_strict, d, gx, gy, gz, px, py, pz, length, x, y, z):
    """Push a vertex at distance `d` below `thickness` out; returns it and what is left to the surface where it is."""
    for n in range(rounds):
        depth = thickness - d
        if depth <= ZERO:
            break
        if n < rounds - 1:
            if is_strict:
                x, y, z = turned_out(px, py, pz, length, depth, gx, gy, gz, x, y, z)
            else:
                x, y, z = drawn(px, py, pz, x + depth * gx, y + depth * gy, z + depth * gz, length)
            lx, ly, lz = to_local(pose, x, y, z)
            d, gx, gy, gz = celled_gradient(solid, pose, lx, ly, lz)
            continue
        is_freed = False
        if is_strict and depth > STUCK * length:
            is_freed, x, y, z = freed(solid, pose, thickness, px, py, pz, length, x, y, z)
        if not is_freed:
            x, y, z = x + depth * gx, y + depth * gy, z + depth * gz
        d = thickness
    return x, y, z, d - thickness


@njit(cache=True, error_model="numpy", parallel=True)
def fill_near_cells(
    values,
    limit,
    # out
    is_near,
):
    """Set `is_near (X, Y, Z)` to 1 for cells with a corner of at most `limit`, by `values` at their corners."""
    nx, ny, nz = is_near.shape
    for i in prange(nx):
        lowest = np.empty(nz + 1, np.float32)
        for j in range(ny):
            a, b, c, d = values[i, j], values[i, j + 1], values[i + 1, j], values[i + 1, j + 1]
            for k in range(nz + 1):
                lowest[k] = min(min(a[k], b[k]), min(c[k], d[k]))
            row = is_near[i, j]
            for k in range(nz):
                row[k] = np.uint8(min(lowest[k], lowest[k + 1]) <= limit)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def flag_vertices(cells, start, end, flat, flags):
    """Do what `flag_near` does for the vertices from `start` to `end` of `flat (3 P,)`.

    Nothing branches here, so that eight vertices go side by side.
    """
    is_near, a = cells.is_near, cells.lookup
    axx, axy, axz, ayx, ayy, ayz = a[0, 0], a[0, 1], a[0, 2], a[1, 0], a[1, 1], a[1, 2]
    azx, azy, azz, px, py, pz = a[2, 0], a[2, 1], a[2, 2], a[3, 0], a[3, 1], a[3, 2]
    ox, oy, oz, last_x, last_y, last_z = a[4, 0], a[4, 1], a[4, 2], a[5, 0], a[5, 1], a[5, 2]
    count_y, count_z = np.int32(last_y) + np.int32(1), np.int32(last_z) + np.int32(1)
    for p in range(np.uint64(start), np.uint64(end)):
        k = p * np.uint64(3)
        x, y, z = flat[k] - px, flat[k + np.uint64(1)] - py, flat[k + np.uint64(2)] - pz
        u = min(max(axx * x + axy * y + axz * z + ox, ZERO), last_x)
        v = min(max(ayx * x + ayy * y + ayz * z + oy, ZERO), last_y)
        w = min(max(azx * x + azy * y + azz * z + oz, ZERO), last_z)
        flags[p] = is_near[np.uint64(np.uint32((np.int32(u) * count_y + np.int32(v)) * count_z + np.int32(w)))]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def flag_near(
    cells,
    flat,
    # out
    flags,
):
    """Fill `flags (P,)` with `is_near` of the cell of each vertex of `flat (3 P,)`; `cells` is a `NearCells`."""
    for c in prange((len(flags) + CHUNK - 1) // CHUNK):
        flag_vertices(cells, c * CHUNK, min((c + 1) * CHUNK, len(flags)), flat, flags)


@njit(cache=True, error_model="numpy")
def first_flag(flags):
    """Number of the first vertex behind the root that has a flag; that behind the tip if none has."""
    i = 1
    while i < len(flags) and flags[i] == 0:
        i += 1
    return i


@njit(cache=True, error_model="numpy", parallel=True)
def fill_distance(
    solid,
    cells,
    pose,
    flags,
    points,
    # out
    distance,
):
    """Fill `distance (S, V)` [m] with that of the vertices of `points (S, V, 3)` that have a flag, a large one else."""
    for s in prange(len(points)):
        for i in range(points.shape[1]):
            distance[s, i] = FAR
            if flags[s, i]:
                x, y, z = to_local(pose, points[s, i, 0], points[s, i, 1], points[s, i, 2])
                distance[s, i] = celled_distance(CelledSolid(solid, cells), FAR, x, y, z)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def limit_of(lowest, thickness, s, i):
    """How far vertex i of hair s is kept from the solid [m]: no farther than `lowest (S, V)`, where that has rows."""
    return min(thickness, lowest[s, i]) if len(lowest) > 0 else thickness


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def first_inside(solid, pose, thickness, lowest, s, start, flags, hair):
    """Number of the first vertex of hair s `(V, 3)` from `start` on that is below its limit; V if none is.

    Vertices without a flag are known to be outside.
    """
    for i in range(start, len(hair)):
        if flags[i]:
            x, y, z = to_local(pose, hair[i, 0], hair[i, 1], hair[i, 2])
            limit = limit_of(lowest, thickness, s, i)
            if celled_distance(solid, limit, x, y, z) < limit:
                return i
    return len(hair)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def adjust_hair(solid, pose, thickness, lowest, s, rounds, is_strict, first, hair):
    """Move hair s `(V, 3)` out of a solid whose first vertex inside is `first`."""
    slope = steepest(solid.solid)
    room = ZERO  # what is surely left to the surface after the way from the last vertex that was tested
    ox, oy, oz = hair[first - 1, 0], hair[first - 1, 1], hair[first - 1, 2]  # the previous vertex before it was moved
    px, py, pz = ox, oy, oz
    for i in range(first, len(hair)):
        x, y, z = hair[i, 0], hair[i, 1], hair[i, 2]
        length = math.sqrt((x - ox) * (x - ox) + (y - oy) * (y - oy) + (z - oz) * (z - oz))
        ox, oy, oz = x, y, z
        if i > first:
            x, y, z = drawn(px, py, pz, x, y, z, length)
        room -= slope * length
        if room <= ZERO:
            limit = limit_of(lowest, thickness, s, i)
            lx, ly, lz = to_local(pose, x, y, z)
            room = celled_distance(solid, limit, lx, ly, lz) - limit
            if room < ZERO:
                d, gx, gy, gz = celled_gradient(solid, pose, lx, ly, lz)
                x, y, z, room = pushed(
                    solid, pose, limit, rounds, is_strict, d, gx, gy, gz, px, py, pz, length, x, y, z
                )
            room += limit - thickness  # the next vertex may have to stay farther out
        px, py, pz = x, y, z
        hair[i, 0], hair[i, 1], hair[i, 2] = x, y, z


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def adjust_hairs(
    solid,
    cells,
    pose,
    thickness,
    lowest,
    rounds,
    is_strict,
    flags,
    # out
    points,
):
    """Move `points (S, V, 3)` out of a solid, see `finish.adjusted`; vertices without a flag (S, V) are outside.

    The solid and its pose (12,) are as in `body._kernels_solid`, `cells` are its `CellList`; `lowest` is that of
    `limit_of`.
    """
    for s in prange(len(points)):
        start = first_flag(flags[s])
        if start == points.shape[1]:
            continue
        celled = CelledSolid(solid, cells)
        first = first_inside(celled, pose, thickness, lowest, s, start, flags[s], points[s])
        if first < points.shape[1]:
            adjust_hair(celled, pose, thickness, lowest, s, rounds, is_strict, first, points[s])


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def tangent(points, s, i, c):
    """Change of a coordinate per vertex at vertex `i`, from the parabola through it and its neighbours."""
    last = points.shape[1] - 1
    if last == 1:
        return points[s, 1, c] - points[s, 0, c]
    if i == 0:
        return TWO * (points[s, 1, c] - points[s, 0, c]) - HALF * (points[s, 2, c] - points[s, 0, c])
    if i == last:
        return TWO * (points[s, last, c] - points[s, last - 1, c]) - HALF * (
            points[s, last, c] - points[s, last - 2, c]
        )
    return HALF * (points[s, i + 1, c] - points[s, i - 1, c])


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def subdivide(
    points,
    weights,
    # out
    out,
):
    """Fill `out (S, (V - 1) P + 1, 3)` with a spline through `points (S, V, 3)`; `weights (P, 4)` of its pieces."""
    pieces = len(weights)
    for s in prange(len(points)):
        for c in range(3):
            after = tangent(points, s, 0, c)
            for i in range(points.shape[1] - 1):
                before, after = after, tangent(points, s, i + 1, c)
                out[s, i * pieces, c] = points[s, i, c]
                for p in range(1, pieces):
                    out[s, i * pieces + p, c] = (
                        weights[p, 0] * points[s, i, c]
                        + weights[p, 1] * points[s, i + 1, c]
                        + weights[p, 2] * before
                        + weights[p, 3] * after
                    )
            out[s, out.shape[1] - 1, c] = points[s, points.shape[1] - 1, c]
