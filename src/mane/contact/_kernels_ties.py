"""Pulls of ties: loops over the vertices of one tie, in their order, on one thread; a tie holds some hundred."""

# mypy: allow-untyped-defs

import math

from numba import njit

# Rounds in which the common centre of a bundle is found. The balance of forces is exact after any of them; later ones
# only improve where it is.
CENTRE_ROUNDS = 12
TINY = 1e-12  # [m]; closer to the centre than this, a vertex has no direction to be pulled in
STRAIGHT = 1e-12  # share of its inertia that a bundle has about its own line, where all vertices are on one


@njit(cache=True, error_model="numpy")
def weighted_centre(points, velocity, rows, weight):
    """Mean position and velocity of `rows` with these weights, and their sum."""
    x = y = z = u = v = w = total = 0.0
    for k in range(len(rows)):
        share, p, q = weight[k], points[rows[k]], velocity[rows[k]]
        x, y, z = x + share * p[0], y + share * p[1], z + share * p[2]
        u, v, w = u + share * q[0], v + share * q[1], w + share * q[2]
        total += share
    scale = 1.0 / total if total > 0.0 else 0.0
    return x * scale, y * scale, z * scale, u * scale, v * scale, w * scale, total


@njit(cache=True, error_model="numpy")
def gather_bundle(points, velocity, rows, held, compliance, radius, inward, dt, weight, force, pull):
    """Pull the held vertices that are about to leave the ball about their common centre back into it.

    Vertex k feels weight_k (c - x_k), with c the mean by the same weights: sum and moment of all pulls are zero.

    Args:
        points, velocity: of all vertices, shapes (P, 3).
        rows: the vertices of the tie, shape (K,).
        held: whether the tie still holds them, shape (K,).
        compliance: distance over force [m/N] that a pull within this step has, shape (K,).
        radius: of the ball [m].
        inward: speed at which those outside are drawn in, at most [m/s].
        dt: [s].
        weight: scratch, shape (K,).
        force: added to, shape (P, 3).
        pull: out, size of the force on each [N], shape (K,).
    """
    count = len(rows)
    for k in range(count):
        weight[k] = 1.0 if held[k] else 0.0
        pull[k] = 0.0
    x, y, z, u, v, w, total = weighted_centre(points, velocity, rows, weight)
    for _ in range(CENTRE_ROUNDS):
        for k in range(count):
            weight[k] = 0.0
            p, q = points[rows[k]], velocity[rows[k]]
            rx, ry, rz = p[0] - x, p[1] - y, p[2] - z
            distance = math.sqrt(rx * rx + ry * ry + rz * rz)
            if held[k] and distance > TINY:
                leaving = (rx * (q[0] - u) + ry * (q[1] - v) + rz * (q[2] - w)) / distance
                beyond = min(distance - radius, inward * dt) + dt * leaving
                weight[k] = max(beyond, 0.0) / (compliance[k] * distance)
        cx, cy, cz, cu, cv, cw, total = weighted_centre(points, velocity, rows, weight)
        if total == 0.0:
            return
        x, y, z, u, v, w = cx, cy, cz, cu, cv, cw
    for k in range(count):
        p, f = points[rows[k]], force[rows[k]]
        fx, fy, fz = weight[k] * (x - p[0]), weight[k] * (y - p[1]), weight[k] * (z - p[2])
        f[0], f[1], f[2] = f[0] + fx, f[1] + fy, f[2] + fz
        pull[k] = math.sqrt(fx * fx + fy * fy + fz * fz)


@njit(cache=True, error_model="numpy")
def grip_bundle(points, velocity, rows, held, mass, rate, dt, weight, force):
    """Slow the held vertices down relative to the rigid motion that has their momentum and their spin.

    Args:
        points, velocity: of all vertices, shapes (P, 3).
        rows: the vertices of the tie, shape (K,).
        held: whether the tie still holds them, shape (K,).
        mass: of the vertices of the tie [kg], shape (K,).
        rate: [1/s].
        dt: [s].
        weight: scratch, shape (K,).
        force: added to, shape (P, 3).
    """
    for k in range(len(rows)):
        weight[k] = mass[k] if held[k] else 0.0
    x, y, z, u, v, w, _ = weighted_centre(points, velocity, rows, weight)
    xx = yy = zz = xy = xz = yz = lx = ly = lz = 0.0
    for k in range(len(rows)):
        p, q, m = points[rows[k]], velocity[rows[k]], weight[k]
        rx, ry, rz, a, b, c = p[0] - x, p[1] - y, p[2] - z, q[0] - u, q[1] - v, q[2] - w
        xx, yy, zz = xx + m * (ry * ry + rz * rz), yy + m * (rx * rx + rz * rz), zz + m * (rx * rx + ry * ry)
        xy, xz, yz = xy - m * rx * ry, xz - m * rx * rz, yz - m * ry * rz
        lx, ly, lz = lx + m * (ry * c - rz * b), ly + m * (rz * a - rx * c), lz + m * (rx * b - ry * a)
    ox, oy, oz = spin_of(xx, yy, zz, xy, xz, yz, lx, ly, lz)
    share = -math.expm1(-rate * dt) / dt
    for k in range(len(rows)):
        p, q, f = points[rows[k]], velocity[rows[k]], force[rows[k]]
        rx, ry, rz = p[0] - x, p[1] - y, p[2] - z
        f[0] += share * weight[k] * (u + oy * rz - oz * ry - q[0])
        f[1] += share * weight[k] * (v + oz * rx - ox * rz - q[1])
        f[2] += share * weight[k] * (w + ox * ry - oy * rx - q[2])


@njit(cache=True, error_model="numpy")
def spin_of(xx, yy, zz, xy, xz, yz, lx, ly, lz):
    """Angular velocity of a body with this inertia and angular momentum; none about a line without inertia."""
    least = STRAIGHT * (xx + yy + zz)
    if least == 0.0:
        return 0.0, 0.0, 0.0
    xx, yy, zz = xx + least, yy + least, zz + least
    a, b, c = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    d, e, f = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    scale = 1.0 / (xx * a + xy * b + xz * c)
    return (
        scale * (a * lx + b * ly + c * lz),
        scale * (b * lx + d * ly + e * lz),
        scale * (c * lx + e * ly + f * lz),
    )


@njit(cache=True, error_model="numpy")
def hold_at_head(
    points, velocity, rows, held, before, after, stiffness, damping, radius, inward, dt, force, resistance, record
):
    """Pull the held vertices that are about to leave the ball about a place of the head back into it, implicitly.

    Args:
        points, velocity: of all vertices, shapes (P, 3).
        rows: the vertices of the tie, shape (K,).
        held: whether the tie still holds them, shape (K,).
        before, after: where the head has the centre for each at start and end of the step [m], shapes (K, 3).
        stiffness: [N/m], shape (K,).
        damping: of every motion relative to the head [kg/s], shape (K,).
        radius: of the ball [m].
        inward: speed at which those outside are drawn in, at most [m/s].
        dt: [s].
        force, resistance: added to, shapes (P, 3) and (P, 6).
        record: out: stiffness of the pull (0 for none), what it would be without the vertex's motion [m], and its
            direction times dt; shape (K, 5).
    """
    for k in range(len(rows)):
        record[k, 0] = 0.0
        if not held[k]:
            continue
        p, q, f, d = points[rows[k]], velocity[rows[k]], force[rows[k]], resistance[rows[k]]
        for axis in range(3):
            f[axis] += damping[k] * (after[k, axis] - before[k, axis]) / dt
            d[axis] += damping[k]
        rx, ry, rz = p[0] - before[k, 0], p[1] - before[k, 1], p[2] - before[k, 2]
        distance = math.sqrt(rx * rx + ry * ry + rz * rz)
        if distance <= TINY:
            continue
        nx, ny, nz = rx / distance, ry / distance, rz / distance
        carried = (
            nx * (after[k, 0] - before[k, 0]) + ny * (after[k, 1] - before[k, 1]) + nz * (after[k, 2] - before[k, 2])
        )
        beyond = min(distance - radius, inward * dt) - carried
        # A vertex outside is led in even when it comes by itself: let go, it would leave again in the next step.
        if distance <= radius and beyond + dt * (nx * q[0] + ny * q[1] + nz * q[2]) <= 0.0:
            continue
        record[k, 0], record[k, 1] = stiffness[k], beyond
        record[k, 2], record[k, 3], record[k, 4] = dt * nx, dt * ny, dt * nz
        pull, drag = stiffness[k] * beyond, stiffness[k] * dt
        f[0], f[1], f[2] = f[0] - pull * nx, f[1] - pull * ny, f[2] - pull * nz
        d[0], d[1], d[2] = d[0] + drag * nx * nx, d[1] + drag * ny * ny, d[2] + drag * nz * nz
        d[3], d[4], d[5] = d[3] + drag * nx * ny, d[4] + drag * nx * nz, d[5] + drag * ny * nz


@njit(cache=True, error_model="numpy")
def measure_pull(velocity, rows, record, pull):
    """Fill `pull` (K,) with the force [N] that `hold_at_head` turned out to have, with velocities after the step."""
    for k in range(len(rows)):
        q = velocity[rows[k]]
        moved = record[k, 2] * q[0] + record[k, 3] * q[1] + record[k, 4] * q[2]
        pull[k] = record[k, 0] * abs(record[k, 1] + moved)
