"""Distance from points to triangles: blocks of grid nodes side by side, and the closest point of a single one.

A grid is filled in blocks of 4 x 4 x 4 nodes. All 64 walk the tree together and are tested against the same
triangle in one vector loop. Their buffer is flat, `x | y | z | best squared distance`, 64 numbers each, because LLVM
vectorises the loop only when it can prove that nothing overlaps.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_bvh import STACK_SIZE, square_distance_to_box
from mane.simd.jit import njit, prange

FASTMATH = {"reassoc", "contract", "arcp", "nsz", "afn"}
BLOCK = 4
LANES = BLOCK * BLOCK * BLOCK
ZERO = np.float32(0.0)
ONE = np.float32(1.0)
# Columns of the coefficients of a triangle: corners 0:9, edges 9:18, in-plane normals of the edges, pointing
# inwards, 18:27, unit normal 27:30, one over each edge's squared length 30:33.
COEFFICIENT_COUNT = 33


@njit(cache=True, error_model="numpy")
def inverse_or_zero(value):
    """One over `value`, or zero for a degenerate triangle or edge."""
    return ONE / value if value > ZERO else ZERO


@njit(cache=True, error_model="numpy")
def fill_coefficients(
    corners,
    # out
    coefficients,
):
    """Fill what the vector loop needs of each triangle (T, 33) from its corners (T, 3, 3)."""
    for t in range(len(corners)):
        row = coefficients[t]
        for c in range(3):
            for axis in range(3):
                row[3 * c + axis] = corners[t, c, axis]
                row[9 + 3 * c + axis] = corners[t, (c + 1) % 3, axis] - corners[t, c, axis]
        nx = row[10] * row[14] - row[11] * row[13]
        ny = row[11] * row[12] - row[9] * row[14]
        nz = row[9] * row[13] - row[10] * row[12]
        scale = inverse_or_zero(math.sqrt(nx * nx + ny * ny + nz * nz))
        nx, ny, nz = nx * scale, ny * scale, nz * scale
        row[27], row[28], row[29] = nx, ny, nz
        for c in range(3):
            ex, ey, ez = row[9 + 3 * c], row[10 + 3 * c], row[11 + 3 * c]
            row[18 + 3 * c] = ny * ez - nz * ey
            row[19 + 3 * c] = nz * ex - nx * ez
            row[20 + 3 * c] = nx * ey - ny * ex
            row[30 + c] = inverse_or_zero(ex * ex + ey * ey + ez * ez)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def lower_to_triangle(coefficients, t, lanes):
    """Lower the best squared distance of all lanes to that of triangle `t` where it is nearer."""
    ax, ay, az = coefficients[t, 0], coefficients[t, 1], coefficients[t, 2]
    bx, by, bz = coefficients[t, 3], coefficients[t, 4], coefficients[t, 5]
    cx, cy, cz = coefficients[t, 6], coefficients[t, 7], coefficients[t, 8]
    ux, uy, uz = coefficients[t, 9], coefficients[t, 10], coefficients[t, 11]
    vx, vy, vz = coefficients[t, 12], coefficients[t, 13], coefficients[t, 14]
    wx, wy, wz = coefficients[t, 15], coefficients[t, 16], coefficients[t, 17]
    iax, iay, iaz = coefficients[t, 18], coefficients[t, 19], coefficients[t, 20]
    ibx, iby, ibz = coefficients[t, 21], coefficients[t, 22], coefficients[t, 23]
    icx, icy, icz = coefficients[t, 24], coefficients[t, 25], coefficients[t, 26]
    nx, ny, nz = coefficients[t, 27], coefficients[t, 28], coefficients[t, 29]
    inv_u, inv_v, inv_w = coefficients[t, 30], coefficients[t, 31], coefficients[t, 32]
    for s in range(LANES):
        x, y, z = lanes[s], lanes[LANES + s], lanes[2 * LANES + s]
        px, py, pz = x - ax, y - ay, z - az
        qx, qy, qz = x - bx, y - by, z - bz
        rx, ry, rz = x - cx, y - cy, z - cz
        # Above the face when on the inner side of all three edges; a degenerate triangle never is.
        height = px * nx + py * ny + pz * nz
        within_a = px * iax + py * iay + pz * iaz
        within_b = qx * ibx + qy * iby + qz * ibz
        within_c = rx * icx + ry * icy + rz * icz
        along = min(max((px * ux + py * uy + pz * uz) * inv_u, ZERO), ONE)
        px, py, pz = px - along * ux, py - along * uy, pz - along * uz
        along = min(max((qx * vx + qy * vy + qz * vz) * inv_v, ZERO), ONE)
        qx, qy, qz = qx - along * vx, qy - along * vy, qz - along * vz
        along = min(max((rx * wx + ry * wy + rz * wz) * inv_w, ZERO), ONE)
        rx, ry, rz = rx - along * wx, ry - along * wy, rz - along * wz
        to_a, to_b, to_c = px * px + py * py + pz * pz, qx * qx + qy * qy + qz * qz, rx * rx + ry * ry + rz * rz
        is_face = min(within_a, min(within_b, within_c)) > ZERO
        square = height * height if is_face else min(to_a, min(to_b, to_c))
        best = lanes[3 * LANES + s]
        lanes[3 * LANES + s] = square if square < best else best


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def any_lane_nearer(box, node, lanes):
    """Whether the node's box is nearer to some lane than that lane's best."""
    lx, ly, lz = box[node, 0], box[node, 1], box[node, 2]
    hx, hy, hz = box[node, 3], box[node, 4], box[node, 5]
    nearer = np.int32(0)
    for s in range(LANES):
        x, y, z = lanes[s], lanes[LANES + s], lanes[2 * LANES + s]
        dx = max(max(lx - x, x - hx), ZERO)
        dy = max(max(ly - y, y - hy), ZERO)
        dz = max(max(lz - z, z - hz), ZERO)
        # Counting, unlike stopping at the first, leaves the loop vectorised.
        nearer += np.int32(dx * dx + dy * dy + dz * dz < lanes[3 * LANES + s])
    return nearer > 0


@njit(cache=True, error_model="numpy")
def lower_to_tree(tree, coefficients, x, y, z, stack, lanes):
    """Lower the best squared distance of all lanes to the nearest triangle; (x, y, z) is the middle of the lanes."""
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if not any_lane_nearer(tree.box, node, lanes):
            continue
        if tree.right[node] == 0:
            for t in range(tree.first[node], tree.last[node]):
                lower_to_triangle(coefficients, t, lanes)
            continue
        near, far = node + 1, tree.right[node]
        if square_distance_to_box(tree.box, near, x, y, z) > square_distance_to_box(tree.box, far, x, y, z):
            near, far = far, near
        stack[top], stack[top + 1] = far, near
        top += 2


@njit(cache=True, error_model="numpy")
def place_lanes(i0, j0, k0, lanes):
    """Put the lanes on the nodes of the block that starts at node (i0, j0, k0), in units of cells."""
    for s in range(LANES):
        lanes[s] = np.float32(i0 + s // (BLOCK * BLOCK))
        lanes[LANES + s] = np.float32(j0 + s // BLOCK % BLOCK)
        lanes[2 * LANES + s] = np.float32(k0 + s % BLOCK)


@njit(cache=True, error_model="numpy", parallel=True)
def lower_grid_distances(
    tree,
    coefficients,
    # out
    distance,
):
    """Lower `distance (nx, ny, nz)` to the nearest triangle, in units of cells with node (0, 0, 0) at the origin."""
    nx, ny, nz = distance.shape
    columns = (ny + BLOCK - 1) // BLOCK
    middle = np.float32(0.5 * (BLOCK - 1))
    for column in prange((nx + BLOCK - 1) // BLOCK * columns):
        i0, j0 = column // columns * BLOCK, column % columns * BLOCK
        lanes = np.empty(4 * LANES, np.float32)
        stack = np.empty(STACK_SIZE, np.int32)
        for k0 in range(0, nz, BLOCK):
            place_lanes(i0, j0, k0, lanes)
            for s in range(LANES):
                # A block that sticks out of the grid repeats its last nodes' bound there.
                i, j, k = i0 + s // (BLOCK * BLOCK), j0 + s // BLOCK % BLOCK, k0 + s % BLOCK
                known = distance[min(i, nx - 1), min(j, ny - 1), min(k, nz - 1)]
                lanes[3 * LANES + s] = known * known
            x, y, z = np.float32(i0) + middle, np.float32(j0) + middle, np.float32(k0) + middle
            lower_to_tree(tree, coefficients, x, y, z, stack, lanes)
            for s in range(LANES):
                i, j, k = i0 + s // (BLOCK * BLOCK), j0 + s // BLOCK % BLOCK, k0 + s % BLOCK
                if i < nx and j < ny and k < nz:
                    distance[i, j, k] = math.sqrt(lanes[3 * LANES + s])


@njit(cache=True, error_model="numpy")
def closest_on_triangle(corners, t, x, y, z):
    """Closest point of triangle `t`: its squared distance and the weights of the second and third corner.

    It is the foot on the triangle's plane when that lies within, and else on the outline.
    """
    ax, ay, az = corners[t, 0, 0], corners[t, 0, 1], corners[t, 0, 2]
    ux, uy, uz = corners[t, 1, 0] - ax, corners[t, 1, 1] - ay, corners[t, 1, 2] - az
    vx, vy, vz = corners[t, 2, 0] - ax, corners[t, 2, 1] - ay, corners[t, 2, 2] - az
    px, py, pz = x - ax, y - ay, z - az
    uu, uv, vv = ux * ux + uy * uy + uz * uz, ux * vx + uy * vy + uz * vz, vx * vx + vy * vy + vz * vz
    pu, pv = px * ux + py * uy + pz * uz, px * vx + py * vy + pz * vz
    # Weights of the foot on the plane, times the squared double area.
    second, third = pu * vv - pv * uv, pv * uu - pu * uv
    area = uu * vv - uv * uv
    if second > ZERO and third > ZERO and second + third < area:
        beta, gamma = second / area, third / area
    else:
        beta, gamma = closest_on_outline(uu, uv, vv, pu, pv)
    dx = px - beta * ux - gamma * vx
    dy = py - beta * uy - gamma * vy
    dz = pz - beta * uz - gamma * vz
    return dx * dx + dy * dy + dz * dz, beta, gamma


@njit(cache=True, error_model="numpy")
def closest_on_outline(uu, uv, vv, pu, pv):
    """Weights of the second and third corner at the closest point of a triangle's three edges.

    `u` and `v` are the edges from the first corner, `p` the point seen from it; the arguments are their dot products.
    """
    on_u = min(max(pu * inverse_or_zero(uu), ZERO), ONE)
    on_v = min(max(pv * inverse_or_zero(vv), ZERO), ONE)
    # The third edge is w = v - u, from the second corner.
    on_w = min(max((pv - pu + uu - uv) * inverse_or_zero(uu - uv - uv + vv), ZERO), ONE)
    # Squared distances, less the common |p|^2.
    to_u = on_u * (on_u * uu - pu - pu)
    to_v = on_v * (on_v * vv - pv - pv)
    rest = ONE - on_w
    to_w = rest * rest * uu + (rest * on_w + rest * on_w) * uv + on_w * on_w * vv
    to_w -= (rest * pu + on_w * pv) + (rest * pu + on_w * pv)
    if to_u <= to_v and to_u <= to_w:
        return on_u, ZERO
    if to_v <= to_w:
        return ZERO, on_v
    return rest, on_w


@njit(cache=True, error_model="numpy")
def closest_in_tree(tree, corners, x, y, z, stack):
    """Squared distance to the nearest triangle, its number, and the weights of its second and third corner."""
    best, best_triangle, best_beta, best_gamma = np.float32(np.inf), -1, ZERO, ZERO
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if square_distance_to_box(tree.box, node, x, y, z) >= best:
            continue
        if tree.right[node] == 0:
            for t in range(tree.first[node], tree.last[node]):
                square, beta, gamma = closest_on_triangle(corners, t, x, y, z)
                if square < best:
                    best, best_triangle, best_beta, best_gamma = square, t, beta, gamma
            continue
        near, far = node + 1, tree.right[node]
        if square_distance_to_box(tree.box, near, x, y, z) > square_distance_to_box(tree.box, far, x, y, z):
            near, far = far, near
        stack[top], stack[top + 1] = far, near
        top += 2
    return best, best_triangle, best_beta, best_gamma


@njit(cache=True, error_model="numpy", parallel=True)
def closest_points(
    tree,
    corners,
    points,
    # out
    distance,
    triangle,
    weights,
):
    """Fill distance (P,), number of the nearest triangle (P,), and its corners' weights (P, 3), for every point."""
    chunk = 64
    for c in prange((len(points) + chunk - 1) // chunk):
        stack = np.empty(STACK_SIZE, np.int32)
        for p in range(c * chunk, min((c + 1) * chunk, len(points))):
            square, t, beta, gamma = closest_in_tree(tree, corners, points[p, 0], points[p, 1], points[p, 2], stack)
            distance[p] = math.sqrt(square)
            triangle[p] = t
            weights[p, 0], weights[p, 1], weights[p, 2] = ONE - beta - gamma, beta, gamma
