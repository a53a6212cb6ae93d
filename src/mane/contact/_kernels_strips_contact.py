"""What happens where parts of the hair meet: which candidates touch, how strips are doing, and the pushes between them.

A contact is a record: four vertices with signed weights (the first part positive, the second negative), the unit normal
from the second to the first, the gap between them along it, the scale of its force and the gap that it should have.
"""

# mypy: allow-untyped-defs

import math

from numba import njit, prange

from mane.contact._kernels_strips import (
    FASTMATH,
    closest_of_segments,
    corners,
    distance_of_segments,
    place_over_triangle,
    width,
)

WEIGHT, NORMAL, GAP, SCALE, LIMIT = 0, 4, 7, 8, 9  # columns of a record
RECORD = 10
PARALLEL = 1e-6  # sine of the angle below which two segments have no common normal
LEAST_SCALE = 1e-9  # of a force that is worth a record


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def insert(row, key, side, vertices, values, count, keys, sides, touched, records):
    """Put a contact into its row, sorted by key; `count` goes on beyond the room there is."""
    n = count[row]
    count[row] = n + 1
    if n >= keys.shape[1]:
        return
    while n > 0 and keys[row, n - 1] > key:
        keys[row, n], sides[row, n] = keys[row, n - 1], sides[row, n - 1]
        for c in range(4):
            touched[row, n, c] = touched[row, n - 1, c]
        for c in range(RECORD):
            records[row, n, c] = records[row, n - 1, c]
        n -= 1
    keys[row, n], sides[row, n] = key, side
    for c in range(4):
        touched[row, n, c] = vertices[c]
    for c in range(RECORD):
        records[row, n, c] = values[c]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def approach(velocity, vertices, weights, nx, ny, nz):
    """Speed at which the two parts of a contact move apart along the normal [m/s]; `velocity` is (G V, 3)."""
    speed = 0.0
    for c in range(4):
        v = vertices[c]
        speed += weights[c] * (velocity[v, 0] * nx + velocity[v, 1] * ny + velocity[v, 2] * nz)
    return speed


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def remembered(row, key, count, keys, sides):
    """Side of a contact of the last step, 0 for none."""
    first, last = 0, min(count[row], keys.shape[1])
    while first < last:
        middle = (first + last) // 2
        if keys[row, middle] < key:
            first = middle + 1
        else:
            last = middle
    return sides[row, first] if first < count[row] and first < keys.shape[1] and keys[row, first] == key else 0


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def own_limit(row, key, starts, keys, gaps, thickness):
    """Gap that a contact should have: the thickness, or what it was as groomed where that is less."""
    first, last = starts[row], starts[row + 1]
    end = last
    while first < last:
        middle = (first + last) // 2
        if keys[middle] < key:
            first = middle + 1
        else:
            last = middle
    return min(thickness, gaps[first]) if first < end and keys[first] == key else thickness


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def recall(count, found, span, space, zone, contacts, groomed, thickness, wake, side, limit):
    """Give new candidates what is known of them: the side of a contact that goes on, and their own limit.

    `span` is the number of partners that a key is made of: key = found 0 * span + found 1.
    """
    for row in prange(count.shape[0]):
        for n in range(count[row]):
            key = found[row, n, 0] * span + found[row, n, 1]
            wake[row, n] = space[row, n] - zone
            side[row, n] = remembered(row, key, contacts[0], contacts[1], contacts[2])
            limit[row, n] = own_limit(row, key, groomed[0], groomed[1], groomed[2], thickness)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def touch_segments(
    points, flat_velocity, travelled, candidates, memo, zone, ahead, dt, count, keys, sides, touched, records
):
    """Find which segments touch, or will within the step; see `find_segments` for the candidates."""
    found_count, found = candidates
    wake, side, limit = memo
    vertices = points.shape[1]
    segments = vertices - 1
    span = points.shape[0] * segments
    for g in prange(points.shape[0]):
        count[g] = 0
        for n in range(found_count[g]):
            i, other = found[g, n, 0], found[g, n, 1]
            h = other // segments
            bound = travelled[g, 0] + travelled[h, 0]
            if side[g, n] == 0 and bound < wake[g, n]:
                continue
            j = other - h * segments
            u, w = closest_of_segments(points, g, i, h, j)
            distance = distance_of_segments(points, g, i, h, j, u, w)
            was = side[g, n]
            side[g, n] = 0
            wake[g, n] = bound + distance - zone
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
            rx = (1.0 - u) * points[g, i, 0] + u * points[g, i + 1, 0] - (1.0 - w) * points[h, j, 0] - w * points[h, j + 1, 0]
            ry = (1.0 - u) * points[g, i, 1] + u * points[g, i + 1, 1] - (1.0 - w) * points[h, j, 1] - w * points[h, j + 1, 1]
            rz = (1.0 - u) * points[g, i, 2] + u * points[g, i + 1, 2] - (1.0 - w) * points[h, j, 2] - w * points[h, j + 1, 2]
            gap = distance
            now = 0
            if 0.0 < u < 1.0 and 0.0 < w < 1.0 and sine > PARALLEL * both:
                # Between inner points the normal is that of the two directions, and which side they are on is
                # remembered, so that segments that have slipped through each other are brought back.
                nx, ny, nz = nx / sine, ny / sine, nz / sine
                height = rx * nx + ry * ny + rz * nz
                now = was if was != 0 else (1 if height >= 0.0 else -1)
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
            insert(g, i * span + other, now, touching, values, count, keys, sides, touched, records)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def touch_faces(
    points,
    flat_velocity,
    travelled,
    pair_travelled,
    pairs,
    density,
    candidates,
    memo,
    zone,
    ahead,
    dt,
    count,
    keys,
    sides,
    touched,
    records,
):
    """Find which vertices touch triangles of strips, or will within the step; see `find_faces` for the candidates."""
    found_count, found = candidates
    wake, side, limit = memo
    vertices = points.shape[1]
    span = points.shape[0] * vertices
    for p in prange(pairs.shape[0]):
        count[p] = 0
        for n in range(found_count[p]):
            triangle, vertex = found[p, n, 0], found[p, n, 1]
            g = vertex // vertices
            bound = pair_travelled[p] + travelled[g, 0]
            if side[p, n] == 0 and bound < wake[p, n]:
                continue
            was = side[p, n]
            side[p, n] = 0
            if density[p, triangle] == 0.0:
                wake[p, n] = bound
                continue
            v = vertex - g * vertices
            corner = corners(pairs, p, triangle)
            b0, b1, b2, height, nx, ny, nz, away = place_over_triangle(points, corner, g, v)
            wake[p, n] = bound + away - zone
            if min(b0, min(b1, b2)) < 0.0 or b0 + b1 + b2 == 0.0:
                continue
            now = was if was != 0 else (1 if height >= 0.0 else -1)
            nx, ny, nz, gap = now * nx, now * ny, now * nz, now * height
            g0, v0, g1, v1, g2, v2 = corner
            touching = (vertex, g0 * vertices + v0, g1 * vertices + v1, g2 * vertices + v2)
            weights = (1.0, -b0, -b1, -b2)
            speed = approach(flat_velocity, touching, weights, nx, ny, nz)
            if gap - min(max(-speed * dt, 0.0), ahead) >= limit[p, n]:
                continue
            scale = density[p, triangle] * misalignment(points, g, v, g0, g2, triangle >> 1, b2)
            if scale < LEAST_SCALE:
                continue
            side[p, n] = now
            values = (weights[0], weights[1], weights[2], weights[3], nx, ny, nz, gap, scale, limit[p, n])
            insert(p, triangle * span + vertex, now, touching, values, count, keys, sides, touched, records)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def misalignment(points, g, v, a, b, i, share):
    """1 - |a . b| of chang2002 eq. 3: the hair at vertex (g, v), and that between segments i of two guides."""
    before, after = max(v - 1, 0), min(v + 1, points.shape[1] - 1)
    tx, ty, tz = (
        points[g, after, 0] - points[g, before, 0],
        points[g, after, 1] - points[g, before, 1],
        points[g, after, 2] - points[g, before, 2],
    )
    ax, ay, az = (
        points[a, i + 1, 0] - points[a, i, 0],
        points[a, i + 1, 1] - points[a, i, 1],
        points[a, i + 1, 2] - points[a, i, 2],
    )
    bx, by, bz = (
        points[b, i + 1, 0] - points[b, i, 0],
        points[b, i + 1, 1] - points[b, i, 1],
        points[b, i + 1, 2] - points[b, i, 2],
    )
    own = (1.0 - share) / math.sqrt(ax * ax + ay * ay + az * az)
    other = share / math.sqrt(bx * bx + by * by + bz * bz)
    x, y, z = own * ax + other * bx, own * ay + other * by, own * az + other * bz
    size = math.sqrt((x * x + y * y + z * z) * (tx * tx + ty * ty + tz * tz))
    return 1.0 - abs(x * tx + y * ty + z * tz) / size if size > 0.0 else 1.0


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def update_strips(points, active, pairs, rest_width, breaks, heals, densest, broken, density):
    """Break triangles that are `breaks` times as wide as at rest, heal those that are below `heals` times.

    `density` (P, 2 N) becomes how dense the hair on each triangle is: rest width over width, at most `densest`; 0 where
    it is broken or a guide is missing.
    """
    for p in prange(pairs.shape[0]):
        there = active[pairs[p, 0]] and active[pairs[p, 1]]
        for triangle in range(rest_width.shape[1]):
            ratio = width(points, pairs, p, triangle) / rest_width[p, triangle]
            if ratio > breaks:
                broken[p, triangle] = True
            elif ratio < heals:
                broken[p, triangle] = False
            dense = min(1.0 / ratio, densest) if ratio > 0.0 else densest
            density[p, triangle] = dense if there and not broken[p, triangle] else 0.0


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def load_strands(count, touched, records, busy):
    """Add the weights of all contacts to `busy` (G V,), each with its scale."""
    for row in range(count.shape[0]):
        for n in range(count[row]):
            for c in range(4):
                busy[touched[row, n, c]] += records[row, n, SCALE] * abs(records[row, n, WEIGHT + c])


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def give_way(table, busy, give):
    """Fill `give` (G, V) with |W| (G, V, V) times `busy` (G, V); see `links_compliance`."""
    for g in prange(busy.shape[0]):
        for v in range(busy.shape[1]):
            give[g, v] = 0.0
        for w in range(busy.shape[1]):
            if busy[g, w] > 0.0:
                for v in range(busy.shape[1]):
                    give[g, v] += table[g, w, v] * busy[g, w]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def push_apart(count, touched, records, velocity, inv_mass, give, laws, dt, force):
    """Add repulsion and friction of all contacts to `force` (G V, 3), in their order; return how many there were.

    `laws` are the rate of the spring [1/s], its damping ratio, the coefficient of friction, and the fastest that
    overlapping hair is pushed apart [m/s].
    """
    rate, ratio, friction, fastest = laws
    deepest = fastest * (dt + 2.0 * ratio / rate)
    total = 0
    for row in range(count.shape[0]):
        for n in range(count[row]):
            total += 1
            light, s, vx, vy, vz = 0.0, 0.0, 0.0, 0.0, 0.0
            for c in range(4):
                v = touched[row, n, c]
                weight = records[row, n, WEIGHT + c]
                light += weight * weight * inv_mass[v]
                s += abs(weight) * give[v]
                vx += weight * velocity[v, 0]
                vy += weight * velocity[v, 1]
                vz += weight * velocity[v, 2]
            if light == 0.0 or s == 0.0:
                continue
            nx, ny, nz = records[row, n, NORMAL], records[row, n, NORMAL + 1], records[row, n, NORMAL + 2]
            speed = vx * nx + vy * ny + vz * nz
            depth = min(records[row, n, LIMIT] - records[row, n, GAP], deepest)
            scale = records[row, n, SCALE]
            k = rate * rate / light
            hold = k * dt * dt + 2.0 * ratio * rate / light * dt
            soft = scale / (1.0 + hold * s)
            normal = max(soft * (k * dt * depth - hold * speed), 0.0)
            # Friction stops the sliding at most.
            vx, vy, vz = vx - speed * nx, vy - speed * ny, vz - speed * nz
            sliding = math.sqrt(vx * vx + vy * vy + vz * vz)
            brake = min(friction * normal / sliding, scale / s) if sliding > 0.0 else 0.0
            fx, fy, fz = (normal * nx - brake * vx) / dt, (normal * ny - brake * vy) / dt, (normal * nz - brake * vz) / dt
            for c in range(4):
                v = touched[row, n, c]
                weight = records[row, n, WEIGHT + c]
                force[v, 0] += weight * fx
                force[v, 1] += weight * fy
                force[v, 2] += weight * fz
    return total
