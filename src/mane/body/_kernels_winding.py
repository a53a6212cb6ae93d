"""Generalised winding number of triangles, summed over a tree (Barill et al. 2018, fast winding numbers for soups).

The winding number of a point is the solid angle of all triangles seen from it, over 4 pi: 1 inside a closed mesh, 0
outside, and something between near a hole. Seen from afar, the triangles of a node are summed up by the first three
terms of their Taylor series around the node's centre.

Columns of the moments of a node; sums over its triangles, divided by 4 pi:
    0:3    its centre p, weighted by area
    3:6    N = sum of area vectors n
    6:12   -3 times the quadratic form of sum n (c - p)^T, trace removed; terms xx yy zz yz zx xy
    12:22  7.5 times the cubic form of the integral of n (x - p) (x - p), made harmonic;
           terms xxx yyy zzz xxy xxz yyx yyz zzx zzy xyz
    22     the square of the distance from p from which all this may be used
    23     its area
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_bvh import STACK_SIZE, square_distance_to_box
from mane.body._kernels_distance import BLOCK, LANES, place_lanes
from mane.simd.jit import njit, prange

FASTMATH = {"reassoc", "contract", "arcp", "nsz", "afn"}
MOMENT_COUNT = 24
# A node is far when it is this many of its own radii away.
FAR = 2.0

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
PI = np.float32(math.pi)
HALF_PI = np.float32(0.5 * math.pi)
HALF_OVER_PI = np.float32(0.5 / math.pi)
INV_4PI = 0.25 / math.pi
TINY = np.float32(1e-30)
# Rounding of the volume spanned by three vectors, as a part of the product of their lengths.
FLAT = np.float32(1e-6)


def _arc_tangent_coefficients():
    """Fit atan(sqrt(s)) / sqrt(s) on [0, 1] by a polynomial of degree 6, which is off by less than 1e-6."""
    nodes = 0.5 - 0.5 * np.cos(np.pi * (np.arange(64) + 0.5) / 64)
    fit = np.polynomial.Polynomial.fit(
        nodes, np.arctan(np.sqrt(nodes)) / np.sqrt(nodes), 6, domain=[0, 1], window=[0, 1]
    )
    return [np.float32(value) for value in fit.coef]


A0, A1, A2, A3, A4, A5, A6 = _arc_tangent_coefficients()


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def fast_atan2(y, x):
    """Angle of the vector (x, y) [rad], off by less than 2e-6; without branches, so that a loop over it vectorises."""
    size_x, size_y = abs(x), abs(y)
    ratio = min(size_x, size_y) / max(max(size_x, size_y), TINY)
    s = ratio * ratio
    angle = ratio * (A0 + s * (A1 + s * (A2 + s * (A3 + s * (A4 + s * (A5 + s * A6))))))
    angle = HALF_PI - angle if size_y > size_x else angle
    angle = PI - angle if x < ZERO else angle
    return -angle if y < ZERO else angle


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def triangle_winding(ax, ay, az, bx, by, bz, cx, cy, cz):
    """Solid angle over 4 pi of the triangle with corners a, b, c seen from the origin."""
    volume = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
    a = math.sqrt(ax * ax + ay * ay + az * az)
    b = math.sqrt(bx * bx + by * by + bz * bz)
    c = math.sqrt(cx * cx + cy * cy + cz * cz)
    ab, bc, ca = ax * bx + ay * by + az * bz, bx * cx + by * cy + bz * cz, cx * ax + cy * ay + cz * az
    # Van Oosterom and Strackee 1983, eq. (8): tan(angle / 2) = volume / (a b c + ...)
    product = a * b * c
    angle = fast_atan2(volume, product + ab * c + bc * a + ca * b)
    # Seen from its own plane a triangle has no solid angle (on the triangle itself: the mean of both sides'), but what
    # rounding leaves of it on an edge can be anything.
    return angle * HALF_OVER_PI if abs(volume) > FLAT * product else ZERO


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def linear_form(x, y, z, ax, ay, az):
    """First term of a node's series at `r` = (x, y, z), its centre seen from the point."""
    return ax * x + ay * y + az * z


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def quadratic_form(x, y, z, xx, yy, zz, yz, zx, xy):
    """Second term of a node's series."""
    return x * (xx * x + xy * y) + y * (yy * y + yz * z) + z * (zz * z + zx * x)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def cubic_form(x, y, z, xxx, yyy, zzz, xxy, xxz, yyx, yyz, zzx, zzy, xyz):
    """Third term of a node's series."""
    by_x = x * x * (xxx * x + xxy * y + xxz * z)
    by_y = y * y * (yyy * y + yyx * x + yyz * z)
    by_z = z * z * (zzz * z + zzx * x + zzy * y)
    return by_x + by_y + by_z + xyz * x * y * z


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def sum_of_series(x, y, z, linear, quadratic, cubic):
    """Winding number from the three forms: linear / |r|^3 + quadratic / |r|^5 + cubic / |r|^7."""
    inv_square = ONE / (x * x + y * y + z * z)
    return inv_square * math.sqrt(inv_square) * (linear + inv_square * (quadratic + inv_square * cubic))


@njit(cache=True, error_model="numpy")
def triangle_parts(corners, t):
    """Centroid and area vector of a triangle."""
    a, b, c = corners[t, 0], corners[t, 1], corners[t, 2]
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    nx, ny, nz = 0.5 * (uy * vz - uz * vy), 0.5 * (uz * vx - ux * vz), 0.5 * (ux * vy - uy * vx)
    return a[0] + (ux + vx) / 3.0, a[1] + (uy + vy) / 3.0, a[2] + (uz + vz) / 3.0, nx, ny, nz


@njit(cache=True, error_model="numpy")
def add_quadratic(nx, ny, nz, dx, dy, dz, row):
    """Add the quadratic form (n . r) (d . r)."""
    row[6] += nx * dx
    row[7] += ny * dy
    row[8] += nz * dz
    row[9] += ny * dz + nz * dy
    row[10] += nz * dx + nx * dz
    row[11] += nx * dy + ny * dx


@njit(cache=True, error_model="numpy")
def add_cubic(lx, ly, lz, xx, yy, zz, yz, zx, xy, row):
    """Add the cubic form (l . r) q(r), where q is the quadratic form with the given terms."""
    row[12] += lx * xx
    row[13] += ly * yy
    row[14] += lz * zz
    row[15] += lx * xy + ly * xx
    row[16] += lx * zx + lz * xx
    row[17] += ly * xy + lx * yy
    row[18] += ly * yz + lz * yy
    row[19] += lz * zx + lx * zz
    row[20] += lz * yz + ly * zz
    row[21] += lx * yz + ly * zx + lz * xy


@njit(cache=True, error_model="numpy")
def add_cubic_of_offset(nx, ny, nz, dx, dy, dz, weight, row):
    """Add the cubic form weight (n . r) (d . r)^2."""
    wx, wy, wz = weight * dx, weight * dy, weight * dz
    add_cubic(nx, ny, nz, wx * dx, wy * dy, wz * dz, 2.0 * wy * dz, 2.0 * wz * dx, 2.0 * wx * dy, row)


@njit(cache=True, error_model="numpy")
def sum_triangles(tree, corners, node, moments):
    """Sum the moments of a leaf's triangles around their common centroid."""
    row = moments[node]
    x, y, z, total = 0.0, 0.0, 0.0, 0.0
    for t in range(tree.first[node], tree.last[node]):
        cx, cy, cz, nx, ny, nz = triangle_parts(corners, t)
        # The added speck keeps the centre among triangles that all have no area.
        area = math.sqrt(nx * nx + ny * ny + nz * nz) + TINY
        x, y, z, total = x + area * cx, y + area * cy, z + area * cz, total + area
    row[0], row[1], row[2], row[23] = x / total, y / total, z / total, total
    for t in range(tree.first[node], tree.last[node]):
        cx, cy, cz, nx, ny, nz = triangle_parts(corners, t)
        dx, dy, dz = cx - row[0], cy - row[1], cz - row[2]
        row[3] += nx
        row[4] += ny
        row[5] += nz
        add_quadratic(nx, ny, nz, dx, dy, dz, row)
        # The mean of x x^T over a triangle is that of its centroid plus a twelfth of its corners' spread around it.
        add_cubic_of_offset(nx, ny, nz, dx, dy, dz, 1.0, row)
        for c in range(3):
            ex, ey, ez = corners[t, c, 0] - cx, corners[t, c, 1] - cy, corners[t, c, 2] - cz
            add_cubic_of_offset(nx, ny, nz, ex, ey, ez, 1.0 / 12.0, row)


@njit(cache=True, error_model="numpy")
def add_child(child, row):
    """Add the moments of a child to its parent's, seen from the parent's centre: x - p = (x - c) + (c - p)."""
    dx, dy, dz = child[0] - row[0], child[1] - row[1], child[2] - row[2]
    nx, ny, nz = child[3], child[4], child[5]
    for column in range(3, 22):
        row[column] += child[column]
    add_quadratic(nx, ny, nz, dx, dy, dz, row)
    add_cubic(2.0 * dx, 2.0 * dy, 2.0 * dz, child[6], child[7], child[8], child[9], child[10], child[11], row)
    add_cubic_of_offset(nx, ny, nz, dx, dy, dz, 1.0, row)


@njit(cache=True, error_model="numpy")
def sum_children(tree, node, moments):
    """Sum the moments of a node's two children."""
    row, a, b = moments[node], moments[node + 1], moments[tree.right[node]]
    row[23] = a[23] + b[23]
    for axis in range(3):
        row[axis] = (a[23] * a[axis] + b[23] * b[axis]) / row[23]
    add_child(a, row)
    add_child(b, row)


@njit(cache=True, error_model="numpy")
def make_harmonic(row):
    """Take the parts out of both forms that have no effect: |r|^2 times a number or a linear form.

    1/|r| is harmonic, so its derivatives do not see them, and without them the series has one term per form.
    """
    trace = (row[6] + row[7] + row[8]) / 3.0
    for column in range(6, 9):
        row[column] -= trace
    # A tenth of the Laplacian, since that of |r|^2 (l . r) is 10 (l . r).
    lx = (6.0 * row[12] + 2.0 * row[17] + 2.0 * row[19]) / 10.0
    ly = (6.0 * row[13] + 2.0 * row[15] + 2.0 * row[20]) / 10.0
    lz = (6.0 * row[14] + 2.0 * row[16] + 2.0 * row[18]) / 10.0
    for column, part in ((12, lx), (17, lx), (19, lx), (13, ly), (15, ly), (20, ly), (14, lz), (16, lz), (18, lz)):
        row[column] -= part


@njit(cache=True, error_model="numpy")
def far_square(box, node, row):
    """Square of the distance from a node's centre from which its series may be used."""
    square = 0.0
    for axis in range(3):
        reach = max(row[axis] - box[node, axis], box[node, 3 + axis] - row[axis])
        square += reach * reach
    return FAR * FAR * square


@njit(cache=True, error_model="numpy")
def fill_moments(
    tree,
    corners,
    # out
    moments,
):
    """Fill the moments (N, 24), float64, of all nodes; call again when the triangles moved."""
    moments[:] = 0.0
    for node in range(len(tree.first) - 1, -1, -1):
        if tree.right[node] == 0:
            sum_triangles(tree, corners, node, moments)
        else:
            sum_children(tree, node, moments)
    for node in range(len(tree.first)):
        row = moments[node]
        make_harmonic(row)
        for column in range(3, 22):
            row[column] *= INV_4PI * (1.0 if column < 6 else (-3.0 if column < 12 else 7.5))
        row[22] = far_square(tree.box, node, row)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def winding_number(tree, corners, moments, x, y, z, stack):
    """Winding number of one point."""
    total = ZERO
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        m = moments[node]
        rx, ry, rz = m[0] - x, m[1] - y, m[2] - z
        if rx * rx + ry * ry + rz * rz > m[22]:
            linear = linear_form(rx, ry, rz, m[3], m[4], m[5])
            quadratic = quadratic_form(rx, ry, rz, m[6], m[7], m[8], m[9], m[10], m[11])
            cubic = cubic_form(rx, ry, rz, m[12], m[13], m[14], m[15], m[16], m[17], m[18], m[19], m[20], m[21])
            total += sum_of_series(rx, ry, rz, linear, quadratic, cubic)
        elif tree.right[node] == 0:
            for t in range(tree.first[node], tree.last[node]):
                a, b, c = corners[t, 0], corners[t, 1], corners[t, 2]
                total += triangle_winding(
                    a[0] - x, a[1] - y, a[2] - z, b[0] - x, b[1] - y, b[2] - z, c[0] - x, c[1] - y, c[2] - z
                )
        else:
            stack[top], stack[top + 1] = tree.right[node], node + 1
            top += 2
    return total


@njit(cache=True, error_model="numpy", parallel=True)
def winding_numbers(
    tree,
    corners,
    moments,
    points,
    # out
    winding,
):
    """Fill `winding (P,)` for every point (P, 3)."""
    chunk = 64
    for c in prange((len(points) + chunk - 1) // chunk):
        stack = np.empty(STACK_SIZE, np.int32)
        for p in range(c * chunk, min((c + 1) * chunk, len(points))):
            winding[p] = winding_number(tree, corners, moments, points[p, 0], points[p, 1], points[p, 2], stack)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def add_triangle_to_lanes(corners, t, lanes):
    """Add the winding number of triangle `t` to all lanes."""
    ax, ay, az = corners[t, 0, 0], corners[t, 0, 1], corners[t, 0, 2]
    bx, by, bz = corners[t, 1, 0], corners[t, 1, 1], corners[t, 1, 2]
    cx, cy, cz = corners[t, 2, 0], corners[t, 2, 1], corners[t, 2, 2]
    for s in range(LANES):
        x, y, z = lanes[s], lanes[LANES + s], lanes[2 * LANES + s]
        lanes[3 * LANES + s] += triangle_winding(ax - x, ay - y, az - z, bx - x, by - y, bz - z, cx - x, cy - y, cz - z)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def add_node_to_lanes(moments, node, lanes):
    """Add the winding number of a far node to all lanes."""
    px, py, pz = moments[node, 0], moments[node, 1], moments[node, 2]
    nx, ny, nz = moments[node, 3], moments[node, 4], moments[node, 5]
    xx, yy, zz = moments[node, 6], moments[node, 7], moments[node, 8]
    yz, zx, xy = moments[node, 9], moments[node, 10], moments[node, 11]
    xxx, yyy, zzz = moments[node, 12], moments[node, 13], moments[node, 14]
    xxy, xxz, yyx = moments[node, 15], moments[node, 16], moments[node, 17]
    yyz, zzx, zzy, xyz = moments[node, 18], moments[node, 19], moments[node, 20], moments[node, 21]
    for s in range(LANES):
        rx, ry, rz = px - lanes[s], py - lanes[LANES + s], pz - lanes[2 * LANES + s]
        linear = linear_form(rx, ry, rz, nx, ny, nz)
        quadratic = quadratic_form(rx, ry, rz, xx, yy, zz, yz, zx, xy)
        cubic = cubic_form(rx, ry, rz, xxx, yyy, zzz, xxy, xxz, yyx, yyz, zzx, zzy, xyz)
        lanes[3 * LANES + s] += sum_of_series(rx, ry, rz, linear, quadratic, cubic)


@njit(cache=True, error_model="numpy")
def add_tree_to_lanes(tree, corners, moments, block_box, stack, lanes):
    """Add the winding number of all triangles to all lanes, which lie in `block_box (1, 6)`."""
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        gap = square_distance_to_box(block_box, 0, moments[node, 0], moments[node, 1], moments[node, 2])
        if gap > moments[node, 22]:
            add_node_to_lanes(moments, node, lanes)
        elif tree.right[node] == 0:
            for t in range(tree.first[node], tree.last[node]):
                add_triangle_to_lanes(corners, t, lanes)
        else:
            stack[top], stack[top + 1] = tree.right[node], node + 1
            top += 2


@njit(cache=True, error_model="numpy", parallel=True)
def grid_winding_numbers(
    tree,
    corners,
    moments,
    # out
    winding,
):
    """Fill `winding (nx, ny, nz)`, in units of cells with node (0, 0, 0) at the origin, block by block."""
    nx, ny, nz = winding.shape
    columns = (ny + BLOCK - 1) // BLOCK
    for column in prange((nx + BLOCK - 1) // BLOCK * columns):
        i0, j0 = column // columns * BLOCK, column % columns * BLOCK
        lanes = np.empty(4 * LANES, np.float32)
        stack = np.empty(STACK_SIZE, np.int32)
        block_box = np.empty((1, 6), np.float32)
        for k0 in range(0, nz, BLOCK):
            place_lanes(i0, j0, k0, lanes)
            lanes[3 * LANES :] = ZERO
            block_box[0, 0], block_box[0, 1], block_box[0, 2] = i0, j0, k0
            block_box[0, 3], block_box[0, 4], block_box[0, 5] = i0 + BLOCK - 1, j0 + BLOCK - 1, k0 + BLOCK - 1
            add_tree_to_lanes(tree, corners, moments, block_box, stack, lanes)
            for s in range(LANES):
                i, j, k = i0 + s // (BLOCK * BLOCK), j0 + s // BLOCK % BLOCK, k0 + s % BLOCK
                if i < nx and j < ny and k < nz:
                    winding[i, j, k] = lanes[3 * LANES + s]
