"""Static links: forces of every segment's links on itself, then on the strands that they are tied to, in lanes.

Vertices of all strands are counted through, and the segments behind eight that follow each other make a block of lanes;
the last vertex of a strand has none, and no links. Eight strands are a whole number of blocks, so that what a block
leaves to the vertex behind it goes to the next block or is nothing. A link that is not there, is broken or rests has a
law of nothing: it is summed like all others.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.contact.links import _reference
from mane.contact.links._kernels_frames import AXIS_X, AXIS_Y, AXIS_Z, FRAME_ROWS, SPIN
from mane.simd.f64x8 import (
    WIDTH,
    add_points,
    broadcast,
    empty_rows,
    gather_pairs,
    load_points,
    load_row,
    shift_up,
    store_points,
    store_row,
)
from mane.simd.jit import inline, njit, prange
from mane.simd.masks import select
from mane.simd.math import maximum, sqrt
from mane.simd.memory import use_wide_registers
from mane.simd.reductions import reduce_max

# Rows of each place for a link of a block: where the tied point's vertex begins in all coordinates (as bits of a whole
# number), where between it and the next the point is, where the segment remembers it (along, across, across); what the
# link pulls with per distance [N/m] and per speed [kg/s]; the distance beyond which it wears out [m].
VERTEX, FRACTION, ALONG, ACROSS_A, ACROSS_B, SPRING, DAMPER, LIMIT = range(8)
LINK_ROWS = 8
# Rows of a link that is tied to a segment of a block: where its force begins in all pulls (as bits), and the fraction.
PULL, SHARE = range(2)
INCOMING_ROWS = 2
# What a link is and what is left of it.
HEALTH, STIFFNESS, DAMPING, GIVE = range(4)
# Rows of scratch for each place: the tied point from the segment's start, later the direction of the pull; the lever of
# the remembered point; how far the link is drawn out, the speed along the pull, and that of a unit of spin.
X, Y, Z, LEVER_X, LEVER_Y, LEVER_Z, DISTANCE, APPROACH, SWING = range(9)
SCRATCH_ROWS = 9
TINY = 1e-300  # keeps what has no length finite
SHORTEST = _reference.SHORTEST


@njit(cache=True, error_model="numpy")
def set_law(link, limits, dt, rows, at):
    """Fill one lane of the rows that follow from `link`, its `HEALTH` and the rest; they begin at `rows[at]`.

    What has moved is pulled back as far as a step can bring it, what moves is stopped as far as it can.
    """
    weakens, breaks = limits
    k, c = link[HEALTH] * link[STIFFNESS], link[HEALTH] * (link[STIFFNESS] * dt + link[DAMPING])
    rows[at + WIDTH * SPRING] = k / (1.0 + k * dt * dt * link[GIVE])
    rows[at + WIDTH * DAMPER] = c / (1.0 + c * dt * link[GIVE])
    rows[at + WIDTH * LIMIT] = breaks - link[HEALTH] * (breaks - weakens) if c > 0.0 else np.inf


@njit(cache=True, error_model="numpy")
def set_laws(links, is_acting, limits, dt, rows):
    """Fill the rows of all links (P, M, 4) that act (P, M); those of others with nothing."""
    for p in range(links.shape[0]):
        for m in range(links.shape[1]):
            at = (p // WIDTH * links.shape[1] + m) * LINK_ROWS * WIDTH + p % WIDTH
            if is_acting[p, m]:
                set_law(links[p, m], limits, dt, rows, at)
            else:
                rows[at + WIDTH * SPRING], rows[at + WIDTH * DAMPER], rows[at + WIDTH * LIMIT] = 0.0, 0.0, np.inf


@njit(cache=True, error_model="numpy")
def wear_out(links, block, limits, dt, rows, scratch):
    """Weaken links of a block that are drawn out too far (chang2002 fig. 2); returns how many broke."""
    weakens, breaks = limits
    broken = 0
    for m in range(links.shape[1]):
        place = block * links.shape[1] + m
        for lane in range(WIDTH):
            at = place * LINK_ROWS * WIDTH + lane
            distance = scratch[(m * SCRATCH_ROWS + DISTANCE) * WIDTH + lane]
            if distance > rows[at + WIDTH * LIMIT]:
                link = links[block * WIDTH + lane, m]
                left = max((breaks - distance) / (breaks - weakens), 0.0)
                if left < link[HEALTH]:
                    link[HEALTH] = left
                    broken += left == 0.0
                    set_law(link, limits, dt, rows, at)
    return broken


@inline
def store_three(rows, at, number, x, y, z):
    """Write three of the rows that begin at `rows[at]`, from one on."""
    store_row(rows, at, number, x)
    store_row(rows, at, number + 1, y)
    store_row(rows, at, number + 2, z)


@inline
def tied_point(rows, at, numbers):
    """What `numbers` (flat, x, y, z of each vertex) have where each link is tied."""
    u = load_row(rows, at, FRACTION)
    ax, ay = gather_pairs(rows, at + WIDTH * VERTEX, numbers, 0)
    az, bx = gather_pairs(rows, at + WIDTH * VERTEX, numbers, 2)
    by, bz = gather_pairs(rows, at + WIDTH * VERTEX, numbers, 4)
    return ax + u * (bx - ax), ay + u * (by - ay), az + u * (bz - az)


@inline
def axes_across(tx, ty, tz):
    """Two unit vectors across a tangent, as in `_reference.perpendicular`."""
    sign = select(tz < 0.0, broadcast(-1.0), 1.0)
    a = -1.0 / (sign + tz)
    b = tx * ty * a
    return 1.0 + sign * tx * tx * a, sign * b, -1.0 * sign * tx, b, sign + ty * ty * a, -1.0 * ty


@inline
def segment_frame(points, x, y, z, tangents, held, rows, at, count, scratch):
    """The two axes across: the one that is `held` from the root; keeps tied points in scratch.

    Where none is, both are turned about the segment until its links hold it at rest.
    """
    tx, ty, tz = tangents
    hx, hy, hz = held
    ax, ay, az, bx, by, bz = axes_across(tx, ty, tz)
    cosine, sine = broadcast(0.0), broadcast(0.0)
    for m in range(count):
        link, own = at + m * LINK_ROWS * WIDTH, m * SCRATCH_ROWS * WIDTH
        px, py, pz = tied_point(rows, link, points)
        px, py, pz = px - x, py - y, pz - z
        k = load_row(rows, link, SPRING)
        seen_a, seen_b = px * ax + py * ay + pz * az, px * bx + py * by + pz * bz
        own_a, own_b = load_row(rows, link, ACROSS_A), load_row(rows, link, ACROSS_B)
        cosine = cosine + k * (own_a * seen_a + own_b * seen_b)
        sine = sine + k * (own_a * seen_b - own_b * seen_a)
        store_three(scratch, own, X, px, py, pz)
    square = cosine * cosine + sine * sine
    scale = 1.0 / sqrt(maximum(square, TINY))
    cosine, sine = select(square > 0.0, cosine * scale, 1.0), sine * scale
    is_held = hx * hx + hy * hy + hz * hz > 0.0
    ax = select(is_held, hx, cosine * ax + sine * bx)
    ay = select(is_held, hy, cosine * ay + sine * by)
    az = select(is_held, hz, cosine * az + sine * bz)
    return ax, ay, az, ty * az - tz * ay, tz * ax - tx * az, tx * ay - ty * ax


@inline
def look_at_links(velocity, edge, inv, start_velocity, rate, frame, rows, at, count, scratch):
    """Fill the scratch of all links of a block: how each is drawn out, and how fast.

    Returns the spin about the segment at which its links hold it in balance, and by how much the link that is furthest
    beyond its limit is. `inv` is one over the segment's length, `rate` the velocity of its end from that of its start.
    """
    (ex, ey, ez), (vx, vy, vz), (rx, ry, rz) = edge, start_velocity, rate
    tx, ty, tz = ex * inv, ey * inv, ez * inv
    ax, ay, az, bx, by, bz = frame
    moment, inertia, excess = broadcast(0.0), broadcast(0.0), broadcast(-np.inf)
    for m in range(count):
        link, own = at + m * LINK_ROWS * WIDTH, m * SCRATCH_ROWS * WIDTH
        on_a, on_b = load_row(rows, link, ACROSS_A), load_row(rows, link, ACROSS_B)
        along, weight = load_row(rows, link, ALONG), load_row(rows, link, DAMPER)
        lx, ly, lz = on_a * ax + on_b * bx, on_a * ay + on_b * by, on_a * az + on_b * bz
        dx, dy, dz = tied_point(rows, link, velocity)
        tip = (lx * rx + ly * ry + lz * rz) * inv
        dx = dx - (vx + along * rx - tip * tx)
        dy = dy - (vy + along * ry - tip * ty)
        dz = dz - (vz + along * rz - tip * tz)
        ox = load_row(scratch, own, X) - along * ex - lx
        oy = load_row(scratch, own, Y) - along * ey - ly
        oz = load_row(scratch, own, Z) - along * ez - lz
        square = ox * ox + oy * oy + oz * oz
        distance = sqrt(maximum(square, SHORTEST * SHORTEST))
        to_unit = 1.0 / distance
        ox, oy, oz = ox * to_unit, oy * to_unit, oz * to_unit
        closing = dx * ox + dy * oy + dz * oz
        swing = (ty * lz - tz * ly) * ox + (tz * lx - tx * lz) * oy + (tx * ly - ty * lx) * oz
        moment = moment + weight * closing * swing
        inertia = inertia + weight * swing * swing
        excess = maximum(excess, distance - load_row(rows, link, LIMIT))
        store_three(scratch, own, X, ox, oy, oz)
        store_three(scratch, own, LEVER_X, lx, ly, lz)
        store_three(scratch, own, DISTANCE, distance, closing, swing)
    return moment / maximum(inertia, TINY), excess


@inline
def sum_pulls(edge, inv, spin, rows, at, count, scratch, pulls, out):
    """Write the forces of a block's links on their segments from `pulls[out]` on.

    Returns their sum, and what of it the end of the segment gets: its share of each, less the couple that makes up for
    the moment of what pulls along the segment, but beside it. And their torque about the segment [N m].
    """
    ex, ey, ez = edge
    by_length = inv * inv
    hx, hy, hz, qx, qy, qz = (
        broadcast(0.0),
        broadcast(0.0),
        broadcast(0.0),
        broadcast(0.0),
        broadcast(0.0),
        broadcast(0.0),
    )
    torque = broadcast(0.0)
    for m in range(count):
        link, own = at + m * LINK_ROWS * WIDTH, m * SCRATCH_ROWS * WIDTH
        # chang2002 eq. 2
        speed = load_row(scratch, own, APPROACH) - spin * load_row(scratch, own, SWING)
        size = load_row(rows, link, SPRING) * load_row(scratch, own, DISTANCE) + load_row(rows, link, DAMPER) * speed
        fx = size * load_row(scratch, own, X)
        fy = size * load_row(scratch, own, Y)
        fz = size * load_row(scratch, own, Z)
        store_points(pulls, out + m * 3 * WIDTH, fx, fy, fz)
        hx, hy, hz = hx + fx, hy + fy, hz + fz
        along = load_row(rows, link, ALONG)
        couple = (fx * ex + fy * ey + fz * ez) * by_length
        qx = qx + (along * fx - couple * load_row(scratch, own, LEVER_X))
        qy = qy + (along * fy - couple * load_row(scratch, own, LEVER_Y))
        qz = qz + (along * fz - couple * load_row(scratch, own, LEVER_Z))
        torque = torque + size * load_row(scratch, own, SWING)
    return hx, hy, hz, qx, qy, qz, torque


@inline
def add_to_segments(force, at, limit, total, at_end, left):
    """Add `total` to both ends of eight segments, of it `at_end` to the last; and what those before have `left`."""
    (hx, hy, hz), (qx, qy, qz), (lx, ly, lz) = total, at_end, left
    x, y, z = hx - qx + shift_up(qx, lx), hy - qy + shift_up(qy, ly), hz - qz + shift_up(qz, lz)
    add_points(force, at, limit, x, y, z)


@njit(cache=True, error_model="numpy")
def pull_own(points, velocity, frames, rows, links, limits, dt, first, end, scratch, pulls, torques, force):
    """Fill the `pulls` of the links of vertices `first` to `end`, those of whole strands, and add them to `force`.

    Wears links out, and returns how many broke. All arrays but `links` are flat, see `pull`; `scratch` has
    `SCRATCH_ROWS` for each place.
    """
    use_wide_registers()
    beyond, count, broken = 3 * end, links.shape[1], 0
    left_x, left_y, left_z = broadcast(0.0), broadcast(0.0), broadcast(0.0)
    for vertex in range(first, end, WIDTH):
        block = vertex // WIDTH
        at = block * count * LINK_ROWS * WIDTH
        x, y, z = load_points(points, 3 * vertex, beyond)
        ex, ey, ez = load_points(points, 3 * vertex + 3, beyond)
        ex, ey, ez = ex - x, ey - y, ez - z
        inv = 1.0 / sqrt(maximum(ex * ex + ey * ey + ez * ez, TINY))
        tangents, own = (ex * inv, ey * inv, ez * inv), block * FRAME_ROWS * WIDTH
        held = (load_row(frames, own, AXIS_X), load_row(frames, own, AXIS_Y), load_row(frames, own, AXIS_Z))
        frame = segment_frame(points, x, y, z, tangents, held, rows, at, count, scratch)
        vx, vy, vz = load_points(velocity, 3 * vertex, beyond)
        rx, ry, rz = load_points(velocity, 3 * vertex + 3, beyond)
        rate = (rx - vx, ry - vy, rz - vz)
        edge = (ex, ey, ez)
        spin, excess = look_at_links(velocity, edge, inv, (vx, vy, vz), rate, frame, rows, at, count, scratch)
        is_held = held[0] * held[0] + held[1] * held[1] + held[2] * held[2] > 0.0
        spin = select(is_held, load_row(frames, own, SPIN), spin)
        hx, hy, hz, qx, qy, qz, torque = sum_pulls(
            edge, inv, spin, rows, at, count, scratch, pulls, block * count * 3 * WIDTH
        )
        store_row(torques, vertex, 0, torque)
        add_to_segments(force, 3 * vertex, beyond, (hx, hy, hz), (qx, qy, qz), (left_x, left_y, left_z))
        left_x, left_y, left_z = qx, qy, qz
        if reduce_max(excess) > 0.0:
            broken += wear_out(links, block, limits, dt, rows, scratch)
    return broken


@njit(cache=True, error_model="numpy")
def pull_back(pulls, incoming, starts, first, end, force):
    """Take the force of each link off the segment that it is tied to, those behind vertices `first` to `end`."""
    use_wide_registers()
    left_x, left_y, left_z = broadcast(0.0), broadcast(0.0), broadcast(0.0)
    for vertex in range(first, end, WIDTH):
        block = vertex // WIDTH
        hx, hy, hz, qx, qy, qz = (
            broadcast(0.0),
            broadcast(0.0),
            broadcast(0.0),
            broadcast(0.0),
            broadcast(0.0),
            broadcast(0.0),
        )
        for place in range(starts[block], starts[block + 1]):
            at = place * INCOMING_ROWS * WIDTH
            u = load_row(incoming, at, SHARE)
            fx, fy = gather_pairs(incoming, at + WIDTH * PULL, pulls, 0)
            _, fz = gather_pairs(incoming, at + WIDTH * PULL, pulls, 1)
            hx, hy, hz = hx - fx, hy - fy, hz - fz
            qx, qy, qz = qx - u * fx, qy - u * fy, qz - u * fz
        add_to_segments(force, 3 * vertex, 3 * end, (hx, hy, hz), (qx, qy, qz), (left_x, left_y, left_z))
        left_x, left_y, left_z = qx, qy, qz


@njit(cache=True, error_model="numpy", parallel=True)
def pull(points, velocity, frames, rows, links, limits, dt, incoming, starts, pulls, torques, force):
    """Add the pull of all links to `force` (G, V, 3), and wear out those that are drawn out; returns how many broke.

    Args:
        points: [m], shape (G, V, 3).
        velocity: [m/s], likewise.
        frames: `FRAME_ROWS` of each block, flat, see `_kernels_frames`.
        rows: `LINK_ROWS` of each place for a link of each block, flat.
        links: of the segment behind each vertex, see `HEALTH`, shape (G * V, M, 4).
        limits: the two lengths between which a link loses its stiffness [m].
        dt: length of the step [s].
        incoming: `INCOMING_ROWS` for the links that are tied to the segments of each block, flat; a lane has its links
            one after the other, in the order in which they are added.
        starts: where those of each block begin, (B + 1,).
        pulls: force of each place and lane on its segment [N], flat, and behind them three zeros for lanes of
            `incoming` that have no more links.
        torques: out, of the links about the segment behind each vertex [N m], flat, room for whole blocks.
        force: [N], shape (G, V, 3).
    """
    strands, vertices = points.shape[:2]
    group_size, total = WIDTH * vertices, strands * vertices
    groups = (strands + WIDTH - 1) // WIDTH
    places, speeds, forces = points.reshape(-1), velocity.reshape(-1), force.reshape(-1)
    broken = 0
    for group in prange(groups):
        scratch = empty_rows(links.shape[1] * SCRATCH_ROWS)
        first = np.int64(group) * group_size
        end = min(first + group_size, total)
        broken += pull_own(places, speeds, frames, rows, links, limits, dt, first, end, scratch, pulls, torques, forces)
    for group in prange(groups):
        first = np.int64(group) * group_size
        pull_back(pulls, incoming, starts, first, min(first + group_size, total), forces)
    return broken
