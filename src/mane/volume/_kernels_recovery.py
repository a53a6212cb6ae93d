"""Inverted tetrahedra: how far each is from its rest shape, and rounds of an iteration that brings them back."""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit
from mane.skin._kernels_binding import rotate_away

NO_STRETCH = 1e-9  # below it a direction is lost
SWEEPS = 8  # of Jacobi rotations; four reach the rounding


@njit(cache=True, error_model="numpy")
def volume_ratio(x, tets, volumes, t):
    """Volume of tetrahedron t over that at rest, J, below zero if it is inverted."""
    o, a, b, c = tets[t, 0], tets[t, 1], tets[t, 2], tets[t, 3]
    ax, ay, az = x[a, 0] - x[o, 0], x[a, 1] - x[o, 1], x[a, 2] - x[o, 2]
    bx, by, bz = x[b, 0] - x[o, 0], x[b, 1] - x[o, 1], x[b, 2] - x[o, 2]
    cx, cy, cz = x[c, 0] - x[o, 0], x[c, 1] - x[o, 1], x[c, 2] - x[o, 2]
    across = (ay * bz - az * by) * cx + (az * bx - ax * bz) * cy + (ax * by - ay * bx) * cz
    return across / (6.0 * volumes[t])


@njit(cache=True, error_model="numpy")
def fill_volume_ratios(
    x,
    tets,
    volumes,
    # out
    ratios,
):
    """Fill `ratios (T,)` of all tetrahedra."""
    for t in range(len(tets)):
        ratios[t] = volume_ratio(x, tets, volumes, t)


@njit(cache=True, error_model="numpy")
def diagonalize(
    c,
    # out
    v,
):
    """Turn a symmetric 3x3 matrix into its eigenvalues, on its diagonal, by Jacobi rotations; columns of `v`."""
    for i in range(3):
        for j in range(3):
            v[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            rotate_away(c, v, p, q)


@njit(cache=True, error_model="numpy")
def perpendicular(
    a,
    # out
    b,
):
    """Fill `b` with a unit vector perpendicular to the unit vector `a`."""
    least = 0
    for d in range(1, 3):
        if abs(a[d]) < abs(a[least]):
            least = d
    size = math.sqrt(1.0 - a[least] * a[least])
    for d in range(3):
        b[d] = ((1.0 if d == least else 0.0) - a[least] * a[d]) / size


@njit(cache=True, error_model="numpy")
def nearest_shape(
    f,
    low,
    high,
    work,
    # out
    wanted,
):
    """Fill `wanted` with the matrix nearest to F (3, 3) whose stretches lie between `low` and `high`, right way out.

    F = U diag(s) V^T with rotations U and V, so that the smallest stretch has the sign that F is inverted by; `work`
    is (3, 3, 3).
    """
    c, u, v = work[0], work[1], work[2]
    for i in range(3):
        for j in range(3):
            c[i, j] = f[0, i] * f[0, j] + f[1, i] * f[1, j] + f[2, i] * f[2, j]
    diagonalize(c, v)
    for i in range(2):  # largest first
        for j in range(2 - i):
            if c[j, j] < c[j + 1, j + 1]:
                c[j, j], c[j + 1, j + 1] = c[j + 1, j + 1], c[j, j]
                for k in range(3):
                    v[k, j], v[k, j + 1] = v[k, j + 1], v[k, j]
    cross_columns(v)
    for column in range(2):
        size = 0.0
        for i in range(3):
            u[i, column] = f[i, 0] * v[0, column] + f[i, 1] * v[1, column] + f[i, 2] * v[2, column]
            size += u[i, column] * u[i, column]
        size = math.sqrt(size)
        c[column, column] = size
        if size > NO_STRETCH:
            for i in range(3):
                u[i, column] /= size
        elif column == 0:
            u[0, 0], u[1, 0], u[2, 0] = 1.0, 0.0, 0.0
        else:
            perpendicular(u[:, 0], u[:, 1])
    cross_columns(u)
    c[2, 2] = 0.0
    for i in range(3):
        for j in range(3):
            c[2, 2] += u[i, 2] * f[i, j] * v[j, 2]
    for i in range(3):
        for j in range(3):
            wanted[i, j] = 0.0
            for k in range(3):
                wanted[i, j] += u[i, k] * min(max(c[k, k], low), high) * v[j, k]


@njit(cache=True, error_model="numpy")
def cross_columns(
    # in and out
    m,
):
    """Make the third column of a matrix the cross product of the other two."""
    m[0, 2] = m[1, 0] * m[2, 1] - m[2, 0] * m[1, 1]
    m[1, 2] = m[2, 0] * m[0, 1] - m[0, 0] * m[2, 1]
    m[2, 2] = m[0, 0] * m[1, 1] - m[1, 0] * m[0, 1]


@njit(cache=True, error_model="numpy")
def touching(
    tets,
    node_starts,
    node_tets,
    rows,
    # in and out
    seen,
):
    """Tetrahedra that have a node in common with those of `rows`, these too; `seen (T,)` is false before and after."""
    count = 0
    found = np.empty(len(seen), np.int64)
    for r in rows:
        for corner in range(4):
            n = tets[r, corner]
            for k in range(node_starts[n], node_starts[n + 1]):
                t = node_tets[k]
                if not seen[t]:
                    seen[t] = True
                    found[count] = t
                    count += 1
    found = found[:count]
    found.sort()
    for t in found:
        seen[t] = False
    return found


@njit(cache=True, error_model="numpy")
def bring_back(
    bad,
    tets,
    rest,
    inverse_edges,
    volumes,
    node_starts,
    node_tets,
    is_held,
    smallest,
    rounds,
    # in and out
    x,
):
    """Move nodes `x (N, 3)` until no tetrahedron has less than `smallest` of its volume; return those that have.

    Args:
        bad: tetrahedra that have less now.
        tets: (T, 4).
        rest: nodes at rest, (N, 3).
        inverse_edges: of the tetrahedra at rest, (T, 3, 3).
        volumes: of the tetrahedra at rest, (T,).
        node_starts: where the tetrahedra of each node begin in `node_tets`, (N + 1,).
        node_tets: tetrahedra of the nodes.
        is_held: nodes that stay where they are, (N,).
        smallest: part of the volume.
        rounds: rows of smallest and largest stretch and relaxation, one for each round, (R, 3).
    """
    seen = np.zeros(len(tets), np.bool_)
    total, count = np.zeros(x.shape), np.zeros(len(x))
    f, wanted, work = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3, 3))
    middle, center = np.empty(3), np.empty(3)
    for number in range(len(rounds)):
        if len(bad) == 0:
            break
        low, high, relaxation = rounds[number, 0], rounds[number, 1], rounds[number, 2]
        moved = touching(tets, node_starts, node_tets, bad, seen)
        for t in moved:
            for i in range(3):
                for j in range(3):
                    f[i, j] = 0.0
                    for k in range(3):
                        f[i, j] += (x[tets[t, k + 1], i] - x[tets[t, 0], i]) * inverse_edges[t, k, j]
            nearest_shape(f, low, high, work, wanted)
            for i in range(3):
                middle[i], center[i] = 0.0, 0.0
                for corner in range(4):
                    middle[i] += 0.25 * x[tets[t, corner], i]
                    center[i] += 0.25 * rest[tets[t, corner], i]
            for corner in range(4):
                n = tets[t, corner]
                count[n] += 1.0
                for i in range(3):
                    goal = middle[i]
                    for j in range(3):
                        goal += wanted[i, j] * (rest[n, j] - center[j])
                    total[n, i] += goal - x[n, i]
        for t in moved:
            for corner in range(4):
                n = tets[t, corner]
                if count[n] > 0.0:
                    for i in range(3):
                        if not is_held[n]:
                            x[n, i] += relaxation * total[n, i] / count[n]
                        total[n, i] = 0.0
                    count[n] = 0.0
        # What shares no node with these has not changed, and is as right as it was.
        changed = touching(tets, node_starts, node_tets, moved, seen)
        left = 0
        for t in changed:
            if not volume_ratio(x, tets, volumes, t) >= smallest:
                changed[left] = t
                left += 1
        bad = changed[:left].copy()
    return bad
