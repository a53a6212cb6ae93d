"""How a deforming skin turns: a rotation per triangle, averaged to vertices, blended at roots.

All sums run in double precision and in a fixed order. No fast math: where a triangle has not moved, every step below
returns the identity to the last bit.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.geometry._kernels_quaternion import quat_multiply
from mane.simd.jit import njit, prange

# A triangle this thin (area over its longest edge squared) has lost its normal to the rounding of float32 corners.
COLLAPSED_ASPECT = 1e-6


@njit(cache=True, error_model="numpy")
def quat_from_axes(xx, xy, xz, yx, yy, yz, zx, zy, zz):
    """Rotation that takes the coordinate axes to the orthonormal x, y and z; exact where its largest part is solved."""
    if xx + yy + zz > 0.0:
        qx, qy, qz, qw = yz - zy, zx - xz, xy - yx, 1.0 + xx + yy + zz
    elif xx >= yy and xx >= zz:
        qx, qy, qz, qw = 1.0 + xx - yy - zz, xy + yx, zx + xz, yz - zy
    elif yy >= zz:
        qx, qy, qz, qw = xy + yx, 1.0 + yy - xx - zz, yz + zy, zx - xz
    else:
        qx, qy, qz, qw = zx + xz, yz + zy, 1.0 + zz - xx - yy, xy - yx
    norm = math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
    return qx / norm, qy / norm, qz / norm, qw / norm


@njit(cache=True, error_model="numpy")
def edge(points, i, j):
    """Vector from point `i` to point `j`, in double precision."""
    return (
        np.float64(points[j, 0]) - points[i, 0],
        np.float64(points[j, 1]) - points[i, 1],
        np.float64(points[j, 2]) - points[i, 2],
    )


@njit(cache=True, error_model="numpy")
def triangle_frame(points, i, j, k):
    """Double area, frame and outline of a triangle; the area is 0 when it has collapsed.

    The frame's x axis is the first edge, its z axis the normal. In it, the corners are (0, 0), (a, 0) and (b, c).
    """
    ux, uy, uz = edge(points, i, j)
    vx, vy, vz = edge(points, i, k)
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    area = math.sqrt(nx * nx + ny * ny + nz * nz)
    uu, uv, vv = ux * ux + uy * uy + uz * uz, ux * vx + uy * vy + uz * vz, vx * vx + vy * vy + vz * vz
    longest = max(uu, vv, uu - 2.0 * uv + vv)
    if not area > 2.0 * COLLAPSED_ASPECT * longest:
        return 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0
    a = math.sqrt(uu)
    xx, xy, xz = ux / a, uy / a, uz / a
    zx, zy, zz = nx / area, ny / area, nz / area
    yx, yy, yz = zy * xz - zz * xy, zz * xx - zx * xz, zx * xy - zy * xx
    qx, qy, qz, qw = quat_from_axes(xx, xy, xz, yx, yy, yz, zx, zy, zz)
    return area, qx, qy, qz, qw, a, uv / a, area / a


@njit(cache=True, error_model="numpy", parallel=True)
def fill_rest_triangles(points, faces, frame, outline):
    """Fill `frame` (T, 4) and `outline` (T, 3) of every triangle at rest; the outline starts with 0 if it has none."""
    for t in prange(len(faces)):
        area, qx, qy, qz, qw, a, b, c = triangle_frame(points, faces[t, 0], faces[t, 1], faces[t, 2])
        frame[t, 0], frame[t, 1], frame[t, 2], frame[t, 3] = qx, qy, qz, qw
        outline[t, 0], outline[t, 1], outline[t, 2] = a if area > 0.0 else 0.0, b, c


@njit(cache=True, error_model="numpy")
def is_unmoved(rest, points, i):
    """Whether a point is where it was, to the last bit."""
    return rest[i, 0] == points[i, 0] and rest[i, 1] == points[i, 1] and rest[i, 2] == points[i, 2]


@njit(cache=True, error_model="numpy", parallel=True)
def fill_triangle_rotations(rest, points, faces, frame, outline, rotation, weight):
    """Fill `rotation` (T, 4) with the turn of each triangle since rest and `weight` (T,) with its area, 0 if collapsed.

    The turn is the rotation of the polar decomposition of the deformation gradient. In the triangle's own frames the
    gradient is upper triangular, [[a'/a, (b' - b a'/a) / c], [0, c'/c]], so that its angle needs no iteration:
    tan(angle) = -(b' - b a'/a) / c / (a'/a + c'/c).
    """
    for t in prange(len(faces)):
        i, j, k = faces[t, 0], faces[t, 1], faces[t, 2]
        area, qx, qy, qz, qw, a, b, c = triangle_frame(points, i, j, k)
        weight[t] = area if outline[t, 0] > 0.0 else 0.0
        if weight[t] == 0.0 or (
            is_unmoved(rest, points, i) and is_unmoved(rest, points, j) and is_unmoved(rest, points, k)
        ):
            rotation[t, 0], rotation[t, 1], rotation[t, 2], rotation[t, 3] = 0.0, 0.0, 0.0, 1.0
            continue
        stretch = a / outline[t, 0]
        cosine = stretch + c / outline[t, 2]
        sine = (outline[t, 1] * stretch - b) / outline[t, 2]
        # The half angle, from the whole one's sine and cosine; the cosine is above zero.
        half_cosine = cosine + math.sqrt(cosine * cosine + sine * sine)
        norm = math.sqrt(half_cosine * half_cosine + sine * sine)
        qx, qy, qz, qw = quat_multiply(qx, qy, qz, qw, 0.0, 0.0, sine / norm, half_cosine / norm)
        rotation[t, 0], rotation[t, 1], rotation[t, 2], rotation[t, 3] = quat_multiply(
            qx, qy, qz, qw, -frame[t, 0], -frame[t, 1], -frame[t, 2], frame[t, 3]
        )


@njit(cache=True, error_model="numpy")
def add_aligned(x, y, z, w, rotation, row, weight):
    """Sum plus `weight` times a rotation, or its negative, which is the same turn, whichever is on the sum's side."""
    rx, ry, rz, rw = rotation[row, 0], rotation[row, 1], rotation[row, 2], rotation[row, 3]
    if x * rx + y * ry + z * rz + w * rw < 0.0:
        weight = -weight
    return x + weight * rx, y + weight * ry, z + weight * rz, w + weight * rw


@njit(cache=True, error_model="numpy")
def write_normalized(x, y, z, w, out, row):
    """Write a quaternion, scaled to unit length, as a row of `out`; zeros where it has no length."""
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if norm == 0.0:
        norm = 1.0
    out[row, 0], out[row, 1], out[row, 2], out[row, 3] = x / norm, y / norm, z / norm, w / norm


@njit(cache=True, error_model="numpy", parallel=True)
def fill_vertex_rotations(rotation, weight, first_face, vertex_face, out):
    """Fill `out` (N, 4) with the weighted mean turn of each vertex's triangles; zeros where all of them collapsed.

    Vertex `n` has the triangles `vertex_face[first_face[n] : first_face[n + 1]]`.
    """
    for n in prange(len(out)):
        x, y, z, w = 0.0, 0.0, 0.0, 0.0
        for f in range(first_face[n], first_face[n + 1]):
            x, y, z, w = add_aligned(x, y, z, w, rotation, vertex_face[f], weight[vertex_face[f]])
        write_normalized(x, y, z, w, out, n)


@njit(cache=True, error_model="numpy", parallel=True)
def fill_root_rotations(vertex_rotation, corner, barycentric, out):
    """Fill `out` (S, 4) with the vertices' turns blended at each root; `corner` (S, 3) are its triangle's vertices."""
    for s in prange(len(corner)):
        x, y, z, w = 0.0, 0.0, 0.0, 0.0
        for c in range(3):
            x, y, z, w = add_aligned(x, y, z, w, vertex_rotation, corner[s, c], np.float64(barycentric[s, c]))
        write_normalized(x, y, z, w, out, s)


@njit(cache=True, error_model="numpy")
def turn_difference(qx, qy, qz, qw, x, y, z):
    """What turning adds to a vector: exactly zero when nothing turns."""
    tx, ty, tz = 2.0 * (qy * z - qz * y), 2.0 * (qz * x - qx * z), 2.0 * (qx * y - qy * x)
    return (qw * tx + qy * tz - qz * ty, qw * ty + qz * tx - qx * tz, qw * tz + qx * ty - qy * tx)


@njit(cache=True, error_model="numpy", inline="always")
def moved_by(rest, points, i, c):
    """How far coordinate `c` of point `i` has moved."""
    return np.float64(points[i, c]) - rest[i, c]


@njit(cache=True, error_model="numpy", parallel=True)
def fill_roots(rest_roots, rest, points, corner, barycentric, offset, rotation, out):
    """Fill `out` (S, 3) with the roots on a moved skin: where they were, plus what skin and offset have moved.

    Of the weights in a triangle the second and the third are taken, and the first is what is left: rounded weights
    whose sum is not quite one would leave roots behind on a skin that goes far.
    """
    for s in prange(len(corner)):
        turned = turn_difference(
            np.float64(rotation[s, 0]),
            np.float64(rotation[s, 1]),
            np.float64(rotation[s, 2]),
            np.float64(rotation[s, 3]),
            offset[s, 0],
            offset[s, 1],
            offset[s, 2],
        )
        i, j, k = corner[s, 0], corner[s, 1], corner[s, 2]
        v, w = np.float64(barycentric[s, 1]), np.float64(barycentric[s, 2])
        for c in range(3):
            first = moved_by(rest, points, i, c)
            skin = first + v * (moved_by(rest, points, j, c) - first) + w * (moved_by(rest, points, k, c) - first)
            out[s, c] = rest_roots[s, c] + (skin + turned[c])


@njit(cache=True, error_model="numpy", parallel=True)
def carry_strands(points, offsets, rest_roots, roots, rotation, out):
    """Fill `out` (P, 3) with strands carried rigidly from `rest_roots` to `roots`, turned by `rotation` (S, 4)."""
    for s in prange(len(offsets) - 1):
        qx, qy = np.float64(rotation[s, 0]), np.float64(rotation[s, 1])
        qz, qw = np.float64(rotation[s, 2]), np.float64(rotation[s, 3])
        rx, ry, rz = np.float64(rest_roots[s, 0]), np.float64(rest_roots[s, 1]), np.float64(rest_roots[s, 2])
        mx, my, mz = roots[s, 0] - rx, roots[s, 1] - ry, roots[s, 2] - rz
        for i in range(offsets[s], offsets[s + 1]):
            dx, dy, dz = turn_difference(qx, qy, qz, qw, points[i, 0] - rx, points[i, 1] - ry, points[i, 2] - rz)
            out[i, 0], out[i, 1], out[i, 2] = (
                points[i, 0] + (mx + dx),
                points[i, 1] + (my + dy),
                points[i, 2] + (mz + dz),
            )
