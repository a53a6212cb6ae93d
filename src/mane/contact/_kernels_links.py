"""Static links: forces of every segment's links on itself, then on the strands that they are tied to."""

# mypy: allow-untyped-defs

import math

import numpy as np
from numba import njit, prange

FASTMATH = {"contract", "arcp", "nsz", "afn"}
# Columns of the scratch of one link.
PX, PY, PZ, LX, LY, LZ, SPRING, DAMPER, DISTANCE, CLOSING, SWING = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
SCRATCH = 11


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def law_of(health, stiffness, damping, give, dt):
    """What a link pulls with per distance [N/m] and per speed [kg/s] within a step.

    What has moved is pulled back as far as a step can bring it, what moves is stopped as far as it can.
    """
    k, c = health * stiffness, health * (stiffness * dt + damping)
    return k / (1.0 + k * dt * dt * give), c / (1.0 + c * dt * give)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def find_laws(health, stiffness, damping, give, dt, laws):
    """Fill `laws` (G, N, M, 2) with `law_of` every link."""
    for g in range(health.shape[0]):
        for i in range(health.shape[1]):
            for m in range(health.shape[2]):
                laws[g, i, m, 0], laws[g, i, m, 1] = law_of(
                    health[g, i, m], stiffness[g, i, m], damping[g, i, m], give[g, i, m], dt
                )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def point_at(flat, vertex, u):
    """What `flat` (P, 3) has at fraction `u` of the way from a vertex to the next."""
    first = np.uint64(vertex)
    second = first + np.uint64(1)
    return (
        (1.0 - u) * flat[first, 0] + u * flat[second, 0],
        (1.0 - u) * flat[first, 1] + u * flat[second, 1],
        (1.0 - u) * flat[first, 2] + u * flat[second, 2],
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def pull_own(
    points,
    velocity,
    active,
    strand,
    vertex,
    fraction,
    local,
    health,
    stiffness,
    damping,
    give,
    laws,
    limits,
    dt,
    pulls,
    scratch,
    force,
):
    """Fill `pulls` (G, N, M, 3) with the force of each link on its own segment, add it to `force`, wear links out.

    Each is tied to a `strand` (-1 for none) behind a `vertex` of it, counted through all strands, both (G, N, M).
    `points` and `velocity` are (G, V, 3), `limits` the two lengths between which a link loses its stiffness [m].
    Links of strands that are not `active` do nothing. `laws` are those of `find_laws`; that of a link that wears out is
    found again. `scratch` is (G, M, SCRATCH).
    """
    segments = points.shape[1] - 1
    places = strand.shape[2]
    flat, flat_velocity = points.reshape(-1, 3), velocity.reshape(-1, 3)
    weakens, breaks = limits
    for g in prange(points.shape[0]):
        if not active[g]:
            pulls[g] = 0.0
            continue
        for i in range(segments):
            x, y, z = points[g, i, 0], points[g, i, 1], points[g, i, 2]
            ex, ey, ez = points[g, i + 1, 0] - x, points[g, i + 1, 1] - y, points[g, i + 1, 2] - z
            inv = 1.0 / math.sqrt(ex * ex + ey * ey + ez * ez)
            tx, ty, tz = ex * inv, ey * inv, ez * inv
            # Two axes across the segment, as in `_reference_links.perpendicular`.
            sign = -1.0 if tz < 0.0 else 1.0
            a = -1.0 / (sign + tz)
            b = tx * ty * a
            ax, ay, az = 1.0 + sign * tx * tx * a, sign * b, -sign * tx
            bx, by, bz = b, sign + ty * ty * a, -ty
            cosine, sine = 0.0, 0.0
            for m in range(places):
                row = strand[g, i, m]
                if row < 0 or not active[row] or health[g, i, m] == 0.0:
                    scratch[g, m, DAMPER] = 0.0
                    continue
                px, py, pz = point_at(flat, vertex[g, i, m], fraction[g, i, m])
                px, py, pz = px - x, py - y, pz - z
                k = laws[g, i, m, 0]
                seen_a, seen_b = px * ax + py * ay + pz * az, px * bx + py * by + pz * bz
                own_a, own_b = local[g, i, m, 1], local[g, i, m, 2]
                cosine += k * (own_a * seen_a + own_b * seen_b)
                sine += k * (own_a * seen_b - own_b * seen_a)
                scratch[g, m, PX], scratch[g, m, PY], scratch[g, m, PZ] = px, py, pz
                scratch[g, m, SPRING], scratch[g, m, DAMPER] = k, laws[g, i, m, 1]
            norm = math.sqrt(cosine * cosine + sine * sine)
            if norm > 0.0:
                cosine, sine = cosine / norm, sine / norm
            else:
                cosine, sine = 1.0, 0.0
            vx, vy, vz = velocity[g, i, 0], velocity[g, i, 1], velocity[g, i, 2]
            rx, ry, rz = velocity[g, i + 1, 0] - vx, velocity[g, i + 1, 1] - vy, velocity[g, i + 1, 2] - vz
            moment, inertia = 0.0, 0.0
            for m in range(places):
                weight = scratch[g, m, DAMPER]
                if weight == 0.0:
                    continue
                own_a, own_b = local[g, i, m, 1], local[g, i, m, 2]
                on_a, on_b = cosine * own_a - sine * own_b, sine * own_a + cosine * own_b
                lx, ly, lz = on_a * ax + on_b * bx, on_a * ay + on_b * by, on_a * az + on_b * bz
                dx, dy, dz = point_at(flat_velocity, vertex[g, i, m], fraction[g, i, m])
                along = local[g, i, m, 0]
                tip = (lx * rx + ly * ry + lz * rz) * inv
                dx -= vx + along * rx - tip * tx
                dy -= vy + along * ry - tip * ty
                dz -= vz + along * rz - tip * tz
                ox = scratch[g, m, PX] - along * ex - lx
                oy = scratch[g, m, PY] - along * ey - ly
                oz = scratch[g, m, PZ] - along * ez - lz
                distance = math.sqrt(ox * ox + oy * oy + oz * oz)
                to_unit = 1.0 / distance if distance > 0.0 else 0.0
                ox, oy, oz = ox * to_unit, oy * to_unit, oz * to_unit
                closing = dx * ox + dy * oy + dz * oz
                swing = (ty * lz - tz * ly) * ox + (tz * lx - tx * lz) * oy + (tx * ly - ty * lx) * oz
                moment += weight * closing * swing
                inertia += weight * swing * swing
                scratch[g, m, LX], scratch[g, m, LY], scratch[g, m, LZ] = lx, ly, lz
                scratch[g, m, DISTANCE], scratch[g, m, CLOSING], scratch[g, m, SWING] = distance, closing, swing
                # The direction waits where the force will be.
                pulls[g, i, m, 0], pulls[g, i, m, 1], pulls[g, i, m, 2] = ox, oy, oz
            spin = moment / inertia if inertia > 0.0 else 0.0
            hx, hy, hz, qx, qy, qz, cx, cy, cz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for m in range(places):
                weight = scratch[g, m, DAMPER]
                if weight == 0.0:
                    pulls[g, i, m, 0], pulls[g, i, m, 1], pulls[g, i, m, 2] = 0.0, 0.0, 0.0
                    continue
                along = local[g, i, m, 0]
                lx, ly, lz = scratch[g, m, LX], scratch[g, m, LY], scratch[g, m, LZ]
                distance = scratch[g, m, DISTANCE]
                # chang2002 eq. 2
                size = scratch[g, m, SPRING] * distance + weight * (
                    scratch[g, m, CLOSING] - spin * scratch[g, m, SWING]
                )
                fx, fy, fz = size * pulls[g, i, m, 0], size * pulls[g, i, m, 1], size * pulls[g, i, m, 2]
                pulls[g, i, m, 0], pulls[g, i, m, 1], pulls[g, i, m, 2] = fx, fy, fz
                hx, hy, hz = hx + fx, hy + fy, hz + fz
                qx, qy, qz = qx + along * fx, qy + along * fy, qz + along * fz
                pull = (fx * tx + fy * ty + fz * tz) * inv
                cx, cy, cz = cx + pull * lx, cy + pull * ly, cz + pull * lz
                # chang2002 fig. 2
                left = (breaks - distance) / (breaks - weakens)
                if left < health[g, i, m]:
                    health[g, i, m] = max(left, 0.0)
                    laws[g, i, m, 0], laws[g, i, m, 1] = law_of(
                        health[g, i, m], stiffness[g, i, m], damping[g, i, m], give[g, i, m], dt
                    )
            force[g, i, 0] += hx - qx + cx
            force[g, i, 1] += hy - qy + cy
            force[g, i, 2] += hz - qz + cz
            force[g, i + 1, 0] += qx - cx
            force[g, i + 1, 1] += qy - cy
            force[g, i + 1, 2] += qz - cz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def pull_back(pulls, starts, incoming, places, fraction, force):
    """Take the force of each link off the strand that it is tied to.

    Links `incoming[starts[g]:starts[g + 1]]` (numbers into the flat tables) are tied to strand g at the segments
    `places`; they are added in this order, by one thread.
    """
    for g in prange(force.shape[0]):
        for n in range(starts[g], starts[g + 1]):
            link, j = incoming[n], places[n]
            u = fraction[link]
            for axis in range(3):
                force[g, j, axis] -= (1.0 - u) * pulls[link, axis]
                force[g, j + 1, axis] -= u * pulls[link, axis]
