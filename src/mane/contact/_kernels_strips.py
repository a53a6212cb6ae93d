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
# Arrays are not counted as in use, which for each of a contact's would take longer than the contact.
kernel = njit(cache=True, error_model="numpy", fastmath=FASTMATH, _nrt=False)  # type: ignore[call-overload]
THIN = 1e-8  # a triangle whose area is this small a part of its longest edge squared has no inside


@kernel
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


@kernel
def distance_of_segments(points, g, i, h, j, u, w):
    """Distance [m] between two points of segments."""
    total = 0.0
    for axis in range(3):
        gap = (1.0 - u) * points[g, i, axis] + u * points[g, i + 1, axis]
        gap -= (1.0 - w) * points[h, j, axis] + w * points[h, j + 1, axis]
        total += gap * gap
    return math.sqrt(total)


@kernel
def corners(pairs, p, triangle):
    """Strands and vertices of a triangle's corners: `(g0, v0, g1, v1, g2, v2)`; its hair runs from corner 0 to 1."""
    i = triangle >> 1
    a, b = pairs[p, 0], pairs[p, 1]
    if triangle & 1 == 0:
        return a, i, a, i + 1, b, i
    return b, i + 1, b, i, a, i + 1


@kernel
def misalignment(along_segment, along_vertex, vertex, a, b, i, share):
    """1 - |a . b| of chang2002 eq. 3: the hair at a vertex, and that at `share` of the way from guide a to guide b."""
    own, other = 1.0 - share, share
    x = own * along_segment[a, i, 0] + other * along_segment[b, i, 0]
    y = own * along_segment[a, i, 1] + other * along_segment[b, i, 1]
    z = own * along_segment[a, i, 2] + other * along_segment[b, i, 2]
    size = math.sqrt(x * x + y * y + z * z)
    dot = x * along_vertex[vertex, 0] + y * along_vertex[vertex, 1] + z * along_vertex[vertex, 2]
    return 1.0 - abs(dot) / size if size > 0.0 else 1.0
