"""Exact distances near a surface: every triangle lowers the nodes of the grid around it.

Distances are squared and in cells until the last step. Each task owns a slab of planes, so that no two threads write to
the same node, and goes through its triangles in their order, so that the result does not depend on how many there are.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_distance import closest_on_triangle
from mane.body.band._kernels_coarse import MARGIN, NOWHERE
from mane.body.band._kernels_coarse import WIDTH as CHUNK
from mane.body.band._kernels_crossings import Crossings as Crossings  # so that kernels are made anew when it changes
from mane.body.band._kernels_triangles import ALONG, HEIGHT, INWARD, LENGTH, ROW
from mane.simd.jit import inline, leaf, njit, prange
from mane.simd.masks import select
from mane.simd.math import absolute, maximum, minimum
from mane.simd.memory import loader, store, use_wide_registers
from mane.simd.reductions import reduce_max

WIDTH = 8  # nodes side by side along a row
load = loader(WIDTH)
ZERO = np.float32(0.0)
NOBODY = np.float32(-1.0)
# A point this little inwards of an edge [cells] may be outside by rounding, and is as near to the edge as to the face.
ON_EDGE = np.float32(3e-5)


@inline
def square_of_edge(inward, along, half):
    """Squared distance to an edge within the triangle's plane; `along` is from its middle, `half` half its length."""
    beyond = maximum(absolute(along) - half, ZERO)
    return inward * inward + beyond * beyond


@inline
def function_at(frames, at, z):
    """A function of a triangle at nodes z along the first row of its box, and its changes per node along x and y."""
    return frames[at] + frames[at + 3] * z, frames[at + 1], frames[at + 2]


@leaf()
def lower_to_triangles(frames, boxes, is_buried, members, steps, begin, end, squares, owners, ny, nz):
    """Lower the nodes of planes `begin` to `end` to some triangles, and write down whose they are on even rows.

    `squares` and `owners` are flat arrays of the planes with `ny` x `nz` nodes each, and of their even rows.
    """
    use_wide_registers()
    for t in members:
        if is_buried[t]:
            continue
        r = t * ROW
        i0, j0, k0, i1, j1, k1 = boxes[t, 0], boxes[t, 1], boxes[t, 2], boxes[t, 3], boxes[t, 4], boxes[t, 5]
        lu, lv, lw = frames[r + LENGTH], frames[r + LENGTH + 1], frames[r + LENGTH + 2]
        number = np.float32(t)
        for k in range(k0, k1, WIDTH):
            # A row that ends at the end of the grid begins earlier: more nodes than needed do no harm.
            kk = min(k, nz - WIDTH)
            z = load(steps, 0) + np.float32(kk - k0)
            h0, hx, hy = function_at(frames, r + HEIGHT, z)
            p0, px, py = function_at(frames, r + INWARD, z)
            q0, qx, qy = function_at(frames, r + INWARD + 4, z)
            s0, sx, sy = function_at(frames, r + INWARD + 8, z)
            u0, ux, uy = function_at(frames, r + ALONG, z)
            v0, vx, vy = function_at(frames, r + ALONG + 4, z)
            w0, wx, wy = function_at(frames, r + ALONG + 8, z)
            for i in range(max(i0, begin), min(i1, end)):
                x = np.float32(i - i0)
                h, p, q, s = h0 + hx * x, p0 + px * x, q0 + qx * x, s0 + sx * x
                u, v, w = u0 + ux * x, v0 + vx * x, w0 + wx * x
                at = ((i - begin) * ny + j0) * nz + kk
                for j in range(j0, j1):
                    to_u, to_v, to_w = square_of_edge(p, u, lu), square_of_edge(q, v, lv), square_of_edge(s, w, lw)
                    is_above = minimum(p, minimum(q, s)) > ON_EDGE
                    square = h * h + select(is_above, ZERO, minimum(to_u, minimum(to_v, to_w)))
                    best = load(squares, at)
                    store(squares, at, minimum(square, best))
                    if (i | j) & 1 == 0:
                        even = (((i - begin) >> 1) * ((ny + 1) >> 1) + (j >> 1)) * nz + kk
                        store(owners, even, select(square < best, number, load(owners, even)))
                    h, p, q, s, u, v, w = h + hy, p + py, q + qy, s + sy, u + uy, v + vy, w + wy
                    at += nz


@leaf()
def closest_point(corners, t, x, y, z):
    """The point of triangle `t` that is closest to (x, y, z)."""
    _, beta, gamma = closest_on_triangle(corners, t, x, y, z)
    a, b, c = corners[t, 0], corners[t, 1], corners[t, 2]
    return (
        a[0] + beta * (b[0] - a[0]) + gamma * (c[0] - a[0]),
        a[1] + beta * (b[1] - a[1]) + gamma * (c[1] - a[1]),
        a[2] + beta * (b[2] - a[2]) + gamma * (c[2] - a[2]),
    )


@leaf()
def negate(numbers):
    """Turn the signs of all numbers (N,)."""
    for k in range(len(numbers)):
        numbers[k] = -numbers[k]


@leaf()
def turn_signs(crossings, i, j, row):
    """Turn the signs of a row (Z,) where the winding number is above zero; return the first node and one behind all."""
    first, count = crossings.first[i, j], crossings.size[i, j]
    if count == 0:
        return len(row), 0
    for c in range(first, first + count - 1):
        if crossings.winding[c] > 0:
            negate(row[crossings.node[c] : crossings.node[c + 1]])
    return crossings.node[first], crossings.node[first + count - 1]


@leaf()
def take_roots(squares, cell):
    """Turn squared distances [cells] into distances [m]."""
    for k in range(len(squares)):
        squares[k] = cell * math.sqrt(squares[k])


@leaf()
def hand_over_chunk(corners, owners, row, i, j, begin, end, everywhere, coarse):
    """Do what `hand_over` does for nodes `begin` to `end` of the coarser row."""
    half_y, half_z = coarse.is_sought.shape[1], coarse.is_sought.shape[2]
    for k in range(begin, end):
        owner = np.int64(owners[2 * k])
        if owner >= 0:
            x, y, z = closest_point(corners, owner, np.float32(2 * i), np.float32(2 * j), np.float32(2 * k))
            at = MARGIN + (i * half_y + j) * half_z + k
            coarse.by_z[0, at], coarse.by_z[1, at], coarse.by_z[2, at] = x, y, z
            at = MARGIN + (i * half_z + k) * half_y + j
            coarse.by_y[0, at], coarse.by_y[1, at], coarse.by_y[2, at] = x, y, z
            coarse.is_used[i, j] = 1
        elif everywhere or row[2 * k] < ZERO:
            coarse.is_sought[i, j, k] = 1
            coarse.is_used[i, j] = 1
            coarse.chunks_z[i, j, k // CHUNK] = 1
            coarse.chunks_y[i, k, j // CHUNK] = 1


@leaf()
def hand_over(corners, owners, row, i, j, low, high, everywhere, coarse):
    """Write the closest points of an even row's even nodes to `coarse`, and mark those that have to be found.

    `owners` and `row` are of the whole row; from `low` to before `high` there may be nodes inside.
    """
    for k in range(0, len(row), WIDTH):
        kk = min(k, len(row) - WIDTH)
        is_inside = kk < high and kk + WIDTH > low
        if everywhere or is_inside or reduce_max(load(owners, kk)) > NOBODY:
            # A chunk at the end begins earlier, at an odd node.
            hand_over_chunk(corners, owners, row, i, j, (kk + 1) >> 1, (kk + WIDTH + 1) >> 1, everywhere, coarse)


@leaf()
def forget(begin, end, coarse):
    """Have no closest point known on planes `begin` to `end`, and none sought."""
    size = coarse.is_sought.shape[1] * coarse.is_sought.shape[2]
    first, last = MARGIN + begin * size, MARGIN + end * size
    for axis in range(3):
        coarse.by_z[axis, first:last] = NOWHERE
        coarse.by_y[axis, first:last] = NOWHERE
    coarse.is_sought[begin:end] = 0
    coarse.is_used[begin:end] = 0
    coarse.chunks_z[begin:end] = 0
    coarse.chunks_y[begin:end] = 0


@njit(cache=True, error_model="numpy", parallel=True)
def fill_near(
    corners,
    boxes,
    frames,
    is_buried,
    start,
    members,
    order,
    slab,
    crossings,
    reach,
    cell,
    everywhere,
    steps,
    # out
    values,
    owners,
    coarse,
):
    """Fill signed distances (X, Y, Z) [m] of nodes less than `reach` from the surface; the others have `reach` cells.

    Args:
        corners: of the triangles [cells], shape (T, 3, 3).
        boxes: of the triangles, see `_kernels_triangles.place_triangles`.
        frames: of the triangles, see there.
        is_buried: which of them do not count, shape (T,).
        start: where the triangles of each slab begin.
        members: triangles of the slabs one behind the other.
        order: in which slabs are done.
        slab: planes of a slab, an even number.
        crossings: of the lines with the surface.
        reach: [cells].
        cell: edge of a cell [m].
        everywhere: whether all nodes beyond the reach are to be found by `_kernels_coarse`, or those inside only.
        steps: 0, 1, 2, ..., WIDTH - 1, float32.
        values: out.
        owners: scratch, shape (X / 2, Y / 2, Z), rounded up.
        coarse: a `Coarse`, whose closest points within reach are written and the others marked, out.
    """
    nx, ny, nz = values.shape
    for c in prange(len(order)):
        s = order[c]
        begin, end = s * slab, min((s + 1) * slab, nx)
        planes, own = values[begin:end], owners[begin >> 1 : (end + 1) >> 1]
        flat, flat_owners = planes.reshape(-1), own.reshape(-1)
        flat[:] = reach * reach
        flat_owners[:] = NOBODY
        mine = members[start[s] : start[s + 1]]
        lower_to_triangles(frames, boxes, is_buried, mine, steps, begin, end, flat, flat_owners, ny, nz)
        take_roots(flat, cell)
        forget(begin >> 1, (end + 1) >> 1, coarse)
        for i in range(end - begin):
            for j in range(ny):
                first, last = turn_signs(crossings, begin + i, j, planes[i, j])
                if (i | j) & 1 == 0:
                    half = (begin + i) >> 1
                    hand_over(corners, own[i >> 1, j >> 1], planes[i, j], half, j >> 1, first, last, everywhere, coarse)
