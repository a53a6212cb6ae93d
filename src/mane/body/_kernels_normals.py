"""Normals of faces, edges and vertices of a closed mesh, weighted so that they tell inside from outside.

A point is inside where its way to the closest point of the surface runs against the normal of the feature on which that
point lies: the face's own, the sum of both faces' on an edge, the sum of all faces' weighted by their angles at a
vertex (Baerentzen and Aanaes 2005, signed distance computation using the angle weighted pseudonormal).
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_winding import fast_atan2
from mane.simd.jit import njit, prange

ZERO = np.float32(0.0)
# A triangle whose doubled area is less than this part of its longest edge squared has no normal of its own.
NO_AREA = 1e-9


@njit(cache=True, error_model="numpy")
def unit_or_zero(x, y, z):
    """A vector divided by its length; zero stays zero."""
    square = x * x + y * y + z * z
    scale = 1.0 / math.sqrt(square) if square > 0.0 else 0.0
    return x * scale, y * scale, z * scale


@njit(cache=True, error_model="numpy")
def face_normal_of(points, a, b, c):
    """Unit normal of the triangle with corners a, b, c, numbers of points (N, 3); zero if it has no area."""
    ax, ay, az = np.float64(points[a, 0]), np.float64(points[a, 1]), np.float64(points[a, 2])
    ux, uy, uz = points[b, 0] - ax, points[b, 1] - ay, points[b, 2] - az
    vx, vy, vz = points[c, 0] - ax, points[c, 1] - ay, points[c, 2] - az
    wx, wy, wz = vx - ux, vy - uy, vz - uz
    longest = max(ux * ux + uy * uy + uz * uz, max(vx * vx + vy * vy + vz * vz, wx * wx + wy * wy + wz * wz))
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    if nx * nx + ny * ny + nz * nz <= (NO_AREA * longest) ** 2:
        return 0.0, 0.0, 0.0
    return unit_or_zero(nx, ny, nz)


@njit(cache=True, error_model="numpy")
def corner_angle(points, here, following, previous):
    """Angle [rad] of a triangle at its corner `here`, from its three numbers of points; zero without area."""
    x, y, z = points[here, 0], points[here, 1], points[here, 2]
    ux, uy, uz = points[following, 0] - x, points[following, 1] - y, points[following, 2] - z
    vx, vy, vz = points[previous, 0] - x, points[previous, 1] - y, points[previous, 2] - z
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    return fast_atan2(math.sqrt(nx * nx + ny * ny + nz * nz), ux * vx + uy * vy + uz * vz)


@njit(cache=True, error_model="numpy", parallel=True)
def fill_face_normals(
    points,
    faces,
    # out
    normal,
):
    """Fill unit normals (T, 3) of faces (T, 3); zero for triangles without area."""
    for t in prange(len(faces)):
        normal[t, 0], normal[t, 1], normal[t, 2] = face_normal_of(points, faces[t, 0], faces[t, 1], faces[t, 2])


@njit(cache=True, error_model="numpy")
def borrow_normals(
    neighbors,
    # in and out
    normal,
):
    """Give faces without area the mean normal of their neighbours (T, 3), one after another so that strips get one."""
    for t in range(len(normal)):
        if normal[t, 0] == ZERO and normal[t, 1] == ZERO and normal[t, 2] == ZERO:
            x, y, z = 0.0, 0.0, 0.0
            for e in range(3):
                other = neighbors[t, e]
                x, y, z = x + normal[other, 0], y + normal[other, 1], z + normal[other, 2]
            normal[t, 0], normal[t, 1], normal[t, 2] = unit_or_zero(x, y, z)


@njit(cache=True, error_model="numpy", parallel=True)
def fill_edge_and_vertex_normals(
    points,
    faces,
    neighbors,
    vertex_start,
    vertex_corners,
    face_normal,
    # out
    edge_normal,
    vertex_normal,
):
    """Fill unit normals of edges (T, 3, 3) and of vertices (N, 3); see `closed.ClosedMesh` for the arguments."""
    for t in prange(len(faces)):
        for e in range(3):
            other = neighbors[t, e]
            x, y, z = unit_or_zero(
                np.float64(face_normal[t, 0]) + face_normal[other, 0],
                np.float64(face_normal[t, 1]) + face_normal[other, 1],
                np.float64(face_normal[t, 2]) + face_normal[other, 2],
            )
            edge_normal[t, e, 0], edge_normal[t, e, 1], edge_normal[t, e, 2] = x, y, z
    for p in prange(len(vertex_normal)):
        x, y, z = 0.0, 0.0, 0.0
        for i in range(vertex_start[p], vertex_start[p + 1]):
            t, c = vertex_corners[i] // 3, vertex_corners[i] % 3
            angle = corner_angle(points, faces[t, c], faces[t, (c + 1) % 3], faces[t, (c + 2) % 3])
            x, y, z = x + angle * face_normal[t, 0], y + angle * face_normal[t, 1], z + angle * face_normal[t, 2]
        vertex_normal[p, 0], vertex_normal[p, 1], vertex_normal[p, 2] = unit_or_zero(x, y, z)
