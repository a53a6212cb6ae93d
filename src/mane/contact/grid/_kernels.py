"""Hair to a grid and back: quadratic B-splines on the nodes of a box, three per axis.

A vertex at `cells` (in cells, axes of the head) touches the nodes base, base + 1 and base + 2 of each axis, base being
floor(cells - 1/2). Sums over vertices are made slab by slab, a slab being SLAB bases wide along the first axis: every
second slab at once, which share no node, then the others. The order of each sum is that of the vertices, on any number
of threads.

A node is four numbers, a mass and a momentum or velocity, and they are added and read as one value.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.f64x4 import extract, from_numbers, load
from mane.simd.jit import leaf, njit, prange
from mane.simd.memory import store

FASTMATH = {"contract", "arcp", "nsz", "afn"}
inlined = leaf(fastmath=FASTMATH, forceinline=True)
SLAB = 4
OUTSIDE = -1


@inlined
def spline(coordinate):
    """Base node of a coordinate in cells, the place relative to it, and the weights of the three nodes."""
    base = int(math.floor(coordinate - 0.5))
    f = coordinate - base
    return base, f, 0.5 * (1.5 - f) ** 2, 0.75 - (f - 1.0) ** 2, 0.5 * (f - 0.5) ** 2


@inlined
def pick(n, a, b, c):
    """The n-th of three."""
    return a if n == 0 else (b if n == 1 else c)


@njit(cache=True, error_model="numpy")
def to_cells(points, takes_part, rotation, pivot, home, inv_cell, cells, low, high):
    """Fill `cells` (G, V, 3) with where vertices are on the grid, and the bounds of all, `low` and `high` (3,).

    `rotation` (3, 3) takes directions from the head to the world; `pivot` in the world is `home` in the rest pose (3,).
    """
    low[:], high[:] = np.inf, -np.inf
    for g in range(points.shape[0]):
        if not takes_part[g]:
            continue
        for v in range(points.shape[1]):
            for axis in range(3):
                place = home[axis]
                for other in range(3):
                    place += rotation[other, axis] * (points[g, v, other] - pivot[other])
                cells[g, v, axis] = place * inv_cell
                low[axis] = min(low[axis], cells[g, v, axis])
                high[axis] = max(high[axis], cells[g, v, axis])


@njit(cache=True, error_model="numpy")
def sort_by_slab(cells, takes_part, first, size, slab, starts, order):
    """Order the vertices of the box by slab: `order` (P,), slab s from `starts[s]` on; `slab` (P,) is scratch.

    `first` (3,) is the lowest node of the box, `size` (3,) its number of nodes. Vertices that are not within it, or
    take no part, are left out: their `slab` is OUTSIDE.
    """
    starts[:] = 0
    p = 0
    for g in range(cells.shape[0]):
        for v in range(cells.shape[1]):
            slab[p] = OUTSIDE
            if takes_part[g]:
                x = int(math.floor(cells[g, v, 0] - 0.5)) - first[0]
                y = int(math.floor(cells[g, v, 1] - 0.5)) - first[1]
                z = int(math.floor(cells[g, v, 2] - 0.5)) - first[2]
                lowest = min(x, min(y, z))
                if lowest >= 0 and x + 2 < size[0] and y + 2 < size[1] and z + 2 < size[2]:
                    slab[p] = x // SLAB
                    starts[slab[p] + 1] += 1
            p += 1
    for s in range(len(starts) - 1):
        starts[s + 1] += starts[s]
    for p in range(len(slab)):
        if slab[p] != OUTSIDE:
            order[starts[slab[p]]] = p
            starts[slab[p]] += 1
    for s in range(len(starts) - 1, 0, -1):
        starts[s] = starts[s - 1]
    starts[0] = 0


@inlined
def row_of(bx, by, bz, first, size):
    """Number of a node of the box."""
    return ((bx - first[0]) * size[1] + by - first[1]) * size[2] + bz - first[2]


@inlined
def add_motion(place, first, size, mass, velocity, rows, scale, nodes):
    """Add mass and momentum of a vertex to its nodes (4 n,); its velocity changes by `scale` times `rows` per cell."""
    bx, fx, x0, x1, x2 = spline(place[0])
    by, fy, y0, y1, y2 = spline(place[1])
    bz, fz, z0, z1, z2 = spline(place[2])
    along_x = from_numbers(0.0, scale * rows[0][0], scale * rows[1][0], scale * rows[2][0])
    along_y = from_numbers(0.0, scale * rows[0][1], scale * rows[1][1], scale * rows[2][1])
    along_z = from_numbers(0.0, scale * rows[0][2], scale * rows[1][2], scale * rows[2][2])
    # One, and the velocity, at the first node.
    at_base = from_numbers(1.0, velocity[0], velocity[1], velocity[2]) - along_x * fx - along_y * fy - along_z * fz
    for i in range(3):
        at_i = at_base + along_x * i
        for j in range(3):
            at = 4 * row_of(bx + i, by + j, bz, first, size)
            share = mass * pick(i, x0, x1, x2) * pick(j, y0, y1, y2)
            near = at_i + along_y * j
            middle = near + along_z
            store(nodes, at, load(nodes, at) + near * (share * z0))
            store(nodes, at + 4, load(nodes, at + 4) + middle * (share * z1))
            store(nodes, at + 8, load(nodes, at + 8) + (middle + along_z) * (share * z2))


@inlined
def to_head(rotation, x, y, z):
    """Take a vector of the world to the axes of the head."""
    return (
        rotation[0, 0] * x + rotation[1, 0] * y + rotation[2, 0] * z,
        rotation[0, 1] * x + rotation[1, 1] * y + rotation[2, 1] * z,
        rotation[0, 2] * x + rotation[1, 2] * y + rotation[2, 2] * z,
    )


@inlined
def to_world(rotation, x, y, z):
    """Take a vector in the axes of the head to the world."""
    return (
        rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z,
        rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z,
        rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z,
    )


@inlined
def matrix_to_head(rotation, m):
    """Take a matrix of the world, nine numbers by rows, to the axes of the head; returns its rows."""
    a, b, c = to_head(rotation, m[0], m[1], m[2])
    d, e, f = to_head(rotation, m[3], m[4], m[5])
    g, h, i = to_head(rotation, m[6], m[7], m[8])
    first, second, third = to_head(rotation, a, d, g), to_head(rotation, b, e, h), to_head(rotation, c, f, i)
    return (
        (first[0], second[0], third[0]),
        (first[1], second[1], third[1]),
        (first[2], second[2], third[2]),
    )


@inlined
def add_matrix(rotation, rows, old_share, scale, m):
    """Set nine numbers `m` to `old_share` of themselves plus `scale` times the matrix of these rows, in the world."""
    a, b, c = to_world(rotation, *rows[0]), to_world(rotation, *rows[1]), to_world(rotation, *rows[2])
    for column in range(3):
        x, y, z = to_world(rotation, a[column], b[column], c[column])
        m[column] = old_share * m[column] + scale * x
        m[3 + column] = old_share * m[3 + column] + scale * y
        m[6 + column] = old_share * m[6 + column] + scale * z


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def scatter_motion(order, starts, cells, first, size, mass, velocity, affine, rotation, cell, nodes):
    """Add mass [kg] and momentum of the vertices in `order` to `nodes` (4 n,), with their `affine` motion (P, 9).

    Nodes have the axes of the head.
    """
    slabs = (size[0] - 1) // SLAB + 1  # those beyond the box are empty, and threads share out what there is
    for colour in range(2):
        for half in prange((slabs + 1 - colour) // 2):
            s = 2 * half + colour
            for n in range(starts[s], starts[s + 1]):
                p = order[n]
                moving = to_head(rotation, velocity[p, 0], velocity[p, 1], velocity[p, 2])
                rows = matrix_to_head(rotation, affine[p])
                add_motion(cells[p], first, size, mass[p], moving, rows, 4.0 / cell, nodes)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def velocities(count, nodes):
    """Turn the momentum of the first `count` nodes into velocity [m/s]."""
    for n in range(count):
        inverse = 1.0 / nodes[4 * n] if nodes[4 * n] > 0.0 else 0.0
        for axis in range(1, 4):
            nodes[4 * n + axis] *= inverse


@inlined
def read_nodes(place, first, size, nodes):
    """Four channels of `nodes` (4 n,) at a place: a number, and a vector with its moments (rows) and its divergence.

    In cells; the moment is the sum of w value (node - place).
    """
    bx, fx, x0, x1, x2 = spline(place[0])
    by, fy, y0, y1, y2 = spline(place[1])
    bz, fz, z0, z1, z2 = spline(place[2])
    g0, g1, g2 = fz - 1.5, 2.0 - 2.0 * fz, fz - 0.5
    nothing = from_numbers(0.0, 0.0, 0.0, 0.0)
    total, moment_x, moment_y, moment_z = nothing, nothing, nothing, nothing
    change_x, change_y, change_z = nothing, nothing, nothing
    for i in range(3):
        sx, gx = pick(i, x0, x1, x2), pick(i, fx - 1.5, 2.0 - 2.0 * fx, fx - 0.5)
        for j in range(3):
            sy, gy = pick(j, y0, y1, y2), pick(j, fy - 1.5, 2.0 - 2.0 * fy, fy - 0.5)
            at = 4 * row_of(bx + i, by + j, bz, first, size)
            near, middle, far = load(nodes, at), load(nodes, at + 4), load(nodes, at + 8)
            share = sx * sy
            here, second, third = near * z0, middle * z1, far * z2
            here = here + second + third
            mean = here * share
            total = total + mean
            moment_x = moment_x + mean * (i - fx)
            moment_y = moment_y + mean * (j - fy)
            moment_z = moment_z + (second + third * 2.0 - here * fz) * share
            change_x = change_x + here * (gx * sy)
            change_y = change_y + here * (sx * gy)
            change_z = change_z + (near * g0 + middle * g1 + far * g2) * share
    return (
        extract(total, 0),
        (extract(total, 1), extract(total, 2), extract(total, 3)),
        (
            (extract(moment_x, 1), extract(moment_y, 1), extract(moment_z, 1)),
            (extract(moment_x, 2), extract(moment_y, 2), extract(moment_z, 2)),
            (extract(moment_x, 3), extract(moment_y, 3), extract(moment_z, 3)),
        ),
        extract(change_x, 1) + extract(change_y, 2) + extract(change_z, 3),
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def gather_motion(
    order, count, cells, first, size, mass, velocity, rotation, cell, nodes, share, dt, density, coming, affine, force
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
            goal = to_world(rotation, mean[0], mean[1], mean[2])
            for axis in range(3):
                force[p, axis] += mass[p] * share * (goal[axis] - velocity[p, axis]) / dt
            add_matrix(rotation, moment, 1.0 - share, share * cell, affine[p])


@inlined
def add_push(place, first, size, energy, push):
    """Add `energy` [J] times the gradient of its weight, per cell, to each node (4 n,) of one vertex, and mark it."""
    bx, fx, x0, x1, x2 = spline(place[0])
    by, fy, y0, y1, y2 = spline(place[1])
    bz, fz, z0, z1, z2 = spline(place[2])
    g0, g1, g2 = fz - 1.5, 2.0 - 2.0 * fz, fz - 0.5
    for i in range(3):
        wx, gx = energy * pick(i, x0, x1, x2), energy * pick(i, fx - 1.5, 2.0 - 2.0 * fx, fx - 0.5)
        for j in range(3):
            wy, gy = pick(j, y0, y1, y2), pick(j, fy - 1.5, 2.0 - 2.0 * fy, fy - 0.5)
            at = 4 * row_of(bx + i, by + j, bz, first, size)
            # Any number above zero is a mark.
            across, along = from_numbers(1.0, gx * wy, wx * gy, 0.0), from_numbers(0.0, 0.0, 0.0, wx * wy)
            store(push, at, load(push, at) + across * z0 + along * g0)
            store(push, at + 4, load(push, at + 4) + across * z1 + along * g1)
            store(push, at + 8, load(push, at + 8) + across * z2 + along * g2)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def scatter_push(order, starts, cells, first, size, mass, coming, rest_density, speed, push):
    """Add the push of every vertex that is to be denser than at rest to `push` (4 n,) [J per cell], behind a mark."""
    slabs = (size[0] - 1) // SLAB + 1  # those beyond the box are empty, and threads share out what there is
    for colour in range(2):
        for half in prange((slabs + 1 - colour) // 2):
            s = 2 * half + colour
            for n in range(starts[s], starts[s + 1]):
                p = order[n]
                if coming[p] > rest_density[p]:
                    energy = mass[p] * speed * speed * (1.0 - rest_density[p] / coming[p])
                    add_push(cells[p], first, size, energy, push)


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
def gather_push(order, count, cells, first, size, mass, rotation, cell, push, marks, rotations, dt, affine, force):
    """Push the first `count` vertices in `order` apart: adds to `force` (P, 3), and to `affine` (P, 9) if `rotations`.

    Most have no push around them, which `marks` (3, n) know.
    """
    for n in prange(count):
        p = order[n]
        bx, by, bz = spline(cells[p, 0])[0], spline(cells[p, 1])[0], spline(cells[p, 2])[0]
        if marks[2, row_of(bx, by, bz, first, size)] > 0.0:
            _, mean, moment, _ = read_nodes(cells[p], first, size, push)
            change = to_world(rotation, mean[0], mean[1], mean[2])
            for axis in range(3):
                force[p, axis] += mass[p] * change[axis] / dt
            if rotations:
                add_matrix(rotation, moment, 1.0, cell, affine[p])
