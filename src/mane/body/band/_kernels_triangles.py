"""Triangles of a moving surface as the other kernels of this folder read them, in cells of a grid.

Each triangle has seven affine functions of position: the height above its plane, and for each edge how far a point lies
inwards of it and how far along it from its middle. With the height, those of one edge are orthogonal coordinates: a
squared distance is a sum of three squares, and from node to node along a row of the grid all change by constants.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import inline, leaf, njit, prange

# Offsets in a triangle's row of numbers. A function is its value at the lowest node of the triangle's box, then its
# change per node along x, y and z.
HEIGHT, INWARD, ALONG = 0, 4, 16
LENGTH = 28  # half of the three edges'
ROW = 32
CHUNK = 256  # triangles that a task places
ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
# Normals around a vertex that are farther than 60 degrees from their mean say nothing of where points near it are.
NARROW = np.float32(0.5)
# Added to the boxes [cells], for rounding.
SPECK = 1e-3


@leaf()
def any_perpendicular(x, y, z):
    """Some unit vector perpendicular to the unit vector (x, y, z)."""
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        px, py, pz = ZERO, z, -y
    elif abs(y) <= abs(z):
        px, py, pz = -z, ZERO, x
    else:
        px, py, pz = y, -x, ZERO
    scale = ONE / math.sqrt(px * px + py * py + pz * pz)
    return px * scale, py * scale, pz * scale


@inline
def put_function(gx, gy, gz, dx, dy, dz, at, frames):
    """Write the function with the gradient g whose value at the lowest node is g . d."""
    frames[at] = gx * dx + gy * dy + gz * dz
    frames[at + 1], frames[at + 2], frames[at + 3] = gx, gy, gz


@leaf()
def on_one_line(ux, uy, uz, vx, vy, vz, wx, wy, wz, lu, lv, lw):
    """Directions u, v, w of the edges of a triangle without area, and a normal; of edges, given with their lengths.

    All lie on the longest edge; any plane through it will do, and no point is inwards of all edges.
    """
    longest = max(lu, max(lv, lw))
    tx, ty, tz = ux, uy, uz
    if lv == longest:
        tx, ty, tz = vx, vy, vz
    elif lw == longest:
        tx, ty, tz = wx, wy, wz
    if longest > ZERO:
        tx, ty, tz = tx / longest, ty / longest, tz / longest
    else:
        tx, ty, tz = ONE, ZERO, ZERO
    nx, ny, nz = any_perpendicular(tx, ty, tz)
    u = ONE if ux * tx + uy * ty + uz * tz >= ZERO else -ONE
    v = ONE if vx * tx + vy * ty + vz * tz >= ZERO else -ONE
    # Of edges without length the third runs backwards.
    w = ONE if wx * tx + wy * ty + wz * tz > ZERO else -ONE
    return u * tx, u * ty, u * tz, v * tx, v * ty, v * tz, w * tx, w * ty, w * tz, nx, ny, nz


@inline
def put_frame(ax, ay, az, ux, uy, uz, vx, vy, vz, nx, ny, nz, row, frames):
    """Write the numbers of a triangle; a leads from its first corner to the lowest node of its box.

    u and v are its edges from the first corner and from the second, n is its unit normal, or zero without area.
    """
    wx, wy, wz = -ux - vx, -uy - vy, -uz - vz
    # From the other two corners, and from the middles of the edges.
    bx, by, bz, cx, cy, cz = ax - ux, ay - uy, az - uz, ax + wx, ay + wy, az + wz
    mx, my, mz = ax - HALF * ux, ay - HALF * uy, az - HALF * uz
    ox, oy, oz = bx - HALF * vx, by - HALF * vy, bz - HALF * vz
    ex, ey, ez = cx - HALF * wx, cy - HALF * wy, cz - HALF * wz
    lu, lv = math.sqrt(ux * ux + uy * uy + uz * uz), math.sqrt(vx * vx + vy * vy + vz * vz)
    lw = math.sqrt(wx * wx + wy * wy + wz * wz)
    frames[row + LENGTH], frames[row + LENGTH + 1], frames[row + LENGTH + 2] = HALF * lu, HALF * lv, HALF * lw
    if nx * nx + ny * ny + nz * nz > ZERO:
        u, v, w = ONE / lu, ONE / lv, ONE / lw
        ux, uy, uz, vx, vy, vz, wx, wy, wz = (
            u * ux, u * uy, u * uz, v * vx, v * vy, v * vz, w * wx, w * wy, w * wz
        )  # fmt: skip
    else:
        ux, uy, uz, vx, vy, vz, wx, wy, wz, nx, ny, nz = on_one_line(ux, uy, uz, vx, vy, vz, wx, wy, wz, lu, lv, lw)
    put_function(nx, ny, nz, ax, ay, az, row + HEIGHT, frames)
    put_function(ny * uz - nz * uy, nz * ux - nx * uz, nx * uy - ny * ux, ax, ay, az, row + INWARD, frames)
    put_function(ny * vz - nz * vy, nz * vx - nx * vz, nx * vy - ny * vx, bx, by, bz, row + INWARD + 4, frames)
    put_function(ny * wz - nz * wy, nz * wx - nx * wz, nx * wy - ny * wx, cx, cy, cz, row + INWARD + 8, frames)
    put_function(ux, uy, uz, mx, my, mz, row + ALONG, frames)
    put_function(vx, vy, vz, ox, oy, oz, row + ALONG + 4, frames)
    put_function(wx, wy, wz, ex, ey, ez, row + ALONG + 8, frames)


@njit(cache=True, error_model="numpy", parallel=True)
def find_extents(
    normals,
    vertex_start,
    vertex_corners,
    reach,
    # out
    extents,
):
    """Fill how far along each axis the points within `reach` are that have a vertex for their closest point, (N, 3).

    From there the way to such a point runs within the cone of the normals (T, 3) of the faces around the vertex, or
    against it: seen along that way the vertex is the highest of the surface around it, so that the normals of the faces
    surround that direction. `vertex_start` and `vertex_corners` are as of `closed.ClosedMesh`.
    """
    for p in prange(len(extents)):
        x, y, z = np.float32(0.0), np.float32(0.0), np.float32(0.0)
        sx, sy, sz = np.float32(0.0), np.float32(0.0), np.float32(0.0)
        start, end = vertex_start[p], vertex_start[p + 1]
        for c in range(start, end):
            n = normals[vertex_corners[c] // 3]
            x, y, z = max(x, abs(n[0])), max(y, abs(n[1])), max(z, abs(n[2]))
            sx, sy, sz = sx + n[0], sy + n[1], sz + n[2]
        total = math.sqrt(sx * sx + sy * sy + sz * sz)
        least = np.float32(1.0)
        for c in range(start, end):
            # A face without area has no normal, and makes this zero.
            n = normals[vertex_corners[c] // 3]
            least = min(least, (n[0] * sx + n[1] * sy + n[2] * sz) / total)
        # A unit vector between others, all within an angle of their mean, is at most 1 / cos(angle) of their mean.
        scale = reach / least if least > NARROW else np.float32(np.inf)
        extents[p, 0], extents[p, 1], extents[p, 2] = (
            min(scale * x, reach),
            min(scale * y, reach),
            min(scale * z, reach),
        )


@inline
def box_side(a, b, c, ea, eb, ec, count):
    """First node and the one behind the last of a box around three corners [cells], each with its extent."""
    low, high = min(a - ea, min(b - eb, c - ec)) - SPECK, max(a + ea, max(b + eb, c + ec)) + SPECK
    return max(np.int32(math.ceil(low)), np.int32(0)), min(np.int32(math.floor(high) + 1), count)


@inline
def place_triangle(points, faces, t, normals, extents, inv_cell, first, nodes, corners, boxes, frames):
    """Fill what `place_triangles` does of triangle `t`."""
    a, b, c = faces[t, 0], faces[t, 1], faces[t, 2]
    ax, ay = points[a, 0] * inv_cell - first[0], points[a, 1] * inv_cell - first[1]
    bx, by = points[b, 0] * inv_cell - first[0], points[b, 1] * inv_cell - first[1]
    cx, cy = points[c, 0] * inv_cell - first[0], points[c, 1] * inv_cell - first[1]
    az, bz, cz = (
        points[a, 2] * inv_cell - first[2], points[b, 2] * inv_cell - first[2], points[c, 2] * inv_cell - first[2]
    )  # fmt: skip
    corners[t, 0, 0], corners[t, 0, 1], corners[t, 0, 2] = ax, ay, az
    corners[t, 1, 0], corners[t, 1, 1], corners[t, 1, 2] = bx, by, bz
    corners[t, 2, 0], corners[t, 2, 1], corners[t, 2, 2] = cx, cy, cz
    i0, i1 = box_side(ax, bx, cx, extents[a, 0], extents[b, 0], extents[c, 0], nodes[0])
    j0, j1 = box_side(ay, by, cy, extents[a, 1], extents[b, 1], extents[c, 1], nodes[1])
    k0, k1 = box_side(az, bz, cz, extents[a, 2], extents[b, 2], extents[c, 2], nodes[2])
    boxes[t, 0], boxes[t, 1], boxes[t, 2], boxes[t, 3], boxes[t, 4], boxes[t, 5] = i0, j0, k0, i1, j1, k1
    put_frame(
        np.float32(i0 - ax),
        np.float32(j0 - ay),
        np.float32(k0 - az),
        np.float32(bx - ax),
        np.float32(by - ay),
        np.float32(bz - az),
        np.float32(cx - bx),
        np.float32(cy - by),
        np.float32(cz - bz),
        normals[t, 0],
        normals[t, 1],
        normals[t, 2],
        t * ROW,
        frames,
    )


@njit(cache=True, error_model="numpy", parallel=True)
def place_triangles(
    points,
    faces,
    normals,
    extents,
    inv_cell,
    first,
    nodes,
    # out
    corners,
    boxes,
    frames,
):
    """Fill corners (T, 3, 3) [cells], boxes (T, 6) and frames (T * ROW,) of the triangles.

    Args:
        points: positions [m], shape (N, 3).
        faces: numbers of points, shape (T, 3).
        normals: of the faces, shape (T, 3).
        extents: how far around each point the boxes of its faces extend [cells], shape (N, 3).
        inv_cell: one over the edge of a cell [1/m].
        first: position of the grid's first node [cells], whole numbers, shape (3,), float64.
        nodes: counts of the grid's nodes, shape (3,), int32.
        corners: out.
        boxes: lowest node and the one behind the highest, shape (T, 6), out.
        frames: out.
    """
    for task in prange((len(faces) + CHUNK - 1) // CHUNK):
        for t in range(task * CHUNK, min((task + 1) * CHUNK, len(faces))):
            place_triangle(points, faces, t, normals, extents, inv_cell, first, nodes, corners, boxes, frames)


@njit(cache=True, error_model="numpy")
def find_bounds(
    points,
    used,
    # out
    bounds,
):
    """Fill the lowest and highest corner (2, 3) of those of the points (N, 3) that are used."""
    lx, ly, lz = np.float32(np.inf), np.float32(np.inf), np.float32(np.inf)
    hx, hy, hz = np.float32(-np.inf), np.float32(-np.inf), np.float32(-np.inf)
    for p in used:
        x, y, z = points[p, 0], points[p, 1], points[p, 2]
        lx, ly, lz, hx, hy, hz = min(lx, x), min(ly, y), min(lz, z), max(hx, x), max(hy, y), max(hz, z)
    bounds[0, 0], bounds[0, 1], bounds[0, 2] = lx, ly, lz
    bounds[1, 0], bounds[1, 1], bounds[1, 2] = hx, hy, hz


@leaf()
def line_count(corners, t, axis):
    """At most so many lines of the grid cross a triangle along an axis."""
    a, b, c = corners[t, 0, axis], corners[t, 1, axis], corners[t, 2, axis]
    return np.int64(max(a, max(b, c)) - min(a, min(b, c)) + SPECK) + 2


@njit(cache=True, error_model="numpy")
def count_in_slabs(
    corners,
    boxes,
    slab,
    # out
    start,
    room,
):
    """Fill where the triangles of each slab of `slab` planes begin, and the room for crossings of lines with them.

    Both have the shape (slabs + 1,); their last numbers are how many there are.
    """
    start[:] = 0
    room[:] = 0
    for t in range(len(boxes)):
        lines = min(line_count(corners, t, 0), slab) * line_count(corners, t, 1)
        for s in range(boxes[t, 0] // slab, (boxes[t, 3] - 1) // slab + 1):
            start[s + 1] += 1
            room[s + 1] += lines
    for s in range(1, len(start)):
        start[s] += start[s - 1]
        room[s] += room[s - 1]


@njit(cache=True, error_model="numpy")
def sort_into_slabs(
    boxes,
    slab,
    start,
    # out
    members,
):
    """Fill the triangles whose box reaches into each slab, in their order, one slab behind the other."""
    place = start[:-1].copy()
    for t in range(len(boxes)):
        for s in range(boxes[t, 0] // slab, (boxes[t, 3] - 1) // slab + 1):
            members[place[s]] = t
            place[s] += 1
