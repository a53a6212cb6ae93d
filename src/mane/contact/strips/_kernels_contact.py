"""Where parts of the hair meet: which candidates touch, and how strips are doing.

A contact is a record: four vertices with signed weights (the first part positive, the second negative), the unit normal
from the second to the first, the gap between them along it, the scale of its force and the gap that it should have.
What it does to them is in `_kernels_push`.
"""

# mypy: allow-untyped-defs

import math

from mane.contact.strips._kernels import (
    FASTMATH,
    LEAST_SCALE,
    between,
    closest_of_segments,
    corners,
    cross,
    dot,
    gap_between,
    kernel,
    misalignment,
    times,
)
from mane.contact.strips._kernels_filter import filter_faces, filter_segments
from mane.contact.strips._kernels_table import (
    PLANE,
    SLACK,
    exact_at,
    exact_vector,
    fill_planes,
    lay_out_motion,
    lay_out_points,
)
from mane.simd.jit import get_thread_id, njit, prange
from mane.simd.memory import use_wide_registers

# Columns of a record. The last two follow from the others when all contacts are known: see `_kernels_push`.
WEIGHT, NORMAL, GAP, SCALE, LIMIT, LIGHT, GIVE = 0, 4, 7, 8, 9, 10, 11
RECORD = 12
PARALLEL = 1e-6  # sine of the angle below which two segments have no common normal


@kernel
def append(row, key, side, vertices, weights, normal, values, count, keys, sides, touched, records):
    """Put a contact behind those of its row; `count` goes on beyond the room there is."""
    n = count[row]
    count[row] = n + 1
    if n >= keys.shape[1]:
        return
    keys[row, n], sides[row, n] = key, side
    touched[row, n, 0], touched[row, n, 1], touched[row, n, 2], touched[row, n, 3] = vertices
    records[row, n, 0], records[row, n, 1], records[row, n, 2], records[row, n, 3] = weights
    records[row, n, NORMAL], records[row, n, NORMAL + 1], records[row, n, NORMAL + 2] = normal
    records[row, n, GAP], records[row, n, SCALE], records[row, n, LIMIT] = values


@kernel
def approach(velocity, vertices, weights, normal):
    """Speed at which the two parts of a contact move apart along the normal [m/s]; `velocity` is (G V, 3)."""
    a, b, c, d = vertices
    wa, wb, wc, wd = weights
    vx = wa * velocity[a, 0] + wb * velocity[b, 0] + wc * velocity[c, 0] + wd * velocity[d, 0]
    vy = wa * velocity[a, 1] + wb * velocity[b, 1] + wc * velocity[c, 1] + wd * velocity[d, 1]
    vz = wa * velocity[a, 2] + wb * velocity[b, 2] + wc * velocity[c, 2] + wd * velocity[d, 2]
    return vx * normal[0] + vy * normal[1] + vz * normal[2]


@kernel
def place_of(row, key, span, count, own, other):
    """Place of a candidate in its row, which is sorted; -1 where there is none.

    `span` is the number of partners that a key is made of: key = own * span + other.
    """
    first, last = 0, count
    while first < last:
        middle = (first + last) // 2
        if own[row, middle] * span + other[row, middle] < key:
            first = middle + 1
        else:
            last = middle
    if first < count and own[row, first] * span + other[row, first] == key:
        return first
    return -1


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def recall(candidates, span, contacts, groomed, thickness):
    """Give new candidates what is known of them: the side of a contact that goes on, and the gap that it should have.

    That is the thickness, or the gap as groomed where that is less. `contacts` are counts, keys and sides of the last
    step, `groomed` where each row starts, keys and gaps.
    """
    count, own, other, side, _, limit = candidates
    contact_count, keys, sides = contacts
    starts, groomed_keys, gaps = groomed
    for row in prange(count.shape[0]):
        # All three are sorted by key.
        contact, known = 0, starts[row]
        for n in range(count[row]):
            key = own[row, n] * span + other[row, n]
            while contact < contact_count[row] and keys[row, contact] < key:
                contact += 1
            while known < starts[row + 1] and groomed_keys[known] < key:
                known += 1
            is_contact = contact < contact_count[row] and keys[row, contact] == key
            is_known = known < starts[row + 1] and groomed_keys[known] == key
            side[row, n] = sides[row, contact] if is_contact else 0
            limit[row, n] = min(thickness, gaps[known]) if is_known else thickness


@kernel
def side_beside(row, key, span, count, own, other, side):
    """Side of a contact of the same strands one segment further along either, which has come over; 0 for none."""
    for di in range(-1, 2):
        for dj in range(-1, 2):
            place = place_of(row, key + di * span + dj, span, count, own, other)
            if place >= 0 and side[row, place] != 0:
                return side[row, place]
    return 0


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def touch(
    points, velocity, table, segments, strips, faces, reaches, dt, again, scratch, segment_contacts, face_contacts
):
    """Find what touches, or will within `dt`; see `find_segments` and `find_faces` for the candidates.

    `reaches` are the zone within which segments may touch, and how far ahead a contact is seen [m]. A row of contacts
    counts on beyond the room there is; once there is room, this has to be asked `again`.
    """
    columns, rows, along_segment, along_vertex = table
    slack = SLACK * lay_out_points(points, columns, along_segment, along_vertex)
    lay_out_motion(points, velocity, columns, rows)
    flat, flat_velocity, vertices = points.reshape(-1, 3), velocity.reshape(-1, 3), points.shape[1]
    how = (reaches, slack, dt, again, scratch)
    touch_segments(flat, flat_velocity, vertices, rows, segments, *how, segment_contacts)
    touch_faces(flat, flat_velocity, vertices, table, strips, faces, *how, face_contacts)


@kernel
def begin_with(row, count, again, side, before):
    """Keep the sides of a row, or go back to those that were kept."""
    for n in range(count):
        if again:
            side[row, n] = before[row, n]
        else:
            before[row, n] = side[row, n]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def touch_segments(flat, flat_velocity, vertices, rows, candidates, reaches, slack, dt, again, scratch, contacts):
    """Find which segments touch, or will within the step."""
    found, own, other, side, before, limit = candidates
    count, keys, sides, touched, records = contacts
    zone, ahead = reaches
    lists = scratch[0]
    for g in prange(found.shape[0]):
        use_wide_registers()
        kept = lists[get_thread_id()]
        count[g] = 0
        begin_with(g, found[g], again, side, before)
        passed = filter_segments(
            g * own.shape[1], found[g], own, other, limit, side, rows, g * vertices, ahead, dt, slack, kept
        )
        for k in range(passed):
            touch_segment(
                flat, flat_velocity, vertices, g, kept[k], found[g], own, other, side, before, limit, zone, ahead, dt,
                count, keys, sides, touched, records,
            )  # fmt: skip


@kernel
def touch_segment(
    flat, flat_velocity, vertices, g, n, found, own, others, side, before, limit, zone, ahead, dt,
    count, keys, sides, touched, records,
):  # fmt: skip
    """Append the contact of candidate n of strand g if its segments touch."""
    span = flat.shape[0]
    i, other = own[g, n], others[g, n]
    j = other % vertices
    first = g * vertices + i
    d, e, r = between(flat, first, first + 1), between(flat, other, other + 1), between(flat, other, first)
    u, w = closest_of_segments(d, e, r)
    gap_vector = gap_between(r, d, e, u, w)
    distance = math.sqrt(dot(gap_vector, gap_vector))
    was = side[g, n]
    side[g, n] = 0
    # A vertex between two segments belongs to the second.
    if (was == 0 and distance >= zone) or (u == 1.0 and i < vertices - 2) or (w == 1.0 and j < vertices - 2):
        return
    both = math.sqrt(dot(d, d) * dot(e, e))
    scale = 1.0 - abs(dot(d, e)) / both  # chang2002 eq. 3
    normal = cross(d, e)
    sine = math.sqrt(dot(normal, normal))
    gap, key = distance, i * span + other
    now = 0
    if 0.0 < u < 1.0 and 0.0 < w < 1.0 and sine > PARALLEL * both:
        # Between inner points the normal is that of the two directions, and which side they are on is
        # remembered, so that segments that have slipped through each other are brought back.
        height = dot(gap_vector, normal) / sine
        now = was
        if now == 0 and distance < limit[g, n]:
            now = side_beside(g, key, span, found, own, others, before)
        if now == 0:
            now = 1 if height >= 0.0 else -1
        normal, gap = times(normal, now / sine), now * height
    elif distance > 0.0:
        normal = times(gap_vector, 1.0 / distance)
    else:
        return
    touching = (first, first + 1, other, other + 1)
    weights = (1.0 - u, u, w - 1.0, -w)
    speed = approach(flat_velocity, touching, weights, normal)
    if gap - min(max(-speed * dt, 0.0), ahead) >= limit[g, n] or scale < LEAST_SCALE:
        return
    side[g, n] = now
    values = (gap, scale, limit[g, n])
    append(g, key, now, touching, weights, normal, values, count, keys, sides, touched, records)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def touch_faces(flat, flat_velocity, vertices, table, strips, candidates, reaches, slack, dt, again, scratch, contacts):
    """Break and heal strips, and find which vertices touch their triangles, or will within the step."""
    columns, rows, along_segment, along_vertex = table
    pairs, there, rest_width, limits, broken, density = strips
    found, own, other, side, before, limit = candidates
    count, keys, sides, touched, records = contacts
    lists, all_planes, all_exact = scratch
    ahead = reaches[1]
    for p in prange(pairs.shape[0]):
        use_wide_registers()
        thread = get_thread_id()
        kept, planes, exact = lists[thread], all_planes[thread], all_exact[thread]
        count[p] = 0
        begin_with(p, found[p], again, side, before)
        fill_planes(columns, pairs[p, 0], pairs[p, 1], vertices, slack, -1.0, planes, exact)
        update_strip(exact, p, there[p], rest_width, limits, broken, density)
        hide_gone(density, p, planes)
        passed = filter_faces(p * own.shape[1], found[p], own, other, limit, side, planes, rows, ahead, dt, slack, kept)
        for k in range(passed):
            touch_face(
                flat, flat_velocity, vertices, along_segment, along_vertex, pairs, density, exact, p, kept[k],
                own, other, side, limit, ahead, dt, count, keys, sides, touched, records,
            )  # fmt: skip


@kernel
def touch_face(
    flat, flat_velocity, vertices, along_segment, along_vertex, pairs, density, exact, p, n, own, other, side, limit,
    ahead, dt, count, keys, sides, touched, records,
):  # fmt: skip
    """Append the contact of candidate n of pair p if it touches its triangle."""
    triangle, vertex = own[p, n], other[p, n]
    g0, v0, g1, v1, g2, v2 = corners(pairs, p, triangle)
    touching = (vertex, g0 * vertices + v0, g1 * vertices + v1, g2 * vertices + v2)
    x = between(flat, touching[1], vertex)
    normal = exact_vector(exact, 0, triangle)
    height, b1, b2 = dot(normal, x), dot(exact_vector(exact, 3, triangle), x), dot(exact_vector(exact, 6, triangle), x)
    was = side[p, n]
    side[p, n] = 0
    if min(min(b1, b2), 1.0 - b1 - b2) < 0.0:
        return
    now = was if was != 0 else (1 if height >= 0.0 else -1)
    weights = (1.0, b1 + b2 - 1.0, -b1, -b2)
    normal, gap = times(normal, now), now * height
    speed = approach(flat_velocity, touching, weights, normal)
    if gap - min(max(-speed * dt, 0.0), ahead) >= limit[p, n]:
        return
    scale = misalignment(along_segment, along_vertex, vertex, g0, g2, triangle >> 1, b2)
    if scale < LEAST_SCALE:
        return
    side[p, n] = now
    key = triangle * flat.shape[0] + vertex
    values = (gap, scale * density[p, triangle], limit[p, n])
    append(p, key, now, touching, weights, normal, values, count, keys, sides, touched, records)


@kernel
def update_strip(exact, p, there, rest_width, limits, broken, density):
    """Break triangles that are `limits[0]` times as wide as at rest, heal those that are below `limits[1]` times.

    Row p of `density` (P, 2 N) becomes how dense the hair on each triangle is: rest width over width, at most
    `limits[2]`; 0 where it is broken or the strip is not `there`.
    """
    breaks, heals, densest = limits
    for triangle in range(rest_width.shape[1]):
        ratio = exact_at(exact, 9, triangle) / rest_width[p, triangle]
        broken[p, triangle] = ratio > breaks or (broken[p, triangle] and not ratio < heals)
        dense = min(1.0 / ratio, densest) if ratio > 0.0 else densest
        density[p, triangle] = dense if there and not broken[p, triangle] else 0.0


@kernel
def hide_gone(density, p, planes):
    """Make the planes of triangles that are broken, or not there, those of triangles that no point is over."""
    for triangle in range(density.shape[1]):
        if density[p, triangle] == 0.0:
            at = triangle * PLANE
            planes[at + 4], planes[at + 5], planes[at + 6], planes[at + 7] = 0.0, 0.0, 0.0, -1.0
            planes[at + 14] = 0.0
