"""Coarser and coarser matrices of the pressure equation, and which cells belong together."""

# mypy: allow-untyped-defs

import numpy as np

from mane.fluid._kernels_pressure import EMPTY, INSIDE, MIXED
from mane.simd.f32x16 import WIDTH
from mane.simd.jit import inline, njit, prange


@njit(cache=True, error_model="numpy", parallel=True)
def describe_cells(cx, cy, cz, to_air, inside, depth, diagonal, inverse, kinds):
    """Fill the diagonal of every cell and its inverse, 0 without an open face, and the kind of every chunk.

    Arrays are of the padded shape; `depth` is the number of cells along z, `kinds` has one number per chunk. `to_air`
    is what connects cells to the air besides their faces; it may be empty.
    """
    planes, rows, length = cx.shape
    for i in prange(1, planes - 1):
        for j in range(1, rows - 1):
            for chunk in range(length // WIDTH):
                same, filled = 0, 0
                for k in range(chunk * WIDTH, min(depth, (chunk + 1) * WIDTH)):
                    faces = (cx[i, j, k], cx[i + 1, j, k], cy[i, j, k], cy[i, j + 1, k], cz[i, j, k], cz[i, j, k + 1])
                    regular = 0
                    for face in faces:
                        regular += face == inside
                    total = (faces[0] + faces[1]) + (faces[2] + faces[3]) + (faces[4] + faces[5])
                    if len(to_air):
                        total += to_air[i, j, k]
                    diagonal[i, j, k] = total
                    inverse[i, j, k] = np.float32(1.0) / total if total > 0.0 else np.float32(0.0)
                    filled += total > 0.0
                    same += regular == 6
                kind = EMPTY if filled == 0 else MIXED
                kinds[i, j, chunk] = INSIDE if same == WIDTH else kind


@inline
def half_way(c, is_fluid):
    """Resistance of half the way through the next cell behind a face; none where that cell is no fluid."""
    if not is_fluid:
        return np.float32(0.0)
    return np.float32(0.5) / c


@njit(cache=True, error_model="numpy", parallel=True)
def coarsen_faces(c, inverse, axis, factors, planes, rows, depth, out):
    """Fill `out` with the coefficients of coarse faces across `axis`, from those of the fine ones, `c`.

    From the middle of one coarse cell to that of the next the flow passes half a fine cell, a face and half a fine cell
    again, like a current through resistances behind each other, and side by side with its neighbours. A wall between
    two fine cells of one coarse cell thereby still stops the flow, however thin it is: averages would forget it.
    """
    fx, fy, fz = factors
    own = factors[axis]
    dx, dy, dz = np.int64(axis == 0), np.int64(axis == 1), np.int64(axis == 2)
    for index in prange(planes + dx):
        upper = np.int64(index)
        for middle in range(rows + dy):
            for deep in range(depth + dz):
                total = np.float32(0.0)
                # one fine face along the axis itself, all of them across it
                for a in range(1 if axis == 0 else fx):
                    for e in range(1 if axis == 1 else fy):
                        for g in range(1 if axis == 2 else fz):
                            i, j, k = upper * fx + a + 1, middle * fy + e + 1, deep * fz + g
                            if i >= c.shape[0] or j >= c.shape[1] or k >= c.shape[2] or c[i, j, k] == 0.0:
                                continue
                            resistance = np.float32(1.0) / c[i, j, k]
                            if own == 2:
                                at = (upper, middle, deep)[axis]
                                last = (planes, rows, depth)[axis]
                                if at > 0:
                                    before = inverse[i - 2 * dx, j - 2 * dy, k - 2 * dz] > 0.0
                                    resistance += half_way(c[i - dx, j - dy, k - dz], before)
                                if at < last:
                                    behind = inverse[i + dx, j + dy, k + dz] > 0.0
                                    resistance += half_way(c[i + dx, j + dy, k + dz], behind)
                            total += np.float32(1.0) / resistance
                out[upper + 1, middle + 1, deep] = total


@njit(cache=True, error_model="numpy", parallel=True)
def part_from_air(is_liquid, shape, cx, cy, cz, to_air):
    """Leave coefficients between liquid cells alone; add those from liquid to air to `to_air` and drop the rest.

    Outside of the box counts as what is inside of it. Each cell looks at its own six faces, so that nothing is added to
    from two threads; `cx`, `cy` and `cz` are cleared in a second pass.
    """
    nx, ny, nz = shape
    for index in prange(1, nx + 1):
        i = np.int64(index)
        for j in range(1, ny + 1):
            for k in range(nz):
                total = np.float32(0.0)
                if is_liquid[i, j, k]:
                    if i > 1 and not is_liquid[i - 1, j, k]:
                        total += cx[i, j, k]
                    if i < nx and not is_liquid[i + 1, j, k]:
                        total += cx[i + 1, j, k]
                    if j > 1 and not is_liquid[i, j - 1, k]:
                        total += cy[i, j, k]
                    if j < ny and not is_liquid[i, j + 1, k]:
                        total += cy[i, j + 1, k]
                    if k > 0 and not is_liquid[i, j, k - 1]:
                        total += cz[i, j, k]
                    if k < nz - 1 and not is_liquid[i, j, k + 1]:
                        total += cz[i, j, k + 1]
                to_air[i, j, k] = total
    for index in prange(1, nx + 2):
        i = np.int64(index)
        for j in range(1, ny + 2):
            for k in range(nz + 1):
                a, b, c = min(i, nx), min(j, ny), min(k, nz - 1)
                here = is_liquid[a, b, c]
                if not (here and is_liquid[max(i - 1, 1), b, c]):
                    cx[i, j, k] = np.float32(0.0)
                if not (here and is_liquid[a, max(j - 1, 1), c]):
                    cy[i, j, k] = np.float32(0.0)
                if not (here and is_liquid[a, b, max(k - 1, 0)]):
                    cz[i, j, k] = np.float32(0.0)


@njit(cache=True, error_model="numpy", parallel=True)
def coarsen_air(to_air, factors, half, planes, rows, depth, out):
    """Fill `out` with what connects coarse cells to the air: of their fine cells, behind half a cell's way each.

    `half` is the resistance of that way.
    """
    fx, fy, fz = factors
    for index in prange(planes):
        upper = np.int64(index)
        for middle in range(rows):
            for deep in range(depth):
                total = np.float32(0.0)
                for a in range(fx):
                    for e in range(fy):
                        for g in range(fz):
                            own = to_air[upper * fx + a + 1, middle * fy + e + 1, deep * fz + g]
                            total += own / (np.float32(1.0) + half * own)
                out[upper + 1, middle + 1, deep] = total


@inline
def root_of(parent, cell):
    """Representative of a cell's component; the path to it is halved on the way."""
    while parent[cell] != cell:
        parent[cell] = parent[parent[cell]]
        cell = parent[cell]
    return cell


@inline
def join(parent, a, b):
    """Make one component of two; the lower number represents it, so that the order of joins does not matter."""
    a, b = root_of(parent, a), root_of(parent, b)
    parent[max(a, b)] = min(a, b)


@inline
def join_rows(parent, c, i, j, first, other, step, nz):
    """Join a row of cells, from number `first` on, with what lies behind its open faces `c`: `other` and `step` on.

    `step` is 0 where all of them lead outside. Runs of cells that were joined just now are not looked at again.
    """
    last_here, last_there = np.int64(-1), np.int64(-1)
    for k in range(nz):
        if c[i, j, k] > 0.0:
            here, there = parent[first + k], parent[other + step * k]
            if here != last_here or there != last_there:
                join(parent, here, there)
                last_here, last_there = here, there


@njit(cache=True, error_model="numpy")
def find_components(cx, cy, cz, to_air, nx, ny, nz, parent):
    """Fill `parent` (1 + nx ny nz,) with the component of every cell: those that open faces connect.

    Number 0 stands for what is outside, so that whoever reaches an open side or the air is of component 0. Rows along z
    are cut into runs first, and runs are joined.
    """
    outside = 0
    parent[outside] = outside
    for i in range(1, nx + 1):
        for j in range(1, ny + 1):
            first = 1 + ((i - 1) * ny + j - 1) * nz
            for k in range(nz):
                parent[first + k] = parent[first + k - 1] if k > 0 and cz[i, j, k] > 0.0 else first + k
    if len(to_air):
        for i in range(1, nx + 1):
            for j in range(1, ny + 1):
                join_rows(parent, to_air, i, j, 1 + ((i - 1) * ny + j - 1) * nz, outside, 0, nz)
    for i in range(1, nx + 2):
        for j in range(1, ny + 2):
            first = 1 + ((i - 1) * ny + j - 1) * nz
            if i <= nx and j <= ny:
                if cz[i, j, 0] > 0.0:
                    join(parent, first, outside)
                if cz[i, j, nz] > 0.0:
                    join(parent, first + nz - 1, outside)
            if j <= ny:
                if i == 1:
                    join_rows(parent, cx, i, j, first, outside, 0, nz)
                elif i > nx:
                    join_rows(parent, cx, i, j, first - ny * nz, outside, 0, nz)
                else:
                    join_rows(parent, cx, i, j, first, first - ny * nz, 1, nz)
            if i <= nx:
                if j == 1:
                    join_rows(parent, cy, i, j, first, outside, 0, nz)
                elif j > ny:
                    join_rows(parent, cy, i, j, first - nz, outside, 0, nz)
                else:
                    join_rows(parent, cy, i, j, first, first - nz, 1, nz)
    for cell in range(len(parent)):
        parent[cell] = root_of(parent, cell)


@njit(cache=True, error_model="numpy")
def balance_components(parent, inverse, nx, ny, nz, sums, counts, b):
    """Take from `b` its mean over every component that reaches no open side, where pressure is known up to a number."""
    sums[:] = 0.0
    counts[:] = 0
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                if inverse[i + 1, j + 1, k] > 0.0:
                    component = parent[1 + (i * ny + j) * nz + k]
                    sums[component] += b[i + 1, j + 1, k]
                    counts[component] += 1
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                component = parent[1 + (i * ny + j) * nz + k]
                if component > 0 and inverse[i + 1, j + 1, k] > 0.0:
                    b[i + 1, j + 1, k] -= np.float32(sums[component] / counts[component])
