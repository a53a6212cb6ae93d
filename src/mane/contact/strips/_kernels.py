"""Geometry of broad and narrow phase: segments, triangles of strips, directions of hair.

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

from mane.simd.jit import inline, leaf

FASTMATH = {"contract", "arcp", "nsz", "afn"}
LEAST_SCALE = 0.01  # of a force that is worth while: parts within 8 degrees of each other pass freely
kernel = leaf(fastmath=FASTMATH)
THIN = 1e-8  # a triangle whose area is this small a part of its longest edge squared has no inside


@kernel
def between(flat, a, b):
    """The way from one vertex to another [m]; `flat` is (G V, 3)."""
    return flat[b, 0] - flat[a, 0], flat[b, 1] - flat[a, 1], flat[b, 2] - flat[a, 2]


@inline
def dot(a, b):
    """Product of two vectors, of numbers or lanes."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def cross(a, b):
    """Cross product of two vectors, of numbers or lanes."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inline
def minus(a, b):
    """Difference of two vectors, of numbers or lanes."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inline
def times(a, b):
    """A vector by a number, or lanes of them."""
    return a[0] * b, a[1] * b, a[2] * b


@inline
def gap_between(r, d, e, u, w):
    """The way from fraction w of a segment `e` to fraction u of a segment `d`, whose starts are `r` apart."""
    return r[0] + u * d[0] - w * e[0], r[1] + u * d[1] - w * e[1], r[2] + u * d[2] - w * e[2]


@kernel
def closest_of_segments(d, e, r):
    """Fractions u of a segment `d` and w of a segment `e` where they are closest; their starts are `r` apart."""
    dd, ee, de, dr, er = dot(d, d), dot(e, e), dot(d, e), dot(d, r), dot(e, r)
    square = dd * ee - de * de
    u = min(max((de * er - dr * ee) / square, 0.0), 1.0) if square > 1e-12 * dd * ee else 0.0
    w = (de * u + er) / ee if ee > 0.0 else 0.0
    if w < 0.0:
        w = 0.0
        u = min(max(-dr / dd, 0.0), 1.0) if dd > 0.0 else 0.0
    elif w > 1.0:
        w = 1.0
        u = min(max((de - dr) / dd, 0.0), 1.0) if dd > 0.0 else 0.0
    return u, w


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
