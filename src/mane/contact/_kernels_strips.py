"""Geometry that searching for contacts and looking at them share: segments, triangles of strips, directions of hair.

A strip between guides A and B has two triangles per segment i, numbered 2 i and 2 i + 1:

```
    A i ------- A i+1         2 i:     A i, A i+1, B i        (hair along the first edge, the third vertex across)
     |  2 i  /   |            2 i + 1: B i+1, B i, A i+1
     |    / 2i+1 |
    B i ------- B i+1
```
"""

# mypy: allow-untyped-defs

import math

from numba import njit

FASTMATH = {"contract", "arcp", "nsz", "afn"}
LEAST_SCALE = 0.01  # of a force that is worth while: parts within 8 degrees of each other pass freely
THIN = 1e-8  # a triangle whose area is this small a part of its longest edge squared has no inside


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def closest_of_segments(points, g, i, h, j):
    """Fractions u, w of segments (g, i) and (h, j) where they are closest."""
    dx, dy, dz = (
        points[g, i + 1, 0] - points[g, i, 0],
        points[g, i + 1, 1] - points[g, i, 1],
        points[g, i + 1, 2] - points[g, i, 2],
    )
    ex, ey, ez = (
        points[h, j + 1, 0] - points[h, j, 0],
        points[h, j + 1, 1] - points[h, j, 1],
        points[h, j + 1, 2] - points[h, j, 2],
    )
    rx, ry, rz = (
        points[g, i, 0] - points[h, j, 0],
        points[g, i, 1] - points[h, j, 1],
        points[g, i, 2] - points[h, j, 2],
    )
    a = dx * dx + dy * dy + dz * dz
    e = ex * ex + ey * ey + ez * ez
    b = dx * ex + dy * ey + dz * ez
    c = dx * rx + dy * ry + dz * rz
    f = ex * rx + ey * ry + ez * rz
    square = a * e - b * b
    u = min(max((b * f - c * e) / square, 0.0), 1.0) if square > 1e-12 * a * e else 0.0
    w = (b * u + f) / e if e > 0.0 else 0.0
    if w < 0.0:
        w = 0.0
        u = min(max(-c / a, 0.0), 1.0) if a > 0.0 else 0.0
    elif w > 1.0:
        w = 1.0
        u = min(max((b - c) / a, 0.0), 1.0) if a > 0.0 else 0.0
    return u, w


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def distance_of_segments(points, g, i, h, j, u, w):
    """Distance [m] between two points of segments."""
    total = 0.0
    for axis in range(3):
        gap = (1.0 - u) * points[g, i, axis] + u * points[g, i + 1, axis]
        gap -= (1.0 - w) * points[h, j, axis] + w * points[h, j + 1, axis]
        total += gap * gap
    return math.sqrt(total)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def corners(pairs, p, triangle):
    """Strands and vertices of a triangle's corners: `(g0, v0, g1, v1, g2, v2)`; its hair runs from corner 0 to 1."""
    i = triangle >> 1
    a, b = pairs[p, 0], pairs[p, 1]
    if triangle & 1 == 0:
        return a, i, a, i + 1, b, i
    return b, i + 1, b, i, a, i + 1


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def triangle_plane(points, corner):
    """What tells where a point x is over a triangle: `(nx, ny, nz, d, ax, ay, az, a, bx, by, bz, b)`.

    Its height over the plane is n x - d, its foot's barycentric coordinates of corners 1 and 2 are a x + a and b x + b.
    A triangle without an inside has a normal of zero.
    """
    g0, v0, g1, v1, g2, v2 = corner
    ox, oy, oz = points[g0, v0, 0], points[g0, v0, 1], points[g0, v0, 2]
    ux, uy, uz = points[g1, v1, 0] - ox, points[g1, v1, 1] - oy, points[g1, v1, 2] - oz
    wx, wy, wz = points[g2, v2, 0] - ox, points[g2, v2, 1] - oy, points[g2, v2, 2] - oz
    nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    square = nx * nx + ny * ny + nz * nz
    uu, ww = ux * ux + uy * uy + uz * uz, wx * wx + wy * wy + wz * wz
    uw = ux * wx + uy * wy + uz * wz
    longest = max(uu, ww)
    if square <= THIN * THIN * longest * longest:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    unit = 1.0 / math.sqrt(square)
    nx, ny, nz = nx * unit, ny * unit, nz * unit
    inv = 1.0 / square
    ax, ay, az = (ww * ux - uw * wx) * inv, (ww * uy - uw * wy) * inv, (ww * uz - uw * wz) * inv
    bx, by, bz = (uu * wx - uw * ux) * inv, (uu * wy - uw * uy) * inv, (uu * wz - uw * uz) * inv
    return (
        nx,
        ny,
        nz,
        nx * ox + ny * oy + nz * oz,
        ax,
        ay,
        az,
        -(ax * ox + ay * oy + az * oz),
        bx,
        by,
        bz,
        -(bx * ox + by * oy + bz * oz),
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def find_directions(points, along_segment, along_vertex):
    """Fill unit vectors along every segment (G, N, 3) and along the hair at every vertex (G V, 3)."""
    vertices = points.shape[1]
    for g in range(points.shape[0]):
        for v in range(vertices):
            before, after = max(v - 1, 0), min(v + 1, vertices - 1)
            x, y, z = (
                points[g, after, 0] - points[g, before, 0],
                points[g, after, 1] - points[g, before, 1],
                points[g, after, 2] - points[g, before, 2],
            )
            size = math.sqrt(x * x + y * y + z * z)
            unit = 1.0 / size if size > 0.0 else 0.0
            row = g * vertices + v
            along_vertex[row, 0], along_vertex[row, 1], along_vertex[row, 2] = x * unit, y * unit, z * unit
            if v < vertices - 1:
                x, y, z = (
                    points[g, v + 1, 0] - points[g, v, 0],
                    points[g, v + 1, 1] - points[g, v, 1],
                    points[g, v + 1, 2] - points[g, v, 2],
                )
                unit = 1.0 / math.sqrt(x * x + y * y + z * z)
                along_segment[g, v, 0], along_segment[g, v, 1], along_segment[g, v, 2] = x * unit, y * unit, z * unit


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def misalignment(along_segment, along_vertex, vertex, a, b, i, share):
    """1 - |a . b| of chang2002 eq. 3: the hair at a vertex, and that at `share` of the way from guide a to guide b."""
    own, other = 1.0 - share, share
    x = own * along_segment[a, i, 0] + other * along_segment[b, i, 0]
    y = own * along_segment[a, i, 1] + other * along_segment[b, i, 1]
    z = own * along_segment[a, i, 2] + other * along_segment[b, i, 2]
    size = math.sqrt(x * x + y * y + z * z)
    dot = x * along_vertex[vertex, 0] + y * along_vertex[vertex, 1] + z * along_vertex[vertex, 2]
    return 1.0 - abs(dot) / size if size > 0.0 else 1.0


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def width(points, pairs, p, triangle):
    """Longer of the two edges of a triangle that cross the strip [m]."""
    g0, v0, g1, v1, g2, v2 = corners(pairs, p, triangle)
    first, second = 0.0, 0.0
    for axis in range(3):
        a = points[g2, v2, axis] - points[g0, v0, axis]
        b = points[g2, v2, axis] - points[g1, v1, axis]
        first += a * a
        second += b * b
    return math.sqrt(max(first, second))
