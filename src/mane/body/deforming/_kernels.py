"""Distance to the triangles of a surface that deforms, in double precision, and the way points go along with it.

A surface has one shape at the start of a step (START) and one at its end (END). Which triangle is closest to a point
does not depend on where a search begins: of triangles at the same distance the one with the lowest number counts.
"""

# mypy: allow-untyped-defs

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mane.body.deforming._kernels_tree import (
    BLOCK,
    NODE,
    ROUNDING,
    boxes_within,
    first_block,
    least_of_node,
    search_limit,
    triangles_within,
)
from mane.simd.f32x16 import WIDTH
from mane.simd.jit import leaf, njit
from mane.simd.masks import lowest_bit
from mane.simd.memory import stay_out_of_line

START, END = 0, 1
# Part of a triangle that is closest to a point: its face, one of its edges, or one of its corners.
FACE, EDGE, CORNER = 0, 1, 4
# Levels of the tree whose state is in one number, and the bits of one of them.
HALF = 4
ALL_LANES = (1 << WIDTH) - 1
# Closer than this the direction to the surface is lost in rounding [m].
NO_DIRECTION = 1e-10
# A triangle this thin (its height over its longest edge) has no frame of its own.
COLLAPSED = 1e-6


class SurfaceArrays(NamedTuple):
    """A closed surface of T triangles during one step, in the solid's own frame (`ClosedMesh`).

    Those that bound the solid come first, in the order of their tree (`_kernels_tree`). The others only tell the sides
    of their neighbours.
    """

    level_start: NDArray[np.int64]  # (L + 1,): first node of each level of the tree, the lowest first
    box: NDArray[np.float32]  # (2, N * 96): boxes of the nodes of two shapes [m]
    blocks: NDArray[np.float32]  # (2, B * 144): their triangles, sixteen by sixteen [m]
    origin: NDArray[np.float64]  # (2, 3): that they are seen from [m]
    corners: NDArray[np.float64]  # (2, T, 3, 3) [m]
    shape: NDArray[np.int64]  # (2,): which of the two that is at START and END
    faces: NDArray[np.int32]  # (T, 3): vertices of each triangle
    neighbors: NDArray[np.int32]  # (T, 3): triangle beyond each edge; edge c runs from corner c to the next
    vertex_start: NDArray[np.int64]  # (P + 1,): where the corners at each vertex begin
    vertex_corners: NDArray[np.int32]  # (C,): corners of triangles there, as 3 triangle + corner
    observers: NDArray[np.float64]  # (W, 40): frames that go along, see `_kernels_observers`
    drift: NDArray[np.float64]  # (2,): what the surface has moved until START and END at most, all steps together [m]
    slack: float  # what rounding of boxes may take [m]
    slope: float  # how fast the distance changes along a way, at most: 1
    stride: float  # least step of a search along a path [m]
    feature: float  # radius of the thinnest part [m]


@njit(cache=True, error_model="numpy")
def largest_step(before, after):
    """How far a vertex goes from `before` to `after (P, 3)` at most [m]."""
    largest = 0.0
    for p in range(len(before)):
        x, y, z = after[p, 0] - before[p, 0], after[p, 1] - before[p, 1], after[p, 2] - before[p, 2]
        largest = max(largest, x * x + y * y + z * z)
    return math.sqrt(largest)


@leaf()
def over(a, b):
    """a / b, or zero where b is not above zero."""
    return a / b if b > 0.0 else 0.0


@leaf()
def closest_part(corners, t, x, y, z):
    """Weights of the second and third corner at the closest point of triangle `t`, and which part of it that is.

    Parts are FACE, EDGE + c from corner c to the next, CORNER + c. The tests go through the regions around a triangle
    (Ericson 2005, Real-Time Collision Detection, 5.1.5).
    """
    ax, ay, az = corners[t, 0, 0], corners[t, 0, 1], corners[t, 0, 2]
    ux, uy, uz = corners[t, 1, 0] - ax, corners[t, 1, 1] - ay, corners[t, 1, 2] - az
    vx, vy, vz = corners[t, 2, 0] - ax, corners[t, 2, 1] - ay, corners[t, 2, 2] - az
    px, py, pz = x - ax, y - ay, z - az
    uu, uv, vv = ux * ux + uy * uy + uz * uz, ux * vx + uy * vy + uz * vz, vx * vx + vy * vy + vz * vz
    d1, d2 = ux * px + uy * py + uz * pz, vx * px + vy * py + vz * pz
    if d1 <= 0.0 and d2 <= 0.0:
        return 0.0, 0.0, CORNER
    d3, d4 = d1 - uu, d2 - uv
    if d3 >= 0.0 and d4 <= d3:
        return 1.0, 0.0, CORNER + 1
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return over(d1, uu), 0.0, EDGE
    d5, d6 = d1 - uv, d2 - vv
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 1.0, CORNER + 2
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return 0.0, over(d2, vv), EDGE + 2
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 >= d3 and d5 >= d6:
        along = over(d4 - d3, (d4 - d3) + (d5 - d6))
        return 1.0 - along, along, EDGE + 1
    area = va + vb + vc
    return over(vb, area), over(vc, area), FACE


@leaf()
def from_triangle(corners, t, beta, gamma, x, y, z):
    """Where a point is, seen from the place of triangle `t` with these weights of its second and third corner."""
    a, b, c = corners[t, 0], corners[t, 1], corners[t, 2]
    return (
        x - (a[0] + beta * (b[0] - a[0]) + gamma * (c[0] - a[0])),
        y - (a[1] + beta * (b[1] - a[1]) + gamma * (c[1] - a[1])),
        z - (a[2] + beta * (b[2] - a[2]) + gamma * (c[2] - a[2])),
    )


@leaf()
def square_to_triangle(corners, t, x, y, z):
    """Square of the distance to triangle `t`."""
    beta, gamma, _ = closest_part(corners, t, x, y, z)
    dx, dy, dz = from_triangle(corners, t, beta, gamma, x, y, z)
    return dx * dx + dy * dy + dz * dz


@leaf()
def nearest_of_block(blocks, corners, block, x, y, z, bx, by, bz, slack, best, best_triangle):
    """Best square of a distance and its triangle, after those of one block."""
    bits, nearest = triangles_within(blocks, block * BLOCK, bx, by, bz, search_limit(best, slack))
    if bits == 0:
        return best, best_triangle
    # After the nearest of them few of the others are left.
    order = (bits & (1 << nearest), bits & ~(1 << nearest))
    for k in range(2):
        left = order[k]
        while left != 0:
            t = block * WIDTH + lowest_bit(left)
            left &= left - 1
            square = square_to_triangle(corners, t, x, y, z)
            if square < best or (square == best and t < best_triangle):
                best, best_triangle = square, t
    return best, best_triangle


@leaf()
def bits_left(low, high, level):
    """What is left to do at a level, of the two numbers that `search_triangles` keeps it in."""
    return ((low if level < HALF else high) >> (WIDTH * (level % HALF))) & ALL_LANES


@leaf()
def with_bits_left(low, high, level, bits):
    """The two numbers with other bits at a level."""
    place = WIDTH * (level % HALF)
    if level < HALF:
        return (low & ~(ALL_LANES << place)) | (bits << place), high
    return low, (high & ~(ALL_LANES << place)) | (bits << place)


@leaf()
def search_triangles(box, blocks, corners, level_start, origin, slack, x, y, z, guess):
    """Number of the triangle that is closest to a point, in arrays of one shape; see `closest_triangle`.

    The tree is gone through depth first. What is left to do at each level, one bit for each child of the node there, is
    kept in sixteen bits of two numbers, `low` for the four lowest levels and `high` for those above.
    """
    stay_out_of_line()
    bx, by, bz = np.float32(x - origin[0]), np.float32(y - origin[1]), np.float32(z - origin[2])
    start = guess // WIDTH if guess >= 0 else first_block(box, level_start, bx, by, bz)
    first = guess if guess >= 0 else start * WIDTH
    best, best_triangle = square_to_triangle(corners, first, x, y, z), first
    best, best_triangle = nearest_of_block(blocks, corners, start, x, y, z, bx, by, bz, slack, best, best_triangle)
    limit = search_limit(best, slack)
    top = len(level_start) - 2
    level, node, low, high = top, 0, 0, 0
    bits = boxes_within(box, level_start[top] * NODE, bx, by, bz, limit)
    while True:
        if bits == 0:
            if level == top:
                return best_triangle
            level, node = level + 1, node // WIDTH
            bits = bits_left(low, high, level)
            continue
        child = node * WIDTH + lowest_bit(bits)
        bits &= bits - 1
        if level == 0:
            if child != start:
                best, best_triangle = nearest_of_block(
                    blocks, corners, child, x, y, z, bx, by, bz, slack, best, best_triangle
                )
                limit = search_limit(best, slack)
            continue
        low, high = with_bits_left(low, high, level, bits)
        level, node = level - 1, child
        bits = boxes_within(box, (level_start[level] + node) * NODE, bx, by, bz, limit)


@leaf()
def search_boxes(box, level_start, origin, x, y, z, enough):
    """Square of the distance of a point to the nearest box of a block, in arrays of one shape; see `least_by_boxes`.

    Ends as soon as it is at most `enough`. Nodes are gone through as in `search_triangles`.
    """
    stay_out_of_line()
    bx, by, bz = np.float32(x - origin[0]), np.float32(y - origin[1]), np.float32(z - origin[2])
    best = least_of_node(box, first_block(box, level_start, bx, by, bz) // WIDTH * NODE, bx, by, bz)
    top = len(level_start) - 2
    level, node, low, high = top, 0, 0, 0
    bits = boxes_within(box, level_start[top] * NODE, bx, by, bz, best)
    while best > enough:
        if bits == 0:
            if level == top:
                return best
            level, node = level + 1, node // WIDTH
            bits = bits_left(low, high, level)
            continue
        child = node * WIDTH + lowest_bit(bits)
        bits &= bits - 1
        if level <= 1:
            # The boxes of a lowest node are those of blocks.
            best = min(best, least_of_node(box, (child if level == 1 else node) * NODE, bx, by, bz))
            bits = bits if level == 1 else 0
            continue
        low, high = with_bits_left(low, high, level, bits)
        level, node = level - 1, child
        bits = boxes_within(box, (level_start[level] + node) * NODE, bx, by, bz, best)
    return best


@leaf()
def least_by_boxes(surface, which, x, y, z, enough):
    """Lower bound of the distance of a point [m]; it may be any that is below `enough` [m] where the true one is."""
    shape = surface.shape[which]
    limit = np.float32(enough * enough)
    square = search_boxes(surface.box[shape], surface.level_start, surface.origin[shape], x, y, z, limit)
    return math.sqrt(square) / ROUNDING - surface.slack


@leaf()
def closest_triangle(surface, which, x, y, z, guess):
    """Number of the triangle that is closest to a point. `guess` is one that may be, or -1; it only saves time."""
    shape = surface.shape[which]
    return search_triangles(
        surface.box[shape],
        surface.blocks[shape],
        surface.corners[shape],
        surface.level_start,
        surface.origin[shape],
        surface.slack,
        x,
        y,
        z,
        guess,
    )


@leaf()
def unit_normal(corners, t):
    """Unit normal of triangle `t`, zero for one without area."""
    a, b, c = corners[t, 0], corners[t, 1], corners[t, 2]
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    scale = over(1.0, math.sqrt(nx * nx + ny * ny + nz * nz))
    return scale * nx, scale * ny, scale * nz


@leaf()
def angle_at(corners, t, c):
    """Angle of triangle `t` at its corner c [rad], zero for one without area."""
    p, q, r = corners[t, c], corners[t, (c + 1) % 3], corners[t, (c + 2) % 3]
    ux, uy, uz = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    vx, vy, vz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    return math.atan2(math.sqrt(nx * nx + ny * ny + nz * nz), ux * vx + uy * vy + uz * vz)


@leaf()
def pseudonormal(surface, which, t, part):
    """Normal of a part of triangle `t`, of any length: a point is outside where it is on that side of the closest part.

    At an edge the sum of the normals beside it, at a corner the sum around it weighted by angle (Baerentzen and Aanaes
    2005, Signed distance computation using the angle weighted pseudonormal).
    """
    stay_out_of_line()
    corners, faces = surface.corners[surface.shape[which]], surface.faces
    if part == FACE:
        return unit_normal(corners, t)
    if part < CORNER:
        nx, ny, nz = unit_normal(corners, t)
        mx, my, mz = unit_normal(corners, surface.neighbors[t, part - EDGE])
        return nx + mx, ny + my, nz + mz
    vertex = faces[t, part - CORNER]
    sx, sy, sz = 0.0, 0.0, 0.0
    for k in range(surface.vertex_start[vertex], surface.vertex_start[vertex + 1]):
        near, c = surface.vertex_corners[k] // 3, surface.vertex_corners[k] % 3
        angle = angle_at(corners, near, c)
        nx, ny, nz = unit_normal(corners, near)
        sx, sy, sz = sx + angle * nx, sy + angle * ny, sz + angle * nz
    return sx, sy, sz


@leaf()
def product_with_normal(corners, t, x, y, z):
    """Product of a direction with the normal of triangle `t`, which is as long as its double area."""
    a, b, c = corners[t, 0], corners[t, 1], corners[t, 2]
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    return (uy * vz - uz * vy) * x + (uz * vx - ux * vz) * y + (ux * vy - uy * vx) * z


@leaf()
def side_of(surface, which, t, part, x, y, z):
    """1 on the outside of a part of triangle `t` and -1 inside, in a direction from it.

    Where all normals around the part agree, so does their sum; its weights take angles.
    """
    corners = surface.corners[surface.shape[which]]
    if part == FACE:
        return 1.0 if product_with_normal(corners, t, x, y, z) >= 0.0 else -1.0
    if part >= CORNER:
        vertex, above, below = surface.faces[t, part - CORNER], 0, 0
        for k in range(surface.vertex_start[vertex], surface.vertex_start[vertex + 1]):
            product = product_with_normal(corners, surface.vertex_corners[k] // 3, x, y, z)
            above, below = above + (1 if product > 0.0 else 0), below + (1 if product < 0.0 else 0)
        if below == 0 and above > 0:
            return 1.0
        if above == 0 and below > 0:
            return -1.0
    nx, ny, nz = pseudonormal(surface, which, t, part)
    return 1.0 if nx * x + ny * y + nz * z >= 0.0 else -1.0


@leaf()
def signed_distance(surface, which, t, x, y, z):
    """Signed distance of a point whose closest triangle is `t` [m], the part that is closest, and the way from it."""
    corners = surface.corners[surface.shape[which]]
    beta, gamma, part = closest_part(corners, t, x, y, z)
    dx, dy, dz = from_triangle(corners, t, beta, gamma, x, y, z)
    side = side_of(surface, which, t, part, dx, dy, dz)
    return side * math.sqrt(dx * dx + dy * dy + dz * dz), part, dx, dy, dz


@leaf()
def distance_to(surface, which, t, x, y, z):
    """Signed distance [m] and unit gradient at a point whose closest triangle is `t`."""
    stay_out_of_line()
    distance, part, dx, dy, dz = signed_distance(surface, which, t, x, y, z)
    if abs(distance) > NO_DIRECTION:
        return distance, dx / distance, dy / distance, dz / distance
    nx, ny, nz = pseudonormal(surface, which, t, part)
    norm = math.sqrt(nx * nx + ny * ny + nz * nz)
    if norm == 0.0:
        return distance, 0.0, 1.0, 0.0
    return distance, nx / norm, ny / norm, nz / norm


@leaf()
def surface_distance(surface, guess, x, y, z):
    """Signed distance [m] and unit gradient at one point of the solid's own frame, at the end of the step.

    `guess` is a triangle that may be closest, or -1.
    """
    stay_out_of_line()
    return distance_to(surface, END, closest_triangle(surface, END, x, y, z, guess), x, y, z)


@leaf()
def frame_of(corners, t):
    """Edges u and v of triangle `t` from its first corner, unit normal n, and what solves for weights; area 0 if flat.

    Returns u, v, n, (u.u, u.v, v.v), and the square of the double area.
    """
    a, b, c = corners[t, 0], corners[t, 1], corners[t, 2]
    u = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
    v = (c[0] - a[0], c[1] - a[1], c[2] - a[2])
    n = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
    uu, uv = u[0] * u[0] + u[1] * u[1] + u[2] * u[2], u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
    vv, area = v[0] * v[0] + v[1] * v[1] + v[2] * v[2], n[0] * n[0] + n[1] * n[1] + n[2] * n[2]
    longest = max(uu, max(vv, uu - 2.0 * uv + vv))
    if not area > (COLLAPSED * longest) ** 2:
        return u, v, (0.0, 0.0, 0.0), (uu, uv, vv), 0.0
    scale = 1.0 / math.sqrt(area)
    return u, v, (scale * n[0], scale * n[1], scale * n[2]), (uu, uv, vv), area


@leaf()
def carried(surface, t, source, target, x, y, z):
    """Where a point beside triangle `t` goes with it, from its shape at `source` to that at `target` (START or END).

    The point keeps its weights in the plane of the triangle and its height above it: on the surface that is where the
    surface takes it, and for a triangle that moves rigidly so does the point, wherever it is.
    """
    stay_out_of_line()
    before, after = surface.corners[surface.shape[source]], surface.corners[surface.shape[target]]
    px, py, pz = x - before[t, 0, 0], y - before[t, 0, 1], z - before[t, 0, 2]
    u, v, n, (uu, uv, vv), area = frame_of(before, t)
    u_new, v_new, n_new, _, area_new = frame_of(after, t)
    ax, ay, az = after[t, 0, 0], after[t, 0, 1], after[t, 0, 2]
    if area == 0.0 or area_new == 0.0:
        return ax + px, ay + py, az + pz
    pu, pv = px * u[0] + py * u[1] + pz * u[2], px * v[0] + py * v[1] + pz * v[2]
    beta, gamma = (pu * vv - pv * uv) / area, (pv * uu - pu * uv) / area
    height = px * n[0] + py * n[1] + pz * n[2]
    return (
        ax + beta * u_new[0] + gamma * v_new[0] + height * n_new[0],
        ay + beta * u_new[1] + gamma * v_new[1] + height * n_new[1],
        az + beta * u_new[2] + gamma * v_new[2] + height * n_new[2],
    )
