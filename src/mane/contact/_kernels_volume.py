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

FASTMATH = {"reassoc", "contract", "arcp", "nsz", "afn"}
SLAB = 4
OUTSIDE = -1


@njit(cache=True, error_model="numpy", inline="always")
def spline(coordinate):
    """Base node of a coordinate in cells, the place relative to it, and the weights of the three nodes."""
    base = int(math.floor(coordinate - 0.5))
    f = coordinate - base
    return base, f, 0.5 * (1.5 - f) ** 2, 0.75 - (f - 1.0) ** 2, 0.5 * (f - 0.5) ** 2


@njit(cache=True, error_model="numpy", inline="always")
def pick(n, a, b, c):
    """The n-th of three."""
    return a if n == 0 else (b if n == 1 else c)


@njit(cache=True, error_model="numpy", parallel=True)
def to_cells(points, takes_part, turn, pivot, home, inv_cell, cells, low, high):
    """Fill `cells` (G, V, 3) with where vertices are on the grid, and the bounds of each strand, `low`, `high` (G, 3).

    `turn` (3, 3) takes directions from the head to the world; `pivot` in the world is `home` in the rest pose (3,).
    """
    for g in prange(points.shape[0]):
        low[g, :], high[g, :] = np.inf, -np.inf
        if not takes_part[g]:
            continue
        for v in range(points.shape[1]):
            for axis in range(3):
                place = home[axis]
                for other in range(3):
                    place += turn[other, axis] * (points[g, v, other] - pivot[other])
                cells[g, v, axis] = place * inv_cell
                low[g, axis] = min(low[g, axis], cells[g, v, axis])
                high[g, axis] = max(high[g, axis], cells[g, v, axis])


@njit(cache=True, error_model="numpy")
def sort_by_slab(cells, takes_part, first, size, slab, starts, order):
    """Order the vertices of the box by slab: `order` (P,), slab s from `starts[s]` on; `slab` (P,) is scratch.

    `first` (3,) is the lowest node of the box, `size` (3,) its number of nodes. Vertices that are not within it, or take
    no part, are left out: their `slab` is OUTSIDE.
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


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def clear_nodes(count, nodes, push):
    """Forget what the first `count` nodes hold."""
    for n in prange(count):
        nodes[n, :] = 0.0
        push[n, :] = 0.0


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def add_motion(p, cells, first, size, mass, velocity, slope, nodes):
    """Add mass and momentum of one vertex to its nodes; its velocity changes by `slope` (3, 3) per cell."""
    bx, fx, x0, x1, x2 = spline(cells[p, 0])
    by, fy, y0, y1, y2 = spline(cells[p, 1])
    bz, fz, z0, z1, z2 = spline(cells[p, 2])
    for i in range(3):
        for j in range(3):
            row = ((bx + i - first[0]) * size[1] + by + j - first[1]) * size[2] + bz - first[2]
            share = mass[p] * pick(i, x0, x1, x2) * pick(j, y0, y1, y2)
            dx, dy = i - fx, j - fy
            ux = velocity[p, 0] + slope[0] * dx + slope[1] * dy
            uy = velocity[p, 1] + slope[3] * dx + slope[4] * dy
            uz = velocity[p, 2] + slope[6] * dx + slope[7] * dy
            for k in range(3):
                w, dz = share * pick(k, z0, z1, z2), k - fz
                nodes[row + k, 0] += w
                nodes[row + k, 1] += w * (ux + slope[2] * dz)
                nodes[row + k, 2] += w * (uy + slope[5] * dz)
                nodes[row + k, 3] += w * (uz + slope[8] * dz)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def scatter_motion(order, starts, cells, first, size, mass, velocity, affine, turn, cell, nodes):
    """Add mass [kg] and momentum of the vertices in `order` to `nodes` (n, 4), with their `affine` motion (P, 9)."""
    slabs = len(starts) - 1
    for colour in range(2):
        for half in prange((slabs + 1 - colour) // 2):
            slope = np.empty(9)
            s = 2 * half + colour
            for n in range(starts[s], starts[s + 1]):
                p = order[n]
                for i in range(3):
                    for j in range(3):
                        turned = 0.0
                        for k in range(3):
                            turned += affine[p, 3 * i + k] * turn[k, j]
                        slope[3 * i + j] = 4.0 / cell * turned
                add_motion(p, cells, first, size, mass, velocity, slope, nodes)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def density_at(x, y, z, first, size, cell, nodes):
    """Mass of hair per volume [kg/m^3] at a place in cells."""
    bx, _, x0, x1, x2 = spline(x)
    by, _, y0, y1, y2 = spline(y)
    bz, _, z0, z1, z2 = spline(z)
    total = 0.0
    for i in range(3):
        for j in range(3):
            row = ((bx + i - first[0]) * size[1] + by + j - first[1]) * size[2] + bz - first[2]
            line = z0 * nodes[row, 0] + z1 * nodes[row + 1, 0] + z2 * nodes[row + 2, 0]
            total += pick(i, x0, x1, x2) * pick(j, y0, y1, y2) * line
    return total / cell**3


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def gather_density(order, count, cells, first, size, cell, nodes, density):
    """Fill `density` (P,) [kg/m^3] of the first `count` vertices in `order`."""
    for n in prange(count):
        p = order[n]
        density[p] = density_at(cells[p, 0], cells[p, 1], cells[p, 2], first, size, cell, nodes)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def add_push(p, cells, first, size, energy, push):
    """Add `energy` [J] times the gradient of its weight, per cell, to each node of one vertex."""
    bx, fx, x0, x1, x2 = spline(cells[p, 0])
    by, fy, y0, y1, y2 = spline(cells[p, 1])
    bz, fz, z0, z1, z2 = spline(cells[p, 2])
    for i in range(3):
        wx, gx = pick(i, x0, x1, x2), pick(i, fx - 1.5, 2.0 - 2.0 * fx, fx - 0.5)
        for j in range(3):
            wy, gy = pick(j, y0, y1, y2), pick(j, fy - 1.5, 2.0 - 2.0 * fy, fy - 0.5)
            row = ((bx + i - first[0]) * size[1] + by + j - first[1]) * size[2] + bz - first[2]
            for k in range(3):
                wz, gz = pick(k, z0, z1, z2), pick(k, fz - 1.5, 2.0 - 2.0 * fz, fz - 0.5)
                push[row + k, 0] += energy * gx * wy * wz
                push[row + k, 1] += energy * wx * gy * wz
                push[row + k, 2] += energy * wx * wy * gz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def scatter_push(order, starts, cells, first, size, mass, density, rest_density, speed, push):
    """Add the push of every vertex that is denser than at rest to `push` (n, 3) [J per cell]."""
    slabs = len(starts) - 1
    for colour in range(2):
        for half in prange((slabs + 1 - colour) // 2):
            s = 2 * half + colour
            for n in range(starts[s], starts[s + 1]):
                p = order[n]
                if density[p] > rest_density[p]:
                    energy = mass[p] * speed * speed * (1.0 - rest_density[p] / density[p])
                    add_push(p, cells, first, size, energy, push)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def per_mass(count, push_scale, nodes, push):
    """Turn momentum into velocity [m/s], and the push, times `push_scale`, into a change of velocity [m/s]."""
    for n in prange(count):
        inverse = 1.0 / nodes[n, 0] if nodes[n, 0] > 0.0 else 0.0
        for axis in range(3):
            nodes[n, 1 + axis] *= inverse
            push[n, axis] *= inverse * push_scale


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def sum_nodes(x, y, z, first, size, values, start, mean, moment):
    """Fill `mean` (3,) with three channels of `values`, from `start` on, at a place, and `moment` (9,) about it."""
    bx, fx, x0, x1, x2 = spline(x)
    by, fy, y0, y1, y2 = spline(y)
    bz, fz, z0, z1, z2 = spline(z)
    mean[:] = 0.0
    moment[:] = 0.0
    for i in range(3):
        for j in range(3):
            row = ((bx + i - first[0]) * size[1] + by + j - first[1]) * size[2] + bz - first[2]
            share = pick(i, x0, x1, x2) * pick(j, y0, y1, y2)
            for axis in range(3):
                a = z0 * values[row, start + axis]
                b = z1 * values[row + 1, start + axis]
                c = z2 * values[row + 2, start + axis]
                line = share * (a + b + c)
                mean[axis] += line
                moment[3 * axis] += line * (i - fx)
                moment[3 * axis + 1] += line * (j - fy)
                moment[3 * axis + 2] += share * (b + c + c) - line * fz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def gather_motion(order, starts, cells, first, size, mass, velocity, turn, cell, nodes, push, share, dt, affine, force):
    """Pull the vertices in `order` towards the motion of the grid by `share` (0 to 1), and push them apart.

    Adds to `force` (P, 3) and updates `affine` (P, 9), which without friction (`share` 0) stays as it is.
    """
    slabs = len(starts) - 1
    for s in prange(slabs):
        mean, moment = np.empty(3), np.empty(9)
        shove, twist = np.empty(3), np.empty(9)
        for n in range(starts[s], starts[s + 1]):
            p = order[n]
            x, y, z = cells[p, 0], cells[p, 1], cells[p, 2]
            sum_nodes(x, y, z, first, size, push, 0, shove, twist)
            for i in range(3):
                change = turn[i, 0] * shove[0] + turn[i, 1] * shove[1] + turn[i, 2] * shove[2]
                force[p, i] += mass[p] * change / dt
            if share == 0.0:
                continue
            sum_nodes(x, y, z, first, size, nodes, 1, mean, moment)
            for i in range(3):
                force[p, i] += mass[p] * share * (mean[i] - velocity[p, i]) / dt
                for j in range(3):
                    found = 0.0
                    for k in range(3):
                        pushed = turn[i, 0] * twist[k] + turn[i, 1] * twist[3 + k] + turn[i, 2] * twist[6 + k]
                        found += (share * moment[3 * i + k] + pushed) * turn[j, k]
                    affine[p, 3 * i + j] = (1.0 - share) * affine[p, 3 * i + j] + cell * found
