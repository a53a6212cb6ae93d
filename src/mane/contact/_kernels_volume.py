"""Hair to a grid and back: quadratic B-splines on the nodes of a box, three per axis.

A vertex at `cells` (in cells, axes of the head) touches the nodes base, base + 1 and base + 2 of each axis, base being
floor(cells - 1/2). Sums over vertices are made slab by slab, a slab being SLAB bases wide along the first axis: every
second slab at once, which share no node, then the others. The order of each sum is that of the vertices, on any number
of threads.
"""

# mypy: allow-untyped-defs

import math

import numpy as np
from numba import njit, prange

FASTMATH = {"contract", "arcp", "nsz", "afn"}
SLAB = 4
OUTSIDE = -1


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def spline(coordinate):
    """Base node of a coordinate in cells, the place relative to it, and the weights of the three nodes."""
    base = int(math.floor(coordinate - 0.5))
    f = coordinate - base
    return base, f, 0.5 * (1.5 - f) ** 2, 0.75 - (f - 1.0) ** 2, 0.5 * (f - 0.5) ** 2


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def pick(n, a, b, c):
    """The n-th of three."""
    return a if n == 0 else (b if n == 1 else c)


@njit(cache=True, error_model="numpy")
def to_cells(points, takes_part, turn, pivot, home, inv_cell, cells, low, high):
    """Fill `cells` (G, V, 3) with where vertices are on the grid, and the bounds of all, `low` and `high` (3,).

    `turn` (3, 3) takes directions from the head to the world; `pivot` in the world is `home` in the rest pose (3,).
    """
    low[:], high[:] = np.inf, -np.inf
    for g in range(points.shape[0]):
        if not takes_part[g]:
            continue
        for v in range(points.shape[1]):
            for axis in range(3):
                place = home[axis]
                for other in range(3):
                    place += turn[other, axis] * (points[g, v, other] - pivot[other])
                cells[g, v, axis] = place * inv_cell
                low[axis] = min(low[axis], cells[g, v, axis])
                high[axis] = max(high[axis], cells[g, v, axis])


@njit(cache=True, error_model="numpy")
def sort_by_slab(cells, takes_part, first, size, slab, starts, order):
    """Order the vertices of the box by slab: `order` (P,), slab s from `starts[s]` on; `slab` (P,) is scratch.

    `first` (3,) is the lowest node of the box, `size` (3,) its number of nodes. Vertices that are not within it, or
    take no part, are left out: their `slab` is OUTSIDE.
    """
    vertices = cells.shape[1]
    starts[:] = 0
    for p in range(len(slab)):
        g, v = p // vertices, p % vertices
        slab[p] = OUTSIDE
        if not takes_part[g]:
            continue
        inside = True
        for axis in range(3):
            base = int(math.floor(cells[g, v, axis] - 0.5)) - first[axis]
            inside = inside and base >= 0 and base + 2 < size[axis]
            if axis == 0:
                slab[p] = base // SLAB
        if inside:
            starts[slab[p] + 1] += 1
        else:
            slab[p] = OUTSIDE
    for s in range(len(starts) - 1):
        starts[s + 1] += starts[s]
    for p in range(len(slab)):
        if slab[p] != OUTSIDE:
            order[starts[slab[p]]] = p
            starts[slab[p]] += 1
    for s in range(len(starts) - 1, 0, -1):
        starts[s] = starts[s - 1]
    starts[0] = 0


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def row_of(bx, by, bz, first, size):
    """Number of a node of the box; unsigned, so that no access has to ask whether it counts from the end."""
    return np.uint64(((bx - first[0]) * size[1] + by - first[1]) * size[2] + bz - first[2])


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def add_motion(place, first, size, mass, velocity, rows, scale, nodes):
    """Add mass and momentum of a vertex to its nodes (4 n,); its velocity changes by `scale` times `rows` per cell."""
    bx, fx, x0, x1, x2 = spline(place[0])
    by, fy, y0, y1, y2 = spline(place[1])
    bz, fz, z0, z1, z2 = spline(place[2])
    (ax, ay, az), (cx, cy, cz), (ex, ey, ez) = rows
    az, cz, ez = scale * az, scale * cz, scale * ez
    for i in range(3):
        dx = scale * (i - fx)
        for j in range(3):
            at = np.uint64(4) * row_of(bx + i, by + j, bz, first, size)
            share, dy = mass * pick(i, x0, x1, x2) * pick(j, y0, y1, y2), scale * (j - fy)
            u = velocity[0] + ax * dx + ay * dy - az * fz
            v = velocity[1] + cx * dx + cy * dy - cz * fz
            w = velocity[2] + ex * dx + ey * dy - ez * fz
            for k in range(3):
                part = share * pick(k, z0, z1, z2)
                node = at + np.uint64(4 * k)
                nodes[node] += part
                nodes[node + np.uint64(1)] += part * (u + az * k)
                nodes[node + np.uint64(2)] += part * (v + cz * k)
                nodes[node + np.uint64(3)] += part * (w + ez * k)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def to_head(turn, x, y, z):
    """Take a vector of the world to the axes of the head."""
    return (
        turn[0, 0] * x + turn[1, 0] * y + turn[2, 0] * z,
        turn[0, 1] * x + turn[1, 1] * y + turn[2, 1] * z,
        turn[0, 2] * x + turn[1, 2] * y + turn[2, 2] * z,
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def to_world(turn, x, y, z):
    """Take a vector in the axes of the head to the world."""
    return to_head(turn.T, x, y, z)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def matrix_to_head(turn, m):
    """Take a matrix of the world, nine numbers by rows, to the axes of the head; returns its rows."""
    a, b, c = to_head(turn, m[0], m[1], m[2])
    d, e, f = to_head(turn, m[3], m[4], m[5])
    g, h, i = to_head(turn, m[6], m[7], m[8])
    first, second, third = to_head(turn, a, d, g), to_head(turn, b, e, h), to_head(turn, c, f, i)
    return (
        (first[0], second[0], third[0]),
        (first[1], second[1], third[1]),
        (first[2], second[2], third[2]),
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def add_matrix(turn, rows, old_share, scale, m):
    """Set nine numbers `m` to `old_share` of themselves plus `scale` times the matrix of these rows, in the world."""
    a, b, c = to_world(turn, *rows[0]), to_world(turn, *rows[1]), to_world(turn, *rows[2])
    for column in range(3):
        x, y, z = to_world(turn, a[column], b[column], c[column])
        m[column] = old_share * m[column] + scale * x
        m[3 + column] = old_share * m[3 + column] + scale * y
        m[6 + column] = old_share * m[6 + column] + scale * z


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def scatter_motion(order, starts, cells, first, size, mass, velocity, affine, turn, cell, nodes):
    """Add mass [kg] and momentum of the vertices in `order` to `nodes` (4 n,), with their `affine` motion (P, 9).

    Nodes have the axes of the head.
    """
    slabs = len(starts) - 1
    for colour in range(2):
        for half in prange((slabs + 1 - colour) // 2):
            s = 2 * half + colour
            for n in range(starts[s], starts[s + 1]):
                p = order[n]
                moving = to_head(turn, velocity[p, 0], velocity[p, 1], velocity[p, 2])
                rows = matrix_to_head(turn, affine[p])
                add_motion(cells[p], first, size, mass[p], moving, rows, 4.0 / cell, nodes)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def velocities(count, nodes):
    """Turn the momentum of the first `count` nodes into velocity [m/s]."""
    for n in range(count):
        inverse = 1.0 / nodes[4 * n] if nodes[4 * n] > 0.0 else 0.0
        for axis in range(1, 4):
            nodes[4 * n + axis] *= inverse


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def read_nodes(place, first, size, nodes):
    """Four channels of `nodes` (4 n,) at a place: a number, and a vector with its moments (rows) and its divergence.

    In cells; the moment is the sum of w value (node - place).
    """
    bx, fx, x0, x1, x2 = spline(place[0])
    by, fy, y0, y1, y2 = spline(place[1])
    bz, fz, z0, z1, z2 = spline(place[2])
    g0, g1, g2 = fz - 1.5, 2.0 - 2.0 * fz, fz - 0.5
    total = u = v = w = ux = uy = uz = vx = vy = vz = wx = wy = wz = spread = 0.0
    for i in range(3):
        sx, gx, dx = pick(i, x0, x1, x2), pick(i, fx - 1.5, 2.0 - 2.0 * fx, fx - 0.5), i - fx
        for j in range(3):
            sy, gy, dy = pick(j, y0, y1, y2), pick(j, fy - 1.5, 2.0 - 2.0 * fy, fy - 0.5), j - fy
            n0 = np.uint64(4) * row_of(bx + i, by + j, bz, first, size)
            n1, n2 = n0 + np.uint64(4), n0 + np.uint64(8)
            one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
            a0, a1, a2 = nodes[n0 + one], nodes[n1 + one], nodes[n2 + one]
            b0, b1, b2 = nodes[n0 + two], nodes[n1 + two], nodes[n2 + two]
            c0, c1, c2 = nodes[n0 + three], nodes[n1 + three], nodes[n2 + three]
            a, b, c = z0 * a0 + z1 * a1 + z2 * a2, z0 * b0 + z1 * b1 + z2 * b2, z0 * c0 + z1 * c1 + z2 * c2
            share = sx * sy
            total += share * (z0 * nodes[n0] + z1 * nodes[n1] + z2 * nodes[n2])
            spread += gx * sy * a + sx * gy * b + share * (g0 * c0 + g1 * c1 + g2 * c2)
            uz += share * (z1 * a1 + 2.0 * z2 * a2 - fz * a)
            vz += share * (z1 * b1 + 2.0 * z2 * b2 - fz * b)
            wz += share * (z1 * c1 + 2.0 * z2 * c2 - fz * c)
            a, b, c = share * a, share * b, share * c
            u, v, w = u + a, v + b, w + c
            ux, vx, wx = ux + a * dx, vx + b * dx, wx + c * dx
            uy, vy, wy = uy + a * dy, vy + b * dy, wy + c * dy
    return total, (u, v, w), ((ux, uy, uz), (vx, vy, vz), (wx, wy, wz)), spread


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def gather_motion(
    order, count, cells, first, size, mass, velocity, turn, cell, nodes, share, dt, density, coming, affine, force
):
    """Read the grid at the first `count` vertices in `order`, and pull them towards its motion by `share` (0 to 1).

    Fills `density` (P,) [kg/m^3] and what motion makes of it in the step, `coming` (P,); adds to `force` (P, 3) and
    updates `affine` (P, 9), which without friction (`share` 0) stays as it is.
    """
    for n in prange(count):
        p = order[n]
        total, mean, moment, spread = read_nodes(cells[p], first, size, nodes)
        density[p] = total / cell**3
        coming[p] = density[p] * max(1.0 - dt * spread / cell, 0.0)
        if share > 0.0:
            goal = to_world(turn, mean[0], mean[1], mean[2])
            for axis in range(3):
                force[p, axis] += mass[p] * share * (goal[axis] - velocity[p, axis]) / dt
            add_matrix(turn, moment, 1.0 - share, share * cell, affine[p])


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def add_push(p, cells, first, size, energy, push):
    """Add `energy` [J] times the gradient of its weight, per cell, to each node (4 n,) of one vertex, and mark it."""
    bx, fx, x0, x1, x2 = spline(cells[p, 0])
    by, fy, y0, y1, y2 = spline(cells[p, 1])
    bz, fz, z0, z1, z2 = spline(cells[p, 2])
    for i in range(3):
        wx, gx = pick(i, x0, x1, x2), pick(i, fx - 1.5, 2.0 - 2.0 * fx, fx - 0.5)
        for j in range(3):
            wy, gy = pick(j, y0, y1, y2), pick(j, fy - 1.5, 2.0 - 2.0 * fy, fy - 0.5)
            at = np.uint64(4) * row_of(bx + i, by + j, bz, first, size)
            for k in range(3):
                wz, gz = pick(k, z0, z1, z2), pick(k, fz - 1.5, 2.0 - 2.0 * fz, fz - 0.5)
                node = at + np.uint64(4 * k)
                push[node] = 1.0
                push[node + np.uint64(1)] += energy * gx * wy * wz
                push[node + np.uint64(2)] += energy * wx * gy * wz
                push[node + np.uint64(3)] += energy * wx * wy * gz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def scatter_push(order, starts, cells, first, size, mass, coming, rest_density, speed, push):
    """Add the push of every vertex that is to be denser than at rest to `push` (4 n,) [J per cell], behind a mark."""
    slabs = len(starts) - 1
    for colour in range(2):
        for half in prange((slabs + 1 - colour) // 2):
            s = 2 * half + colour
            for n in range(starts[s], starts[s + 1]):
                p = order[n]
                if coming[p] > rest_density[p]:
                    energy = mass[p] * speed * speed * (1.0 - rest_density[p] / coming[p])
                    add_push(p, cells, first, size, energy, push)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def push_changes(count, scale, nodes, push):
    """Turn the push at the first `count` nodes, times `scale`, into a change of velocity [m/s]."""
    for n in range(count):
        inverse = scale / nodes[4 * n] if nodes[4 * n] > 0.0 else 0.0
        for axis in range(1, 4):
            push[4 * n + axis] *= inverse


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def spread_marks(size, push, marks):
    """Fill `marks` (3, n): the last is above zero at every base whose 27 nodes hold one with a push.

    One axis after the other: each takes the largest of three in a row of what the one before has found.
    """
    count = size[0] * size[1] * size[2]
    for n in range(count):
        marks[0, n] = push[4 * n]
    stride = 1
    for step in range(2, -1, -1):
        source, target = (0, 1) if step == 2 else ((1, 0) if step == 1 else (0, 2))
        for n in range(count):
            found = marks[source, n]
            for ahead in range(1, 3):
                if n + ahead * stride < count:
                    found = max(found, marks[source, n + ahead * stride])
            marks[target, n] = found
        stride *= size[step]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def gather_push(order, count, cells, first, size, mass, turn, cell, push, marks, turns, dt, affine, force):
    """Push the first `count` vertices in `order` apart: adds to `force` (P, 3), and to `affine` (P, 9) if `turns`.

    Most have no push around them, which `marks` (3, n) know.
    """
    for n in prange(count):
        p = order[n]
        bx, by, bz = spline(cells[p, 0])[0], spline(cells[p, 1])[0], spline(cells[p, 2])[0]
        if marks[2, row_of(bx, by, bz, first, size)] > 0.0:
            _, mean, moment, _ = read_nodes(cells[p], first, size, push)
            change = to_world(turn, mean[0], mean[1], mean[2])
            for axis in range(3):
                force[p, axis] += mass[p] * change[axis] / dt
            if turns:
                add_matrix(turn, moment, 1.0, cell, affine[p])
