"""Hair on a grid: how much of it is where, what is too much, and how far vertices go to make room.

A vertex has the length of hair that it stands for, and gives it to the eight nodes around it. Nodes are numbered
(x * size_y + y) * size_z + z from the lowest of a box, which has the axes of the head.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange

FASTMATH = {"contract", "arcp", "nsz", "afn"}
ZERO, HALF, ONE, SIX = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(6.0)
OVER = np.float32(1.6)  # over-relaxation of the sweeps: a region of ten nodes needs about as many
PARTS = 4  # grids that are filled at the same time and then added, whatever the number of threads


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def cell_of(lookup, x, y, z):
    """Where a point of the world is [cells]: `lookup` (4, 3) has the three axes of the grid, then its origin."""
    return (
        lookup[0, 0] * x + lookup[0, 1] * y + lookup[0, 2] * z + lookup[3, 0],
        lookup[1, 0] * x + lookup[1, 1] * y + lookup[1, 2] * z + lookup[3, 1],
        lookup[2, 0] * x + lookup[2, 1] * y + lookup[2, 2] * z + lookup[3, 2],
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def is_within(x, y, z, low, high):
    """Whether the node below a place [cells] is at least `low` (3,) and below `high` (3,); what is NaN is not."""
    return low[0] <= x < high[0] and low[1] <= y < high[1] and low[2] <= z < high[2]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def corner(x, y, z, size, n):
    """Number and weight of the n-th of the eight nodes around a place [cells] in a box of `size` (3,) nodes."""
    i, j, k = int(math.floor(x)), int(math.floor(y)), int(math.floor(z))
    fx, fy, fz = x - np.float32(i), y - np.float32(j), z - np.float32(k)
    a, b, c = (n >> 2) & 1, (n >> 1) & 1, n & 1
    weight = (fx if a else ONE - fx) * (fy if b else ONE - fy) * (fz if c else ONE - fz)
    return ((i + a) * size[1] + j + b) * size[2] + k + c, weight


@njit(cache=True, error_model="numpy")
def find_bounds(points, every, lookup, low, high):
    """Set `low` and `high` (3,) to the lowest and highest place [cells] of one in `every` hairs of `points`."""
    low[:], high[:] = np.inf, -np.inf
    for s in range(0, len(points), every):
        for i in range(points.shape[1]):
            place = cell_of(lookup, points[s, i, 0], points[s, i, 1], points[s, i, 2])
            for axis in range(3):
                low[axis], high[axis] = min(low[axis], place[axis]), max(high[axis], place[axis])


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def scatter_hairs(
    points,
    every,
    lookup,
    size,
    mass,
    limit,
    # out
    parts,
):
    """Add one in `every` hairs of `points (S, V, 3)` to the grid: their `mass (N, V)`, and that times their `limit`.

    `parts (PARTS, nodes, 2)` has what every PARTS-th of these hairs add; they are not summed here. What is beyond the
    box of `size (3,)` nodes is left out.
    """
    inner = size - 1
    zero = np.zeros(3, np.int64)
    chosen = (len(points) + every - 1) // every
    for part in prange(PARTS):
        nodes = parts[part]
        nodes[:] = ZERO
        for n in range(part, chosen, PARTS):
            s = n * every
            for i in range(points.shape[1]):
                x, y, z = cell_of(lookup, points[s, i, 0], points[s, i, 1], points[s, i, 2])
                if is_within(x, y, z, zero, inner):
                    for c in range(8):
                        node, weight = corner(x, y, z, size, c)
                        nodes[node, 0] += weight * mass[n, i]
                        nodes[node, 1] += weight * mass[n, i] * limit[n, i]


@njit(cache=True, error_model="numpy")
def add_parts(parts):
    """Sum `parts` into the first of them; returns its sums (2,) over all nodes."""
    total, limits = 0.0, 0.0
    for n in range(parts.shape[1]):
        for part in range(1, PARTS):
            parts[0, n, 0] += parts[part, n, 0]
            parts[0, n, 1] += parts[part, n, 1]
        total += parts[0, n, 0]
        limits += parts[0, n, 1]
    return total, limits


@njit(cache=True, error_model="numpy", parallel=True)
def fill_rest_density(
    points,
    lookup,
    size,
    nodes,
    # out
    limit,
):
    """Fill `limit (S, V)` with the largest density of the nodes around each vertex.

    So the mean limit of all that is on a node is never below the density of the node: at rest nothing is too dense.
    """
    for s in prange(len(points)):
        for i in range(points.shape[1]):
            x, y, z = cell_of(lookup, points[s, i, 0], points[s, i, 1], points[s, i, 2])
            densest = ZERO
            for c in range(8):
                densest = max(densest, nodes[corner(x, y, z, size, c)[0], 0])
            limit[s, i] = densest


@njit(cache=True, error_model="numpy")
def find_excess(
    nodes,
    size,
    compression,
    usual,
    # out
    excess,
    low,
    high,
):
    """Fill `excess (nodes,)` with density less what may be there; `low` and `high` (3,) bound where it is too much.

    What may be there is `compression` times the mean limit of the hair that is there, `usual` where there is none.
    Returns how many nodes are too dense.
    """
    low[:], high[:] = size, -1
    found, n = 0, 0
    for i in range(size[0]):
        for j in range(size[1]):
            for k in range(size[2]):
                mass = nodes[n, 0]
                allowed = compression * (nodes[n, 1] / mass if mass > ZERO else usual)
                excess[n] = mass - allowed
                if mass > allowed:
                    found += 1
                    low[0], low[1], low[2] = min(low[0], i), min(low[1], j), min(low[2], k)
                    high[0], high[1], high[2] = max(high[0], i), max(high[1], j), max(high[2], k)
                n += 1
    return found


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def solve_potential(
    excess,
    size,
    low,
    high,
    sweeps,
    # out
    potential,
):
    """Solve 0 <= phi, excess + laplacian(phi) <= 0, one of both an equality, by projected red-black sweeps.

    Flux down the slope of phi takes away what is too much, and only that. Nodes from `low` to `high` (3,), the last
    left out, are solved for; phi is 0 on all others.
    """
    along, across = size[1] * size[2], size[2]
    for n in prange(len(potential)):
        potential[n] = ZERO
    for sweep in range(2 * sweeps):
        for i in prange(low[0], high[0]):
            for j in range(low[1], high[1]):
                row = i * along + j * across
                first = low[2] + ((i + j + low[2] + sweep) & 1)
                for k in range(first, high[2], 2):
                    n = row + k
                    around = (
                        potential[n - along]
                        + potential[n + along]
                        + potential[n - across]
                        + potential[n + across]
                        + potential[n - 1]
                        + potential[n + 1]
                    )
                    goal = (excess[n] + around) / SIX
                    potential[n] = max(ZERO, potential[n] + OVER * (goal - potential[n]))


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def fill_steps(
    potential,
    nodes,
    excess,
    size,
    low,
    high,
    # out
    step,
):
    """Fill `step (nodes, 3)` [cells] from `low` to `high` (3,) with flux over density, one cell at most."""
    along, across = size[1] * size[2], size[2]
    for i in prange(low[0], high[0]):
        for j in range(low[1], high[1]):
            for k in range(low[2], high[2]):
                n = i * along + j * across + k
                # Where hair ends there is little of it, which goes no farther than hair as dense as it may be.
                density = max(nodes[n, 0], nodes[n, 0] - excess[n])
                x = HALF * (potential[n - along] - potential[n + along]) / density
                y = HALF * (potential[n - across] - potential[n + across]) / density
                z = HALF * (potential[n - 1] - potential[n + 1]) / density
                shrink = ONE / max(ONE, math.sqrt(x * x + y * y + z * z))
                step[n, 0], step[n, 1], step[n, 2] = shrink * x, shrink * y, shrink * z


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def displacement(lookup, size, low, high, step, x, y, z):
    """How far a point of the world goes [cells], axes of the head; 0 where its nodes have no step."""
    u, v, w = cell_of(lookup, x, y, z)
    dx, dy, dz = ZERO, ZERO, ZERO
    if is_within(u, v, w, low, high):
        for c in range(8):
            node, weight = corner(u, v, w, size, c)
            dx, dy, dz = dx + weight * step[node, 0], dy + weight * step[node, 1], dz + weight * step[node, 2]
    return dx, dy, dz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def move_hairs(
    lookup,
    back,
    size,
    low,
    high,
    step,
    # out
    points,
):
    """Move `points (S, V, 3)` by their `step`, then every segment back to the length that it had, from root to tip.

    Nodes from `low` to `high` (3,) have steps; `back (3, 3)` takes them [cells] to the world [m]. Roots stay, and so
    does every hair, to the bit, up to the first vertex that has a step.
    """
    for s in prange(len(points)):
        ox, oy, oz = points[s, 0, 0], points[s, 0, 1], points[s, 0, 2]  # the vertex before, as it was
        px, py, pz = ox, oy, oz
        is_moved = False
        for i in range(1, points.shape[1]):
            x, y, z = points[s, i, 0], points[s, i, 1], points[s, i, 2]
            dx, dy, dz = displacement(lookup, size, low, high, step, x, y, z)
            is_moved |= dx != ZERO or dy != ZERO or dz != ZERO
            if is_moved:
                length = math.sqrt((x - ox) ** 2 + (y - oy) ** 2 + (z - oz) ** 2)
                gx = x + back[0, 0] * dx + back[0, 1] * dy + back[0, 2] * dz - px
                gy = y + back[1, 0] * dx + back[1, 1] * dy + back[1, 2] * dz - py
                gz = z + back[2, 0] * dx + back[2, 1] * dy + back[2, 2] * dz - pz
                reach = math.sqrt(gx * gx + gy * gy + gz * gz)
                scale = length / reach if reach > ZERO else ZERO
                px, py, pz = px + scale * gx, py + scale * gy, pz + scale * gz
                points[s, i, 0], points[s, i, 1], points[s, i, 2] = px, py, pz
            else:
                px, py, pz = x, y, z
            ox, oy, oz = x, y, z
