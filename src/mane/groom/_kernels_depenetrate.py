"""Strands turned out of a solid, segment by segment from root to tip, with their lengths untouched.

Segment `i` ends at point `i`; the row of a root is unused. A segment is held against the solid at its end, and, where
it may dip in between, at `INNER` places before it:

```
   i - 1 ----+----+----+---- i
   place     0    1    2     3 = INNER      the distance at inner places is in row `slot[i]` of its own arrays
```
Near a place the solid is taken for the half space behind a plane; the caller asks again once the strand has moved.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange

INNER = 3
SHARE_STEP = 1.0 / (INNER + 1)
# Turning a segment away from one plane may turn it into another; a corner of three planes is the worst there is.
TURNS = 4
# Less of a direction than this [1] lies across the gradient: any direction across it will do.
NO_DIRECTION = 1e-6


@njit(cache=True, error_model="numpy", parallel=True)
def measure_segments(points, offsets, length, direction):
    """Fill `length` (P,) [m] and unit `direction` (P, 3); a segment without length points as the one before it does."""
    for s in prange(len(offsets) - 1):
        dx, dy, dz = 0.0, 0.0, 1.0
        for i in range(offsets[s] + 1, offsets[s + 1]):
            x = np.float64(points[i, 0]) - points[i - 1, 0]
            y = np.float64(points[i, 1]) - points[i - 1, 1]
            z = np.float64(points[i, 2]) - points[i - 1, 2]
            norm = math.sqrt(x * x + y * y + z * z)
            if norm > 0.0:
                dx, dy, dz = x / norm, y / norm, z / norm
            length[i] = norm
            direction[i, 0], direction[i, 1], direction[i, 2] = dx, dy, dz


@njit(cache=True, error_model="numpy")
def find_close_segments(offsets, length, distance, clearance, slot):
    """Number the segments that may dip below the clearance between their ends; return how many there are.

    A distance changes by no more than the way taken, so that along a segment it is at least (d0 + d1 - length) / 2.
    """
    count = 0
    for s in range(len(offsets) - 1):
        slot[offsets[s]] = -1
        for i in range(offsets[s] + 1, offsets[s + 1]):
            slot[i] = -1
            if 0.5 * (distance[i - 1] + distance[i] - length[i]) < clearance:
                slot[i] = count
                count += 1
    return count


@njit(cache=True, error_model="numpy", parallel=True)
def fill_inner_places(points, slot, out):
    """Fill `out` (M, INNER, 3) with the inner places of the numbered segments."""
    for i in prange(len(slot)):
        if slot[i] >= 0:
            for k in range(INNER):
                share = np.float32((k + 1) * SHARE_STEP)
                for n in range(3):
                    out[slot[i], k, n] = points[i - 1, n] + share * (points[i, n] - points[i - 1, n])


@njit(cache=True, error_model="numpy")
def required(arc, clearance, root_clearance, climb):
    """Distance that a place must keep [m], from its arc length."""
    return min(clearance, root_clearance + climb * arc)


@njit(cache=True, error_model="numpy", parallel=True)
def judge_strands(
    offsets,
    arc,
    length,
    distance,
    slot,
    inner_distance,
    clearance,
    root_clearance,
    climb,
    # out
    worst,
    lowest,
):
    """Fill `worst` (S,) with what a strand lacks most to the required distance and `lowest` (S,) with its least one."""
    for s in prange(len(offsets) - 1):
        missing, least = -np.inf, np.inf
        for i in range(offsets[s], offsets[s + 1]):
            for k in range(0 if slot[i] >= 0 else INNER, INNER + 1):
                here = distance[i] if k == INNER else inner_distance[slot[i], k]
                along = arc[i] - (1.0 - (k + 1) * SHARE_STEP) * length[i]
                missing = max(missing, required(along, clearance, root_clearance, climb) - here)
                least = min(least, here)
        worst[s], lowest[s] = missing, least


@njit(cache=True, error_model="numpy")
def raise_direction(dx, dy, dz, gx, gy, gz, climb):
    """Direction d turned in the plane of d and the unit gradient g until it climbs `climb` [1] along g."""
    climb = min(climb, 1.0)
    along = dx * gx + dy * gy + dz * gz
    ax, ay, az = dx - along * gx, dy - along * gy, dz - along * gz
    norm = math.sqrt(ax * ax + ay * ay + az * az)
    if norm < NO_DIRECTION:  # straight in: turn away along the axis that g has the least of, made perpendicular
        if abs(gx) <= abs(gy) and abs(gx) <= abs(gz):
            ax, ay, az = 1.0 - gx * gx, -gx * gy, -gx * gz
        elif abs(gy) <= abs(gz):
            ax, ay, az = -gy * gx, 1.0 - gy * gy, -gy * gz
        else:
            ax, ay, az = -gz * gx, -gz * gy, 1.0 - gz * gz
        norm = math.sqrt(ax * ax + ay * ay + az * az)
    across = math.sqrt(1.0 - climb * climb) / norm
    return climb * gx + across * ax, climb * gy + across * ay, climb * gz + across * az


@njit(cache=True, error_model="numpy", parallel=True)
def turn_out(
    late,
    points,
    offsets,
    arc,
    length,
    distance,
    gradient,
    slot,
    inner_distance,
    inner_gradient,
    clearance,
    root_clearance,
    climb,
    # out
    direction,
):
    """Turn the `direction` (P, 3) of segments of the `late` (S,) strands until no place is behind its plane."""
    for s in prange(len(offsets) - 1):
        if not late[s]:
            continue
        # How far the start of the segment has moved.
        mx, my, mz = 0.0, 0.0, 0.0
        for i in range(offsets[s] + 1, offsets[s + 1]):
            ox = np.float64(points[i, 0]) - points[i - 1, 0]
            oy = np.float64(points[i, 1]) - points[i - 1, 1]
            oz = np.float64(points[i, 2]) - points[i - 1, 2]
            dx, dy, dz = direction[i, 0], direction[i, 1], direction[i, 2]
            for _ in range(TURNS if length[i] > 0.0 else 0):
                worst, wx, wy, wz, worst_climb = 0.0, 0.0, 0.0, 0.0, 0.0
                for k in range(0 if slot[i] >= 0 else INNER, INNER + 1):
                    if k == INNER:
                        here, g = distance[i], gradient[i]
                    else:
                        here, g = inner_distance[slot[i], k], inner_gradient[slot[i], k]
                    gx, gy, gz = np.float64(g[0]), np.float64(g[1]), np.float64(g[2])
                    share = (k + 1) * SHARE_STEP
                    goal = required(arc[i] - (1.0 - share) * length[i], clearance, root_clearance, climb)
                    # The distance on the plane is here + m . g + share (length d - o) . g; solved for d . g.
                    lack = goal - here - (mx * gx + my * gy + mz * gz) + share * (ox * gx + oy * gy + oz * gz)
                    wanted = lack / (share * length[i])
                    short = wanted - (dx * gx + dy * gy + dz * gz)
                    if short > worst:
                        worst, wx, wy, wz, worst_climb = short, gx, gy, gz, wanted
                if worst == 0.0:
                    break
                dx, dy, dz = raise_direction(dx, dy, dz, wx, wy, wz, worst_climb)
            direction[i, 0], direction[i, 1], direction[i, 2] = dx, dy, dz
            mx, my, mz = mx + length[i] * dx - ox, my + length[i] * dy - oy, mz + length[i] * dz - oz


@njit(cache=True, error_model="numpy", parallel=True)
def spread_turns(late, offsets, length, spread, rest, direction):
    """Smooth what was turned in the `late` strands, `direction` less `rest` (P, 3), over some `spread` [m] each way."""
    for s in prange(len(offsets) - 1):
        if not late[s]:
            continue
        first, last = offsets[s] + 1, offsets[s + 1] - 1
        for i in range(first, last + 1):
            for n in range(3):
                direction[i, n] -= rest[i, n]
        for i in range(first + 1, last + 1):
            keep = math.exp(-length[i] / spread)
            for n in range(3):
                direction[i, n] += keep * (direction[i - 1, n] - direction[i, n])
        for i in range(last - 1, first - 1, -1):
            keep = math.exp(-length[i + 1] / spread)
            for n in range(3):
                direction[i, n] += keep * (direction[i + 1, n] - direction[i, n])
        for i in range(first, last + 1):
            x = rest[i, 0] + direction[i, 0]
            y = rest[i, 1] + direction[i, 1]
            z = rest[i, 2] + direction[i, 2]
            norm = math.sqrt(x * x + y * y + z * z)
            if norm < NO_DIRECTION:
                x, y, z, norm = rest[i, 0], rest[i, 1], rest[i, 2], 1.0
            direction[i, 0], direction[i, 1], direction[i, 2] = x / norm, y / norm, z / norm


@njit(cache=True, error_model="numpy", parallel=True)
def rebuild_points(late, offsets, length, direction, points):
    """Lay the segments of the `late` strands end to end from their roots; fills `points` (P, 3) but for the roots."""
    for s in prange(len(offsets) - 1):
        if not late[s]:
            continue
        root = offsets[s]
        x, y, z = np.float64(points[root, 0]), np.float64(points[root, 1]), np.float64(points[root, 2])
        for i in range(root + 1, offsets[s + 1]):
            x += length[i] * direction[i, 0]
            y += length[i] * direction[i, 1]
            z += length[i] * direction[i, 2]
            points[i, 0], points[i, 1], points[i, 2] = x, y, z


@njit(cache=True, error_model="numpy")
def normalize_rows(vectors, out):
    """Fill `out` (P, 3) with `vectors` scaled to unit length; one without length becomes +Y."""
    for p in range(len(vectors)):
        x, y, z = vectors[p, 0], vectors[p, 1], vectors[p, 2]
        norm = math.sqrt(x * x + y * y + z * z)
        if norm > 0.0 and norm < math.inf:
            out[p, 0], out[p, 1], out[p, 2] = x / norm, y / norm, z / norm
        else:
            out[p, 0], out[p, 1], out[p, 2] = 0.0, 1.0, 0.0
