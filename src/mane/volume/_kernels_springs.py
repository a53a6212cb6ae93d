"""Springs of a tetrahedral mesh: forces, the matrix of an implicit step in blocks of 3x3, and its solution.

A step solves (M + dt C + dt^2 K) dv = dt (f - dt K v), one Newton iteration of the implicit Euler method (Baraff and
Witkin 1998). Springs pull along themselves by k (l - l0) and are damped by c along themselves; across, a spring that is
stretched resists by its tension, one that is compressed counts as slack there, so that the matrix is positive definite.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit

NO_LENGTH = 1e-12  # [m]: below it a spring has no direction


@njit(cache=True, error_model="numpy")
def find_slot(starts, columns, row, column):
    """Number of the block at (row, column) of a matrix in compressed rows."""
    low, high = starts[row], starts[row + 1]
    while low < high:
        middle = (low + high) // 2
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, error_model="numpy")
def fill_slots(
    starts,
    columns,
    elements,
    # out
    slots,
):
    """Fill `slots (E, n, n)` with the block of every pair of nodes of `elements (E, n)`."""
    for e in range(len(elements)):
        for a in range(elements.shape[1]):
            for b in range(elements.shape[1]):
                slots[e, a, b] = find_slot(starts, columns, elements[e, a], elements[e, b])


@njit(cache=True, error_model="numpy")
def add_edges(
    x,
    v,
    inv_mass,
    edges,
    slots,
    stiffness,
    rest,
    damping,
    dt,
    # out
    blocks,
    rhs,
):
    """Add edge springs to the matrix `blocks (B, 3, 3)` and to `rhs (N, 3)`.

    `stiffness` is in newtons per unit strain, so that a spring of length `rest` has stiffness / rest N/m; `damping` is
    1 for critical, of the two masses it joins. `inv_mass` is 0 for driven nodes.
    """
    n = np.empty(3)
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        length = 0.0
        for d in range(3):
            n[d] = x[j, d] - x[i, d]
            length += n[d] * n[d]
        length = math.sqrt(length)
        if length < NO_LENGTH:
            continue
        along = 0.0
        for d in range(3):
            n[d] /= length
            along += n[d] * (v[j, d] - v[i, d])
        k = stiffness[e] / rest[e]
        both = inv_mass[i] + inv_mass[j]
        c = 2.0 * damping * math.sqrt(k / both) if both > 0.0 else 0.0
        tension = max(0.0, k * (1.0 - rest[e] / length))
        pull = k * (length - rest[e]) + (c + dt * k) * along
        for d in range(3):
            across = (v[j, d] - v[i, d]) - along * n[d]
            force = dt * (pull * n[d] + dt * tension * across)
            rhs[i, d] += force
            rhs[j, d] -= force
        own = dt * dt * k + dt * c
        for a in range(3):
            for b in range(3):
                q = (own - dt * dt * tension) * n[a] * n[b]
                if a == b:
                    q += dt * dt * tension
                blocks[slots[e, 0, 0], a, b] += q
                blocks[slots[e, 1, 1], a, b] += q
                blocks[slots[e, 0, 1], a, b] -= q
                blocks[slots[e, 1, 0], a, b] -= q


@njit(cache=True, error_model="numpy")
def altitude(x, tets, t, apex, normal, weight):
    """Height of a node of a tetrahedron over the plane of the other three, signed: below zero it is inverted.

    Fills in the plane's `normal (3,)`, towards the node, and in `weight (4,)`, by the tetrahedron's order, how the
    height changes with its nodes along the normal: 1 at the node, minus the barycentric weights of its foot.
    """
    a, b, c = (apex + 1) % 4, (apex + 2) % 4, (apex + 3) % 4
    if apex % 2 == 0:  # so that the normal points to the node when the volume is positive
        b, c = c, b
    p, i, j, k = tets[t, apex], tets[t, a], tets[t, b], tets[t, c]
    ux, uy, uz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
    wx, wy, wz = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
    nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    area = math.sqrt(nx * nx + ny * ny + nz * nz)
    if area < NO_LENGTH * NO_LENGTH:
        normal[:] = 0.0
        weight[:] = 0.0
        return 0.0
    nx, ny, nz = nx / area, ny / area, nz / area
    px, py, pz = x[p, 0] - x[i, 0], x[p, 1] - x[i, 1], x[p, 2] - x[i, 2]
    # Barycentric weights of the foot: areas of its triangles with the edges, over the face's.
    of_j = ((py * wz - pz * wy) * nx + (pz * wx - px * wz) * ny + (px * wy - py * wx) * nz) / area
    of_k = ((uy * pz - uz * py) * nx + (uz * px - ux * pz) * ny + (ux * py - uy * px) * nz) / area
    normal[0], normal[1], normal[2] = nx, ny, nz
    weight[apex], weight[a], weight[b], weight[c] = 1.0, of_j + of_k - 1.0, -of_j, -of_k
    return px * nx + py * ny + pz * nz


@njit(cache=True, error_model="numpy")
def fill_altitudes(
    x,
    tets,
    # out
    heights,
):
    """Fill `heights (T, 4)` with the signed height of each node over the plane of the others."""
    normal, weight = np.empty(3), np.empty(4)
    for t in range(len(tets)):
        for apex in range(4):
            heights[t, apex] = altitude(x, tets, t, apex, normal, weight)


@njit(cache=True, error_model="numpy")
def add_altitudes(
    x,
    v,
    inv_mass,
    tets,
    slots,
    stiffness,
    rest,
    damping,
    dt,
    # out
    blocks,
    rhs,
):
    """Add altitude springs, which resist compression only, to the matrix and to `rhs`; see `add_edges`.

    The signed height makes them push an inverted tetrahedron back through its own plane.
    """
    n, w = np.empty(3), np.empty(4)
    for t in range(len(tets)):
        for apex in range(4):
            height = altitude(x, tets, t, apex, n, w)
            if height >= rest[t, apex]:
                continue
            k = stiffness[t] / rest[t, apex]
            inv, along = 0.0, 0.0
            for a in range(4):
                node = tets[t, a]
                inv += w[a] * w[a] * inv_mass[node]
                along += w[a] * (v[node, 0] * n[0] + v[node, 1] * n[1] + v[node, 2] * n[2])
            c = 2.0 * damping * math.sqrt(k / inv) if inv > 0.0 else 0.0
            push = dt * (k * (height - rest[t, apex]) + (c + dt * k) * along)
            own = dt * dt * k + dt * c
            for a in range(4):
                for d in range(3):
                    rhs[tets[t, a], d] -= push * w[a] * n[d]
                for b in range(4):
                    share = own * w[a] * w[b]
                    slot = slots[t, a, b]
                    for d in range(3):
                        for e in range(3):
                            blocks[slot, d, e] += share * n[d] * n[e]


@njit(cache=True, error_model="numpy")
def multiply(
    starts,
    columns,
    blocks,
    is_free,
    x,
    # out
    y,
):
    """Fill `y (N, 3)` with the matrix times `x (N, 3)`; zero in rows that are not free."""
    for i in range(len(x)):
        a, b, c = 0.0, 0.0, 0.0
        if is_free[i]:
            for q in range(starts[i], starts[i + 1]):
                j = columns[q]
                x0, x1, x2 = x[j, 0], x[j, 1], x[j, 2]
                a += blocks[q, 0, 0] * x0 + blocks[q, 0, 1] * x1 + blocks[q, 0, 2] * x2
                b += blocks[q, 1, 0] * x0 + blocks[q, 1, 1] * x1 + blocks[q, 1, 2] * x2
                c += blocks[q, 2, 0] * x0 + blocks[q, 2, 1] * x1 + blocks[q, 2, 2] * x2
        y[i, 0], y[i, 1], y[i, 2] = a, b, c


@njit(cache=True, error_model="numpy")
def invert_3x3(m, out):
    """Fill `out (3, 3)` with the inverse of a matrix."""
    a = m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1]
    b = m[1, 2] * m[2, 0] - m[1, 0] * m[2, 2]
    c = m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0]
    inv = 1.0 / (m[0, 0] * a + m[0, 1] * b + m[0, 2] * c)
    out[0, 0], out[1, 0], out[2, 0] = a * inv, b * inv, c * inv
    out[0, 1] = (m[0, 2] * m[2, 1] - m[0, 1] * m[2, 2]) * inv
    out[1, 1] = (m[0, 0] * m[2, 2] - m[0, 2] * m[2, 0]) * inv
    out[2, 1] = (m[0, 1] * m[2, 0] - m[0, 0] * m[2, 1]) * inv
    out[0, 2] = (m[0, 1] * m[1, 2] - m[0, 2] * m[1, 1]) * inv
    out[1, 2] = (m[0, 2] * m[1, 0] - m[0, 0] * m[1, 2]) * inv
    out[2, 2] = (m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]) * inv


@njit(cache=True, error_model="numpy")
def precondition(inverse, r, z):
    """Fill `z (N, 3)` with `inverse (N, 3, 3)` times `r (N, 3)`, node by node, and return r . z."""
    total = 0.0
    for i in range(len(r)):
        for d in range(3):
            z[i, d] = inverse[i, d, 0] * r[i, 0] + inverse[i, d, 1] * r[i, 1] + inverse[i, d, 2] * r[i, 2]
            total += z[i, d] * r[i, d]
    return total


@njit(cache=True, error_model="numpy")
def solve(
    starts,
    columns,
    blocks,
    diagonal,
    is_free,
    rhs,
    tolerance,
    most,
    # out
    x,
):
    """Solve for `x (N, 3)` by conjugate gradients with the blocks of the diagonal as preconditioner.

    On entry `x` holds what nodes that are not free do, and zero elsewhere. Returns how many iterations it took.
    """
    inverse, y = np.zeros((len(x), 3, 3)), np.empty_like(x)
    multiply(starts, columns, blocks, is_free, x, y)
    r, z, p = np.zeros_like(x), np.empty_like(x), np.empty_like(x)
    for i in range(len(x)):
        if is_free[i]:
            invert_3x3(blocks[diagonal[i]], inverse[i])
            for d in range(3):
                r[i, d] = rhs[i, d] - y[i, d]
    now = precondition(inverse, r, z)
    p[:] = z
    limit = tolerance * tolerance * now
    for count in range(most):
        if now <= limit or now <= 0.0:
            return count
        multiply(starts, columns, blocks, is_free, p, y)
        curvature = 0.0
        for i in range(len(x)):
            curvature += p[i, 0] * y[i, 0] + p[i, 1] * y[i, 1] + p[i, 2] * y[i, 2]
        if curvature <= 0.0:
            return count
        step = now / curvature
        for i in range(len(x)):
            if is_free[i]:
                for d in range(3):
                    x[i, d] += step * p[i, d]
                    r[i, d] -= step * y[i, d]
        before, now = now, precondition(inverse, r, z)
        ratio = now / before
        for i in range(len(x)):
            for d in range(3):
                p[i, d] = z[i, d] + ratio * p[i, d]
    return most
