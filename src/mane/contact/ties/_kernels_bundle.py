"""Pulls of bundles: loops over the vertices of one tie, in their order, on one thread; a tie holds some hundred.

Vertex k of a bundle feels weight_k (c - x_k), c the mean of all by the same weights: whatever the weights are, sum and
moment of all pulls are zero.
"""

# mypy: allow-untyped-defs

import math

from mane.simd.jit import njit

# Rounds in which the common centre of a bundle is found. The balance of forces is exact after any of them; later ones
# only improve where it is.
CENTRE_ROUNDS = 24
TINY = 1e-12  # [m]; closer to the centre than this, a vertex has no direction to be pulled in
STRAIGHT = 1e-12  # share of its inertia that a bundle has about its own line, where all vertices are on one
SAFETY = 1.5  # vertices are taken to give way by so many times what they were seen to
LEAST = 0.02  # and by no less than this share of what one that is tied to nothing would
FORGOTTEN = 0.05  # share of what was seen of them that a step makes obsolete
NOTICED = 1e-9  # [m/s^2] pulls that change by less than this on the mass of a vertex teach nothing


@njit(cache=True, error_model="numpy")
def mean_of(places, weight):
    """Mean of `places` (K, 3) with these weights, and the sum of these."""
    x = y = z = total = 0.0
    for k in range(len(weight)):
        share, p = weight[k], places[k]
        x, y, z, total = x + share * p[0], y + share * p[1], z + share * p[2], total + share
    scale = 1.0 / total if total > 0.0 else 0.0
    return x * scale, y * scale, z * scale, total


@njit(cache=True, error_model="numpy")
def distance_to(place, x, y, z):
    """Distance of a place (3,) from a point."""
    return math.sqrt((place[0] - x) ** 2 + (place[1] - y) ** 2 + (place[2] - z) ** 2)


@njit(cache=True, error_model="numpy")
def add_pulls(places, rows, weight, sign, force):
    """Add `sign` times the pulls of these weights on vertices at `places` (K, 3) to `force` (P, 3)."""
    x, y, z, _ = mean_of(places, weight)
    for k in range(len(rows)):
        p, f, w = places[k], force[rows[k]], sign * weight[k]
        f[0], f[1], f[2] = f[0] + w * (x - p[0]), f[1] + w * (y - p[1]), f[2] + w * (z - p[2])


@njit(cache=True, error_model="numpy")
def mend_weights(places, ends, held, weight, give, most, softness, radius, inward, dt, mended):
    """Fill `mended` (K,) with the weights by which the held vertices end within a ball.

    Args:
        places: of the vertices at the start of the step [m], shape (K, 3).
        ends: where they ended with the weights that they had [m], shape (K, 3).
        held: whether the tie still holds them, shape (K,).
        weight: those weights [N/m], shape (K,).
        give: how each gives way to a force [1/kg], matrices, shape (K, 3, 3).
        most: largest pull on each [N], shape (K,).
        softness: of the tie: distance beyond the radius over force [m/N].
        radius: of the ball [m].
        inward: speed at which those outside are drawn in, at most [m/s].
        dt: [s].
        mended: out.
    """
    count = len(weight)
    for k in range(count):
        mended[k] = 1.0 if held[k] else 0.0
    x, y, z, _ = mean_of(places, weight if weight.any() else mended)
    cx, cy, cz, _ = mean_of(ends, weight if weight.any() else mended)
    for _ in range(CENTRE_ROUNDS):
        # Where pulls balance, the sum of half the squares of all distances beyond, by stiffness, is least. It is
        # convex, and bends no more than the sum of the stiffnesses: steps over that lead down and cannot overshoot.
        sx = sy = sz = total = 0.0
        for k in range(count):
            mended[k] = 0.0
            distance = distance_to(ends[k], cx, cy, cz)
            if held[k] and distance > TINY:
                nx, ny, nz = (ends[k, 0] - cx) / distance, (ends[k, 1] - cy) / distance, (ends[k, 2] - cz) / distance
                start = distance_to(places[k], x, y, z)
                yields = give_along(give[k], nx, ny, nz) * dt * dt
                beyond = distance - max(radius, start - inward * dt) + yields * weight[k] * start
                if beyond > 0.0:
                    stiff = 1.0 / (softness + yields)
                    pull = min(stiff * beyond, most[k])
                    mended[k] = pull / distance
                    sx, sy, sz, total = sx + pull * nx, sy + pull * ny, sz + pull * nz, total + stiff
        if total == 0.0:
            return
        cx, cy, cz = cx + sx / total, cy + sy / total, cz + sz / total


@njit(cache=True, error_model="numpy")
def give_along(give, x, y, z):
    """How far a vertex gives way along a unit vector: n G n, `give` (3, 3)."""
    return (
        give[0, 0] * x * x
        + give[1, 1] * y * y
        + give[2, 2] * z * z
        + 2.0 * (give[0, 1] * x * y + give[0, 2] * x * z + give[1, 2] * y * z)
    )


@njit(cache=True, error_model="numpy")
def learn_give(places, before, after, weight, mended, mass, dt, give, pull):
    """See how far the vertices gave way to the change of their pulls, and how large the pulls are now [N], (K,).

    `before` and `after` (K, 3) are where they ended with `weight` and with `mended`; see `mend_weights`. `give` becomes
    the matrix that agrees with this and is as it was across (the update of Broyden, Fletcher, Goldfarb and Shanno);
    what was learned before is forgotten by and by, since strands turn.
    """
    ox, oy, oz, _ = mean_of(places, weight)
    x, y, z, _ = mean_of(places, mended)
    for k in range(len(weight)):
        p, g, free = places[k], give[k], 1.0 / mass[k]
        pull[k] = mended[k] * distance_to(p, x, y, z)
        for i in range(3):
            for j in range(3):
                g[i, j] += FORGOTTEN * ((free if i == j else 0.0) - g[i, j])
        fx = mended[k] * (x - p[0]) - weight[k] * (ox - p[0])
        fy = mended[k] * (y - p[1]) - weight[k] * (oy - p[1])
        fz = mended[k] * (z - p[2]) - weight[k] * (oz - p[2])
        square = fx * fx + fy * fy + fz * fz
        if square <= (NOTICED * mass[k]) ** 2:
            continue
        scale = SAFETY / (dt * dt)
        mx = scale * (after[k, 0] - before[k, 0])
        my = scale * (after[k, 1] - before[k, 1])
        mz = scale * (after[k, 2] - before[k, 2])
        along = mx * fx + my * fy + mz * fz
        if along < LEAST * free * square or along > free * square:
            level = min(max(along / square, LEAST * free), free)
            mx, my, mz, along = level * fx, level * fy, level * fz, level * square
        gx = g[0, 0] * fx + g[0, 1] * fy + g[0, 2] * fz
        gy = g[1, 0] * fx + g[1, 1] * fy + g[1, 2] * fz
        gz = g[2, 0] * fx + g[2, 1] * fy + g[2, 2] * fz
        old = fx * gx + fy * gy + fz * gz
        moved, guessed = (mx, my, mz), (gx, gy, gz)
        for i in range(3):
            for j in range(3):
                g[i, j] += moved[i] * moved[j] / along - guessed[i] * guessed[j] / old


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
