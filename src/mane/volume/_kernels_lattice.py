"""Which tetrahedron of a body-centred cubic lattice a point lies in."""

# mypy: allow-untyped-defs

import math

from mane.simd.jit import njit, prange


@njit(cache=True, error_model="numpy")
def key_of(x, y, z, counts):
    """Key of the tetrahedron around a point in units of cubes; -1 outside.

    In the cube around it, the point is nearest to one face (the largest of |q|), and there to one edge (the second
    largest). The face belongs to the cube above it.
    """
    i, j, k = int(math.floor(x)), int(math.floor(y)), int(math.floor(z))
    qx, qy, qz = x - i - 0.5, y - j - 0.5, z - k - 0.5
    ax, ay, az = abs(qx), abs(qy), abs(qz)
    if ax >= ay and ax >= az:
        axis, side, first, second = 0, qx, qy, qz
    elif ay >= az:
        axis, side, first, second = 1, qy, qx, qz
    else:
        axis, side, first, second = 2, qz, qx, qy
    if abs(first) >= abs(second):
        code = 0 if first < 0.0 else 1
    else:
        code = 2 if second < 0.0 else 3
    if side > 0.0:
        i, j, k = i + (axis == 0), j + (axis == 1), k + (axis == 2)
    has_room = i > 0 if axis == 0 else (j > 0 if axis == 1 else k > 0)
    if i < 0 or j < 0 or k < 0 or i >= counts[0] or j >= counts[1] or k >= counts[2] or not has_room:
        return -1
    return 12 * ((i * counts[1] + j) * counts[2] + k) + 4 * axis + code


@njit(cache=True, error_model="numpy", parallel=True)
def fill_keys(
    points,
    origin,
    scale,
    counts,
    # out
    keys,
):
    """Fill `keys (P,)` for `points (P, 3)`; `scale` is one over the edge of a cube."""
    for p in prange(len(points)):
        x, y, z = points[p, 0] - origin[0], points[p, 1] - origin[1], points[p, 2] - origin[2]
        keys[p] = key_of(scale * x, scale * y, scale * z, counts)


@njit(cache=True, error_model="numpy")
def root_of(parent, i):
    """The smallest member of the set of `i`, with the way to it made shorter."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True, error_model="numpy")
def join(
    edges,
    # out
    parent,
):
    """Join sets by `edges (E, 2)`; `parent (N,)` begins as 0, 1, 2, ... and ends as the smallest member of each set."""
    for e in range(len(edges)):
        a, b = root_of(parent, edges[e, 0]), root_of(parent, edges[e, 1])
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b
    for i in range(len(parent)):
        parent[i] = root_of(parent, i)
