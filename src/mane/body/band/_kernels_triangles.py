"""Triangles of a moving surface as the other kernels of this folder read them, in cells of a grid.

Each triangle has seven affine functions of position: the height above its plane, and for each edge how far a point lies
inwards of it and how far along it from its middle. With the height, those of one edge are orthogonal coordinates: a
squared distance is a sum of three squares, and from node to node along a row of the grid all change by constants.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange

# Offsets in a triangle's row of numbers. A function is its value at the lowest node of the triangle's box, then its
# change per node along x, y and z.
HEIGHT, INWARD, ALONG = 0, 4, 16
LENGTH = 28  # half of the three edges'
ROW = 32
# A triangle whose doubled area is less than this part of its longest edge squared is dealt with as a line.
NO_AREA = 1e-9


@njit(cache=True, error_model="numpy")
def any_perpendicular(x, y, z):
    """Some unit vector perpendicular to the unit vector (x, y, z)."""
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        px, py, pz = 0.0, z, -y
    elif abs(y) <= abs(z):
        px, py, pz = -z, 0.0, x
    else:
        px, py, pz = y, -x, 0.0
    scale = 1.0 / math.sqrt(px * px + py * py + pz * pz)
    return px * scale, py * scale, pz * scale


@njit(cache=True, error_model="numpy")
def put_function(gx, gy, gz, dx, dy, dz, at, frames):
    """Write the function with the gradient g whose value at the lowest node is g . d."""
    frames[at] = gx * dx + gy * dy + gz * dz
    frames[at + 1], frames[at + 2], frames[at + 3] = gx, gy, gz


@njit(cache=True, error_model="numpy")
def put_frame(corners, t, ox, oy, oz, frames):
    """Write the numbers of triangle `t`, whose box begins at node (ox, oy, oz)."""
    ax, ay, az = np.float64(corners[t, 0, 0]), np.float64(corners[t, 0, 1]), np.float64(corners[t, 0, 2])
    bx, by, bz = np.float64(corners[t, 1, 0]), np.float64(corners[t, 1, 1]), np.float64(corners[t, 1, 2])
    cx, cy, cz = np.float64(corners[t, 2, 0]), np.float64(corners[t, 2, 1]), np.float64(corners[t, 2, 2])
    ux, uy, uz, vx, vy, vz, wx, wy, wz = bx - ax, by - ay, bz - az, cx - bx, cy - by, cz - bz, ax - cx, ay - cy, az - cz
    uu, vv, ww = ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz, wx * wx + wy * wy + wz * wz
    longest = max(uu, max(vv, ww))
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    area = math.sqrt(nx * nx + ny * ny + nz * nz)
    lu, lv, lw = math.sqrt(uu), math.sqrt(vv), math.sqrt(ww)
    row = t * ROW
    frames[row + LENGTH], frames[row + LENGTH + 1], frames[row + LENGTH + 2] = 0.5 * lu, 0.5 * lv, 0.5 * lw
    if area > NO_AREA * longest and min(uu, min(vv, ww)) > 0.0:
        nx, ny, nz = nx / area, ny / area, nz / area
        ux, uy, uz, vx, vy, vz = ux / lu, uy / lu, uz / lu, vx / lv, vy / lv, vz / lv
        wx, wy, wz = wx / lw, wy / lw, wz / lw
    else:
        # All edges lie on the longest one; any plane through it will do, and no point is above the face.
        tx, ty, tz = ux, uy, uz
        if vv >= uu and vv >= ww:
            tx, ty, tz = vx, vy, vz
        elif ww >= uu:
            tx, ty, tz = wx, wy, wz
        if longest > 0.0:
            scale = 1.0 / math.sqrt(longest)
            tx, ty, tz = tx * scale, ty * scale, tz * scale
        else:
            tx, ty, tz = 1.0, 0.0, 0.0
        nx, ny, nz = any_perpendicular(tx, ty, tz)
        turn = 1.0 if ux * tx + uy * ty + uz * tz >= 0.0 else -1.0
        ux, uy, uz = turn * tx, turn * ty, turn * tz
        turn = 1.0 if vx * tx + vy * ty + vz * tz >= 0.0 else -1.0
        vx, vy, vz = turn * tx, turn * ty, turn * tz
        # Of edges without length the third runs backwards: no point is inwards of all three.
        turn = 1.0 if wx * tx + wy * ty + wz * tz > 0.0 else -1.0
        wx, wy, wz = turn * tx, turn * ty, turn * tz
    ax, ay, az, bx, by, bz, cx, cy, cz = (
        ox - ax, oy - ay, oz - az, ox - bx, oy - by, oz - bz, ox - cx, oy - cy, oz - cz
    )  # fmt: skip
    put_function(nx, ny, nz, ax, ay, az, row + HEIGHT, frames)
    put_function(ny * uz - nz * uy, nz * ux - nx * uz, nx * uy - ny * ux, ax, ay, az, row + INWARD, frames)
    put_function(ny * vz - nz * vy, nz * vx - nx * vz, nx * vy - ny * vx, bx, by, bz, row + INWARD + 4, frames)
    put_function(ny * wz - nz * wy, nz * wx - nx * wz, nx * wy - ny * wx, cx, cy, cz, row + INWARD + 8, frames)
    put_function(ux, uy, uz, 0.5 * (ax + bx), 0.5 * (ay + by), 0.5 * (az + bz), row + ALONG, frames)
    put_function(vx, vy, vz, 0.5 * (bx + cx), 0.5 * (by + cy), 0.5 * (bz + cz), row + ALONG + 4, frames)
    put_function(wx, wy, wz, 0.5 * (cx + ax), 0.5 * (cy + ay), 0.5 * (cz + az), row + ALONG + 8, frames)


@njit(cache=True, error_model="numpy", parallel=True)
def place_triangles(
    points,
    faces,
    inv_cell,
    first,
    nodes,
    reach,
    # out
    corners,
    boxes,
    frames,
):
    """Fill corners (T, 3, 3) [cells], boxes (T, 6) and frames (T * ROW,) of the triangles.

    Args:
        points: positions [m], shape (N, 3).
        faces: numbers of points, shape (T, 3).
        inv_cell: one over the edge of a cell [1/m].
        first: position of the grid's first node [cells], whole numbers, shape (3,).
        nodes: counts of the grid's nodes, shape (3,).
        reach: how far around a triangle its box extends [cells].
        corners: out.
        boxes: lowest node and the one behind the highest, shape (T, 6), out.
        frames: out.
    """
    for t in prange(len(faces)):
        for axis in range(3):
            low, high = np.float32(np.inf), np.float32(-np.inf)
            for c in range(3):
                value = np.float32(points[faces[t, c], axis] * inv_cell - first[axis])
                corners[t, c, axis] = value
                low, high = min(low, value), max(high, value)
            boxes[t, axis] = max(np.int32(math.ceil(low - reach)), 0)
            boxes[t, 3 + axis] = min(np.int32(math.floor(high + reach)) + 1, nodes[axis])
        put_frame(corners, t, np.float64(boxes[t, 0]), np.float64(boxes[t, 1]), np.float64(boxes[t, 2]), frames)


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


@njit(cache=True, error_model="numpy")
def line_count(corners, t, axis):
    """At most so many lines of the grid cross a triangle along an axis."""
    a, b, c = corners[t, 0, axis], corners[t, 1, axis], corners[t, 2, axis]
    return np.int64(max(a, max(b, c)) - min(a, min(b, c))) + 2


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
