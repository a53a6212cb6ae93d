"""Where parts of the hair meet: which candidates touch, and how strips are doing.

A contact is a record: four vertices with signed weights (the first part positive, the second negative), the unit normal
from the second to the first, the gap between them along it, the scale of its force and the gap that it should have.
What it does to them is in `_kernels_strips_push`.
"""

# mypy: allow-untyped-defs

import math

from numba import get_thread_id, njit, prange  # type: ignore[attr-defined]

from mane.contact._kernels_strips import (
    FASTMATH,
    LEAST_SCALE,
    closest_of_segments,
    corners,
    distance_of_segments,
    misalignment,
    triangle_plane,
    width,
)

# Columns of a record. The last three follow from the others when all contacts are known: see `_kernels_strips_push`.
WEIGHT, NORMAL, GAP, SCALE, LIMIT, LIGHT, GIVE, SHARE = 0, 4, 7, 8, 9, 10, 11, 12
KNOWN, RECORD = 10, 13
PARALLEL = 1e-6  # sine of the angle below which two segments have no common normal


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def append(row, key, side, vertices, values, count, keys, sides, touched, records):
    """Put a contact behind those of its row; `count` goes on beyond the room there is."""
    n = count[row]
    count[row] = n + 1
    if n >= keys.shape[1]:
        return
    keys[row, n], sides[row, n] = key, side
    touched[row, n, 0], touched[row, n, 1], touched[row, n, 2], touched[row, n, 3] = vertices
    for c in range(KNOWN):
        records[row, n, c] = values[c]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def approach(velocity, vertices, weights, nx, ny, nz):
    """Speed at which the two parts of a contact move apart along the normal [m/s]; `velocity` is (G V, 3)."""
    a, b, c, d = vertices
    wa, wb, wc, wd = weights
    vx = wa * velocity[a, 0] + wb * velocity[b, 0] + wc * velocity[c, 0] + wd * velocity[d, 0]
    vy = wa * velocity[a, 1] + wb * velocity[b, 1] + wc * velocity[c, 1] + wd * velocity[d, 1]
    vz = wa * velocity[a, 2] + wb * velocity[b, 2] + wc * velocity[c, 2] + wd * velocity[d, 2]
    return vx * nx + vy * ny + vz * nz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def place_of(row, key, span, count, found):
    """Place of a candidate in its row, which is sorted; -1 where there is none.

    `span` is the number of partners that a key is made of: key = found 0 * span + found 1.
    """
    first, last = 0, count[row]
    while first < last:
        middle = (first + last) // 2
        if found[row, middle, 0] * span + found[row, middle, 1] < key:
            first = middle + 1
        else:
            last = middle
    if first < count[row] and found[row, first, 0] * span + found[row, first, 1] == key:
        return first
    return -1


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def recall(count, found, span, contacts, groomed, thickness, side, limit):
    """Give new candidates what is known of them: the side of a contact that goes on, and the gap that it should have.

    That is the thickness, or the gap as groomed where that is less. `contacts` are counts, keys and sides of the last
    step, `groomed` where each row starts, keys and gaps.
    """
    contact_count, keys, sides = contacts
    starts, groomed_keys, gaps = groomed
    for row in prange(count.shape[0]):
        # All three are sorted by key.
        contact, known = 0, starts[row]
        for n in range(count[row]):
            key = found[row, n, 0] * span + found[row, n, 1]
            while contact < contact_count[row] and keys[row, contact] < key:
                contact += 1
            while known < starts[row + 1] and groomed_keys[known] < key:
                known += 1
            is_contact = contact < contact_count[row] and keys[row, contact] == key
            is_known = known < starts[row + 1] and groomed_keys[known] == key
            side[row, n] = sides[row, contact] if is_contact else 0
            limit[row, n] = min(thickness, gaps[known]) if is_known else thickness


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def side_beside(row, i, other, span, count, found, side):
    """Side of a contact of the same strands one segment further along either, which has come over; 0 for none."""
    for di in range(-1, 2):
        for dj in range(-1, 2):
            place = place_of(row, (i + di) * span + other + dj, span, count, found)
            if place >= 0 and side[place] != 0:
                return side[place]
    return 0


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def touch_segments(
    points, flat_velocity, candidates, before, side, limit, zone, ahead, dt, count, keys, sides, touched, records
):
    """Find which segments touch, or will within the step; see `find_segments` for the candidates.

    `before` is scratch for what `side` was.
    """
    found_count, found = candidates
    vertices = points.shape[1]
    segments = vertices - 1
    span = points.shape[0] * segments
    for g in prange(points.shape[0]):
        count[g] = 0
        for n in range(found_count[g]):
            before[g, n] = side[g, n]
        for n in range(found_count[g]):
            i, other = found[g, n, 0], found[g, n, 1]
            h = other // segments
            j = other - h * segments
            u, w = closest_of_segments(points, g, i, h, j)
            distance = distance_of_segments(points, g, i, h, j, u, w)
            was = side[g, n]
            if was == 0 and distance >= zone:
                continue
            side[g, n] = 0
            # A vertex between two segments belongs to the second.
            if (u == 1.0 and i < segments - 1) or (w == 1.0 and j < segments - 1):
                continue
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
            both = math.sqrt((dx * dx + dy * dy + dz * dz) * (ex * ex + ey * ey + ez * ez))
            scale = 1.0 - abs(dx * ex + dy * ey + dz * ez) / both  # chang2002 eq. 3
            nx, ny, nz = dy * ez - dz * ey, dz * ex - dx * ez, dx * ey - dy * ex
            sine = math.sqrt(nx * nx + ny * ny + nz * nz)
            rx = (
                (1.0 - u) * points[g, i, 0]
                + u * points[g, i + 1, 0]
                - (1.0 - w) * points[h, j, 0]
                - w * points[h, j + 1, 0]
            )
            ry = (
                (1.0 - u) * points[g, i, 1]
                + u * points[g, i + 1, 1]
                - (1.0 - w) * points[h, j, 1]
                - w * points[h, j + 1, 1]
            )
            rz = (
                (1.0 - u) * points[g, i, 2]
                + u * points[g, i + 1, 2]
                - (1.0 - w) * points[h, j, 2]
                - w * points[h, j + 1, 2]
            )
            gap = distance
            now = 0
            if 0.0 < u < 1.0 and 0.0 < w < 1.0 and sine > PARALLEL * both:
                # Between inner points the normal is that of the two directions, and which side they are on is
                # remembered, so that segments that have slipped through each other are brought back.
                nx, ny, nz = nx / sine, ny / sine, nz / sine
                height = rx * nx + ry * ny + rz * nz
                now = was
                if now == 0 and distance < limit[g, n]:
                    now = side_beside(g, i, other, span, found_count, found, before[g])
                if now == 0:
                    now = 1 if height >= 0.0 else -1
                nx, ny, nz, gap = now * nx, now * ny, now * nz, now * height
            elif distance > 0.0:
                nx, ny, nz = rx / distance, ry / distance, rz / distance
            else:
                continue
            touching = (g * vertices + i, g * vertices + i + 1, h * vertices + j, h * vertices + j + 1)
            weights = (1.0 - u, u, w - 1.0, -w)
            speed = approach(flat_velocity, touching, weights, nx, ny, nz)
            if gap - min(max(-speed * dt, 0.0), ahead) >= limit[g, n] or scale < LEAST_SCALE:
                continue
            side[g, n] = now
            values = (weights[0], weights[1], weights[2], weights[3], nx, ny, nz, gap, scale, limit[g, n])
            append(g, i * span + other, now, touching, values, count, keys, sides, touched, records)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def touch_faces(
    points, flat_points, flat_velocity, along_segment, along_vertex, pairs, density, firsts, found, side, limit, ahead,
    dt, scratch, count, keys, sides, touched, records,
):  # fmt: skip
    """Find which vertices touch triangles of strips, or will within the step; see `find_faces` for the candidates.

    `scratch` (T, .) is for T threads.
    """
    for p in prange(pairs.shape[0]):
        kept = scratch[get_thread_id()]
        count[p] = 0
        for triangle in range(density.shape[1]):
            first, last = firsts[p, triangle], firsts[p, triangle + 1]
            if first == last:
                continue
            corner = corners(pairs, p, triangle)
            plane = triangle_plane(points, corner)
            if density[p, triangle] == 0.0 or plane[0] ** 2 + plane[1] ** 2 + plane[2] ** 2 == 0.0:
                side[p, first:last] = 0
                continue
            speeds = speeds_along(flat_velocity, points.shape[1], corner, plane[0], plane[1], plane[2])
            passed = sieve_heights(
                flat_points, flat_velocity, plane, speeds, ahead, dt, found[p, first:last], limit[p, first:last],
                side[p, first:last], kept,
            )  # fmt: skip
            for k in range(passed):
                touch_face(
                    p, triangle, first + kept[k], plane, corner, points.shape[1], flat_points, flat_velocity,
                    along_segment, along_vertex, density, found, side, limit, ahead, dt, count, keys, sides, touched,
                    records,
                )  # fmt: skip


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def sieve_heights(flat_points, flat_velocity, plane, speeds, ahead, dt, found, limit, side, kept):
    """Fill `kept` with the candidates (C, 2) of a triangle that are over it and may touch it; returns how many.

    The others, most of them, are no longer on any `side` (C,). No branches, as in `sieve_bars`.
    """
    nx, ny, nz, d, ax, ay, az, a0, bx, by, bz, b0 = plane
    slowest, fastest = speeds
    passed = 0
    for n in range(found.shape[0]):
        vertex = found[n, 1]
        x, y, z = flat_points[vertex, 0], flat_points[vertex, 1], flat_points[vertex, 2]
        height = nx * x + ny * y + nz * z - d
        b1 = ax * x + ay * y + az * z + a0
        b2 = bx * x + by * y + bz * z + b0
        own = nx * flat_velocity[vertex, 0] + ny * flat_velocity[vertex, 1] + nz * flat_velocity[vertex, 2]
        # However the speed of the foot comes out, it is between those of the corners.
        closing = fastest - own if height >= 0.0 else own - slowest
        missing = abs(height) - min(max(closing * dt, 0.0), ahead) - limit[n]
        is_over = min(min(b1, b2), 1.0 - b1 - b2) >= 0.0
        may_touch = is_over & ((missing < 0.0) | (side[n] != 0))
        side[n] *= may_touch
        kept[passed] = n
        passed += may_touch
    return passed


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def touch_face(
    p, triangle, n, plane, corner, vertices, flat_points, flat_velocity, along_segment, along_vertex, density, found,
    side, limit, ahead, dt, count, keys, sides, touched, records,
):  # fmt: skip
    """Append the contact of candidate n of pair p if it touches its triangle."""
    nx, ny, nz, d, ax, ay, az, a0, bx, by, bz, b0 = plane
    vertex = found[p, n, 1]
    x, y, z = flat_points[vertex, 0], flat_points[vertex, 1], flat_points[vertex, 2]
    height = nx * x + ny * y + nz * z - d
    b1, b2 = ax * x + ay * y + az * z + a0, bx * x + by * y + bz * z + b0
    was = side[p, n]
    side[p, n] = 0
    now = was if was != 0 else (1 if height >= 0.0 else -1)
    g0, v0, g1, v1, g2, v2 = corner
    touching = (vertex, g0 * vertices + v0, g1 * vertices + v1, g2 * vertices + v2)
    weights = (1.0, b1 + b2 - 1.0, -b1, -b2)
    speed = approach(flat_velocity, touching, weights, now * nx, now * ny, now * nz)
    gap = now * height
    if gap - min(max(-speed * dt, 0.0), ahead) >= limit[p, n]:
        return
    scale = misalignment(along_segment, along_vertex, vertex, g0, g2, triangle >> 1, b2)
    if scale < LEAST_SCALE:
        return
    scale *= density[p, triangle]
    side[p, n] = now
    values = (
        weights[0], weights[1], weights[2], weights[3], now * nx, now * ny, now * nz, gap, scale, limit[p, n],
    )  # fmt: skip
    key = triangle * flat_points.shape[0] + vertex
    append(p, key, now, touching, values, count, keys, sides, touched, records)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def speeds_along(flat_velocity, vertices, corner, nx, ny, nz):
    """Lowest and highest speed of a triangle's corners along its normal [m/s]."""
    g0, v0, g1, v1, g2, v2 = corner
    i, j, k = g0 * vertices + v0, g1 * vertices + v1, g2 * vertices + v2
    a = flat_velocity[i, 0] * nx + flat_velocity[i, 1] * ny + flat_velocity[i, 2] * nz
    b = flat_velocity[j, 0] * nx + flat_velocity[j, 1] * ny + flat_velocity[j, 2] * nz
    c = flat_velocity[k, 0] * nx + flat_velocity[k, 1] * ny + flat_velocity[k, 2] * nz
    return min(a, min(b, c)), max(a, max(b, c))


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def update_strips(points, there, pairs, rest_width, breaks, heals, densest, broken, density):
    """Break triangles that are `breaks` times as wide as at rest, heal those that are below `heals` times.

    `density` (P, 2 N) becomes how dense the hair on each triangle is: rest width over width, at most `densest`; 0 where
    it is broken or the strip is not `there` (P,).
    """
    for p in prange(pairs.shape[0]):
        for triangle in range(rest_width.shape[1]):
            ratio = width(points, pairs, p, triangle) / rest_width[p, triangle]
            if ratio > breaks:
                broken[p, triangle] = True
            elif ratio < heals:
                broken[p, triangle] = False
            dense = min(1.0 / ratio, densest) if ratio > 0.0 else densest
            density[p, triangle] = dense if there[p] and not broken[p, triangle] else 0.0
