"""hsu2024 as printed: the stencil of eq. 9 and algorithm 1, one hair after another. `_reference` is the same in NumPy.

Quaternions are (x, y, z, w). All forces are in newtons and stiffnesses in joules, as in the paper.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange
from mane.skin._kernels_rotation import product, third_axis, turned
from mane.skin._kernels_solids import nearest_solid

GUIDES = 3  # of a hair, the edges of the prism of fig. 3
# Three places whose triangle is flatter than this part of its longest edge give no coordinates within it.
FLAT = 1e-4


@njit(cache=True, error_model="numpy")
def closest_place(x, y, z, guide):
    """Place on the polyline `guide (U, 3)` closest to a point, as vertex number and fraction of the way to the next."""
    nearest, place = math.inf, 0.0
    for j in range(len(guide) - 1):
        ax, ay, az = guide[j, 0], guide[j, 1], guide[j, 2]
        dx, dy, dz = guide[j + 1, 0] - ax, guide[j + 1, 1] - ay, guide[j + 1, 2] - az
        square = dx * dx + dy * dy + dz * dz
        u = ((x - ax) * dx + (y - ay) * dy + (z - az) * dz) / square if square > 0.0 else 0.0
        u = min(max(u, 0.0), 1.0)
        ex, ey, ez = x - ax - u * dx, y - ay - u * dy, z - az - u * dz
        distance = ex * ex + ey * ey + ez * ez
        if distance < nearest:
            nearest, place = distance, j + u
    return place


@njit(cache=True, error_model="numpy")
def closest_on_edge(px, py, pz, a, b, found):
    """Square distance of a point to the edge from `a` to `b` (3,); its coordinates are put into `found (2,)`."""
    dx, dy, dz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    square = dx * dx + dy * dy + dz * dz
    u = ((px - a[0]) * dx + (py - a[1]) * dy + (pz - a[2]) * dz) / square if square > 0.0 else 0.0
    u = min(max(u, 0.0), 1.0)
    found[0], found[1] = 1.0 - u, u
    ex, ey, ez = px - a[0] - u * dx, py - a[1] - u * dy, pz - a[2] - u * dz
    return ex * ex + ey * ey + ez * ez


@njit(cache=True, error_model="numpy")
def barycentric(px, py, pz, corner, out):
    """Fill `out (3,)` with coordinates of the point of a triangle `corner (3, 3)` closest to p; False where it is flat.

    Inside the triangle those of the projection, otherwise of the closest point of an edge.
    """
    a, b, c = corner[0], corner[1], corner[2]
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    wx, wy, wz = px - a[0], py - a[1], pz - a[2]
    uu, uv, vv = ux * ux + uy * uy + uz * uz, ux * vx + uy * vy + uz * vz, vx * vx + vy * vy + vz * vz
    wu, wv = wx * ux + wy * uy + wz * uz, wx * vx + wy * vy + wz * vz
    determinant = uu * vv - uv * uv
    longest = max(uu, vv, uu + vv - 2.0 * uv)
    if not determinant > FLAT * FLAT * longest * longest:
        return False
    beta, gamma = (vv * wu - uv * wv) / determinant, (uu * wv - uv * wu) / determinant
    if beta >= 0.0 and gamma >= 0.0 and beta + gamma <= 1.0:
        out[0], out[1], out[2] = 1.0 - beta - gamma, beta, gamma
        return True
    nearest, found = math.inf, np.empty(2)
    for k in range(3):
        distance = closest_on_edge(px, py, pz, corner[k], corner[(k + 1) % 3], found)
        if distance < nearest:
            nearest = distance
            out[k], out[(k + 1) % 3], out[(k + 2) % 3] = found[0], found[1], 0.0
    return True


@njit(cache=True, error_model="numpy", parallel=True)
def bind_vertices(
    points,
    rest,
    guide,
    root_weight,
    # out
    place,
    weight,
):
    """Fill the stencil of eq. 9: `place` and `weight (S, V, 3)` of every vertex on the three guides of its hair.

    Each vertex has the closest place of each guide, and its coordinates in the triangle of the three. The root is on
    the skin, at the guides' own roots; where the triangle is flat, the coordinates at the root count.

    Args:
        points: hairs at rest (S, V, 3) [m].
        rest: guides at rest (G, U, 3) [m].
        guide: of each hair (S, 3).
        root_weight: coordinates of each root among the guides' roots (S, 3).
    """
    for s in prange(len(points)):
        corner, coordinates = np.empty((GUIDES, 3)), np.empty(GUIDES)
        for i in range(points.shape[1]):
            x, y, z = np.float64(points[s, i, 0]), np.float64(points[s, i, 1]), np.float64(points[s, i, 2])
            for k in range(GUIDES):
                own = rest[guide[s, k]]
                p = closest_place(x, y, z, own) if i > 0 else 0.0
                j = min(int(p), len(own) - 2)
                for c in range(3):
                    corner[k, c] = own[j, c] + (p - j) * (own[j + 1, c] - own[j, c])
                place[s, i, k] = p
            is_found = i > 0 and barycentric(x, y, z, corner, coordinates)
            for k in range(GUIDES):
                weight[s, i, k] = coordinates[k] if is_found else root_weight[s, k]


@njit(cache=True, error_model="numpy")
def orientation(vx, vy, vz, bx, by, bz, bw):
    """Eq. 17 with theorem 4.1: (A - lambda)^-1 b, normalised, lambda = |v| + |b|; the factor before it is negative."""
    multiplier = math.sqrt(vx * vx + vy * vy + vz * vz) + math.sqrt(bx * bx + by * by + bz * bz + bw * bw)
    ex, ey, ez, ew = product(bx, by, bz, bw, 0.0, 0.0, 1.0, 0.0)
    ax, ay, az, aw = product(vx, vy, vz, 0.0, ex, ey, ez, ew)
    qx, qy, qz, qw = -ax - multiplier * bx, -ay - multiplier * by, -az - multiplier * bz, -aw - multiplier * bw
    inv = 1.0 / math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
    return qx * inv, qy * inv, qz * inv, qw * inv


@njit(cache=True, error_model="numpy")
def skinned(motion, guide, place, weight, present):
    """Sum over guides of `motion (G, U, C)` at `place (3,)` with `weight (3,)`: C numbers, and the sum of weights."""
    total = 0.0
    for k in range(GUIDES):
        total += weight[k] * present[guide[k]]
    scale = 1.0 / total if total > 0.0 else 0.0
    a, b, c = 0.0, 0.0, 0.0
    for k in range(GUIDES):
        w = scale * weight[k] * present[guide[k]]
        if w == 0.0:
            continue
        j = min(int(place[k]), motion.shape[1] - 2)
        u, own = place[k] - j, motion[guide[k]]
        a += w * (own[j, 0] + u * (own[j + 1, 0] - own[j, 0]))
        b += w * (own[j, 1] + u * (own[j + 1, 1] - own[j, 1]))
        c += w * (own[j, 2] + u * (own[j + 1, 2] - own[j, 2]))
    return a, b, c


@njit(cache=True, error_model="numpy")
def root_turn(turn, guide, weight, present):
    """Mean of the turns `turn (G + 1, 4)` at the roots of a hair's guides; the last, the head's, takes what is left."""
    x, y, z, w, left = 0.0, 0.0, 0.0, 0.0, 1.0
    for k in range(GUIDES):
        a = weight[k] * present[guide[k]]
        q = turn[guide[k]]
        x, y, z, w, left = x + a * q[0], y + a * q[1], z + a * q[2], w + a * q[3], left - a
    q = turn[len(turn) - 1]
    left = max(left, 0.0)
    x, y, z, w = x + left * q[0], y + left * q[1], z + left * q[2], w + left * q[3]
    inv = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
    return x * inv, y * inv, z * inv, w * inv


@njit(cache=True, error_model="numpy", parallel=True)
def interpolate_hairs(
    rest,
    darboux,
    length,
    k_ss,
    k_bt,
    guide,
    place,
    weight,
    present,
    shift,
    force,
    turn,
    alpha,
    k_pen,
    solids,
    poses,
    # out
    out,
):
    """Algorithm 1 for every hair.

    Args:
        rest: hairs at rest from the pivot (S, V, 3) [m].
        darboux: rest rotation of each joint, joint 0 from the skin to segment 0 (S, N, 4).
        length: of each segment (S, N) [m].
        k_ss: of each segment (S, N) [J].
        k_bt: of each joint (S, N) [J].
        guide: of each hair (S, 3).
        place: see `bind_vertices`.
        weight: see there.
        present: how far each guide has faded in (G,).
        shift: displacement of the guides but for the turn of their roots (G, U, 3) [m].
        force: f^ss of the guides, none at the tip (G, U, 3) [N].
        turn: how the skin has turned at each guide's root, and behind them the head (G + 1, 4).
        alpha: of eq. 23.
        k_pen: of eq. 18, of each hair (S,) [N/m].
        solids: see `nearest_solid`.
        poses: see there; none for no solids.
        out: points (S, V, 3) [m].
    """
    for s in prange(len(rest)):
        g = guide[s]
        rx, ry, rz, rw = root_turn(turn, g, weight[s, 0], present)
        x, y, z = np.float64(rest[s, 0, 0]), np.float64(rest[s, 0, 1]), np.float64(rest[s, 0, 2])
        x, y, z = turned(rx, ry, rz, rw, x, y, z)
        mx, my, mz = skinned(shift, g, place[s, 0], weight[s, 0], present)
        x, y, z = x + mx, y + my, z + mz
        out[s, 0, 0], out[s, 0, 1], out[s, 0, 2] = x, y, z
        qx, qy, qz, qw = rx, ry, rz, rw
        for i in range(length.shape[1]):
            l, ss, bt, p = np.float64(length[s, i]), np.float64(k_ss[s, i]), np.float64(k_bt[s, i]), darboux[s, i]
            # Target force (eq. 10).
            fx, fy, fz = skinned(force, g, place[s, i], weight[s, i], present)
            # Drift correction: the linear position (eq. 9), and eq. 22 with the tangent of eq. 21.
            tx, ty, tz = np.float64(rest[s, i + 1, 0]), np.float64(rest[s, i + 1, 1]), np.float64(rest[s, i + 1, 2])
            tx, ty, tz = turned(rx, ry, rz, rw, tx, ty, tz)
            mx, my, mz = skinned(shift, g, place[s, i + 1], weight[s, i + 1], present)
            hx, hy, hz, hw = product(qx, qy, qz, qw, p[0], p[1], p[2], p[3])
            dx, dy, dz = third_axis(hx, hy, hz, hw)
            fx = (1.0 - alpha) * fx + alpha * ss / l * ((tx + mx - x) / l - dx)
            fy = (1.0 - alpha) * fy + alpha * ss / l * ((ty + my - y) / l - dy)
            fz = (1.0 - alpha) * fz + alpha * ss / l * ((tz + mz - z) / l - dz)
            # Solve for the orientation, then for the position (eq. 12).
            bx, by, bz, bw = -bt * hx, -bt * hy, -bt * hz, -bt * hw
            vx, vy, vz = -2.0 * l * fx, -2.0 * l * fy, -2.0 * l * fz
            qx, qy, qz, qw = orientation(vx, vy, vz, bx, by, bz, bw)
            dx, dy, dz = third_axis(qx, qy, qz, qw)
            sx, sy, sz = x + l * (fx * l / ss), y + l * (fy * l / ss), z + l * (fz * l / ss)
            if len(poses) > 0:
                depth, nx, ny, nz = nearest_solid(
                    solids, poses, np.float32(sx + l * dx), np.float32(sy + l * dy), np.float32(sz + l * dz)
                )
                if depth < 0.0:
                    # From eq. 18; algorithm 1 and eq. 19 have the other sign, which would pull hair in.
                    push = 2.0 * k_pen[s] * l * depth
                    qx, qy, qz, qw = orientation(vx + push * nx, vy + push * ny, vz + push * nz, bx, by, bz, bw)
                    dx, dy, dz = third_axis(qx, qy, qz, qw)
            x, y, z = sx + l * dx, sy + l * dy, sz + l * dz
            out[s, i + 1, 0], out[s, i + 1, 1], out[s, i + 1, 2] = x, y, z
